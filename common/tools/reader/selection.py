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
    raise WorkbookError(f"There is no exercise '{wanted}'. {_nearest(exercises, identifier)}")


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


def _phrase(numbers):
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def of_chapter(root, exercises, wanted):
    """The exercises of the chapter called '1', '01' or '01_mbarrier_pipeline'."""
    chapter = chapters.find(root, wanted)
    found = [one for one in exercises if one.chapter == chapter.name]
    if not found:
        raise WorkbookError(f"Chapter {chapter.number} ({chapter.title}) has no exercises yet. "
                            "`./workbook list` shows the chapters that have some.")
    return found


def several(root, exercises, wanted):
    """The exercises that '1.2' or '1' names."""
    if "." in wanted:
        return [exercise(exercises, wanted)]
    if re.fullmatch(r"\d+|\d\d_\w+", wanted):
        return of_chapter(root, exercises, wanted)
    return [exercise(exercises, wanted)]


def following(exercises, progress, after=None):
    """The exercise to do next: the first open one after `after`, else the first one before it, else
    the first skipped one; None when all are done."""
    order = list(exercises)
    if after is not None:
        at = [one.id for one in order].index(after.id) + 1
        order = order[at:] + order[:at]
    for state in (progress_file.OPEN, progress_file.SKIPPED):
        for one in order:
            if progress.state(one.id) == state and (after is None or one.id != after.id):
                return one
    return None


def current(exercises, progress):
    """The exercise that is meant where none is named."""
    one = following(exercises, progress)
    if one is None:
        raise WorkbookError("Every exercise is passed. Name one, as in 1.2; `./workbook list --all` "
                            "shows them." if exercises else
                            "This checkout has no exercises yet.")
    return one
