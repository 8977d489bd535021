"""The exercises: one TOML file each, in solutions/NN_name/exercises/."""

import re
import sys
import textwrap
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import patches, regions, toml_text
from .chapters import CHAPTERS
from .errors import WorkbookError

WRITE, PREDICT, FIND, IMPROVE = KINDS = ("write", "predict", "find", "improve")
INTEGER, TEXT, CHOICE = ANSWERS = ("integer", "text", "choice")
CONTRACT, RACES = CHECKS = ("contract", "races")  # levels of BW_SIM_CHECKS
CYCLES = "cycles"
HINTS = 3
LEAST_WRONG = 2
# Stands in a starter (common/device/exercise.cuh).
NOT_DONE_MACRO = "BW_EXERCISE_NOT_DONE"
ANSWERS_FILE = "answers.toml"


@dataclass(frozen=True)
class Run:
    """A run of a program of the build: all of them have to verify."""

    program: str
    options: tuple = ()
    seeds: tuple = (0,)
    expect: str = ""          # what standard output must match
    timeout_cycles: int = 0   # simulated; 0: chosen from the solution's own run
    checks: str = CONTRACT    # of CHECKS


@dataclass(frozen=True)
class Question:
    """A question of a predict exercise; `function` of keys.py computes the answer from a trace."""

    key: str
    ask: str
    answer: str
    function: str
    options: tuple = ()       # of a choice: "a: ...", "b: ..."
    run: int = 0              # index of the [[run]] whose trace holds the answer

    def letters(self):
        return [option.partition(":")[0].strip() for option in self.options]


@dataclass(frozen=True)
class Wrong:
    """A wrong answer that people give, and the explanation that they get; or one that works without
    doing what the text asks for, and the remark on it."""

    name: str
    answer: object            # write, improve: text; predict: {key: value}; find: see the spec
    message: str
    output: str = ""          # recognised by the run's output,
    code: str = ""            # by the reader's lines (without comments), or by both


@dataclass(frozen=True)
class Budget:
    """What an improve exercise allows: `at_most` times what the solution's own run takes."""

    metric: str               # CYCLES: what the simulator counts is what a reader's kernel can't write
    at_most: float


@dataclass(frozen=True)
class Never:
    """What the device code of a right answer does not contain."""

    instruction: str          # a pattern, looked for in the PTX of the programs
    why: str


@dataclass(frozen=True)
class Exercise:
    """An exercise. Paths are relative to the repository's root; texts are as in the TOML file."""

    id: str
    title: str
    kind: str
    minutes: int
    idea: str
    section: str
    goal: str
    expected: str
    hints: tuple
    passed: str
    next: str
    chapter: str                       # "01_mbarrier_pipeline"
    source: Path                       # the TOML file
    runs: tuple = ()
    wrong: tuple = ()
    remarks: tuple = ()                # Wrongs of answers that pass with a remark
    file: str = ""                     # relative to solutions/NN_name; find: of the patch
    budget: Budget = None              # of an improve exercise; of a write exercise where it has one
    never: Never = None
    questions: tuple = ()
    patch: str = ""
    causes: tuple = ()
    cause: str = ""
    also_lines: tuple = ()
    needs_reports: bool = False
    why: str = ""                      # why a find exercise's fault isn't seen by running it
    region: regions.Region = field(default=None, compare=False)

    @property
    def number(self):
        """(chapter, number within it), by which exercises are ordered."""
        return tuple(int(part) for part in self.id.split("."))

    @property
    def is_in_code(self):
        """Whether the reader writes code, and not answers."""
        return self.kind in (WRITE, IMPROVE)

    @property
    def solution_file(self):
        return Path("solutions") / self.chapter / self.file

    @property
    def bug_file(self):
        """The faulty file that a find exercise shows."""
        return Path("chapters") / self.chapter / "bugs" / f"{self.id}_{Path(self.file).name}"

    @property
    def reader_file(self):
        """The file that the reader edits."""
        chapter = Path("chapters") / self.chapter
        return chapter / self.file if self.is_in_code else chapter / ANSWERS_FILE

    @property
    def section_link(self):
        """Where the rule is explained: "chapters/NN_name/README.md#section"."""
        return f"chapters/{self.chapter}/README.md#{self.section}"

    @property
    def programs(self):
        """The targets of the build that a check runs."""
        return tuple(dict.fromkeys(run.program for run in self.runs))


class _Reader:
    """Takes the fields of a TOML table one by one; what is missing, odd or left over is an error."""

    def __init__(self, table, where):
        self._table, self._where, self._taken = table, where, set()

    def fail(self, message):
        raise WorkbookError(f"{self._where}: {message}")

    def take(self, key, kind, default=None, required=True):
        self._taken.add(key)
        if key not in self._table:
            if required:
                self.fail(f"the key `{key}` is missing.")
            return default
        value = self._table[key]
        fits = isinstance(value, kind) and not (kind is not bool and isinstance(value, bool))
        if not fits:
            names = [one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,))]
            self.fail(f"`{key}` is {value!r}; it has to be of the type {' or '.join(names)}.")
        if required and isinstance(value, str) and not value.strip():
            self.fail(f"`{key}` is empty.")
        return value

    def texts(self, key, required=True):
        values = self.take(key, list, [], required)
        if not all(isinstance(value, str) and value.strip() for value in values):
            self.fail(f"`{key}` has to be a list of texts, none of them empty.")
        return tuple(values)

    def pattern(self, key):
        text = self.take(key, str, "", required=False)
        try:
            re.compile(text)
        except re.error as error:
            self.fail(f"`{key}` is not a regular expression: {error}.")
        return text

    def tables(self, key, required=True):
        values = self.take(key, list, [], required)
        if not all(isinstance(value, dict) for value in values):
            self.fail(f"[[{key}]] has to be a list of tables.")
        return [_Reader(value, f"{self._where}, [[{key}]] {number}")
                for number, value in enumerate(values, 1)]

    def end(self):
        left = sorted(set(self._table) - self._taken)
        if left:
            self.fail(f"the key `{left[0]}` is not known here.")


def load_all(root):
    """Every exercise of the repository, ordered by chapter and number."""
    found = []
    for chapter in CHAPTERS:
        found += load_chapter(root, chapter.name)
    return found


def load_chapter(root, chapter):
    """The exercises of one chapter's folder; ids, files, regions and patches are checked."""
    folder = Path(root) / "solutions" / chapter / "exercises"
    found = [load(root, chapter, path) for path in sorted(folder.glob("*.toml"))]
    found.sort(key=lambda exercise: exercise.number)
    for index, exercise in enumerate(found):
        if index and exercise.id == found[index - 1].id:
            raise WorkbookError(f"{_name(root, exercise.source)}: exercise {exercise.id} is in "
                                f"{found[index - 1].source.name} already.")
    return found


def find(exercises, wanted):
    """The exercise called '1.2'; an error lists what there is."""
    for exercise in exercises:
        if exercise.id == wanted:
            return exercise
    chapter = wanted.partition(".")[0]
    near = [exercise.id for exercise in exercises if exercise.id.startswith(chapter + ".")]
    raise WorkbookError(f"There is no exercise '{wanted}'. "
                        + (f"Chapter {chapter} has {near[0]} to {near[-1]}." if near else
                           "`./workbook list` shows all of them."))


def load(root, chapter, path):
    """One exercise."""
    root, name = Path(root), _name(root, path)
    reader = _Reader(toml_text.parse(regions.read_text(path), name), name)
    kind = reader.take("kind", str)
    if kind not in KINDS:
        reader.fail(f"`kind` is \"{kind}\"; it can be {', '.join(KINDS)}.")
    fields = {key: reader.take(key, str) for key in ("id", "title", "idea", "section", "goal",
                                                     "expected", "passed", "next")}
    if not re.fullmatch(rf"{int(chapter[:2])}\.[1-9]\d*", fields["id"]):
        reader.fail(f"`id` is \"{fields['id']}\"; exercises of this folder are called "
                    f"{int(chapter[:2])}.1, {int(chapter[:2])}.2 and so on.")
    if not path.name.startswith(fields["id"] + "_"):
        reader.fail(f"the file's name has to begin with the exercise's id: {fields['id']}_....toml")
    fields["minutes"] = reader.take("minutes", int)
    fields["hints"] = reader.texts("hints")
    if len(fields["hints"]) != HINTS:
        reader.fail(f"there are {len(fields['hints'])} hints; {HINTS} are needed: a nudge, the "
                    "idea, almost the code.")
    fields["runs"] = tuple(_run(table, RACES if kind in (WRITE, IMPROVE) else CONTRACT)
                           for table in reader.tables("run"))
    if not fields["runs"]:
        reader.fail("at least one [[run]] is needed.")
    if kind in (WRITE, IMPROVE):
        fields["file"] = reader.take("file", str)
        fields["region"] = _with_starter(_region(root, chapter, fields, reader), reader)
    if kind == WRITE:
        _check_starter(fields, reader)
    budget = reader.take("budget", dict, required=kind == IMPROVE) if kind in (WRITE, IMPROVE) else None
    if budget is not None:
        table = _Reader(budget, f"{name}, [budget]")
        fields["budget"] = Budget(table.take("metric", str),
                                  float(table.take("at_most", (int, float))))
        if fields["budget"].metric != CYCLES:
            table.fail(f"`metric` is \"{fields['budget'].metric}\"; it can be {CYCLES}.")
        table.end()
    never = reader.take("never", dict, required=False) if kind in (WRITE, IMPROVE) else None
    if never is not None:
        table = _Reader(never, f"{name}, [never]")
        fields["never"] = Never(table.pattern("instruction"), table.take("why", str))
        table.end()
    if kind == PREDICT:
        fields["questions"] = tuple(_question(table, len(fields["runs"]))
                                    for table in reader.tables("question"))
    if kind == FIND:
        _read_find(root, chapter, fields, reader)
    fields["wrong"] = tuple(_wrong(table, kind, fields.get("region"))
                            for table in reader.tables("wrong"))
    if len(fields["wrong"]) < LEAST_WRONG:
        reader.fail(f"there are {len(fields['wrong'])} [[wrong]] answers; at least {LEAST_WRONG} "
                    "are needed.")
    if kind in (WRITE, IMPROVE):
        fields["remarks"] = tuple(_wrong(table, kind, fields["region"])
                                  for table in reader.tables("remark", required=False))
    reader.end()
    return Exercise(kind=kind, chapter=chapter, source=Path(path), **fields)


def _name(root, path):
    try:
        return str(Path(path).relative_to(root))
    except ValueError:
        return str(path)


def _run(reader, checks):
    seeds = reader.take("seeds", list, [0], required=False)
    if not seeds or not all(isinstance(seed, int) and seed >= 0 for seed in seeds):
        reader.fail("`seeds` has to be a list of numbers from 0 on.")
    run = Run(reader.take("program", str), reader.texts("options", required=False), tuple(seeds),
              reader.pattern("expect"),
              reader.take("timeout_cycles", int, 0, required=False),
              reader.take("checks", str, checks, required=False))
    if run.checks not in CHECKS:
        reader.fail(f"`checks` is \"{run.checks}\"; it can be {' or '.join(CHECKS)}.")
    reader.end()
    return run


def _region(root, chapter, fields, reader):
    path = root / "solutions" / chapter / fields["file"]
    if not path.is_file():
        reader.fail(f"`file`: solutions/{chapter}/{fields['file']} does not exist.")
    found = regions.parse(regions.read_text(path), f"solutions/{chapter}/{fields['file']}")
    for region in found:
        if region.id == fields["id"]:
            if region.title != fields["title"]:
                reader.fail(f"the title is \"{fields['title']}\", but in {fields['file']}:"
                            f"{region.first} it is \"{region.title}\".")
            return region
    return reader.fail(f"solutions/{chapter}/{fields['file']} has no region of exercise "
                       f"{fields['id']}.")


def _with_starter(region, reader):
    """The region with what its reader finds there: `starter`, indented as the solution's lines."""
    text = reader.take("starter", str)
    problem = regions.unbalanced(text)
    if problem:
        reader.fail(f"`starter`, line {problem[0] + 1}: {problem[1]}")
    lines = text.rstrip().split("\n")
    return replace(region, starter=tuple((region.indent + line).rstrip() for line in lines))


def starters(own):
    """{id: lines} of what the readers of these exercises find between the marks."""
    return {exercise.id: exercise.region.starter for exercise in own if exercise.is_in_code}


def _check_starter(fields, reader):
    """The starter's kernel says which exercise it waits for."""
    call = f'{NOT_DONE_MACRO}("{fields["id"]}", "{fields["title"]}");'
    if not any(call in line for line in fields["region"].starter):
        reader.fail(f"`starter` lacks the line `{call}`.")


def _question(reader, runs):
    answer = reader.take("answer", str)
    if answer not in ANSWERS:
        reader.fail(f"`answer` is \"{answer}\"; it can be {', '.join(ANSWERS)}.")
    source = reader.take("from", str)
    if not re.fullmatch(r"keys:[a-z_]\w*", source):
        reader.fail(f"`from` is \"{source}\"; it names a function of keys.py: \"keys:name\".")
    key = reader.take("key", str)
    if not re.fullmatch(r"[a-z]\w*", key):
        reader.fail(f"`key` is \"{key}\"; it takes lower-case letters, digits and underscores.")
    options = reader.texts("options", required=False)
    question = Question(key, reader.take("ask", str), answer, source.partition(":")[2], options,
                        reader.take("run", int, 0, required=False))
    if (answer == CHOICE) != bool(options):
        reader.fail("`options` belong to a question whose answer is a choice, and only there.")
    _check_letters(reader, "options", options)
    if not 0 <= question.run < runs:
        reader.fail(f"`run` is {question.run}; there are {runs} runs, counted from 0.")
    reader.end()
    return question


def _check_letters(reader, key, values):
    for letter, value in zip("abcdefghijkl", values):
        if not value.startswith(f"{letter}: "):
            reader.fail(f"`{key}`: \"{value}\" has to begin with \"{letter}: \".")


def _read_find(root, chapter, fields, reader):
    fields["patch"] = reader.take("patch", str)
    fields["causes"] = reader.texts("causes")
    _check_letters(reader, "causes", fields["causes"])
    fields["cause"] = reader.take("cause", str)
    if fields["cause"] not in [cause[0] for cause in fields["causes"]]:
        reader.fail(f"`cause` is \"{fields['cause']}\", which is not one of the causes' letters.")
    fields["also_lines"] = reader.texts("also_lines", required=False)
    fields["needs_reports"] = reader.take("needs_reports", bool, False, required=False)
    fields["why"] = reader.take("why", str, "", required=False)
    if fields["needs_reports"] and not fields["why"]:
        reader.fail("`needs_reports` takes a `why`: why a run doesn't show the fault.")
    try:
        fields["file"] = patches.patched_file(fields["patch"])
        patches.shown(root / "solutions" / chapter, fields["patch"])
    except WorkbookError as error:
        reader.fail(f"`patch`: {error}")


def _wrong(reader, kind, region):
    name = reader.take("name", str)
    pairs = reader.take("change", list, required=False) if region else None
    answer = (reader.take("answer", dict if kind in (PREDICT, FIND) else str) if pairs is None else
              _changed(region, pairs, reader))
    message = reader.take("message", str)
    output = code = ""
    if kind in (WRITE, IMPROVE):
        when = _Reader(reader.take("when", dict), f"{reader._where}, when")
        output, code = when.pattern("output"), when.pattern("code")
        if not output and not code:
            when.fail("`output`, `code` or both have to say how this answer is recognised.")
        when.end()
    elif kind == FIND:
        part = _Reader(answer, f"{reader._where}, answer")
        part.take("line_text", str, required=False)
        part.take("cause", str, required=False)
        part.end()
        if not answer:
            reader.fail("`answer` has to hold `line_text`, `cause` or both.")
    reader.end()
    return Wrong(name, answer, message, output, code)


def _changed(region, pairs, reader):
    """The solution's lines with the changes that make them this answer."""
    try:
        return patches.changed(textwrap.dedent("\n".join(region.body)), pairs)
    except WorkbookError as error:
        return reader.fail(str(error))


def main():
    """Reads every exercise and prints a line for each; an error names its file."""
    root = Path(__file__).resolve().parents[2]
    try:
        found = load_all(root)
    except WorkbookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for exercise in found:
        print(f"{exercise.id:5} {exercise.kind:8} {exercise.minutes:3} min  {exercise.title}")
    minutes = sum(exercise.minutes for exercise in found)
    print(f"{len(found)} exercises, {minutes} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
