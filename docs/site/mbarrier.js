// Steps through what happened to one mbarrier of a recorded run. A recording is {title, kernel, command,
// barriers: [{label, count, place, symbol}], steps: [[barrier, event, cycle, [rank, warp], place, fields]],
// roles: {"rank,warp": role}}; common/tools/site/recordings.py makes it.
"use strict";

(() => {
  const recordings = window.bwRecordings || [];
  const byId = (id) => document.getElementById(id);
  const PLAY_MILLISECONDS = 1000;
  let recording, steps, states, position = 0, timer = null;

  const bytes = (count) => `${count.toLocaleString("en")} bytes`;
  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

  function who(step) {
    if (step.unit === "tensor core") return `The tensor core (its MMAs were committed by ${warp(step)})`;
    if (step.unit === "copy engine") return `The copy engine (for ${warp(step)})`;
    const name = warp(step);
    return name[0].toUpperCase() + name.slice(1);
  }
  function warp(step) {
    const several = recording.ranks > 1 ? ` of CTA ${step.rank}` : "";
    const role = recording.roles[`${step.rank},${step.warp}`];
    return step.warp < 0 ? `CTA ${step.rank}` : `warp ${step.warp}${role ? ` (${role})` : ""}${several}`;
  }

  // What a step says in words; `before` is the barrier's state ahead of it.
  function sentence(step, before, after) {
    const {event} = step;
    if (event === "init")
      return `${who(step)} initialises the barrier: each phase needs ${plural(step.n, "arrival")}. It is in phase 0.`;
    if (event === "expect")
      return `${who(step)} announces ${bytes(step.b)}. The tx-count is ${bytes(step.tx)}: the phase can't complete before it is back at zero.`;
    if (event === "arrive") {
      const missing = step.pe === 0 ? (step.tx === 0 ? "Nothing is missing any more." : `All arrivals are made, but ${bytes(step.tx)} have not landed yet.`)
                                    : `${plural(step.pe, "arrival")} of ${step.ex} ${step.pe === 1 ? "is" : "are"} missing.`;
      return `${who(step)} makes ${plural(step.n, "arrival")}. ${missing}`;
    }
    if (event === "landed")
      return `${who(step)} has written ${bytes(step.b)} and takes them off the tx-count. ` +
          (step.tx === 0 && step.pe === 0 ? "Nothing is missing any more." : `It is now ${bytes(step.tx)}; ${plural(step.pe, "arrival")} missing.`);
    if (event === "complete") {
      const free = before.asleep.filter((one) => one.phase === step.ph).map((one) => one.name);
      return `Phase ${step.ph} is complete: no arrival and no byte is missing. Phase ${step.ph + 1} begins in the same step, with ${plural(step.ex, "pending arrival")}. ` +
          (free.length ? `Those who wait for phase ${step.ph} may go on: ${free.join(", ")}.` : "Nobody sleeps on it; who asks later passes at once.");
    }
    if (event === "ask") {
      const phase = step.q < 0 ? "the phase before the first, which counts as complete" : `phase ${step.q}`;
      const verdict = step.ok ? (step.q < 0 ? "It passes." : `Phase ${step.q} is over: it passes.`)
                              : `The barrier is still in phase ${step.q}: it does not pass.`;
      return `${who(step)} asks whether the phase of parity ${step.q & 1} is over. That means ${phase}. ${verdict}`;
    }
    if (event === "sleep") return `${who(step)} goes to sleep until phase ${step.ph} is complete.`;
    return step.why === "timeout" ? `${who(step)} wakes after ${step.s} cycles: the time limit of try_wait. It will ask again.`
                                  : `${who(step)} is woken after ${step.s} cycles: phase ${step.ph} is complete. It asks once more and passes.`;
  }

  // The barrier's state behind each step.
  function follow(list) {
    let state = {phase: null, pending: null, expected: null, tx: 0, asleep: []};
    return list.map((step) => {
      const before = state;
      state = {...state};
      if (["init", "arrive", "expect", "landed"].includes(step.event))
        Object.assign(state, {phase: step.ph, pending: step.pe, expected: step.ex, tx: step.tx});
      if (step.event === "complete") Object.assign(state, {phase: step.ph + 1, pending: step.ex, expected: step.ex, tx: 0});
      const name = warp(step);
      if (step.event === "sleep") state.asleep = [...state.asleep, {name, phase: step.ph, since: step.cycle}];
      if (step.event === "wake") state.asleep = state.asleep.filter((one) => one.name !== name);
      return {...state, before, text: sentence(step, before, state)};
    });
  }

  function choose() {
    recording = recordings[byId("run").selectedIndex];
    recording.ranks = new Set(recording.steps.map((step) => step[3][0])).size;
    byId("barrier").replaceChildren(...recording.barriers.map((one, index) =>
        new Option(`${one.label} (count ${one.count})`, index)));
    byId("barrier").value = "0";
    chooseBarrier();
  }

  function chooseBarrier() {
    const index = byId("barrier").selectedIndex;
    steps = recording.steps.filter((step) => step[0] === index).map(([, event, cycle, [rank, number], place, fields]) =>
        ({event, cycle, rank, warp: number, place, ...fields}));
    states = follow(steps);
    byId("position").max = steps.length - 1;
    const names = {init: "init", expect: "expect bytes", arrive: "arrive", landed: "bytes landed", complete: "phase complete",
                   ask: "asks", sleep: "sleeps", wake: "wakes"};
    byId("steps").tBodies[0].replaceChildren(...steps.map((step, number) => {
      const tr = document.createElement("tr"), state = states[number];
      const what = step.event === "ask" ? `asks for phase ${step.q}: ${step.ok ? "yes" : "no"}` :
          step.b !== undefined ? `${names[step.event]} (${step.b})` : names[step.event];
      for (const text of [step.cycle, step.unit || warp(step), what, `${state.phase} (${state.phase & 1})`, state.pending, state.tx]) {
        const td = document.createElement("td");
        td.textContent = text;
        tr.append(td);
      }
      if (step.event === "complete") tr.className = "complete";
      tr.addEventListener("click", () => go(number));
      return tr;
    }));
    drawStrip();
    go(0);
  }

  const svg = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const WIDTH = 900, LEFT = 6, RIGHT = 894;
  let last = 1;
  const place = (cycle) => LEFT + (RIGHT - LEFT) * (cycle / last);

  // The phases as bands, what happened as ticks, who slept as dashes.
  function drawStrip() {
    const strip = byId("strip");
    last = Math.max(1, steps[steps.length - 1].cycle) * 1.02;
    const made = [];
    let begin = steps[0].cycle, phase = 0;
    const band = (end) => {
      made.push(svg("rect", {x: place(begin), y: 8, width: Math.max(1, place(end) - place(begin)), height: 30, class: `band${phase & 1}`}));
      if (place(end) - place(begin) > 58) made.push(svg("text", {x: place(begin) + 5, y: 27}, `phase ${phase}`));
    };
    for (const step of steps)
      if (step.event === "complete") {
        band(step.cycle);
        begin = step.cycle;
        phase = step.ph + 1;
      }
    band(last);
    for (const step of steps) {
      if (["arrive", "landed", "expect", "init"].includes(step.event))
        made.push(svg("line", {x1: place(step.cycle), x2: place(step.cycle), y1: 38, y2: 52, class: "tick"}));
      if (step.event === "wake")
        made.push(svg("line", {x1: place(step.cycle - step.s), x2: place(step.cycle), y1: 62, y2: 62, class: "asleep"}));
    }
    made.push(svg("text", {x: LEFT, y: 86}, `cycle 0 to ${Math.round(last)}; ticks: arrivals and bytes; dashes: somebody sleeps`));
    made.push(svg("line", {id: "cursor", y1: 2, y2: 70, class: "cursor"}));
    strip.setAttribute("aria-label", `${phase} phases complete in ${steps[steps.length - 1].cycle} cycles; the table below has every step`);
    strip.replaceChildren(...made);
  }

  function go(wanted) {
    const old = position;
    position = Math.min(Math.max(wanted, 0), steps.length - 1);
    const step = steps[position], state = states[position], before = state.before;
    byId("position").value = position;
    byId("count").textContent = `step ${position + 1} of ${steps.length}, cycle ${step.cycle}`;
    const where = document.createElement("span");
    where.className = "place";
    where.textContent = `${step.place} · ${recording.kernel.split("<")[0]} · barrier ${recording.barriers[byId("barrier").selectedIndex].symbol}`;
    byId("now").replaceChildren(state.text, where);
    byId("phase").textContent = `${state.phase} (${state.phase & 1})`;
    byId("phase-text").textContent = `a wait on parity ${state.phase & 1} sleeps, on parity ${(state.phase & 1) ^ 1} passes`;
    byId("pending").textContent = `${state.pending} of ${state.expected}`;
    drawPending(state);
    byId("tx").textContent = state.tx.toLocaleString("en");
    byId("tx-text").textContent = state.tx > 0 ? "announced and not landed" : state.tx < 0 ? "landed before they were announced" : "nothing is under way";
    const list = state.asleep.map((one) => `${one.name}: for phase ${one.phase}, since ${one.since}`);
    byId("waiting").replaceChildren(...(list.length ? list : ["nobody"]).map((text) => {
      const li = document.createElement("li");
      li.textContent = text;
      return li;
    }));
    for (const [id, name] of [["phase", "phase"], ["pending", "pending"], ["tx", "tx"], ["waiting", "asleep"]])
      byId(`box-${id}`).classList.toggle("changed", position > 0 && before[name] !== state[name]);
    const cursor = byId("cursor");
    cursor.setAttribute("x1", place(step.cycle));
    cursor.setAttribute("x2", place(step.cycle));
    const rows = byId("steps").tBodies[0].rows;
    if (rows[old]) { rows[old].classList.remove("current"); rows[old].removeAttribute("aria-current"); }
    rows[position].classList.add("current");
    rows[position].setAttribute("aria-current", "step");
  }

  function drawPending(state) {
    const MOST_DOTS = 32, picture = byId("pending-picture"), arrived = state.expected - state.pending;
    picture.setAttribute("aria-label", `${arrived} of ${state.expected} arrivals made`);
    if (state.expected <= MOST_DOTS) {
      picture.className = "dots";
      picture.replaceChildren(...Array.from({length: state.expected}, (_, index) => {
        const dot = document.createElement("i");
        if (index < arrived) dot.className = "done";
        return dot;
      }));
    } else {
      picture.className = "bar";
      const fill = document.createElement("i");
      fill.style.width = `${(100 * arrived) / state.expected}%`;
      picture.replaceChildren(fill);
    }
  }

  function nextCompletion() {
    const found = steps.findIndex((step, index) => index > position && step.event === "complete");
    go(found < 0 ? steps.length - 1 : found);
  }
  function play() {
    const running = timer !== null;
    if (running) { clearInterval(timer); timer = null; }
    else timer = setInterval(() => (position + 1 < steps.length ? go(position + 1) : play()), PLAY_MILLISECONDS);
    byId("play").setAttribute("aria-pressed", String(!running));
    byId("play").textContent = running ? "play" : "stop";
  }

  byId("run").replaceChildren(...recordings.map((one, index) => new Option(one.title, index)));
  byId("run").addEventListener("change", choose);
  byId("barrier").addEventListener("change", chooseBarrier);
  byId("to-first").addEventListener("click", () => go(0));
  byId("back").addEventListener("click", () => go(position - 1));
  byId("forward").addEventListener("click", () => go(position + 1));
  byId("to-last").addEventListener("click", () => go(steps.length - 1));
  byId("to-complete").addEventListener("click", nextCompletion);
  byId("play").addEventListener("click", play);
  byId("position").addEventListener("input", () => go(Number(byId("position").value)));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input, .scroll")) return;
    const action = {ArrowLeft: () => go(position - 1), ArrowRight: () => go(position + 1), Home: () => go(0),
                    End: () => go(steps.length - 1), c: nextCompletion, p: play}[event.key];
    if (action) { event.preventDefault(); action(); }
  });
  choose();
})();
