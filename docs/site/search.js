// The excerpts of the search, for a site that was opened from a folder: browsers let no page there read
// another, so that they come from a script with all texts. From a server, Sphinx reads the pages.
"use strict";

if (location.protocol === "file:") {
  const texts = new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = "docs/site/search_texts.js";
    script.onload = () => resolve(window.bwTexts);
    document.head.append(script);
  });
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  window.fetch = async (address) => {
    const root = document.documentElement.dataset.content_root;
    const name = address.slice(root.length).replace(/\.html$/, "");
    const sections = (await texts)[name] || [];
    const shown = sections.map(([anchor, text]) => `<p id="${anchor}">${escaped(text)} </p>`);
    return {text: async () => (shown.length ? `<div role="main">${shown.join("")}</div>` : "")};
  };
}
