// What the pages about the ring, tensor memory and the raster share: elements, numbers of a form, and
// the patterns in which states are drawn.
"use strict";

const drawing = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const byId = (id) => document.getElementById(id);
  // The number in a field; NaN where it holds none.
  const number = (id) => (byId(id).value.trim() === "" ? NaN : Number(byId(id).value));

  // An element with attributes and children; a string becomes its text.
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }
  function shape(tag, attributes = {}, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }
  const text = (x, y, words, more = {}) => shape("text", {x, y, ...more}, words);
  // A rectangle with a title: what a pointer that rests on it, or a screen reader, gets to know.
  function box(x, y, width, height, name, title = "") {
    const made = shape("rect", {x, y, width: Math.max(0.5, width), height, class: name});
    if (title) made.append(shape("title", {}, title));
    return made;
  }
  // The patterns of classes `filling`, `reading`, `wait` and so on; interactive.css refers to them.
  function patterns() {
    const lines = {filling: ["M0 1 H4", 4, 0], reading: ["M1 0 V4", 4, 0], forward: ["M1 0 V6", 6, 45],
                   backward: ["M0 1 H6", 6, 45], dots: ["M1 1 h1.6", 4, 0]};
    const made = shape("defs");
    for (const [name, [path, size, turned]] of Object.entries(lines))
      made.append(shape("pattern", {id: `p-${name}`, width: size, height: size, patternUnits: "userSpaceOnUse",
                                    patternTransform: `rotate(${turned})`},
                        shape("path", {d: path, class: `p-${name}`})));
    return made;
  }
  // The children of a picture, with the patterns that its classes need.
  const draw = (picture, width, height, label, shapes) => {
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("aria-label", label);
    picture.replaceChildren(patterns(), ...shapes);
  };
  function legend(list, entries) {
    list.replaceChildren(...entries.map(([name, words]) => element("li", {},
        shape("svg", {width: 22, height: 13, "aria-hidden": "true"}, box(1, 1, 20, 11, name)), words)));
  }
  // A table's rows: arrays of cells; the first cell of each is its heading.
  function rows(body, lines, current = -1) {
    body.replaceChildren(...lines.map((cells, index) => element("tr", index === current ? {class: "current"} : {},
        ...cells.map((cell, column) => element(column ? "td" : "th", column ? {} : {scope: "row"}, String(cell))))));
  }
  const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  const round = (value, digits = 0) => Number(value.toFixed(digits)).toLocaleString("en");

  // Calls `show` whenever a field of the form changes; a preset fills the fields that it names first.
  function onChange(form, presets, show) {
    const preset = byId("preset");
    for (const [index, {title}] of presets.entries()) preset.add(new Option(title, index));
    const fill = () => {
      for (const [id, value] of Object.entries(presets[preset.selectedIndex].values)) {
        if (typeof value === "boolean") byId(id).checked = value; else byId(id).value = value;
      }
    };
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => {
      if (event.target === preset) fill();
      show();
    });
    fill();
    show();
  }

  return {byId, number, element, shape, text, box, draw, legend, rows, plural, round, onChange};
})();
