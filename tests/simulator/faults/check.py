"""Holds the simulator to the catalogue of faults:

    check.py kernels            the small kernels
    check.py chapters           a fifth of the patches of the solutions
    check.py chapters slow      all of them
    check.py NAME ...           these cases, with their reports
    check.py --programs FOLDER ...   with other programs than the built ones

Of a fault the code, the lines and the culprits have to match the catalogue; a right
kernel has to verify under each seed without a word. Faults that the simulator doesn't find yet are
listed, and one of them that is found is an error: the list says what is true.
"""

import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workbook"))
import support  # noqa: E402  (finds common/)
from tools import build, device_code, faults, reports, runs  # noqa: E402
from tools.errors import WorkbookError  # noqa: E402
from tools.try_exercise import tools_of  # noqa: E402

SECONDS = 120.0
CYCLES, LIVELOCK_CYCLES = 5_000_000, 500_000
FAULT_SEEDS = (0, 3)
RIGHT_SEEDS = (0, 1, 2)
WORKERS = 2
_PLACE = re.compile(r"([\w.]+\.(?:cuh|cu)):(\d+)")
_CODE = re.compile(r"BW-[A-Z]\d+")


@dataclass(frozen=True)
class Outcome:
    """What the program did under one seed."""

    seed: int
    status: int
    output: str
    report: str

    @property
    def codes(self):
        return _CODE.findall(self.report)

    @property
    def places(self):
        return {(file, int(line)) for file, line in _PLACE.findall(self.report)}


class Checker:
    def __init__(self, root, programs):
        self.root, self.tools, self.programs = root, tools_of(root), programs

    def outcomes(self, case):
        with tempfile.TemporaryDirectory(prefix="fault-") as folder:
            files = self._compiled(case, Path(folder))
            for seed in case.seeds or (RIGHT_SEEDS if case.is_right else FAULT_SEEDS):
                yield self._run(case, seed, files)

    def _compiled(self, case, folder):
        if not case.replaced:
            return ()
        compiled = device_code.compile_to_ptx(self.root, self.tools, [case.program], case.replaced,
                                              folder, case.sources)[case.program]
        if not compiled.files:
            raise WorkbookError(f"{case.where}: the patched kernel does not compile.",
                                details=compiled.errors)
        return compiled.files

    def _run(self, case, seed, files):
        program = (self.programs / case.program if self.programs else
                   build.program(self.root, build.SIM, case.program))
        if not program.is_file():
            raise WorkbookError(f"{case.where}: the program {case.program} is not built.")
        settings = {"BW_SIM_SEED": str(seed), "BW_SIM_CHECKS": case.level,
                    "BW_SIM_CYCLE_LIMIT": str(CYCLES), "BW_SIM_LIVELOCK_CYCLES": str(LIVELOCK_CYCLES),
                    "BW_SIM_THREADS": "1", "BW_SIM_MEMORY_GB": "2", **dict(case.settings)}
        # Reports name the lines of this file and those of the functions it calls.
        settings["BW_SIM_FOCUS"] = (reports.YOURS + case.replaced[0].name.name if case.replaced
                                    else Path(case.file).name)
        if files:
            settings["BW_SIM_PTX"] = ":".join(str(file) for file in files)
        environment = {**runs.clean_environment(self.tools), **settings}
        try:
            ended = subprocess.run([str(program), *case.options], env=environment, cwd=self.root,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   universal_newlines=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Outcome(seed, -1, "", f"it did not end within {SECONDS:.0f} s")
        return Outcome(seed, ended.returncode, ended.stdout,
                       ended.stderr.replace(reports.YOURS, ""))

    def problem(self, case, outcome):
        """What is not as the catalogue says, or ""."""
        if case.is_right:
            if outcome.status != runs.VERIFIED:
                return f"it is right, and ends with status {outcome.status}"
            if outcome.codes:
                return f"it is right, and {outcome.codes[0]} is reported"
            return "" if "verified" in outcome.output else "it does not say that it has verified"
        if outcome.status != runs.FAULT:
            return f"nothing is reported: it ends with status {outcome.status}"
        if not outcome.codes:
            return "the report has no code"
        if outcome.codes[0] != case.code:
            return f"{outcome.codes[0]} is reported; it is {case.code}"
        for file, line in case.places:
            if (file, line) not in outcome.places:
                named = ", ".join(sorted(f"{one}:{number}" for one, number in outcome.places))
                return f"{file}:{line} is not named, but {named or 'no line'}"
        for culprit in case.culprits:
            if not re.search(culprit, outcome.report):
                return f"`{culprit}` is not named"
        return ""


@dataclass(frozen=True)
class Verdict:
    case: faults.Case
    problem: str
    outcome: Outcome
    seconds: float


def verdict(checker, case):
    """The first seed's problem, if there is one."""
    begin = time.monotonic()
    problem, last = "", None
    for last in checker.outcomes(case):
        problem = checker.problem(case, last)
        if problem:
            problem += f" (seed {last.seed})"
            break
    return Verdict(case, problem, last, time.monotonic() - begin)


def chosen(cases, arguments):
    """The cases that the arguments name."""
    if not arguments or arguments == ["all"]:
        return cases
    if arguments[0] == "kernels":
        return [case for case in cases if not case.chapter]
    if arguments[0] == "chapters":
        patches = [case for case in cases if case.chapter]
        if arguments[1:] == ["slow"]:
            return patches
        return [case for case in patches if not case.slow]
    by_name = {case.name: case for case in cases}
    unknown = [name for name in arguments if name not in by_name]
    if unknown:
        raise WorkbookError(f"There is no case {unknown[0]}; there are {', '.join(by_name)}.")
    return [by_name[name] for name in arguments]


def show(one, whole):
    """A line for each verdict; the report where something is wrong."""
    case = one.case
    what = "right" if case.is_right else case.code
    status = one.problem or "ok"
    if case.not_found:
        status = f"not yet found ({case.not_found}): {one.problem}" if one.problem else \
            "is found: take the words `not found` away"
    print(f"{case.where} ({what}): {status} [{one.seconds:.1f} s]", flush=True)
    if whole or (one.problem and not case.not_found):
        for line in (one.outcome.output + one.outcome.report).rstrip().split("\n")[:60]:
            print(f"    | {line}")


def main(arguments):
    root, programs = support.ROOT, None
    if arguments[:1] == ["--programs"]:
        programs, arguments = Path(arguments[1]), arguments[2:]
    names_cases = bool(arguments) and arguments[0] not in ("all", "kernels", "chapters")
    cases = chosen(faults.load_all(root), arguments)
    checker = Checker(root, programs)
    missing, wrong = [], []
    with ThreadPoolExecutor(WORKERS) as pool:
        for one in pool.map(lambda case: verdict(checker, case), cases):
            show(one, names_cases)
            if bool(one.problem) != bool(one.case.not_found):
                wrong.append(one)
            elif one.problem:
                missing.append(one)
    right = sum(case.is_right for case in cases)
    print(f"{len(cases) - right} faults and {right} right kernels; {len(wrong)} are not as the "
          f"catalogue says; not yet found: {len(missing)}")
    for one in missing:
        print(f"  {one.case.name}: {one.case.code or 'right'}, {one.case.not_found}")
    return 1 if wrong else 0


if __name__ == "__main__":
    support.skip_without_toml()
    try:
        sys.exit(main(sys.argv[1:]))
    except WorkbookError as error:
        print(f"{error.details}\nerror: {error}", file=sys.stderr)
        sys.exit(1)
