"""Runs programs with the reader's code in them: `use mine`, and `run NN.E`. Standard library alone."""

import contextlib
import shlex

from .. import api, build, workspace
from ..exercises import FIND, PREDICT
from ..process import run_in_foreground
from . import checking, selection
from . import progress as progress_file


def passed(root, progress):
    """The exercises in code that have passed with their current lines."""
    return [one for one in api.load_all(root)
            if one.is_in_code and checking.still_passes(root, one, progress)]


@contextlib.contextmanager
def composed(root, console, program, tools):
    """(settings with which a program, started in the root, runs the reader's lines; a phrase about
    it). They hold inside the `with` block."""
    chosen = passed(root, progress_file.load(root))
    code = None
    if chosen:
        with console.step("Compiling your code") as step:
            code = api.compose_program(root, chosen, program, tools, step.detail)
    if code is None:
        yield {}, ("with the solutions: none of the exercises that you have passed is part of it"
                   if chosen else "with the solutions: no exercise in code has passed yet")
        return
    with code:
        yield code.environment(program), f"with your lines of {', '.join(one.id for one in chosen)}"


def run_exercise(root, console, wanted, options, settings):
    """Runs an exercise's program with what the reader wrote for it, or with the fault to be found.
    `settings` are the simulator's that were asked for."""
    one = selection.exercise(api.load_all(root), wanted)
    tools = workspace.prepare(root, console, build.SIM, api.targets(one),
                              f"Building what {one.id} runs")
    run = one.runs[0]
    words = [*run.options, *options]
    with contextlib.ExitStack() as stack:
        code, phrase = None, "as it is in the solutions"
        with console.step("Compiling") as step:
            if one.kind == FIND:
                code, phrase = api.compose_bug(root, one, tools, step.detail), f"with {one.bug_file}"
            elif one.kind != PREDICT:
                code = api.compose_program(root, [one], run.program, tools, step.detail)
                phrase = f"with your lines in {one.reader_file}"
        env = dict(tools.env, BW_SIM_SEED=str(run.seeds[0]))
        env.setdefault("BW_SIM_CHECKS", run.checks)
        if code is not None:
            env.update(stack.enter_context(code).environment(run.program))
        env.update(settings)
        shown = " ".join(map(shlex.quote, [run.program, *words]))
        console.say(console.paint(f"{one.id} {one.title}", "bold") + f": {shown}, {phrase}")
        return run_in_foreground([str(build.program(root, build.SIM, run.program)), *words], env=env,
                                 cwd=root)
