"""Runs the programs of exercises in the simulator, and remembers what the solution's runs gave."""

import hashlib
import importlib.util
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from . import blame, build, confinement, left_over, limited, simulate
from .errors import GraderError, WorkbookError
from .trace import Trace

VERIFIED, WRONG_RESULT = 0, 1
FAULT = 70  # the simulator has ended the program with a report
_WRONG = re.compile(r"^WRONG\b", re.M)
_REPORT = re.compile(r"^simulator: [A-Za-z ]+ (BW-[A-Z]\d\d): ", re.M)
# Reports about settings, files and PTX that is damaged.
_OF_SETTINGS = re.compile(r"BW-(?:S\d\d|P\d\d|U08|L09|A05)")
# The limits of a reader's run, as multiples of what the solution's run takes, and at least.
LIMIT_FACTOR = 50
LEAST_CYCLES = 1_000_000
LEAST_SECONDS = 30.0
SOLUTION_SECONDS = 600.0
# What a run may print, the device memory that a confined run's kernels may have, and all addresses
# of its process.
CONFINED_MEMORY_GB = 2
MOST_OUTPUT_BYTES = confinement.MIB
MOST_MEMORY_BYTES = 6 * confinement.GIB
_CYCLES = re.compile(r"^cycles\s+(\d+(?:\.\d+)?)\s*$", re.M)
_STATISTICS = re.compile(r"^simulator: (?P<kernel>.*): \d+ clusters?, (?P<cycles>\d+) cycles, .*\n",
                         re.M)


@dataclass(frozen=True)
class Result:
    """A run: how it ended, what it printed, and the simulated cycles of all its launches."""

    status: int
    output: str
    errors: str
    seconds: float
    cycles: int
    kernels: tuple
    timed_out: bool = False
    printed_too_much: bool = False
    limit: str = ""  # of verdict.LIMITS: which one has ended it
    launch_cycles: tuple = ()  # of each launch; their sum is `cycles`
    cpu_seconds: float = 0.0

    @property
    def text(self):
        return self.output + self.errors

    @property
    def verified(self):
        return self.status == VERIFIED and not (self.timed_out or self.printed_too_much
                                              or self.limit)

    @property
    def is_settled(self):
        """Whether it shows what the kernels did: a result, a report about them, a limit that they
        reached."""
        if self.verified or self.printed_too_much or self.limit == "time":
            return True
        if self.limit or self.timed_out:
            return False
        if self.status == WRONG_RESULT:
            return bool(_WRONG.search(self.output))
        code = _REPORT.findall(self.errors) if self.status == FAULT else ()
        return bool(code) and not _OF_SETTINGS.match(code[-1])

    @property
    def measured_cycles(self):
        """The simulator's own count for the last kernel that took time (a lab may launch an empty one
        after it): what budgets compare. What a program prints does not measure a reader's kernel: the
        kernel can print as well, and the program may have read its figure from device memory."""
        return float(next((one for one in reversed(self.launch_cycles) if one), 0))

    @property
    def kernel_cycles(self):
        """What a solution's program says that its kernel takes, in cycles of the SMs. Where it measured
        an empty launch too, its line comes from events and counts cycles of the highest clock, which
        SMs don't have while their tensor cores work: then those of the launch before that one."""
        if self.launch_cycles and not self.launch_cycles[-1]:
            return self.measured_cycles
        printed = _CYCLES.search(self.output)
        return float(printed.group(1) if printed else self.cycles)


def folder(root):
    """Where checks keep what they make."""
    return build.SIM.folder(Path(root)) / "checks"


def command(root, run):
    program = build.program(Path(root), build.SIM, run.program)
    if not program.is_file():
        raise WorkbookError(f"The program {run.program} is not built.")
    return [str(program), *run.options]


def clean_environment(tools, **changes):
    """The tools' environment without settings of the simulator that a user may have."""
    env = {key: value for key, value in tools.env.items() if not key.startswith("BW_SIM_")}
    if tools.cores:
        env["BW_SIM_THREADS"] = str(tools.cores)
    env.update(changes)
    return env


def execute(root, tools, run, seed, seconds, **changes):
    """One run with a seed, with further settings of the simulator; returns a Result."""
    return _execute(root, tools, confinement.NONE, run, seed, seconds, (), changes)


def _execute(root, tools, confined, run, seed, seconds, readable, settings):
    bounds = confinement.Bounds(seconds, MOST_MEMORY_BYTES)
    if confined.confines:
        settings = {**settings, "BW_SIM_MEMORY_GB": str(CONFINED_MEMORY_GB)}
    if seed:  # a seed that is chosen is named in reports
        settings = dict(settings, BW_SIM_SEED=str(seed))
    env = clean_environment(tools, BW_SIM_STATS="1", **settings)
    words = command(root, run)
    ended = limited.run(confined.command(words, bounds, readable=[*_built_folders(root), *readable]),
                        confined.seconds(bounds), env=confined.environment(env), cwd=root,
                        cpu_seconds=bounds.cpu_seconds, most_bytes=MOST_OUTPUT_BYTES)
    statistics = list(_STATISTICS.finditer(ended.errors))
    return Result(ended.status, ended.output, _STATISTICS.sub("", ended.errors), ended.seconds,
                  sum(int(match["cycles"]) for match in statistics),
                  tuple(dict.fromkeys(match["kernel"] for match in statistics)),
                  ended.timed_out, ended.printed_too_much, confined.exceeded(ended, bounds),
                  tuple(int(match["cycles"]) for match in statistics), ended.cpu_seconds)


def _built_folders(root):
    """Where programs and the libraries that they load are."""
    folders = (build.SIM.folder(Path(root)) / "bin", build.libraries(Path(root), build.SIM))
    return [path for path in folders if path.is_dir()]


def with_ptx(root, tools, run, seed, ptx, reference, focus, checks="", solution=None):
    """A run of the prebuilt program with kernels of PTX files (relative to the root), bounded by
    multiples of what the solution's run takes. `checks`: the level of checks, if not the usual one;
    the cycles are the same at each.

    The kernels are a reader's, the host's code never is: their region is compiled to PTX alone. What
    kernels print is in the standard output, so nothing there may decide a verdict. The exit status
    is the host's, and standard error (the statistics, a report) is the simulator's and the host's alone.

    `solution`: gives the PTX files of the solution's own text, compiled in the same way. A run whose end
    shows nothing of the kernels is repeated, then compared with a run of these; a GraderError
    says that this machine has ended it, or the simulator by a fault of its own."""
    cycles = run.timeout_cycles or max(LEAST_CYCLES, LIMIT_FACTOR * reference.cycles)
    settings = {"BW_SIM_FOCUS": focus, "BW_SIM_CYCLE_LIMIT": str(cycles),
                "BW_SIM_LIVELOCK_CYCLES": str(cycles)}
    if checks:
        settings["BW_SIM_CHECKS"] = checks

    def attempt(files):
        names = ":".join(os.path.relpath(file, root) for file in files)
        return _execute(root, tools, tools.confinement, run, seed,
                        max(LEAST_SECONDS, LIMIT_FACTOR * reference.seconds), files,
                        {**settings, "BW_SIM_PTX": names})

    for _ in range(2):
        result = attempt(ptx)
        if result.is_settled or solution is None:
            return result
        blame.require_no_fault_of_machine(f"The run of {run.program}", result, folder(root))
    shown = " ".join([run.program, *run.options])
    if not attempt(solution()).verified:
        raise GraderError(f"`{shown}` does not work with the solution's own text either: "
                          f"{blame.last_words(result)}", details=result.text)
    number = blame.crashed(result.status)
    if number and not result.limit:
        raise GraderError(f"The simulator itself crashed in `{shown}` (signal {number}): this is a "
                          "fault of "
                          "the simulator, whatever the answer is.", details=result.text)
    return result


def reference(root, tools, run, seed):
    """The solution's own run, remembered for as long as the program stays the same."""
    stamp = _stamp(root, run, seed)
    cached = _load(root, "runs", stamp)
    if cached:
        for name in ("kernels", "launch_cycles"):
            cached[name] = tuple(cached.get(name, ()))
        return Result(**cached)
    result = execute(root, tools, run, seed, SOLUTION_SECONDS)
    if not result.verified:
        blame.require_no_fault_of_machine(f"The solution's own run of {run.program}", result, root)
        raise GraderError(f"The solution's own run of {run.program} {' '.join(run.options)} does "
                          "not verify. That is a fault of the workbook or of this build, not "
                          "yours; its output is above.", details=result.output + result.errors)
    _save(root, "runs", stamp, dict(vars(result)))
    return result


def trace(root, tools, run):
    """The Trace of the solution's own run."""
    folder(root).mkdir(parents=True, exist_ok=True)
    left_over.remove_once(folder(root))
    log = folder(root) / f"{left_over.prefix('events')}log.jsonl"
    try:
        result = execute(root, tools, run, run.seeds[0], SOLUTION_SECONDS, BW_SIM_EVENTS=str(log))
        if not result.verified:
            raise WorkbookError(f"The solution's own run of {run.program} does not verify.",
                                details=result.output + result.errors)
        return Trace.read(log, result.output)
    finally:
        if log.exists():
            log.unlink()


def computed_answers(root, tools, exercise):
    """{key: answer} of a predict exercise, computed from the machine's event log by keys.py."""
    path = _keys_file(root, exercise)
    try:
        code = path.read_bytes()
    except OSError as error:
        raise WorkbookError(f"{path} can't be read: {error.strerror}.") from error
    wanted = sorted((question.key, question.function, question.run)
                    for question in exercise.questions)
    stamp = hashlib.sha256(code + repr(wanted).encode()
                           + "".join(_stamp(root, run, run.seeds[0])
                                     for run in exercise.runs).encode()).hexdigest()
    cached = _load(root, "answers", stamp)
    if cached:
        return cached
    module = load_keys(root, exercise)
    traces, found = {}, {}
    for question in exercise.questions:
        if question.run not in traces:
            traces[question.run] = trace(root, tools, exercise.runs[question.run])
        function = getattr(module, question.function, None)
        if function is None:
            raise WorkbookError(f"{path} has no function {question.function}.")
        found[question.key] = function(traces[question.run])
    _save(root, "answers", stamp, found)
    return found


def _keys_file(root, exercise):
    return Path(root) / "solutions" / exercise.chapter / "exercises" / "keys.py"


def load_keys(root, exercise):
    """The module keys.py of an exercise's chapter, whose functions read answers from a Trace."""
    spec = importlib.util.spec_from_file_location(f"keys_of_{exercise.chapter}",
                                                  _keys_file(root, exercise))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _stamp(root, run, seed):
    """Changes whenever the run could give something else: with the program or the simulator."""
    files = [build.program(Path(root), build.SIM, run.program)]
    libraries = build.libraries(Path(root), build.SIM)
    files += [libraries / name for name in (simulate.RUNTIME, build.OBSERVERS_LIBRARY)
              if (libraries / name).is_file()]  # else the program holds the simulator itself
    try:
        found = [file.stat() for file in files]
    except OSError:
        raise WorkbookError(f"The program {run.program} is not built.") from None
    identity = (run.program, run.options, seed,
                *((status.st_size, status.st_mtime_ns) for status in found))
    return hashlib.sha256(repr(identity).encode()).hexdigest()


def _load(root, kind, stamp):
    try:
        return json.loads((folder(root) / kind / f"{stamp}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _save(root, kind, stamp, value):
    place = folder(root) / kind
    try:
        place.mkdir(parents=True, exist_ok=True)
        temporary = place / f"{stamp}.{os.getpid()}"
        temporary.write_text(json.dumps(value), encoding="utf-8")
        temporary.replace(place / f"{stamp}.json")
    except OSError:
        pass  # it is only remembered
