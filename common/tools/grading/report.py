"""The table (CSV) and the pages (HTML, without scripts and without a network) of a class."""

import csv
import io
import re
import time
import xml.etree.ElementTree as ET

from ..errors import WorkbookError
from ..verdict import BROKEN, FAILED, NOT_DONE, PASSED
from . import figures, plan, store

PAGE, TABLE, PAGES = "report.html", "table.csv", "submissions"
MOST_WRONG = 40      # of the commonest wrong answers
MOST_NAMES = 12      # of those who gave one
_MARKS = {PASSED: "✓", FAILED: "✗", plan.OVER_LIMITS: "∞", BROKEN: "⚠", NOT_DONE: "·", figures.OPEN: "?"}
_CSS = """
:root { color-scheme: light dark; --back: #fff; --text: #1c2024; --dim: #5d6670; --line: #d5dae0;
  --card: #f5f7f9; --passed: #d5f0dc; --passed-text: #11632c; --failed: #fbd9d7; --failed-text: #9a1c15;
  --broken: #f6e3c3; --broken-text: #7a4b00; --over_limits: #e6dcf7; --over_limits-text: #54289b; }
@media (prefers-color-scheme: dark) { :root { --back: #15181c; --text: #e4e8ec; --dim: #9aa4ae;
  --line: #333a42; --card: #1d2228; --passed: #14391f; --passed-text: #8fe0a7; --failed: #4a1b19;
  --failed-text: #ffb0aa; --broken: #43310f; --broken-text: #f1c983; --over_limits: #33235a;
  --over_limits-text: #cdb8ff; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1.5rem; max-width: 84rem;
  background: var(--back); color: var(--text); }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0; } p { margin: .4rem 0; } a { color: inherit; }
.dim { color: var(--dim); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .5rem; text-align: left; border-bottom: 1px solid var(--line); }
th { font-weight: 600; font-size: .85rem; } thead th { background: var(--card); }
.class th:first-child { position: sticky; left: 0; background: var(--card); min-width: 9rem;
  max-width: 18rem; overflow-wrap: anywhere; }
.class td { text-align: center; padding: 0; min-width: 2.1rem; border-left: 1px solid var(--line); }
.class td a { display: block; padding: .2rem .3rem; text-decoration: none; }
.class td.sum, .class th.sum { padding: .2rem .5rem; text-align: right; }
.mark { font-weight: 600; }
.passed { background: var(--passed); color: var(--passed-text); }
.failed { background: var(--failed); color: var(--failed-text); }
.broken { background: var(--broken); color: var(--broken-text); }
.over_limits { background: var(--over_limits); color: var(--over_limits-text); }
.not_done, .open { color: var(--dim); }
.badge { border-radius: 4px; padding: .05rem .45rem; font-size: .85rem; font-weight: 600;
  white-space: nowrap; }
.key span { margin-right: 1.1rem; white-space: nowrap; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem;
  margin: .7rem 0; } .card h3 span { margin-left: .5rem; }
dl { display: grid; grid-template-columns: 6rem 1fr; gap: .2rem .8rem; margin: .5rem 0 0; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--back);
  border: 1px solid var(--line); border-radius: 4px; padding: .6rem;
  font: 13px/1.45 ui-monospace, monospace; margin: .5rem 0 0; }
.bar { display: flex; width: 14rem; height: .8rem; border-radius: 3px; overflow: hidden;
  border: 1px solid var(--line); } .bar div { height: 100%; }
"""


def write(folder, klass, version, confined, known_chapters):
    """table.csv, report.html and a page for each submission."""
    pages = {name: f"{PAGES}/{_page_name(number, name)}" for number, name in enumerate(klass.names, 1)}
    try:
        (folder / PAGES).mkdir(exist_ok=True)
        store.write_whole(folder / TABLE, table(klass))
        for name, page in pages.items():
            store.write_whole(folder / page, _submission_page(klass, name))
        for path in (folder / PAGES).glob("*.html"):
            if f"{PAGES}/{path.name}" not in pages.values():
                path.unlink()  # of a submission that is not in the class any more
    except OSError as error:
        raise WorkbookError(f"{error.filename or folder} can't be written: {error.strerror}. The "
                            "verdicts are kept; "
                            "run the same command again when that is mended.") from error
    store.write_whole(folder / PAGE, _class_page(klass, pages, version, confined, known_chapters))


def _page_name(number, name):
    return f"{number:03d}_{re.sub(r'[^A-Za-z0-9._-]+', '_', name)[:60]}.html"


def table(klass):
    """The CSV: a row a submission, a column an exercise."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["submission", *(one.id for one in klass.exercises), PASSED])
    for name in klass.names:
        statuses = [figures.status_of(klass.lines[(name, one.id)]) for one in klass.exercises]
        rows.writerow([_harmless(name), *statuses, statuses.count(PASSED)])
    return text.getvalue()


def _harmless(name):
    """A name that no spreadsheet takes for a formula."""
    return "'" + name if name[:1] in "=+-@\t\r" else name


# --- HTML ----------------------------------------------------------------------------------------

def _e(tag, *inside, **attributes):
    """An element; texts inside are escaped when it is written. `class_` is the attribute `class`."""
    element = ET.Element(tag, {name.rstrip("_"): str(value) for name, value in attributes.items()})
    last = None
    for one in inside:
        if isinstance(one, ET.Element):
            element.append(one)
            last = one
        elif last is None:
            element.text = (element.text or "") + _shown(one)
        else:
            last.tail = (last.tail or "") + _shown(one)
    return element


def _shown(text):
    """Text without characters that HTML can't hold or that turn what follows."""
    return "".join(one if one.isprintable() or one in "\n\t" else " " if one.isspace() else
                   "\N{REPLACEMENT CHARACTER}" for one in str(text))


def _document(title, *body):
    page = _e("html", _e("head", _e("meta", charset="utf-8"),
                         _e("meta", name="viewport", content="width=device-width, initial-scale=1"),
                         _e("title", title), _e("style", _CSS)),
              _e("body", *body), lang="en")
    return "<!DOCTYPE html>\n" + ET.tostring(page, encoding="unicode", method="html") + "\n"


def _class_page(klass, pages, version, confined, known_chapters):
    return _document(
        "A class of the Blackwell workbook",
        _e("h1", "A class of the Blackwell workbook"),
        _e("p", f"{len(klass.names)} submissions, {len(klass.exercises)} exercises: "
           f"{figures.phrase(klass.counts)}. {time.strftime('%Y-%m-%d %H:%M')}, version {version}.",
           class_="dim"),
        _key(), *_alerts(klass, pages),
        _e("h2", "Who passed what"), _grid(klass, pages, known_chapters),
        _e("h2", "The hardest exercises"), *_hardest(klass),
        _e("h2", "The commonest wrong answers"), *_commonest(klass, pages),
        _e("h2", "How this was made"),
        _e("p", f"Each answer was compiled and run in the simulator under {confined.name}. Nothing of a "
           "submission ran on the machine itself. The file " + store.VERDICTS + " holds every verdict, "
           + TABLE + " the table for a spreadsheet."),
        *([_e("p", _e("strong", "Warning: "), confined.warning)] if confined.warning else []))


def _key():
    return _e("p", *[_e("span", _e("span", _MARKS[status], class_=f"badge {status}"), " "
                        + figures.WORDS[status]) for status in figures.STATUSES], class_="key")


def _alerts(klass, pages):
    twins = [(names[0], f"The same answers as {', '.join(names[1:])}, in every exercise.")
             for names in klass.twins]
    if not klass.alerts and not twins:
        return []
    rows = [_e("tr", _e("td", _e("a", name, href=pages[name]) if name in pages else "the class"),
               _e("td", sentence)) for name, sentence in [*klass.alerts, *twins]]
    return [_e("h2", "To look at"), _e("div", _e("table", _e("tbody", *rows)), class_="scroll")]


def _grid(klass, pages, known_chapters):
    titles = {one.name: one.title for one in known_chapters}
    head = _e("tr", _e("th", "submission"),
              *[_e("th", one.id, title=f"{one.title} ({titles.get(one.chapter, one.chapter)})")
                for one in klass.exercises], _e("th", "passed", class_="sum"))
    rows = []
    for name in klass.names:
        statuses = [figures.status_of(klass.lines[(name, one.id)]) for one in klass.exercises]
        cells = [_e("td", _e("a", _MARKS[status], href=f"{pages[name]}#{one.id}", class_="mark",
                             title=f"{one.id}: {figures.WORDS[status]}"), class_=status)
                 for one, status in zip(klass.exercises, statuses)]
        rows.append(_e("tr", _e("th", _e("a", name, href=pages[name])), *cells,
                       _e("td", str(statuses.count(PASSED)), class_="sum")))
    foot = _e("tr", _e("th", "passed"),
              *[_e("td", str(one.counts[PASSED])) for one in klass.by_exercise],
              _e("td", str(klass.counts[PASSED]), class_="sum"))
    return _e("div", _e("table", _e("thead", head), _e("tbody", *rows), _e("tfoot", foot),
                        class_="class"), class_="scroll")


def _hardest(klass):
    found = figures.hardest(klass)
    if not found:
        return [_e("p", "Nobody has tried an exercise yet.", class_="dim")]
    rows = []
    for one in found:
        parts = [_e("div", class_=status, style=f"width: {100 * one.counts[status] / one.tried:.1f}%",
                    title=f"{one.counts[status]} {figures.WORDS[status]}")
                 for status in (PASSED, FAILED, plan.OVER_LIMITS, BROKEN) if one.counts[status]]
        rows.append(_e("tr", _e("td", one.exercise.id), _e("td", one.exercise.title),
                       _e("td", f"{one.counts[PASSED]} of {one.tried} passed"), _e("td", _e(
                           "div", *parts, class_="bar")), _e("td", one.exercise.idea)))
    titles = ("exercise", "title", "of those who tried", "", "its idea")
    head = _e("tr", *[_e("th", title) for title in titles])
    return [_e("div", _e("table", _e("thead", head), _e("tbody", *rows)), class_="scroll")]


def _commonest(klass, pages):
    if not klass.wrong:
        return [_e("p", "There are none.", class_="dim")]
    cards = []
    for one in klass.wrong[:MOST_WRONG]:
        names = [_e("a", name, href=f"{pages[name]}#{one.exercise}") for name in one.names[:MOST_NAMES]]
        more = len(one.names) - len(names)
        listed = [part for name in names for part in (name, ", ")][:-1]
        cards.append(_e(
            "div", _e("h3", f"{one.exercise}: "
                            f"{one.name}", _e("span", f"{len(one.names)} ×", class_="badge failed")),
            *([_e("p", one.explanation)] if one.explanation else []),
            _e("p", *listed, *([f" and {more} more"] if more else []), class_="dim"), class_="card"))
    left = len(klass.wrong) - MOST_WRONG
    return cards + ([_e("p", f"{left} rarer ones are not shown.", class_="dim")] if left > 0 else [])


def _submission_page(klass, name):
    """A page to hand back: nothing of it is about anybody else."""
    lines = [(one, klass.lines[(name, one.id)]) for one in klass.exercises]
    counted = figures.counts(line for _, line in lines)
    alerts = [_e("p", _e("strong", "Note: "), sentence) for who, sentence in klass.alerts if who == name]
    return _document(name, _e("h1", name), _e("p", figures.phrase(counted) + ".", class_="dim"), *alerts,
                     *[_card(exercise, line) for exercise, line in lines])


def _card(exercise, line):
    status = figures.status_of(line)
    inside = [_e("h3", f"{exercise.id} {exercise.title}",
                 _e("span", f"{_MARKS[status]} {figures.WORDS[status]}", class_=f"badge {status}"))]
    if line:
        inside += _details(line)
    return _e("div", *inside, class_="card", id=exercise.id)


def _details(line):
    rows = []

    def add(title, *texts):
        rows.extend((_e("dt", title), _e("dd", *texts)))
    if line["status"] != PASSED:
        add("expected", line["expected"])
    add("found", line["found"])
    why = "perhaps" if line.get("guessed") else "why"
    for title, key in ((why, "explanation"), ("rule", "rule"), ("read", "where")):
        if line[key] and line["status"] not in (PASSED, NOT_DONE):
            add(title, line[key])
    if line["place"]:
        add("line", f"{line['place']['path']}:{line['place']['line']}", _e("pre", line["place"]["text"])
            if line["place"]["text"].strip() else "")
    for answer in line["answers"]:
        add("answer", f"{answer['key']} = {answer['given']}: " + ("right" if answer["right"] else answer[
            "comment"] or "wrong"))
    for title, value in line["figures"]:
        add(title, value)
    for note in line["notes"]:
        add("note", note)
    report = [_e("pre", "\n".join(line["report"]))] if line["report"] else []
    return [_e("dl", *rows), *report]
