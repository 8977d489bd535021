"""What a class has done, in numbers: counts, the commonest wrong answers, the hardest exercises."""

from collections import Counter
from dataclasses import dataclass, field

from ..verdict import BROKEN, FAILED, NOT_DONE, PASSED
from . import plan, submissions

OPEN = "open"  # not checked yet
STATUSES = (PASSED, FAILED, plan.OVER_LIMITS, BROKEN, NOT_DONE, OPEN)
WORDS = {PASSED: "passed", FAILED: "failed", plan.OVER_LIMITS: "over its limits", BROKEN: "broken",
         NOT_DONE: "not done", OPEN: "not checked yet"}
_TRIED = (PASSED, FAILED, plan.OVER_LIMITS, BROKEN)


@dataclass
class Wrong:
    """A wrong answer that several may have given; `known`: the exercise explains it."""

    exercise: str
    name: str
    explanation: str
    known: bool
    names: list = field(default_factory=list)


@dataclass
class OfExercise:
    """An exercise and what the class made of it."""

    exercise: object
    counts: Counter

    @property
    def tried(self):
        return sum(self.counts[status] for status in _TRIED)

    @property
    def share_passed(self):
        """The share among those who tried; None without a try."""
        return self.counts[PASSED] / self.tried if self.tried else None


@dataclass
class Class:
    """All that a report shows."""

    exercises: list
    names: list                 # of submissions
    lines: dict                 # (submission, exercise) -> line of the verdicts, or None
    by_exercise: list
    wrong: list
    alerts: list                # (submission or "", sentence): of that submission alone
    twins: list                 # [names] of submissions that agree in everything
    counts: Counter


def status_of(line):
    """A line's status."""
    return line["status"] if line else OPEN


def counts(lines):
    """How many verdicts there are of each kind."""
    return Counter(map(status_of, lines))


def phrase(counted):
    """'7 passed, 1 failed'."""
    return ", ".join(f"{counted[status]} {WORDS[status]}" for status in STATUSES
                     if counted[status]) or "nothing"


def of(exercises, handed_in, cells, line_of, notes, errors=None):
    """The Class of the results so far. `errors`: {key: why no verdict exists}."""
    lines = {(cell.submission, cell.exercise): line_of(cell) for cell in cells}
    names = [one.name for one in handed_in]
    by_exercise = [OfExercise(one, counts([lines[(name, one.id)] for name in names]))
                   for one in exercises]
    return Class(list(exercises), names, lines, by_exercise, _wrong(lines),
                 _alerts(handed_in, cells, lines, notes, errors or {}), _twins(cells),
                 counts(lines.values()))


def hardest(klass):
    """The exercises that were tried, those that the fewest passed first."""
    tried = [one for one in klass.by_exercise if one.tried]
    return sorted(tried, key=lambda one: (one.share_passed, -one.tried, one.exercise.number))


def _wrong(lines):
    """Wrong answers, the commonest first; those without a name by what was found."""
    found = {}
    for (name, exercise), line in lines.items():
        if status_of(line) not in (FAILED, BROKEN, plan.OVER_LIMITS) or line["alert"]:
            continue
        known = bool(line["wrong"])
        key = (exercise, line["wrong"] if known else line["found"])
        one = found.setdefault(key, Wrong(exercise, key[1], line["explanation"], known))
        one.names.append(name)
    return sorted(found.values(), key=lambda one: (-len(one.names), not one.known, one.exercise,
                                                   one.name))


def _alerts(handed_in, cells, lines, notes, errors):
    """What was refused, stopped or not graded, and what else the teacher should see."""
    alerts = [("", note) for note in notes]
    for one in handed_in:
        if one.problem:
            alerts.append((one.name, one.problem))
        elif "\\x" in one.name or "\\u" in one.name:
            alerts.append((one.name, f"Its name holds characters that can't be shown "
                                     f"({submissions.NAME})."))
    refused = {one.name for one in handed_in if one.problem}
    seen = set()
    for cell in cells:
        line = lines[(cell.submission, cell.exercise)]
        if line is None and cell.key in errors and cell.submission not in refused:
            alerts.append((cell.submission, f"{cell.exercise} is not graded: {errors[cell.key]}"))
        if line is None or cell.submission in refused:
            continue
        if line["alert"] or line["status"] == plan.OVER_LIMITS:
            # One sentence a file, however many exercises it holds.
            sentence = line["found"] if line["alert"] else f"{cell.exercise}: {line['found']}"
            if (cell.submission, sentence) not in seen:
                seen.add((cell.submission, sentence))
                alerts.append((cell.submission, sentence))
    return alerts


def _twins(cells):
    """Submissions that say the same in every exercise, and say something."""
    wrote = {}
    for cell in cells:
        wrote.setdefault(cell.submission, []).append(cell.handed_in)
    same = {}
    for name, hashes in wrote.items():
        if any(hashes):
            same.setdefault(tuple(hashes), []).append(name)
    return [names for names in same.values() if len(names) > 1]
