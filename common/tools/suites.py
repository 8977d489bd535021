"""`./workbook suite NAME FOLDER`: a public suite of faulty and right kernels, against the simulator.

The programs stay where they are; each is built with nvcc into build/suites, runs in the simulator at
the level `races` and is judged by what the suite says about it. docs/race_suites.md has the outcome.
"""

import hashlib
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from . import build, elf, simulate, toolkit
from .errors import WorkbookError
from .limited import run_all

RIGHT, RACE, FAULT = "right", "race", "fault"
# What the simulator says of a run, worst first; NOTHING is what a right program wants.
NOTHING, RUN_FAILED, UNDECIDED = "nothing", "not run", "no end"

_CODE = re.compile(r"\bBW-([A-Z])\d+")
_RACE_LETTER = "R"
_PLACE = re.compile(r"([\w.+-]+\.(?:cu|cuh|h|hpp|cpp)):(\d+)")
# Words of a fault's report before codes existed, and of the error that ends a stuck launch.
_FAULT = re.compile(r"^simulator: (?!cuda)", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A program of a suite, and what is wrong with it according to the suite."""

    name: str
    source: Path
    expected: str              # RIGHT, RACE or FAULT
    includes: tuple = ()
    arguments: tuple = ((),)   # of each run
    environment: tuple = ()    # (name, value) of each run
    function: str = ""         # a report must name a line of this function
    pattern: str = ""          # or hold this text


@dataclass
class Finding:
    """What was said about a program: `said` is RACE, FAULT, NOTHING, RUN_FAILED or UNDECIDED."""

    program: Program
    said: str
    detail: str = ""
    kinds: set = field(default_factory=set)

    @property
    def as_expected(self):
        """Whether that is what the suite says."""
        if self.program.expected == RIGHT:
            return self.said == NOTHING
        return self.program.expected in self.kinds


@dataclass(frozen=True)
class Suite:
    """The location of a suite's programs below the given folder, and how they are found."""

    title: str
    layout: str     # for the one who gives another folder
    find: object    # folder -> [Program], empty where this is not the suite


def _below(folder, *names):
    """The first folder among these that is there, at `folder` or one level below it."""
    for place in [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]:
        for name in names:
            if (place / name).is_dir():
                return place / name
    return None


# Indigo as published with HiRace: the words of a file's name say what is wrong with the program.
_RACE_WORDS = {"atomicBug", "guardBug", "raceBug", "syncBug"}
_BOUNDS_WORD = "boundsBug"
# Vertices of the largest graph that the suite brings: each has a thread, in several CTAs of two warps.
_INDIGO_THREADS, _INDIGO_CTAS = "64", "4"


def indigo_verdict(stem):
    """What the name of a program of Indigo says is wrong with it."""
    words = set(stem.split("_"))
    if words & _RACE_WORDS:
        return RACE
    return FAULT if _BOUNDS_WORD in words else RIGHT


def _find_indigo(folder):
    sources = _below(folder, "indigo_sources")
    if sources is None:
        return []
    include, inputs = sources.parent / "indigo_include", sources.parent / "input"
    graphs = sorted(inputs.rglob("*.egr"))
    if not include.is_dir() or not graphs:
        raise WorkbookError(f"{sources.parent} holds indigo_sources, but no indigo_include or no "
                            "graph (input/*.egr); both belong to the suite.", exit_code=2)
    runs = tuple((str(graph), _INDIGO_THREADS, _INDIGO_CTAS) for graph in graphs)
    return [Program(path.stem, path, indigo_verdict(path.stem), (include,), runs)
            for path in sorted(sources.rglob("*.cu"))]


def _find_scor(folder):
    sources = _below(folder, "microbenchmarks/src", "microbenchmarks")
    if sources is None:
        return []
    verdicts = {"race": RACE, "norace": RIGHT}
    return [Program(path.stem, path, verdicts[path.stem.split("_")[0]])
            for path in sorted(sources.glob("*.cu")) if path.stem.split("_")[0] in verdicts]


_UNWRITTEN = (("BW_SIM_MEMORY_CHECKS", "unwritten"),)
_LEAKS = (("BW_SIM_MEMORY_CHECKS", "leaks"),)
# The faults that NVIDIA has planted in the samples of its compute-sanitizer. Those of one program are
# looked for in one run each, in which the program continues after a fault.
_SAMPLES = (
    ("Memcheck/memcheck_demo.cu", "misaligned", FAULT, "unaligned_kernel", "", ()),
    ("Memcheck/memcheck_demo.cu", "out_of_bounds", FAULT, "out_of_bounds_function", "", ()),
    ("Memcheck/memcheck_demo.cu", "leak", FAULT, "", "1024 bytes", _LEAKS),
    ("Racecheck/block_error.cu", "", RACE, "sumKernel", "", ()),
    ("Racecheck/warp_error.cu", "", RACE, "sumKernel", "", ()),
    ("Initcheck/memset_error.cu", "", FAULT, "vectorAdd", "", _UNWRITTEN),
    ("Synccheck/divergent_threads.cu", "", FAULT, "myKernel", "", ()),
    ("Synccheck/illegal_syncwarp.cu", "", FAULT, "myKernel", "", ()),
    ("Suppressions/suppressions_initcheck_demo.cu", "unwritten", FAULT, "mult", "", _UNWRITTEN),
    ("Suppressions/suppressions_initcheck_demo.cu", "leak", FAULT, "", "492 bytes", _LEAKS),
)


def _find_sanitizer(folder):
    place = next((path for path in [folder, *folder.iterdir()]
                  if (path / "Memcheck").is_dir() and (path / "Racecheck").is_dir()), None)
    if place is None:
        return []
    programs = []
    for file, part, expected, function, pattern, environment in _SAMPLES:
        if (place / file).is_file():
            name = Path(file).stem + (f".{part}" if part else "")
            programs.append(Program(name, place / file, expected, function=function, pattern=pattern,
                                    environment=environment + (("BW_SIM_ON_ERROR", "continue"),)))
    return programs


SUITES = {
    "indigo": Suite("Indigo, as published with HiRace",
                    "indigo_sources/**/*.cu, indigo_include/indigo_cuda.h and input/*.egr",
                    _find_indigo),
    "scor": Suite("ScoR's micro-benchmarks", "microbenchmarks/src/{race,norace}_*.cu", _find_scor),
    "sanitizer": Suite("NVIDIA's compute-sanitizer samples",
                       "Memcheck/, Racecheck/, Initcheck/ and Synccheck/", _find_sanitizer),
}


def programs_of(name, folder):
    """The programs of the suite `name` in a folder; refuses a folder that isn't one."""
    suite, folder = SUITES[name], Path(folder)
    if not folder.is_dir():
        raise WorkbookError(f"{folder} is not a folder. Name the one that holds {suite.title} "
                            f"({suite.layout}).", exit_code=2)
    programs = suite.find(folder)
    if not programs:
        raise WorkbookError(f"{folder} is not {suite.title}: there should be {suite.layout}, at the "
                            "folder or one level below it.", exit_code=2)
    return programs


def lines_of_function(source, function):
    """The numbers of the lines of a function's definition: from its name to the brace that closes it."""
    depth, lines, inside = 0, [], False
    for number, line in enumerate(source.splitlines(), 1):
        if not lines and not re.search(rf"\b{function}\s*\(", line):
            continue
        lines.append(number)
        depth += line.count("{") - line.count("}")
        inside = inside or "{" in line
        if inside and depth <= 0:
            return range(lines[0], number + 1)
        if not inside and ";" in line:
            lines = []  # a declaration
    return range(0)


def kinds_said(text):
    """The kinds of report in what a run printed: RACE, FAULT."""
    kinds = {RACE if letter == _RACE_LETTER else FAULT for letter in _CODE.findall(text)}
    if not kinds and _FAULT.search(text):
        kinds.add(FAULT)
    return kinds


def _first_line(text):
    return next((line for line in text.splitlines() if _CODE.search(line) or _FAULT.match(line)), "")


def judge(program, runs):
    """The Finding of a program from its ended runs."""
    kinds, detail, problem = set(), "", ""
    lines = lines_of_function(program.source.read_text(encoding="utf-8", errors="replace"),
                              program.function) if program.function else range(0)
    for run in runs:
        if run.timed_out:
            problem = problem or UNDECIDED
            continue
        said = kinds_said(run.text)
        if said and program.function:
            places = [int(line) for file, line in _PLACE.findall(run.text)
                      if file == program.source.name]
            said = said if any(line in lines for line in places) else set()
        if said and program.pattern and program.pattern not in run.text:
            said = set()
        if not said and run.status < 0:
            problem = problem or RUN_FAILED
            detail = detail or f"signal {-run.status}"
        detail = detail or (_first_line(run.text) if said else "")
        kinds |= said
    if program.expected in kinds:
        said = program.expected
    else:
        said = RACE if RACE in kinds else FAULT if FAULT in kinds else problem or NOTHING
    return Finding(program, said, detail, kinds)


def _binary(place, program, flags):
    text = "\n".join([str(program.source), str(program.source.stat().st_mtime_ns), *flags])
    return place / f"{program.source.stem}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def build_programs(programs, nvcc, place, jobs, step):
    """Builds each source once; returns {program: binary}, and {program: the compiler's words}."""
    place.mkdir(parents=True, exist_ok=True)
    commands, binaries, failed = {}, {}, {}
    for program in programs:
        flags = ["-std=c++17", "-lineinfo", "-w", "-cudart", "shared",
                 "-gencode", "arch=compute_100a,code=compute_100a"]
        flags += [f"-I{path}" for path in program.includes]
        binaries[program] = _binary(place, program, flags)
        if not binaries[program].is_file():
            commands[binaries[program]] = [str(nvcc), *flags, "-o", f"{binaries[program]}.part",
                                           str(program.source)]
    step.detail(f"{len(commands)} to build")
    ended = dict(zip(commands, run_all(list(commands.values()), seconds=300, parallel=jobs)))
    for binary, result in ended.items():
        if result.status == 0:
            os.replace(f"{binary}.part", binary)
    for program, binary in binaries.items():
        if binary in ended and ended[binary].status != 0:
            failed[program] = ended[binary].text
    return binaries, failed


def run_programs(root, programs, binaries, seeds, seconds, jobs, step):
    """A Finding for each program: its runs with every seed until what is expected was said."""
    found = {program: [] for program in programs}
    for seed in range(seeds):
        # A right program runs with every seed; another one until its fault is found.
        waiting = [program for program in programs if program.expected == RIGHT
                   or not judge(program, found[program]).as_expected]
        step.detail(f"seed {seed}: {len(waiting)} programs")
        commands, owners = [], []
        for program in waiting:
            for arguments in program.arguments:
                settings = dict(program.environment, BW_SIM_CHECKS="races", BW_SIM_SEED=str(seed),
                                BW_SIM_THREADS="1")
                commands.append(["env", *(f"{key}={value}" for key, value in settings.items()),
                                 str(binaries[program]), *arguments])
                owners.append(program)
        env = simulate.environment(root, os.environ, None)
        for program, ended in zip(owners, run_all(commands, seconds, env=env, parallel=jobs)):
            found[program].append(ended)
    return [judge(program, found[program]) for program in programs]


def table(findings):
    """What the suite says, by rows, against what was said."""
    counts = Counter((finding.program.expected, finding.said) for finding in findings)
    columns = [RACE, FAULT, NOTHING] + [said for said in (UNDECIDED, RUN_FAILED)
                                        if any(one == said for _, one in counts)]
    width = 11
    lines = ["the suite says".ljust(16) + "".join(f"{column:>{width}}" for column in columns)
             + f"{'sum':>{width}}"]
    for expected in (RIGHT, RACE, FAULT):
        row = [counts[expected, column] for column in columns]
        if any(row):
            lines.append(expected.ljust(16) + "".join(f"{count:>{width}}" for count in row)
                         + f"{sum(row):>{width}}")
    return "\n".join(lines)


def do_suite(root, console, arguments, prepare):
    """Builds and runs a suite; 0 if every program was judged as the suite does."""
    programs = programs_of(arguments.suite, arguments.folder)
    if arguments.only:
        programs = [program for program in programs if re.search(arguments.only, program.name)]
        if not programs:
            raise WorkbookError(f"No program of the suite has a name that matches {arguments.only}.",
                                exit_code=2)
    prepare(root, console, build.SIM, simulate.TARGETS, "Building the simulator")
    found, _ = toolkit.find(root)
    jobs = arguments.jobs or os.cpu_count() or 1
    with console.step(f"Building {SUITES[arguments.suite].title}") as step:
        binaries, failed = build_programs(programs, found.nvcc,
                                          root / "build" / "suites" / arguments.suite, jobs, step)
    for program in programs:
        if program not in failed:
            simulate.check(elf.read(binaries[program]), binaries[program])
    with console.step(f"Running {len(programs) - len(failed)} programs") as step:
        findings = run_programs(root, [one for one in programs if one not in failed], binaries,
                                arguments.seeds, arguments.seconds, jobs, step)
    findings += [Finding(program, RUN_FAILED, text.strip().splitlines()[-1] if text.strip() else "")
                 for program, text in failed.items()]
    print(table(findings))
    wrong = [finding for finding in findings if not finding.as_expected]
    for finding in wrong:
        print(f"{finding.program.name}: {finding.program.expected} in the suite, "
              f"said: {finding.said}" + (f" ({finding.detail})" if finding.detail else ""))
    print(f"{len(findings) - len(wrong)} of {len(findings)} judged as the suite does")
    return 1 if wrong else 0
