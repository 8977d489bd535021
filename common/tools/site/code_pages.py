"""The pages of the reports' codes: an overview for Doxygen, and a page for each code, which is written
here: Doxygen would take longer for them than for all other texts."""

import html
import re

from .. import codes
from ..explain import SUBJECTS

FOLDER = codes.PAGES + "/"


def file_of(code):
    """The page of a code."""
    return f"code_{code}.html"


def overview(root):
    """(path, text) of the overview."""
    rows = codes.rows(root)
    lines = ["# The codes of the reports", "",
             "Every report of the simulator begins with a code. It stays the same in every version, so "
             "that one can look it up, search for it, and let a script ask for it.", "",
             "In a terminal, `./workbook explain BW-B06` says the same as these pages. The examples "
             "are compiled and run by the tests.", ""]
    subject = None
    for row in rows:
        if row.id[3] != subject:
            subject = row.id[3]
            lines += ["", f"## {subject}: {SUBJECTS[subject]}", "", "| code | what | |", "|---|---|---|"]
        kind = "warning" if row.severity == "warning" else ""
        lines.append(f"| [{row.id}](../docs/site/{file_of(row.id)}) | {row.title} | {kind} |")
    return ("generated/codes.md", "\n".join(lines) + "\n")


def write(root, framed):
    """One page for each code, by framed(name, title, body)."""
    pages = codes.load(root)
    for row in codes.rows(root):
        body = _body(row, pages.get(row.id))
        title = f"{row.id}: {row.title}"
        framed(file_of(row.id), title, body)


def _body(row, page):
    parts = [f"<h1>{row.id}: {html.escape(row.title)}</h1>",
             f"<p>{html.escape(row.sentence)} ({codes.kind_name(row)})</p>"]
    if page is not None:
        command = codes.settings_of(page)
        parts += [*_paragraphs(page.why), "<h2>An example</h2>", _block(page.form(False))]
        if command:
            parts.append(f"<p>It runs with <code>{html.escape(command)}</code>.</p>")
        if page.report:
            parts += ["<h2>What the simulator says</h2>", _block(page.report)]
        parts += ["<h2>The fix</h2>", *_paragraphs(page.fix)]
        if page.difference():
            parts.append(_block(page.difference()))
    parts.append('<p><a href="generated_codes.html">All codes</a></p>')
    return "\n".join(parts)


def _paragraphs(text):
    """Paragraphs of Markdown, of which these pages use code spans alone."""
    for paragraph in text.split("\n\n"):
        words = html.escape(" ".join(paragraph.split("\n")), quote=False)
        yield "<p>" + re.sub(r"`([^`]+)`", r"<code>\1</code>", words) + "</p>"


def _block(lines):
    return '<pre class="panel" tabindex="0">' + html.escape("\n".join(lines)) + "</pre>"
