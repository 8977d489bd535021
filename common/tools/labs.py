"""`./workbook lab`: the small programs of the chapters, one idea each."""

import difflib
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from . import build, chapters, machine, schedules
from .console import Console
from .errors import WorkbookError

_NAME = re.compile(r"(?:lab_)?(?:0?(\d)[._/])?(\w+?)(?:\.cu)?")
_ENOUGH = 25  # characters of an idea: after them no further sentence


@dataclass(frozen=True)
class Lab:
    """A lab: solutions/NN_name/labs/<stem>.cu, the program lab_NN_<stem>."""

    chapter: chapters.Chapter
    stem: str
    idea: str  # what its first comment begins with

    @property
    def program(self):
        return f"lab_{self.chapter.number:02d}_{self.stem}"

    @property
    def name(self):
        """How it is called where no other lab is meant."""
        return f"{self.chapter.number}.{self.stem}"


def find_all(root):
    """[Lab], chapter by chapter, in the order in which each chapter's text comes to them."""
    found = []
    for chapter in chapters.CHAPTERS:
        own = [Lab(chapter, path.stem, _idea(path.read_text(encoding="utf-8")))
               for path in sorted((root / "solutions" / chapter.name / "labs").glob("*.cu"))]
        page = root / "chapters" / chapter.name / "README.md"
        text = page.read_text(encoding="utf-8") if page.is_file() else ""
        found += sorted(own, key=lambda lab: _first_mention(lab, text))
    return found


def command_line(root, words, verb="run"):
    """The command that runs a program with options, as a text shows it; with another verb than `run`,
    of a chapter's program."""
    program, options = words[0], list(words[1:])
    lab = re.match(r"lab_(\d\d)_(\w+)$", program)
    if lab:
        stem = lab.group(2)
        is_unique = len(list(Path(root).glob(f"solutions/*/labs/{stem}.cu"))) < 2
        shown = ["lab", stem if is_unique else f"{int(lab.group(1))}.{stem}"]
    else:
        shown = [verb, str(int(program[:2]))]
    return " ".join(["./workbook", *shown, *["--"] * bool(options), *options])


def _first_mention(lab, text):
    places = [text.find(name) for name in (lab.program, f"labs/{lab.stem}.cu")]
    return min([place for place in places if place >= 0], default=len(text))


def _idea(text):
    """What the first comment of a file begins with: a sentence, or several short ones."""
    lines = []
    for line in text.splitlines():
        comment = re.match(r"///\s?(.*)", line)
        if not comment or lines and not comment.group(1).strip():
            break
        lines.append(comment.group(1).replace("\\file", "").strip())
    words = re.sub(r"^(Lab|New): ", "", " ".join(lines).strip())
    idea = ""
    for sentence in re.findall(r"[^.?!]+(?:[.?!](?!\s|$)[^.?!]*)*[.?!]?", words):
        if len(idea) >= _ENOUGH:
            break
        idea += sentence
    return idea[:1].upper() + idea[1:]


def named(root, wanted):
    """The lab that a name means, or None; an error where it means several."""
    parts = _NAME.fullmatch(wanted.strip().lower().replace("-", "_"))
    if not parts:
        return None
    number, stem = parts.groups()
    own = [lab for lab in find_all(root) if number is None or lab.chapter.number == int(number)]
    for fits in (stem.__eq__, lambda name: name.startswith(stem), lambda name: stem in name):
        meant = [lab for lab in own if fits(lab.stem)]
        if len(meant) > 1:
            names = [lab.name for lab in meant]
            raise WorkbookError(f"'{wanted}' means several labs: {', '.join(names)}. Name one of them.",
                                exit_code=2)
        if meant:
            return meant[0]
    return None


def _find(root, wanted):
    lab = named(root, wanted)
    if lab is None:
        stems = {one.stem: one.name for one in find_all(root)}
        near = difflib.get_close_matches(wanted.rpartition(".")[2], stems, 3)
        guess = f" Did you mean {' or '.join(stems[stem] for stem in near)}?" if near else ""
        raise WorkbookError(f"There is no lab '{wanted}'.{guess} `./workbook lab` lists them.",
                            exit_code=2)
    return lab


def do_lab(root, console, arguments):
    """Runs a lab, or lists them all or those of a chapter."""
    if arguments.lab is None:
        return _list(find_all(root))
    if re.fullmatch(r"\d{1,2}|\d\d_\w+", arguments.lab):
        chapter = chapters.find(root, arguments.lab)
        return _list([lab for lab in find_all(root) if lab.chapter == chapter])
    from . import workspace  # what installs packages is not imported for a list
    lab = _find(root, arguments.lab)
    gpus = machine.find_gpus()
    on_gpu, where = chapters.choose_machine(lab.chapter, gpus, arguments.machine)
    schedules.require_simulator(arguments, on_gpu)
    name = lab.program + ("_gpu" if on_gpu else "")
    configuration = (build.for_gpu(build.GPU, next(filter(lab.chapter.runs_on, gpus))) if on_gpu
                     else build.SIM)
    tools = workspace.prepare(root, console, configuration, [name], f"Building {lab.program}",
                              environment={**os.environ, **schedules.settings(arguments)})
    console.say(console.paint(f"Lab {lab.name}", "bold") + f", {where}")
    command = [str(build.program(root, configuration, name)), *arguments.rest]
    return schedules.run(console, command, arguments, tools.env)


def _list(found):
    """One line a lab; on a terminal none is wider than that."""
    if not found:
        print("There are no labs here.")
        return 0
    console = Console(sys.stdout)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    indent = max(len(lab.stem) for lab in found) + 4
    chapter = None
    for lab in found:
        if lab.chapter != chapter:
            head = f"chapter {lab.chapter.number}: {lab.chapter.title}"
            print(("\n" if chapter else "") + console.paint(head, "bold"))
            chapter = lab.chapter
        line = f"  {lab.stem:<{indent - 2}}{lab.idea}"
        if width is not None and len(line) > width:
            line = line[:max(1, width - 4)].rstrip() + " ..."
        print(line)
    print(f"\n./workbook lab {found[0].name} runs one; its options follow `--`.")
    return 0
