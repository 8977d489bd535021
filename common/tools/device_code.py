"""Compiles the device code of a built program again, with some files replaced, to PTX alone."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from . import build, limited, machine
from .errors import WorkbookError

COMPILE_SECONDS = 60
ARCHITECTURE = "compute_100a"
# How reports call the reader's file: its base name would be the solution's as well.
YOURS = "your "
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
_KEPT_FLAGS = ("-I", "-D", "-O", "-std", "--expt", "-lineinfo", "-isystem")


@dataclass(frozen=True)
class Unit:
    """A CUDA source of a program, and the flags that its device code is compiled with."""

    source: Path
    flags: tuple


@dataclass(frozen=True)
class Replaced:
    """A file that a compilation takes instead of the one of the repository."""

    name: Path          # relative to the root: what is replaced
    text: str
    reader_file: Path   # relative to the root: what reports call YOURS


def _read_build(root):
    folder = build.SIM.folder(root)
    try:
        ninja = (folder / "build.ninja").read_text(encoding="utf-8")
        commands = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WorkbookError("The workbook is not built yet: `./workbook test 1` or any `./workbook "
                            "run` builds it.") from error
    return folder, ninja, commands


def units(root, program):
    """The CUDA sources of a program, as the build compiles them."""
    folder, ninja, commands = _read_build(root)
    link = re.search(rf"^build bin/{re.escape(program)}: \S+ ((?:[^|\n]|\$\n)*)", ninja, re.M)
    if not link:
        raise WorkbookError(f"The build has no program '{program}'.")
    objects = set(link.group(1).replace("$\n", " ").split())
    found = []
    for entry in commands:
        words = shlex.split(entry["command"])
        if not entry["file"].endswith(".cu") or "-o" not in words:
            continue
        if words[words.index("-o") + 1] in objects:
            found.append(Unit(Path(entry["file"]), tuple(_flags(words))))
    return found


def _flags(words):
    flags = []
    for index, word in enumerate(words):
        if word.startswith(_KEPT_FLAGS):
            flags.append(word)
            if word in ("-I", "-D", "-isystem", "-std"):
                flags.append(words[index + 1])
    return flags


def includes(root, source, files, cache=None):
    """Whether a source is one of `files` or includes one, directly or not (root-relative names)."""
    return bool(_closure(Path(root), source, {} if cache is None else cache) & set(files))


def _closure(root, source, cache):
    """The repository's files that a file includes, itself among them, relative to the root."""
    todo, found = [source], set()
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        if name not in cache:
            try:
                text = (root / name).read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = ""
            cache[name] = [Path(other) for other in _INCLUDE.findall(text)
                           if (root / other).is_file()]
        todo += cache[name]
    return found


@dataclass(frozen=True)
class Compiled:
    """PTX files, or why there are none."""

    files: tuple = ()
    errors: str = ""       # the compiler's words
    timed_out: bool = False


def compile_to_ptx(root, tools, programs, replaced, folder):
    """{program: Compiled}: those sources of the programs that the replaced files concern, all of
    them at once. `folder` is emptied by the caller; it receives the replaced files and the PTX."""
    root = Path(root)
    overlay, temporary = folder / "include", folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    for file in replaced:
        target = overlay / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.text, encoding="utf-8")
    cache, names = {}, [file.name for file in replaced]
    jobs = []  # (program, output, command)
    for program in programs:
        concerned = [unit for unit in units(root, program)
                     if includes(root, unit.source.relative_to(root), names, cache)]
        if not concerned:
            raise WorkbookError(f"The program {program} doesn't include {names[0]}.")
        for unit in concerned:
            source, output = unit.source.relative_to(root), folder / f"{len(jobs)}.ptx"
            command = [str(tools.toolkit.nvcc), f"-I{overlay}", *unit.flags,
                       f"-arch={ARCHITECTURE}", "-ptx", "-x", "cu",
                       str(overlay / source if source in names else unit.source), "-o", str(output)]
            jobs.append((program, output, command))
    ended = limited.run_all([command for _, _, command in jobs], COMPILE_SECONDS,
                            env={**tools.env, "TMPDIR": str(temporary)}, cwd=root,
                            parallel=machine.core_count())
    compiled = {program: Compiled() for program in programs}
    for (program, output, _), result in zip(jobs, ended):
        before = compiled[program]
        if result.timed_out or result.status != 0:
            compiled[program] = Compiled(errors=before.errors or result.text,
                                         timed_out=before.timed_out or result.timed_out)
        elif not before.errors and not before.timed_out:
            _name_reader_files(root, output, replaced)
            if ".entry" in output.read_text(encoding="utf-8"):
                compiled[program] = Compiled((*before.files, output))
    return compiled


def _name_reader_files(root, ptx, replaced):
    """Lets reports tell the reader's lines from the solution's: see YOURS."""
    text = ptx.read_text(encoding="utf-8")
    for file in replaced:
        shown = (root / file.name).parent / (YOURS + file.reader_file.name)
        text = text.replace(f'"{root / file.reader_file}"', f'"{shown}"')
    ptx.write_text(text, encoding="utf-8")
