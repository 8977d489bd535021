// What the timeline's page draws (common/tools/timeline/page.js), made of a recording: the same data as
// common/tools/timeline/page.py writes (lanes.py, palette.py), and the page around it.
"use strict";

(() => {
  const T = globalThis.bwTimeline = globalThis.bwTimeline || {};
  const RUN = "run";
  const PHASES = ["phase", "odd"];  // of a lone barrier

  // Texts that are told once and referred to by number.
  class Table {
    constructor() { this.items = []; this.numbers = new Map(); }
    number(item) {
      const key = JSON.stringify(item);
      if (!this.numbers.has(key)) {
        this.numbers.set(key, this.items.length);
        this.items.push(item);
      }
      return this.numbers.get(key);
    }
  }

  // -- names --------------------------------------------------------------------------------------
  function namesOf(model) {
    const ringOf = (barrier) => {
      const offset = model.barriers[barrier].barrier_offset;
      for (const ring of model.rings)
        for (const [word, offsets] of [["full", ring.full], ["empty", ring.empty]])
          if (offsets.includes(offset)) return {ring, word, stage: offsets.indexOf(offset)};
      return null;
    };
    const family = (barrier) => {
      const found = ringOf(barrier);
      return !found ? model.barriers[barrier].barrier : found.ring.empty.length ? `${found.ring.name} ${found.word}` : found.ring.name;
    };
    const barrierName = (barrier) => {
      const found = ringOf(barrier);
      return family(barrier) + (found && found.ring.stages > 1 ? ` ${found.stage}` : "");
    };
    const reasonOf = (segment) => {
      if (segment.kind === "data") return T.rules.words.data;
      if (segment.barrier !== null) return family(segment.barrier);
      if (segment.reason === "named_barrier") return segment.object ? `barrier ${segment.object}` : "__syncthreads";
      return T.rules.words.waits[segment.reason] || segment.reason;
    };
    return {barrierName, reasonOf};
  }

  // -- colours ------------------------------------------------------------------------------------
  function partsOf(reason, palette) {
    const at = reason.lastIndexOf(" "), side = reason.slice(at + 1);
    return at >= 0 && side in palette.sides ? [reason.slice(0, at), side] : [reason, ""];
  }
  function knownHatching(reason, palette) {
    const [ring, side] = partsOf(reason, palette);
    if (side && ring in palette.rings) return [palette.rings[ring], palette.sides[side]];
    if (/^barrier \d+$/.test(reason)) return palette.named_barrier;
    return palette.phrases[reason] || null;
  }
  // {reason: [number of a colour, direction of the lines]} of waits.
  function hatchings(sums, palette) {
    const chosen = {}, rings = new Map();
    for (const reason of sums.keys()) {
      const known = knownHatching(reason, palette);
      if (known) chosen[reason] = known;
    }
    const used = new Set(Object.values(chosen).map(([hue]) => hue));
    const left = Array.from({length: palette.others}, (_, hue) => hue).filter((hue) => !used.has(hue));
    const rest = [...sums.keys()].filter((reason) => !(reason in chosen)).sort((a, b) => sums.get(b) - sums.get(a) || (a < b ? -1 : 1));
    for (const reason of rest) {
      const [ring, side] = partsOf(reason, palette);
      if (!rings.has(ring)) rings.set(ring, left.length ? left.shift() : palette.others);
      chosen[reason] = [rings.get(ring), palette.sides[side] || palette.sides.full];
    }
    return chosen;
  }

  // -- lanes --------------------------------------------------------------------------------------
  const warpsOf = (warps) => {
    const last = warps[warps.length - 1];
    if (warps.length === 1) return `warp ${warps[0]}`;
    return last - warps[0] === warps.length - 1 ? `warps ${warps[0]}–${last}` : `warps ${warps.join(", ")}`;
  };
  function warpTrack(model, segments, names) {
    return segments.map((segment) => {
      const mark = {begin: segment.begin, end: segment.end === null ? model.end : segment.end, kind: segment.kind, text: "", reason: "",
        instruction: segment.instruction, endless: segment.kind !== RUN && segment.end === null, source: segment};
      if (segment.kind !== RUN) {
        mark.reason = names.reasonOf(segment);
        mark.text = segment.barrier === null ? mark.reason : `${names.barrierName(segment.barrier)}, phase ${segment.phase}`;
      }
      return mark;
    });
  }
  function copyMark(model, copy, names) {
    const landed = copy.landed !== null ? copy.landed : copy.read;
    const target = copy.barrier !== null ? ` for ${names.barrierName(copy.barrier)}` : "";
    const multicast = copy.targets > 1 ? ` to ${copy.targets} CTAs` : "";
    return {begin: copy.issued, end: landed === null ? model.end : landed, kind: "copy", text: `${copy.bytes.toLocaleString("en")} bytes${multicast}${target}`,
      reason: "", instruction: copy.instruction, endless: landed === null, source: copy};
  }
  // Tracks of marks that don't overlap, as few as it takes.
  function packed(marks) {
    const tracks = [];
    for (const mark of marks.sort((a, b) => a.begin - b.begin || a.end - b.end)) {
      const track = tracks.find((one) => one[one.length - 1].end <= mark.begin);
      if (track) track.push(mark); else tracks.push([mark]);
    }
    return tracks;
  }

  function lanesOf(model, cta, names) {
    const lanes = [], warpPlaces = new Map(), copyPlaces = new Map();
    let tensor = null;
    for (const role of cta.roles) {
      role.warps.forEach((warp, track) => warpPlaces.set(warp, [lanes.length, track]));
      lanes.push({kind: "role", label: role.name, detail: warpsOf(role.warps), names: role.warps.map((warp) => `warp ${warp}`),
        tracks: role.warps.map((warp) => warpTrack(model, cta.warps.get(warp), names))});
    }
    for (const [direction, label] of Object.entries(T.rules.words.copies)) {
      const copies = cta.copies.filter((copy) => copy.direction === direction);
      if (!copies.length) continue;
      const tracks = packed(copies.map((copy) => copyMark(model, copy, names)));
      tracks.forEach((track, number) => track.forEach((mark) => copyPlaces.set(mark.source, [lanes.length, number])));
      lanes.push({kind: "copies", label: copies.every((copy) => copy.unit === "cp_async") ? "cp.async" : label, detail: "", names: [], tracks});
    }
    if (cta.mmas.length) {
      tensor = [lanes.length, 0];
      lanes.push({kind: "tensor", label: "tensor core", detail: "", names: [], tracks: [cta.mmas.map((mma) =>
        ({begin: mma.begin, end: mma.end, kind: "mma", text: mma.text, reason: "", instruction: mma.instruction, endless: false, source: mma}))]});
    }
    for (const tracks of T.grouped(cta.stages, (track) => track.ring).values()) {
      const {ring} = tracks[0], isRing = ring.empty.length > 0;
      lanes.push({kind: "ring", label: ring.name, detail: isRing ? `${tracks.length} stage${tracks.length > 1 ? "s" : ""}` : "phases",
        names: tracks.map((track) => `stage ${track.stage}`),
        tracks: tracks.map((track) => track.states.map(([begin, end, state, lap]) => ({begin, end, kind: isRing ? state : PHASES[lap % 2],
          text: isRing ? `lap ${lap}` : `phase ${lap}`, reason: "", instruction: null, endless: false, source: null})))});
    }
    return {lanes, arrows: arrowsOf(cta, names, warpPlaces, copyPlaces, tensor)};
  }

  // Hand-overs: [origin's lane and track or -1 and rank, cycle, target's lane and track, cycle, reason].
  function arrowsOf(cta, names, warpPlaces, copyPlaces, tensor) {
    const arrows = [];
    for (const [warp, segments] of cta.warps)
      for (const segment of segments) {
        const done = segment.completion;
        if (!done || segment.kind === RUN || segment.end === null) continue;
        if (done.by === "warp" && done.rank === cta.rank && done.warp === warp) continue;
        let origin = null;
        if (done.rank === cta.rank) {
          if (done.by === "copy" && done.copy) origin = copyPlaces.get(done.copy) || null;
          else if (done.by === "mma") origin = tensor;
          origin = origin || warpPlaces.get(done.warp) || null;
        }
        arrows.push([origin || [-1, done.rank === cta.rank ? -1 : done.rank], Math.min(done.cycle, segment.end), warpPlaces.get(warp), segment.end,
                     names.reasonOf(segment)]);
      }
    return arrows;
  }

  // -- data ---------------------------------------------------------------------------------------
  const sameFrame = (a, b) => a.path === b.path && a.line === b.line && a.function === b.function;
  function placesOf(launch, sources) {
    const table = new Table(), known = new Map();
    const named = (frame) => frame.shown + (frame.function ? ` in ${frame.function}` : "");
    const number = (instruction) => {
      const place = instruction === null ? undefined : launch.places.get(instruction);
      if (!place) return -1;
      if (!known.has(instruction))
        known.set(instruction, table.number([named(place.detail), sources(place.detail), place.opcode,
                                             place.stack.filter((frame) => !sameFrame(frame, place.detail)).map(named)]));
      return known.get(instruction);
    };
    return {table, number};
  }

  function ctaData(model, cta, names, places, texts, kinds) {
    const {lanes, arrows} = lanesOf(model, cta, names);
    const row = (mark) => {
      const made = [mark.begin, mark.end - mark.begin, kinds.indexOf(mark.kind), texts.number(mark.text), places.number(mark.instruction),
        mark.reason ? texts.number(mark.reason) : -1];
      if (mark.endless) made.push(1);
      if (mark.kind === RUN) made.push(mark.source.parts.map(([begin, end, count, instruction]) =>
        [begin - mark.begin, end - begin, count, places.number(instruction)]));
      return made;
    };
    return {lanes: lanes.map(({kind, label, detail, names: own, tracks}) => ({kind, label, detail, names: own, tracks: tracks.map((track) => track.map(row))})),
      arrows: arrows.map(([origin, begin, target, end, reason]) => [...origin, begin, ...target, end, texts.number(reason)])};
  }

  function sumsOf(models, namesByModel) {
    const sums = new Map();
    models.forEach((model, at) => {
      for (const cta of model.ctas)
        for (const segments of cta.warps.values())
          for (const segment of segments)
            if (segment.kind === "wait") {
              const reason = namesByModel[at].reasonOf(segment);
              sums.set(reason, (sums.get(reason) || 0) + T.lengthOf(segment, model.end));
            }
    });
    return sums;
  }

  // A function that gives the line of a frame, from {path: text} of the repository's files.
  function sourcesOf(files) {
    const lines = new Map();
    return (frame) => {
      const match = /(?:^|\/)((?:solutions|chapters|common|tests)\/.*)$/.exec(frame.path), path = match ? match[1] : frame.file;
      if (!lines.has(path)) lines.set(path, path in files ? files[path].split("\n") : []);
      const own = lines.get(path);
      return frame.line > 0 && frame.line <= own.length ? own[frame.line - 1].trim() : "";
    };
  }

  // {known, blocks}: what the timeline's page takes, of the last launch of a recording that took time. `rules` and
  // `files` are timeline.json and sources.json.
  function timelineOf(bytes, title, rules, files) {
    T.rules = rules;
    const launches = T.readRecording(bytes);
    if (launches.length === 0) return null;
    const launch = T.chosen(launches), sources = sourcesOf(files);
    const models = T.build(launch, sources), namesByModel = models.map((model) => namesOf(model));
    const places = placesOf(launch, sources), texts = new Table(), ctas = [], blocks = [], profiles = [];
    models.forEach((model, at) => {
      const measured = T.measure(model, namesByModel[at].reasonOf);
      profiles.push({cluster: model.index, limit: T.limit(measured.chain, rules.words.limits), table: T.table(measured)});
      for (const cta of model.ctas) {
        ctas.push({cluster: model.index, rank: cta.rank, index: cta.index, begin: model.begin, end: model.end, profile: at});
        blocks.push(ctaData(model, cta, namesByModel[at], places, texts, rules.kinds));
      }
    });
    const run = {label: "", kernel: launch.begin.kernel, cycles: T.cyclesOf(launch), status: T.statusOf(launch), notes: T.notes(launch, rules.words.notes),
      ctas, places: places.table.items, texts: texts.items, profiles, first_block: 0};
    const known = {title, kinds: rules.kinds, patterns: rules.palette.patterns, waits: hatchings(sumsOf(models, namesByModel), rules.palette), runs: [run]};
    return {known, blocks};
  }

  // The timeline's page as a text.
  function pageOf({known, blocks}, template) {
    const script = (id, data) => `<script type="application/json" id="${id}">${JSON.stringify(data).replace(/<\//g, "<\\/")}</script>`;
    const data = [script("runs", known), ...blocks.map((block, number) => script(`cta-${number}`, block))].join("\n");
    const title = known.title.replace(/[<>&"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
    return template.replace(/@TITLE@/g, () => title).replace("@DATA@", () => data);
  }

  Object.assign(T, {timelineOf, pageOf});
})();
