// The page about the raster: reads the form, shows what raster_model.js says.
"use strict";

(() => {
  const {byId, number, text, box, draw, rows, plural, round: rounded, onChange} = drawing;
  const CELL = 22, LEFT = 30, TOP = 18, BANDS = [1, 2, 4, 8, 16];
  const b200 = {machine: "b200", band: 8, cluster: "1 × 1", tile: "128 × 128", fills: false};
  const h100 = {...b200, machine: "h100"};
  const PRESETS = [
    {title: "chapter 5: 48 CTAs in bands of 8", values: {...b200, m: 16, n: 16, "at-work": 48}},
    {title: "the same, column by column", values: {...b200, m: 16, n: 16, band: 16, "at-work": 48}},
    {title: "chapter 5: 4096 × 2048 in 128 × 128", values: {...b200, m: 32, n: 16, "at-work": 148}},
    {title: "chapter 5: 4096 × 4096 in pairs of 128 × 256", values: {...b200, m: 16, n: 16, cluster: "2 × 1", tile: "128 × 256", "at-work": 74}},
    {title: "chapter 6: 512 × 2112 in 128 × 64, dealt out", values: {...h100, m: 4, n: 33, tile: "128 × 64", "at-work": 132}},
    {title: "chapter 6: the same, GPC by GPC", values: {...h100, m: 4, n: 33, tile: "128 × 64", "at-work": 132, fills: true}},
    {title: "chapter 6: 512 × 4096 in 128 × 128, GPC by GPC", values: {...h100, m: 4, n: 32, "at-work": 132, fills: true}},
    {title: "chapter 6: 4096 × 4096 in clusters of two, 128 × 256", values: {...h100, m: 16, n: 16, cluster: "2 × 1", tile: "128 × 256", "at-work": 66}},
  ];
  const two = (id) => byId(id).value.split(" × ").map(Number);
  // The GPC through whose port a piece reads L2; some pairs of an H100's SMs read by themselves.
  const letter = (port, o) => (port < rasterModel.MACHINES[o.machine].gpcs.length ? String.fromCharCode("A".charCodeAt(0) + port) : "–");
  const kib = (bytes) => `${rounded(bytes / 1024)} KiB`;

  for (const [name, machine] of Object.entries(rasterModel.MACHINES)) byId("machine").add(new Option(machine.name, name));

  function read() {
    const [clusterM, clusterN] = two("cluster"), [tileM, tileN] = two("tile");
    return {machine: byId("machine").value, m: number("m"), n: number("n"), band: number("band"), clusterM, clusterN, tileM, tileN,
            atWork: number("at-work"), fills: byId("fills").checked};
  }

  function show() {
    const o = read(), wrong = rasterModel.problem(o);
    byId("problem").textContent = wrong ?? "";
    byId("shown").hidden = Boolean(wrong);
    if (wrong) return;
    const last = rasterModel.rounds(o) - 1, slider = byId("round");
    slider.max = last;
    const now = Math.min(Number(slider.value), last);
    byId("count").textContent = `round ${now} of ${last}`;
    byId("back").disabled = now === 0;
    byId("forward").disabled = now === last;
    const found = rasterModel.traffic(o, now), {distinct} = found;
    byId("arrive").textContent = kib(found.arrive);
    byId("alone").textContent = kib(found.alone);
    byId("together").textContent = kib(found.together);
    byId("distinct").textContent = kib(distinct.bytes);
    byId("distinct-text").textContent = `${plural(distinct.rows, "row")} and ${plural(distinct.columns, "column")} of pieces`;
    byId("summary").textContent =
        `${plural(found.clusters.length, "cluster")} at work: their pieces are in ${plural(distinct.rows, "row")} of A and ` +
        `${plural(distinct.columns, "column")} of B. Each byte is wanted ${rounded(found.arrive / distinct.bytes, 1)} times; ` +
        `L2 gives it out ${rounded(found.together / distinct.bytes, 1)} times if the SMs of a GPC ask together.`;
    byId("gpcs").textContent = "Pieces by GPC: " + [...found.ports].sort((a, b) => a[0] - b[0]).map(([port, list]) =>
        `${letter(port, o)} ${list.length}`).join(", ") + ". A letter in a piece names its GPC (–: a pair of SMs that reads L2 by itself), " +
        "a number an earlier or later round.";
    showPicture(o, now, found.clusters);
    rows(byId("table"), [...new Set([...BANDS, o.band])].filter((band) => band <= Math.max(o.m, o.band)).sort((a, b) => a - b).map((band) => {
      const other = rasterModel.traffic({...o, band}, now);
      return [band === o.band ? `${band} (chosen)` : band, other.distinct.rows, other.distinct.columns, kib(other.together), kib(other.distinct.bytes)];
    }));
  }

  function showPicture(o, now, clusters) {
    const shapes = [], at = (m, n) => [LEFT + n * CELL, TOP + m * CELL];
    const here = new Map(clusters.map((one) => [one.index, one]));
    for (let index = 0; index < o.m * o.n; ++index) {
      const {m, n} = rasterModel.piece(index, o.m, o.n, o.band), [x, y] = at(m, n), one = here.get(index);
      const when = Math.floor(index / o.atWork);
      shapes.push(box(x, y, CELL - 2, CELL - 2, one ? `piece gpc${one.port % 4}` : "piece",
                      `piece ${index}: row ${m}, column ${n}, round ${when}${one ? `, GPC ${letter(one.port, o)}` : ""}`));
      shapes.push(text(x + CELL / 2 - 1, y + CELL / 2 + 3, one ? letter(one.port, o) : when,
                       {"text-anchor": "middle", class: one ? "in-piece at-work" : "in-piece"}));
    }
    for (let m = 0; m < o.m; m += 4) shapes.push(text(LEFT - 6, TOP + m * CELL + CELL / 2 + 3, m, {"text-anchor": "end"}));
    for (let n = 0; n < o.n; n += 4) shapes.push(text(LEFT + n * CELL + CELL / 2 - 1, TOP - 6, n, {"text-anchor": "middle"}));
    const picture = byId("picture"), width = LEFT + o.n * CELL + 2;
    draw(picture, width, TOP + o.m * CELL + 2, `The output, ${o.m} rows of ${o.n} pieces, in round ${now}`, shapes);
    picture.style.width = picture.style.minWidth = `${width}px`;
  }

  const go = (by) => {
    byId("round").value = Number(byId("round").value) + by;
    show();
  };
  byId("back").addEventListener("click", () => go(-1));
  byId("forward").addEventListener("click", () => go(1));
  byId("round").addEventListener("input", show);
  onChange(byId("raster"), PRESETS, show);
})();
