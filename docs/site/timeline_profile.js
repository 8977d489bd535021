// What limits a run, and its shares in numbers: the same sentences and lines as common/tools/timeline makes (critical.py,
// profile.py).
"use strict";

(() => {
  const T = globalThis.bwTimeline = globalThis.bwTimeline || {};
  const RUN = "run", WAIT = "wait", DATA = "data";
  const TENSOR_CORE = "tensor core", LOADS = "loads", STORES = "stores", HAND_OVER = "hand-overs", ROLE = "role", OTHER = "other";
  const LOOK_AHEAD = 7;
  const STATES = ["empty", "filling", "full", "reading"];

  // -- the longest chain --------------------------------------------------------------------------
  function synchronisingSpans(model) {
    const key = (event) => event.rank * 65536 + event.warp;
    const events = T.grouped(model.events.filter((event) => event.instruction !== null && event.event !== "run"), key);
    const spansOf = (own) => {
      const spans = [];
      own.forEach((event, index) => {
        if (!T.rules.synchronising.includes(event.event)) return;
        const longest = event.cycle + T.rules.longest_synchronisation;
        const following = own.slice(index + 1, index + 1 + LOOK_AHEAD).find((other) => other.cycle > event.cycle);
        const end = Math.min(following ? following.cycle : longest, longest), last = spans[spans.length - 1];
        if (last && last[1] > event.cycle) last[1] = Math.max(last[1], end);
        else spans.push([event.cycle, end]);
      });
      return spans;
    };
    return new Map([...events].map(([which, own]) => [which, spansOf(own)]));
  }

  class Walk {
    constructor(model, reasonOf) {
      this.model = model;
      this.reasonOf = reasonOf;
      this.roles = new Map();
      this.begins = new Map();
      for (const cta of model.ctas) {
        for (const role of cta.roles) for (const warp of role.warps) this.roles.set(cta.rank * 65536 + warp, role.name);
        for (const [warp, segments] of cta.warps) this.begins.set(cta.rank * 65536 + warp, segments.map((segment) => segment.begin));
      }
      this.spans = synchronisingSpans(model);
      this.sums = new Map();
    }
    add(kind, who, begin, end) {
      if (end <= begin) return;
      const key = JSON.stringify([kind, kind === ROLE ? who : ""]);
      this.sums.set(key, (this.sums.get(key) || 0) + end - begin);
    }
    // [[kind, who, cycles]], greatest first; [] where a warp never ended.
    shares() {
      const lives = this.model.ctas.flatMap((cta) => [...cta.warps].filter(([, segments]) => segments.length)
        .map(([warp, segments]) => ({rank: cta.rank, warp, end: segments[segments.length - 1].end})));
      if (!lives.length || lives.some((life) => life.end === null)) return [];
      const last = lives.reduce((best, life) => life.end > best.end ? life : best);
      let place = {rank: last.rank, warp: last.warp, time: last.end};
      const seen = new Set();
      for (;;) {
        const at = this.before(place.rank, place.warp, place.time);
        if (at < 0) break;
        const key = [place.rank, place.warp, at, place.time].join();
        place = this.step(this.segmentsOf(place.rank, place.warp)[at], place, seen.has(key));
        seen.add(key);
      }
      return [...this.sums].map(([key, cycles]) => [...JSON.parse(key), cycles]).sort((a, b) => b[2] - a[2]);
    }
    segmentsOf(rank, warp) { return this.model.ctas[rank].warps.get(warp); }
    before(rank, warp, time) { return T.countBelow(this.begins.get(rank * 65536 + warp) || [], time) - 1; }

    // Adds what a segment adds; returns the place where the chain goes on.
    step(segment, {rank, warp, time}, again) {
      const who = this.roles.get(rank * 65536 + warp) || "";
      if (segment.kind === RUN) this.addRun(segment.begin, time, rank, warp, who);
      if (segment.kind === DATA) this.add(ROLE, who, segment.begin, time);
      if (segment.kind !== WAIT) return {rank, warp, time: segment.begin};
      const done = again ? null : segment.completion;
      if (done === null || done.cycle <= segment.begin) {
        this.add(done === null ? OTHER : HAND_OVER, "", segment.begin, time);
        return {rank, warp, time: segment.begin};
      }
      let cycle = Math.min(done.cycle, time);
      this.add(HAND_OVER, "", cycle, time);
      if (done.by === "copy" && done.copy !== null) {
        const {copy} = done, issued = Math.min(copy.issued, cycle);
        this.add(copy.direction === "load" ? LOADS : STORES, "", issued, cycle);
        return {rank: copy.rank, warp: copy.warp, time: issued};
      }
      if (done.by === "mma") return this.throughTensorCore(done, cycle);
      // An arrival that travelled, or a barrier that took its time: its sender has gone on to wait.
      const at = this.before(done.rank, done.warp, cycle), sender = at >= 0 ? this.segmentsOf(done.rank, done.warp)[at] : null;
      if (sender && sender.kind === WAIT && cycle > sender.begin) {
        this.add(HAND_OVER, "", sender.begin, cycle);
        cycle = sender.begin;
      }
      return {rank: done.rank, warp: done.warp, time: cycle};
    }
    throughTensorCore(done, cycle) {
      const mmas = this.model.ctas[done.rank].mmas.filter((mma) => mma.end <= cycle);
      while (mmas.length && mmas[mmas.length - 1].warp !== done.warp) mmas.pop();
      if (!mmas.length) return {rank: done.rank, warp: done.warp, time: cycle};
      let time = mmas[mmas.length - 1].end, issuer = done.warp;
      this.add(HAND_OVER, "", time, cycle);
      for (const mma of mmas.reverse()) {  // in the tensor core's queue, whoever has issued them
        if (mma.end < time) break;
        this.add(TENSOR_CORE, "", mma.begin, time);
        [time, issuer] = [mma.begin, mma.warp];
        if (mma.begin <= mma.issued) break;
      }
      return {rank: done.rank, warp: issuer, time};
    }
    // A run, split into what synchronises and what works.
    addRun(begin, end, rank, warp, who) {
      const spans = this.spans.get(rank * 65536 + warp) || [];
      let time = end;
      for (let index = T.countBelow(spans.map((span) => span[0]), end) - 1; index >= 0; --index) {
        let [first, last] = spans[index];
        if (last <= begin) break;
        [first, last] = [Math.max(first, begin), Math.min(last, time)];
        this.add(ROLE, who, last, time);
        this.add(HAND_OVER, "", first, last);
        time = first;
      }
      this.add(ROLE, who, begin, time);
    }
  }

  // -- the profile --------------------------------------------------------------------------------
  function union(spans) {
    let total = 0, reached = null;
    for (const [begin, end] of spans.sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
      if (reached === null || begin > reached) total += end - begin;
      else if (end > reached) total += end - reached;
      else continue;
      reached = end;
    }
    return total;
  }
  const add = (map, key, value) => map.set(key, (map.get(key) || 0) + value);
  const sumOf = (map) => [...map.values()].reduce((sum, one) => sum + one, 0);

  function measure(model, reasonOf) {
    const roles = new Map(), rings = new Map(), moved = new Map(), tensor = [];
    for (const cta of model.ctas) {
      for (const role of cta.roles) {
        if (!roles.has(role.name)) roles.set(role.name, {name: role.name, warps: role.warps, cycles: 0, issuing: 0, data: 0, waiting: new Map()});
        for (const warp of role.warps) addShares(roles.get(role.name), cta.warps.get(warp), cta.end, reasonOf);
      }
      for (const {ring, states} of cta.stages) {
        if (!ring.empty.length) continue;
        if (!rings.has(ring.name)) rings.set(ring.name, new Map());
        for (const [begin, end, state] of states) add(rings.get(ring.name), state, end - begin);
      }
      for (const copy of cta.copies) add(moved, T.rules.words.paths[copy.direction], copy.bytes * copy.targets);
      if (cta.mmas.length) tensor.push(union(cta.mmas.map((mma) => [mma.begin, mma.end])));
    }
    return {cycles: model.end - model.begin, roles: [...roles.values()], tensor, rings, moved, chain: new Walk(model, reasonOf).shares()};
  }
  function addShares(shares, segments, end, reasonOf) {
    for (const segment of segments) {
      const length = T.lengthOf(segment, Math.max(end, segment.begin));
      shares.cycles += length;
      if (segment.kind === RUN) shares.issuing += length;
      else if (segment.kind === DATA) shares.data += length;
      else add(shares.waiting, reasonOf(segment), length);
    }
  }

  // Decimal places as Python rounds them: a tie goes to the even digit.
  function fixed(value, digits) {
    const scaled = value * 10 ** digits, below = Math.floor(scaled);
    const isTie = Number.isInteger(value * 4) && scaled - below === 0.5;
    return isTie ? ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits) : value.toFixed(digits);
  }
  function percent(part, whole) {
    const share = whole ? 100 * part / whole : 0;
    return `${fixed(share, share >= 0.95 || !part ? 0 : 1)} %`;
  }

  // One sentence: what limits the run, with its share. `words` are those of profile.py.
  function limit(chain, words) {
    if (!chain.length) return words.unended;
    const total = chain.reduce((sum, [, , cycles]) => sum + cycles, 0);
    const fill = (text, who) => text.replace("{role}", who);
    const of = ([kind, who]) => (words.kinds[kind] || words.role).map((text) => fill(text, who));
    const [first, second] = chain;
    let sentence = `${of(first)[0]} this run: ${percent(first[2], total)} of the longest chain of steps that wait for each other are ${of(first)[1]}`;
    if (second) sentence += `; next come ${of(second)[1].replace("such copies", words.copies[second[0]] || "")} (${percent(second[2], total)})`;
    return `${sentence}.`;
  }

  const listOf = (warps) => warps.length > 1 && warps[warps.length - 1] - warps[0] === warps.length - 1 ? `${warps[0]}-${warps[warps.length - 1]}` : warps.join(",");
  function table(profile) {
    const width = Math.max(11, ...profile.roles.map((role) => role.name.length)) + 2;
    const lines = [`${"role".padEnd(width)}${"warps".padEnd(7)}${"issuing".padStart(8)}${"data".padStart(7)}${"waiting".padStart(9)}  for`];
    for (const role of profile.roles) {
      const reasons = [...role.waiting].sort((a, b) => b[1] - a[1]).filter(([, cycles]) => cycles * 200 >= role.cycles)
        .map(([reason, cycles]) => `${reason} ${percent(cycles, role.cycles)}`).join(", ");
      lines.push(`${role.name.padEnd(width)}${listOf(role.warps).padEnd(7)}${percent(role.issuing, role.cycles).padStart(8)}` +
        `${percent(role.data, role.cycles).padStart(7)}${percent(sumOf(role.waiting), role.cycles).padStart(9)}  ${reasons}`);
    }
    if (profile.tensor.length) {
      const busy = profile.tensor.reduce((sum, one) => sum + one, 0);
      lines.push(`${"tensor core".padEnd(width)}${"".padEnd(7)}${percent(busy, profile.cycles * profile.tensor.length).padStart(8)}   of the cycles an MMA is under way`);
    }
    if (profile.rings.size || profile.moved.size) lines.push("");
    for (const [name, states] of profile.rings) {
      const parts = STATES.map((state) => `${state} ${percent(states.get(state) || 0, sumOf(states))}`).join(", ");
      lines.push(`${`stages of ${name}`.padEnd(width + 10)}${parts}`);
    }
    for (const [path, count] of profile.moved) lines.push(`${"bytes".padEnd(width + 10)}${count.toLocaleString("en")} from ${path}`);
    return lines.map((line) => line.trimEnd());
  }

  Object.assign(T, {measure, limit, table});
})();
