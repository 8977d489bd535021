"""Lines of the sources in the texts: excerpts with their captions, and the order in which the code of a
chapter is read.

A line is named by text that it holds and not by its number, so that what is made here stays right when
lines move. solutions/NN_name/reading.toml has one [[row]] for each place of the reading order: `file`
from the root, `from` and `to` as in an excerpt's mark, and `look`, what the reader should see there.
"""

import os.path
import re
from pathlib import Path

from . import regions, toml_text
from .errors import WorkbookError

# The line above an excerpt's code.
CAPTION = re.compile(r"^\[`[^`]+`, lines? \d+( to \d+)?\]\(\S+#L\d+(-L\d+)?\)$")
READING = "reading.toml"
_KEYS = ("file", "from", "to", "look")
_FROM_TO = re.compile(r'^(\S+)\s+from\s+"(.*?)"\s+to\s+"(.*)"$')
_LANGUAGES = {".cuh": "cpp", ".cu": "cpp", ".hpp": "cpp", ".cpp": "cpp", ".py": "python",
              ".toml": "toml", ".cmake": "cmake"}


def excerpt(root, folder, text):
    """The lines of an excerpt's block in a text of `folder` (relative to `root`): its caption and the
    code. `text`: `FILE NAME` or `FILE from "text" to "text"`."""
    match = _FROM_TO.match(text)
    name = match.group(1) if match else text.split()[0]
    lines = _lines_of(root, name)
    if match:
        first, last = from_to(lines, match.group(2), match.group(3), name)
    else:
        first, last = _between_marks(lines, text.split()[1:], name)
    numbers = _without_blank_ends(lines, first, last)
    return [f"[`{_short(folder, name)}`, {_in_words(*numbers)}]({_link(folder, name, *numbers)})",
            f"```{_LANGUAGES.get(Path(name).suffix, 'text')}", *_tidy(lines[first:last + 1]), "```"]


def reading(root, folder, chapter):
    """The table of the order in which a chapter's code is read, for a text of `folder`."""
    rows = ["| file | lines | what to look for |", "|---|---|---|"]
    for row in _reading_rows(root, chapter):
        name = row["file"]
        first, last = from_to(_lines_of(root, name), row["from"], row["to"], name)
        rows.append(f"| [`{_short(folder, name)}`]({_link(folder, name, first + 1, last + 1)}) "
                    f"| {first + 1} to {last + 1} | {row['look']} |")
    return rows


def _reading_rows(root, chapter):
    name = f"solutions/{chapter}/{READING}"
    table = toml_text.parse(regions.read_text(Path(root) / name), name)
    rows = table.get("row")
    if set(table) != {"row"} or not isinstance(rows, list):
        raise WorkbookError(f"{name} has to hold [[row]] tables and nothing else.")
    for number, row in enumerate(rows, 1):
        if not (isinstance(row, dict) and set(row) == set(_KEYS)
                and all(isinstance(value, str) and value.strip() for value in row.values())):
            raise WorkbookError(f"{name}, [[row]] {number}: it takes the keys {', '.join(_KEYS)}, each "
                                "with a text.")
    return rows


def _lines_of(root, name):
    path = Path(root) / name
    if not path.is_file():
        raise WorkbookError(f"{name} does not exist.")
    return regions.read_text(path).split("\n")


def _short(folder, name):
    """A file's name as a text shows it: within the folder of its own chapter where it has one."""
    chapter = f"solutions/{Path(folder).name}/"
    return name[len(chapter):] if name.startswith(chapter) else name


def _link(folder, name, first, last):
    target = os.path.relpath(name, folder).replace(os.sep, "/")
    return f"{target}#L{first}" + (f"-L{last}" if last > first else "")


def _in_words(first, last):
    return f"lines {first} to {last}" if last > first else f"line {first}"


def from_to(lines, begin, end, name):
    """(first, last), counted from 0: from the only line that holds `begin` to the next one that holds
    `end`; where `end` is a bracket, to the one that ends what began in the first line."""
    found = [number for number, line in enumerate(lines) if begin in line]
    if len(found) != 1:
        raise WorkbookError(f"{name} has {len(found)} lines with `{begin}`; an excerpt begins with "
                            "the only one.")
    first = found[0]
    indent = len(lines[first]) - len(lines[first].lstrip())
    for last in range(first, len(lines)):
        line = lines[last]
        if end.strip("});,") == "":  # the end of what begins in the first line
            if last > first and line.startswith(" " * indent + end.strip()):
                return first, last
        elif end in line:
            return first, last
    raise WorkbookError(f"{name} has no line with `{end}` below line {first + 1}.")


def _between_marks(lines, names, name):
    if len(names) != 1:
        raise WorkbookError("an excerpt reads `FILE NAME` or `FILE from \"text\" to \"text\"`.")
    marks = []
    for mark in (f"[excerpt {names[0]}]", f"[/excerpt {names[0]}]"):
        at = [number for number, line in enumerate(lines) if mark in line]
        if len(at) != 1:
            raise WorkbookError(f"{name} has {len(at)} lines with `{mark}`.")
        marks += at
    return marks[0] + 1, marks[1] - 1


def _without_blank_ends(lines, first, last):
    """Line numbers, counted from 1, without blank lines at either end."""
    while first < last and not lines[first].strip():
        first += 1
    while first < last and not lines[last].strip():
        last -= 1
    return first + 1, last + 1


def _tidy(lines):
    """Without the marks of exercises and excerpts, moved to the left."""
    kept = [line for line in lines
            if not re.match(r"\s*//\s*(>>> exercise|<<< exercise|\[/?excerpt )", line)]
    # `#pragma` is in the first column at any depth: it must not hold the rest back.
    indent = min((len(line) - len(line.lstrip()) for line in kept
                  if line.strip() and not line.startswith("#")), default=0)
    moved = [line if line.startswith("#") else line[indent:] for line in kept]
    return "\n".join(moved).strip("\n").split("\n")
