"""The catalogue of faults: faulty kernels, and right ones that look suspicious.

A case is a patch of the solutions (tests/simulator/faults/chapter_NN.toml) or a small kernel of its own
(tests/simulator/faults/*.cu). The expectation of each is next to it; docs of both forms are in
tests/simulator/faults/README.md.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from . import device_code, exercises, patches, regions, toml_text
from .errors import WorkbookError

FOLDER = Path("tests/simulator/faults")
CONTRACT, RACES = "contract", "races"
LEVELS = (CONTRACT, RACES)
SMALL_PROGRAMS = {True: "simulator_faults_hopper", False: "simulator_faults"}
_CODE = re.compile(r"BW-[A-Z]\d+")


@dataclass(frozen=True)
class Case:
    """One kernel and what the simulator has to say about it."""

    name: str
    file: str            # that defines it, relative to the root, and the line
    line: int
    pitfalls: tuple      # numbers of docs/pitfalls.md
    idea: str
    code: str            # expected; "" of a kernel that is right
    level: str           # of BW_SIM_CHECKS that finds it
    places: tuple        # (file's base name, line): the report names each of them
    culprits: tuple      # patterns of the report's text: roles and agents
    program: str
    options: tuple = ()
    settings: tuple = () # of the environment, (name, value)
    chapter: str = ""    # number; "" of a small kernel
    slow: bool = False
    seeds: tuple = ()    # of BW_SIM_SEED under which it is found; (): all that the check tries
    not_found: str = ""  # why the simulator doesn't find it yet
    replaced: tuple = () # device_code.Replaced of a patch
    sources: tuple = ()  # the only ones to compile, where a program has many

    @property
    def where(self):
        return f"{self.file}:{self.line}: case {self.name}"

    @property
    def is_right(self):
        return not self.code


def load_all(root):
    """All cases, in the order of the files."""
    folder = Path(root) / FOLDER
    found = []
    problems = []
    for path in sorted(folder.glob("chapter_*.toml")) + sorted(folder.glob("*.cu")):
        try:
            found += (_Patches(Path(root), path).cases() if path.suffix == ".toml"
                      else small_kernels(Path(root), path))
        except WorkbookError as error:
            problems.append(str(error))
    if problems:
        raise WorkbookError("\n".join(problems))
    names = [case.name for case in found]
    for case in found:
        if names.count(case.name) > 1:
            raise WorkbookError(f"{case.where}: this name is used twice.")
    return found


# ---- patches of the solutions -----------------------------------------------------------------

_KEYS = {"name": str, "pitfalls": list, "idea": str, "expect": str, "level": str, "at": list,
         "by": list, "program": str, "options": list, "settings": dict, "slow": bool,
         "not_found": str, "seeds": list, "patch": str, "file": str, "change": list,
         "exercise": str, "wrong": str, "sources": list}
_NEEDED = ("name", "idea")


class _Patches:
    """One file of patches."""

    def __init__(self, root, path):
        self.root, self.path = root, path
        self.name = str(path.relative_to(root))
        self.text = regions.read_text(path)
        self.chapter = re.search(r"chapter_(\d+)", path.name).group(1)
        self._exercises = None

    def cases(self):
        """All of the file, or one error with whatever is wrong in it."""
        found, problems = [], []
        for table in toml_text.parse(self.text, self.name).get("case", []):
            try:
                found.append(self._case(table))
            except WorkbookError as error:
                problems.append(str(error))
        if problems:
            raise WorkbookError("\n".join(problems))
        return found

    def _fail(self, table, message):
        name = table.get("name", "?")
        match = re.search(rf'^name = "{re.escape(str(name))}"', self.text, re.M)
        line = self.text.count("\n", 0, match.start()) + 1 if match else 1
        raise WorkbookError(f"{self.name}:{line}: case {name}: {message}")

    def _line_of(self, name):
        return self.text[:self.text.index(f'name = "{name}"')].count("\n") + 1

    def _case(self, table):
        for key in _NEEDED:
            if key not in table:
                self._fail(table, f"`{key}` is missing.")
        for key, value in table.items():
            if key not in _KEYS:
                self._fail(table, f"`{key}` is not one of {', '.join(_KEYS)}.")
            if not isinstance(value, _KEYS[key]):
                self._fail(table, f"`{key}` has to be a {_KEYS[key].__name__}.")
        code, level = table.get("expect", ""), table.get("level", CONTRACT)
        if code and not _CODE.fullmatch(code):
            self._fail(table, f"`expect` is {code}; a code reads BW-R01.")
        if level not in LEVELS:
            self._fail(table, f"`level` is {level}; it is one of {', '.join(LEVELS)}.")
        if code and not table.get("at"):
            self._fail(table, "`at` is missing: the lines that the report has to name.")
        replaced = self._replaced(table)
        run = self._run(table)
        return Case(table["name"], self.name, self._line_of(table["name"]),
                    tuple(table.get("pitfalls", ())), " ".join(table["idea"].split()), code, level,
                    tuple(self._place(table, one, replaced) for one in table.get("at", ())),
                    tuple(table.get("by", ())), *run,
                    tuple(table.get("settings", {}).items()), self.chapter,
                    table.get("slow", False), tuple(table.get("seeds", ())),
                    table.get("not_found", ""), (replaced,), tuple(table.get("sources", ())))

    def _run(self, table):
        """(program, options); those of the exercise's first run where none are given."""
        if "program" in table:
            return table["program"], tuple(table.get("options", ()))
        if "exercise" not in table:
            self._fail(table, "`program` is missing.")
        run = self._exercise(table).runs[0]
        return run.program, tuple(run.options)

    def _replaced(self, table):
        """The patched file."""
        exercise = self._exercise(table) if "exercise" in table else None
        try:
            if exercise is not None and "wrong" in table:
                return self._wrong_answer(table, exercise)
            if exercise is not None:
                patch, folder = exercise.patch, Path("solutions") / exercise.chapter
            elif "patch" in table:
                patch, folder = table["patch"], Path()
            elif not ("file" in table and "change" in table):
                self._fail(table, "`file` and `change`, `patch` or `exercise` are missing.")
            else:
                patch, folder = None, Path()
            name = folder / (patches.patched_file(patch) if patch else table["file"])
            if not (self.root / name).is_file():
                self._fail(table, f"its patch changes {name}, which does not exist.")
            text = regions.read_text(self.root / name)
            text = patches.apply(text, patch)[0] if patch else patches.changed(text, table["change"])
        except WorkbookError as error:
            if str(error).startswith(self.name):
                raise
            self._fail(table, f"its patch of {_named_file(table)}: {error}")
        return device_code.Replaced(name, f'#line 1 "{self.root / name}"\n{text}', name)

    def _exercise(self, table):
        if self._exercises is None:
            self._exercises = exercises.load_all(self.root)
        found = [one for one in self._exercises if one.id == table["exercise"]]
        if not found:
            self._fail(table, f"there is no exercise {table['exercise']}.")
        return found[0]

    def _wrong_answer(self, table, exercise):
        """The solution's file with a kept wrong answer in place of the exercise's lines."""
        found = [one for one in exercise.wrong if one.name == table["wrong"]]
        if not found or not exercise.is_in_code:
            self._fail(table, f"exercise {exercise.id} has no wrong answer '{table['wrong']}'.")
        name = exercise.solution_file
        lines = regions.read_text(self.root / name).split("\n")
        region = exercise.region
        body = found[0].answer.strip("\n").split("\n")
        lines[region.body_first - 1:region.last - 1] = body
        text = "\n".join(lines)
        return device_code.Replaced(name, f'#line 1 "{self.root / name}"\n{text}', name)

    def _place(self, table, text, replaced):
        """(file, line) of "part of a line" in the patched file, or "file: part of a line"."""
        match = re.match(r"^((?:common|solutions)/\S+\.\w+): (.*)$", text, re.S)
        if match and Path(match.group(1)) != replaced.name:
            name, part = Path(match.group(1)), match.group(2)
            lines = regions.read_text(self.root / name).split("\n")
        else:
            name, part = replaced.name, match.group(2) if match else text
            lines = replaced.text.split("\n")[1:]
        fits = [number for number, line in enumerate(lines, 1) if part in line]
        if len(fits) != 1:
            self._fail(table, f"{len(fits)} lines of {name} have `{part}`; `at` names one.")
        return name.name, fits[0]


def _named_file(table):
    if "file" in table:
        return table["file"]
    match = re.search(r"^\+\+\+ (?:b/)?(\S+)", table.get("patch", ""), re.M)
    return match.group(1) if match else f"exercise {table.get('exercise', '?')}"


# ---- small kernels ------------------------------------------------------------------------------

_HEAD = re.compile(r"^// (fault|right)(?: ([\d, ]+))?: (.*)$")
_EXPECT = re.compile(r'^// expect (\S+(?: or \S+)*) at (\w+)((?:, "[^"]*")*)$')
_SEEDS = re.compile(r"^// seeds ([\d ]+)$")
_SETTING = re.compile(r"^// setting (\w+)=(\S+)$")
_AT = re.compile(r'^// at((?: "[^"]*")+)$')
_NOT_FOUND = re.compile(r"^// not found: (.*)$")
_KERNEL = re.compile(r"\b__global__\b.*?\b(\w+)\(const\b|^void (\w+)\(FaultRun\b")
_MARK = re.compile(r"//\s*\((\d)\)")


def small_kernels(root, path):
    """The cases of a source file: a comment that begins with `// fault` or `// right`, and a kernel."""
    name = str(path.relative_to(root))
    lines = regions.read_text(path).split("\n")
    found, index = [], 0
    is_hopper = "hopper" in path.stem
    while index < len(lines):
        match = _HEAD.match(lines[index])
        if not match:
            if lines[index].startswith(("// fault", "// expect", "// right")):
                raise WorkbookError(f"{name}:{index + 1}: `{lines[index]}` is not understood; a case "
                                    "begins with `// fault 41: ...` or `// right: ...`.")
            index += 1
            continue
        found.append(_small_kernel(name, lines, index, match, is_hopper))
        index += 1
        while index < len(lines) and lines[index].startswith("// "):
            index += 1
    return found


def _small_kernel(name, lines, first, head, is_hopper):
    kind, pitfalls, idea = head.groups()
    code, level, culprits, settings, not_found = "", RACES, (), [], ""
    texts, seeds = [], ()
    index = first + 1
    while index < len(lines) and lines[index].startswith("// "):
        expect, setting = _EXPECT.match(lines[index]), _SETTING.match(lines[index])
        missing, at = _NOT_FOUND.match(lines[index]), _AT.match(lines[index])
        if expect:
            code, level = expect.group(1), expect.group(2)
            culprits = tuple(re.findall(r'"([^"]*)"', expect.group(3)))
        elif setting:
            settings.append(setting.groups())
        elif missing:
            not_found = missing.group(1)
        elif _SEEDS.match(lines[index]):
            seeds = tuple(int(one) for one in _SEEDS.match(lines[index]).group(1).split())
        elif at:
            texts = re.findall(r'"([^"]*)"', at.group(1))
        else:
            idea += " " + lines[index][3:].strip()
        index += 1
    where = f"{name}:{first + 1}"
    # The template's line and the kernel's head may span several lines.
    text = " ".join(lines[index:index + 4])
    kernel = _KERNEL.search(text)
    kernel = kernel and (kernel.group(1) or kernel.group(2))
    if not kernel:
        raise WorkbookError(f"{where}: no kernel follows this comment.")
    if (kind == "fault") != bool(code):
        raise WorkbookError(f"{where}: a fault has a line `// expect CODE at LEVEL`, a right kernel "
                            "none.")
    if code and not _CODE.fullmatch(code):
        raise WorkbookError(f"{where}: `{code}` is not a code; it reads BW-R01.")
    if level not in LEVELS:
        raise WorkbookError(f"{where}: the level is {level}; it is one of {', '.join(LEVELS)}.")
    end = next((number for number in range(index, len(lines)) if lines[number] == "}"), len(lines))
    places = sorted((mark.group(1), number + 1) for number in range(index, end)
                    for mark in _MARK.finditer(lines[number]))
    for text in texts:
        fits = [number for number, line in enumerate(lines, 1)
                if text in line and not _AT.match(line)]
        if len(fits) != 1:
            raise WorkbookError(f"{where}: {len(fits)} lines have `{text}`; `// at` names one.")
        places.append((text, fits[0]))
    if code and not places:
        raise WorkbookError(f"{where}: no line is marked `// (1)`: the report has to name one.")
    numbers = tuple(int(one) for one in re.findall(r"\d+", pitfalls or ""))
    return Case(kernel, name, first + 1, numbers, idea.strip(), code, level,
                tuple((Path(name).name, number) for _, number in places), culprits,
                SMALL_PROGRAMS[is_hopper], (kernel,), tuple(settings),
                seeds=seeds, not_found=not_found)
