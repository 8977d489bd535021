"""Keeps the texts in step with the code and the programs.

    python3 -m tools.texts --write     (with common/ on PYTHONPATH; the programs are built)
    python3 -m tools.texts --check     status 1 when something has drifted

In Markdown files, a mark tells what the block below it holds:

    <!-- excerpt FILE NAME -->                         code between `// [excerpt NAME]` and
                                                       `// [/excerpt NAME]`
    <!-- excerpt FILE from "text" to "text" -->        from the only line that holds the first text
                                                       to the next one that holds the second; `to
                                                       "}"`: to the brace that ends what began there;
                                                       above the code, a caption that links to its lines
    <!-- reading NN_name -->                           the order in which a chapter's code is read:
                                                       a table of solutions/NN_name/reading.toml
    <!-- output PROGRAM OPTIONS -->                    the command, and what the program prints, less
                                                       wall times
    <!-- cycles [of [4/5] UNIT] PROGRAM "label" OPTIONS; ... -->
                                                       what each step bought: simulated cycles, and
                                                       what limits each run; `of tensor`, `of
                                                       copies`: also the share of its cycles for
                                                       which this unit is needed; `4/5`: of a lab
                                                       that times four of five equal parts
    <!-- report PROGRAM without FILE "part of a line" entries 1 2 -->
                                                       what the simulator says when that line is
                                                       missing: the first line and these entries
    <!-- timeline figures/x.svg "title" OPTIONS -- PROGRAM OPTIONS -->
                                                       the image of a run of the program, which is
                                                       drawn again, and the command; options:
                                                       `cycles 0-900`, `cta 1`, `launch 1`, `without
                                                       "name of a lane"`
    <!-- all-commands -->                              the commands, from their parser, up to
                                                       <!-- /all-commands -->

Links, images and anchors inside the repository have to exist, and the sections that exercises name.
"""

import argparse
import re
import shlex
import sys
from pathlib import Path

from . import chapters, command_page, excerpts, exercises, faulty_runs, labs, regions, runs
from .errors import WorkbookError
from .links import FENCE, Problem, anchors, broken_links, markdown_files

_MARK = re.compile(r"^\s*<!--\s*(excerpt|reading|output|cycles|report|timeline|all-commands)\b"
                   r"\s*(.*?)\s*-->\s*$")
_END_OF_COMMANDS = "<!-- /all-commands -->"
# M x N x K from which on a run takes seconds. Smaller runs of the same programs are in other blocks, and
# drift with these.
_LARGE_RUN = 1 << 33
# Kinds of blocks that hold tables, above which Markdown wants a blank line.
_TABLES = ("reading", "cycles")


class Blocks:
    """Makes what marks ask for; programs run once for each set of options."""

    def __init__(self, root, tools, leaves_out_large_runs=False):
        self._root, self._tools, self._runs = Path(root), tools, {}
        self._leaves_out_large_runs = leaves_out_large_runs
        self.folder = Path()  # of the text
        self.figures = {}  # path, relative to the root: content

    def leaves_out(self, text):
        """Whether a block stays as it is, because a run for it is too large."""
        return self._leaves_out_large_runs and any(
            _size(run) >= _LARGE_RUN for run in text.split(";"))

    def make(self, kind, text):
        """The lines of a block."""
        return {"excerpt": self._excerpt, "reading": self._reading, "output": self._output,
                "cycles": self._cycles, "report": self._report, "timeline": self._timeline,
                "all-commands": lambda _: command_page.page()}[kind](text)

    def _excerpt(self, text):
        return excerpts.excerpt(self._root, self.folder, text)

    def _reading(self, text):
        return excerpts.reading(self._root, self.folder, text)

    def _run(self, words):
        key = tuple(words)
        if key not in self._runs:
            run = exercises.Run(words[0], key[1:])
            self._runs[key] = runs.execute(self._root, self._tools, run, 0, runs.SOLUTION_SECONDS)
        return self._runs[key]

    def _output(self, text):
        result = self._run(shlex.split(text))
        # A program that ends early shows why.
        printed = result.output if result.status == 0 else result.text
        lines = [_without_wall_time(line) for line in printed.splitlines()]
        shown = f"$ {labs.command_line(self._root, shlex.split(text))}"
        return ["```text", shown, *[line.rstrip() for line in lines if line is not None], "```"]

    def _report(self, text):
        return faulty_runs.block(self._root, self._tools, text)

    def _timeline(self, text):
        from .timeline import figure
        name, title, content = figure.draw(self._root, self._tools, text)
        self.figures[self.folder / name] = content
        program = shlex.split(text.split(" -- ", 1)[1])
        shown = labs.command_line(self._root, program, "timeline")
        return [f"![{title}]({name})", f"<br>`{shown}`"]

    def _cycles(self, text):
        from .timeline import step_table
        return step_table.table(self._root, self._tools, text)


def _size(options):
    """M x N x K of a run, or 0 where its options don't give all three."""
    sizes = [int(number) for number in re.findall(r"--[mnk] (\d+)", options)]
    return sizes[0] * sizes[1] * sizes[2] if len(sizes) == 3 else 0


def _without_wall_time(line):
    if re.match(r"^time\s+wall [\d.]+ s$", line):
        return None
    return re.sub(r",? wall [\d.]+ s", "", line)


def refreshed(text, path, blocks, kinds):
    """(text with its blocks regenerated, [Problem]) for marks of these kinds."""
    lines, result, problems = text.split("\n"), [], []
    index, inside = 0, False
    while index < len(lines):
        line = lines[index]
        result.append(line)
        index += 1
        if FENCE.match(line):
            inside = not inside
        mark = None if inside else _MARK.match(line)
        if not mark or mark.group(1) not in kinds or blocks.leaves_out(mark.group(2)):
            continue
        end = _end_of_block(lines, index, mark.group(1))
        try:
            made = blocks.make(mark.group(1), mark.group(2))
        except WorkbookError as error:
            problems.append(Problem(str(path), index, f"{mark.group(1)}: {error}"))
            continue
        is_table = mark.group(1) in _TABLES
        result += [""] * is_table + made
        if made != [one for one in lines[index:end] if one.strip() or not is_table]:
            problems.append(Problem(str(path), index, f"what is below `{mark.group(1)} "
                                    f"{mark.group(2)}` has drifted."))
        index = end
    return "\n".join(result), problems


def _end_of_block(lines, index, kind):
    """The index where the block below a mark ends; `index` without a block."""
    if kind == "all-commands":
        return next((at for at in range(index, len(lines)) if lines[at] == _END_OF_COMMANDS), index)
    start = index
    while start < len(lines) and not lines[start].strip():
        start += 1
    if start < len(lines) and kind in _TABLES:
        end = start
        while end < len(lines) and lines[end].lstrip().startswith("|"):
            end += 1
        return end if end > start else index
    if kind == "excerpt" and start < len(lines) and excerpts.CAPTION.match(lines[start]):
        start += 1
    if kind == "timeline":
        if start >= len(lines) or not lines[start].startswith("!["):
            return index
        has_command = start + 1 < len(lines) and lines[start + 1].startswith("<br>`")
        return start + 1 + has_command
    if start < len(lines) and FENCE.match(lines[start]):
        for end in range(start + 1, len(lines)):
            if lines[end].strip() == FENCE.match(lines[start]).group(1):
                return end + 1
    return index


def missing_sections(root):
    """[Problem] for exercises whose section the chapter's text doesn't have."""
    root, problems = Path(root), []
    for chapter in chapters.CHAPTERS:
        readme = root / "chapters" / chapter.name / "README.md"
        known = anchors(regions.read_text(readme)) if readme.is_file() else None
        for exercise in exercises.load_chapter(root, chapter.name):
            if known is None or exercise.section not in known:
                problems.append(Problem(str(exercise.source.relative_to(root)), 1,
                                        f"`section`: {exercise.section_link} does not exist."))
    return problems


def examine(root, tools, kinds, write=False, only=(), leaves_out_large_runs=False):
    """[Problem] of all texts (or of those below the folders `only`); `write` brings the blocks up
    to date first, and what is left can't be mended so. Returns (problems, written files)."""
    root, problems, written, cache = Path(root), [], [], {}
    blocks = Blocks(root, tools, leaves_out_large_runs)
    for path in markdown_files(root):
        if only and not any(path == part or part in path.parents for part in only):
            continue
        text = regions.read_text(root / path)
        blocks.folder, blocks.figures = path.parent, {}
        fresh, drifted = refreshed(text, path, blocks, kinds)
        if write and fresh != text:
            (root / path).write_text(fresh, encoding="utf-8")
            written.append(path)
            text = fresh
            drifted = [problem for problem in drifted if not problem.message.endswith("drifted.")]
        for figure, content in blocks.figures.items():
            place = root / figure
            if place.is_file() and place.read_text(encoding="utf-8") == content:
                continue
            if write:
                place.parent.mkdir(exist_ok=True)
                place.write_text(content, encoding="utf-8")
                written.append(figure)
            else:
                drifted.append(Problem(str(figure), 1, f"the timeline of {path} has drifted."))
        problems += drifted + broken_links(root, path, text, cache)
    return problems + ([] if only else missing_sections(root)), written


def main(arguments=None):
    from .try_exercise import tools_of
    parser = argparse.ArgumentParser(prog="python3 -m tools.texts", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    parser.add_argument("--without-runs", action="store_true",
                        help="excerpts, reading orders and links alone: what programs print stays")
    parser.add_argument("--without-large-runs", action="store_true",
                        help="blocks of runs that take many seconds stay as they are")
    parser.add_argument("only", nargs="*", type=Path,
                        help="folders or files, relative to the root; all where none is given")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    chosen = parser.parse_args(arguments)
    kinds = ("excerpt", "reading", "all-commands") if chosen.without_runs else (
        "excerpt", "reading", "all-commands", "output", "cycles", "report", "timeline")
    try:
        tools = None if chosen.without_runs else tools_of(chosen.root)
        problems, written = examine(chosen.root, tools, kinds, chosen.write, chosen.only,
                                    chosen.without_large_runs)
    except WorkbookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for path in written:
        print(f"written: {path}")
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems and not chosen.write:
        print("`python3 -m tools.texts --write` in common/ writes the texts that have drifted again.",
              file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
