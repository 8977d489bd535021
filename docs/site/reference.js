// The way from a page of the reference back to the pages of the book that name its type or functions.
"use strict";

addEventListener("DOMContentLoaded", () => {
  const pages = (window.bwInTheBook || {})[location.pathname.split("/").pop()];
  const main = document.getElementById("bw-main");
  if (!pages) return;
  const list = document.createElement("nav");
  list.className = "bw-trail";
  list.setAttribute("aria-label", "In the book");
  list.append("In the book: ");
  pages.forEach(([title, path], number) => {
    const link = document.createElement("a");
    link.href = "../" + path;
    link.textContent = title;
    if (number) list.append(" · ");
    list.append(link);
  });
  main.before(list);
});
