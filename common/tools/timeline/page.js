"use strict";
// The timeline's picture: lanes on a canvas. All runs of the page share one axis of cycles.
(() => {
  const $ = (id) => document.getElementById(id);
  const parse = (id) => JSON.parse($(id).textContent);
  const data = parse("runs");
  const KINDS = data.kinds;
  const kind = Object.fromEntries(KINDS.map((name, number) => [name, number]));
  const STATES = ["empty", "filling", "full", "reading"];
  const WORDS = {run: "issues", wait: "waits for", data: "waits for data that it has loaded", copy: "copy",
    mma: "MMA", empty: "empty", filling: "being filled", full: "full", reading: "being read",
    phase: "a barrier", odd: "a barrier"};
  const HUES = 8, OTHER = [HUES - 1, "forward"], MOST_NAMED = 2;
  const AXIS = 24, HEAD = 22, GAP = 7, NARROW = 620, GUTTER = 200, MOST_ARROWS = 300, LEAST_SPAN = 8;
  const HEIGHTS = {role: 20, tensor: 20, copies: 8, ring: 10};
  const canvas = $("canvas"), tip = $("tip"), context = canvas.getContext("2d");
  const format = (number) => Math.round(number).toLocaleString("en");

  let view = [0, 1], whole = [0, 1], panels = [], chosen = null, hover = null, kept = false;
  let style = {}, width = 0, height = 0, pending = false;
  const patterns = new Map(), known = new Map();

  // -- data ---------------------------------------------------------------------------------------
  const load = (run, index) => {
    const known = run.loaded ?? (run.loaded = new Map());
    if (!known.has(index)) known.set(index, parse(`cta-${run.first_block + index}`));
    return known.get(index);
  };

  const sums = new Map();
  const addUpWaits = () => {
    sums.clear();
    for (const panel of panels)
      for (const lane of panel.data.lanes)
        for (const track of lane.tracks)
          for (const mark of track)
            if (mark[2] === kind.wait) {
              const reason = panel.run.texts[mark[5]];
              sums.set(reason, (sums.get(reason) ?? 0) + mark[1]);
            }
  };

  const choose = (value) => {
    const [cluster, rank] = value.split(":").map(Number);
    panels = data.runs.map((run) => {
      let index = run.ctas.findIndex((cta) => cta.cluster === cluster && cta.rank === rank);
      if (index < 0) index = 0;
      return {run, cta: run.ctas[index], data: run.ctas.length ? load(run, index) : {lanes: [], arrows: []}};
    });
    const ctas = panels.filter((panel) => panel.cta).map((panel) => panel.cta);
    whole = [Math.min(0, ...ctas.map((cta) => cta.begin)), Math.max(1, ...ctas.map((cta) => cta.end))];
    if (ctas.length) whole[0] = Math.min(...ctas.map((cta) => cta.begin));
    chosen = hover = null;
    addUpWaits();
    layOut();
    legend();
    profiles();
  };

  // -- layout -------------------------------------------------------------------------------------
  const layOut = () => {
    width = canvas.parentElement.clientWidth - 2;
    const narrow = width < NARROW;
    let y = AXIS;
    for (const panel of panels) {
      panel.top = y;
      if (panels.length > 1) y += HEAD;
      for (const lane of panel.data.lanes) {
        if (narrow) y += 17;
        lane.top = y;
        const several = lane.tracks.length > 1;
        lane.trackHeight = lane.kind === "role" && several ? 11 : HEIGHTS[lane.kind] + (several ? 0 : 6);
        if (lane.kind === "tensor" || (lane.kind === "role" && !several)) lane.trackHeight = HEIGHTS.role;
        lane.height = lane.trackHeight * lane.tracks.length;
        y += lane.height + GAP;
      }
    }
    height = y + 6;
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.left = narrow ? 0 : GUTTER;
    draw();
  };
  const left = () => canvas.left ?? 0;
  const scale = () => (width - left() - 6) / (view[1] - view[0]);
  const x = (cycle) => left() + (cycle - view[0]) * scale();

  const readStyle = () => {
    const computed = getComputedStyle(document.documentElement);
    const names = ["ground", "text", "quiet", "line", "grid", "panel", "arrow", "focus", "run", "data", "copy",
      "mma", "phase", "odd", ...STATES, ...Array.from({length: HUES}, (_, number) => `wait-${number}`)];
    style = Object.fromEntries(names.map((name) => [name, computed.getPropertyValue(`--${name}`).trim()]));
    patterns.clear();
    known.clear();
  };

  // A pattern of lines in a colour, on a faint ground of it.
  const LINES = {
    forward: (pen, size) => { for (const shift of [-size, 0, size]) line(pen, shift, size, shift + size, 0); },
    backward: (pen, size) => { for (const shift of [-size, 0, size]) line(pen, shift, 0, shift + size, size); },
    crossed: (pen, size) => { LINES.forward(pen, size); LINES.backward(pen, size); },
    rows: (pen, size) => { for (let at = 1; at < size; at += 4) line(pen, 0, at, size, at); },
    columns: (pen, size) => { for (let at = 1; at < size; at += 4) line(pen, at, 0, at, size); },
  };
  const line = (pen, fromX, fromY, toX, toY) => pen.stroke(new Path2D(`M${fromX} ${fromY} L${toX} ${toY}`));
  const pattern = (colour, lines) => {
    const key = colour + lines;
    if (!patterns.has(key)) {
      const tile = document.createElement("canvas");
      const size = 8;
      tile.width = tile.height = size;
      const pen = tile.getContext("2d");
      pen.fillStyle = colour;
      pen.globalAlpha = 0.2;
      pen.fillRect(0, 0, size, size);
      pen.globalAlpha = 1;
      pen.strokeStyle = colour;
      pen.lineWidth = 2;
      LINES[lines](pen, size);
      patterns.set(key, context.createPattern(tile, "repeat"));
    }
    return patterns.get(key);
  };
  const hatching = (reason) => data.waits[reason] ?? OTHER;
  const waitColour = (reason) => style[`wait-${hatching(reason)[0]}`];
  // [fill, colour of the edge]: everything but what is solid has one.
  const wait = (reason) => [pattern(waitColour(reason), hatching(reason)[1]), waitColour(reason)];
  const paints = (name) => {
    const how = data.patterns[name];
    return how ? [how === "outline" ? "" : pattern(style[name], how), style[name]] : [style[name], ""];
  };
  const paintsOf = (run, mark) => {
    const key = mark[2] === kind.wait ? run.texts[mark[5]] : mark[2];
    if (!known.has(key)) known.set(key, key === mark[2] ? paints(KINDS[key]) : wait(key));
    return known.get(key);
  };

  // -- drawing ------------------------------------------------------------------------------------
  const draw = () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      paint();
    });
  };

  const firstAt = (track, cycle) => {
    let low = 0, high = track.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (track[middle][0] + track[middle][1] <= cycle) low = middle + 1; else high = middle;
    }
    return low;
  };

  const paintAxis = () => {
    const span = view[1] - view[0];
    const rough = span / Math.max(2, (width - left()) / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough));
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let cycle = Math.ceil(view[0] / step) * step; cycle <= view[1]; cycle += step) {
      const at = Math.round(x(cycle)) + 0.5;
      context.strokeStyle = style.grid;
      context.beginPath();
      context.moveTo(at, AXIS - 5);
      context.lineTo(at, height);
      context.stroke();
      context.fillStyle = style.quiet;
      const label = cycle === Math.ceil(view[0] / step) * step ? `${format(cycle)} cycles` : format(cycle);
      const size = context.measureText(label).width;
      context.fillText(label, Math.min(at + 3, width - size - 2), AXIS / 2);
    }
  };

  const paintTrack = (panel, lane, number) => {
    const track = lane.tracks[number], y = lane.top + number * lane.trackHeight, h = lane.trackHeight - 1;
    const right = width;
    for (let index = firstAt(track, view[0]); index < track.length; ++index) {
      const mark = track[index];
      if (mark[0] > view[1]) break;
      const from = Math.max(left(), x(mark[0])), to = Math.min(right, x(mark[0] + mark[1]));
      const [inside, edge] = paintsOf(panel.run, mark);
      context.fillStyle = inside || style.ground;
      context.fillRect(from, y, Math.max(0.7, to - from), h);
      if (to - from > 4 && mark[2] !== kind.run) {
        context.strokeStyle = edge || style.ground;
        context.lineWidth = 1;
        context.strokeRect(from + 0.5, y + 0.5, to - from - 1, h - 1);
      }
      if (mark[2] === kind.wait && mark[6] === 1) {  // it never ended
        context.strokeStyle = style.focus;
        context.lineWidth = 2;
        context.strokeRect(from + 1, y + 1, Math.max(1, to - from - 2), h - 2);
        context.lineWidth = 1;
      }
      if (mark[2] === kind.run && to - from > 30 && h > 9) paintLines(panel, mark, from, to, y, h);
      if (to - from > 70 && h > 12 && (mark[2] === kind.wait || mark[2] === kind.mma)) {
        const text = panel.run.texts[mark[3]];
        context.font = "11px system-ui, sans-serif";
        const size = context.measureText(text).width;
        if (size + 10 < to - from) {
          context.fillStyle = style.ground;
          context.globalAlpha = 0.86;
          context.fillRect(from + 4, y + 2, size + 4, h - 4);
          context.globalAlpha = 1;
          context.fillStyle = style.text;
          context.fillText(text, from + 6, y + h / 2 + 0.5);
        }
      }
    }
  };

  const paintLines = (panel, mark, from, to, y, h) => {
    // Where one line of the sources ends and the next begins.
    const parts = mark[mark.length - 1];
    if ((to - from) / parts.length < 6) return;
    context.strokeStyle = style.ground;
    context.globalAlpha = 0.5;
    for (const [begin] of parts) {
      const at = x(mark[0] + begin);
      if (at <= from + 1) continue;
      context.beginPath();
      context.moveTo(at, y);
      context.lineTo(at, y + h);
      context.stroke();
    }
    context.globalAlpha = 1;
  };

  const paintArrows = (panel) => {
    if (!$("arrows").checked) return;
    const shown = panel.data.arrows.filter((arrow) => arrow[5] >= view[0] && arrow[2] <= view[1]);
    const own = hover && hover.panel === panel && hover.mark[2] === kind.wait ? hover : null;
    if (shown.length > MOST_ARROWS && !own) return;
    context.lineWidth = 1;
    for (const [laneFrom, trackFrom, begin, laneTo, trackTo, end, reason] of shown) {
      const isOwn = own && own.lane === panel.data.lanes[laneTo] && own.track === trackTo &&
          end === own.mark[0] + own.mark[1];
      if (shown.length > MOST_ARROWS && !isOwn) continue;
      const target = panel.data.lanes[laneTo];
      const toY = target.top + (trackTo + 0.5) * target.trackHeight, toX = x(end);
      const fromX = x(begin);
      const origin = laneFrom >= 0 ? panel.data.lanes[laneFrom] : null;
      const fromY = origin ? origin.top + (trackFrom + 0.5) * origin.trackHeight : panel.top + 3;
      const colour = waitColour(panel.run.texts[reason]);
      context.strokeStyle = context.fillStyle = isOwn ? style.arrow : colour;
      context.lineWidth = isOwn ? 2.2 : 1;
      context.beginPath();
      context.moveTo(fromX, fromY);
      const bend = Math.max(8, Math.abs(toX - fromX) / 2);
      context.bezierCurveTo(fromX + bend, fromY, toX - bend, toY, toX, toY);
      context.stroke();
      context.beginPath();
      context.moveTo(toX + 1, toY);
      context.lineTo(toX - 5, toY - 3);
      context.lineTo(toX - 5, toY + 3);
      context.fill();
    }
    context.lineWidth = 1;
  };

  const clipped = (text, most) => {
    if (context.measureText(text).width <= most) return text;
    let end = text.length;
    while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > most) --end;
    return `${text.slice(0, end)}…`;
  };

  const paintLabels = (panel) => {
    const narrow = left() === 0;
    for (const lane of panel.data.lanes) {
      context.textBaseline = "middle";
      context.fillStyle = style.text;
      context.font = "600 13px system-ui, sans-serif";
      if (narrow) {
        const label = clipped(lane.label, width - 120);
        context.fillText(label, 2, lane.top - 8);
        const size = context.measureText(label).width;
        context.fillStyle = style.quiet;
        context.font = "12px system-ui, sans-serif";
        context.fillText(lane.detail, size + 10, lane.top - 8);
        continue;
      }
      const twoLines = lane.height >= 30 && lane.detail;
      const beside = twoLines || !lane.detail ? 0 : 10 + 6.4 * lane.detail.length;
      context.fillText(clipped(lane.label, left() - 14 - beside), 4,
        lane.top + (twoLines ? lane.height / 2 - 7 : lane.height / 2));
      context.fillStyle = style.quiet;
      context.font = "12px system-ui, sans-serif";
      if (twoLines) context.fillText(clipped(lane.detail, left() - 14), 4, lane.top + lane.height / 2 + 9);
      else if (lane.detail) {
        context.textAlign = "right";
        context.fillText(lane.detail, left() - 8, lane.top + lane.height / 2);
        context.textAlign = "left";
      }
    }
  };

  const paint = () => {
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.fillStyle = style.ground;
    context.fillRect(0, 0, width, height);
    paintAxis();
    for (const panel of panels) {
      if (panels.length > 1) {
        context.fillStyle = style.panel;
        context.fillRect(0, panel.top, width, HEAD - 4);
        context.fillStyle = style.text;
        context.font = "600 13px system-ui, sans-serif";
        context.fillText(clipped(`${panel.run.label}: ${format(panel.run.cycles)} cycles`, width - 10), 4,
          panel.top + HEAD / 2 - 2);
      }
      context.save();
      context.beginPath();
      context.rect(left(), panel.top, width - left(), height);
      context.clip();
      for (const lane of panel.data.lanes)
        for (let number = 0; number < lane.tracks.length; ++number) paintTrack(panel, lane, number);
      paintArrows(panel);
      context.restore();
      paintLabels(panel);
    }
    const shown = hover ?? chosen;
    if (shown) {
      const {lane, track, mark} = shown;
      context.strokeStyle = style.focus;
      context.lineWidth = 2;
      const from = Math.max(left(), x(mark[0])), to = Math.min(width - 1, x(mark[0] + mark[1]));
      if (to >= left())
        context.strokeRect(from, lane.top + track * lane.trackHeight, Math.max(2, to - from), lane.trackHeight - 1);
      context.lineWidth = 1;
    }
    $("range").textContent = `cycles ${format(view[0])} to ${format(view[1])} of ${format(whole[1])}`;
  };

  // -- moving -------------------------------------------------------------------------------------
  const show = (begin, end) => {
    const least = Math.min(LEAST_SPAN, whole[1] - whole[0]);
    const span = Math.min(Math.max(end - begin, least), whole[1] - whole[0]);
    const from = Math.min(Math.max(begin, whole[0]), whole[1] - span);
    view = [from, from + span];
    draw();
  };
  const zoom = (factor, at = (view[0] + view[1]) / 2) =>
    show(at - (at - view[0]) * factor, at + (view[1] - at) * factor);
  const move = (share) => {
    const by = (view[1] - view[0]) * share;
    show(view[0] + by, view[1] + by);
  };
  const all = () => show(...whole);

  // -- what is under the pointer ------------------------------------------------------------------
  const find = (px, py) => {
    if (px < left()) return null;
    const cycle = view[0] + (px - left()) / scale();
    for (const panel of panels)
      for (const lane of panel.data.lanes) {
        const track = Math.floor((py - lane.top) / lane.trackHeight);
        if (py < lane.top || track >= lane.tracks.length) continue;
        const marks = lane.tracks[track];
        const near = 2 / scale();
        const index = firstAt(marks, cycle - near);
        const mark = marks[index];
        if (mark && mark[0] <= cycle + near) return {panel, lane, track, index, mark, cycle};
      }
    return null;
  };

  const text = (tag, content, className) => {
    const element = document.createElement(tag);
    element.textContent = content;
    if (className) element.className = className;
    return element;
  };
  const describePlace = (run, number) => {
    if (number < 0) return [];
    const [place, code, opcode, stack] = run.places[number];
    const lines = [text("div", place)];
    if (code) lines.push(text("code", code));
    lines.push(text("div", `${opcode}${stack.length ? ` · ${stack.join(" ← ")}` : ""}`, "quiet"));
    return lines;
  };
  const describe = ({panel, lane, track, mark, cycle}) => {
    const run = panel.run, name = KINDS[mark[2]], end = mark[0] + mark[1];
    const who = lane.names[track] ? `${lane.label}, ${lane.names[track]}` : lane.label;
    const isStage = STATES.includes(name) || name === "phase" || name === "odd";
    const what = name === "wait" ? `waits for ${run.texts[mark[3]]}`
      : name === "run" ? "issues" : name === "data" ? WORDS.data
      : isStage ? `${WORDS[name]}, ${run.texts[mark[3]]}` : `${WORDS[name]}: ${run.texts[mark[3]]}`;
    const lines = [text("strong", `${who}: ${what}`),
      text("div", mark[6] === 1 ? `since cycle ${format(mark[0])}; this never ended`
        : `cycles ${format(mark[0])} to ${format(end)} (${format(mark[1])})`)];
    const parts = name === "run" ? mark[mark.length - 1] : null;
    if (parts) {
      const inside = parts.filter(([begin, length]) => cycle >= mark[0] + begin && cycle <= mark[0] + begin + length);
      const part = inside[inside.length - 1] ?? parts[0];
      lines.push(text("div", `${part[2]} instruction${part[2] === 1 ? "" : "s"}, ${format(part[1])} cycles at`, "quiet"));
      lines.push(...describePlace(run, part[3]));
    } else {
      lines.push(...describePlace(run, mark[4]));
    }
    return lines;
  };
  const place = (found, px, py) => {
    tip.replaceChildren(...describe(found));
    tip.hidden = false;
    const room = canvas.parentElement.clientWidth;
    tip.style.left = `${Math.max(0, Math.min(px + 14, room - tip.offsetWidth - 4))}px`;
    tip.style.top = `${py + 18}px`;
  };
  const hide = () => {
    kept = false;
    tip.classList.remove("kept");
    tip.hidden = true;
  };

  // -- events -------------------------------------------------------------------------------------
  let drag = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    const at = view[0] + (event.clientX - box.left - left()) / scale();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      move((event.deltaX || event.deltaY) / 1200);
    else zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY)) / 400), at);
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => {
    drag = {x: event.clientX, view: [...view], moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const px = event.clientX - box.left, py = event.clientY - box.top;
    if (drag) {
      const by = (drag.x - event.clientX) / scale();
      drag.moved ||= Math.abs(event.clientX - drag.x) > 3;
      if (drag.moved) {
        canvas.classList.add("moving");
        show(drag.view[0] + by, drag.view[1] + by);
      }
      return;
    }
    if (kept) return;
    hover = find(px, py);
    if (hover) place(hover, px, py); else hide();
    draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const moved = drag?.moved;
    drag = null;
    canvas.classList.remove("moving");
    if (moved) return;
    const box = canvas.getBoundingClientRect();
    const found = find(event.clientX - box.left, event.clientY - box.top);
    hide();
    chosen = hover = found;
    if (found) {
      place(found, event.clientX - box.left, event.clientY - box.top);
      kept = true;
      tip.classList.add("kept");
    }
    draw();
  });
  canvas.addEventListener("pointerleave", () => {
    if (kept || drag) return;
    hover = null;
    hide();
    draw();
  });

  const tracks = () => panels.flatMap((panel) => panel.data.lanes.flatMap(
    (lane) => lane.tracks.map((marks, track) => ({panel, lane, track, marks})).filter(({marks}) => marks.length)));
  const select = (entry, index) => {
    const mark = entry.marks[index];
    chosen = {panel: entry.panel, lane: entry.lane, track: entry.track, index, mark, cycle: mark[0]};
    hover = chosen;
    const span = view[1] - view[0];
    if (mark[0] + mark[1] < view[0] || mark[0] > view[1]) show(mark[0] - span / 4, mark[0] + 3 * span / 4);
    kept = true;
    tip.classList.add("kept");
    place(chosen, Math.max(left(), Math.min(x(mark[0]), width - 60)),
      entry.lane.top + (entry.track + 1) * entry.lane.trackHeight);
    draw();
  };
  const step = (by) => {
    const list = tracks();
    if (!list.length) return;
    const entry = chosen ? list.find((one) => one.lane === chosen.lane && one.track === chosen.track) : list[0];
    if (!chosen) return select(entry, Math.min(firstAt(entry.marks, view[0]), entry.marks.length - 1));
    const index = chosen.index + by;
    if (index >= 0 && index < entry.marks.length) select(entry, index);
  };
  const otherTrack = (by) => {
    const list = tracks();
    const at = chosen ? list.findIndex((one) => one.lane === chosen.lane && one.track === chosen.track) + by : 0;
    const entry = list[at];
    if (!entry) return;
    const cycle = chosen ? chosen.mark[0] : view[0];
    select(entry, Math.min(firstAt(entry.marks, cycle), entry.marks.length - 1));
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = {
      "+": () => zoom(0.6, chosen?.mark[0]), "=": () => zoom(0.6, chosen?.mark[0]), "-": () => zoom(1 / 0.6),
      "0": all, ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), Home: () => show(whole[0], whole[0] + view[1] - view[0]),
      End: () => show(whole[1] - (view[1] - view[0]), whole[1]), ArrowUp: () => otherTrack(-1),
      ArrowDown: () => otherTrack(1), ",": () => step(-1), ".": () => step(1),
      Escape: () => { chosen = hover = null; hide(); draw(); },
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  $("in").addEventListener("click", () => zoom(0.6));
  $("out").addEventListener("click", () => zoom(1 / 0.6));
  $("all").addEventListener("click", all);
  $("arrows").addEventListener("change", draw);
  $("cta").addEventListener("change", (event) => {
    hide();
    choose(event.target.value);
    all();
  });
  new ResizeObserver(() => layOut()).observe(canvas.parentElement);
  const recolour = () => { readStyle(); legend(); draw(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  new MutationObserver(recolour).observe(document.documentElement, {attributes: true, attributeFilter: ["data-theme"]});

  // -- what stands around the picture ---------------------------------------------------------------
  const legend = () => {
    const entries = [["run", "issues instructions"], ["data", "waits for what it has loaded"]];
    const kinds = new Set(panels.flatMap((panel) => panel.data.lanes.map((lane) => lane.kind)));
    if (kinds.has("copies")) entries.push(["copy", "copy under way"]);
    if (kinds.has("tensor")) entries.push(["mma", "MMA"]);
    const rings = panels.some((panel) => panel.data.lanes.some((lane) => lane.kind === "ring" && lane.tracks.some(
      (track) => track.some((mark) => STATES.includes(KINDS[mark[2]])))));
    if (rings) entries.push(...STATES.map((state) => [state, `stage ${WORDS[state]}`]));
    const lone = panels.some((panel) => panel.data.lanes.some((lane) => lane.detail === "phases"));
    if (lone) entries.push(["phase", "a lone barrier's even phase"], ["odd", "odd phase"]);
    // Reasons that look alike are told together.
    const alike = new Map();
    for (const reason of [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a))) {
      const key = hatching(reason).join();
      alike.set(key, [...(alike.get(key) ?? []), reason]);
    }
    const waits = [...alike.values()].map((reasons) =>
      [wait(reasons[0]), reasons.length <= MOST_NAMED ? `waits for ${reasons.join(", ")}` : "other waits"]);
    const rest = entries.map(([name, words]) => [paints(name), words]);
    $("legend").replaceChildren(...[...rest, ...waits].map(([[inside, edge], words]) => {
      const entry = text("span", ""), swatch = document.createElement("canvas");
      swatch.width = 44;
      swatch.height = 26;
      const pen = swatch.getContext("2d");
      pen.fillStyle = inside || style.ground;
      pen.fillRect(0, 0, 44, 26);
      pen.lineWidth = 3;
      pen.strokeStyle = edge || style.ground;
      if (edge) pen.strokeRect(1, 1, 42, 24);
      entry.append(swatch, words);
      return entry;
    }));
  };
  const profiles = () => {
    $("profiles").replaceChildren(...panels.filter((panel) => panel.cta).flatMap((panel) => {
      const profile = panel.run.profiles[panel.cta.profile];
      return [text("h2", `${panels.length > 1 ? `${panel.run.label}: ` : ""}cluster ${profile.cluster} in numbers`),
        ...(panels.length > 1 ? [text("p", profile.limit)] : []), Object.assign(text("pre", profile.table.join("\n")), {tabIndex: 0})];
    }));
    const first = panels.find((panel) => panel.cta);
    $("limit").textContent = first && panels.length === 1 ? first.run.profiles[first.cta.profile].limit : "";
  };

  const notes = data.runs.flatMap((run) => run.notes.map(
    (note) => (data.runs.length > 1 ? `${run.label}: ${note}` : note)));
  $("notes").textContent = notes.join(" ");
  $("notes").hidden = !notes.length;
  const longest = data.runs.reduce((most, run) => (run.ctas.length > most.length ? run.ctas : most), []);
  for (const cta of longest) {
    const option = text("option", `(${cta.index.join(", ")}), cluster ${cta.cluster}, rank ${cta.rank}`);
    option.value = `${cta.cluster}:${cta.rank}`;
    $("cta").append(option);
  }
  readStyle();
  if (longest.length) choose(`${longest[0].cluster}:${longest[0].rank}`);
  all();
  document.documentElement.dataset.ready = performance.now().toFixed(0);
})();
