// Reads a recording of the simulator (BW_SIM_RECORDING) in a page, as common/tools/timeline/recording.py does.
"use strict";

(() => {
  const T = globalThis.bwTimeline = globalThis.bwTimeline || {};
  const MAGIC = "BWREC001", NONE = 0xFFFFFFFF, ABSENT = -(2 ** 63), ROW_BYTES = 32, HEAD_BYTES = 16;
  const WIDTHS = {ranges: 4, signals: 3, numbers: 1};
  const text = new TextDecoder();
  const json = (bytes) => JSON.parse(text.decode(bytes));

  function* parts(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = MAGIC.length; at + HEAD_BYTES <= bytes.length;) {
      const size = Number(view.getBigUint64(at + 8, true));
      if (at + HEAD_BYTES + size > bytes.length) return;  // the run was stopped while it wrote
      yield [text.decode(bytes.subarray(at, at + 4)), bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + size)];
      at += HEAD_BYTES + size;
    }
  }

  function item(kind, values, at, spaces) {
    if (kind === "numbers") return values(at);
    if (kind === "signals") return {rank: values(at), offset: values(at + 1), bytes: values(at + 2)};
    const space = spaces[values(at)];
    return space === "shared" ? {space, rank: values(at + 1), offset: values(at + 2), bytes: values(at + 3)}
      : {space, address: values(at + 2), bytes: values(at + 3)};
  }

  // The fields of one event, from its first value on.
  function fieldsOf(fields, values, first, texts, spaces) {
    const found = {};
    let at = first;
    for (const [name, kind, names] of fields) {
      const value = values(at++);
      if (kind === "name") found[name] = names[value];
      else if (kind === "boolean") found[name] = value !== 0;
      else if (kind === "text") found[name] = texts[value];
      else if (value === ABSENT) continue;
      else if (kind === "number") found[name] = value;
      else {
        const width = WIDTHS[kind];
        found[name] = Array.from({length: value}, (_, index) => item(kind, values, at + index * width, spaces));
        at += value * width;
      }
    }
    return found;
  }

  // Events have their fields next to cycle, rank, warp, lanes, instruction and barrier (null where they have none).
  function cluster(part, table) {
    const view = new DataView(part.buffer, part.byteOffset, part.byteLength);
    const [jsonBytes, rows] = [0, 8].map((at) => Number(view.getBigUint64(at, true)));
    const about = json(part.subarray(24, 24 + jsonBytes)), events = [];
    const rowsAt = 24 + jsonBytes, valuesAt = rowsAt + rows * ROW_BYTES;
    const values = (index) => view.getInt32(valuesAt + 8 * index + 4, true) * 2 ** 32 + view.getUint32(valuesAt + 8 * index, true);
    for (let row = 0; row < rows; ++row) {
      const at = rowsAt + row * ROW_BYTES;
      const word = (offset) => { const value = view.getUint32(at + offset, true); return value === NONE ? null : value; };
      const kind = table.kinds[view.getUint8(at + 28)];
      events.push({...fieldsOf(kind.fields, values, view.getUint32(at + 16, true), about.texts, table.spaces), event: kind.event,
        cycle: Number(view.getBigUint64(at, true)), instruction: word(8), lanes: view.getUint32(at + 12, true), barrier: word(20),
        rank: view.getUint16(at + 24, true), warp: view.getUint16(at + 26, true)});
    }
    return {index: about.cluster, ctas: about.ctas, barriers: about.barriers, events, fullAt: about.full_at};
  }

  function placesOf(table) {
    const frames = table.locations.map(([path, line, fn]) => {
      const file = path.slice(path.lastIndexOf("/") + 1);
      return {path, line, function: fn, file, shown: `${file}:${line}`};
    });
    return new Map(Object.entries(table.instructions).map(([index, [opcode, place, detail, stack]]) =>
      [Number(index), {opcode, place: frames[place], detail: frames[detail], stack: stack.map((number) => frames[number])}]));
  }

  // [launch] of a recording's bytes: {begin, end, clusters, places}.
  function readRecording(bytes) {
    if (text.decode(bytes.subarray(0, MAGIC.length)) !== MAGIC) throw new Error("This is not a recording of the simulator.");
    const launches = [];
    let table = null;
    for (const [tag, part] of parts(bytes)) {
      const last = launches[launches.length - 1];
      if (tag === "kind") table = json(part);
      else if (tag === "lnch") launches.push({begin: json(part), clusters: [], places: new Map(), end: null});
      else if (tag === "clst") last.clusters.push(cluster(part, table));
      else if (tag === "plac") last.places = placesOf(json(part));
      else if (tag === "lend") last.end = json(part);
    }
    return launches;
  }

  const cyclesOf = (launch) => launch.end ? launch.end.cycles : 0;
  const statusOf = (launch) => launch.end ? launch.end.status : "killed";
  // The last launch that took any time.
  const chosen = (launches) => [...launches].reverse().find(cyclesOf) || launches[launches.length - 1];

  // Sentences about what is not in the recording; `words` are those of recording.py.
  function notes(launch, words) {
    const said = [], {clusters: total, recorded_clusters: kept, recorded_cycles: cycles} = launch.begin;
    const fill = (name, values) => said.push(words[name].replace(/\{(\w+)\}/g, (_, key) => values[key]));
    if (!kept || kept.length === 0) fill("no_cluster", {total});
    else if (kept[0] === kept[1] && total > 1) fill("one_cluster", {first: kept[0], total});
    else if (kept[1] - kept[0] + 1 < total) fill("some_clusters", {first: kept[0], last: kept[1], total});
    if (cycles) fill("some_cycles", {first: cycles[0], last: cycles[1]});
    const full = launch.clusters.map((one) => one.fullAt).filter((at) => at !== undefined);
    if (full.length) fill("cut", {cycle: Math.min(...full)});
    const status = statusOf(launch);
    if (status !== "finished") fill(status in words.ends ? "end" : "stopped", {end: words.ends[status], status});
    return said;
  }

  Object.assign(T, {readRecording, chosen, cyclesOf, statusOf, notes});
})();
