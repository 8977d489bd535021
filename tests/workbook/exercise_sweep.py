"""All exercises of a chapter, tried as their authors want them to be, by the real check:

    exercise_sweep.py NN           starters and solutions
    exercise_sweep.py NN wrong     each kept wrong answer, and the faulty programs

Status 77 (skipped) when the chapter has no exercise.
"""

import sys

import support
from tools import api, trials
from tools.errors import WorkbookError
from tools.try_exercise import show, tools_of

SKIPPED = 77


def tried(exercise, tools, what):
    """The trials of one exercise."""
    if what == "wrong":
        yield from trials.wrong_answers(support.ROOT, exercise, tools)
        return
    for one in (trials.starter, trials.solution):
        yield one(support.ROOT, exercise, tools)


def main(chapter, what):
    tools = tools_of(support.ROOT)
    own = [exercise for exercise in api.load_all(support.ROOT)
           if exercise.number[0] == int(chapter)]
    bad = 0
    for exercise in own:
        name = f"{exercise.id} {exercise.title}"
        try:
            for trial in tried(exercise, tools, what):
                problem = trial.problem()
                seconds = f" ({trial.verdict.seconds:.1f} s)" if trial.verdict else ""
                print(f"{name}, {trial.name}: {problem or 'ok'}{seconds}", flush=True)
                if problem:
                    bad += 1
                    show(trial.verdict, print) if trial.verdict else None
        except WorkbookError as error:
            bad += 1
            print(f"{name}: {error}\n{error.details}", flush=True)
    return 1 if bad else 0 if own else SKIPPED


if __name__ == "__main__":
    support.skip_without_toml()
    sys.exit(main(sys.argv[1], (sys.argv[2:] or ["right"])[0]))
