// In which order clusters walk over the output, which of them are at work together, in which GPC, and
// what they read. No part of the page: raster.js shows it, and a test compares it with the kernels'
// raster, with the simulator's places of clusters, and with what chapter 5's lab prints.
"use strict";

const rasterModel = (() => {
  // SMs of each GPC, as the simulator has them: an H100's fit measurements, a B200's are assumed.
  const MACHINES = {
    b200: {name: "B200 (GPCs assumed)", gpcs: [20, 20, 18, 18, 18, 18, 18, 18], lonePairs: 0},
    h100: {name: "H100", gpcs: [18, 18, 18, 18, 18, 18, 16, 8], lonePairs: 4},
  };
  const PAIR = 2, K_BLOCK = 128, MOST_PIECES = 64;

  // The `index`-th piece of m x n in bands of `band` pieces along M, each walked along N, M fastest.
  function piece(index, m, n, band) {
    const bandSize = band * n, first = Math.floor(index / bandSize) * band, inBand = index % bandSize;
    const height = Math.min(band, m - first);
    return {m: first + (inBand % height), n: Math.floor(inBand / height)};
  }

  // Where a launch puts its clusters, one CTA an SM: [{sm, gpc, port}]. Dealt out: one to each GPC in
  // turn, as for a launch with cluster dimensions. `port`: through which it reads L2.
  function dealt(machine, ctas) {
    const {gpcs, lonePairs} = MACHINES[machine], unit = Math.max(PAIR, ctas), left = [...gpcs], places = [];
    const sms = gpcs.reduce((sum, one) => sum + one, 0);
    let sm = 0, round = [];
    const take = (gpc, port) => {
      left[gpc] -= unit;
      round.push({sm, gpc, port});
      sm += unit;
    };
    for (let lone = 0; unit === PAIR && lone < lonePairs; ++lone)
      take(lone, lone === 0 || lone + 1 === lonePairs ? gpcs.length - 1 : gpcs.length + lone);
    while (sm < sms) {
      for (let gpc = 0; gpc < gpcs.length; ++gpc) if (left[gpc] >= unit && sm < sms) take(gpc, gpc);
      if (!round.length) break;
      places.push(...round);
      if (ctas === 1) places.push(...round.map((place) => ({...place, sm: place.sm + 1})));
      round = [];
    }
    return places;
  }

  // The same for CTAs without a cluster that fill GPC after GPC: a launch without cluster dimensions.
  function byGpc(machine, count) {
    const lone = PAIR * MACHINES[machine].lonePairs;
    const rank = (place) => (place.sm < lone ? 0 : 1 + (place.sm % PAIR));
    const places = dealt(machine, 1).map((place, index) => ({place, index}))
        .sort((x, y) => rank(x.place) - rank(y.place) || x.index - y.index).map((one) => one.place);
    const position = (place) => (place.sm < lone ? 0 : 1 + place.gpc);
    return places.slice(0, count).sort((x, y) => position(x) - position(y) || x.sm - y.sm);
  }

  // A sentence that says why there is no such launch, or null.
  function problem(o) {
    const whole = (value, most) => Number.isInteger(value) && value >= 1 && value <= most;
    if (!whole(o.m, MOST_PIECES) || !whole(o.n, MOST_PIECES)) return `Pieces along M and N: give whole numbers from 1 to ${MOST_PIECES}.`;
    if (!whole(o.band, MOST_PIECES)) return `Height of a band: give a whole number from 1 to ${MOST_PIECES}.`;
    if (o.fills && o.clusterM * o.clusterN > 1) return "Only CTAs without a cluster fill GPC after GPC: choose clusters of 1 × 1, or deal out.";
    const most = places(o).length;
    if (!whole(o.atWork, most)) return `Clusters at work: give a whole number from 1 to ${most}, which is how many the GPU holds.`;
    return null;
  }

  const places = (o) => (o.fills ? byGpc(o.machine, Infinity) : dealt(o.machine, o.clusterM * o.clusterN));
  const rounds = (o) => Math.ceil((o.m * o.n) / o.atWork);

  // The clusters at work in a round: [{index, m, n, gpc, port}].
  function atWork(o, round) {
    const where = o.fills ? byGpc(o.machine, Math.min(o.atWork, o.m * o.n)) : places(o), found = [];
    for (let slot = 0; slot < o.atWork; ++slot) {
      const index = round * o.atWork + slot;
      if (index < o.m * o.n) found.push({index, ...piece(index, o.m, o.n, o.band), gpc: where[slot].gpc, port: where[slot].port});
    }
    return found;
  }

  // What clusters read for one K block: distinct rows and columns of pieces, and bytes. A piece is
  // clusterM x clusterN tiles; a cluster reads each of its tiles of A and B once, by multicast.
  function reads(o, clusters) {
    const rows = new Set(clusters.map((one) => one.m)).size, columns = new Set(clusters.map((one) => one.n)).size;
    return {rows, columns, bytes: (rows * o.clusterM * o.tileM + columns * o.clusterN * o.tileN) * K_BLOCK};
  }

  // Bytes for one K block of a round: that arrive at the SMs, that L2 is asked for by clusters one by
  // one, by ports if the SMs of a port ask together, and that are distinct.
  function traffic(o, round) {
    const clusters = atWork(o, round), ports = new Map();
    for (const one of clusters) ports.set(one.port, [...(ports.get(one.port) ?? []), one]);
    const each = (o.clusterM * o.tileM + o.clusterN * o.tileN) * K_BLOCK;
    const ofPorts = [...ports.values()].map((list) => reads(o, list));
    return {clusters, ports, arrive: clusters.length * o.clusterM * o.clusterN * (o.tileM + o.tileN) * K_BLOCK,
            alone: clusters.length * each, together: ofPorts.reduce((sum, one) => sum + one.bytes, 0), distinct: reads(o, clusters)};
  }

  return {MACHINES, MOST_PIECES, piece, dealt, byGpc, places, problem, rounds, atWork, reads, traffic};
})();

if (typeof module !== "undefined") module.exports = rasterModel;
