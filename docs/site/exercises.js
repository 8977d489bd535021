// The exercises without a compiler: questions, the faulty file, verdicts, hints, the run, progress.
"use strict";

(() => {
  const {obstacle, byId, make, number, Engine, fetchJson, fetchLaunches, showReports, showTimes, showTimeline} = bwPage;
  const {PASSED, check, keysOf, noProgress, readProgress, writeProgress, stateOf, hintsOf, change, remember, merged} = bwMarking;
  const KEY = "bw-progress", ANSWERS = "bw-answers", LEVELS = 3;
  let rules = null, exercises = [], exercise = null, progress = null, given = {};
  const engine = new Engine((text) => { byId("state").textContent = text; }, (made) => showTimeline(byId("timeline"), made));

  // A text in which `...` is code.
  const prose = (text) => text.split("`").map((part, at) => at % 2 === 1 ? make("code", {}, part) : part);

  // -- progress -----------------------------------------------------------------------------------
  // A browser that keeps nothing (a private window) still shows the exercises.
  function stored(key) {
    try { return localStorage.getItem(key); } catch (error) { return null; }
  }
  function store(key, text) {
    try {
      localStorage.setItem(key, text);
    } catch (error) {
      byId("kept").textContent = `This browser keeps nothing (${error.message}): save your progress before you leave the page.`;
    }
  }
  function loadProgress() {
    progress = noProgress(rules);
    try {
      if (stored(KEY) !== null) progress = readProgress(rules, stored(KEY));
      given = JSON.parse(stored(ANSWERS) || "{}");
    } catch (error) {
      byId("kept").textContent = `What this browser has kept can't be understood, so it begins again (${error.message})`;
    }
  }
  function keep() {
    store(KEY, writeProgress(progress));
    store(ANSWERS, JSON.stringify(given));
    list();
  }
  const today = () => {
    const now = new Date(), two = (part) => String(part).padStart(2, "0");
    return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  };

  // -- the exercise -------------------------------------------------------------------------------
  function list() {
    const chosen = byId("exercise").value, groups = new Map();
    for (const one of exercises) {
      if (!groups.has(one.chapter)) groups.set(one.chapter, make("optgroup", {label: `Chapter ${one.chapter}`}));
      const mark = stateOf(progress, one.id) === PASSED ? "✓ " : "";
      groups.get(one.chapter).append(make("option", {value: one.id}, `${mark}${one.id} ${one.title}${one.kind === "find" ? " (find the fault)" : ""}`));
    }
    byId("exercise").replaceChildren(...groups.values());
    if (chosen) byId("exercise").value = chosen;
    const passed = exercises.filter((one) => stateOf(progress, one.id) === PASSED).length;
    byId("done").textContent = `${passed} of ${exercises.length} are right`;
  }

  function choose() {
    exercise = exercises.find((one) => one.id === byId("exercise").value);
    byId("title").textContent = `${exercise.id} ${exercise.title}`;
    byId("goal").replaceChildren(...prose(exercise.goal));
    byId("read").replaceChildren(`About ${exercise.minutes} minutes. The rule: `, make("a", {href: `../../${exercise.section.replace(/README\.md/, "index.html")}`}, exercise.section));
    byId("answers").replaceChildren(...(exercise.kind === "find" ? fault() : exercise.questions.map(question)));
    byId("listing").hidden = exercise.kind !== "find";
    byId("verdict").hidden = byId("outcome").hidden = true;
    byId("program").replaceChildren(...exercise.launches.map((file, at) => make("option", {value: file}, exercise.programs[at] || file)));
    byId("run").disabled = exercise.launches.length === 0;
    byId("check").disabled = false;
    for (const place of ["reports", "times", "timeline", "hints"]) byId(place).replaceChildren();
    for (let level = 1; level <= hintsOf(progress, exercise.id); ++level) showHint(level);
    nameHint();
  }

  // A question as a group of controls; `options` are texts "a: ...".
  function group(key, ask, options) {
    const answers = given[exercise.id] || {};
    const box = make("fieldset", {}, make("legend", {}, ...prose(ask)));
    if (!options.length) {
      box.append(make("input", {name: key, "aria-label": ask, autocomplete: "off", maxlength: 200, value: answers[key] || ""}));
      return box;
    }
    for (const option of options) {
      const letter = option.split(":")[0].trim();
      const radio = make("input", {type: "radio", name: key, value: letter, ...(answers[key] === letter ? {checked: ""} : {})});
      box.append(make("label", {}, make("span", {}, radio, " ", ...prose(option))));
    }
    return box;
  }
  const question = (one) => group(one.key, `${one.ask} (${one.key})`, one.options);

  function fault() {
    const rows = exercise.text.split("\n").map((text, at) =>
      make("div", {"data-line": at + 1}, make("span", {class: "bw-number"}, String(at + 1)), make("code", {}, text || " ")));
    byId("listing").replaceChildren(...rows);
    showLine((given[exercise.id] || {}).line);
    return [group("line", `The line of ${exercise.file}: type its number, or click on it above`, []), group("cause", "The cause", exercise.causes)];
  }
  function showLine(line) {
    for (const row of byId("listing").children) row.classList.toggle("bw-chosen", row.dataset.line === String(line).trim());
  }
  function answersGiven() {
    const form = new FormData(byId("answers"));
    return Object.fromEntries(keysOf(exercise).map((key) => [key, form.get(key) || ""]));
  }

  // -- verdict and hints --------------------------------------------------------------------------
  function row(label, text) {
    return text ? [make("dt", {}, label), make("dd", {}, ...(typeof text === "string" ? prose(text) : [text]))] : [];
  }
  function mark(answer) {
    if (answer.given === "") return `open: ${answer.key}`;
    return `${answer.right ? "right" : "wrong"}: ${answer.key} = ${answer.given}${answer.comment ? `: ${answer.comment}` : ""}`;
  }
  function tomlLines() {
    const values = given[exercise.id];
    return [`["${exercise.id}"]`, ...keysOf(exercise).map((key) => `${key} = ${JSON.stringify(values[key].trim())}`)].join("\n");
  }
  function show(verdict) {
    const isRight = verdict.status === PASSED;
    const head = rules.sentences[verdict.status === "not_done" ? "not_done_yet" : verdict.status];
    const rows = isRight ? [...row("why it is right", exercise.passed), ...row("next", exercise.next)]
      : [...row("expected", verdict.expected), ...row("found", verdict.found), ...row("answers", make("ul", {}, ...verdict.answers.map((one) => make("li", {}, ...prose(mark(one)))))),
         ...row("why", verdict.explanation), ...row("rule", verdict.rule)];
    byId("verdict").hidden = false;
    byId("verdict").replaceChildren(make("p", {class: isRight ? "bw-good" : "error"}, `${exercise.id} ${exercise.title}: ${head}`), make("dl", {}, ...rows),
      ...(isRight ? [make("details", {}, make("summary", {}, "The lines for answers.toml"), make("pre", {}, tomlLines()))] : []));
  }
  function checkAnswers() {
    given[exercise.id] = answersGiven();
    const verdict = check(rules, exercise, given[exercise.id]);
    remember(progress, exercise.id, verdict.status, today());
    progress.at = exercise.id;
    keep();
    show(verdict);
  }
  function showHint(level) {
    // Lines that begin with four spaces are code; the others are prose.
    const parts = [];
    for (const line of exercise.hints[level - 1].replace(/^\n+|\n+$/g, "").split("\n")) {
      const isCode = line.startsWith("    "), last = parts[parts.length - 1];
      if (last && last.isCode === isCode) last.lines.push(line.slice(isCode ? 4 : 0));
      else parts.push({isCode, lines: [line.slice(isCode ? 4 : 0)]});
    }
    byId("hints").append(make("div", {class: "panel"}, make("p", {}, `Hint ${level} of ${LEVELS}`),
      ...parts.map(({isCode, lines}) => isCode ? make("pre", {}, lines.join("\n")) : make("p", {}, ...prose(lines.join(" "))))));
  }
  function nameHint() {
    const shown = hintsOf(progress, exercise.id);
    byId("hint").textContent = shown < LEVELS ? `Hint ${shown + 1} of ${LEVELS}` : "No further hint";
    byId("hint").disabled = shown >= LEVELS;
  }
  function hint() {
    const level = hintsOf(progress, exercise.id) + 1;
    change(progress, exercise.id, {hints: level});
    keep();
    showHint(level);
    nameHint();
  }

  // -- the run ------------------------------------------------------------------------------------
  async function go() {
    byId("run").disabled = true;
    byId("stop").disabled = false;
    try {
      const file = await fetchLaunches(byId("program").value);
      const {result} = await engine.run({task: "replay", file, settings: {}, lines: {}, title: `Timeline of ${byId("program").selectedOptions[0].textContent}`});
      const sentences = result.launches.filter(({got}) => got.status !== "finished" || got.cycles !== 0).map(({kernel, got}) =>
        got.status === "finished" ? `${kernel}: ${number(got.cycles)} cycles` : `${kernel}: stopped with a report`);
      byId("outcome").replaceChildren(make("ul", {}, ...sentences.map((text) => make("li", {}, text))), ...result.differences.map((text) => make("p", {class: "error"}, text)));
      showReports(byId("reports"), result.reports);
      showTimes(byId("times"), result.statistics);
    } catch (error) {
      byId("outcome").replaceChildren(make("p", {class: "error"}, error.message));
    }
    byId("outcome").hidden = false;
    byId("run").disabled = false;
    byId("stop").disabled = true;
  }

  // -- files --------------------------------------------------------------------------------------
  function save() {
    const link = make("a", {href: URL.createObjectURL(new Blob([writeProgress(progress)], {type: "application/json"})), download: "progress.json"});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    byId("kept").textContent = "Saved. Put the file into the folder chapters of your checkout.";
  }
  async function open(file) {
    const MOST_BYTES = 1 << 20;
    if (!file) return;
    try {
      if (file.size > MOST_BYTES) throw new Error(`${file.name} has ${number(file.size)} bytes; a file of progress has at most ${number(MOST_BYTES)}.`);
      progress = merged(progress, readProgress(rules, await file.text()));
      keep();
      choose();
      byId("kept").textContent = `${file.name} was added to what this browser keeps.`;
    } catch (error) {
      byId("kept").textContent = error.message;
    }
    byId("open").value = "";
  }
  function forget() {
    if (!window.confirm("Forget all answers, hints and states that this browser keeps?")) return;
    progress = noProgress(rules);
    given = {};
    keep();
    choose();
  }

  async function begin() {
    ({rules, exercises} = await fetchJson("exercises.json"));
    byId("choice").hidden = false;
    loadProgress();
    list();
    chooseLinked();
  }
  // #1.5, else the exercise that the reader was at, else the first.
  function chooseLinked() {
    const wanted = [decodeURIComponent(location.hash.slice(1)), progress.at].find((id) => exercises.some((one) => one.id === id));
    if (wanted) byId("exercise").value = wanted;
    choose();
  }

  window.addEventListener("hashchange", () => { if (rules) chooseLinked(); });
  byId("exercise").addEventListener("change", choose);
  byId("answers").addEventListener("submit", (event) => { event.preventDefault(); checkAnswers(); });
  byId("answers").addEventListener("input", () => { if (exercise.kind === "find") showLine(answersGiven().line); });
  byId("listing").addEventListener("click", (event) => {
    const line = event.target.closest("[data-line]");
    if (!line) return;
    byId("answers").elements.line.value = line.dataset.line;
    showLine(line.dataset.line);
  });
  byId("check").addEventListener("click", checkAnswers);
  byId("hint").addEventListener("click", hint);
  byId("run").addEventListener("click", go);
  byId("stop").addEventListener("click", () => engine.stop());
  byId("save").addEventListener("click", save);
  byId("open").addEventListener("change", () => open(byId("open").files[0]));
  byId("forget").addEventListener("click", forget);
  if (obstacle) byId("goal").textContent = obstacle;
  else begin().catch((error) => { byId("state").textContent = `The exercises are not there: this site was built without them (${error.message}).`; });
})();
