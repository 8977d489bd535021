#!/usr/bin/env python3
"""Compares what the programs do when their kernels come from two releases of the CUDA Toolkit.

    tests/toolkits/compare.py [--nvcc NVCC NVCC] [--only WORD]

Every chapter, lab and set of conformance cases of the build runs twice in the simulator: with the
kernels as the oldest and as the newest supported release compiles them (common/toolkits.json). Only the
kernels are compiled again, to PTX; BW_SIM_PTX puts them into the built program. If the build's own
compiler is one of the two releases, that run uses the program as it is.

Each release writes its own version of PTX, and the simulator says for every launch which version the
kernel was taken from. A launch in another compiler's is a failure: BW_SIM_PTX finds kernels by their
mangled names, and one that it does not find would be compared with itself. (PTX that a program
composes, such as the wgmma cases of conformance_hopper, has an older version and is the same for both.)

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
    versions: list = field(default_factory=list)  # of the PTX of these launches' kernels


@dataclass(frozen=True)
class Compiler:
    """One of the two releases."""

    nvcc: Path
    release: str          # "13.5", as the PTX that it writes names it
    version: str          # of that PTX: "9.5"
    is_of_build: bool     # whether the built programs hold its PTX


def programs(only):
    """{name: arguments} of the programs to compare."""
    names = {chapter.name: [] for chapter in chapters.CHAPTERS}
    names.update({path.name: [] for path in sorted((build.SIM.folder(ROOT) / "bin").glob("lab_*"))
                  if not path.name.endswith("_gpu")})
    names.update({name: ["--write-values", "/dev/stdout"] for name in CONFORMANCE})
    return {name: arguments for name, arguments in names.items()
            if build.program(ROOT, build.SIM, name).is_file() and (not only or only in name)}


def compile_to_ptx(nvcc, source, flags, output):
    """Compiles a source to PTX; returns its text."""
    command = [str(nvcc), *flags, "-ptx", "-x", "cu", str(source), "-o", str(output)]
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            universal_newlines=True, timeout=SECONDS, check=False)
    if result.returncode != 0:
        raise WorkbookError(f"{nvcc} can't compile {source}.", details=result.stdout[-2000:])
    return output.read_text(encoding="utf-8")


def origin(ptx):
    """(release of the compiler that wrote a PTX text, version of PTX)."""
    release = re.search(r"^// Cuda compilation tools, release (\d+\.\d+)", ptx, re.M)
    version = re.search(r"^\.version (\d+\.\d+)", ptx, re.M)
    return release and release.group(1), version and version.group(1)


def compiler(nvcc, built):
    """The Compiler of an nvcc, from what it writes; `built` is the nvcc of the build."""
    with tempfile.TemporaryDirectory(prefix="bw-toolkits-") as temporary:
        source = Path(temporary) / "probe.cu"
        source.write_text("__global__ void probe() {}\n", encoding="utf-8")
        release, version = origin(compile_to_ptx(nvcc, source, [], source.with_suffix(".ptx")))
    same = toolkit.release_of(nvcc) == toolkit.release_of(built)
    return Compiler(Path(nvcc), release, version, same)


def compile_kernels(one, name, folder):
    """The PTX files of a program, as a Compiler writes them."""
    files = []
    for number, unit in enumerate(device_code.units(ROOT, name)):
        output = folder / f"{name}-{number}.ptx"
        # The headers of the build's toolkit are not this compiler's.
        flags = [flag for flag in unit.flags if not flag.startswith("-isystem")]
        text = compile_to_ptx(one.nvcc, unit.source, [*flags, f"-arch={unit.architecture}"], output)
        if origin(text) != (one.release, one.version):
            raise WorkbookError(f"The PTX of {unit.source} comes from {origin(text)} (release, version "
                                f"of PTX), not from {(one.release, one.version)}.")
        if ".entry" in text:
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
        rows = [row for row in rows if "cycles" in row]
        outcome.launches = [(row["kernel"], row["cycles"]) for row in rows]
        outcome.versions = [row["ptx"] for row in rows]
    return outcome


def explained():
    """{program: reason} of output that may differ."""
    lines = EXPLAINED.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def taken_elsewhere(outcome, one, versions):
    """What is wrong with the origin of the kernels that were run for a Compiler; `versions`: of the PTX
    that the two compilers and the build's one write."""
    others = sorted({(version, kernel)
                     for (kernel, _), version in zip(outcome.launches, outcome.versions)
                     if version in versions and version != one.version})
    return [f"kernels of another compiler were run, {len(others)} in all; the first: {others[0][1]} "
            f"from PTX {others[0][0]}, not {one.version}"] if others else []


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


def compare_program(name, given, compilers, reasons, versions):
    """Runs a program with both compilers' kernels; returns what `compare` does. `versions`: see
    taken_elsewhere."""
    outcomes, wrong = [], []
    with tempfile.TemporaryDirectory(prefix="bw-toolkits-") as temporary:
        for index, one in enumerate(compilers):
            folder = Path(temporary) / str(index)
            folder.mkdir()
            ptx = [] if one.is_of_build else compile_kernels(one, name, folder)
            outcomes.append(run(name, given, ptx, folder))
            wrong += taken_elsewhere(outcomes[-1], one, versions)
    more, words = compare(name, *outcomes, reasons)
    return wrong + more, words


def main(arguments):
    options, console = parse(arguments), Console()
    built = build.cached(build.SIM.folder(ROOT), "CMAKE_CUDA_COMPILER")
    try:
        chosen = options.nvcc or [private_env.other_toolkit(ROOT, toolkit.SUPPORTED[end], console)
                                  for end in ("oldest", "newest")]
    except WorkbookError as error:
        print(f"Skipped: {error}")
        return SKIPPED
    for nvcc in (*chosen, built):
        if not nvcc or toolkit.release_of(nvcc) is None:
            print(f"This nvcc does not run: {nvcc}.")
            return 1
    compilers = [compiler(nvcc, built) for nvcc in chosen]
    print("Comparing {} (PTX {}) with {} (PTX {}); built with {}.".format(
        *(word for one in compilers for word in (one.release, one.version)), built), flush=True)
    if compilers[0].version == compilers[1].version:
        print(f"Both compilers write PTX {compilers[0].version}. Name compilers of two releases.")
        return 1
    failed, reasons, given = [], explained(), programs(options.only)
    versions = {one.version for one in (*compilers, compiler(built, built))}
    for name, arguments_of_program in given.items():
        try:
            wrong, words = compare_program(name, arguments_of_program, compilers, reasons, versions)
        except WorkbookError as error:
            wrong, words = [str(error), error.details], "not compared"
        print(f"{name}: {'; '.join(wrong) if wrong else 'the same'} ({words})", flush=True)
        failed += [name] if wrong else []
    print(f"{len(given) - len(failed)} of {len(given)} programs do the same with both.")
    return 1 if failed or not given else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
