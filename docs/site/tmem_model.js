// What fits into the 512 columns of tensor memory. No part of the page: tmem.js shows it, and a test
// compares it with the plans that chapter 7's lab prints, and its sentences with the simulator's.
"use strict";

const tmemModel = (() => {
  const COLUMNS = 512, UNIT = 32, MOST_ACCUMULATORS = 16, LEAST_SETS = 2, MOST_SETS = 8;
  const ATOM_COLUMNS = 4, ATOM_ROWS = 128;
  // Atoms of scales along one K block, by format.
  const ATOMS = {none: 0, mxfp8: 1, mxfp4: 2, nvfp4: 4};
  const KINDS = {none: "f8f6f4", mxfp8: "mxf8f6f4", mxfp4: "mxf4", nvfp4: "mxf4nvf4"};

  // Columns of one set of scales: those of A, and those of B for each 128 of D's columns.
  function setColumns(format, n) {
    const a = ATOMS[format] * ATOM_COLUMNS;
    return {a, b: a * Math.ceil(n / ATOM_ROWS), all: a * (1 + Math.ceil(n / ATOM_ROWS))};
  }

  // The plan of chapter 7's kernel for a tile of N columns and an input ring of that many stages.
  function plan(format, n, overlap, stages) {
    const set = setColumns(format, n).all;
    const ring = overlap ? 2 : Math.min(4, Math.floor((COLUMNS - LEAST_SETS * set) / n));
    const room = COLUMNS - ring * n;
    const sets = set === 0 ? 0 : overlap ? LEAST_SETS : Math.min(stages, Math.floor(room / set));
    return {allocate: COLUMNS, n, accumulators: ring, format, sets, overlap};
  }

  const whole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;

  // A sentence about a number that is none, or null.
  function problem(o) {
    if (!Number.isInteger(o.allocate)) return "Columns to allocate: give a whole number.";
    if (!(o.format in ATOMS)) return "The scales are none, mxfp8, mxfp4 or nvfp4.";
    if (!whole(o.accumulators, 1, MOST_ACCUMULATORS)) return `Accumulators: give a whole number from 1 to ${MOST_ACCUMULATORS}.`;
    if (!whole(o.sets, 0, MOST_SETS)) return `Sets of scales: give a whole number from 0 to ${MOST_SETS}.`;
    if (o.overlap && o.accumulators !== 2) return `${o.accumulators} accumulators: two overlap, so give 2.`;
    return null;
  }

  // What the simulator says: {code, what, rule, fix}.
  const fault = (code, what, rule, fix) => ({code, what, rule, fix});

  function refusals(o, ranges) {
    const found = [];
    const {allocate, n} = o;
    if (allocate < UNIT || allocate > COLUMNS || (allocate & (allocate - 1)) !== 0)
      found.push(fault("BW-X03", `allocates ${allocate} columns`, "the number of columns is a power of two in 32...512",
                       "round the number of columns up to the next power of two, at least 32"));
    const scaled = o.format !== "none", unit = scaled ? 8 : 16;
    if (!whole(n, unit, 256) || n % unit !== 0)
      found.push(fault("BW-D02", `the instruction descriptor of kind::${KINDS[o.format]} has M = 128, N = ${n}, a shape that ` +
                       "cta_group::1 does not have", "the shape is one that the kind has",
                       scaled ? "use M = 128 with N a multiple of 8 up to 256"
                              : "use M = 64 with N a multiple of 8 or M = 128 with N a multiple of 16, N up to 256"));
    if (found.length) return found;
    for (const range of ranges) {
      const outside = Math.max(range.first, allocate);
      const end = range.first + range.count;
      if (range.first >= 0 && end <= allocate) continue;
      const column = range.first < 0 ? range.first : outside;
      const opcode = range.kind === "accumulator" ? "tcgen05.mma" : "tcgen05.cp";
      found.push(fault("BW-X01", `Tensor Memory column ${column} being accessed by instruction ${opcode} is not allocated. ` +
                       `Columns allocated are: 0-${allocate - 1}. It accesses columns ${range.first}-${end - 1} of CTA rank 0`,
                       "only allocated columns may be accessed", "allocate enough columns, wait for the address to be " +
                       "written before reading it, and deallocate only after the last access"));
      break;  // the machine stops at the first one
    }
    return found;
  }

  // {ranges: [{kind, index, first, count}], refused: [fault], clashes: [[range, range]], shared, unused}.
  function layout(o) {
    const set = setColumns(o.format, o.n), ranges = [];
    const scalesBegin = o.allocate - o.sets * set.all;
    for (let index = 0; index < o.accumulators; ++index)
      ranges.push({kind: "accumulator", index, first: o.overlap ? index * (scalesBegin - o.n) : index * o.n, count: o.n});
    for (let index = 0; set.all > 0 && index < o.sets; ++index) {
      const first = scalesBegin + index * set.all;
      ranges.push({kind: "sfa", index, first, count: set.a}, {kind: "sfb", index, first: first + set.a, count: set.b});
    }
    const refused = refusals(o, ranges);
    if (refused.length) return {ranges: refused.some((one) => one.code !== "BW-X01") ? [] : ranges, refused, clashes: [], shared: 0, unused: 0};
    const uses = Array.from({length: o.allocate}, () => []);
    for (const range of ranges) for (let i = 0; i < range.count; ++i) uses[range.first + i].push(range);
    // Scales on top of an accumulator: one pair for each set.
    const clashes = new Map();
    for (const here of uses) {
      const sum = here.find((one) => one.kind === "accumulator"), scales = here.find((one) => one.kind !== "accumulator");
      if (sum && scales && !clashes.has(scales.index)) clashes.set(scales.index, [sum, scales]);
    }
    return {ranges, refused, clashes: [...clashes.values()],
            shared: uses.filter((here) => here.filter((one) => one.kind === "accumulator").length > 1).length,
            unused: uses.filter((here) => here.length === 0).length};
  }

  return {COLUMNS, ATOMS, LEAST_SETS, setColumns, plan, problem, layout};
})();

if (typeof module !== "undefined") module.exports = tmemModel;
