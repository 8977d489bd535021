// What the pages share that run the simulator: the worker, reports, times of warps, the timeline.
"use strict";

const bwPage = (() => {
  const folder = document.currentScript.src.replace(/[^/]*$/, "");  // of the scripts: the pages are in several folders
  const files = `${folder}simulator/`;
  const byId = (id) => document.getElementById(id);
  const number = (value) => Number(value).toLocaleString("en");

  // An element with attributes, text and children.
  function make(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  const READY = "The simulator is ready.";
  // Why the simulator can't start in this page, or nothing.
  const obstacle = location.protocol === "file:" ? "A page that was opened as a file can't start the simulator. Serve the site's folder instead: ./workbook docs --serve" : "";

  // The simulator in its worker. `onState(text)` is told of what it does, onTimeline({html, problem}) of the timeline that
  // follows a run. run(task) gives a promise; stop() ends whatever runs.
  class Engine {
    constructor(onState, onTimeline = () => {}) {
      this.pending = null;
      this.isReady = false;
      this.tell(onState, onTimeline);
      this.start();
    }
    // Another part of the page is told from now on.
    tell(onState, onTimeline) {
      this.onState = onState;
      this.onTimeline = onTimeline;
      if (this.isReady) onState(READY);
    }
    start() {
      if (obstacle) return this.onState(obstacle);
      this.onState("The simulator is loading …");
      this.worker = new Worker(`${folder}simulator_worker.js`);
      this.worker.onmessage = ({data}) => this.take(data);
      this.worker.onerror = () => this.take({what: "failed", ended: true, text: "The simulator's files are not there: this site was built without them (see the end of this page)."});
    }
    take(data) {
      if (data.what === "ready") {
        this.isReady = true;
        return this.onState(READY);
      }
      if (data.what === "timeline") return this.pending ? undefined : this.onRunsTimeline(data);  // not of a run before
      const {pending} = this;
      this.pending = null;
      if (data.what === "failed") {
        this.onState(data.text);
        if (data.ended && pending) {
          this.isReady = false;
          this.start();
        }
        if (pending) pending.fail(new Error(data.text));
        return;
      }
      this.onState(`Ran in ${data.milliseconds < 10 ? data.milliseconds.toFixed(1) : data.milliseconds.toFixed(0)} ms.`);
      if (pending) pending.done(data);
    }
    run(task) {
      if (!this.worker) return Promise.reject(new Error("The simulator is not available."));
      if (this.pending) return Promise.reject(new Error("Another run has not ended yet."));
      this.onState("Running …");
      this.onRunsTimeline = this.onTimeline;
      return new Promise((done, fail) => {
        this.pending = {done, fail};
        this.worker.postMessage(task);
      });
    }
    stop() {
      if (!this.pending) return;
      this.worker.terminate();
      this.isReady = false;
      const {pending} = this;
      this.pending = null;
      this.start();
      pending.fail(new Error("Stopped."));
    }
  }

  // Files that were made with the site, from next to the module. Throws an Error if one is not there.
  async function fetchFile(name) {
    const answer = await fetch(files + name);
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    return answer;
  }
  const fetchJson = async (name) => (await fetchFile(name)).json();
  // The bytes of a compressed file. (Some servers have it decompressed on the way.)
  async function fetchBytes(name) {
    const bytes = new Uint8Array(await (await fetchFile(name)).arrayBuffer());
    if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
    const unpacked = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
    return new Uint8Array(await unpacked.arrayBuffer());
  }
  // A run's launches with their blocks, as simulator.js takes them.
  async function fetchLaunches(name) {
    const [bytes, parents] = await Promise.all([fetchBytes(name), fetchJson("blocks.json")]);
    return bwSimulator.readLaunches(bytes, parents, (block) => fetchBytes(`${block}.block.gz`));
  }

  function showReports(place, reports) {
    place.replaceChildren();
    if (reports.length === 0) place.append(make("p", {}, "No report: the simulator has nothing to complain about."));
    for (const report of reports) {
      const box = make("div", {class: "panel"});
      const link = make("a", {href: `${folder}../codes/${report.code}.html`}, `${report.code}: ${report.title}`);
      box.append(make("p", {class: report.severity === "warning" ? "" : "error"}, link), make("pre", {class: "bw-report"}, report.shown));
      place.append(box);
    }
  }

  // What the warps of a launch spent their time on, from a line of BW_SIM_STATISTICS.
  const STALLS = {fixed: "latency of the previous instruction", pipe: "an arithmetic pipe is busy", issue: "another warp issues",
    shared: "a value from shared memory", global: "a value from device memory", shared_queue: "the queue of shared memory is full",
    global_queue: "the queue of device memory is full"};
  function costsOf(warp, barriers) {
    const costs = [["issues instructions", warp.issued]];
    for (const [name, cycles] of Object.entries(warp.stalls)) costs.push([STALLS[name] || name, cycles]);
    for (const wait of warp.waits) {
      const barrier = wait.barrier === undefined ? null : barriers[wait.barrier];
      const stage = barrier && barrier.stages > 1 ? `, stage ${barrier.stage} of ${barrier.stages}` : "";
      const name = barrier && barrier.barrier_init ? ` initialised at ${barrier.barrier_init}${stage}` : "";
      costs.push([`waits for ${String(wait.for).replace(/_/g, " ")}${name}`, wait.cycles]);
    }
    return costs.filter(([, cycles]) => cycles > 0).sort((a, b) => b[1] - a[1]);
  }
  function showTimes(place, statistics) {
    place.replaceChildren();
    for (const launch of statistics) {
      if (!launch.warps || launch.warps.every((warp) => warp.cycles === 0)) continue;
      const body = make("tbody");
      for (const warp of launch.warps) {
        const costs = costsOf(warp, launch.barriers || []);
        const texts = costs.slice(0, 3).map(([text, cycles]) => `${text} (${Math.round(100 * cycles / Math.max(1, warp.cycles))}\u00a0%)`);
        body.append(make("tr", {}, make("td", {}, `${warp.rank}`), make("td", {}, `${warp.warp}`),
                         make("td", {}, number(Math.round(warp.cycles / Math.max(1, warp.warps)))), make("td", {}, texts.join("; "))));
      }
      const head = make("thead", {}, make("tr", {}, ...["CTA", "warp", "cycles", "what limits it: the three largest parts of its time"].map((text) => make("th", {}, text))));
      place.append(make("p", {}, make("strong", {}, launch.kernel)), make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": `times of the warps of ${launch.kernel}`}, make("table", {}, head, body)));
    }
  }

  // The timeline's page in a frame as high as its content, in the colours of the page around it.
  function showTimeline(place, {html, problem}) {
    if (!html) return place.replaceChildren(...(problem ? [make("p", {class: "error"}, problem)] : []));
    const frame = make("iframe", {class: "bw-timeline", title: "Timeline of the run"});
    const recolour = () => {
      const {theme} = document.documentElement.dataset, inner = frame.contentDocument && frame.contentDocument.documentElement;
      if (!inner || inner.dataset.theme === theme) return;
      if (theme) inner.dataset.theme = theme; else delete inner.dataset.theme;
    };
    frame.addEventListener("load", () => {
      const {body} = frame.contentDocument;
      const fit = () => { frame.style.height = `${body.offsetHeight + 24}px`; };
      new frame.contentWindow.ResizeObserver(fit).observe(body);
      fit();
      recolour();
    });
    frame.srcdoc = html;
    new MutationObserver(recolour).observe(document.documentElement, {attributes: true, attributeFilter: ["data-theme"]});
    place.replaceChildren(frame);
  }

  return {folder, obstacle, byId, make, number, Engine, fetchJson, fetchLaunches, showReports, showTimes, showTimeline};
})();
