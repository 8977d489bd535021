"""`./workbook explain`: what a code of the simulator's reports means, why, and what mends it."""

import json
import sys

from . import codes, reports
from .console import wrapped
from .errors import WorkbookError

SUBJECTS = {"P": "PTX text and images", "U": "not executed", "L": "launches", "S": "settings",
             "A": "calls of the runtime and driver", "M": "memory", "B": "mbarriers",
             "N": "named barriers", "W": "warps", "K": "clusters", "C": "copies",
             "T": "tensor maps", "X": "Tensor Memory", "D": "tcgen05.mma and descriptors",
             "G": "wgmma", "Q": "launch control", "J": "calls and traps", "H": "hangs",
             "R": "races"}
SCHEMA = 1


def do_explain(root, console, arguments):
    """Explains the code that is named, or the only one that the words fit; lists them if several fit,
    or all of them."""
    console = type(console)(sys.stdout)  # this is the command's output, not its messages
    rows = {row.id: row for row in codes.rows(root)}
    pages = codes.load(root)
    words = " ".join(arguments.code)
    if not arguments.code:
        return _list(console, rows, arguments.json)
    code = codes.find(words, rows)
    hits = [code] if code else codes.search(words, rows)
    if not hits:
        near = "\n".join(f"  {one}  {rows[one].title}" for one in codes.nearest(words, rows))
        raise WorkbookError(f"There is no code '{words}', and no code has this in its title or "
                            f"sentence. The nearest:\n{near}\n./workbook explain lists all of them.",
                            exit_code=2)
    if arguments.json and code:
        print(json.dumps({"schema": SCHEMA, **as_dict(rows[code], pages.get(code))}, indent=2))
    elif arguments.json:
        print(json.dumps({"schema": SCHEMA, "codes": [as_dict(rows[hit], pages.get(hit))
                                                      for hit in hits]}, indent=2))
    elif len(hits) == 1:
        _show(console, rows[hits[0]], pages.get(hits[0]))
    else:
        for hit in hits:
            _say(console, rows[hit].title, f"  {hit}  ", " " * 10)
        console.say()
        _say(console, f"{len(hits)} codes have this in their title or sentence. ./workbook explain "
                      f"{hits[0]} says more about the first.")
    return 0


def as_dict(row, page):
    """For JSON."""
    fields = {"code": row.id, "title": row.title, "kind": codes.kind_name(row),
              "severity": row.severity, "sentence": row.sentence}
    if page is not None:
        fields.update(why=_plain(page.why), example=page.form(False), mended=page.form(True),
                      report=list(page.report), fix=_plain(page.fix))
    return fields


def _list(console, rows, as_json):
    if as_json:
        print(json.dumps({"schema": SCHEMA, "codes": [as_dict(row, None) for row in rows.values()]},
                         indent=2))
        return 0
    subject = None
    for row in rows.values():
        if row.id[3] != subject:
            subject = row.id[3]
            console.say(("" if row is next(iter(rows.values())) else "\n")
                        + console.paint(f"{subject}: {SUBJECTS.get(subject, '')}", "bold"))
        _say(console, row.title, f"  {row.id}  ", " " * 10)
    console.say("\n./workbook explain BW-B06 says more about one of them.")
    return 0


def _say(console, text, first="", following=""):
    """A paragraph in the terminal's width."""
    for line in wrapped(text, first, following):
        console.say(line)


def _show(console, row, page):
    for line in wrapped(f"{row.id}: {row.title} ({codes.kind_name(row)})"):
        console.say(console.paint(line, "bold"))
    _say(console, row.sentence)
    if page is None:
        return
    _paragraphs(console, page.why)
    _part(console, "An example", page.form(False))
    if page.report:
        console.say("\n" + console.paint("What the simulator says", "bold"))
        for line in codes.unwrapped(page.report):
            indent = "  " + " " * (len(line) - len(line.lstrip()))
            if reports.SOURCE.match(line):
                console.say("  " + line)
            else:
                _say(console, line.strip(), indent, indent + "  ")
    console.say("\n" + console.paint("The fix", "bold"))
    _paragraphs(console, page.fix, before="")
    if page.difference():
        console.say("")
        for line in page.difference():
            colour = {"+": "green", "-": "red"}.get(line[:1])
            console.say("  " + (console.paint(line, colour) if colour else line))


def _part(console, title, lines):
    console.say("\n" + console.paint(title, "bold"))
    for line in lines:
        console.say("  " + line if line else "")


def _paragraphs(console, text, before="\n"):
    for part in _plain(text).split("\n"):
        console.stream.write(before)
        _say(console, part)
        before = ""


def _plain(text):
    """Paragraphs of Markdown, a line each."""
    return "\n".join(" ".join(part.split("\n")) for part in text.split("\n\n")).replace("`", "")
