"""The pages of the reports' codes: an overview, a page for each subject, and one for each code."""

from pathlib import Path

from .. import codes
from ..explain import SUBJECTS

FOLDER = codes.PAGES + "/"


def pages(root):
    """[(path, text)] of all of them. A subject's page has the name of the file that its codes are in."""
    rows, known = codes.rows(root), codes.load(root)
    files = {path.name[0]: path.name for path in (Path(root) / codes.PAGES).glob("[A-Z]_*.md")}
    subjects = {}
    for row in rows:
        subjects.setdefault(row.id[3], []).append(row)
    return [(FOLDER + "README.md", _overview(subjects, files)),
            *((FOLDER + files[letter], _subject(letter, below)) for letter, below in subjects.items()),
            *((f"{FOLDER}{row.id}.md", _page(row, known.get(row.id))) for row in rows)]


def _overview(subjects, files):
    lines = ["# The codes of the reports", "",
             "Every report of the simulator begins with a code. It stays the same in every version, so "
             "that one can look it up, search for it, and let a script ask for it.", "",
             "In a terminal, `./workbook explain BW-B06` says the same as these pages. The examples "
             "are compiled and run by the tests.", ""]
    for letter, rows in subjects.items():
        lines += ["", f"## {letter}: [{SUBJECTS[letter]}]({files[letter]})", "", *_table(rows)]
    return "\n".join(lines) + "\n"


def _subject(letter, rows):
    return "\n".join([f"# {letter}: {SUBJECTS[letter]}", "", *_table(rows)]) + "\n"


def _table(rows):
    return ["| code | what | |", "|---|---|---|",
            *(f"| [{row.id}]({row.id}.md) | {_cell(row.title)} | "
              f"{'warning' if row.severity == 'warning' else ''} |" for row in rows)]


def _page(row, page):
    lines = [f"# {row.id}: {_text(row.title)}", "",
             f"{_text(row.sentence)} ({codes.kind_name(row)})", ""]
    if page is None:
        return "\n".join(lines)
    command = codes.settings_of(page)
    lines += [page.why, "", "## An example", "", *_block(page.language, page.form(False)), ""]
    if command:
        lines += [f"It runs with `{command}`.", ""]
    if page.report:
        lines += ["## What the simulator says", "", *_block("text", page.report), ""]
    lines += ["## The fix", "", page.fix, ""]
    if page.difference():
        lines += _block("diff", page.difference())
    return "\n".join(lines) + "\n"


def _block(language, lines):
    return ["````" + language, *lines, "````"]


def _text(text):
    """A sentence of the table as Markdown: it has no marks of its own."""
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")


def _cell(text):
    return _text(text).replace("|", "\\|")
