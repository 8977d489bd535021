// Marks answers as the page does: reads {rules, exercises, cases: [{id, given}], files: [text]} from standard input and
// prints {verdicts, progress}. node marking.js MARKING.js
"use strict";

const fs = require("fs"), path = require("path");
const {check, readProgress, writeProgress, remember, change, merged, noProgress} = require(path.resolve(process.argv[2]));

const {rules, exercises, cases, files} = JSON.parse(fs.readFileSync(0, "utf8"));
const known = new Map(exercises.map((one) => [one.id, one]));
const verdicts = cases.map(({id, given}) => check(rules, known.get(id), given));

// A reader's steps in the page, after opening each file: a right answer, a hint, a wrong answer where one was right.
const progress = files.map((text) => {
  let opened;
  try {
    opened = merged(noProgress(rules), readProgress(rules, text));
  } catch (error) {
    return {problem: error.message};
  }
  const untouched = writeProgress(opened);
  remember(opened, "1.2", "passed", "2026-01-31");
  change(opened, "1.5", {hints: 2});
  remember(opened, "1.1", "failed", "2026-01-31");
  remember(opened, "1.8", "not_done", "2026-01-31");
  return {untouched, after: writeProgress(opened)};
});
process.stdout.write(JSON.stringify({verdicts, progress}));
