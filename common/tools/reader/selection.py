"""Which exercise or chapter a word names, and which exercise comes next."""

import difflib
import re

from .. import chapters
from ..errors import WorkbookError
from . import progress as progress_file


def exercise(exercises, wanted):
    """The exercise called '1.2' (or '01.2'); an error names the nearest ones."""
    match = re.fullmatch(r"0*(\d+)\.0*(\d+)", wanted.strip())
    identifier = f"{match.group(1)}.{match.group(2)}" if match else wanted.strip()
    for candidate in exercises:
        if candidate.id == identifier:
            return candidate
    raise WorkbookError(f"There is no exercise '{wanted}'. {_nearest(exercises, identifier)}",
                        exit_code=2)


def _nearest(exercises, wanted):
    if not exercises:
        return "This checkout has no exercises yet."
    number = re.match(r"\d+", wanted)
    same = [one for one in exercises if number and one.number[0] == int(number.group())]
    if same:
        return (f"Chapter {int(number.group())} has {same[0].id} to {same[-1].id}; "
                f"`./workbook list {int(number.group())}` shows them.")
    near = [one for one in exercises if wanted and wanted.lower() in one.title.lower()][:3]
    if not near:
        titles = {one.title.lower(): one for one in exercises}
        near = [titles[title] for title in difflib.get_close_matches(wanted.lower(), titles, 3, 0.4)]
    if near:
        return "Did you mean " + ", or ".join(f"{one.id} ({one.title})" for one in near) + "?"
    numbers = sorted({one.number[0] for one in exercises})
    return (f"Exercises are called by chapter and number, as in {exercises[0].id}; there are some in "
            f"chapter {_phrase(numbers)}. `./workbook list --all` shows them.")


def _phrase(words):
    words = [str(word) for word in words]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def of_chapter(root, exercises, wanted):
    """The exercises of the chapter called '1', '01' or '01_mbarrier_pipeline'."""
    chapter = chapters.find(root, wanted)
    found = [one for one in exercises if one.chapter == chapter.name]
    if not found:
        raise WorkbookError(f"Chapter {chapter.number} ({chapter.title}) has no exercises yet. "
                            "`./workbook list` shows the chapters that have some.",
                            exit_code=2)
    return found


def several(root, exercises, words):
    """The exercises that words such as '1.2', '3', '1.3-1.5' and '1-2' name, each once, in the order
    in which they are named."""
    found = {}
    for word in words:
        for part in filter(None, (part.strip() for part in word.split(","))):
            found.update((one.id, one) for one in _of_word(root, exercises, part))
    if not found:
        raise WorkbookError(f"'{' '.join(words)}' names no exercise. Write exercises, chapters and "
                            "ranges of them: 1.3, or 2, or 1.3-1.5.", exit_code=2)
    return list(found.values())


def _of_word(root, exercises, word):
    first, dash, last = (part.strip() for part in word.partition("-"))
    if not dash:
        return _named(root, exercises, word)
    if not first or not last:
        raise WorkbookError(f"The range '{word}' lacks its {'end' if first else 'beginning'}. A range "
                            "has both: 1.3-1.5 or 1-2.", exit_code=2)
    begin, end = _named(root, exercises, first)[0], _named(root, exercises, last)[-1]
    if begin.number > end.number:
        raise WorkbookError(f"The range '{word}' ends before it begins. Did you mean {last}-{first}?",
                            exit_code=2)
    return [one for one in exercises if begin.number <= one.number <= end.number]


def _named(root, exercises, word):
    """The exercises of a chapter, or one exercise."""
    if re.fullmatch(r"\d+|\d\d_\w+", word):
        return of_chapter(root, exercises, word)
    return [exercise(exercises, word)]


def phrase(chosen, exercises):
    """Exercises in words, neighbours as ranges: '1.1 to 1.4, 2.3 and 3.1'."""
    order = [one.id for one in exercises]
    runs = []
    for at in sorted(order.index(one.id) for one in chosen):
        if runs and runs[-1][1] == at - 1:
            runs[-1][1] = at
        else:
            runs.append([at, at])
    words = []
    for first, last in runs:
        words += [order[first]] if first == last else (
            [order[first], order[last]] if last == first + 1 else [f"{order[first]} to {order[last]}"])
    return _phrase(words)


def following(exercises, progress, after=None):
    """The exercise to do next, or None when all are done: the first open one from where the reader
    is (from the exercise after `after`, if one is given) to the end of the workbook, else the first
    open one before that, else a skipped one in the same order."""
    order = list(exercises)
    numbers = {one.id: index for index, one in enumerate(order)}
    start = numbers[after.id] + 1 if after is not None else numbers.get(progress.at, 0)
    order = order[start:] + order[:start]
    for state in (progress_file.OPEN, progress_file.SKIPPED):
        for one in order:
            if progress.state(one.id) == state and (after is None or one.id != after.id):
                return one
    return None


def left_out(exercises, progress, before):
    """The exercises before `before` that have not passed."""
    return [one for one in exercises if one.number < before.number
            and progress.state(one.id) != progress_file.PASSED]


def to_show(root, exercises, progress, wanted):
    """The exercise that `next WANTED` shows: the one that is named; of a chapter the first one that
    has not passed, or its first."""
    named = _named(root, exercises, wanted)
    return next((one for one in named if progress.state(one.id) != progress_file.PASSED), named[0])


def current(exercises, progress):
    """The exercise that is meant where none is named."""
    one = following(exercises, progress)
    if one is None:
        raise WorkbookError("Every exercise is passed. Name one, as in 1.2; `./workbook list --all` "
                            "shows them." if exercises else
                            "This checkout has no exercises yet.")
    return one
