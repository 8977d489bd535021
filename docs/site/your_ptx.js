// A reader's own PTX in the page: read the module, set parameters and buffers, run, show the report.
"use strict";

(() => {
  const {byId, make, number, Engine, showReports, showTimes, showTimeline} = bwPage;
  const MOST_SHOWN = 64;  // words of a buffer
  const EXAMPLE = `.version 8.6
.target sm_100a
.address_size 64

// Two arrivals complete a phase, and only one thread arrives: thread 0 waits forever.
.visible .entry one_arrival(.param .u64 out)
{
  .shared .align 8 .b64 barrier;
  .reg .pred %p<3>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra DONE;
  mbarrier.init.shared.b64 [barrier], 2;
  mbarrier.arrive.shared.b64 %rd1, [barrier];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [barrier], 0;
  @!%p2 bra WAIT;
  ld.param.u64 %rd2, [out];
  st.global.u32 [%rd2], %r1;
DONE:
  ret;
}
`;
  let kernels = [];
  const engine = new Engine((text) => { byId("state").textContent = text; }, (made) => showTimeline(byId("timeline"), made));

  function problem(text) {
    byId("verdict").hidden = false;
    byId("verdict").replaceChildren(make("p", {class: "error"}, text));
  }

  async function read() {
    byId("verdict").hidden = true;
    byId("launch").hidden = true;
    try {
      const {result} = await engine.run({task: "inspect", ptx: byId("ptx").value});
      showReports(byId("reports"), result.reports || []);
      if (!result.kernels) return problem("The module is refused; the report says why.");
      kernels = result.kernels;
      if (kernels.length === 0) return problem("The module has no kernel: a kernel is a function that is declared with .entry.");
      byId("kernel").replaceChildren(...kernels.map((one, at) => make("option", {value: at}, one.shown)));
      byId("launch").hidden = false;
      chooseKernel();
    } catch (error) {
      problem(error.message);
    }
  }

  function chooseKernel() {
    const kernel = kernels[Number(byId("kernel").value)];
    byId("run").disabled = kernel.refused !== undefined;
    showReports(byId("reports"), kernel.refused ? [kernel.refused] : []);
    const body = byId("parameters").tBodies[0];
    body.replaceChildren(...(kernel.parameters || []).map((one, at) =>
      make("tr", {}, make("td", {}, `${one.name} (${one.type})`), make("td", {}, String(one.bytes)),
           make("td", {}, make("input", {"data-parameter": at, "aria-label": one.name, value: one.bytes === 8 ? "buffer 4096 count" : "0"})))));
    if (kernel.threads && kernel.threads.length) byId("block").value = kernel.threads.join(", ");
    if (kernel.cluster && kernel.cluster.length) byId("cluster").value = kernel.cluster.join(", ");
  }

  function extents(id) {
    const texts = byId(id).value.split(/[,x\s]+/).filter((text) => text !== "");
    if (texts.length < 1 || texts.length > 3 || !texts.every((text) => /^\d{1,9}$/.test(text) && Number(text) > 0))
      throw new Error(`"${byId(id).value}" is not one to three positive numbers; write 4 or 4, 2, 1.`);
    const sizes = texts.map(Number);
    while (sizes.length < 3) sizes.push(1);
    return sizes;
  }

  // Writes a parameter's value into `bytes`; adds a buffer for one that is an address.
  function put(text, parameter, bytes, buffers, pointers) {
    const buffer = /^buffer\s+(\d{1,10})(?:\s+(zero|count|random))?$/.exec(text);
    if (/^buffer/.test(text) && !buffer)
      throw new Error(`${parameter.name}: "${text}" is not a buffer; write buffer 4096, buffer 4096 zero, count or random.`);
    if (buffer && parameter.bytes !== 8) throw new Error(`${parameter.name} has ${parameter.bytes} bytes; an address has 8.`);
    if (buffer) {
      pointers.push({offset: parameter.offset, buffer: buffers.length});
      buffers.push({name: parameter.name, bytes: Number(buffer[1]), fill: buffer[2] || "zero"});
      return;
    }
    const words = text.split(",").map((one) => one.trim());
    const size = words.length === 1 ? parameter.bytes : 4;
    if (words.length * size > parameter.bytes) throw new Error(`${parameter.name} has ${parameter.bytes} bytes, and ${words.length} words of 4 bytes are more.`);
    const view = new DataView(bytes.buffer);
    words.forEach((word, at) => {
      const place = parameter.offset + at * size;
      if (/^-?\d+(\.\d*)?([eE][-+]?\d+)?f$/.test(word) && size >= 4) return view.setFloat32(place, Number(word.slice(0, -1)), true);
      if (/^-?\d*\.\d+$/.test(word) && size === 8) return view.setFloat64(place, Number(word), true);
      if (!/^(-?\d+|0x[0-9a-fA-F]+)$/.test(word)) throw new Error(`${parameter.name}: "${word}" is not a number; write 12, -3, 0x1f or 1.5f.`);
      let value = BigInt(word);
      for (let byte = 0; byte < size; ++byte, value >>= 8n) bytes[place + byte] = Number(value & 255n);
    });
  }

  function parameters(kernel) {
    const total = kernel.parameters.reduce((most, one) => Math.max(most, one.offset + one.bytes), 0);
    const bytes = new Uint8Array(total), buffers = [], pointers = [];
    for (const box of byId("parameters").querySelectorAll("input"))
      put(box.value.trim(), kernel.parameters[Number(box.dataset.parameter)], bytes, buffers, pointers);
    return {buffers, parameters: {bytes, pointers}};
  }

  function showContents(result, buffers) {
    const place = byId("contents");
    place.replaceChildren();
    (result.contents || []).forEach((bytes, at) => {
      const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const texts = [];
      for (let word = 0; word < Math.min(MOST_SHOWN, Math.floor(bytes.length / 4)); ++word)
        texts.push(`${String(words.getUint32(word * 4, true)).padStart(10)}  ${words.getFloat32(word * 4, true).toPrecision(6)}`);
      place.append(make("details", {}, make("summary", {}, `Buffer ${buffers[at].name} afterwards (0x${result.addresses[at].toString(16)}; as u32 and as f32)`), make("pre", {}, texts.join("\n"))));
    });
  }

  async function go() {
    const kernel = kernels[Number(byId("kernel").value)];
    let task;
    try {
      const given = parameters(kernel);
      const cluster = extents("cluster");
      const settings = {BW_SIM_CYCLE_LIMIT: byId("limit").value, BW_SIM_CHECKS: byId("checks").value};
      if (byId("seed").value !== "0") settings.BW_SIM_SEED = byId("seed").value;
      task = {task: "run", ptx: byId("ptx").value, settings, ...given,
              launch: {module: 0, kernel: kernel.name, grid: extents("grid"), block: extents("block"), cluster,
                       in_clusters: cluster.some((size) => size !== 1), dynamic_shared_bytes: Number(byId("shared").value),
                       dynamic_shared_limit: 232448, non_portable_cluster: true, cooperative: false, is_dependent: false}};
    } catch (error) {
      return problem(error.message);
    }
    byId("run").disabled = true;
    byId("stop").disabled = false;
    try {
      const {result, printed} = await engine.run(task);
      const launch = result.launches[0];
      const text = launch && launch.got.status === "finished" ? `${kernel.shown} ends after ${number(launch.got.cycles)} cycles on a simulated ${result.machine.toUpperCase()}.` : "The kernel was stopped with a report.";
      byId("verdict").hidden = false;
      byId("verdict").replaceChildren(make("p", {}, text), ...(printed.length ? [make("pre", {}, printed.join("\n"))] : []));
      showReports(byId("reports"), result.reports);
      showContents(result, task.buffers);
      showTimes(byId("times"), result.statistics);
    } catch (error) {
      problem(error.message);
    }
    byId("run").disabled = false;
    byId("stop").disabled = true;
  }

  async function take(file) {
    const MOST_BYTES = 16 << 20;
    if (!file) return;
    if (file.size > MOST_BYTES) return problem(`${file.name} has ${number(file.size)} bytes; a module may have ${number(MOST_BYTES)}.`);
    byId("ptx").value = await file.text();
    read();
  }

  byId("read").addEventListener("click", read);
  byId("kernel").addEventListener("change", chooseKernel);
  byId("run").addEventListener("click", go);
  byId("stop").addEventListener("click", () => engine.stop());
  byId("example").addEventListener("click", () => { byId("ptx").value = EXAMPLE; read(); });
  byId("file").addEventListener("change", () => take(byId("file").files[0]));
  byId("drop").addEventListener("dragover", (event) => event.preventDefault());
  byId("drop").addEventListener("drop", (event) => { event.preventDefault(); take(event.dataTransfer.files[0]); });
})();
