// The worker in which a page's simulator runs: a run that does not end is ended with the worker.
"use strict";

importScripts("simulator.js", "simulator/blackwell_simulator.js");

(() => {
  const {Simulator, Refused, readLaunches, replay} = bwSimulator;
  let simulator = null, printed = [];

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
    for (const [name, text] of Object.entries(await answer.json())) {
      files.mkdirTree(`/${name}`.replace(/\/[^/]*$/, ""));
      files.writeFile(`/${name}`, text);
    }
  }
  const ready = start().then(() => postMessage({what: "ready"}),
                             (error) => postMessage({what: "failed", text: `The simulator did not start: ${error.message || error}`}));

  // Leaves the lines of PTX out that the page has chosen: {module: [line numbers, from 1]}.
  function without(lines) {
    if (!lines || Object.keys(lines).length === 0) return undefined;
    return (text, module) => {
      const chosen = new Set(lines[module] || []);
      return text.split("\n").map((line, index) => chosen.has(index + 1) ? "// left out" : line).join("\n");
    };
  }

  const tasks = {
    replay: ({bytes, settings, lines, events, statistics}) =>
      replay(simulator, readLaunches(bytes), {settings, edit: without(lines), events, statistics}),
    // {machine, kernels} of a module.
    inspect: ({ptx}) => {
      const {machine} = simulator.open("", ptx, {});
      const loaded = simulator.load(ptx, "your module");
      simulator.close();
      return {machine, kernels: loaded.kernels};
    },
    // Runs one kernel: `buffers` are {bytes, fill: Uint8Array}, `parameters` {bytes: Uint8Array, pointers: [{offset, buffer}]}.
    run: ({ptx, launch, settings, buffers, parameters}) => {
      const {machine} = simulator.open("", ptx, settings, {events: true, statistics: true});
      simulator.load(ptx, "your module");
      const addresses = buffers.map(({bytes, fill}, index) => {
        const address = simulator.allocate(bytes, `buffer ${index + 1} of ${bytes} bytes`);
        if (address === 0) throw new Error(`The page has no memory left for a buffer of ${bytes} bytes. Use smaller buffers.`);
        if (bytes !== 0) simulator.write(address, fill, true);
        return address;
      });
      const values = new DataView(parameters.bytes.buffer, parameters.bytes.byteOffset, parameters.bytes.byteLength);
      for (const {offset, buffer} of parameters.pointers) values.setBigUint64(offset, BigInt(addresses[buffer]), true);
      const got = simulator.launch(launch, parameters.bytes);
      const contents = addresses.map((address, index) => simulator.memory(address, buffers[index].bytes).slice());
      return {machine, launches: [{kernel: launch.kernel, got, expected: null}], reports: got.reports, contents, addresses, ...simulator.close()};
    },
  };

  onmessage = async ({data}) => {
    await ready;
    if (simulator === null) return;
    printed = [];
    const began = performance.now();
    try {
      const result = tasks[data.task](data);
      postMessage({what: "done", result, printed, milliseconds: performance.now() - began});
    } catch (error) {
      if (error instanceof Refused) {
        postMessage({what: "done", result: {launches: [], reports: error.reports, events: [], statistics: []}, printed, milliseconds: performance.now() - began});
        return;
      }
      // After a trap the module's memory can't be trusted: the page starts another worker.
      const isTrap = error instanceof WebAssembly.RuntimeError;
      const text = isTrap ? `The simulator stopped: ${error.message}. It may have run out of memory or stack.` : error.message || String(error);
      postMessage({what: "failed", text, ended: isTrap});
    }
  };
})();
