"""`./workbook grade`: from a folder of submissions to verdicts, a table and a page."""

import os
import re
import sys
import time
from pathlib import Path

from .. import (api, build, chapters, confinement, console as consoles, machine, private_env,
                workspace)
from ..errors import WorkbookError
from . import engine, figures, plan, report, store, submissions, version, worker

WITHOUT_DASK = ("Dask is not installed, so Python's own process pool does the checks: on this "
                "machine alone, and "
                "if a worker process is lost, the command ends. `./workbook setup --grading` "
                "installs Dask.")
_RANGE = re.compile(r"(\d+)(?:\.(\d+))?(?:-(\d+)(?:\.(\d+))?)?")
# How the time that is left is guessed before the first check of an exercise has ended.
_GUESSED_SECONDS = 3.0


def do_grade(root, console, arguments):
    """Grades a class; 0 when every check could be made."""
    if arguments.limits_alone:
        # Of this process and of those that make the checks.
        os.environ[worker.WITHOUT] = f"{confinement.BUBBLEWRAP},{confinement.USER}"
    _become_private(root, arguments)
    if arguments.join and not engine.has_dask():
        raise WorkbookError("--join needs Dask. `./workbook setup --grading` installs it into the "
                            "checkout's "
                            "private environment.")
    exercises = _chosen(api.load_all(root), arguments.exercises)
    if arguments.join or arguments.build:
        _prepare(root, console, exercises)
        return _join(root, arguments) if arguments.join else 0
    if arguments.place is None:
        raise WorkbookError("Name a folder of submissions, or a file that lists them; see "
                            "`./workbook grade "
                            "--help`.", exit_code=2)
    if arguments.cluster is not None and not engine.has_dask():
        raise WorkbookError("--cluster needs Dask. `./workbook setup --grading` installs it into the "
                            "checkout's private environment.")
    handed_in, notes = submissions.find(arguments.place)
    out = Path(arguments.out) if arguments.out else _default_out(arguments.place)
    with store.Store(out) as results:
        own_version, confined = _prepare(root, console, exercises)
        if not engine.has_dask():
            console.say(WITHOUT_DASK)
        if confined.warning:
            console.say(f"Warning: {confined.warning}")
        grading = Grading(root, console, exercises, handed_in, results, own_version)
        try:
            grading.run(arguments.workers or machine.core_count(), arguments.cluster)
        finally:
            # Whatever ended it: what is known so far is shown, in order.
            grading.write([*notes], confined)
        return grading.say_end(out)


def _become_private(root, arguments):
    """Goes on as the private environment's Python where that has Dask and this one hasn't."""
    python = private_env.grading_python(root)
    if engine.has_dask() or python is None or private_env.is_running_in(root):
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(str(python), [str(python), str(root / "workbook"), *sys.argv[1:]])


def _default_out(place):
    place = Path(os.path.abspath(place))
    return place.with_name(f"{place.stem if place.is_file() else place.name}-grades")


def _chosen(exercises, wanted):
    """The exercises that "1.1-2.4, 3, 4.2" names."""
    if not wanted:
        return exercises
    found = []
    for part in wanted.split(","):
        match = _RANGE.fullmatch(part.strip())
        if not match:
            raise WorkbookError(f"--exercises can't be read at '{part.strip()}'. It takes "
                                "exercises, chapters "
                                "and ranges of them: 1.3 or 2 or 1.1-2.4 or 1.1-1.4,3.", exit_code=2)
        first = _bounds(match[1], match[2])
        last = _bounds(match[3], match[4]) if match[3] else first
        inside = [one for one in exercises if first[0] <= one.number <= last[1]]
        if not inside:
            numbers = sorted({one.number[0] for one in exercises})
            of_chapter = [one for one in exercises if one.number[0] == first[0][0]]
            there = (f"chapter {first[0][0]} has {of_chapter[0].id} to "
                     f"{of_chapter[-1].id}" if of_chapter else
                     f"there are exercises in chapters {numbers[0]} to {numbers[-1]}")
            raise WorkbookError(f"There is no exercise '{part.strip()}': {there}.")
        found += inside
    return sorted({one.id: one for one in found}.values(), key=lambda one: one.number)


def _bounds(chapter, number):
    """The least and the greatest number that "1" or "1.3" means."""
    if number is None:
        return (int(chapter), 0), (int(chapter), sys.maxsize)
    return (int(chapter), int(number)), (int(chapter), int(number))


def _prepare(root, console, exercises):
    """Builds what the checks run; returns (this checkout's version, its confinement)."""
    programs = sorted({name for exercise in exercises for name in api.targets(exercise)})
    workspace.prepare(root, console, build.SIM, programs, "Building what the checks run")
    own_version, tools, _ = worker.prepare()
    version.note_built(root, programs, own_version)
    return own_version, tools.confinement


def _join(root, arguments):
    """Becomes a Dask worker with this checkout on its path."""
    workers = arguments.workers or machine.core_count()
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(
        [str(root / "common"), *filter(None, [os.environ.get("PYTHONPATH")])]))
    os.execve(sys.executable, [sys.executable, "-m", "distributed.cli.dask_worker", arguments.join,
                               "--nworkers", str(workers), "--nthreads", "1", "--no-dashboard",
                               "--memory-limit", "0"], env)


class Grading:
    """One class: its cells, what is known of them, and what is still to be checked."""

    def __init__(self, root, console, exercises, handed_in, results, own_version):
        self._root, self._console, self._results = root, console, results
        self._exercises, self._handed_in, self._version = exercises, handed_in, own_version
        self.cells = [cell for one in handed_in
                      for cell in plan.cells(root, own_version, exercises, one)]
        self.errors = {}     # key -> why no verdict exists
        self._open = {}      # submission -> how many of its cells have none yet
        self._seconds = {}   # exercise -> [seconds of its checks]

    def run(self, workers, cluster):
        """Makes the checks that are missing."""
        jobs, waiting = self._what_is_missing()
        if not jobs:
            if not self.errors:
                self._console.say("Nothing has changed since the last time: every verdict is known.")
            return
        programs = sorted({name for one in self._exercises for name in api.targets(one)})
        self._console.say(f"{len(self._handed_in)} submissions, {len(self._exercises)} exercises: "
                          f"{len(jobs)} "
                          f"checks to make, {len(self.cells) - sum(map(len, waiting.values()))} "
                          "verdicts are "
                          "known.")
        left, begun = list(jobs), time.monotonic()
        remaining = {job.key: job.exercise for job in left}
        with self._console.step("Grading") as step:
            with engine.outcomes(jobs, self._version, programs, workers, cluster, engine.CHECK,
                                 self._say) as outcomes:
                for outcome in outcomes:
                    exercise = remaining.pop(outcome.key)
                    self._take(outcome, exercise, waiting[outcome.key])
                    step.detail(self._progress(len(jobs), remaining, begun))

    def _what_is_missing(self):
        """(jobs, {key: cells}) without what is known, from this run's start or an earlier one's."""
        jobs, waiting = {}, {}
        for cell in self.cells:
            if cell.error:
                self.errors[cell.key] = cell.error
                continue
            if self._results.has(cell):
                continue
            known = cell.verdict.to_dict() if cell.verdict else self._results.verdict_of(cell.key)
            if known is not None:
                self._results.add([cell], known, self._version)
                continue
            jobs[cell.key] = cell.job
            waiting.setdefault(cell.key, []).append(cell)
            self._open[cell.submission] = self._open.get(cell.submission, 0) + 1
        return list(jobs.values()), waiting

    def _take(self, outcome, exercise, cells):
        if outcome.verdict is None:
            self.errors[outcome.key] = outcome.error
        else:
            self._results.add(cells, outcome.verdict, self._version)
            self._seconds.setdefault(exercise, []).append(outcome.verdict["seconds"])
        for cell in cells:
            self._open[cell.submission] -= 1
            if not self._open[cell.submission]:
                self._say(self._sum_of(cell.submission))

    def _say(self, text):
        # The line of the step that is redrawn gives way.
        self._console.say(("\r\x1b[K" if self._console.live else "") + text)

    def _sum_of(self, submission):
        counts = figures.counts([self._results.line(cell) for cell in self.cells
                                 if cell.submission == submission])
        return f"{submission}: {figures.phrase(counts)}"

    def _progress(self, total, remaining, begun):
        """How far it is, and how long it may take still: by what each exercise's checks have taken, on
        as many cores as were busy so far."""
        done = total - len(remaining)
        known = {one: sum(times) / len(times) for one, times in self._seconds.items()}
        spent = sum(sum(times) for times in self._seconds.values())
        typical = spent / max(1, sum(map(len, self._seconds.values()))) or _GUESSED_SECONDS
        elapsed = max(time.monotonic() - begun, 1e-3)
        busy = max(spent / elapsed, 0.1)
        left = sum(known.get(one, typical) for one in remaining.values()) / busy
        return f"{done} of {total} checks, about {consoles.format_duration(left)} left"

    def write(self, notes, confined):
        """The file of verdicts in order, the table, the pages."""
        self._results.finish(self.cells)
        klass = figures.of(self._exercises, self._handed_in, self.cells, self._results.line, notes,
                           self.errors)
        report.write(self._results.folder, klass, self._version, confined, chapters.CHAPTERS)

    def say_end(self, out):
        """The last words; the exit status."""
        counts = figures.counts([self._results.line(cell) for cell in self.cells])
        self._console.say(f"{figures.phrase(counts)}. The report is {out / report.PAGE}; each "
                          "verdict is in "
                          f"{out / store.VERDICTS}.")
        if self.errors:
            first = next(iter(self.errors.values()))
            raise WorkbookError(f"{len(self.errors)} checks could not be made; the first one says: "
                                f"{first}\n"
                                f"{engine.GOES_ON}.")
        return 0
