// The simulator's WebAssembly module for scripts: a device, launches, and files of launches that a native
// program wrote (BW_SIM_LAUNCHES; common/simulator/cudart/runtime/launch_file.hpp describes them). It runs in a
// worker (simulator_worker.js) and in node. Nothing leaves the machine that it runs on.
"use strict";

(() => {
  const MAGIC = "BWLNC001", HEAD_BYTES = 16;
  const EVENTS = "/events", STATISTICS = "/statistics", RECORDING = "/recording";

  // The parts [tag, Uint8Array] of a file's bytes. Throws an Error that says what is wrong with it.
  function* partsOf(bytes) {
    const text = new TextDecoder();
    if (text.decode(bytes.subarray(0, 8)) !== MAGIC) throw new Error("This is not a file of launches: it does not begin with BWLNC001.");
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = MAGIC.length; at < bytes.length;) {
      const size = at + HEAD_BYTES <= bytes.length ? view.getUint32(at + 8, true) + view.getUint32(at + 12, true) * 2 ** 32 : Infinity;
      if (at + HEAD_BYTES + size > bytes.length) throw new Error(`The file of launches ends within a part, at byte ${bytes.length}.`);
      yield [text.decode(bytes.subarray(at, at + 4)), bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + size)];
      at += HEAD_BYTES + size;
    }
  }

  // {blocks: [Uint8Array], steps: [object]} of a file's bytes. Blocks that the file only names are files of their own
  // (common/tools/site/shared_blocks.py): fetchFile(name) promises the bytes of one, and `parents` says of which other block
  // it is the difference.
  async function readLaunches(bytes, parents, fetchFile) {
    const text = new TextDecoder(), blocks = [], steps = [], known = new Map();
    const load = (name) => {
      if (!known.has(name)) known.set(name, join(name));
      return known.get(name);
    };
    const join = async (name) => {
      const [block, parent] = await Promise.all([fetchFile(name), parents[name] ? load(parents[name]) : []]);
      for (let at = 0; at < parent.length; ++at) block[at] += parent[at];
      return block;
    };
    for (const [tag, content] of partsOf(bytes)) {
      if (tag === "data") blocks.push(content);
      if (tag === "name") blocks.push(load(text.decode(content)));
      if (tag === "step") steps.push(JSON.parse(text.decode(content)));
    }
    return {blocks: await Promise.all(blocks), steps};
  }

  // A report is thrown as this; `reports` holds what the simulator said.
  class Refused extends Error {
    constructor(reports) {
      super(reports.map((one) => one.shown).join("\n"));
      this.reports = reports;
    }
  }

  class Simulator {
    // `module` is what blackwell_simulator() has made.
    constructor(module) {
      this.module = module;
      this.settings = new Map();
    }

    // Calls an exported function; texts and numbers alone. Functions that return text return an object.
    call(name, ...values) {
      const {module} = this;
      const texts = [];
      const given = values.map((value) => {
        if (typeof value !== "string") return value;
        const bytes = module.lengthBytesUTF8(value) + 1;
        const place = module._malloc(bytes);
        module.stringToUTF8(value, place, bytes);
        texts.push(place);
        return place;
      });
      try {
        return module[`_bw_${name}`](...given);
      } finally {
        texts.forEach((place) => module._free(place));
      }
    }
    ask(name, ...values) {
      const answer = JSON.parse(this.module.UTF8ToString(this.call(name, ...values)));
      if (answer.status === "failed" && name !== "launch") throw new Refused(answer.reports);
      return answer;
    }

    // Begins a session with these variables BW_SIM_*; others are not set. `wants`: {events, statistics, recording}.
    open(machine, ptx, settings, wants = {}) {
      for (const name of this.settings.keys()) this.call("set", name, "");
      this.settings = new Map(Object.entries(settings));
      if (wants.events) this.settings.set("BW_SIM_EVENTS", EVENTS);
      if (wants.recording) this.settings.set("BW_SIM_RECORDING", RECORDING).set("BW_SIM_RECORDING_CLUSTERS", "0");
      if (wants.statistics) this.settings.set("BW_SIM_STATISTICS", STATISTICS);
      for (const [name, value] of this.settings) this.call("set", name, String(value));
      return this.ask("open", machine, ptx);
    }
    // Ends the session; `events` (a text) and `statistics` (a list of objects) are what its files hold, `recording` the
    // bytes of a recording of the first cluster of each launch. What was not asked for is empty.
    close() {
      this.call("close");
      const text = new TextDecoder();
      const statistics = text.decode(this.take("BW_SIM_STATISTICS", STATISTICS)).split("\n");
      return {events: text.decode(this.take("BW_SIM_EVENTS", EVENTS)), recording: this.take("BW_SIM_RECORDING", RECORDING),
              statistics: statistics.filter((line) => line !== "").map((line) => JSON.parse(line))};
    }
    take(setting, path) {
      if (!this.settings.has(setting) || !this.module.FS.analyzePath(path).exists) return new Uint8Array(0);
      const content = this.module.FS.readFile(path);
      this.module.FS.unlink(path);
      return content;
    }
    load(ptx, name, registers = {}) {
      return this.ask("load", ptx, name, Object.entries(registers).map(([kernel, count]) => `${kernel}=${count}`).join("\n"));
    }
    // The address, or 0 if no memory is left.
    allocate(bytes, description) { return this.ask("allocate", bytes, description).address; }
    // A view of device memory, valid until memory is allocated; null if there is none.
    memory(address, bytes) {
      const place = this.call("pointer", address, bytes);
      return place === 0 ? null : this.module.HEAPU8.subarray(place, place + bytes);
    }
    write(address, bytes, throughL2) {
      this.memory(address, bytes.length).set(bytes);
      this.call("note_write", address, bytes.length, throughL2 ? 1 : 0);
    }
    // A launch as the file of launches has it; `parameters` are the bytes of the kernel's arguments.
    launch(launch, parameters) {
      const {module} = this;
      const numbers = [launch.module, ...launch.grid, ...launch.block, ...launch.cluster, +launch.in_clusters, launch.dynamic_shared_bytes,
        launch.dynamic_shared_limit, +launch.non_portable_cluster, +launch.cooperative];
      const place = module._malloc(4 * numbers.length + parameters.length);
      module.HEAPU32.set(numbers, place / 4);
      module.HEAPU8.set(parameters, place + 4 * numbers.length);
      try {
        return this.ask("launch", launch.kernel, place, place + 4 * numbers.length, parameters.length);
      } finally {
        module._free(place);
      }
    }
  }

  // Runs a file's launches again. `options`: `settings` (in addition to the file's; an empty value removes one),
  // `edit(text, module)` (changes a module's PTX), `events`, `statistics`, `recording`. Returns
  //   {launches: [{kernel, expected, got, same}], reports, expected_reports, differences, events, statistics, recording}
  // `differences` are sentences; they are looked for only if neither settings nor PTX were changed.
  function replay(simulator, file, options = {}) {
    const {steps, blocks} = file;
    const settings = {};
    const isChanged = options.edit !== undefined || Object.keys(options.settings || {}).length !== 0;
    const result = {machine: "", launches: [], reports: [], expected_reports: [], differences: [], changed: isChanged};
    const differ = (text) => { if (!isChanged) result.differences.push(text); };
    let failed = false, modules = 0;
    const decoder = new TextDecoder();
    for (const step of steps) {
      if (step.do === "report") result.expected_reports.push(step.report);
      if (failed) continue;
      switch (step.do) {
        case "begin":
          Object.assign(settings, step.settings, options.settings);
          for (const name of Object.keys(settings)) if (settings[name] === "") delete settings[name];
          result.machine = simulator.open(step.machine, "", settings, options).machine;
          break;
        case "module": {
          const text = decoder.decode(blocks[step.text]);
          simulator.load(options.edit ? options.edit(text, modules) : text, step.name, step.registers);
          ++modules;
          break;
        }
        case "allocate": {
          const address = simulator.allocate(step.bytes, step.description);
          if (address === 0) throw new Error(`The page has no memory left for ${step.bytes} bytes.`);
          if (address !== step.address) throw new Error(`The native program's memory was elsewhere: at ${step.address}, here at ${address}.`);
          break;
        }
        case "free": simulator.call("free", step.address); break;
        case "write": simulator.write(step.address, blocks[step.data], false); break;
        case "copy": simulator.call("note_write", step.address, step.bytes, 1); break;
        case "idle": simulator.call("idle"); break;
        case "time": simulator.call("take_time"); break;
        case "give_up": throw new Error(`This program can't be run again: ${step.why}.`);
        case "launch": {
          const got = simulator.launch(step, blocks[step.arguments]);
          result.launches.push({kernel: step.shown, launch: step, got, expected: null, same: false});
          result.reports.push(...got.reports);
          failed = got.status === "failed";
          break;
        }
        case "end": compare(simulator, step, result.launches[result.launches.length - 1], differ); break;
      }
    }
    Object.assign(result, simulator.close());
    compareReports(result, differ);
    return result;
  }

  function compare(simulator, expected, launch, differ) {
    launch.expected = expected;
    launch.same = true;
    const note = (text) => { launch.same = false; differ(`${launch.kernel}: ${text}`); };
    for (const what of ["cycles", "instructions", "clusters"])
      if (launch.got[what] !== expected[what]) note(`${launch.got[what]} ${what}, and ${expected[what]} natively`);
    for (const {address, bytes, hash} of expected.memory)
      if (simulator.ask("hash", address, bytes).hash !== hash) note(`the ${bytes} bytes at 0x${address.toString(16)} are others than natively`);
  }

  function compareReports(result, differ) {
    const texts = (list) => list.map((one) => one.text).join("\n");
    const own = texts(result.reports), native = texts(result.expected_reports);
    if (own !== native) differ(`the reports are others than natively:\n${own || "(none)"}\nnatively:\n${native || "(none)"}`);
  }

  const exported = {readLaunches, Simulator, Refused, replay};
  if (typeof module !== "undefined") module.exports = exported;
  else self.bwSimulator = exported;
})();
