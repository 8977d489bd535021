// The explorer of swizzles and descriptors: reads the form, shows what operand_layout.js says.
"use strict";

(() => {
  const {CHUNK, LINE, SWIZZLES, ELEMENTS} = operandLayout;
  const LINES_SHOWN = 64;
  const byId = (id) => document.getElementById(id);
  const number = (id) => (byId(id).value.trim() === "" ? NaN : Number(byId(id).value));

  for (const one of ELEMENTS) byId("element").add(new Option(one.name, one.bytes));
  for (const one of SWIZZLES) byId("swizzle").add(new Option(one ? `${one} bytes` : "none", one));
  byId("swizzle").value = "128";

  function cell(tag, text, className) {
    const made = document.createElement(tag);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }
  function row(tag, texts) {
    const made = document.createElement("tr");
    for (const text of texts) made.append(cell(tag, text));
    return made;
  }
  // A number inside of [0, most]: what is outside is moved to the nearest.
  function bounded(id, most) {
    const field = byId(id);
    field.max = most;
    const value = Math.min(Math.max(Math.trunc(number(id)) || 0, 0), most);
    if (number(id) !== value && document.activeElement !== field) field.value = value;
    return value;
  }

  function show() {
    const o = {elementBytes: Number(byId("element").value), rows: number("rows"), columns: number("columns"),
               swizzle: Number(byId("swizzle").value), major: byId("major").value, base: number("base")};
    const wrong = operandLayout.problem(o);
    byId("problem").textContent = wrong || "";
    byId("shown").hidden = Boolean(wrong);
    if (wrong) return;
    const layout = operandLayout.make(o);
    const panels = layout.lineBytes / layout.width;
    byId("summary").textContent =
        `${layout.totalBytes} bytes from ${o.base} on: ${panels} ${panels === 1 ? "panel" : "panels"} of ` +
        `${layout.lines} lines of ${layout.width} bytes. ` +
        (o.swizzle ? `The pattern repeats every ${operandLayout.repeatBytes(o.swizzle)} bytes.` : "No swizzle: nothing is exchanged.");
    showElement(layout);
    const reads = showBanks(layout);
    showMemory(layout, reads);
    showDescriptors(layout);
  }

  function showElement(layout) {
    const r = bounded("row", layout.rows - 1), c = bounded("column", layout.columns - 1);
    const plain = layout.plainAddress(r, c), address = layout.address(r, c);
    const moved = plain === address ? "The swizzle leaves it there." :
        `The swizzle moves it to ${address}: chunk ${(plain >> 4) & 7} of its 128-byte line becomes chunk ${(address >> 4) & 7}.`;
    byId("element-text").textContent =
        `Row ${r}, column ${c} would be at byte ${plain} without a swizzle. ${moved} Its bank is ${Math.floor(address / 4) % 32}.`;
  }

  // Addresses that the chosen access reads, and bytes of a lane.
  function reads(layout) {
    const lines = (count) => Array.from({length: Math.min(count, layout.lines)}, (_, line) => line);
    const chunks = layout.lineBytes / CHUNK, chunk = bounded("chunk", chunks - 1);
    switch (byId("access").value) {
      case "chunks": return {bytes: 16, addresses: lines(8).map((line) => layout.lineAddress(line, chunk * CHUNK))};
      case "words": return {bytes: 4, addresses: lines(32).map((line) => layout.lineAddress(line, chunk * CHUNK))};
      default: return {bytes: 4, addresses: Array.from({length: Math.min(32, layout.lineBytes / 4)},
                                                      (_, word) => layout.lineAddress(chunk % layout.lines, word * 4))};
    }
  }

  function showBanks(layout) {
    const chosen = reads(layout);
    const result = operandLayout.passes(chosen.addresses, chosen.bytes);
    const text = `${chosen.addresses.length} lanes read ${chosen.bytes} bytes each: ` +
        (result.passes === result.least ? `no bank is asked twice, ${result.passes} pass${result.passes > 1 ? "es" : ""}.`
                                        : `the busiest bank has several words to give, ${result.passes} passes instead of ${result.least}.`);
    byId("bank-text").textContent = text;
    const banks = byId("banks");
    banks.setAttribute("aria-label", `Words that each bank gives: ${result.perBank.join(", ")}`);
    banks.replaceChildren(...result.perBank.map((count, bank) =>
        cell("span", `${bank}: ${count}`, count > 1 ? "many" : count ? "one" : "")));
    return chosen;
  }

  function showMemory(layout, chosen) {
    const firstLine = Math.floor(layout.base / LINE), lines = Math.ceil(layout.totalBytes / LINE);
    const first = bounded("first", Math.max(0, lines - 1));
    const read = new Set(chosen.addresses.map((address) => Math.floor(address / CHUNK)));
    const wanted = Math.floor(layout.address(bounded("row", layout.rows - 1), bounded("column", layout.columns - 1)) / CHUNK);
    const short = layout.isK ? "r" : "k";
    byId("map-legend").textContent = layout.isK ?
        "r3·2 is chunk 2 of row 3 (bytes 32 to 47 along K). A chunk's colour is its place along K." :
        "k3·2 is chunk 2 of column 3 (bytes 32 to 47 along M or N). A chunk's colour is its place along M or N.";
    const head = document.createElement("thead"), body = document.createElement("tbody");
    head.append(row("th", ["byte", "+0", "+16", "+32", "+48", "+64", "+80", "+96", "+112"]));
    for (let line = first; line < Math.min(lines, first + LINES_SHOWN); ++line) {
      const tr = document.createElement("tr");
      const title = cell("th", (firstLine + line) * LINE);
      title.scope = "row";
      tr.append(title);
      for (let chunk = 0; chunk < LINE / CHUNK; ++chunk) {
        const address = (firstLine + line) * LINE + chunk * CHUNK;
        if (address < layout.base || address >= layout.base + layout.totalBytes) {
          tr.append(cell("td", ""));
          continue;
        }
        const place = layout.at(address), along = place.byte / CHUNK;
        const td = cell("td", `${short}${place.line}·${along}`);
        td.style.backgroundColor = `hsl(${(along % 8) * 45} 70% 50% / .28)`;
        const index = address / CHUNK;
        if (read.has(index)) td.classList.add("read");
        if (index === wanted) td.classList.add("chosen");
        tr.append(td);
      }
      body.append(tr);
    }
    const caption = byId("memory").caption;
    byId("memory").replaceChildren(caption, head, body);
  }

  function showDescriptors(layout) {
    const step = bounded("step", layout.steps - 1);
    describe("100", layout.fields100(step));
    describe("90", layout.fields90(step));
    byId("note90").textContent = !layout.isK && layout.elementBytes !== 2 ?
        "wgmma takes MN-major operands of 16-bit elements only; these bits are what its format would hold." : "";
  }

  function describe(name, fields) {
    const bits = operandLayout.word(fields);
    byId("word" + name).textContent = operandLayout.hex(bits);
    const picture = byId("bits" + name);
    picture.setAttribute("aria-label", `The 64 bits, from bit 63 down: ${bits.toString(2).padStart(64, "0")}`);
    const spans = [];
    for (let bit = 63; bit >= 0; --bit) {
      const index = fields.findIndex((one) => bit <= one.high && bit >= one.low);
      const span = cell("span", String((bits >> BigInt(bit)) & 1n),
                        fields[index].name === "(zero)" ? "" : index % 4 ? "even" : "odd");
      span.title = `bit ${bit}: ${fields[index].name}`;
      spans.push(span);
    }
    picture.replaceChildren(...spans);
    const body = document.createElement("tbody");
    for (const one of fields)
      body.append(row("td", [one.high === one.low ? `${one.low}` : `${one.low} to ${one.high}`, one.name,
                             `0x${one.value.toString(16)}`, one.meaning]));
    const head = document.createElement("thead");
    head.append(row("th", ["bits", "field", "value", "meaning"]));
    byId("fields" + name).replaceChildren(head, body);
  }

  function showScale() {
    const count = Math.max(1, Math.trunc(number("scale-count")) || 1);
    const r = bounded("scale-row", 1048575), s = bounded("scale-number", count - 1);
    const place = operandLayout.scalePlace(r, s, Math.ceil(count / 4));
    const lanes = [0, 32, 64, 96].map((quarter) => quarter + place.lane).join(", ");
    byId("scale-text").textContent =
        `It is byte ${place.byte} of atom ${place.atom}. The copy of that atom puts it into lanes ${lanes}, ` +
        `column ${place.column} of the copy's four, byte ${place.id} of the word: the scale factor id.`;
  }

  for (const form of ["layout", "scales"]) byId(form).addEventListener("submit", (event) => event.preventDefault());
  for (const field of document.querySelectorAll("main select, main input")) {
    field.addEventListener("input", field.form === byId("scales") ? showScale : show);
  }
  show();
  showScale();
})();
