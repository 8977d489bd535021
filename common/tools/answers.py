"""The readers' answers.toml: each exercise's table is read by itself, so that a slip in one never
fails another."""

import re
from dataclasses import dataclass
from pathlib import Path

from . import regions, starters, toml_text
from .errors import WorkbookError

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
    """The table of an exercise. Throws WorkbookError if the text has none, or two."""
    if not text.strip():
        raise regions.RegionError(path, 1, f"the file is empty. `./workbook reset {identity}` writes it "
                                  "again.")
    lines = text.split("\n")
    headers = [(number, (match["quoted"] or match["single"] or match["bare"] or "").strip())
               for number, match in enumerate(map(_HEADER.match, lines), 1) if match]
    own = [number for number, name in headers if name == identity]
    if not own:
        raise regions.RegionError(path, len(lines), f'the line `["{identity}"]` is gone; the'
                                  " answers belong below it. Put it back, or let `./workbook reset "
                                  f"{identity}` do it (it keeps a copy).")
    if len(own) > 1:
        raise regions.RegionError(path, own[1], f'`["{identity}"]` appears here and in line {own[0]}. '
                                  "Leave only one.")
    after = next((number for number, _ in headers if number > own[0]), len(lines) + 1)
    part = lines[own[0] - 1:after - 1]
    while len(part) > 1 and (not part[-1].strip() or part[-1].lstrip().startswith("#")):
        part.pop()  # blank lines and comments above the next table
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
    try:
        parsed = toml_text.parse("\n".join(table.lines), path, table.first)
    except WorkbookError:
        _refuse_without_quotes(exercise, table)
        raise
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


def _refuse_without_quotes(exercise, table):
    """Throws the error that says which line to type where an answer lacks its quotes."""
    for number, line in enumerate(table.lines, table.first):
        match = re.fullmatch(r"\s*[\"']?(\w+)[\"']?\s*=\s*(.*?)\s*", line)
        if not match or match[1] not in keys(exercise) or _is_toml(line):
            continue
        answer = re.sub(r"\s+#.*", "", match[2]).strip("\"'`\u201c\u201d\u201e\u2018\u2019").strip()
        if re.search(r"[\"\\]", answer):
            continue
        raise regions.RegionError(exercise.reader_file, number, "write the answer between quotes: "
                                  f'{match[1]} = "{answer}"')


def _is_toml(line):
    try:
        toml_text.parse(line, "")
    except WorkbookError:
        return False
    return True


def _can_be_an_answer(value):
    if isinstance(value, str):
        return len(value) <= MOST_CHARACTERS
    return isinstance(value, (int, float)) and abs(value) < LARGEST  # nan compares to nothing


def keys(exercise):
    """What an exercise asks for."""
    if exercise.questions:
        return [question.key for question in exercise.questions]
    return ["line", "cause"]


_NUMBER = re.compile(r"""
    (?P<number>[+-]?(?: [0-9]{1,3}(?:,[0-9]{3})+ | (?P<base>0[xXbBoO])[0-9a-fA-F_]+ | [0-9][0-9_]* ))
    \s*(?P<unit>[a-zA-Z].*)?""", re.X)
NUMBER_SENTENCES = {
    "not_whole": "this is not a whole number",
    "no_number": "this is not a whole number; write it as 2048, 2,048 or 0x800",
    "unclear_unit": "write {unit} for multiples of 1024, not {given}",
    "other_unit": "the question does not ask for {unit}; write the number alone, as in {number}",
}
_BYTES = {"b": 1, "byte": 1, "bytes": 1, "kib": 1024, "mib": 1024**2, "gib": 1024**3}
_UNCLEAR = {"kb": "KiB", "mb": "MiB", "gb": "GiB", "k": "KiB"}  # 1000 to some and 1024 to others


def whole_number(value, ask):
    """(number, problem) of an answer to a question that asks for a whole number: 16384, "0x4000",
    "16,384", "16_384" and, with a unit that the question `ask` speaks of, "16384 bytes" or "16 KiB".
    `problem` says in a phrase why it is not one; then the number is None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (int(value), "") if value == int(value) else (None, NUMBER_SENTENCES["not_whole"])
    match = _NUMBER.fullmatch(str(value).strip())
    try:
        number = int(match["number"].replace(",", ""), 0 if match["base"] else 10)
    except (TypeError, ValueError):  # no number at all, or 1__0
        return None, NUMBER_SENTENCES["no_number"]
    unit = (match["unit"] or "").strip().rstrip(".")
    if not unit:
        return number, ""
    asked = {word.lower().rstrip("s") for word in re.findall(r"[a-zA-Z]+", ask)}
    if "byte" in asked and unit.lower() in _BYTES:
        return number * _BYTES[unit.lower()], ""
    if "byte" in asked and unit.lower() in _UNCLEAR:
        return None, NUMBER_SENTENCES["unclear_unit"].format(unit=_UNCLEAR[unit.lower()], given=unit)
    if all(word.lower().rstrip("s") in asked for word in unit.split()):
        return number, ""
    return None, NUMBER_SENTENCES["other_unit"].format(unit=unit, number=number)


def number_rules():
    """What whole_number() goes by, for pages that read numbers in the same way."""
    pattern = re.sub(r"\s+", "", _NUMBER.pattern).replace("(?P<", "(?<")
    return {"pattern": f"^(?:{pattern})$", "bytes": _BYTES, "unclear": _UNCLEAR}


def is_blank(value):
    return isinstance(value, str) and not value.strip()


def blank_lines(exercise):
    """The lines of the exercise's table as it is generated, without the comment above it."""
    lines = starters.blank_table(exercise).rstrip("\n").split("\n")
    return tuple(lines[next(i for i, line in enumerate(lines) if line.startswith("[")):])
