// Runs the recorded launches of the labs in the WebAssembly module and compares: contents of memory, cycles and
// reports and recordings are the native program's. Writes the recordings, and the event logs of the runs that predict
// exercises ask about. node labs_test.js MODULE.js SIMULATOR.js FOLDER RECORDINGS
"use strict";

const crypto = require("crypto"), fs = require("fs"), path = require("path"), zlib = require("zlib");

const gunzipped = (folder, name) => new Uint8Array(zlib.gunzipSync(fs.readFileSync(path.join(folder, name))));
const STATUS_OF_A_FAULT = 70;  // of a native program that the simulator stops
const MILLISECONDS_ALLOWED = 10000;  // of one run; a page promises less, on a machine that does nothing else

async function main([modulePath, scriptPath, folder, recordings]) {
  const blackwell_simulator = require(path.resolve(modulePath));
  const {Simulator, readLaunches, replay, Refused} = require(path.resolve(scriptPath));
  const began = performance.now();
  // (The module of some versions of Emscripten would fetch its file, which node's fetch refuses.)
  const wasmBinary = fs.readFileSync(modulePath.replace(/js$/, "wasm"));
  const simulator = new Simulator(await blackwell_simulator({wasmBinary, print: () => {}, printErr: () => {}}));
  console.log(`the module is ready after ${(performance.now() - began).toFixed(0)} ms`);
  const problems = [];
  const parents = JSON.parse(fs.readFileSync(path.join(folder, "blocks.json"), "utf8"));
  const launchesOf = (name) => readLaunches(gunzipped(folder, name), parents, async (block) => gunzipped(folder, `${block}.block.gz`));
  const {runs} = JSON.parse(fs.readFileSync(path.join(folder, "labs.json"), "utf8"));
  let launches = 0, reports = 0, slowest = 0;
  for (const run of runs) {
    const file = await launchesOf(run.file);
    const start = performance.now();
    let result;
    try {
      result = replay(simulator, file, {recording: true});
    } catch (error) {
      problems.push(`${run.file}: ${error.stack}`);
      if (error instanceof WebAssembly.RuntimeError) break;  // the module's memory can't be trusted any more
      continue;
    }
    const milliseconds = performance.now() - start;
    if (crypto.createHash("sha256").update(result.recording).digest("hex") !== run.recording) problems.push(`${run.file}: the recording is another one than natively`);
    fs.writeFileSync(path.join(recordings, run.file.replace(/launches\.gz$/, "recording")), result.recording);
    slowest = Math.max(slowest, milliseconds);
    launches += result.launches.length;
    reports += result.expected_reports.length;
    problems.push(...result.differences.map((text) => `${run.file}: ${text}`));
    if (result.launches.length === 0) problems.push(`${run.file}: it has no launch`);
    if (run.status === STATUS_OF_A_FAULT && result.expected_reports.length === 0) problems.push(`${run.file}: natively it failed without a report`);
    if (milliseconds > MILLISECONDS_ALLOWED) problems.push(`${run.file}: it takes ${milliseconds.toFixed(0)} ms`);
    console.log(`${run.file}: ${result.launches.map((one) => one.got.status === "finished" ? one.got.cycles : "report").join(", ")} in ${milliseconds.toFixed(0)} ms`);
  }
  if (runs.length === 0 || launches === 0) problems.push("no launch was run");
  if (reports === 0) problems.push("no recorded run has a report");
  await writeEvents(simulator, launchesOf, replay, folder, recordings);
  problems.push(...await badInput(simulator, readLaunches, Refused), ...await otherSeed(simulator, launchesOf, replay, runs));
  console.log(`${runs.length} runs, ${launches} launches, ${reports} reports; the slowest takes ${slowest.toFixed(0)} ms; ` +
              `memory of the module: ${(simulator.module.HEAPU8.length / 2 ** 20).toFixed(0)} MiB`);
  for (const problem of problems) console.error(problem);
  return problems.length === 0 ? 0 : 1;
}

const HEAD = ".version 8.6\n.target sm_100a\n.address_size 64\n";
const LAUNCH = {module: 0, kernel: "k", grid: [1, 1, 1], block: [32, 1, 1], cluster: [1, 1, 1], in_clusters: false,
  dynamic_shared_bytes: 0, dynamic_shared_limit: 232448, non_portable_cluster: false, cooperative: false};

// Whatever a page is given, the answer is a report, and the next run works.
async function badInput(simulator, readLaunches, Refused) {
  const problems = [];
  const expectRefusal = async (what, words, action) => {
    try {
      const result = await action();
      const text = ((result && result.reports) || []).map((one) => one.shown).join("\n");
      if (!words.test(text)) problems.push(`${what}: the report is "${text}"`);
    } catch (error) {
      if (!words.test(error.message)) problems.push(`${what}: ${error.stack}`);
    }
  };
  const load = (body, settings = {}) => {
    simulator.open("", HEAD + body, settings);
    simulator.load(HEAD + body, "text");
  };
  await expectRefusal("text that is not PTX", /PTX error/, () => load(".visible .entry k() { this is not PTX }"));
  await expectRefusal("an instruction that does not exist", /frobnicate/, () => {
    load(".visible .entry k() { .reg .b32 %r<2>; frobnicate.b32 %r1, %r1; ret; }");
    return simulator.launch(LAUNCH, new Uint8Array(0));
  });
  await expectRefusal("a machine that does not exist", /not a machine/, () => simulator.open("GTX", "", {}));
  await expectRefusal("a setting that does not exist", /BW_SIM_CHECKS/, () => simulator.open("", "", {BW_SIM_CHECKS: "many"}));
  await expectRefusal("an endless kernel", /cycle/, () => {
    load(".visible .entry k() { L: bra L; }", {BW_SIM_CYCLE_LIMIT: "100000"});
    return simulator.launch(LAUNCH, new Uint8Array(0));
  });
  await expectRefusal("parameters that are missing", /8 bytes of parameters/, () => {
    load(".visible .entry k(.param .u64 p) { ret; }");
    return simulator.launch(LAUNCH, new Uint8Array(0));
  });
  await expectRefusal("a wild address", /BW-/, () => {
    load(".visible .entry k(.param .u64 p) { .reg .b64 %rd<2>; .reg .b32 %r<2>; ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1], %r1; ret; }");
    return simulator.launch(LAUNCH, new Uint8Array([0, 0, 0, 0, 0, 0, 1, 0]));
  });
  load(".visible .entry k(.param .u64 p) { ret; }");
  if (simulator.allocate(2 ** 40, "too much") !== 0) problems.push("a terabyte was allocated");
  await expectRefusal("a file that is cut off", /ends within a part/, () => readLaunches(new TextEncoder().encode("BWLNC001step"), {}));
  await expectRefusal("a block that is missing", /no such block/, () =>
    readLaunches(new TextEncoder().encode("BWLNC001name\0\0\0\0\x02\0\0\0\0\0\0\0ab"), {}, async (name) => { throw new Error(`no such block: ${name}`); }));
  await expectRefusal("another file", /not a file of launches/, () => readLaunches(new TextEncoder().encode("something else"), {}));
  load(".visible .entry k() { ret; }");
  const last = simulator.launch(LAUNCH, new Uint8Array(0));
  if (last.status !== "finished") problems.push(`after all of this a kernel ends with ${JSON.stringify(last)}`);
  simulator.close();
  return problems;
}

// The event logs of the runs that predict exercises ask about: <id>_<number of the run>.events
async function writeEvents(simulator, launchesOf, replay, folder, recordings) {
  for (const exercise of JSON.parse(fs.readFileSync(path.join(folder, "exercises.json"), "utf8")).exercises) {
    if (exercise.kind !== "predict") continue;
    for (const [number, name] of exercise.launches.entries()) {
      const {events} = replay(simulator, await launchesOf(name), {events: true});
      fs.writeFileSync(path.join(recordings, `${exercise.id}_${number}.events`), events);
    }
  }
}

// A changed setting changes the run and is not compared.
async function otherSeed(simulator, launchesOf, replay, runs) {
  const run = runs.find((one) => one.status === 0);
  if (run === undefined) return ["no run ends without an error"];
  const file = await launchesOf(run.file);
  const {changed, differences, events, statistics} = replay(simulator, file, {settings: {BW_SIM_SEED: "3"}, events: true, statistics: true});
  return changed && differences.length === 0 && events.length !== 0 && statistics.length !== 0
      ? [] : [`${run.file} with another seed: changed ${changed}, ${events.length} events, ${statistics.length} lines of statistics`];
}

main(process.argv.slice(2)).then((status) => { process.exitCode = status; });
