"""Runs programs with the reader's code in them: `use mine`, and `run NN.E`. Standard library alone."""

import contextlib
import shlex

from .. import api, build, workspace
from ..errors import WorkbookError
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
    """Runs an exercise's programs with what the reader wrote for it, or with the fault to be found, as
    its check does: one run after the other, up to the first that fails. With `options` of the reader's
    own it is the first run alone. `settings` are the simulator's that were asked for."""
    one = selection.exercise(api.load_all(root), wanted)
    if api.is_not_done(root, one):
        raise WorkbookError(f"Exercise {one.id} is not done yet, so its program would stop at the gap "
                            f"in {one.reader_file}:{api.reader_line(root, one)}. Write your lines there "
                            f"first: `./workbook next {one.id}` shows the task, "
                            f"`./workbook hint {one.id}` gives a hint.")
    tools = workspace.prepare(root, console, build.SIM, api.targets(one),
                              f"Building what {one.id} runs")
    with contextlib.ExitStack() as stack:
        codes = {}
        for run, seed in ((each, seed) for each in one.runs for seed in each.seeds):
            if run.program not in codes:
                codes[run.program] = _code_of(root, console, one, run, tools, stack)
            code, phrase = codes[run.program]
            words = [*run.options, *options]
            env = dict(tools.env, BW_SIM_SEED=str(seed))
            env.setdefault("BW_SIM_CHECKS", run.checks)
            if code is not None:
                env.update(code.environment(run.program))
            env.update(settings)
            shown = " ".join(map(shlex.quote, [run.program, *words]))
            console.say(console.paint(f"{one.id} {one.title}", "bold") + f": {shown}"
                        + (f" (BW_SIM_SEED={seed})" if seed else "") + f", {phrase}")
            status = run_in_foreground([str(build.program(root, build.SIM, run.program)), *words],
                                       env=env, cwd=root)
            if status or options or "BW_SIM_SEED" in settings:
                return status
    return 0


def _code_of(root, console, one, run, tools, stack):
    """(device code with the reader's lines or the fault, or None; a phrase about it)"""
    if one.kind == PREDICT:
        return None, "as it is in the solutions"
    with console.step("Compiling") as step:
        if one.kind == FIND:
            code, phrase = api.compose_bug(root, one, tools, step.detail), f"with {one.bug_file}"
        else:
            code = api.compose_program(root, [one], run.program, tools, step.detail)
            phrase = f"with your lines in {one.reader_file}"
    return (code if code is None else stack.enter_context(code)), phrase
