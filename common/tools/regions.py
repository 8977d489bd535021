"""The marked regions of the solutions' files, in which the readers write.

    // >>> exercise 1.2 "Step to the next stage"
    ... the solution's own lines ...
    // <<< exercise 1.2

In the reader's file the starter of the exercise's TOML file replaces the solution's lines; both marks
stay.
"""

import re
from dataclasses import dataclass

from . import cpp_text
from .cpp_text import without_comments  # noqa: F401  (of a region's text)
from .errors import GraderError, WorkbookError

MAX_BODY_LINES = 15
_OPEN = re.compile(r'^(?P<indent>\s*)//\s*>>>\s*exercise\b(?P<rest>.*)$')
_CLOSE = re.compile(r'^(?P<indent>\s*)//\s*<<<\s*exercise\b(?P<rest>.*)$')
_OPEN_REST = re.compile(r'^\s+(?P<id>\d+\.\d+)\s+"(?P<title>[^"]+)"\s*$')
_CLOSE_REST = re.compile(r'^\s+(?P<id>\d+\.\d+)\s*$')
_LOOKS_LIKE_MARK = re.compile(r'^\s*//\s*(>>>|<<<|>>|<<)\s*(exercise|excercise|exersise)?', re.I)


class RegionError(WorkbookError):
    """Marks that can't be read; the message begins with file:line."""

    def __init__(self, path, line, message):
        super().__init__(f"{path}:{line}: {message}")
        self.path, self.line, self.reason = str(path), line, message


@dataclass(frozen=True)
class Region:
    """A region of a solution's file. Line numbers start at 1; `first` and `last` are the marks'."""

    id: str
    title: str
    indent: str
    body: tuple     # the solution's own lines
    first: int
    last: int
    starter: tuple = ()  # of the exercise's TOML file; lines, indented as the solution's

    @property
    def body_first(self):
        """The line of the solution's first own line."""
        return self.first + 1


@dataclass(frozen=True)
class ReaderRegion:
    """What a reader has written between the marks. `first` is the line after the upper mark."""

    lines: tuple
    first: int

    @property
    def text(self):
        return "\n".join(self.lines)


def read_text(path):
    """A source file's text as lines ended by LF: a byte order mark and CR LF are accepted."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise WorkbookError(f"{path} does not exist.") from None
    except OSError as error:
        raise GraderError(f"{path} can't be read: {error.strerror}.") from error
    return text_of(data, path)


def text_of(data, path):
    """The text of a source file's bytes, with lines ended by LF."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WorkbookError(f"{path}:{line}: this line is not UTF-8 text. Save the file with the "
                            "encoding UTF-8.") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse(text, path):
    """The regions of a solution's file, in their order. Throws RegionError for anything odd."""
    regions, seen = [], {}
    opened = None  # (id, title, indent, line)
    body = []
    for number, line in enumerate(text.split("\n"), 1):
        opening, closing = _OPEN.match(line), _CLOSE.match(line)
        if opening:
            fields = _OPEN_REST.match(opening["rest"])
            if not fields:
                raise RegionError(path, number, 'an upper mark reads `// >>> exercise 1.2 "Title"`; '
                                  f"this one is `{line.strip()}`.")
            if opened:
                raise RegionError(path, number, f"exercise {fields['id']} begins inside exercise "
                                  f"{opened[0]} (line {opened[3]}); regions don't nest.")
            if fields["id"] in seen:
                raise RegionError(path, number, f"exercise {fields['id']} has a region in line "
                                  f"{seen[fields['id']]} already.")
            opened = (fields["id"], fields["title"], opening["indent"], number)
            body = []
        elif closing:
            fields = _CLOSE_REST.match(closing["rest"])
            if not fields:
                raise RegionError(path, number, "a lower mark reads `// <<< exercise 1.2`; this one "
                                  f"is `{line.strip()}`.")
            if not opened:
                raise RegionError(path, number, f"exercise {fields['id']} ends here but begins "
                                  "nowhere.")
            if fields["id"] != opened[0]:
                raise RegionError(path, number, f"exercise {opened[0]} (line {opened[3]}) is not "
                                  f"ended before this mark of exercise {fields['id']}.")
            regions.append(_region(opened, body, number, path))
            seen[opened[0]] = opened[3]
            opened = None
        elif re.search(r"//\s*starter:", line):
            raise RegionError(path, number, "a starter's text belongs into the exercise's TOML file "
                              "(`starter = '''...'''`), not into the source.")
        elif _LOOKS_LIKE_MARK.match(line):
            raise RegionError(path, number, f"this looks like a mark but is not one: `{line.strip()}`.")
        elif opened:
            body.append(line)
    if opened:
        raise RegionError(path, opened[3], f"exercise {opened[0]} is never ended: "
                          f"`// <<< exercise {opened[0]}` is missing.")
    return regions


def _region(opened, body, last, path):
    identity, title, indent, first = opened
    if not 1 <= len(body) <= MAX_BODY_LINES:
        raise RegionError(path, first, f"exercise {identity} has {len(body)} lines of the "
                          f"solution; 1 to {MAX_BODY_LINES} are allowed.")
    problem = unbalanced("\n".join(body))
    if problem:
        raise RegionError(path, first + 1 + problem[0], f"exercise {identity}: " + problem[1])
    return Region(identity, title, indent, tuple(body), first, last)


def with_bodies(text, path, bodies):
    """A file like the reader's: `text` with other lines between the marks of each region.

    `bodies` (id -> lines) has the lines of every region, so that none of the solution's is left.
    """
    lines = text.split("\n")
    result, done = [], 0
    for region in parse(text, path):
        if region.id not in bodies:
            raise RegionError(path, region.first, f"the lines of exercise {region.id} are missing.")
        result += lines[done:region.first]
        result += bodies[region.id]
        done = region.last - 1
    return "\n".join(result + lines[done:])


def without_marks(text, path):
    """(text, numbers): `text` without marks; numbers[i] is line i + 1's old number."""
    lines = text.split("\n")
    numbers, done = [], 0
    for region in parse(text, path):
        numbers += range(done + 1, region.first)
        numbers += range(region.body_first, region.last)
        done = region.last
    numbers += range(done + 1, len(lines) + 1)
    return "\n".join(lines[number - 1] for number in numbers), numbers


def composed(text, path, bodies, solution_name):
    """`text` with the bodies of some regions replaced: {id: (lines, file name, first line)}.

    Compilers name the replaced lines by the file and line given, the others by `solution_name`.
    """
    lines = text.split("\n")
    result, done = [_line_directive(1, solution_name)], 0
    for region in parse(text, path):
        if region.id not in bodies:
            continue
        body, name, first = bodies[region.id]
        result += lines[done:region.first]
        result += [_line_directive(first, name), *body,
                   _line_directive(region.last, solution_name)]
        done = region.last - 1
    return "\n".join(result + lines[done:])


def _line_directive(line, name):
    quoted = str(name).replace("\\", "\\\\").replace('"', '\\"')
    return f'#line {line} "{quoted}"'


def reader_region(text, path, identity):
    """A reader's lines between the marks of one exercise, whatever the rest of the file holds."""
    opened, closed = [], []
    for number, line in enumerate(text.split("\n"), 1):
        opening, closing = _OPEN.match(line), _CLOSE.match(line)
        if opening and re.match(rf"\s+{re.escape(identity)}(?!\S)", opening["rest"]):
            opened.append(number)
        if closing and re.match(rf"\s+{re.escape(identity)}(?!\S)", closing["rest"]):
            closed.append(number)
    mend = f"Put it back, or let `./workbook reset {identity}` do it (it keeps a copy)."
    for found, mark in ((opened, f'// >>> exercise {identity} "..."'),
                        (closed, f"// <<< exercise {identity}")):
        if not found:
            other = (closed or opened or [1])[0]
            raise RegionError(path, other, f"the mark `{mark}` is gone, so it can't be told which "
                              f"lines are yours. {mend}")
        if len(found) > 1:
            raise RegionError(path, found[1], f"the mark `{mark}` appears here and in line "
                              f"{found[0]}. Leave only one.")
    first, last = opened[0], closed[0]
    if last < first:
        raise RegionError(path, last, f"exercise {identity} ends before it begins (line {first}). "
                          "Put the marks in order.")
    lines = text.split("\n")[first:last - 1]
    for number, line in enumerate(lines, first + 1):
        if _OPEN.match(line) or _CLOSE.match(line):
            raise RegionError(path, number, f"a mark of another exercise is between the marks "
                              f"of exercise {identity} (lines {first} and {last}). Move it out.")
    return ReaderRegion(tuple(lines), first + 1)


_PAIRS = {")": "(", "]": "[", "}": "{"}
_ENDS_WITH_BACKSLASH = re.compile(r"\\[ \t\v\f]*\Z")


def unbalanced(text):
    """(line from 0, sentence) when `text` is not valid as a region, else None.

    Brackets must pair up inside it, comments and strings end in it; of the preprocessor's directives it
    may hold `#pragma unroll`. That is a fence around strangers' texts as well: see cpp_text.
    """
    if _ENDS_WITH_BACKSLASH.search(text):
        return text.count("\n"), "the last line ends with a backslash, which would join it with the " \
            "line below the marks."
    return cpp_text.oddity(text) or _unpaired(text)


def _unpaired(text):
    stack = []
    for token in cpp_text.tokens(text):
        bracket, line = token.text, token.line
        if bracket in ("(", "[", "{"):
            stack.append((bracket, line))
        elif bracket in _PAIRS:
            if not stack:
                return line, (f"a `{bracket}` is here without its `{_PAIRS[bracket]}`: it would "
                              "close what was opened outside of the marks.")
            if stack[-1][0] != _PAIRS[bracket]:
                return line, (f"a `{bracket}` is here, but what is open is the `{stack[-1][0]}` "
                              f"{_lines_above(line - stack[-1][1])}.")
            stack.pop()
    if stack:
        return stack[-1][1], f"the `{stack[-1][0]}` in this line is never closed."
    return None


def _lines_above(count):
    return "of the same line" if count == 0 else (
        "of the line above" if count == 1 else f"{count} lines above")
