// A ring of stages between a producer that requests copies and a consumer: when each tile is requested,
// arrives, is worked on and gives its stage back. No part of the page: ring.js shows it, and a test
// compares it with another computation and with the table of chapter 1's program.
//
// `stages`; `latency`: cycles from the request of a tile to its arrival; `pace`: least cycles between two
// requests, what the memory can deliver; `work`: cycles of the consumer for a tile; `held`: of these, how
// long it needs the stage (all of them, unless it gives the stage back early).
"use strict";

const ringModel = (() => {
  const LIMITS = {stages: [1, 8], latency: [1, 5000], pace: [1, 5000], work: [1, 5000], held: [1, 5000]};
  const NAMES = {stages: "Stages", latency: "Latency of a copy", pace: "Cycles between two requests",
                 work: "Work on a tile", held: "Stage held"};

  // A sentence that says why there is no such ring, or null.
  function problem(o) {
    for (const [name, [least, most]] of Object.entries(LIMITS))
      if (!Number.isInteger(o[name]) || o[name] < least || o[name] > most)
        return `${NAMES[name]}: give a whole number from ${least} to ${most}.`;
    if (o.held > o.work) return `The stage is held for ${o.held} cycles, but the work takes ${o.work}: give at most that.`;
    return null;
  }

  // The first `tiles` tiles: {requested, arrived, begun, released, ended, producerWaits, consumerWaits}.
  function run(o, tiles) {
    const made = [];
    for (let tile = 0; tile < tiles; ++tile) {
      const before = made[tile - 1], inStage = made[tile - o.stages];
      const ready = before ? before.requested + o.pace : 0;
      const requested = Math.max(ready, inStage ? inStage.released : 0);
      const arrived = requested + o.latency;
      const free = before ? before.ended : 0;
      const begun = Math.max(arrived, free);
      made.push({requested, arrived, begun, released: begun + o.held, ended: begun + o.work,
                 producerWaits: requested - ready, consumerWaits: begun - free});
    }
    return made;
  }

  // Cycles of a tile in the long run, and what they are made of: the largest of three.
  function steady(o) {
    const parts = {consumer: o.work, copies: o.pace, stages: (o.latency + o.held) / o.stages};
    const cycles = Math.max(...Object.values(parts));
    return {cycles, limit: Object.keys(parts).find((name) => parts[name] === cycles), parts};
  }

  // Stages from which on the slower side never waits for the other.
  const enough = (o) => Math.ceil((o.latency + o.held) / Math.max(o.work, o.pace));

  // Averages of a tile in the long run: waits of both sides, and how many stages are in which state.
  function averages(o) {
    const settled = 40 * o.stages, count = 60 * o.stages;  // whole laps, after the ring has filled
    const tiles = run(o, settled + count).slice(settled);
    const mean = (of) => tiles.reduce((sum, tile) => sum + of(tile), 0) / count;
    const {cycles} = steady(o);
    const filling = o.latency / cycles, reading = o.held / cycles;
    const full = mean((tile) => tile.begun - tile.arrived) / cycles;
    return {producerWaits: mean((tile) => tile.producerWaits), consumerWaits: mean((tile) => tile.consumerWaits),
            filling, full, reading, empty: o.stages - filling - full - reading};
  }

  return {LIMITS, NAMES, problem, run, steady, enough, averages};
})();

if (typeof module !== "undefined") module.exports = ringModel;
