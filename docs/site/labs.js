// The labs in the page: recorded launches (labs.json, common/tools/site/launches.py) are run
// again in the simulator's worker, as they are or changed.
"use strict";

(() => {
  const {byId, make, number, Engine, fetchLaunches, showReports, showTimes, showTimeline} = bwPage;
  const FOLDER = "simulator/", MOST_CYCLES = "20000000";
  const SYNCHRONISING = /^\s*(?:@!?%\w+\s+)?(mbarrier\.(?:arrive|expect_tx|complete_tx)[\w.:]*|fence[\w.:]*|tcgen05\.(?:wait|commit|fence)[\w.:]*|bar(?:rier)?\.[\w.:]*|cp\.async\.bulk\.(?:commit_group|wait_group)[\w.:]*)/;
  let index = null, run = null, bytes = null, modules = [];
  const engine = new Engine((text) => { byId("state").textContent = text; }, (made) => showTimeline(byId("timeline"), made));

  const nameOf = (one) => one.exercise ? `Bug hunt ${one.exercise}: ${one.title}` : one.lab.replace(/_/g, " ");
  const keyOf = (one) => one.exercise ? `${one.exercise} ${one.file}` : one.lab;

  // {option: value} of a run's command line.
  function choicesOf(one) {
    const choices = {};
    for (let i = 0; i + 1 < one.options.length; i += 2) choices[one.options[i].replace(/^-+/, "")] = one.options[i + 1];
    return choices;
  }

  function fill(select, entries) {
    select.replaceChildren(...entries.map(([value, text]) => make("option", {value}, text)));
  }
  function runsOfLab() {
    return index.runs.filter((one) => String(one.chapter) === byId("chapter").value && keyOf(one) === byId("lab").value);
  }

  function chooseChapter() {
    const own = index.runs.filter((one) => String(one.chapter) === byId("chapter").value);
    fill(byId("lab"), [...new Map(own.map((one) => [keyOf(one), nameOf(one)]))]);
    chooseLab();
  }

  function chooseLab() {
    const own = runsOfLab();
    const place = byId("choices");
    place.replaceChildren();
    if (!own[0].exercise) {
      for (const name of Object.keys(choicesOf(own[0]))) {
        const select = make("select", {"data-option": name});
        fill(select, [...new Set(own.map((one) => choicesOf(one)[name]))].map((value) => [value, value]));
        select.addEventListener("change", chooseRun);
        place.append(make("label", {}, `${name} `, select));
      }
    }
    chooseRun();
  }

  async function chooseRun() {
    const chosen = [...byId("choices").querySelectorAll("select")].map((one) => [one.dataset.option, one.value]);
    run = runsOfLab().find((one) => one.exercise || chosen.every(([name, value]) => choicesOf(one)[name] === value));
    const link = make("a", {href: `../../${run.source}`}, run.source);
    byId("idea").replaceChildren(`${run.title} `, make("small", {}, link));
    byId("printed").textContent = run.output;
    byId("printed-box").hidden = run.output === "";
    const own = run;
    bytes = null;
    byId("run").disabled = true;
    try {
      const content = await fetchLaunches(FOLDER + run.file);
      if (own !== run) return;  // another one has been chosen meanwhile
      bytes = content;
      byId("run").disabled = false;
      showLines();
    } catch (error) {
      byId("state").textContent = `The recorded launches can't be loaded: ${error.message}`;
    }
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

  // The PTX of the file's modules, and its instructions that can be left out.
  function showLines() {
    const {steps, blocks} = bwLaunches(bytes);
    modules = steps.filter((step) => step.do === "module").map((step) => new TextDecoder().decode(blocks[step.text]));
    const launched = new Set(steps.filter((step) => step.do === "launch").map((step) => `${step.module} ${step.kernel}`));
    const place = byId("lines");
    place.replaceChildren();
    modules.forEach((text, module) => {
      let inKernel = false, where = "";
      const callers = new Map();
      const files = new Map([...text.matchAll(/^\s*\.file\s+(\d+)\s+"([^"]+)"/gm)].map((match) => [match[1], match[2].replace(/.*\//, "")]));
      text.split("\n").forEach((line, at) => {
        const entry = /\.entry\s+([\w$]+)/.exec(line);
        if (entry) inKernel = launched.has(`${module} ${entry[1]}`);
        where = placeOf(line, files, callers) || where;
        const found = inKernel && SYNCHRONISING.exec(line);
        if (!found) return;
        const box = make("input", {type: "checkbox", "data-module": module, "data-line": at + 1});
        place.append(make("label", {}, box, make("code", {}, found[1]), make("small", {}, where)));
      });
    });
    byId("without").hidden = place.childElementCount === 0;
  }

  function settings() {
    const chosen = {};
    if (byId("seed").value !== "0" && byId("seed").value !== "") chosen.BW_SIM_SEED = byId("seed").value;
    if (byId("checks").value) chosen.BW_SIM_CHECKS = byId("checks").value;
    if (byId("sms").value) chosen.BW_SIM_SMS = byId("sms").value;
    if (byId("timing").value) chosen.BW_SIM_TIMING = byId("timing").value;
    return chosen;
  }
  function linesWithout() {
    const lines = {};
    for (const box of byId("lines").querySelectorAll("input:checked"))
      (lines[box.dataset.module] = lines[box.dataset.module] || []).push(Number(box.dataset.line));
    return lines;
  }

  function verdictOf(result) {
    const place = byId("verdict");
    place.hidden = false;
    const shown = result.launches.filter(({got}) => got.status !== "finished" || got.cycles !== 0);  // an empty kernel takes no time
    const sentences = shown.map(({kernel, got, expected}) =>
      got.status === "finished" ? `${kernel}: ${number(got.cycles)} cycles` + (expected && got.cycles !== expected.cycles ? ` (${number(expected.cycles)} in the unchanged run)` : "")
                                : `${kernel}: stopped with a report`);
    let comparison = "The run is as in the native simulator: the same bits, cycles and reports.";
    if (result.changed) {
      const other = result.launches.filter(({got, expected, same}) => got.status === "finished" && expected && !same).length;
      const stopped = result.launches.some(({got}) => got.status !== "finished");
      comparison = stopped ? "The changed run stops with a report." : other ? "The changed run ends; its cycles or its results are others than those of the unchanged one." : "The changed run ends with the same cycles and results.";
    } else if (result.differences.length) {
      comparison = `This run differs from the native one: ${result.differences.join("; ")}`;
    }
    place.replaceChildren(make("ul", {}, ...sentences.map((text) => make("li", {}, text))), make("p", {}, comparison));
  }

  async function go() {
    byId("run").disabled = true;
    byId("stop").disabled = false;
    try {
      const chosen = settings(), lines = linesWithout();
      // A kernel that something was taken from may spin forever.
      if (Object.keys(lines).length !== 0) chosen.BW_SIM_CYCLE_LIMIT = MOST_CYCLES;
      const {result} = await engine.run({task: "replay", bytes, settings: chosen, lines, title: `Timeline of ${run.program} ${run.options.join(" ")}`.trim()});
      verdictOf(result);
      showReports(byId("reports"), result.reports);
      showTimes(byId("times"), result.statistics);
    } catch (error) {
      byId("verdict").hidden = false;
      byId("verdict").replaceChildren(make("p", {class: "error"}, error.message));
    }
    byId("run").disabled = bytes === null;
    byId("stop").disabled = true;
  }

  // The same reader as the worker's.
  const bwLaunches = (content) => self.bwSimulator.readLaunches(content);

  async function begin() {
    const answer = await fetch(`${FOLDER}labs.json`);
    if (!answer.ok) throw new Error(`labs.json: ${answer.status}`);
    index = await answer.json();
    index.runs = index.runs.filter((one) => one.source !== "");  // runs that questions are asked about have a page of their own
    fill(byId("chapter"), Object.entries(index.chapters).map(([value, title]) => [value, `${value}. ${title}`]));
    chooseLinked();
  }
  // #chapter-1, or #chapter-1/ring_of_one for a lab.
  function chooseLinked() {
    const [chapter, lab] = decodeURIComponent(location.hash.replace("#chapter-", "")).split("/");
    if (index.chapters[chapter]) byId("chapter").value = chapter;
    chooseChapter();
    if (!index.runs.some((one) => String(one.chapter) === chapter && keyOf(one) === lab)) return;
    byId("lab").value = lab;
    chooseLab();
  }

  window.addEventListener("hashchange", () => { if (index) chooseLinked(); });
  byId("chapter").addEventListener("change", chooseChapter);
  byId("lab").addEventListener("change", chooseLab);
  byId("run").addEventListener("click", go);
  byId("stop").addEventListener("click", () => engine.stop());
  byId("run").disabled = true;
  if (location.protocol !== "file:")
    begin().catch((error) => { byId("state").textContent = `The labs are not there: this site was built without them (${error.message}).`; });
})();
