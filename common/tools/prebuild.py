"""Builds what readers run before they ask for it: in the container's image, and for the wheel.

    python3 -m tools.prebuild [NN ...]     (with common/ on PYTHONPATH; all chapters if you name none)

These are the chapters' programs, their labs and the programs that the exercises' checks run.
"""

import argparse
import sys
from pathlib import Path

from . import api, build, chapters, exercises, runs, simulate, workspace
from .console import Console
from .errors import WorkbookError


def programs(root, numbers=()):
    """The names of the programs that readers of these chapters (default: all) run in the simulator."""
    root, found = Path(root), set()
    for chapter in chapters.CHAPTERS:
        if numbers and chapter.number not in numbers or not chapters.written(root, chapter):
            continue
        found.add(chapter.name)
        labs = (root / "solutions" / chapter.name / "labs").glob("*.cu")
        found.update(f"lab_{chapter.number:02d}_{lab.stem}" for lab in labs)
        for exercise in exercises.load_chapter(root, chapter.name):
            found.update(api.targets(exercise))
    return sorted(found)


def remember_answers(root, tools, numbers=()):
    """Runs the programs that questions are about, so that the first check of an answer only looks
    it up."""
    for exercise in api.load_all(root):
        if exercise.kind == exercises.PREDICT and (not numbers or exercise.number[0] in numbers):
            runs.computed_answers(root, tools, exercise)


def _chapter(text):
    numbers = [chapter.number for chapter in chapters.CHAPTERS]
    if not text.isdigit() or int(text) not in numbers:
        raise argparse.ArgumentTypeError(f"'{text}' is not a chapter; they are {numbers[0]} to "
                                         f"{numbers[-1]}")
    return int(text)


def main(arguments=None):
    """Installs what is missing, and builds; 0, or 1 after an error."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.prebuild", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapters", metavar="NN", nargs="*", type=_chapter, help="a chapter's number")
    numbers = parser.parse_args(arguments).chapters
    root, console = Path(__file__).resolve().parents[2], Console()
    try:
        workspace.require_toml(root, console)
        targets = [*programs(root, numbers), *simulate.TARGETS]
        tools = workspace.prepare(root, console, build.SIM, targets,
                                 f"Building {len(targets)} programs and libraries", everything=True)
        with console.step("Running the programs that questions are about"):
            remember_answers(root, tools, numbers)
    except WorkbookError as error:
        if error.details:
            console.say(error.details)
        console.error(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
