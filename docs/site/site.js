// The header's button for light and dark, and "/" for the search field. The choice is kept under the
// names that the book's theme uses, so that it holds on all pages.
"use strict";

(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* not kept */ } };
  const chosen = () => (["light", "dark"].includes(kept("mode")) ? kept("mode") : null);
  const apply = () => { 
    const dark = (chosen() || (system.matches ? "dark" : "light")) === "dark";
    root.dataset.theme = dark ? "dark" : "light";
    root.classList.toggle("dark-mode", dark);  // what the reference's style asks for
    root.classList.toggle("light-mode", !dark);
  };
  apply();
  system.addEventListener("change", apply);

  addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector(".bw-theme"), field = document.getElementById("bw-query");
    const name = () => { button.textContent = root.dataset.theme === "dark" ? "Light" : "Dark"; };
    button.hidden = false;
    // The book's theme gives no name to what opens a branch of its navigation.
    for (const one of document.querySelectorAll(".bd-sidebar summary")) one.ariaLabel = "pages below";
    button.addEventListener("click", () => {
      const mode = root.dataset.theme === "dark" ? "light" : "dark";
      root.dataset.mode = mode;
      keep("mode", mode);
      keep("theme", mode);
      apply();
    });
    new MutationObserver(name).observe(root, {attributeFilter: ["data-theme"]});
    name();
    addEventListener("keydown", (event) => {
      const typing = event.target.closest("input, select, textarea, [contenteditable]");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.focus();
    });
  });
})();
