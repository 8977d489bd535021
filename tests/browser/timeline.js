// The timeline's data as pages make it of recordings: reads {rules, files: {path: text}, recordings: [path]} from
// standard input and prints a list of {known, blocks}. node timeline.js FOLDER_OF_SCRIPTS
"use strict";

const fs = require("fs"), path = require("path");
for (const name of ["recording", "model", "rings", "profile", "data"]) require(path.resolve(process.argv[2], `timeline_${name}.js`));

const {rules, files, recordings} = JSON.parse(fs.readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(recordings.map((name) =>
  globalThis.bwTimeline.timelineOf(new Uint8Array(fs.readFileSync(name)), "The run", rules, files))));
