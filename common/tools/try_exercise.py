"""Tries an exercise as its author wants it to be:

    python3 -m tools.try_exercise 1.2 ...    (with common/ on PYTHONPATH; its programs are built)

The starter is not done (or, of an improve exercise, over its budget), the solution's text passes,
each wrong answer fails with its own message; a find exercise's faulty program doesn't verify.
"""

import argparse
import sys
from pathlib import Path

from . import api, exercises, toolkit, trials
from .errors import WorkbookError
from .setup import Tools


def tools_of(root):
    """The Tools of a machine that has all it takes; nothing is installed."""
    import os
    found, _ = toolkit.find(root)
    if not found:
        raise WorkbookError("There is no CUDA compiler; `./workbook setup` installs one.")
    return Tools("cmake", "ctest", found, dict(os.environ))


def show(verdict, out):
    """A verdict in plain lines."""
    out(f"  {verdict.status} ({verdict.seconds:.1f} s): {verdict.found}")
    for name in ("explanation", "remark", "rule", "where"):
        if getattr(verdict, name):
            out(f"    {name}: {getattr(verdict, name)}")
    if verdict.place:
        out(f"    place: {verdict.place.path}:{verdict.place.line}: {verdict.place.text}")
    for figure in verdict.figures:
        out(f"    {figure[0]}: {figure[1]}")
    for answer in verdict.answers:
        out(f"    {answer.key} = {answer.given}: {'right' if answer.right else 'wrong'}"
            f"{' (' + answer.comment + ')' if answer.comment else ''}")
    for line in verdict.report:
        out(f"    | {line}")
    for note in verdict.notes:
        out(f"    note: {note}")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python3 -m tools.try_exercise", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="+", help="1.2, or 1 for a chapter, or all")
    parser.add_argument("--quiet", action="store_true", help="only what is not as it should be")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    chosen = parser.parse_args(arguments)
    bad = 0
    try:
        tools, known = tools_of(chosen.root), api.load_all(chosen.root)
        wanted = [exercise for exercise in known for text in chosen.ids
                  if text == "all" or exercise.id == text or str(exercise.number[0]) == text]
        if not wanted:
            exercises.find(known, chosen.ids[0])
        for exercise in wanted:
            print(f"{exercise.id} {exercise.title}", flush=True)
            for trial in trials.trials(chosen.root, exercise, tools):
                problem = trial.problem()
                bad += bool(problem)
                if problem or not chosen.quiet:
                    print(f"{trial.name}:")
                    show(trial.verdict, print) if trial.verdict else None
                if problem:
                    print(f"  NOT AS IT SHOULD BE: {problem}", flush=True)
    except WorkbookError as error:
        print(f"{error.details}\nerror: {error}", file=sys.stderr)
        return 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
