"""Reports for the texts: what the simulator says of a program that lacks one line."""

import re
import subprocess
import textwrap
from pathlib import Path

from . import compose, device_code, regions, reports, runs
from .errors import WorkbookError

_FORM = re.compile(r'^(\S+)((?:\s+\S+)*?)\s+without\s+(\S+)\s+"(.+?)"\s+entries\s+(all|[\d ]+)$')
_WIDTH = 100


def block(root, tools, text):
    """The lines of a report, cut to the named entries.

    `text` reads `PROGRAM [OPTIONS] without FILE "part of the line" entries 1 2`, or `entries all` for
    the whole of it, as a fault has it.
    """
    match = _FORM.match(text)
    if not match:
        raise WorkbookError("a report reads `PROGRAM without FILE \"part of the line\" entries N`.")
    program, options, name, line, wanted = match.groups()
    printed = _report(Path(root).resolve(), tools, program, options.split(), Path(name), line)
    return ["```text", *_cut(printed, set(wanted.split())), "```"]


def _report(root, tools, program, options, name, part):
    built = runs.build.program(root, runs.build.SIM, program)
    if not built.is_file():
        raise WorkbookError(f"The program {program} is not built.")
    lines = regions.read_text(root / name).split("\n")
    found = [number for number, line in enumerate(lines) if part in line]
    if len(found) != 1:
        raise WorkbookError(f"{name} has {len(found)} lines with `{part}`; one is left out.")
    lines[found[0]] = ""  # the numbers of the others stay
    code = f'#line 1 "{root / name}"\n' + "\n".join(lines)
    replaced = [device_code.Replaced(name, code, name)]
    with compose.composed(root, tools, [program], replaced) as composed:
        result = subprocess.run(
            [str(built), *options], cwd=root,
            env={**runs.clean_environment(tools), **composed.environment(program)},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True,
            timeout=runs.SOLUTION_SECONDS, check=False)
    if result.returncode != runs.FAULT:
        raise WorkbookError(f"{program} without that line ends with status {result.returncode}, "
                            "not with a report.")
    # The text shows the source where it wants it.
    lines = [line for line in result.stderr.split("\n") if not reports.SOURCE.match(line)]
    return "\n".join(lines).replace(reports.YOURS + name.name, name.name).split("\n")


def _cut(lines, wanted):
    """The first line and the wanted entries (or all that there is), in lines that fit a page."""
    kept, entry = [lines[0]], None
    if "all" in wanted:
        kept = [line for line in lines if line.strip()]
    for line in [] if "all" in wanted else lines[1:]:
        match = re.match(r"\s+\[(\d+)\] ", line)
        if match:
            entry = match.group(1)
        elif re.match(r"\s*(where|rule|fix):", line):
            entry = None
        if entry in wanted:
            kept.append(line)
    result = []
    for line in kept:
        indent = " " * (len(line) - len(line.lstrip()))
        result += textwrap.wrap(line.strip(), _WIDTH, initial_indent=indent,
                                subsequent_indent=indent + "  ", break_long_words=False,
                                break_on_hyphens=False)
    return result
