"""Launches of the labs for pages: `python3 -m tools.site.launches --output DIR`.

A page has no compiler. So each lab of chapters 1 to 4 and 7 runs here once for every choice that it
offers. So does every program that a predict exercise asks about, and that of each bug hunt, with its
fault. The simulator writes what the program does with the device (BW_SIM_LAUNCHES), and the page's
simulator runs these launches again. Written are
`labs.json` (the list), a compressed file of launches for each run, the blocks that these files name
(shared_blocks.py), `sources.json` with the files that reports quote, `exercises.json` (questions.py),
and the tables and the template of timelines.
"""

import argparse
import hashlib
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from .. import build, chapters, compose, exercises, labs, runs
from ..errors import WorkbookError
from ..timeline import page
from . import questions, shared_blocks

CHAPTERS = (1, 2, 3, 4, 7)
INDEX, SOURCES = "labs.json", "sources.json"
RULES, TEMPLATE = "timeline.json", "timeline_page.txt"
MAGIC, RECORDING_MAGIC = b"BWLNC001", b"BWREC001"
_HEAD = struct.Struct("<4s4xQ")
_CHOICES = re.compile(r"^  --(\S+) <([^>|]+(?:\|[^>|]+)+)>$", re.MULTILINE)
_FILE = re.compile(rb'^\s*\.file\s+\d+\s+"([^"]+)"', re.MULTILINE)
_SECONDS = 300


def programs(root):
    """The CMake targets that this runs."""
    asked = {program for one in questions.load(root) for program in one.programs}
    return sorted({lab.program for lab in _labs(root)} | asked)


def _labs(root):
    return [lab for lab in labs.find_all(Path(root)) if lab.chapter.number in CHAPTERS]


def _asked(root, kind):
    return [one for one in questions.load(root) if one.kind == kind]


def write(root, tools, folder, on_progress=None):
    """Records every run into `folder`; returns the list that labs.json holds."""
    root, folder = Path(root).resolve(), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.launches.gz"):
        old.unlink()
    found, sources, blocks = [], {}, shared_blocks.Blocks()
    for lab in _labs(root):
        for options in _choices(root, tools, lab.program):
            run = _record(root, tools, folder, sources, blocks, lab.program, options, {}, "")
            if run is None:  # a lab that counts, and launches nothing
                continue
            found.append({"chapter": lab.chapter.number, "lab": lab.stem, "title": lab.idea,
                          "source": f"solutions/{lab.chapter.name}/labs/{lab.stem}.cu", **run})
            _tell(on_progress, found)
    for hunt in _asked(root, exercises.FIND):
        with compose.bug(root, hunt, tools) as composed:
            for number, run in enumerate(hunt.runs):
                settings = composed.environment(run.program)
                if run.checks != exercises.CONTRACT:
                    settings["BW_SIM_CHECKS"] = run.checks
                recorded = _record(root, tools, folder, sources, blocks, run.program, run.options,
                                   settings, f"_{hunt.id}_{number}")
                if recorded is None:
                    raise WorkbookError(f"{run.program} of exercise {hunt.id} launches nothing.")
                found.append({"chapter": hunt.number[0], "lab": "", "title": hunt.title,
                              "exercise": hunt.id, "source": hunt.bug_file.as_posix(), **recorded})
                _tell(on_progress, found)
    for one in _asked(root, exercises.PREDICT):
        for number, run in enumerate(one.runs):
            recorded = _record(root, tools, folder, sources, blocks, run.program, run.options, {},
                               f"_{one.id}_{number}")
            found.append({"chapter": one.number[0], "lab": "", "title": one.title,
                          "exercise": one.id, "source": "", **recorded})
            _tell(on_progress, found)
    questions.write(root, tools, folder, found)
    blocks.write(folder)
    (folder / RULES).write_text(json.dumps(page.rules()), encoding="utf-8")
    (folder / TEMPLATE).write_text(page.template("@TITLE@"), encoding="utf-8")
    (folder / INDEX).write_text(json.dumps({"chapters": _titles(), "runs": found}, indent=1) + "\n",
                                encoding="utf-8")
    (folder / SOURCES).write_text(json.dumps(sources, sort_keys=True), encoding="utf-8")
    return found


def _titles():
    return {str(one.number): one.title for one in chapters.CHAPTERS if one.number in CHAPTERS}


def _tell(on_progress, found):
    if on_progress:
        on_progress(found[-1])


def _choices(root, tools, program):
    """The command lines of all combinations of the choices that the program's --help lists."""
    command = [*runs.command(root, exercises.Run(program)), "--help"]
    text = subprocess.run(command, env=runs.clean_environment(tools), stdout=subprocess.PIPE,
                          universal_newlines=True, check=True).stdout
    choices = [[(f"--{name}", value) for value in values.split("|")]
               for name, values in _CHOICES.findall(text)]
    return [tuple(itertools.chain.from_iterable(combination))
            for combination in itertools.product(*choices)]


def _record(root, tools, folder, sources, blocks, program, options, settings, suffix):
    """Runs a program once; what the index says of the run, or None if it does not use the device."""
    name = "_".join([program, *(word.lstrip("-") for word in options)]) + suffix + ".launches.gz"
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "launches"
        recording = Path(work) / "recording"
        environment = runs.clean_environment(
            tools, BW_SIM_LAUNCHES=str(path), BW_SIM_RECORDING=str(recording),
            BW_SIM_RECORDING_CLUSTERS="0", **settings)
        ended = subprocess.run(runs.command(root, exercises.Run(program, tuple(options))),
                               env=environment, cwd=root, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, universal_newlines=True, timeout=_SECONDS,
                               check=False)
        if not path.is_file():
            if ended.returncode:
                raise WorkbookError(f"{program} fails before its first launch.", details=ended.stderr)
            return None
        content = _with_names(without_root(path.read_bytes(), root, sources), blocks)
        recorded = relative(recording.read_bytes(), root, RECORDING_MAGIC)
    (folder / name).write_bytes(shared_blocks.packed(content))
    return {"program": program, "options": list(options), "file": name, "status": ended.returncode,
            "recording": hashlib.sha256(recorded).hexdigest(),
            "output": ended.stdout.replace(f"{root}/", "")}


def parts(content, magic=MAGIC):
    """[(tag, bytes)] of a file of launches, or of a recording, which begins with another word."""
    if content[:len(magic)] != magic:
        raise WorkbookError(f"This is not a file of launches: it does not begin with {magic.decode()}.")
    found, at = [], len(magic)
    while at < len(content):
        if at + _HEAD.size > len(content):
            raise WorkbookError(f"The file of launches ends within a part, at byte {len(content)}.")
        tag, size = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        if at + size > len(content):
            raise WorkbookError(f"The file of launches ends within a part, at byte {len(content)}.")
        found.append((tag, content[at:at + size]))
        at += size
    return found


def relative(recording, root, magic):
    """A recording whose paths are relative to the repository."""
    prefix = f"{root}{os.sep}".encode()
    return magic + b"".join(_HEAD.pack(tag, len(part)) + part for tag, part in (
        (tag, part.replace(prefix, b"") if tag == b"plac" else part)
        for tag, part in parts(recording, magic)))


def without_root(content, root, sources):
    """A file of launches whose paths are relative to the repository; adds the texts of the repository's
    files that its PTX names to `sources`."""
    prefix = f"{root}{os.sep}".encode()
    written = [MAGIC]
    for tag, part in parts(content):
        if tag == b"step" or b".version" in part[:4096]:
            part = part.replace(prefix, b"")
            for name in _FILE.findall(part) if tag == b"data" else ():
                path = root / os.fsdecode(name)
                if root in path.resolve().parents and path.is_file():
                    sources[os.fsdecode(name)] = path.read_text(encoding="utf-8")
        written.append(_HEAD.pack(tag, len(part)) + part)
    return b"".join(written)


def _with_names(content, blocks):
    """The file of launches with the names of its larger blocks in their place."""
    written = [MAGIC]
    for tag, part in parts(content):
        if tag == b"data" and len(part) >= shared_blocks.SMALLEST:
            tag, part = b"name", blocks.add(part).encode()
        written.append(_HEAD.pack(tag, len(part)) + part)
    return b"".join(written)


def main(arguments=None):
    from ..try_exercise import tools_of
    parser = argparse.ArgumentParser(prog="python3 -m tools.site.launches", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[3])
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args(arguments)
    output = chosen.output or build.SIM.folder(chosen.root) / "browser"
    try:
        write(chosen.root, tools_of(chosen.root), output,
              lambda one: print(one["file"], flush=True))
    except (WorkbookError, subprocess.SubprocessError) as error:
        print(f"{getattr(error, 'details', '') or ''}\nerror: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
