"""From submissions to checks: what each reader has written for each exercise, by its content.

Readers who wrote the same lines share one check. What needs no machine (a file that is missing, refused,
or without its marks) gets its verdict here.
"""

import hashlib
import json
from dataclasses import dataclass, replace

from .. import answers, check, regions
from ..errors import GraderError, WorkbookError
from ..exercises import IMPROVE
from ..verdict import NOT_DONE, SCHEMA, Verdict
from . import submissions

OVER_LIMITS = "over_limits"
MOST_REGION_BYTES = 16 << 10  # between two marks; a solution has at most 15 lines


@dataclass(frozen=True)
class Job:
    """One check: the text in a region or in a table of answers, and the line in which it begins."""

    key: str
    exercise: str
    lines: tuple
    first: int


@dataclass(frozen=True)
class Cell:
    """A submission's answer to one exercise: a Job's key, or what is known already (`verdict`), or why
    this machine can't look at it (`error`)."""

    submission: str
    exercise: str
    key: str
    job: Job = None
    verdict: Verdict = None
    error: str = ""
    alert: str = ""
    notes: tuple = ()
    handed_in: str = ""  # hash of what was written, without the starter's; "" for that


def cells(root, version, exercises, submission):
    """The Cells of a submission, one an exercise."""
    texts = {}
    return [_cell(root, version, exercise, submission, texts) for exercise in exercises]


def _cell(root, version, exercise, submission, texts):
    try:
        if submission.alert == submissions.NOT_READABLE:
            raise GraderError(submission.problem)
        return _cell_of(root, version, exercise, submission, texts)
    except GraderError as error:
        return Cell(submission.name, exercise.id, _key(version, exercise, submission.name, "not read"),
                    error=str(error))


def _cell_of(root, version, exercise, submission, texts):
    if submission.problem:
        return _known(version, exercise, submission, _unread(exercise, submission), submission.alert)
    try:
        text = _text(submission, exercise.reader_file, texts)
    except submissions.Missing as error:
        return _known(version, exercise, submission, _not_handed_in(exercise, str(error)))
    except WorkbookError as error:
        return _known(version, exercise, submission, check.unreadable(exercise, error),
                      getattr(error, "alert", ""))
    try:
        if exercise.is_in_code:
            own = regions.reader_region(text, exercise.reader_file, exercise.id)
        else:
            own = answers.find_table(text, exercise.reader_file, exercise.id)
    except WorkbookError as error:
        return _known(version, exercise, submission, check.unreadable(exercise, error))
    size = sum(len(line.encode("utf-8", "replace")) + 1 for line in own.lines)
    if size > MOST_REGION_BYTES:
        verdict = replace(check.unreadable(exercise, WorkbookError(
            f"{exercise.reader_file}:{own.first}: {size:,} bytes stand there; at most "
            f"{MOST_REGION_BYTES:,} are graded.")), status=OVER_LIMITS, limit="output")
        return _known(version, exercise, submission, verdict, submissions.LARGE)
    job = Job(_key(version, exercise, *own.lines, str(own.first)), exercise.id, own.lines, own.first)
    handed_in = _handed_in(exercise, own)
    if not handed_in and exercise.kind == IMPROVE:
        # It runs, and a check would call it too slow; but it has not been written.
        return _known(version, exercise, submission, _not_handed_in(
            exercise, f"exercise {exercise.id} is not done yet: {exercise.title}"))
    notes = _notes(root, exercise, text, texts) if exercise.is_in_code else ()
    return Cell(submission.name, exercise.id, job.key, job, notes=notes,
                handed_in=handed_in)


def _key(version, exercise, *parts):
    return hashlib.sha256(json.dumps([SCHEMA, version, exercise.id, *parts]).encode()).hexdigest()


def _text(submission, name, texts):
    """The text of a reader's file; read once."""
    if name not in texts:
        try:
            texts[name] = regions.text_of(submission.read(name), name)
        except WorkbookError as error:
            texts[name] = error
    if isinstance(texts[name], WorkbookError):
        raise texts[name]
    return texts[name]


def _notes(root, exercise, text, texts):
    """What was changed outside of the marks; the same for all exercises of a file."""
    slot = (exercise.reader_file, "notes")
    if slot not in texts:
        texts[slot] = check.changed_outside(root, exercise, text)
    return texts[slot]


def _handed_in(exercise, own):
    blank = exercise.region.starter if exercise.is_in_code else answers.blank_lines(exercise)
    lines = [line.strip() for line in own.lines]
    if lines == [line.strip() for line in blank]:
        return ""
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()


def _known(version, exercise, submission, verdict, alert=""):
    return Cell(submission.name, exercise.id, _key(version, exercise, verdict.status, verdict.found),
                verdict=verdict, alert=alert)


def _unread(exercise, submission):
    if submission.alert == submissions.EMPTY:
        return _not_handed_in(exercise, submission.problem)
    return check.unreadable(exercise, WorkbookError(submission.problem))


def _not_handed_in(exercise, reason):
    return replace(check.unreadable(exercise, WorkbookError(reason)), status=NOT_DONE)
