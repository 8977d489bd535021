// The addresses of an operand's bytes in shared memory, and the descriptors that name it. No part of the
// page: operands.js shows it, and a test compares it with the C++ that the kernels and the simulator use.
//
// A matrix of `rows` (of M or N) by `columns` (of K). The index that is contiguous in memory is K
// (K-major) or M/N (MN-major). Memory is made of panels: as wide as the swizzle along the contiguous
// index (16 bytes without one), as long as the other index. That is what a tensor copy with a box of
// that width writes. Inside of a panel, 8 lines of that width make a group.
"use strict";

const operandLayout = (() => {
  const CHUNK = 16, GROUP_LINES = 8, LINE = 128, UNIT_SHIFT = 4;
  const MMA_K_BYTES = 32;
  const SHARED_BYTES = 227 * 1024;
  const BANKS = 32, BANK_BYTES = 4;
  const SWIZZLES = [0, 32, 64, 128];
  const ELEMENTS = [
    {name: "e4m3, e5m2 (8 bits)", bytes: 1},
    {name: "f16, bf16 (16 bits)", bytes: 2},
    {name: "tf32, f32 (32 bits)", bytes: 4},
  ];

  // Bytes of a line of the pattern, and after which the pattern repeats.
  const width = (swizzle) => swizzle || CHUNK;
  const repeatBytes = (swizzle) => (swizzle ? GROUP_LINES * swizzle : CHUNK);

  // The exclusive-or of the chunk's index (address bits 4 and up) with the line's (bits 7 and up).
  function swizzled(address, swizzle) {
    const mask = swizzle ? swizzle / CHUNK - 1 : 0;
    return address ^ (((address >> 7) & mask) << 4);
  }

  // A sentence that says why there is no such layout, or null.
  function problem(o) {
    const whole = (value) => Number.isInteger(value) && value > 0;
    if (!ELEMENTS.some((one) => one.bytes === o.elementBytes)) return "An element has 1, 2 or 4 bytes.";
    if (!SWIZZLES.includes(o.swizzle)) return "The swizzle is 0, 32, 64 or 128 bytes.";
    if (o.major !== "k" && o.major !== "mn") return "The operand is K-major or MN-major.";
    if (!whole(o.rows) || o.rows % 8 || o.rows > 256)
      return `${o.rows} rows: give a multiple of 8 from 8 to 256.`;
    if (!whole(o.columns) || o.columns > 1024)
      return `${o.columns} columns: give a number from 1 to 1024.`;
    const kBytes = o.columns * o.elementBytes;
    if (kBytes % MMA_K_BYTES)
      return `${o.columns} columns are ${kBytes} bytes; one MMA reads ${MMA_K_BYTES} bytes of K, so give a multiple of ${MMA_K_BYTES / o.elementBytes}.`;
    const contiguous = o.major === "k" ? kBytes : o.rows * o.elementBytes;
    const name = o.major === "k" ? "columns" : "rows";
    if (contiguous % width(o.swizzle))
      return `The ${name} are ${contiguous} bytes; with this swizzle they come in panels of ${width(o.swizzle)}, so give a multiple of ${width(o.swizzle) / o.elementBytes}.`;
    if (!Number.isInteger(o.base) || o.base < 0 || o.base % repeatBytes(o.swizzle))
      return `Base address ${o.base}: the pattern repeats every ${repeatBytes(o.swizzle)} bytes and starts at multiples of that.`;
    const end = o.base + o.rows * kBytes;
    if (end > SHARED_BYTES) return `The matrix would end at byte ${end}; a CTA has ${SHARED_BYTES} bytes of shared memory.`;
    return null;
  }

  // The layout of {elementBytes, rows, columns, swizzle, major, base}; throws where problem() has a word.
  function make(o) {
    const wrong = problem(o);
    if (wrong) throw new Error(wrong);
    const isK = o.major === "k", w = width(o.swizzle);
    const lines = isK ? o.rows : o.columns;                       // of a panel
    const lineBytes = (isK ? o.columns : o.rows) * o.elementBytes;  // of the matrix
    const panelBytes = lines * w;
    // Byte `byte` along the contiguous index of line `line`.
    const plain = (line, byte) => o.base + Math.floor(byte / w) * panelBytes + line * w + (byte % w);
    const groupBytes = GROUP_LINES * w;
    // Swizzled: from group to group, and from panel to panel. Without one the two change places for
    // MN-major operands (PTX ISA, "Strides").
    const leading = isK ? (o.swizzle ? CHUNK : panelBytes) : (o.swizzle ? panelBytes : groupBytes);
    const stride = isK ? groupBytes : (o.swizzle ? groupBytes : panelBytes);
    const steps = (o.columns * o.elementBytes) / MMA_K_BYTES;

    function start(step) {
      const kByte = step * MMA_K_BYTES;
      if (isK) return plain(0, kByte);
      return o.base + (kByte / o.elementBytes / GROUP_LINES) * groupBytes;
    }
    return {
      ...o, isK, width: w, lines, lineBytes, panelBytes, groupBytes, leading, stride, steps,
      totalBytes: lines * lineBytes,
      plainAddress: (row, column) =>
          isK ? plain(row, column * o.elementBytes) : plain(column, row * o.elementBytes),
      address(row, column) { return swizzled(this.plainAddress(row, column), o.swizzle); },
      lineAddress: (line, byte) => swizzled(plain(line, byte), o.swizzle),
      start,
      // The line at an address and the byte within it, for the map of the memory.
      at(address) {
        const offset = swizzled(address, o.swizzle) - o.base;
        const panel = Math.floor(offset / panelBytes), inside = offset % panelBytes;
        return {line: Math.floor(inside / w), byte: panel * w + (inside % w)};
      },
      fields100: (step) => descriptor(TCGEN05, start(step), leading, stride, o.swizzle),
      fields90: (step) => descriptor(WGMMA, start(step), leading, stride, o.swizzle),
    };
  }

  const field = (name, high, low, value, meaning) => ({name, high, low, value: BigInt(value), meaning});
  const units = (bytes) => (bytes >> UNIT_SHIFT) & 0x3fff;

  const ZERO = "(zero)";

  // A descriptor: its lower bits, and where the pattern starts, are alike for tcgen05 and wgmma; `middle`
  // and `upper` are the fields of their own around that. `codes`: how each swizzle is written.
  function descriptor({codes, swizzleLow, middle, upper}, start, leading, stride, swizzle) {
    return [
      field("start address", 13, 0, units(start), `${start} bytes, in units of 16`),
      field(ZERO, 15, 14, 0, ""),
      field("leading offset", 29, 16, units(leading), `${leading} bytes, in units of 16`),
      field(ZERO, 31, 30, 0, ""),
      field("stride offset", 45, 32, units(stride), `${stride} bytes, in units of 16`),
      middle,
      field("base offset", 51, 49, 0, "0: the pattern starts at a multiple of its repeat"),
      ...upper,
      field("swizzle", 63, swizzleLow, codes[swizzle], swizzle ? `${swizzle} bytes` : "none"),
    ];
  }

  // PTX ISA, "Shared memory descriptor" of tcgen05.
  const TCGEN05 = {
    codes: {0: 0, 32: 6, 64: 4, 128: 2}, swizzleLow: 61,
    middle: field("fixed", 48, 46, 1, "always 1 on sm_100"),
    upper: [field("leading offset's mode", 52, 52, 0, "0: it is a distance"), field(ZERO, 60, 53, 0, "")],
  };
  // PTX ISA, "Matrix descriptor format" of wgmma.
  const WGMMA = {
    codes: {0: 0, 32: 3, 64: 2, 128: 1}, swizzleLow: 62,
    middle: field(ZERO, 48, 46, 0, ""), upper: [field(ZERO, 61, 52, 0, "")],
  };

  const word = (fields) => fields.reduce((bits, one) => bits | (one.value << BigInt(one.low)), 0n);
  const hex = (bits) => "0x" + bits.toString(16).padStart(16, "0");

  // How many passes shared memory needs for lanes that read `bytes` each at these addresses: in each
  // group of lanes that together read at most 128 bytes, as many as the busiest bank has words.
  function passes(addresses, bytes) {
    const lanes = LINE / Math.max(bytes, BANK_BYTES), words = Array.from({length: BANKS}, () => new Set());
    let total = 0;
    for (let first = 0; first < addresses.length; first += lanes) {
      const group = Array.from({length: BANKS}, () => new Set());
      for (const address of addresses.slice(first, first + lanes))
        for (let byte = 0; byte < bytes; byte += BANK_BYTES) {
          const index = Math.floor((address + byte) / BANK_BYTES);
          group[index % BANKS].add(index);
          words[index % BANKS].add(index);
        }
      total += Math.max(...group.map((one) => one.size));
    }
    return {passes: total, least: Math.ceil(addresses.length / lanes), perBank: words.map((one) => one.size)};
  }

  // Where scale `scale` (along K) of row `row` of a block-scaled operand is: in atoms of 128 rows and 4
  // scales, 512 bytes, which one tcgen05.cp.32x128b.warpx4 spreads over 32 lanes of four columns.
  function scalePlace(row, scale, atomsAlongK) {
    const rows = 128, scales = 4, lanes = 32, lineBytes = 16;
    const inAtom = row % rows, lane = inAtom % lanes, column = Math.floor(inAtom / lanes), id = scale % scales;
    return {atom: Math.floor(row / rows) * atomsAlongK + Math.floor(scale / scales),
            byte: lane * lineBytes + column * scales + id, lane, column, id};
  }

  return {CHUNK, LINE, MMA_K_BYTES, BANKS, SWIZZLES, ELEMENTS, swizzled, repeatBytes, problem, make, word, hex, passes, scalePlace};
})();

if (typeof module !== "undefined") module.exports = operandLayout;
