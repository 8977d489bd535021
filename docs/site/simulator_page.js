// What the pages share that run the simulator: the worker, reports, times of warps, a timeline of one cluster.
"use strict";

const bwPage = (() => {
  const byId = (id) => document.getElementById(id);
  const number = (value) => Number(value).toLocaleString("en");

  // An element with attributes, text and children.
  function make(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // The simulator in its worker. `onState(text)` is told of what it does. run(task) gives a promise; stop() ends
  // whatever runs.
  class Engine {
    constructor(onState) {
      this.onState = onState;
      this.pending = null;
      this.start();
    }
    start() {
      if (location.protocol === "file:") {
        this.onState("A page that was opened as a file can't start the simulator. Serve the site's folder instead: ./workbook docs --serve");
        return;
      }
      this.onState("The simulator is loading …");
      this.worker = new Worker("simulator_worker.js");
      this.worker.onmessage = ({data}) => this.take(data);
      this.worker.onerror = () => this.take({what: "failed", ended: true, text: "The simulator's files are not there: this site was built without them (see the end of this page)."});
    }
    take(data) {
      if (data.what === "ready") return this.onState("The simulator is ready.");
      const {pending} = this;
      this.pending = null;
      if (data.what === "failed") {
        this.onState(data.text);
        if (data.ended && pending) this.start();
        if (pending) pending.fail(new Error(data.text));
        return;
      }
      this.onState(`Ran in ${data.milliseconds < 10 ? data.milliseconds.toFixed(1) : data.milliseconds.toFixed(0)} ms.`);
      if (pending) pending.done(data);
    }
    run(task) {
      if (!this.worker) return Promise.reject(new Error("The simulator is not available."));
      this.onState("Running …");
      return new Promise((done, fail) => {
        this.pending = {done, fail};
        this.worker.postMessage(task);
      });
    }
    stop() {
      if (!this.pending) return;
      this.worker.terminate();
      const {pending} = this;
      this.pending = null;
      this.start();
      pending.fail(new Error("Stopped."));
    }
  }

  // The bytes of a file of launches. Throws an Error if it is not there.
  async function fetchLaunches(address) {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
    const unpacked = new Response(answer.body.pipeThrough(new DecompressionStream("gzip")));
    return new Uint8Array(await unpacked.arrayBuffer());
  }

  function showReports(place, reports) {
    place.replaceChildren();
    if (reports.length === 0) place.append(make("p", {}, "No report: the simulator has nothing to complain about."));
    for (const report of reports) {
      const box = make("div", {class: "panel"});
      const link = make("a", {href: `../codes/${report.code}.html`}, `${report.code}: ${report.title}`);
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
        const texts = costs.slice(0, 3).map(([text, cycles]) => `${text} (${Math.round(100 * cycles / Math.max(1, warp.cycles))} %)`);
        body.append(make("tr", {}, make("td", {}, `${warp.rank}`), make("td", {}, `${warp.warp}`),
                         make("td", {}, number(Math.round(warp.cycles / Math.max(1, warp.warps)))), make("td", {}, texts.join("; "))));
      }
      const head = make("thead", {}, make("tr", {}, ...["CTA", "warp", "cycles", "what limits it: the three largest parts of its time"].map((text) => make("th", {}, text))));
      place.append(make("h3", {}, launch.kernel), make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": `times of the warps of ${launch.kernel}`}, make("table", {}, head, body)));
    }
  }

  // The first cluster of the longest launch, from the lines of BW_SIM_EVENTS: a row a warp, below them copies and MMAs.
  const MOST_MARKS = 6000;
  function longestLaunch(events) {
    let longest = [], current = [], most = -1;
    for (const one of events) {
      if (one.event === "launch") current = [];
      current.push(one);
      if (one.event !== "launch_end" || one.cycles <= most) continue;
      most = one.cycles;
      longest = current;
    }
    return longest.length ? longest : current;
  }
  function lanesOf(events) {
    const own = longestLaunch(events).filter((one) => one.rank !== undefined);
    const lanes = new Map();
    const lane = (name) => lanes.get(name) || lanes.set(name, []).get(name);
    const waiting = new Map(), started = new Map();
    let last = 1;
    for (const one of own) {
      last = Math.max(last, one.cycle || 0);
      const name = `CTA ${one.rank} warp ${one.warp}`;
      if (one.event === "run") lane(name).push({kind: "run", from: one.cycle, to: one.until, text: `${one.file}:${one.line}`});
      if (one.event === "wait") waiting.set(`${name} ${one.lanes}`, one);
      if (one.event === "resume") {
        const wait = waiting.get(`${name} ${one.lanes}`);
        const what = one.barrier || String(one.kind || "").replace(/_/g, " ");
        lane(name).push({kind: "wait", from: wait ? wait.cycle : one.cycle - (one.waited || 0), to: one.cycle, text: `waits: ${what}`});
      }
      if (one.event === "copy_issue" || one.event === "mma_issue") started.set(`${one.event[0]}${one.id}`, one);
      if (one.event === "copy_land" || one.event === "mma_complete") {
        const issue = started.get(`${one.event[0]}${one.id}`);
        const isCopy = one.event === "copy_land";
        if (issue) lane(`CTA ${one.rank} ${isCopy ? "copies" : "tensor core"}`).push({kind: isCopy ? "copy" : "mma", from: issue.cycle, to: one.cycle, text: isCopy ? `${number(issue.bytes)} bytes` : `MMA ${issue.m}x${issue.n}x${issue.k}`});
      }
    }
    return {lanes: [...lanes].sort(([a], [b]) => a.localeCompare(b, "en", {numeric: true})), last};
  }
  function showTimeline(place, events) {
    place.replaceChildren();
    const {lanes, last} = lanesOf(events);
    if (lanes.length === 0) return;
    const LEFT = 150, WIDTH = 1000, ROW = 20;
    const svg = (tag, attributes) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      return made;
    };
    const picture = svg("svg", {class: "strip bw-lanes", viewBox: `0 0 ${LEFT + WIDTH} ${ROW * lanes.length + 24}`, role: "img",
                                "aria-label": `What each warp of the first cluster does over ${last} cycles; the table above has the same in numbers`});
    const x = (cycle) => LEFT + WIDTH * Math.min(cycle, last) / last;
    let marks = 0;
    lanes.forEach(([name, spans], row) => {
      const label = svg("text", {x: 0, y: row * ROW + 14});
      label.textContent = name;
      picture.append(label);
      for (const span of spans) {
        if (++marks > MOST_MARKS) break;
        const mark = svg("rect", {x: x(span.from), y: row * ROW + 3, width: Math.max(0.7, x(span.to) - x(span.from)), height: ROW - 6, class: `bw-${span.kind}`});
        const title = svg("title", {});
        title.textContent = `${span.text}, cycles ${number(span.from)} to ${number(span.to)}`;
        mark.append(title);
        picture.append(mark);
      }
    });
    const axis = svg("text", {x: LEFT, y: ROW * lanes.length + 18});
    axis.textContent = `cycle 0 to ${number(last)}: runs, waits (hatched), copies, MMAs` + (marks > MOST_MARKS ? "; the first marks alone" : "");
    picture.append(axis);
    place.append(make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "timeline"}, picture));
  }

  return {byId, make, number, Engine, fetchLaunches, showReports, showTimes, showTimeline};
})();
