// The worker in which a page's simulator runs: a run that does not end is ended with the worker.
"use strict";

importScripts("simulator.js", "timeline_recording.js", "timeline_model.js", "timeline_rings.js", "timeline_profile.js", "timeline_data.js",
              "simulator/blackwell_simulator.js");

(() => {
  const {Simulator, Refused, replay} = bwSimulator;
  let simulator = null, printed = [], sources = {}, timeline = null;

  async function start() {
    const note = (text) => printed.push(text);
    simulator = new Simulator(await blackwell_simulator({
      print: note, printErr: note, locateFile: (name) => `simulator/${name}`}));
    await addSources(simulator.module.FS);
  }
  // Reports quote the lines of source that they name, if the site has them.
  async function addSources(files) {
    const answer = await fetch("simulator/sources.json").catch(() => null);
    if (!answer || !answer.ok) return;
    sources = await answer.json();
    for (const [name, text] of Object.entries(sources)) {
      files.mkdirTree(`/${name}`.replace(/\/[^/]*$/, ""));
      files.writeFile(`/${name}`, text);
    }
  }
  const ready = start().then(() => postMessage({what: "ready"}),
                             (error) => postMessage({what: "failed", text: `The simulator did not start: ${error.message || error}`}));

  // The page that `./workbook timeline` writes, of a recording: a text, empty where nothing took time.
  async function timelineOf(recording, title) {
    if (timeline === null) {
      const [rules, template] = await Promise.all(["timeline.json", "timeline_page.txt"].map((name) => fetch(`simulator/${name}`)));
      if (!rules.ok || !template.ok) throw new Error("timeline.json or timeline_page.txt is not there");
      timeline = {rules: await rules.json(), template: await template.text()};
    }
    const made = bwTimeline.timelineOf(recording, title, timeline.rules, sources);
    return made && made.blocks.length ? bwTimeline.pageOf(made, timeline.template) : "";
  }

  // Leaves the lines of PTX out that the page has chosen: {module: [line numbers, from 1]}.
  function without(lines) {
    if (!lines || Object.keys(lines).length === 0) return undefined;
    return (text, module) => {
      const chosen = new Set(lines[module] || []);
      return text.split("\n").map((line, index) => chosen.has(index + 1) ? "// left out" : line).join("\n");
    };
  }

  // Writes a buffer's content as a copy to the device does.
  function fillBuffer(address, bytes, kind) {
    const place = simulator.memory(address, bytes).fill(0), words = Math.floor(bytes / 4);
    const view = new DataView(place.buffer, place.byteOffset, bytes);
    for (let word = 0, state = 1; word < words && kind !== "zero"; ++word) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      if (kind === "count") view.setUint32(4 * word, word, true);
      else view.setFloat32(4 * word, state / 2 ** 31 - 1, true);
    }
    simulator.call("note_write", address, bytes, 1);
  }

  const tasks = {
    replay: ({file, settings, lines}) =>
      replay(simulator, file, {settings, edit: without(lines), recording: true, statistics: true}),
    // {machine, kernels} of a module.
    inspect: ({ptx}) => {
      const {machine} = simulator.open("", ptx, {});
      const loaded = simulator.load(ptx, "your module");
      simulator.close();
      return {machine, kernels: loaded.kernels};
    },
    // Runs one kernel: `buffers` are {bytes, fill: "zero", "count" or "random"}, `parameters` {bytes: Uint8Array, pointers: [{offset, buffer}]}.
    run: ({ptx, launch, settings, buffers, parameters}) => {
      const {machine} = simulator.open("", ptx, settings, {recording: true, statistics: true});
      simulator.load(ptx, "your module");
      const addresses = buffers.map(({bytes, fill}, index) => {
        const address = simulator.allocate(bytes, `buffer ${index + 1} of ${bytes} bytes`);
        if (address === 0) throw new Error(`The page has no memory left for a buffer of ${bytes} bytes. Use smaller buffers.`);
        if (bytes !== 0) fillBuffer(address, bytes, fill);
        return address;
      });
      const values = new DataView(parameters.bytes.buffer, parameters.bytes.byteOffset, parameters.bytes.byteLength);
      for (const {offset, buffer} of parameters.pointers) values.setBigUint64(offset, BigInt(addresses[buffer]), true);
      const got = simulator.launch(launch, parameters.bytes);
      const contents = addresses.map((address, index) => simulator.memory(address, buffers[index].bytes).slice());
      return {machine, launches: [{kernel: launch.kernel, got, expected: null}], reports: got.reports, contents, addresses, ...simulator.close()};
    },
  };

  async function tellTimeline(recording, title) {
    let html = "", problem = "";
    try {
      html = recording.length ? await timelineOf(recording, title) : "";
    } catch (error) {
      problem = `The timeline can't be drawn: ${error.message}.`;
    }
    postMessage({what: "timeline", html, problem});
  }

  onmessage = async ({data}) => {
    await ready;
    if (simulator === null) return;
    printed = [];
    const began = performance.now();
    try {
      const {recording, ...result} = tasks[data.task](data);
      postMessage({what: "done", result, printed, milliseconds: performance.now() - began});
      if (recording) await tellTimeline(recording, data.title || "Timeline of the run");
    } catch (error) {
      if (error instanceof Refused) {
        postMessage({what: "done", result: {launches: [], reports: error.reports, statistics: []}, printed, milliseconds: performance.now() - began});
        return;
      }
      // After a trap the module's memory can't be trusted: the page starts another worker.
      const isTrap = error instanceof WebAssembly.RuntimeError;
      const text = isTrap ? `The simulator stopped: ${error.message}. It may have run out of memory or stack.` : error.message || String(error);
      postMessage({what: "failed", text, ended: isTrap});
    }
  };
})();
