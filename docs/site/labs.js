// The page of all labs: chooses one, or a bug hunt, for the panel.
"use strict";

(() => {
  const {obstacle, byId, make} = bwPage;
  const {Panel, keyOf, loadIndex} = bwLabs;
  let index = null;

  const nameOf = (run) => run.exercise ? `Bug hunt ${run.exercise}: ${run.title}` : run.lab.replace(/_/g, " ");
  const runsOfChapter = () => index.runs.filter((run) => String(run.chapter) === byId("chapter").value);
  function fill(select, entries) {
    select.replaceChildren(...entries.map(([value, text]) => make("option", {value}, text)));
  }

  function chooseChapter(lab) {
    fill(byId("lab"), [...new Map(runsOfChapter().map((run) => [keyOf(run), nameOf(run)]))]);
    if (runsOfChapter().some((run) => keyOf(run) === lab)) byId("lab").value = lab;
    chooseLab();
  }
  function chooseLab() {
    new Panel(byId("panel"), runsOfChapter().filter((run) => keyOf(run) === byId("lab").value), index.pages);
  }

  // #chapter-1, or #chapter-1/ring_of_one for a lab.
  function chooseLinked() {
    const [chapter, lab] = decodeURIComponent(location.hash.replace("#chapter-", "")).split("/");
    if (index.chapters[chapter]) byId("chapter").value = chapter;
    chooseChapter(lab);
  }
  async function begin() {
    index = await loadIndex();
    byId("choice").hidden = false;
    fill(byId("chapter"), Object.entries(index.chapters).map(([value, title]) => [value, `${value}. ${title}`]));
    chooseLinked();
  }

  window.addEventListener("hashchange", () => { if (index) chooseLinked(); });
  byId("chapter").addEventListener("change", () => chooseChapter());
  byId("lab").addEventListener("change", chooseLab);
  if (obstacle) byId("state").textContent = obstacle;
  else begin().catch((error) => { byId("state").textContent = `The labs are not there: this site was built without them (${error.message}).`; });
})();
