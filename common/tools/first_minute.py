"""Measures what a newcomer waits for, in a fresh clone without caches, and writes it into README.md:

    python3 -m tools.first_minute            (with common/ on PYTHONPATH; the tools are installed)
    python3 -m tools.first_minute --write    into README.md, between the marks
                                             <!-- measured first minute --> and <!-- /measured -->

The first `run 5`, the next one, `test`, and the `check` of a written answer. It takes a quarter of an
hour, and the machine should have nothing else to do. What `setup` would download comes from this
checkout's private environment.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import api, build, machine, private_env, regions
from .errors import WorkbookError

README = "README.md"
BEGIN, END = "<!-- measured first minute -->", "<!-- /measured -->"
_BETWEEN = re.compile(f"({re.escape(BEGIN)}\n).*?(?=^{re.escape(END)}$)", re.S | re.M)
MIB = 1 << 20


@dataclass(frozen=True)
class Step:
    """What was measured: a command as the reader types it, and its value with the unit."""

    name: str
    value: str


def fresh_clone(root, folder):
    """A clone of the last commit in `folder`, with the downloads of `root` and nothing built."""
    clone = Path(folder) / "workbook"
    _require(subprocess.run(["git", "clone", "--quiet", str(root), str(clone)], check=False),
             f"{root} can't be cloned into {folder}")
    if private_env.folder(root).is_dir():
        shutil.copytree(str(private_env.folder(root)), str(private_env.folder(clone)), symlinks=True)
    return clone


def environment():
    """The environment without caches of compilers, settings of the simulator, and the PYTHONPATH on
    which this module was found: a newcomer has none of them."""
    env = {name: value for name, value in os.environ.items()
           if name != "PYTHONPATH" and not name.startswith(("BW_", "CCACHE_", "CMAKE_"))}
    return {**env, "CCACHE_DISABLE": "1"}


def write_answer(clone):
    """Writes the solution into the first exercise that asks for code; returns its number."""
    exercise = next(one for one in api.load_all(clone) if one.is_in_code)
    path = clone / exercise.reader_file
    lines = regions.read_text(path).split("\n")
    own = regions.reader_region("\n".join(lines), path, exercise.id)
    first = own.first - 1
    lines[first:first + len(own.lines)] = exercise.region.body
    path.write_text("\n".join(lines), encoding="utf-8")
    return exercise.id


def measure(clone, show=print):
    """The steps, in the order in which a newcomer takes them."""
    steps = []

    def timed(name, *words):
        begin = time.monotonic()
        result = subprocess.run([str(clone / "workbook"), *words], cwd=str(clone), env=environment(),
                                stdin=subprocess.DEVNULL, check=False)
        seconds = time.monotonic() - begin
        _require(result, f"`./workbook {' '.join(words)}` failed in a fresh clone")
        steps.append(Step(name, _spoken(seconds)))
        show(f"{name}: {steps[-1].value}")

    timed("`./workbook run 5`, the first time", "run", "5")
    timed("`./workbook run 5` again", "run", "5")
    timed("`./workbook test`, after that", "test")
    exercise = write_answer(clone)
    timed(f"`./workbook check {exercise}` of a written answer", "check", exercise)
    steps.append(Step("`build/sim` in the end", f"{size_of(build.SIM.folder(clone)) // MIB} MiB"))
    return steps


def _spoken(seconds):
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{int(seconds + 0.5) // 60} min {int(seconds + 0.5) % 60} s"


def size_of(folder):
    """What the files of a folder take on disk, in bytes; a file of several names counts once."""
    found = {}
    for path in Path(folder).rglob("*"):
        status = path.lstat()
        found[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(found.values())


def table(steps):
    """The lines between the marks."""
    lines = [f"Measured on {machine.processor_name()}, {machine.core_count()} cores, without caches:",
             "", "| command | takes |", "|---|---:|"]
    return "\n".join([*lines, *(f"| {step.name} | {step.value} |" for step in steps), ""])


def replaced(text, lines):
    """A text with other lines between its marks."""
    if len(_BETWEEN.findall(text)) != 1:
        raise WorkbookError(f"{README} has to hold the marks {BEGIN} and {END} once, each in a line of "
                            "its own. Put them where the measured times belong.")
    return _BETWEEN.sub(lambda match: match[1] + lines, text)


def _require(result, sentence):
    if result.returncode != 0:
        raise WorkbookError(f"{sentence} (exit status {result.returncode}); its own words are above. "
                            "Nothing was written.")


def main(arguments=None):
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.first_minute", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write the values into {README}")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2],
                        help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    readme = chosen.root / README
    try:
        if chosen.write:
            replaced(regions.read_text(readme), "")  # before a quarter of an hour is spent
        with tempfile.TemporaryDirectory(prefix="workbook_first_") as folder:
            lines = table(measure(fresh_clone(chosen.root, folder)))
        if chosen.write:
            readme.write_text(replaced(regions.read_text(readme), lines), encoding="utf-8")
    except WorkbookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
