"""The readers' answers.toml: each exercise's table is read by itself, so that a slip in one never
fails another."""

import re
from dataclasses import dataclass
from pathlib import Path

from . import regions, starters, toml_text

MOST_CHARACTERS = 200
LARGEST = 2**63
_HEADER = re.compile(r'^\s*\[\s*(?:"(?P<quoted>[^"]*)"|\'(?P<single>[^\']*)\'|(?P<bare>[^\]]*?))\s*\]'
                     r"\s*(?:#.*)?$")


@dataclass(frozen=True)
class Table:
    """One exercise's part of the file: its lines, the header first, and the header's number."""

    lines: tuple
    first: int

    def line_of(self, key):
        """The number of the line that sets a key, or the header's."""
        for number, line in enumerate(self.lines, self.first):
            if re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
                return number
        return self.first


def find_table(text, path, identity):
    """The table of an exercise. Throws WorkbookError when there is none, or two."""
    lines = text.split("\n")
    headers = [(number, (match["quoted"] or match["single"] or match["bare"] or "").strip())
               for number, match in enumerate(map(_HEADER.match, lines), 1) if match]
    own = [number for number, name in headers if name == identity]
    if not own:
        raise regions.RegionError(path, len(lines), f'the line `["{identity}"]` is gone, below which'
                                  f" the answers stand. Put it back, or let `./workbook reset "
                                  f"{identity}` do it (it keeps a copy).")
    if len(own) > 1:
        raise regions.RegionError(path, own[1], f'`["{identity}"]` stands here and in line {own[0]}. '
                                  "Leave only one.")
    after = next((number for number, _ in headers if number > own[0]), len(lines) + 1)
    part = lines[own[0] - 1:after - 1]
    while len(part) > 1 and (not part[-1].strip() or part[-1].lstrip().startswith("#")):
        part.pop()  # what stands above the next table
    return Table(tuple(part), own[0])


def read(root, exercise):
    """(values by key, Table): what the reader has answered. Throws WorkbookError, see values()."""
    table = find_table(regions.read_text(Path(root) / exercise.reader_file), exercise.reader_file,
                       exercise.id)
    return values(exercise, table), table


def values(exercise, table):
    """What a Table answers, by key. Throws WorkbookError that names the line of what can't be read,
    or the key that is missing."""
    path = exercise.reader_file
    parsed = toml_text.parse("\n".join(table.lines), path, table.first)
    given = parsed.get(exercise.id)
    if not isinstance(given, dict):  # [1.2] without quotes is a table 2 in a table 1
        chapter, _, number = exercise.id.partition(".")
        given = parsed.get(chapter, {}).get(number, {})
    for key in keys(exercise):
        if key not in given:
            raise regions.RegionError(path, table.first, f"the answer `{key} = \"\"` is missing below"
                                      f' `["{exercise.id}"]`. Add this line, or let `./workbook '
                                      f"reset {exercise.id}` do it (it keeps a copy).")
        if not _can_be_an_answer(given[key]):
            raise regions.RegionError(path, table.line_of(key), f"`{key}` takes a number or a short "
                                      "text between quotes.")
    return {key: given[key] for key in keys(exercise)}


def _can_be_an_answer(value):
    if isinstance(value, str):
        return len(value) <= MOST_CHARACTERS
    return isinstance(value, (int, float)) and abs(value) < LARGEST  # nan compares to nothing


def keys(exercise):
    """What an exercise asks for."""
    if exercise.questions:
        return [question.key for question in exercise.questions]
    return ["line", "cause"]


def is_blank(value):
    return isinstance(value, str) and not value.strip()


def blank_lines(exercise):
    """The lines of the exercise's table as it is generated, without the comment above it."""
    lines = starters.blank_table(exercise).rstrip("\n").split("\n")
    return tuple(lines[next(i for i, line in enumerate(lines) if line.startswith("[")):])
