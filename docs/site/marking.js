// Marks the answers of predict and find exercises as `./workbook check` does: by the texts, answers, sentences and
// tables of exercises.json, which common/tools/site/questions.py writes. Also the reader's progress, in the format of
// chapters/progress.json. For pages and node.
"use strict";

(() => {
  const PASSED = "passed", FAILED = "failed", NOT_DONE = "not_done";
  const MOST_HINTS = 3;
  const fill = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const isBlank = (value) => typeof value === "string" && value.trim() === "";
  const plain = (text) => text.toLowerCase().split(/\s+/).filter((word) => word !== "").join(" ");
  const letterOf = (value) => String(value).trim().replace(/[:.)]+$/, "").toLowerCase();
  const singular = (word) => word.toLowerCase().replace(/s+$/, "");

  // The digits of a whole number as a BigInt, or null: underscores are allowed between digits.
  function integerOf(text, base) {
    const digits = {"": "[0-9]", "0x": "[0-9a-fA-F]", "0b": "[01]", "0o": "[0-7]"}[(base || "").toLowerCase()];
    const body = text.replace(/^[+-]/, ""), number = body.slice((base || "").length);
    if (!RegExp(`^${base ? "_?" : ""}${digits}(_?${digits})*$`).test(number)) return null;
    const value = BigInt(body.toLowerCase().replace(/_/g, ""));
    return text.startsWith("-") ? -value : value;
  }

  // {number: BigInt or null, problem} of an answer to a question that asks for a whole number.
  function wholeNumber(rules, value, ask) {
    const {sentences, numbers} = rules;
    const problem = (name, values = {}) => ({number: null, problem: fill(sentences[name], values)});
    if (typeof value === "number") return Number.isInteger(value) ? {number: BigInt(value), problem: ""} : problem("not_whole");
    const match = new RegExp(numbers.pattern).exec(String(value).trim());
    const number = match && integerOf(match.groups.number.replace(/,/g, ""), match.groups.base);
    if (number === null) return problem("no_number");
    const unit = (match.groups.unit || "").trim().replace(/\.+$/, "");
    if (unit === "") return {number, problem: ""};
    const asked = new Set((ask.match(/[a-zA-Z]+/g) || []).map(singular));
    const multiple = numbers.bytes[unit.toLowerCase()], clear = numbers.unclear[unit.toLowerCase()];
    if (asked.has("byte") && multiple) return {number: number * BigInt(multiple), problem: ""};
    if (asked.has("byte") && clear) return problem("unclear_unit", {unit: clear, given: unit});
    if (unit.split(/\s+/).every((word) => asked.has(singular(word)))) return {number, problem: ""};
    return problem("other_unit", {unit, number});
  }

  const answer = (key, given, right, comment = "") => ({key, given, right, comment});

  function mark(rules, question, given, right) {
    const shown = String(given).trim();
    if (isBlank(given)) return answer(question.key, "", false, rules.sentences.open);
    if (question.answer === "integer") {
      const {number, problem} = wholeNumber(rules, given, question.ask);
      return answer(question.key, shown, problem === "" && number === BigInt(right), problem);
    }
    if (question.answer === "choice") {
      const letters = question.options.map((option) => option.split(":")[0].trim()), letter = letterOf(shown);
      if (!letters.includes(letter)) return answer(question.key, shown, false, fill(rules.sentences.not_a_letter, {letters: letters.join(", ")}));
      return answer(question.key, shown, letter === String(right));
    }
    return answer(question.key, shown, plain(shown) === plain(String(right)));
  }

  function predict(rules, exercise, values) {
    const marked = exercise.questions.map((question) => mark(rules, question, values[question.key], question.right));
    const bad = marked.filter((one) => !one.right && one.given);
    const found = fill(rules.sentences[marked.length === 1 ? "one_differs" : bad.length === 1 ? "one_of_some_differs" : "some_differ"],
                       {bad: bad.length, count: marked.length, given: bad.map((one) => `${one.key} = ${one.given}`).join(", ")});
    const questions = new Map(exercise.questions.map((question) => [question.key, question]));
    const wrong = exercise.wrong.find((one) => Object.entries(one.answer).every(([key, value]) =>
      key in values && !isBlank(values[key]) && mark(rules, questions.get(key), values[key], value).right));
    return ofAll(rules, exercise, marked, found, wrong);
  }

  function find(rules, exercise, values) {
    const {sentences} = rules;
    const marked = [markLine(rules, exercise, values.line), markCause(rules, exercise, values.cause)];
    const bad = marked.filter((one) => !one.right && one.given);
    const sentence = {line: "other_line", cause: "other_cause"}[bad.map((one) => one.key).join()] || "neither";
    const found = [sentences[sentence], ...bad.filter((one) => one.comment).map((one) => `${one.comment}.`)].join(" ");
    const line = Number(wholeNumber(rules, values.line, "line").number), cause = letterOf(values.cause);
    const wrong = exercise.wrong.find((one) => (one.lines === null || one.lines.includes(line)) && (one.cause === "" || one.cause === cause));
    return ofAll(rules, exercise, marked, found, wrong);
  }

  function markLine(rules, exercise, given) {
    const shown = String(given).trim();
    if (shown === "") return answer("line", "", false, rules.sentences.open);
    const {number, problem} = wholeNumber(rules, given, "line"), lines = exercise.text.split("\n").length;
    if (problem || number < 1n || number > BigInt(lines))
      return answer("line", shown, false, fill(rules.sentences.not_a_line, {lines, file: exercise.file}));
    return answer("line", shown, exercise.lines.includes(Number(number)));
  }

  function markCause(rules, exercise, given) {
    const shown = letterOf(given), letters = exercise.causes.map((cause) => cause[0]);
    if (shown === "") return answer("cause", "", false, rules.sentences.open);
    if (!letters.includes(shown)) return answer("cause", shown, false, fill(rules.sentences.not_a_cause, {letters: letters.join(", ")}));
    return answer("cause", shown, shown === exercise.cause);
  }

  const verdict = (exercise, status, found, answers, wrong) => ({
    status, expected: exercise.expected, found, answers, explanation: wrong ? wrong.message : "", wrong: wrong ? wrong.name : "",
    rule: status === NOT_DONE ? "" : exercise.idea, where: exercise.section});

  function ofAll(rules, exercise, marked, found, wrong) {
    if (marked.every((one) => one.right)) return verdict(exercise, PASSED, exercise.expected, marked);
    const open = marked.filter((one) => !one.given).map((one) => one.key);
    const isBad = marked.some((one) => !one.right && one.given);
    const said = open.length === 0 ? found
      : fill(rules.sentences.still_open, {keys: open.join(", "), so_far: isBad ? found : rules.sentences.right_so_far});
    return verdict(exercise, open.length === 0 ? FAILED : NOT_DONE, said, marked, isBad ? wrong : undefined);
  }

  const keysOf = (exercise) => exercise.kind === "find" ? ["line", "cause"] : exercise.questions.map((question) => question.key);

  // The verdict on answers {key: text}, as the command's: status, expected, found, answers, explanation, wrong, rule, where.
  function check(rules, exercise, given) {
    const values = Object.fromEntries(keysOf(exercise).map((key) => [key, given[key] === undefined ? "" : given[key]]));
    if (Object.values(values).every(isBlank)) return verdict(exercise, NOT_DONE, fill(rules.sentences.not_done, exercise), []);
    return (exercise.kind === "find" ? find : predict)(rules, exercise, values);
  }

  // -- progress -----------------------------------------------------------------------------------
  const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  const noProgress = (rules) => ({about: rules.progress, use: "solutions", at: "", exercises: {}});

  // The progress that a text holds. Throws an Error that says what is wrong with it.
  function readProgress(rules, text) {
    let known;
    try {
      known = JSON.parse(text);
    } catch (error) {
      throw new Error(`This is not a file of progress: ${error.message}. Choose chapters/progress.json, or a file that this page has saved.`);
    }
    if (!isTable(known) || !isTable(known.exercises || {}))
      throw new Error("This is not a file of progress: it holds no table \"exercises\". Choose chapters/progress.json, or a file that this page has saved.");
    return {...noProgress(rules), ...known, about: rules.progress, exercises: known.exercises || {}};
  }

  // Python's order: 1.2 before 1.10, any other name last.
  function inOrder([left], [right]) {
    const parts = (id) => id.split(".").map((part) => /^\d+$/.test(part) ? Number(part) : 10 ** 6);
    const [a, b] = [parts(left), parts(right)];
    for (let at = 0; at < Math.min(a.length, b.length); ++at) if (a[at] !== b[at]) return a[at] - b[at];
    return a.length - b.length;
  }
  function writeProgress(progress) {
    const exercises = Object.fromEntries(Object.entries(progress.exercises).sort(inOrder));
    return `${JSON.stringify({about: progress.about, use: progress.use, at: progress.at, exercises}, null, 1)}\n`;
  }

  const stateOf = (progress, id) => {
    const entry = progress.exercises[id];
    return isTable(entry) && ["passed", "skipped"].includes(entry.state) ? entry.state : "open";
  };
  const hintsOf = (progress, id) => {
    const entry = progress.exercises[id], shown = isTable(entry) ? entry.hints : 0;
    return Number.isInteger(shown) && shown >= 0 && shown <= MOST_HINTS ? shown : 0;
  };
  // Sets values of an exercise; undefined removes one.
  function change(progress, id, values) {
    const before = isTable(progress.exercises[id]) ? progress.exercises[id] : {};
    const entry = Object.fromEntries(Object.entries({...before, ...values}).filter(([, value]) => value !== undefined));
    if (Object.keys(entry).length === 0) delete progress.exercises[id];
    else progress.exercises[id] = entry;
  }
  // What a check changes, as the command does it: what has passed is remembered, and forgotten with a wrong answer.
  function remember(progress, id, status, today) {
    if (status === PASSED) change(progress, id, {state: PASSED, since: today, lines: undefined, remark: undefined});
    else if (stateOf(progress, id) === PASSED) change(progress, id, {state: undefined, since: undefined, lines: undefined, remark: undefined});
  }
  // Both together: what either has passed, and the larger number of hints. `other` decides everything else.
  function merged(own, other) {
    const result = {...other, exercises: {...own.exercises, ...other.exercises}};
    for (const id of Object.keys(own.exercises)) {
      if (!isTable(own.exercises[id]) || !isTable(other.exercises[id])) continue;
      if (stateOf(own, id) === PASSED && stateOf(other, id) !== PASSED) result.exercises[id] = {...other.exercises[id], ...own.exercises[id]};
      const hints = Math.max(hintsOf(own, id), hintsOf(other, id));
      if (hints > 0) result.exercises[id] = {...result.exercises[id], hints};
    }
    return result;
  }

  const exported = {PASSED, FAILED, NOT_DONE, check, wholeNumber, keysOf, noProgress, readProgress, writeProgress, stateOf, hintsOf, change, remember, merged};
  if (typeof module !== "undefined") module.exports = exported;
  else self.bwMarking = exported;
})();
