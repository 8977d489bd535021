"""Applies the patches of the find exercises: one file, no fuzz, wherever its lines have moved to."""

import re
from dataclasses import dataclass
from pathlib import Path

from . import regions
from .errors import WorkbookError

_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


@dataclass(frozen=True)
class Hunk:
    """Lines of a patch, each " context", "-removed", "+added" or "~added": as right as what it
    replaces, so that a comparison with the solution does not give the fault away."""

    first: int    # where the patch says that it begins, from 1; 0: unknown
    lines: tuple

    def side(self, sign):
        return [line[1:] for line in self.lines if line[0] in (" ", sign)]


@dataclass(frozen=True)
class Shown:
    """The faulty file as the reader sees it, and the lines in which the fault may be named."""

    text: str
    faulty_lines: tuple  # from 1


def patched_file(patch):
    """The one file that a patch changes, as in "--- a/file"."""
    names = re.findall(r"^\+\+\+ (\S+)", patch, re.M)
    if len(names) != 1:
        raise WorkbookError(f"it changes {len(names)} files; it has to change one.")
    return re.sub(r"^[ab]/", "", names[0])


def hunks(patch):
    found, first, lines = [], 0, None
    for line in patch.split("\n"):
        if line.startswith("@@"):
            if lines:
                found.append(Hunk(first, tuple(lines)))
            match = _HUNK.match(line)
            first, lines = int(match.group(1)) if match else 0, []
        elif lines is not None and line.startswith("\\"):
            continue  # "\ No newline at end of file"
        elif lines is not None:
            if line and line[0] not in " +-~":
                raise WorkbookError(f"the line `{line}` begins neither with a blank nor with +, - "
                                    "or ~.")
            lines.append(line or " ")
    while lines and lines[-1] == " ":  # the text's end, not a line of the patch
        lines.pop()
    if lines:
        found.append(Hunk(first, tuple(lines)))
    if not found:
        raise WorkbookError("it has no hunk (`@@ ... @@`).")
    return found


def apply(text, patch):
    """(text, changed): the patched text and the numbers, from 1, of the lines that differ.

    Of a patch that only removes lines the neighbours count; of a line that was moved, its new place.
    """
    lines = text.split("\n")
    places = sorted(((_place(lines, hunk), hunk) for hunk in hunks(patch)), key=lambda at: at[0])
    only_removes = not any(line[0] in "+~" for _, hunk in places for line in hunk.lines)
    result, changed, done = [], set(), 0
    for at, hunk in places:
        if at < done:
            raise WorkbookError("two of its hunks overlap.")
        result += lines[done:at]
        _append(hunk, result, changed, only_removes)
        done = at + len(hunk.side("-"))
    result += lines[done:]
    return "\n".join(result), sorted(line for line in changed if 1 <= line <= len(result))


def changed(text, pairs):
    """`text` in which the first text of each pair, which is there once, reads as the second. Blanks and
    ends of lines are alike; lines of which nothing is left are gone."""
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair)):
            raise WorkbookError(f"`change` has the entry {pair!r}; each is a pair of texts: what the "
                                "solution's lines hold, and what stands there instead.")
        old, new = pair
        words = old.split()
        found = list(re.finditer(r"\s+".join(map(re.escape, words)), text)) if words else []
        if len(found) != 1:
            raise WorkbookError(f"`change`: `{old}` is in the solution's lines {len(found)} times; it "
                                "has to be there once.")
        at, behind = found[0].span()
        begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", behind) % (len(text) + 1)
        lines = (text[begin:at] + new + text[behind:end]).split("\n")
        kept = [line.rstrip() for line in lines if line.strip()]
        text = text[:begin] + "\n".join(kept) + (text[end:] if kept else text[end + 1:])
    return text


def _append(hunk, result, changed, only_removes):
    index = 0
    while index < len(hunk.lines):
        if hunk.lines[index][0] == " ":
            result.append(hunk.lines[index][1:])
            index += 1
            continue
        group = []
        while index < len(hunk.lines) and hunk.lines[index][0] != " ":
            group.append(hunk.lines[index])
            index += 1
        added = [line for line in group if line[0] != "-"]
        changed.update(number for number, line in enumerate(added, len(result) + 1)
                       if line[0] == "+")
        if not added and only_removes:
            changed.update((len(result), len(result) + 1))
        result += [line[1:] for line in added]


def _place(lines, hunk):
    """The index of the hunk's first line: the only place that fits, or the nearest one."""
    old = hunk.side("-")
    fits = [index for index in range(len(lines) - len(old) + 1)
            if lines[index:index + len(old)] == old]
    if not fits:
        missing = next((line for line in old if line not in lines), None)
        raise WorkbookError("it does not fit the solution's file"
                            + (f": the line `{missing.strip()}` isn't there." if missing is not None
                               else ": its lines aren't there in this order."))
    if len(fits) > 1 and not hunk.first:
        raise WorkbookError(f"its lines appear in {len(fits)} places of the file; give more context "
                            "or line numbers (`@@ -12,7 +12,6 @@`).")
    return min(fits, key=lambda index: abs(index + 1 - hunk.first))


def shown(folder, patch, hides=False):
    """The faulty file of a find exercise, without the marks of other exercises. With `hides` also
    without their lines, which are solutions, unless they hold the fault."""
    name = patched_file(patch)
    path = Path(folder) / name
    if not path.is_file():
        raise WorkbookError(f"it changes {name}, which does not exist.")
    text, changed = apply(regions.read_text(path), patch)
    clean, numbers = regions.without_marks(text, name)
    lines = text.split("\n")
    changed = _towards_code(len(lines), changed, {n for n in numbers if lines[n - 1].strip()})
    if hides:
        hidden = _hidden(regions.parse(text, name), changed)
        clean = "\n".join(hidden.get(number, lines[number - 1]) for number in numbers)
    return Shown(clean, tuple(new for new, old in enumerate(numbers, 1) if old in changed))


def _hidden(found, changed):
    """{line: what is shown instead} of the regions that do not hold the fault."""
    result = {}
    for region in found:
        lines = range(region.body_first, region.last)
        if changed & set(lines):
            continue
        result.update({line: f"{region.indent}//" for line in lines})
        result[region.body_first] += (" Right lines, not shown here: you write them in exercise "
                                      f"{region.id}.")
    return result


def _towards_code(count, changed, code):
    """`changed`, with lines that aren't in `code` moved to the next ones that are, both ways."""
    result = set()
    for line in changed:
        above = next((n for n in range(line, 0, -1) if n in code), None)
        below = next((n for n in range(line, count + 1) if n in code), None)
        result.update(n for n in (above, below) if n is not None)
    return result
