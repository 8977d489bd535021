// Rings of barriers, and what each of their stages holds when: the same as common/tools/timeline/rings.py finds.
"use strict";

(() => {
  const T = globalThis.bwTimeline = globalThis.bwTimeline || {};
  const ARRIVALS = ["mbarrier_arrive", "mbarrier_expect_tx", "tmem_commit", "mbarrier_complete_tx"];

  // Warps that wait for, and that arrive on, the barriers at an offset, and the phase that is asked for first.
  function usersOf(model) {
    const waiters = new Map(), arrivers = new Map(), firstWaits = new Map();
    const add = (map, key, warp) => { if (!map.has(key)) map.set(key, new Set()); map.get(key).add(warp); };
    for (const event of model.events) {
      if (event.barrier === null && !(event.signals && event.signals.length)) continue;
      const offset = event.barrier === null ? null : model.barriers[event.barrier].barrier_offset;
      if (event.event === "mbarrier_wait") {
        add(waiters, offset, event.warp);
        if (!firstWaits.has(offset)) firstWaits.set(offset, event.waited_phase);
      } else if (ARRIVALS.includes(event.event)) add(arrivers, offset, event.warp);
    }
    return {waiters: (offset) => waiters.get(offset) || new Set(), arrivers: (offset) => arrivers.get(offset) || new Set(), firstWaits};
  }

  class Finder {
    constructor(model, sources) {
      this.model = model;
      this.sources = sources;
      this.users = usersOf(model);
      this.at = new Map();
      for (const barrier of model.barriers) if (!this.at.has(barrier.barrier_offset)) this.at.set(barrier.barrier_offset, barrier);
    }

    find() {
      const blocks = T.grouped([...this.at.keys()].sort((a, b) => a - b), (offset) => this.blockOf(offset));
      const rings = [...blocks.values()].flatMap((offsets) => this.ofBlock(offsets));
      return rings.sort((a, b) => {
        for (let at = 0; at < Math.min(a.full.length, b.full.length); ++at) if (a.full[at] !== b.full[at]) return a.full[at] - b.full[at];
        return a.full.length - b.full.length;
      });
    }
    ofBlock(offsets) {
      const half = Math.floor(offsets.length / 2);
      const halves = [[offsets.slice(0, half), offsets.slice(half)], [offsets.filter((_, at) => at % 2 === 0), offsets.filter((_, at) => at % 2 === 1)]];
      if (offsets.length % 2 === 0)
        for (const [one, other] of halves) {
          const [full, empty] = this.oriented(one, other);
          if (this.isPair(full, empty) && this.mayBeRing(full, empty)) return [this.ring(full, empty, true)];
        }
      return this.byLine(offsets);
    }
    // Rings of barriers that are initialised line by line.
    byLine(offsets) {
      const rows = [], found = [];
      const key = (frame) => [frame.path, frame.line, frame.function].join("\u0001");
      for (const offset of offsets) {
        const place = key(this.frames(offset)[0]), last = rows[rows.length - 1];
        if (last && last.place === place) last.offsets.push(offset);
        else rows.push({place, offsets: [offset]});
      }
      for (let index = 0; index < rows.length; ++index) {
        if (index + 1 < rows.length) {
          const [full, empty] = this.oriented(rows[index].offsets, rows[index + 1].offsets);
          if (this.isPair(full, empty) && this.mayBeRing(full, empty)) {
            found.push(this.ring(full, empty, false));
            ++index;
            continue;
          }
        }
        found.push(this.ring(rows[index].offsets, [], false));
      }
      return found;
    }
    // Whether those who wait for one row arrive on the other.
    isPair(full, empty) {
      if (full.length !== empty.length) return false;
      const {waiters, arrivers} = this.users;
      const meet = (one, other) => [...one].some((warp) => other.has(warp));
      const forth = full.some((offset, at) => meet(waiters(offset), arrivers(empty[at])));
      const back = empty.some((offset, at) => meet(waiters(offset), arrivers(full[at])));
      const nobody = !empty.some((offset) => waiters(offset).size) && empty.some((offset) => arrivers(offset).size);
      return forth && (back || nobody);
    }
    // [full, empty]: the producer asks for the empty stage before its first phase.
    oriented(one, other) {
      return one.some((offset) => (this.users.firstWaits.get(offset) || 0) < 0) ? [other, one] : [one, other];
    }
    mayBeRing(full, empty) {
      if (full.length > 1) return true;
      const names = [full[0], empty[0]].map((offset) => this.nameIn(this.namingFrame(this.frames(offset)), offset));
      return names[0] === names[1] || names.some((name) => name.includes("full") || name.includes("empty"));
    }
    // The calls around an init, less the wrappers of instructions.
    frames(offset) {
      const {stack} = this.model.places.get(this.at.get(offset).init);
      const own = stack.filter((frame) => !frame.path.includes("common/device/"));
      return own.length ? own : stack;
    }
    blockOf(offset) {
      const frames = this.frames(offset);
      return [frames[0].function, ...frames.slice(1).map((frame) => frame.shown)].join("\u0001");
    }
    ring(full, empty, byCall) {
      const frames = this.frames(full[0]);
      let frame = this.namingFrame(frames);
      if (frame === frames[0] && byCall && full.length > 1 && frames.length > 1) frame = frames[1];
      const names = [this.nameIn(frame, full[0])];
      if (empty.length && !byCall) {
        const second = this.nameIn(this.namingFrame(this.frames(empty[0])), empty[0]);
        if (second !== names[0]) names.push(second);
      }
      return {name: names.join(" / "), full, empty, stages: full.length};
    }
    // The outermost line inside a function which initialises.
    namingFrame(frames) {
      const inits = frames.filter((frame) => frame.function.includes("init"));
      return inits.length ? inits[inits.length - 1] : frames[0];
    }
    // From the line that initialises it: shared.input_barriers is "input".
    nameIn(frame, offset) {
      const text = this.sources(frame);
      const match = /\b(?:shared|storage)\.(\w+)/.exec(text) || /^(?:if \([^)]*\) )?[*&]?([a-z_]\w*)(?=[[.(-])/.exec(text);
      if (!match || ["ptx", "typename", "if", "for"].includes(match[1])) {
        const parts = this.at.get(offset).barrier.split("::");
        return parts[parts.length - 1];
      }
      return (match[1].replace(/_?(barriers?|mbars?|pipeline)$/, "") || match[1]).replace(/_/g, " ").trim();
    }
  }

  // {"rank,offset": {begins, completes, passes, copies, waits}}: cycles by phase.
  function marksOf(model) {
    const marks = new Map();
    const markOf = (rank, offset) => {
      const key = `${rank},${offset}`;
      if (!marks.has(key)) marks.set(key, {rank, offset, begins: new Map(), completes: new Map(), passes: new Map(), copies: [], waits: false});
      return marks.get(key);
    };
    const first = (map, phase, cycle) => { if (!map.has(phase)) map.set(phase, cycle); };
    for (const event of model.events) {
      const barrier = event.barrier === null ? null : model.barriers[event.barrier];
      if (event.event === "copy_issue") {
        const signals = (event.signals || []).map(({rank, offset}) => markOf(rank, offset));
        if (barrier) signals.push(markOf(barrier.barrier_rank, barrier.barrier_offset));
        for (const mark of signals) mark.copies.push([event.cycle, event.rank]);
      }
      if (!barrier) continue;
      const mark = markOf(barrier.barrier_rank, barrier.barrier_offset);
      if (event.event === "mbarrier_arrive" || event.event === "mbarrier_expect_tx") first(mark.begins, event.phase, event.cycle);
      else if (event.event === "mbarrier_complete") mark.completes.set(event.phase, event.cycle);
      else if (event.event === "mbarrier_wait" && event.done) first(mark.passes, event.waited_phase, event.cycle);
      else if (event.event === "wait") mark.waits = true;
    }
    return marks;
  }

  // The barriers of a stage, which may be those of the other CTA of a pair.
  function barriersOf(marks, cta, fullOffset, emptyOffset) {
    const of = (rank, offset) => marks.get(`${rank},${offset}`);
    let full = of(cta.rank, fullOffset), empty = emptyOffset === null ? null : of(cta.rank, emptyOffset) || null;
    if (empty && (!full || full.completes.size === 0)) {
      const other = [...marks.values()].find((mark) => mark.offset === fullOffset && mark.copies.some(([, source]) => source === cta.rank));
      full = other || full;
    }
    if (empty && empty.completes.size === 0) empty = of(cta.rank ^ 1, emptyOffset) || empty;
    return [full, empty];
  }

  // [[begin, end, state, lap]] of a stage; [] where its barriers did nothing.
  function stageStates(marks, cta, fullOffset, emptyOffset, end) {
    const [full, empty] = barriersOf(marks, cta, fullOffset, emptyOffset);
    if (!full || !(full.completes.size || full.begins.size || full.waits)) return [];
    const states = [];
    let at = cta.begin, lap = 0;
    const add = (until, state) => {
      if (until > at) {
        states.push([at, until, state, lap]);
        at = until;
      }
    };
    if (empty === null) {  // a lone barrier: a phase after the other
      for (const phase of [...full.completes.keys()].sort((a, b) => a - b)) {
        lap = phase;
        add(full.completes.get(phase), "filling");
      }
      lap = full.completes.size;
      add(end, "filling");
      return states;
    }
    for (;; ++lap) {
      const done = full.completes.get(lap), passed = empty.passes.get(lap - 1), taken = full.passes.get(lap);
      const begins = full.begins.has(lap) ? [full.begins.get(lap)] : [];
      const copied = full.copies.find(([cycle]) => at <= cycle && cycle <= (done === undefined ? -1 : done));
      if (copied) begins.push(copied[0]);
      if (passed !== undefined && (begins.length || done !== undefined)) begins.push(passed);
      if (!begins.length) {
        add(end, "empty");
        return states;
      }
      add(Math.max(at, Math.min(...begins)), "empty");
      if (done === undefined) {
        add(end, "filling");
        return states;
      }
      add(done, "filling");
      const released = empty.completes.get(lap), until = released === undefined ? end : released;
      if (taken === undefined) add(until, "full");
      else {
        add(Math.max(taken, done), "full");
        add(until, "reading");
      }
      if (released === undefined) return states;
    }
  }

  function addRings(model, sources) {
    model.rings = new Finder(model, sources).find();
    const marks = marksOf(model);
    for (const cta of model.ctas)
      for (const ring of model.rings)
        ring.full.forEach((offset, stage) => {
          const states = stageStates(marks, cta, offset, ring.empty.length ? ring.empty[stage] : null, model.end);
          if (states.length) cta.stages.push({ring, stage, states});
        });
  }

  Object.assign(T, {addRings});
})();
