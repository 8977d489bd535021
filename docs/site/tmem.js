// The page about tensor memory's columns: reads the form, shows what tmem_model.js says.
"use strict";

(() => {
  const {byId, number, element, text, box, draw, legend, rows, plural, onChange} = drawing;
  const WIDTH = 900, HEIGHT = 54, GAP = 8, TOP = 22, STAGES = 4;
  const plain = (n, accumulators) => ({allocate: 512, n, accumulators, format: "none", sets: 0, overlap: false});
  const PRESETS = [
    {title: "chapter 4: an accumulator for each K block", values: plain(128, 4)},
    {title: "chapter 3: two accumulators", values: plain(128, 2)},
    {title: "chapter 2: one of 64 columns", values: {...plain(64, 1), allocate: 64}},
    {title: "chapter 5: two of 256", values: plain(256, 2)},
    ...[["mxfp8", "MXFP8"], ["mxfp4", "MXFP4"], ["nvfp4", "NVFP4"]].flatMap(([format, name]) => [
      {title: `chapter 7: ${name}, N = 128`, values: tmemModel.plan(format, 128, false, STAGES)},
      {title: `chapter 7: ${name}, N = 256, overlapping`, values: tmemModel.plan(format, 256, true, STAGES)}]),
    {title: "does not fit: two of 256, and scales", values: {...plain(256, 2), format: "mxfp8", sets: 2}},
    {title: "refused: 48 columns", values: {...plain(48, 1), allocate: 48}},
  ];
  const WORDS = {accumulator: "accumulator", sfa: "A-scales, set", sfb: "B-scales, set"};
  const name = (range) => `${WORDS[range.kind]} ${range.index}`;
  const CLASSES = {accumulator: ["column-even", "column-odd"], sfa: ["column-sfa"], sfb: ["column-sfb"]};
  const look = (range) => CLASSES[range.kind][range.index % CLASSES[range.kind].length];

  function show() {
    const o = {allocate: number("allocate"), n: number("n"), accumulators: number("accumulators"),
               format: byId("format").value, sets: number("sets"), overlap: byId("overlap").checked};
    const wrong = tmemModel.problem(o);
    byId("problem").textContent = wrong ?? "";
    byId("shown").hidden = Boolean(wrong);
    if (wrong) return;
    const layout = tmemModel.layout(o);
    byId("summary").textContent = layout.refused.length ? "The machine refuses this." : summary(o, layout);
    showRefused(layout.refused);
    showPicture(o, layout);
    rows(byId("table"), layout.ranges.map((range) => [name(range), range.first, range.first + range.count - 1, range.count]));
  }

  function summary(o, layout) {
    const set = tmemModel.setColumns(o.format, o.n).all, parts = [];
    parts.push(`${plural(o.accumulators, "accumulator")} of ${o.n} columns` +
        (set && o.sets ? ` and ${plural(o.sets, "set")} of ${set} columns of scales` : ""));
    parts.push(`${layout.unused} of ${o.allocate} columns are unused`);
    if (layout.shared) parts.push(`the accumulators share ${layout.shared}, which the epilogue reads first`);
    const said = [`${parts.join("; ")}.`];
    for (const [sum, scales] of layout.clashes)
      said.push(`The scales of set ${scales.index} are in columns of accumulator ${sum.index}: both are allocated, so nothing ` +
          "refuses this, and the copy of the scales overwrites sums.");
    if (set && o.sets < tmemModel.LEAST_SETS) said.push("One set is read while the next is written, so a kernel needs at least two.");
    if (o.accumulators === 1) said.push("The tensor core waits while the epilogue reads the only accumulator.");
    said.push(o.allocate > 256 ? "A second CTA on this SM waits in tcgen05.alloc until this one has freed its columns."
                               : `A second CTA on this SM can have ${o.allocate} columns at the same time.`);
    return said.join(" ");
  }

  function showRefused(refused) {
    byId("refused").hidden = !refused.length;
    byId("refused").replaceChildren(...refused.map((one) => {
      const code = byId(one.code.toLowerCase()).content.cloneNode(true);
      return element("p", {}, code, `: ${one.what}. Rule: ${one.rule}. Fix: ${one.fix}.`);
    }));
  }

  function showPicture(o, layout) {
    const scale = (WIDTH - 2) / tmemModel.COLUMNS, shapes = [], levels = [];
    const level = (range) => {  // ranges that share columns are drawn below each other
      let at = 0;
      while ((levels[at] ?? []).some((one) => range.first < one.first + one.count && one.first < range.first + range.count)) ++at;
      (levels[at] ??= []).push(range);
      return at;
    };
    for (const range of layout.ranges) {
      const from = Math.max(0, range.first), to = Math.min(tmemModel.COLUMNS, range.first + range.count);
      const y = TOP + level(range) * (HEIGHT + GAP);
      shapes.push(box(1 + from * scale, y, (to - from) * scale, HEIGHT, look(range),
                      `${name(range)}: columns ${range.first} to ${range.first + range.count - 1}`));
      if ((to - from) * scale > 60)
        shapes.push(text(1 + (from + to) / 2 * scale, y + HEIGHT / 2 + 4, range.kind === "accumulator" ? `D ${range.index}` : name(range),
                         {"text-anchor": "middle", class: "on-colour"}));
    }
    const height = TOP + Math.max(1, levels.length) * (HEIGHT + GAP);
    const end = Math.min(Math.max(o.allocate, 0), tmemModel.COLUMNS);
    shapes.push(box(1, TOP - 3, end * scale, height - TOP + 1, "allocated", `allocated: columns 0 to ${end - 1}`));
    for (const column of [0, 128, 256, 384, 512])
      shapes.push(text(Math.min(WIDTH - 1, 1 + column * scale), 12, column, {"text-anchor": column === 512 ? "end" : "start"}));
    draw(byId("picture"), WIDTH, height + 4, `The 512 columns: ${layout.ranges.map((range) =>
        `${name(range)} from ${range.first} on`).join(", ") || "nothing is allocated"}`, shapes);
  }

  legend(byId("legend"), [["column-even", "accumulators 0, 2, …"], ["column-odd", "accumulators 1, 3, …"], ["column-sfa", "scales of A"],
                          ["column-sfb", "scales of B"], ["allocated", "allocated"]]);
  onChange(byId("columns"), PRESETS, show);
})();
