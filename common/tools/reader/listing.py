"""`list` and `hint`: with Python's standard library alone, so that they work everywhere."""

import json
import re
import shutil
import sys
import textwrap

from .. import chapters
from ..console import Console
from ..exercises import load_all, load_chapter
from . import progress as progress_file
from . import selection
from .progress import OPEN, PASSED, SKIPPED

_WIDEST = 100  # lines longer than this are hard to read
_BAR_CELLS = 10
_MARKS = {PASSED: "✓", SKIPPED: "–", OPEN: "·", "next": "▸"}
_PLAIN_MARKS = {PASSED: "x", SKIPPED: "-", OPEN: ".", "next": ">"}


def do_list(root, console, arguments):
    """Progress by chapter; the exercises of the chapter that the reader is in, or as asked for."""
    exercises, progress = load_all(root), progress_file.load(root)
    if progress.note:
        console.say(progress.note)
    upcoming = selection.following(exercises, progress)
    if arguments.json:
        data = _as_data(root, exercises, progress, upcoming)
        if arguments.chapter:
            number = int(selection.of_chapter(root, exercises, arguments.chapter)[0].chapter[:2])
            data["chapters"] = [one for one in data["chapters"] if one["number"] == number]
        print(json.dumps(data, indent=1, ensure_ascii=False))
        return 0
    opened = {upcoming.chapter} if upcoming else set()
    if arguments.all:
        opened = {one.chapter for one in exercises}
    if arguments.chapter:
        opened = {selection.of_chapter(root, exercises, arguments.chapter)[0].chapter}
    print("\n".join(listing(root, exercises, progress, opened, Console(sys.stdout))))
    return 0


def listing(root, exercises, progress, opened, console):
    """The lines of the list; `opened` are the chapters whose exercises are shown."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    marks = _MARKS if _can_print(console.stream, _MARKS) else _PLAIN_MARKS
    upcoming = selection.following(exercises, progress)
    passed = [one for one in exercises if progress.state(one.id) == PASSED]
    left = sum(one.minutes for one in exercises) - sum(one.minutes for one in passed)
    lines = [console.paint(f"{len(passed)} of {_count(len(exercises))} passed", "bold")
             + (f", about {duration(left)} to go" if left else ""), ""]
    for chapter in chapters.CHAPTERS:
        own = [one for one in exercises if one.chapter == chapter.name]
        lines.append(_chapter_line(chapter, own, progress, console, width))
        if chapter.name in opened:
            for one in own:
                lines.append(_exercise_line(one, progress, upcoming, marks, console, width))
                lines += _remark_lines(_remark(root, one, progress), width)
            lines.append("")
    while lines[-1] == "":
        lines.pop()
    lines.append("")
    if upcoming is None:
        lines.append("Every exercise is passed." if exercises else
                     "There are no exercises in this checkout yet.")
    else:
        lines += textwrap.wrap(f"next: {upcoming.id} {upcoming.title} (./workbook next)", width)
    return lines


def _chapter_line(chapter, own, progress, console, width):
    if not own:
        title = _cut(f"  {chapter.number}  {chapter.title}", width - 16)
        return title.ljust(width - 13) + "no exercises"
    passed = [one for one in own if progress.state(one.id) == PASSED]
    left = sum(one.minutes for one in own if progress.state(one.id) != PASSED)
    cells = _BAR_CELLS * len(passed) // len(own)
    right = (f"{'#' * cells}{'.' * (_BAR_CELLS - cells)} {len(passed):>2}/{len(own):<2} "
             f"{duration(left) if left else 'done':>8}")
    title = _cut(f"  {chapter.number}  {chapter.title}", width - len(right) - 2)
    line = title.ljust(width - len(right) - 1) + right
    return console.paint(line, "green") if not left else console.paint(line, "bold")


def _exercise_line(one, progress, upcoming, marks, console, width):
    state = progress.state(one.id)
    is_next = upcoming is not None and one.id == upcoming.id
    right = f"{one.kind:<8}{one.minutes:>4} min"
    title = _cut(f"     {marks['next' if is_next else state]} {one.id:<5}{one.title}",
                 width - len(right) - 2)
    line = title.ljust(width - len(right) - 1) + right
    if is_next:
        return console.paint(line, "bold")
    return console.paint(line, "green") if state == PASSED else line


def _remark(root, one, progress):
    """What a check remarked on the lines that are in the reader's file, or ''."""
    remark = progress.remark(one.id)
    if remark:
        from .checking import still_passes  # reads what most lists need not
        remark = remark if still_passes(root, one, progress) else ""
    return remark


def _remark_lines(remark, width):
    """What a check remarked on an answer that passed, below its line."""
    indent = " " * 13
    return textwrap.wrap(f"right, but: {remark}", width - 2, initial_indent=indent,
                         subsequent_indent=indent) if remark else []


def _count(number):
    return f"{number} exercise{'' if number == 1 else 's'}"


def _cut(text, width):
    return text if len(text) <= width else text[:max(1, width - 3)].rstrip() + "..."


def duration(minutes):
    """'45 min', '2 h', '3 h 20' (min)."""
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    return f"{hours} h" if not rest else f"{hours} h {rest:02d}"


def _can_print(stream, marks):
    try:
        "".join(marks.values()).encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _as_data(root, exercises, progress, upcoming):
    """What --json prints."""
    found = []
    for chapter in chapters.CHAPTERS:
        own = [one for one in exercises if one.chapter == chapter.name]
        found.append({
            "number": chapter.number, "name": chapter.name, "title": chapter.title,
            "passed": sum(progress.state(one.id) == PASSED for one in own), "total": len(own),
            "minutes": sum(one.minutes for one in own),
            "minutes_left": sum(one.minutes for one in own if progress.state(one.id) != PASSED),
            "exercises": [{"id": one.id, "title": one.title, "kind": one.kind, "idea": one.idea,
                           "minutes": one.minutes, "state": progress.state(one.id),
                           "hints": progress.hints(one.id),
                           "remark": _remark(root, one, progress), "file": str(one.reader_file)}
                          for one in own]})
    return {"chapters": found, "next": upcoming.id if upcoming else None, "use": progress.use}


def do_hint(root, console, arguments):
    """One hint, a step further than the one before it; the last one stays the last one."""
    exercises, progress = _near(root, arguments.exercise), progress_file.load(root)
    if progress.note:
        console.say(progress.note)
    if arguments.exercise is not None:
        one = selection.exercise(exercises, arguments.exercise)
    else:
        one = selection.current(exercises, progress)
    level = arguments.level or min(len(one.hints), progress.hints(one.id) + 1)
    print("\n".join(hint_lines(one, level, Console(sys.stdout))))
    sys.stdout.flush()
    if level > progress.hints(one.id):
        progress_file.change(root, console, one.id, hints=level)
    return 0


def _near(root, wanted):
    """The exercises of the chapter that `wanted` names, if it is there; else all of them."""
    match = re.fullmatch(r"0*(\d+)\.0*(\d+)", wanted or "")
    for chapter in chapters.CHAPTERS:
        if match and chapter.number == int(match.group(1)):
            own = load_chapter(root, chapter.name)
            if any(one.number[1] == int(match.group(2)) for one in own):
                return own
    return load_all(root)


_LEVELS = ("a nudge", "the idea", "almost the code")
# A line of a hint with this indentation is code: it is printed as it is, and never wrapped.
_CODE_INDENT = "    "


def hint_lines(one, level, console):
    """A hint and how to get the next one."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    head = f"{one.id} {one.title}: hint {level} of {len(one.hints)}, {_LEVELS[level - 1]}"
    lines = [console.paint(line, "bold") for line in textwrap.wrap(head, width)]
    for line in one.hints[level - 1].strip("\n").splitlines():
        if line.startswith(_CODE_INDENT):
            lines.append("  " + line.rstrip())
        else:
            lines += textwrap.wrap(line, width, initial_indent="  ", subsequent_indent="  ",
                                   break_long_words=False, break_on_hyphens=False) or [""]
    lines.append("")
    if level < len(one.hints):
        lines.append(f"One step further: ./workbook hint {one.id}")
    else:
        lines += textwrap.wrap(f"That was the last one. The rule is explained in {one.section_link}; "
                               f"the solution: ./workbook diff {one.id} --spoil", width,
                               break_long_words=False, break_on_hyphens=False)
    return lines
