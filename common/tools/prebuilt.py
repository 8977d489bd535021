"""A workbook that came as a wheel: its programs are built already, and there is nothing to build others
with. package.py writes what is read here.

    build/sim/prebuilt.json       version, targets, and how the device code of each program is compiled
    build/sim/prebuilt/NN.E/      the faulty kernels of a find exercise, as PTX: PROGRAM-NUMBER.ptx
"""

import json
import os
from pathlib import Path

from . import build, setup
from .errors import WorkbookError


def description(root):
    """Where a wheel says what it holds."""
    return build.SIM.folder(Path(root)) / "prebuilt.json"


def bugs(root):
    """The folder of the faulty kernels."""
    return description(root).with_suffix("")


def is_used(root):
    """Whether this workbook came as a wheel."""
    return description(root).is_file()


def _read(root):
    try:
        return json.loads(description(root).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WorkbookError(f"{description(root)} can't be read ({error}). Make a new folder with "
                            "`blackwell-workbook FOLDER` and copy your chapters/ into it.") from error


def version(root):
    """The wheel's version."""
    return _read(root)["version"]


def prepare(root, console, configuration, targets, only_one):
    """The Tools of a workbook whose targets are all there; an error for others. `only_one(root,
    console)` keeps other commands of this folder from installing at the same time."""
    missing = sorted(set(targets) - set(_read(root)["targets"]))
    if configuration.preset != build.SIM.preset or missing or not targets:
        what = ", ".join(missing) if missing else "a build of everything"
        raise WorkbookError(f"This workbook came as a wheel: it holds the simulator and the programs of "
                            f"chapters, labs and exercises, but not {what}. Clone the repository for "
                            "that.")
    return setup.Tools("", "", _CompilerOnDemand(root, console, only_one), dict(os.environ))


class _CompilerOnDemand:
    """A toolkit.Toolkit that is looked for, and installed if need be, when it is used."""

    def __init__(self, root, console, only_one):
        self._ensure = (root, console, only_one)
        self._found = None

    def __getattr__(self, name):
        if self._found is None:
            root, console, only_one = self._ensure
            with only_one(root, console):
                self._found = setup.ensure_compiler(root, console)
        return getattr(self._found, name)


def units(root, program):
    """How the device code of a program is compiled: [{source, flags, architecture}], with paths of
    this folder."""
    programs = _read(root)["programs"]
    if program not in programs:
        raise WorkbookError(f"The wheel has no program '{program}'.")
    return [{**unit, "source": root / unit["source"],
             "flags": [flag.replace("@ROOT@", str(root)) for flag in unit["flags"]]}
            for unit in programs[program]]


def bug(root, exercise):
    """{program: its PTX files} of a find exercise, or None where they have to be compiled."""
    if not is_used(root):
        return None
    found = {}
    for file in sorted((bugs(root) / exercise.id).glob("*.ptx")):
        found.setdefault(file.stem.rpartition("-")[0], []).append(file)
    return found or None
