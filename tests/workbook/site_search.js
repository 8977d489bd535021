// Asks the site's own search, with its index and its scores: `node site_search.js SITE WORD...` prints a
// JSON object with the first pages for each word.
"use strict";
const fs = require("fs"), vm = require("vm");

const [site, ...words] = process.argv.slice(2);
const shown = 3;
const nothing = {addEventListener() {}, getElementById: () => null, querySelectorAll: () => []};
const context = {document: {...nothing, documentElement: {dataset: {}}}, console,
                 localStorage: {setItem() {}}, SPHINX_HIGHLIGHT_ENABLED: false, _ready() {}};
context.window = context;
vm.createContext(context);
for (const name of ["_static/language_data.js", "_static/searchtools.js", "searchindex.js"]) {
  vm.runInContext(fs.readFileSync(`${site}/${name}`, "utf8"), context);
}
context.words = words;
const found = vm.runInContext(`words.map((word) => {
  const [query, ...terms] = Search._parseQuery(word);
  return [word, Search._performSearch(query, ...terms).reverse().slice(0, ${shown}).map(([page]) => page)];
})`, context);
console.log(JSON.stringify(Object.fromEntries(found)));
