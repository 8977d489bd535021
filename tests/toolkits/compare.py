#!/usr/bin/env python3
"""Compares what the programs do when their kernels come from two releases of the CUDA Toolkit.

    tests/toolkits/compare.py [--nvcc NVCC NVCC] [--only WORD]

Every chapter, lab and set of conformance cases of the build runs twice in the simulator: with the
kernels as the oldest and as the newest supported release compiles them (common/toolkits.json). Only the
kernels are compiled again, to PTX; BW_SIM_PTX puts them into the built program. If the build's own
compiler is one of the two releases, that run uses the program as it is.

Results, exit codes and the codes of reports have to be equal. Cycles may differ, because another release
of the compiler writes other PTX for the same source (it computes addresses elsewhere, for one): each
difference is printed, and one above LIMIT_PERCENT is a failure. What else may differ is listed, with its
reason, in explained.txt.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

from tools import build, chapters, device_code, private_env, toolkit  # noqa: E402
from tools.console import Console  # noqa: E402
from tools.errors import WorkbookError  # noqa: E402

EXPLAINED = Path(__file__).with_name("explained.txt")
LIMIT_PERCENT = 10.0
SECONDS = 900
CONFORMANCE = ("conformance", "conformance_blackwell", "conformance_hopper")
SKIPPED = 77
# Times are not results: the simulated ones are compared as cycles, the others depend on this machine.
_TIMES = re.compile(r"\b(?:wall )?[\d.]+ (?:ns|us|ms|s|cycles|GB/s|TFLOP/s)\b(?: at [\d.]+ GHz)?")


@dataclass
class Outcome:
    """One run of a program."""

    status: int
    text: list            # lines of its output, without times
    codes: list           # of the reports, in order
    launches: list = field(default_factory=list)  # (kernel, cycles)


def programs(only):
    """{name: arguments} of the programs to compare."""
    names = {chapter.name: [] for chapter in chapters.CHAPTERS}
    names.update({path.name: [] for path in sorted((build.SIM.folder(ROOT) / "bin").glob("lab_*"))
                  if not path.name.endswith("_gpu")})
    names.update({name: ["--write-values", "/dev/stdout"] for name in CONFORMANCE})
    return {name: arguments for name, arguments in names.items()
            if build.program(ROOT, build.SIM, name).is_file() and (not only or only in name)}


def compile_kernels(nvcc, name, folder):
    """The PTX files of a program, compiled with another nvcc."""
    files = []
    for number, unit in enumerate(device_code.units(ROOT, name)):
        output = folder / f"{name}-{number}.ptx"
        command = [str(nvcc), *unit.flags, f"-arch={unit.architecture}", "-ptx", "-x", "cu",
                   str(unit.source), "-o", str(output)]
        result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                universal_newlines=True, timeout=SECONDS, check=False)
        if result.returncode != 0:
            raise WorkbookError(f"{nvcc} can't compile {unit.source} of {name}.",
                                details=result.stdout[-2000:])
        if ".entry" in output.read_text(encoding="utf-8"):
            files.append(output)
    return files


def run(name, arguments, ptx, folder):
    """Runs a program in the simulator, with other kernels if `ptx` names files."""
    statistics, report = folder / "statistics", folder / "report.json"
    for path in (statistics, report):
        path.unlink() if path.exists() else None
    env = dict(os.environ, BW_SIM_STATISTICS=str(statistics), BW_SIM_REPORT=str(report), NO_COLOR="1")
    env.pop("BW_SIM_PTX", None)
    if ptx:
        env["BW_SIM_PTX"] = ":".join(map(str, ptx))
    result = subprocess.run([str(build.program(ROOT, build.SIM, name)), *arguments], env=env, cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True,
                            timeout=SECONDS, check=False)
    outcome = Outcome(result.returncode, _TIMES.sub("TIME", result.stdout).splitlines(), [])
    if report.is_file():
        made = json.loads(report.read_text(encoding="utf-8"))
        outcome.codes = [one["code"] for one in made["errors"] + made["warnings"]]
    if statistics.is_file():
        rows = [json.loads(line) for line in statistics.read_text(encoding="utf-8").splitlines()]
        outcome.launches = [(row["kernel"], row["cycles"]) for row in rows if "cycles" in row]
    return outcome


def explained():
    """{program: reason} of output that may differ."""
    lines = EXPLAINED.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def compare(name, old, new, reasons):
    """(what is wrong, what to say) about two outcomes of a program."""
    wrong = []
    if old.status != new.status:
        wrong.append(f"exit status {old.status} became {new.status}")
    if old.codes != new.codes:
        wrong.append(f"codes of reports {old.codes} became {new.codes}")
    pairs = [(one, other) for one, other in zip(old.text, new.text) if one != other]
    if len(old.text) != len(new.text):
        wrong.append(f"{len(old.text)} lines of output became {len(new.text)}")
    # Rows of numbers are tables of cycles, and a lab's last line gives its own.
    pairs = [(one, other) for one, other in pairs
             if not one.startswith("cycles ") and re.search(r"[A-Za-z]{2}", one)]
    if pairs and name not in reasons:
        wrong.append(f"{len(pairs)} lines of output differ; the first: {pairs[0][0]!r} became "
                     f"{pairs[0][1]!r}")
    if [kernel for kernel, _ in old.launches] != [kernel for kernel, _ in new.launches]:
        wrong.append("other kernels were launched")
    before, after = (sum(cycles for _, cycles in one.launches) for one in (old, new))
    percent = 100.0 * (after - before) / before if before else 0.0
    if abs(percent) > LIMIT_PERCENT:
        wrong.append(f"cycles differ by {percent:+.2f} %")
    return wrong, f"{before} cycles, {percent:+.2f} %" if percent else f"{before} cycles, equal"


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", nargs=2, metavar="NVCC", help="the two compilers; otherwise those of "
                        "the oldest and the newest supported release, from pinned wheels")
    parser.add_argument("--only", default="", metavar="WORD", help="programs whose name contains it")
    return parser.parse_args(arguments)


def main(arguments):
    options, console = parse(arguments), Console()
    ends = [toolkit.SUPPORTED["oldest"], toolkit.SUPPORTED["newest"]]
    built = Path(build.cached(build.SIM.folder(ROOT), "CMAKE_CUDA_COMPILER") or "")
    try:
        compilers = [Path(nvcc) for nvcc in options.nvcc] if options.nvcc else [
            private_env.other_toolkit(ROOT, release, console) for release in ends]
    except WorkbookError as error:
        print(f"Skipped: {error}")
        return SKIPPED
    releases = [toolkit.release_of(nvcc) for nvcc in (*compilers, built)]
    if None in releases:
        print(f"This nvcc does not run: {(*compilers, built)[releases.index(None)]}.")
        return 1
    print("Comparing {} with {}; built with {}.".format(
        *(".".join(map(str, release)) for release in releases)), flush=True)
    failed, reasons, chosen = [], explained(), programs(options.only)
    for name, given in chosen.items():
        with tempfile.TemporaryDirectory(prefix="bw-toolkits-") as temporary:
            folder = Path(temporary)
            outcomes = []
            for index, nvcc in enumerate(compilers):
                (folder / str(index)).mkdir()
                ptx = [] if releases[index] == releases[2] else compile_kernels(nvcc, name,
                                                                               folder / str(index))
                outcomes.append(run(name, given, ptx, folder))
        wrong, words = compare(name, *outcomes, reasons)
        print(f"{name}: {'; '.join(wrong) if wrong else 'the same'} ({words})", flush=True)
        failed += [name] if wrong else []
    print(f"{len(chosen) - len(failed)} of {len(chosen)} programs do the same with both.")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
