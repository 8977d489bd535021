"""`./workbook bench grade`: checks a minute and core, on one worker, two and four, and what a check
costs in addition: bytes that are moved, time at the scheduler."""

import argparse
import os
import socket
import struct
import sys
import time

from .. import api, build, machine, private_env, process, workspace
from ..errors import WorkbookError
from . import engine, plan, version, worker

EXERCISE = "1.4"
CHECKS = 24            # in each measurement, all of them different
SINGLE_CHECKS = 8      # of the time of one check
EMPTY_CHECKS = 2000    # that do nothing: what is left is Dask's own time
EMPTY_CHECK = "tools.grading.bench:nothing"
# Linux' struct tcp_info: offset of the count of acknowledged bytes; that of received ones follows it.
TCP_INFO_BYTES, TCP_INFO_ACKED_AT = 192, 120


def do_bench(root, console, arguments):
    """Builds, then measures in the Python that has Dask, if one has."""
    own_version, _, exercises = worker.prepare()
    workspace.prepare(root, console, build.SIM, list(exercises[EXERCISE].programs),
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
    print(f"one check at a time: {single:.2f} s", flush=True)
    for workers in options.workers:
        _print_rate(_jobs(exercise, options.checks, f"{salt} {workers}"), own_version, exercise, workers,
                    single)
    if engine.has_dask():
        for workers in options.workers:
            _print_overhead(exercise, own_version, workers, salt)
    return 0


def _single(jobs, own_version):
    """Seconds of one check."""
    begun = time.monotonic()
    for job in jobs:
        verdict = worker.run(job, own_version)
        if verdict["status"] != api.PASSED:
            raise WorkbookError(f"The solution of {job.exercise} does not pass: {verdict['found']}")
    return (time.monotonic() - begun) / len(jobs)


def _print_rate(jobs, own_version, exercise, workers, single):
    """The rate by the clock, which other programs disturb; and what they disturb less: how much of the
    time the workers were inside of checks, and what scheduler and command took of a core."""
    with engine.outcomes(jobs, own_version, exercise.programs, workers, None, engine.CHECK,
                         print) as outcomes:
        begun, before, inside, count = time.monotonic(), os.times(), 0.0, 0
        for outcome in outcomes:
            if outcome.error or outcome.verdict["status"] != api.PASSED:
                raise WorkbookError(outcome.error or outcome.verdict["found"])
            inside += outcome.verdict["seconds"]
            count += 1
        seconds, after = time.monotonic() - begun, os.times()
    cores = min(workers, machine.core_count())
    around = (after.user + after.system - before.user - before.system) / count
    print(f"{_plural(workers)}: {60 * count / seconds / cores:.1f} checks a minute and core, "
          f"{single * count / cores / seconds:.2f} of the ideal; inside of checks "
          f"{inside / seconds / workers:.1%} of the time; scheduler and command take "
          f"{1000 * around:.1f} ms of a core a check; load {os.getloadavg()[0]:.1f}", flush=True)


def _print_overhead(exercise, own_version, workers, salt):
    jobs = _jobs(exercise, EMPTY_CHECKS, f"{salt} empty {workers}")
    with engine.outcomes(jobs, own_version, exercise.programs, workers, None, EMPTY_CHECK,
                         print) as outcomes:
        begun, before, moved = time.monotonic(), os.times(), _bytes_moved()
        count = sum(1 for _ in outcomes)
        seconds, after, moved = time.monotonic() - begun, os.times(), _bytes_moved() - moved
    around = after.user + after.system - before.user - before.system
    print(f"{_plural(workers)}, {count} checks without work: {1000 * seconds / count:.2f} ms each, "
          f"{1000 * around / count:.2f} ms of a core in scheduler and command, "
          f"{moved / count:.0f} bytes moved", flush=True)


def _plural(workers):
    return f"{workers} worker{'s' if workers > 1 else ''}"


def _bytes_moved():
    """What this process, in which scheduler and command are, has sent and received by TCP. What the two
    send each other is counted once."""
    found, own = [], set()
    for name in os.listdir("/proc/self/fd"):
        try:
            one = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
        with one:
            try:
                info = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
                sent, received = struct.unpack_from("QQ", info, TCP_INFO_ACKED_AT)
                found.append((one.getpeername(), sent, received))
                own.add(one.getsockname())
            except (OSError, struct.error):
                continue  # a file, or no connection
    return sum(received + (0 if peer in own else sent) for peer, sent, received in found)


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
