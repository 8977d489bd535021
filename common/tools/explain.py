"""`./workbook explain`: what a code of the simulator's reports means, why, and what mends it."""

import json
import sys

from . import codes
from .errors import WorkbookError

SUBJECTS = {"P": "PTX text and images", "U": "not executed", "L": "launches", "S": "settings",
             "A": "calls of the runtime and driver", "M": "memory", "B": "mbarriers",
             "N": "named barriers", "W": "warps", "K": "clusters", "C": "copies",
             "T": "tensor maps", "X": "Tensor Memory", "D": "tcgen05.mma and descriptors",
             "G": "wgmma", "Q": "launch control", "J": "calls and traps", "H": "hangs",
             "R": "races"}
SCHEMA = 1


def do_explain(root, console, arguments):
    console = type(console)(sys.stdout)  # this is the command's output, not its messages
    rows = {row.id: row for row in codes.rows(root)}
    pages = codes.load(root)
    if arguments.code is None:
        return _list(console, rows, arguments.json)
    code = codes.find(arguments.code, rows)
    if code is None:
        near = "\n".join(f"  {one}  {rows[one].title}" for one in codes.nearest(arguments.code, rows))
        raise WorkbookError(f"There is no code {arguments.code}. The nearest:\n{near}\n"
                            "./workbook explain lists all of them.", exit_code=2)
    if arguments.json:
        print(json.dumps({"schema": SCHEMA, **as_dict(rows[code], pages.get(code))}, indent=2))
    else:
        _show(console, rows[code], pages.get(code))
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
        console.say(f"  {row.id}  {row.title}")
    console.say("\n./workbook explain BW-B06 says more about one of them.")
    return 0


def _show(console, row, page):
    console.say(console.paint(f"{row.id}: {row.title}", "bold") + f" ({codes.kind_name(row)})")
    console.say(row.sentence)
    if page is None:
        return
    console.say("\n" + _plain(page.why))
    _part(console, "An example", page.form(False))
    if page.report:
        _part(console, "What the simulator says", page.report)
    console.say("\n" + console.paint("The fix", "bold") + "\n" + _plain(page.fix))
    if page.difference():
        console.say("")
        for line in page.difference():
            colour = {"+": "green", "-": "red"}.get(line[:1])
            console.say("  " + (console.paint(line, colour) if colour else line))


def _part(console, title, lines):
    console.say("\n" + console.paint(title, "bold"))
    for line in lines:
        console.say("  " + line if line else "")


def _plain(text):
    """A paragraph of Markdown in one line, for a terminal that breaks it as it likes."""
    return "\n".join(" ".join(part.split("\n")) for part in text.split("\n\n")).replace("`", "")
