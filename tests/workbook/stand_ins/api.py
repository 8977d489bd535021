"""Stands in for the engine (tools/api.py): the verdict is decided by a word in the reader's lines.

RIGHT passes, "RIGHT, BUT" with a remark; GUESS: what explains the answer is a guess; HANG
sleeps, BROKEN does not compile, TODO is not done yet, everything else fails.
"""

import hashlib
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from .errors import WorkbookError
from .exercises import find, load_all  # noqa: F401  (part of the interface)


@dataclass(frozen=True)
class Place:
    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Answer:
    key: str
    given: str
    right: bool
    comment: str = ""


@dataclass(frozen=True)
class Verdict:
    status: str
    expected: str = ""
    found: str = ""
    explanation: str = ""
    guessed: bool = False
    remark: str = ""
    rule: str = ""
    where: str = ""
    place: Place = None
    report: tuple = ()
    notes: tuple = ()
    figures: tuple = ()
    answers: tuple = ()
    code: str = ""
    seconds: float = 0.1

    def to_dict(self):
        return asdict(self)


class Composed:
    """Device code of a program; gone at the end of its `with` block."""

    def __init__(self, text):
        self._settings = {"OWN_CODE": text}

    def environment(self, _program):
        return self._settings

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._settings.clear()


def targets(exercise):
    return list(exercise.programs)


def reader_path(root, exercise):
    return root / exercise.reader_file


def _bounds(root, exercise):
    """(index of the first line, index after the last one) of what the reader wrote."""
    lines = reader_path(root, exercise).read_text(encoding="utf-8").splitlines()
    if exercise.is_in_code:
        begin, end = f"// >>> exercise {exercise.id} ", f"// <<< exercise {exercise.id}"
        first = [i for i, line in enumerate(lines) if line.strip().startswith(begin)]
        last = [i for i, line in enumerate(lines) if line.strip() == end]
    else:
        first = [i for i, line in enumerate(lines) if line == f'["{exercise.id}"]']
        last = [i for i, line in enumerate(lines) if first and i > first[0] and line[:1] == "["]
        last = last or [len(lines)]
    if not first or not last:
        raise WorkbookError(f"{exercise.reader_file}: a mark of exercise {exercise.id} is gone.")
    return first[0] + 1, last[0], lines


def reader_line(root, exercise):
    return _bounds(root, exercise)[0] + 1


def reader_region(root, exercise):
    first, last, lines = _bounds(root, exercise)
    return lines[first:last]


def is_not_done(root, exercise):
    return exercise.is_in_code and "TODO" in "\n".join(reader_region(root, exercise))


def solution_region(root, exercise, tools=None):
    assert exercise.is_in_code or tools, "the machine is asked for the answers"
    return ["    stage = stage + 1 == NumStages ? 0 : stage + 1;", "    // RIGHT"]


def fingerprint(root, exercise):
    return hashlib.sha256("\n".join(reader_region(root, exercise)).encode()).hexdigest()[:16]


def reset(root, exercise):
    first, last, lines = _bounds(root, exercise)
    copy = root / ".workbook" / "saved" / f"{exercise.id}.txt"
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text("\n".join(lines[first:last]) + "\n", encoding="utf-8")
    lines[first:last] = ["    // TODO"]
    reader_path(root, exercise).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return copy


def compose_program(root, chosen, program, tools, on_progress=None):
    return Composed(" ".join(exercise.id for exercise in chosen))


def compose_bug(root, exercise, tools, on_progress=None):
    return Composed(f"bug of {exercise.id}")


def check(root, exercise, tools, on_progress=None):
    assert (root / "build" / "sim" / "bin" / exercise.programs[0]).is_file(), "not built"
    on_progress("compiling")
    common = {"expected": exercise.expected, "where": exercise.section_link}
    try:
        first, _, _ = _bounds(root, exercise)
        text = reader_region(root, exercise)
    except WorkbookError as error:
        return Verdict("broken", found=str(error), **common)
    place = Place(str(exercise.reader_file), first + 1, text[0] if text else "")
    words = "\n".join(text)
    with open(root / "checked", "a", encoding="utf-8") as record:
        record.write(exercise.id + "\n")
    if "HANG" in words:
        Path(root / "hanging").write_text("yes\n", encoding="utf-8")
        time.sleep(100)
    if "RIGHT, BUT" in words:
        return Verdict("passed", remark="Your lines count laps at every step.",
                       guessed="GUESS" in words, place=place, **common)
    if "RIGHT" in words:
        return Verdict("passed", **common)
    if "TODO" in words:
        return Verdict("not_done", found=f"exercise {exercise.id} is not done yet: {exercise.title}",
                       place=place, **common)
    if "BROKEN" in words:
        return Verdict("broken", found="It does not compile.", place=place,
                       report=(f"{place.path}:{place.line}: error: identifier \"stagee\" is undefined",
                               "      stagee = 0;", "      ^"), **common)
    return Verdict("failed", found="The consumer waits for ever in its fourth lap.",
                   explanation="The lap never advances, so from the second lap on the parity is that "
                               "of a phase that is over.", guessed="GUESS" in words,
                   rule="A wait on a parity returns once the phase of that parity has completed.",
                   place=place,
                   report=("deadlock: no thread can run and nothing is in flight: 2 warps of "
                           "bw::column_sums_kernel<...> wait in 2 roles",
                           f"  [1] warp 0 at {place.path}:{place.line} in Pipeline::step, since cycle "
                           "974",
                           "      waits for phase 3 (parity 1) of mbarrier bw::full+16; it is in "
                           "phase 3: pending 1 of 1 arrivals, tx-count 0"),
                   notes=("Only the lines between the marks are checked.",), **common)
