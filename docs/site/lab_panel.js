// The panel that runs a lab: its choices, another machine, instructions taken away, the run, and what the machine says.
// The page of all labs has one for the chosen lab. A chapter's page has one for each of its labs, a <details class="bw-lab">
// (common/tools/site/panels.py), which loads the list of runs, the launches and the simulator when it is opened first.
"use strict";

const bwLabs = (() => {
  const {folder, obstacle, make, number, Engine, fetchJson, fetchLaunches, showReports, showTimes, showTimeline} = bwPage;
  const MOST_CYCLES = "20000000";
  const SYNCHRONISING = /^\s*(?:@!?%\w+\s+)?(mbarrier\.(?:arrive|expect_tx|complete_tx)[\w.:]*|fence[\w.:]*|tcgen05\.(?:wait|commit|fence)[\w.:]*|bar(?:rier)?\.[\w.:]*|cp\.async\.bulk\.(?:commit_group|wait_group)[\w.:]*)/;

  // What a run is called in its chapter.
  const keyOf = (run) => run.exercise ? `${run.exercise} ${run.file}` : run.lab;

  // labs.json: {chapters: {number: title}, runs, pages: {source: page of the site}}. Runs that only questions are asked about have
  // a page of their own.
  let index = null;
  function loadIndex() {
    index = index || fetchJson("labs.json").then((known) => ({pages: {}, ...known, runs: known.runs.filter((run) => run.source !== "")}));
    return index;
  }

  // The panels of a page share one simulator.
  let engine = null;
  function engineFor(onState, onTimeline) {
    if (engine === null) engine = new Engine(onState, onTimeline);
    else if (!engine.pending) engine.tell(onState, onTimeline);
    return engine;
  }

  // {option: value} of a run's command line.
  function choicesOf(run) {
    const choices = {};
    for (let i = 0; i + 1 < run.options.length; i += 2) choices[run.options[i].replace(/^-+/, "")] = run.options[i + 1];
    return choices;
  }

  // The source of a .loc: its line, and the line of the kernel's own file that led to it through inlined calls.
  // `callers` holds where the places of earlier .locs were inlined.
  function placeOf(line, files, callers) {
    const location = /^\s*\.loc\s+(\d+ \d+ \d+)(?:.*inlined_at\s+(\d+ \d+ \d+))?/.exec(line.replace(/\t/g, " "));
    if (!location) return null;
    const [, own, caller] = location;
    if (caller) callers.set(own, caller);
    const name = (place) => `${files.get(place.split(" ")[0]) || "?"}:${place.split(" ")[1]}`;
    const MOST_CALLS = 32;
    const chain = [own];
    for (let call = caller; call && chain.length < MOST_CALLS; call = callers.get(call)) chain.push(call);
    const file = (place) => place.split(" ")[0];
    const readers = chain.find((place) => file(place) === file(chain[chain.length - 1]));
    return readers === own ? name(own) : `${name(readers)} (${name(own)})`;
  }

  // The synchronising instructions of the kernels that a file launches: [{module, line (from 1), opcode, where}].
  function synchronising({steps, blocks}) {
    const modules = steps.filter((step) => step.do === "module").map((step) => new TextDecoder().decode(blocks[step.text]));
    const launched = new Set(steps.filter((step) => step.do === "launch").map((step) => `${step.module} ${step.kernel}`));
    const found = [];
    modules.forEach((text, module) => {
      let inKernel = false, where = "";
      const callers = new Map();
      const files = new Map([...text.matchAll(/^\s*\.file\s+(\d+)\s+"([^"]+)"/gm)].map((match) => [match[1], match[2].replace(/.*\//, "")]));
      text.split("\n").forEach((line, at) => {
        const entry = /\.entry\s+([\w$]+)/.exec(line);
        if (entry) inKernel = launched.has(`${module} ${entry[1]}`);
        where = placeOf(line, files, callers) || where;
        const instruction = inKernel && SYNCHRONISING.exec(line);
        if (instruction) found.push({module, line: at + 1, opcode: instruction[1], where});
      });
    });
    return found;
  }

  const labelled = (text, control) => make("label", {}, `${text} `, control);
  const select = (entries, attributes = {}) => make("select", attributes, ...entries.map(([value, text]) => make("option", {value}, text)));
  const button = (text, attributes, onClick) => {
    const made = make("button", {type: "button", ...attributes}, text);
    made.addEventListener("click", onClick);
    return made;
  };

  class Panel {
    // `runs`: those of one lab, one for each combination of its choices, or one of a bug hunt.
    constructor(place, runs, pages) {
      Object.assign(this, {place, runs, pages, run: null, file: null, parts: {}});
      this.build();
      engineFor(...this.listeners());
      this.ready = this.chooseRun();
    }
    listeners() {
      return [(text) => { this.parts.state.textContent = text; }, (made) => showTimeline(this.parts.timeline, made)];
    }

    // -- what it looks like -----------------------------------------------------------------------
    part(name, tag, attributes = {}, ...children) {
      this.parts[name] = make(tag, {"data-part": name, ...attributes}, ...children);
      return this.parts[name];
    }
    build() {
      const choices = this.part("choices", "div", {class: "controls"});
      if (!this.runs[0].exercise)
        for (const name of Object.keys(choicesOf(this.runs[0]))) {
          const values = [...new Set(this.runs.map((run) => choicesOf(run)[name]))];
          const made = select(values.map((value) => [value, value]), {"data-option": name});
          made.addEventListener("change", () => { this.ready = this.chooseRun(); });
          choices.append(labelled(name, made));
        }
      const settings = [
        ["Seed of the schedule", "BW_SIM_SEED", make("input", {type: "number", min: 0, max: 1000000, placeholder: "0"})],
        ["Checks", "BW_SIM_CHECKS", select([["", "as the lab has them"], ["off", "off"], ["contract", "contract"], ["races", "races"]])],
        ["SMs", "BW_SIM_SMS", make("input", {type: "number", min: 1, max: 4096, placeholder: "148"})],
        ["Time", "BW_SIM_TIMING", select([["", "the model of the clock"], ["simple", "fixed times"]])]];
      this.settings = settings.map(([, variable, control]) => [variable, control]);
      this.runButton = button("Run", {"data-part": "run", disabled: ""}, () => this.go());
      this.stopButton = button("Stop", {"data-part": "stop", disabled: ""}, () => engine.stop());
      this.place.replaceChildren(
        this.part("idea", "p"), choices, make("div", {class: "transport"}, this.runButton, " ", this.stopButton),
        make("details", {}, make("summary", {}, "Another machine, another schedule"), make("div", {class: "controls"}, ...settings.map(([text, , control]) => labelled(text, control)))),
        this.part("without", "details", {hidden: ""}, make("summary", {}, "Take an instruction away"),
          make("p", {}, "These instructions of the kernel arrive, fence, commit or wait. Run it without one, or mark several and choose Run: they are left out of the PTX."),
          this.part("lines", "div", {class: "bw-choices"})),
        this.part("state", "p", {role: "status", "aria-live": "polite"}),
        this.part("outcome", "div", {hidden: ""}, this.part("verdict", "div", {class: "panel"}), this.part("reports", "div"),
          this.part("times", "div"), this.part("timeline", "div"),
          this.part("printed-box", "details", {}, make("summary", {}, "What the native program printed"), this.part("printed", "pre"))));
    }

    // -- the run that is chosen -------------------------------------------------------------------
    async chooseRun() {
      const chosen = [...this.parts.choices.querySelectorAll("select")].map((one) => [one.dataset.option, one.value]);
      const run = this.runs.find((one) => one.exercise || chosen.every(([name, value]) => choicesOf(one)[name] === value));
      const page = this.pages[run.source];
      const source = page ? make("a", {href: `${folder}../../${page}`}, run.source) : make("code", {}, run.source);
      this.run = run;
      this.file = null;
      this.runButton.disabled = true;
      this.parts.idea.replaceChildren(`${run.title} `, make("small", {}, source));
      this.parts.printed.textContent = run.output;
      this.parts["printed-box"].hidden = run.output === "";
      try {
        const file = await fetchLaunches(run.file);
        if (run !== this.run) return;  // another one has been chosen meanwhile
        this.file = file;
        this.runButton.disabled = false;
        this.showLines();
      } catch (error) {
        this.parts.state.textContent = `The recorded launches can't be loaded: ${error.message}`;
      }
    }
    // The instructions that can be left out.
    showLines() {
      const rows = synchronising(this.file).map(({module, line, opcode, where}) => {
        const box = make("input", {type: "checkbox", "data-module": module, "data-line": line});
        const alone = button("Run without it", {"aria-label": `Run without ${opcode} of ${where}`}, () => {
          for (const other of this.parts.lines.querySelectorAll("input")) other.checked = other === box;
          this.go();
        });
        return make("div", {}, alone, make("label", {}, box, make("code", {}, opcode), make("small", {}, where)));
      });
      this.parts.lines.replaceChildren(...rows);
      this.parts.without.hidden = rows.length === 0;
      this.parts.without.open = rows.length !== 0;
    }
    linesWithout() {
      const lines = {};
      for (const box of this.parts.lines.querySelectorAll("input:checked"))
        (lines[box.dataset.module] = lines[box.dataset.module] || []).push(Number(box.dataset.line));
      return lines;
    }

    // -- running it -------------------------------------------------------------------------------
    async go() {
      if (this.runButton.disabled) return;  // it runs, or its launches are not here yet
      const {verdict, outcome, reports, times, timeline} = this.parts;
      const settings = Object.fromEntries(this.settings.map(([variable, control]) => [variable, control.value])
        .filter(([variable, value]) => value !== "" && !(variable === "BW_SIM_SEED" && value === "0")));
      const lines = this.linesWithout();
      // A kernel that something was taken from may spin forever.
      if (Object.keys(lines).length !== 0) settings.BW_SIM_CYCLE_LIMIT = MOST_CYCLES;
      this.runButton.disabled = true;
      this.stopButton.disabled = false;
      for (const one of [reports, times, timeline]) one.replaceChildren();
      try {
        const title = `Timeline of ${this.run.program} ${this.run.options.join(" ")}`.trim();
        const {result} = await engineFor(...this.listeners()).run({task: "replay", file: this.file, settings, lines, title});
        verdict.replaceChildren(...verdictOf(result));
        showReports(reports, result.reports);
        showTimes(times, result.statistics);
      } catch (error) {
        verdict.replaceChildren(make("p", {class: "error"}, error.message));
      }
      outcome.hidden = false;
      this.runButton.disabled = this.file === null;
      this.stopButton.disabled = true;
    }
  }

  function verdictOf(result) {
    const shown = result.launches.filter(({got}) => got.status !== "finished" || got.cycles !== 0);  // an empty kernel takes no time
    const sentences = shown.map(({kernel, got, expected}) =>
      got.status === "finished" ? `${kernel}: ${number(got.cycles)} cycles` + (expected && got.cycles !== expected.cycles ? ` (${number(expected.cycles)} in the unchanged run)` : "")
                                : `${kernel}: stopped with a report`);
    return [make("ul", {}, ...sentences.map((text) => make("li", {}, text))), make("p", {}, comparisonOf(result))];
  }
  function comparisonOf({changed, differences, launches}) {
    if (!changed && differences.length) return `This run differs from the native one: ${differences.join("; ")}`;
    if (!changed) return "The run is as in the native simulator: the same bits, cycles and reports.";
    if (launches.some(({got}) => got.status !== "finished")) return "The changed run stops with a report.";
    const isOther = launches.some(({expected, same}) => expected && !same);
    return isOther ? "The changed run ends; its cycles or its results differ from those of the unchanged one." : "The changed run ends with the same cycles and results.";
  }

  // -- the panels of a chapter's page -------------------------------------------------------------
  async function open(box) {
    const place = make("div");
    box.append(place);
    if (obstacle) return place.append(make("p", {}, obstacle));
    const [chapter, lab] = box.dataset.lab.split("/");
    try {
      const {runs, pages} = await loadIndex();
      new Panel(place, runs.filter((run) => String(run.chapter) === chapter && keyOf(run) === lab), pages);
    } catch (error) {
      place.append(make("p", {class: "error"}, `The lab is not there: this site was built without it (${error.message}).`));
    }
  }
  for (const box of document.querySelectorAll("details.bw-lab")) {
    box.addEventListener("toggle", () => open(box), {once: true});
    if (location.hash === `#${box.id}`) box.open = true;
  }

  return {Panel, keyOf, loadIndex};
})();
