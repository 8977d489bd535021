"""`./workbook bench grade`: checks a minute and core, on one worker, two and four, and what a check
costs beside itself: bytes that are moved, time at the scheduler."""

import argparse
import os
import pickle
import sys
import time

from .. import api, build, commands, machine, private_env, process
from ..errors import WorkbookError
from . import engine, plan, version, worker

EXERCISE = "1.4"
CHECKS = 24            # in each measurement, all of them different
SINGLE_CHECKS = 8      # of the time of one check
EMPTY_CHECKS = 2000    # that do nothing: what is left is Dask's own time
EMPTY_CHECK = "tools.grading.bench:nothing"


def do_bench(root, console, arguments):
    """Builds, then measures in the Python that has Dask, if one has."""
    own_version, _, exercises = worker.prepare()
    commands.prepare(root, console, build.SIM, list(exercises[EXERCISE].programs),
                     "Building what the checks run")
    version.note_built(root, exercises[EXERCISE].programs, own_version)
    python = private_env.grading_python(root) or sys.executable
    env = dict(os.environ, PYTHONPATH=str(root / "common"))
    return process.run_in_foreground([str(python), "-m", "tools.grading.bench", *arguments.rest],
                                     env=env)


def nothing(job, _version):
    """A check without its work."""
    return {"id": job.exercise}


def _jobs(exercise, count, salt):
    """Right answers that differ in a comment, so that each is compiled."""
    found = []
    for number in range(count):
        lines = (f"// {salt} {number}", *exercise.region.body)
        found.append(plan.Job(plan._key(salt, exercise, *lines), exercise.id, lines, 1))
    return found


def measure(options):
    """Prints the figures."""
    own_version, _, exercises = worker.prepare()
    exercise = exercises[options.exercise]
    if not exercise.is_in_code:
        raise WorkbookError(f"Exercise {exercise.id} is answered in words; name one in code.")
    salt = f"{os.getpid()} {time.time_ns()}"
    print(f"{machine.processor_name()}, {machine.core_count()} cores; load "
          f"{os.getloadavg()[0]:.1f} at the "
          f"beginning; {'Dask distributed' if engine.has_dask() else 'process pool'}; exercise "
          f"{exercise.id}")
    worker.run(_jobs(exercise, 1, salt + " first")[0], own_version)  # the solution's own runs are kept
    single = _single(_jobs(exercise, options.single, salt + " single"), own_version)
    print(f"one check at a time: {single:.2f} s")
    for workers in options.workers:
        _print_rate(_jobs(exercise, options.checks, f"{salt} {workers}"), own_version, exercise, workers,
                    single)
    if engine.has_dask():
        for workers in options.workers:
            _print_overhead(exercise, own_version, workers, salt)
    return 0


def _single(jobs, own_version):
    begun = time.monotonic()
    for job in jobs:
        verdict = worker.run(job, own_version)
        if verdict["status"] != api.PASSED:
            raise WorkbookError(f"The solution of {job.exercise} does not pass: {verdict['found']}")
    return (time.monotonic() - begun) / len(jobs)


def _print_rate(jobs, own_version, exercise, workers, single):
    before = os.times()
    with engine.outcomes(jobs, own_version, exercise.programs, workers, None, engine.CHECK,
                         print) as outcomes:
        begun, verdicts = time.monotonic(), 0
        for outcome in outcomes:
            if outcome.error or outcome.verdict["status"] != api.PASSED:
                raise WorkbookError(outcome.error or outcome.verdict["found"])
            verdicts += 1
        seconds = time.monotonic() - begun
        own = os.times()
    cores = min(workers, machine.core_count())
    rate = 60 * verdicts / seconds
    print(f"{workers} worker{'s' if workers > 1 else ''}: {rate:.0f} checks a minute, "
          f"{rate / cores:.0f} a minute and "
          f"core, {single * verdicts / cores / seconds:.2f} of the ideal; "
          f"scheduler and command "
          f"{1000 * (own.user + own.system - before.user - before.system) / verdicts:.0f}"
          f" ms a check; load {os.getloadavg()[0]:.1f}")


def _print_overhead(exercise, own_version, workers, salt):
    jobs = _jobs(exercise, EMPTY_CHECKS, f"{salt} empty {workers}")
    with engine.outcomes(jobs, own_version, exercise.programs, workers, None, EMPTY_CHECK,
                         print) as outcomes:
        before, begun = os.times(), time.monotonic()
        count = sum(1 for _ in outcomes)
        seconds, own = time.monotonic() - begun, os.times()
    job = len(pickle.dumps(tuple(vars(jobs[0]).values())))
    busy = own.user + own.system - before.user - before.system
    print(f"{workers} worker{'s' if workers > 1 else ''}, checks without work: "
          f"{1000 * seconds / count:.2f} ms each by the "
          f"clock, {1000 * busy / count:.2f} ms of a core in scheduler and command; {job} bytes of "
          "a job")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="./workbook bench grade --", description=__doc__)
    parser.add_argument("--workers", default="1,2,4",
                        type=lambda text: [int(one) for one in text.split(",")])
    parser.add_argument("--checks", type=int, default=CHECKS)
    parser.add_argument("--single", type=int, default=SINGLE_CHECKS)
    parser.add_argument("--exercise", default=EXERCISE)
    try:
        return measure(parser.parse_args(arguments))
    except WorkbookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
