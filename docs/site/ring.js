// The page about the ring: reads the form, shows what ring_model.js says.
"use strict";

(() => {
  const {byId, number, text, box, draw, legend, rows, plural, round, onChange} = drawing;
  const WIDTH = 900, LEFT = 110, TRACK = 22, MOST_STAGES = 8;
  const PRESETS = [
    {title: "chapter 1's program", values: {stages: 2, latency: 480, pace: 130, work: 460, held: 460}},
    {title: "one stage: each waits for the other", values: {stages: 1, latency: 480, pace: 130, work: 460, held: 460}},
    {title: "question 3 of chapter 1", values: {stages: 4, latency: 700, pace: 100, work: 300, held: 300}},
    {title: "given back early", values: {stages: 2, latency: 480, pace: 130, work: 460, held: 120}},
    {title: "memory that delivers slowly", values: {stages: 4, latency: 900, pace: 600, work: 300, held: 300}},
    {title: "long latency, short work", values: {stages: 4, latency: 1500, pace: 100, work: 200, held: 200}},
  ];
  const LIMITS = {consumer: "the consumer", copies: "the copies", stages: "too few stages"};

  function show() {
    const o = Object.fromEntries(Object.keys(ringModel.LIMITS).map((name) => [name, number(name)]));
    const wrong = ringModel.problem(o);
    byId("problem").textContent = wrong ?? "";
    byId("shown").hidden = Boolean(wrong);
    if (wrong) return;
    const steady = ringModel.steady(o), mean = ringModel.averages(o), enough = ringModel.enough(o);
    byId("cycles").textContent = round(steady.cycles, 1);
    byId("cycles-text").textContent = `limited by ${LIMITS[steady.limit]}`;
    byId("producer").textContent = round(mean.producerWaits, 1);
    byId("consumer").textContent = round(mean.consumerWaits, 1);
    byId("used").textContent = round(o.stages - mean.empty, 1);
    byId("used-text").textContent = `of ${o.stages}: ${round(mean.filling, 1)} being filled, ${round(mean.full, 1)} full, ` +
        `${round(mean.reading, 1)} being read`;
    byId("summary").textContent = summary(o, steady, enough);
    showPicture(o);
    rows(byId("table"), Array.from({length: MOST_STAGES}, (_, index) => {
      const other = {...o, stages: index + 1}, found = ringModel.steady(other), states = ringModel.averages(other);
      return [index + 1, round(found.cycles, 1), LIMITS[found.limit], round(states.full + states.reading, 1)];
    }), o.stages - 1);
  }

  function summary(o, steady, enough) {
    const inRing = o.latency + o.held, slower = Math.max(o.work, o.pace);
    const formula = `A tile is in the ring for ${o.latency} + ${o.held} = ${inRing} cycles, and the slower side needs ${slower} ` +
        `for one: ${inRing} / ${slower}, rounded up, is ${plural(enough, "stage")}.`;
    if (steady.limit === "stages")
      return `${formula} With ${o.stages} both sides wait: a tile costs ${round(steady.cycles, 1)} cycles instead of ${slower}.`;
    const who = steady.limit === "consumer" ? "The consumer works all the time" : "The copies come as fast as they can";
    return `${formula} ${who}; ${o.stages > enough ? "the stages beyond that gain nothing" : "another stage would gain nothing"}.`;
  }

  function showPicture(o) {
    const tiles = ringModel.run(o, Math.max(8, 3 * o.stages));
    const end = tiles[tiles.length - 1].ended, scale = (WIDTH - LEFT - 10) / end;
    const x = (cycle) => LEFT + cycle * scale, shapes = [];
    const bar = (from, to, track, name, title) => to > from &&
        shapes.push(box(x(from), 24 + track * TRACK, (to - from) * scale, TRACK - 5, name, `${title}, cycles ${from} to ${to}`));
    const label = (track, words) => shapes.push(text(0, 24 + track * TRACK + 13, words));
    label(0, "producer");
    label(1, "consumer");
    for (let stage = 0; stage < o.stages; ++stage) label(2 + stage, `stage ${stage}`);
    tiles.forEach((tile, index) => {
      const before = tiles[index - 1], stage = 2 + (index % o.stages), inStage = tiles[index - o.stages];
      bar(tile.requested - tile.producerWaits, tile.requested, 0, "wait-empty", `the producer waits for an empty stage for tile ${index}`);
      shapes.push(box(x(tile.requested), 24, 2, TRACK - 5, "run", `tile ${index} is requested in cycle ${tile.requested}`));
      bar(before ? before.ended : 0, tile.begun, 1, "wait-full", `the consumer waits for tile ${index}`);
      bar(tile.begun, tile.ended, 1, "run", `work on tile ${index}`);
      bar(inStage ? inStage.released : 0, tile.requested, stage, "empty", "empty");
      bar(tile.requested, tile.arrived, stage, "filling", `tile ${index} is on its way`);
      bar(tile.arrived, tile.begun, stage, "full", `tile ${index} is there`);
      bar(tile.begun, tile.released, stage, "reading", `tile ${index} is read`);
    });
    const step = [1, 2, 5].flatMap((factor) => [1, 10, 100, 1000, 10000].map((power) => factor * power))
        .sort((a, b) => a - b).find((one) => end / one <= 8);
    for (let cycle = 0; cycle <= end; cycle += step) shapes.push(text(x(cycle), 12, cycle.toLocaleString("en")));
    draw(byId("picture"), WIDTH, 24 + (2 + o.stages) * TRACK,
         `The first ${tiles.length} tiles: when producer and consumer wait, and what each stage holds`, shapes);
  }

  legend(byId("legend"), [["run", "requests, works"], ["wait-empty", "waits for an empty stage"], ["wait-full", "waits for a full stage"],
                          ["empty", "stage empty"], ["filling", "being filled"], ["full", "full"], ["reading", "being read"]]);
  onChange(byId("ring"), PRESETS, show);
})();
