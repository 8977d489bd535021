// What a recording shows: roles, what each warp does when, copies and MMAs. The same models as those of
// common/tools/timeline (builder.py, lives.py, roles.py, model.py); a test compares both on every lab.
"use strict";

(() => {
  const T = globalThis.bwTimeline = globalThis.bwTimeline || {};
  const RUN = "run", WAIT = "wait", DATA = "data";

  // The items of a list by a key, in the order of their first.
  function grouped(items, keyOf) {
    const groups = new Map();
    for (const one of items) {
      const key = keyOf(one);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(one);
    }
    return groups;
  }
  const lengthOf = (segment, until) => (segment.end === null ? until : segment.end) - segment.begin;
  // Tuples in Python's order.
  function inOrder(a, b) {
    for (let at = 0; at < Math.min(a.length, b.length); ++at) if (a[at] !== b[at]) return a[at] < b[at] ? -1 : 1;
    return a.length - b.length;
  }
  // The number of sorted values that are less than `value`, or not greater.
  function countBelow(sorted, value, orEqual = false) {
    let low = 0, high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] < value || orEqual && sorted[middle] === value) low = middle + 1; else high = middle;
    }
    return low;
  }
  const signallingUnit = (opcode) => opcode.startsWith("tcgen05.commit") ? "mma" : opcode.includes("async.bulk") ? "copy" : "warp";

  // -- a warp's life ------------------------------------------------------------------------------
  const isInner = (wait) => T.rules.inner_waits.includes(wait.reason);

  function merged(runs) {
    const stretches = [];
    for (const run of [...runs].sort(inOrder)) {
      const last = stretches[stretches.length - 1];
      if (last && run[0] <= last[1]) {
        last[2].push(run);
        last[1] = Math.max(last[1], run[1]);
      } else stretches.push([run[0], run[1], [run]]);
    }
    return stretches;
  }
  function addWait(segments, wait, begin, end) {
    const whole = wait.end !== null && end === wait.end;
    segments.push({...wait, begin, end, parts: [], completion: whole ? wait.completion : null, timedOut: wait.timedOut && whole});
  }

  function withoutGaps(runs, given, endOfAll) {
    const endless = given.some((wait) => wait.end === null), segments = [];
    const waits = [...given].sort((a, b) => inOrder([a.begin, isInner(a)], [b.begin, isInner(b)]));
    let at = null, first = 0;
    const fill = (begin, end) => {
      while (first < waits.length && waits[first].end !== null && waits[first].end <= begin) ++first;
      const covering = [];
      for (let index = first; index < waits.length && waits[index].begin < end; ++index)
        if (waits[index].end === null || waits[index].end > begin) covering.push(waits[index]);
      for (let place = begin; place < end;) {
        const now = covering.filter((wait) => wait.begin <= place && (wait.end === null || wait.end > place));
        const edges = covering.filter((wait) => wait.begin > place).map((wait) => wait.begin);
        let until;
        if (now.length) {
          const best = now.find((wait) => !isInner(wait)) || now[0];
          until = Math.min(best.end === null ? end : best.end, end, ...(isInner(best) ? edges : []));
          addWait(segments, best, place, until);
        } else {
          until = Math.min(...edges, end);
          segments.push({kind: DATA, begin: place, end: until, instruction: segments.length ? segments[segments.length - 1].instruction : null,
                         parts: [], reason: "", barrier: null, completion: null, timedOut: false});
        }
        place = until;
      }
    };
    for (const [begin, end, parts] of merged(runs)) {
      if (at !== null && begin > at) fill(at, begin);
      else if (at === null && waits.length && waits[0].begin < begin) fill(waits[0].begin, begin);
      if (end > begin) segments.push({kind: RUN, begin, end, instruction: parts[0][3], parts, reason: "", barrier: null, completion: null, timedOut: false});
      at = at === null ? end : Math.max(at, end);
    }
    let last = Math.max(at || 0, ...waits.filter((wait) => wait.end !== null).map((wait) => wait.end));
    if (endless) last = Math.max(last, endOfAll);
    if (at !== null ? last > at : waits.length) fill(at !== null ? at : waits[0].begin, last);
    if (endless && segments.length && segments[segments.length - 1].kind === WAIT) segments[segments.length - 1].end = null;
    return segments;
  }

  // A wait whose time limit passed and that is tried again is one wait.
  function withoutRetries(segments) {
    const kept = [];
    for (const segment of segments) {
      const [wait, run] = kept.slice(-2);
      if (run && wait.timedOut && run.kind === RUN && lengthOf(run, 0) <= T.rules.longest_retry && segment.kind === WAIT
          && segment.barrier === wait.barrier && segment.phase === wait.phase) {
        kept.pop();
        wait.parts = [...wait.parts, ...run.parts];
        for (const name of ["end", "completion", "timedOut", "instruction"]) wait[name] = segment[name];
      } else kept.push(segment);
    }
    return kept;
  }

  // -- a cluster ----------------------------------------------------------------------------------
  function addCopies(model) {
    const byId = new Map();
    for (const event of model.events) {
      if (event.event === "copy_issue") {
        const copy = {id: event.id, unit: event.unit, direction: event.direction, bytes: event.bytes, rank: event.rank, warp: event.warp,
          instruction: event.instruction, issued: event.cycle, barrier: event.barrier, targets: Math.max(1, event.destination.length), read: null, landed: null};
        byId.set(copy.id, copy);
        model.ctas[copy.rank].copies.push(copy);
      } else if ((event.event === "copy_read" || event.event === "copy_land") && byId.has(event.id)) {
        byId.get(event.id)[event.event === "copy_read" ? "read" : "landed"] = event.cycle;
      }
    }
  }
  function addMmas(model) {
    const lastEnd = new Map();
    for (const event of model.events) {
      if (!["mma_issue", "tmem_copy_issue", "tmem_shift_issue"].includes(event.event)) continue;
      const begin = Math.max(event.cycle, lastEnd.get(event.rank) || 0);
      lastEnd.set(event.rank, event.completes);
      const text = event.event === "mma_issue" ? `${event.kind} ${event.m}x${event.n}x${event.k}`
        : event.event.replace("_issue", "").replace(/_/g, " ");
      model.ctas[event.rank].mmas.push({rank: event.rank, warp: event.warp, instruction: event.instruction, issued: event.cycle, begin,
        end: event.completes, text});
    }
  }
  const completion = (cycle, by, one, copy = null) => ({cycle, by, rank: one.rank, warp: one.warp, instruction: one.instruction, copy});

  function completions(model) {
    const key = (one, cycle) => [one.rank, one.warp, one.instruction, cycle].join();
    const landings = grouped(model.ctas.flatMap((cta) => cta.copies).filter((copy) => copy.landed !== null), (copy) => key(copy, copy.landed));
    const found = new Map();
    for (const event of model.events) {
      if (event.event !== "mbarrier_complete" || event.barrier === null) continue;
      const opcode = event.instruction !== null ? model.places.get(event.instruction).opcode : "";
      const copies = landings.get(key(event, event.cycle)) || [];
      found.set(`${event.barrier},${event.phase}`, completion(event.cycle, signallingUnit(opcode), event, copies[copies.length - 1] || null));
    }
    return found;
  }

  // What ended waits that are not for mbarriers: the last arrival, or a copy of one's own.
  function groupCompletions(model) {
    const barriers = grouped(model.events.filter((event) => event.event === "barrier_complete"),
      (event) => [event.kind, event.kind === "cluster_barrier" ? "" : event.rank, event.id].join());
    const copies = grouped(model.ctas.flatMap((cta) => cta.copies), (copy) => `${copy.rank},${copy.warp}`);
    return (event, segment) => {
      if (segment.reason === "named_barrier" || segment.reason === "cluster_barrier") {
        const ofCluster = segment.reason === "cluster_barrier";
        const done = barriers.get([segment.reason, ofCluster ? "" : event.rank, ofCluster ? 0 : segment.object || 0].join()) || [];
        const at = countBelow(done.map((one) => one.cycle), event.cycle, true) - 1;
        return at < 0 || done[at].cycle < segment.begin ? null : completion(done[at].cycle, "warp", done[at]);
      }
      if (segment.reason === "wgmma_group") {
        const mmas = model.ctas[event.rank].mmas.filter((mma) => Math.floor(mma.warp / T.rules.warpgroup) === Math.floor(event.warp / T.rules.warpgroup)
          && segment.begin <= mma.end && mma.end <= event.cycle);
        if (mmas.length) return completion(mmas[mmas.length - 1].end, "mma", {...mmas[mmas.length - 1], rank: event.rank});
      }
      if (segment.reason === "bulk_group" || segment.reason === "cp_async_group") {
        const within = (cycle) => segment.begin <= cycle && cycle <= event.cycle;
        const ended = (copies.get(`${event.rank},${event.warp}`) || []).filter((copy) =>
          copy.issued <= event.cycle && within(copy.landed || copy.read || 0) || within(copy.read || 0));
        const time = (copy) => copy.landed || copy.read;
        if (ended.length) {
          const copy = ended.reduce((best, one) => time(one) > time(best) ? one : best);
          return completion(event.cycle, "copy", copy, copy);
        }
      }
      return null;
    };
  }

  function addWarps(model, isFinished) {
    const runs = new Map(), waits = new Map(), opened = new Map(), ofGroup = groupCompletions(model);
    const put = (map, key, one) => { if (!map.has(key)) map.set(key, []); map.get(key).push(one); };
    for (const event of model.events) {
      const key = event.rank * 65536 + event.warp, strand = `${key},${event.lanes}`;
      if (event.event === "run") put(runs, key, [event.cycle, event.until, event.instructions, event.instruction]);
      else if (event.event === "wait") {
        const segment = {kind: WAIT, begin: event.cycle, end: null, instruction: event.instruction, parts: [], reason: event.kind, barrier: event.barrier,
          phase: event.phase, object: event.object, completion: null, timedOut: false};
        opened.set(strand, segment);
        put(waits, key, segment);
      } else if (event.event === "resume") {
        const segment = opened.get(strand);
        if (!segment) continue;  // its beginning is before the window
        opened.delete(strand);
        segment.end = event.cycle;
        segment.timedOut = event.why === "timeout";
        if (event.why === "event")
          segment.completion = segment.barrier !== null ? model.completions.get(`${segment.barrier},${segment.phase}`) || null : ofGroup(event, segment);
      }
    }
    if (isFinished) for (const segment of opened.values()) segment.end = Math.max(model.end, segment.begin);
    for (const key of [...new Set([...runs.keys(), ...waits.keys()])].sort((a, b) => a - b))
      model.ctas[Math.floor(key / 65536)].warps.set(key % 65536, withoutRetries(withoutGaps(runs.get(key) || [], waits.get(key) || [], model.end)));
  }

  // -- names of roles -----------------------------------------------------------------------------
  const SEPARATOR = "\u0001";
  function functionPaths(places, instruction) {
    const place = instruction === null ? undefined : places.get(instruction);
    if (!place) return [];
    const functions = [...place.stack].reverse().map((frame) => frame.function).slice(1);
    return functions.map((_, depth) => functions.slice(0, depth + 1).join(SEPARATOR));
  }
  function roleNames(cta, model) {
    const weights = new Map();
    for (const [warp, segments] of cta.warps) {
      const mine = new Map();
      for (const segment of segments)
        for (const [begin, given, , instruction] of segment.parts.length ? segment.parts : [[segment.begin, segment.end, 0, segment.instruction]]) {
          const end = instruction === null || given === null ? cta.end : given;
          for (const path of functionPaths(model.places, instruction)) mine.set(path, (mine.get(path) || 0) + end - begin);
        }
      weights.set(warp, mine);
    }
    return new Map([...weights.keys()].map((warp) => [warp, roleName(warp, weights, cta, model)]));
  }
  const isIn = (weights, path) => (weights.get(path) || 0) > 2;

  function roleName(warp, weights, cta, model) {
    const mine = weights.get(warp), segments = cta.warps.get(warp);
    const total = segments.reduce((sum, segment) => sum + lengthOf(segment, cta.end), 0) || 1;
    const others = [...weights.keys()].filter((other) => other !== warp).map((other) => weights.get(other));
    let best = null;
    for (const [path, weight] of mine) {
      const names = path.split(SEPARATOR), last = names[names.length - 1], outer = names.slice(0, -1).join(SEPARATOR);
      const shared = others.length > 0 && others.every((other) => isIn(other, path));
      const outerShared = names.length === 1 || others.every((other) => isIn(other, outer));
      if (shared || !outerShared || weight < T.rules.naming_share * total || !last || new RegExp(T.rules.set_up).test(last)) continue;
      if (best === null || weight > mine.get(best)) best = path;
    }
    if (best === null) return behaviour(warp, cta);
    const names = best.split(SEPARATOR), parts = names[names.length - 1].split("::");
    const name = parts[parts.length - 1] === "run" ? parts.slice(-2).join("::") : parts[parts.length - 1];
    return isTheWorkbooks(names, segments, model.places) && T.rules.roles[name] || name;
  }
  function isTheWorkbooks(path, segments, places) {
    for (const segment of segments)
      for (const instruction of new Set([...segment.parts.map((part) => part[3]), segment.instruction])) {
        const frames = places.has(instruction) ? [...places.get(instruction).stack].reverse().slice(1) : [];
        if (frames.length >= path.length && path.every((name, depth) => frames[depth].function === name))
          return new RegExp(T.rules.workbook).test(frames[path.length - 1].path);
      }
    return false;
  }
  function behaviour(warp, cta) {
    if (cta.mmas.some((mma) => mma.warp === warp)) return "MMA";
    if (cta.copies.some((copy) => copy.warp === warp && copy.direction === "load")) return "load";
    if (cta.tensorMemory.has(warp)) return "epilogue";
    return cta.copies.some((copy) => copy.warp === warp) ? "store" : "threads";
  }
  function nameRoles(model) {
    for (const cta of model.ctas) {
      const names = roleNames(cta, model);
      const groups = grouped([...cta.warps.keys()].sort((a, b) => a - b), (warp) => names.get(warp));
      cta.roles = [...groups].map(([name, warps]) => ({name, warps}));
    }
  }

  // -- the model ----------------------------------------------------------------------------------
  function buildCluster(launch, cluster, sources) {
    const {events} = cluster, status = T.statusOf(launch);
    const begin = events.length ? events[0].cycle : 0;
    let end = events.reduce((most, event) => Math.max(most, event.until === undefined ? event.cycle : event.until, event.completes || 0), 0);
    if (T.rules.stuck.includes(status)) end += Math.max(1, Math.floor((end - begin) / T.rules.margin));  // so that waits which never end are seen
    const ctas = cluster.ctas.map((index, rank) => ({rank, index, begin, end, roles: [], warps: new Map(), copies: [], mmas: [], stages: [], tensorMemory: new Set()}));
    const model = {index: cluster.index, begin, end, ctas, barriers: cluster.barriers, rings: [], events, places: launch.places};
    for (const event of events) {
      if (event.event === "cta_start") ctas[event.rank].begin = event.cycle;
      else if (event.event === "cta_end") ctas[event.rank].end = event.cycle;
      else if (event.event === "tmem_load" || event.event === "tmem_store") ctas[event.rank].tensorMemory.add(event.warp);
    }
    addCopies(model);
    addMmas(model);
    model.completions = completions(model);
    addWarps(model, status === "finished");
    T.addRings(model, sources);
    nameRoles(model);
    return model;
  }
  // The models of a launch's recorded clusters. `sources(path)` gives a file's lines
  const build = (launch, sources) => launch.clusters.map((cluster) => buildCluster(launch, cluster, sources));

  Object.assign(T, {build, grouped, lengthOf, countBelow});
})();
