// What the search of the book counts. A page whose title or index entry is the word comes first; pages
// of the reference and of the project come after those that explain the word.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 30, partialTitle: 7, term: 5, partialTerm: 2,
  score: ([docname, title, anchor, description, score]) => {
    const explains = /^(chapters\/|docs\/)/.test(docname) || docname === "index";
    const concept = /^docs\/(concepts\/|glossary|symptoms|pitfalls|commands)/.test(docname);
    const code = docname.startsWith("docs/codes/BW-");
    return score + (concept ? 6 : explains && !code ? 4 : 0) - (docname.startsWith("reference/") ? 3 : 0);
  },
};
