"""Runs programs with the reader's code in them: `use mine`, and `run NN.E`. Standard library alone."""

import shlex

from .. import api, build, commands
from ..exercises import FIND, PREDICT
from ..process import run_in_foreground
from . import checking
from . import progress as progress_file
from . import selection


def passed(root, progress):
    """The exercises in code whose lines, as they stand, have passed."""
    return [one for one in api.load_all(root)
            if one.is_in_code and checking.still_passes(root, one, progress)]


def environment(root, console, program, tools):
    """(environment of a program that makes it run the reader's lines, a phrase about it)."""
    chosen = passed(root, progress_file.load(root))
    if not chosen:
        return {}, "with the solutions: no exercise in code has passed yet"
    with console.step("Compiling your code") as step:
        composed = api.compose_program(root, chosen, program, tools, step.detail)
    ids = ", ".join(one.id for one in chosen)
    return composed.environment, f"with your lines of {ids}"


def run_exercise(root, console, wanted, options):
    """Runs an exercise's program with what the reader wrote for it, or with the fault to be found."""
    one = selection.exercise(api.load_all(root), wanted)
    tools = commands.prepare(root, console, build.SIM, api.targets(one),
                             f"Building what {one.id} runs")
    run = one.runs[0]
    added, phrase = {}, "as it is in the solutions"
    with console.step("Compiling") as step:
        if one.kind == FIND:
            added = api.compose_bug(root, one, tools, step.detail).environment
            phrase = f"with {one.bug_file}"
        elif one.kind != PREDICT:
            added = api.compose_program(root, [one], run.program, tools, step.detail).environment
            phrase = f"with your lines in {one.reader_file}"
    words = [*run.options, *options]
    console.say(console.paint(f"{one.id} {one.title}", "bold") + f": {run.program} "
                + " ".join(map(shlex.quote, words)) + f", {phrase}")
    env = dict(tools.env, BW_SIM_SEED=str(run.seeds[0]), **added)
    return run_in_foreground([str(build.program(root, build.SIM, run.program)), *words], env=env)
