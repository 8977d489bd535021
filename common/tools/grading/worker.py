"""One check, in a worker process on this machine or on another one that has the same checkout."""

import os
import re
from dataclasses import replace
from pathlib import Path

from .. import answers, api, check, confinement, regions, toolkit
from ..errors import WorkbookError
from ..setup import Tools
from ..verdict import BROKEN, FAILED
from . import plan, version

ROOT = Path(__file__).resolve().parents[3]
MOST_CHARACTERS = 4000  # of one text of a verdict
MOST_LINES = 60         # of a report
# Leaves confinements out (of those that confinement.strongest() knows): --limits-alone, and tests.
WITHOUT = "BW_GRADE_WITHOUT"
_WORK_FOLDER = re.compile(r"build/sim/checks/check-\w+-\w+-\w+/")
_prepared = {}


class AnotherVersion(WorkbookError):
    """This checkout is not the one whose verdicts are wanted."""


def prepare():
    """(version, Tools, exercises by id) of this process' checkout; looked up once."""
    if not _prepared:
        found, _ = toolkit.find(ROOT)
        if not found:
            raise WorkbookError(f"{ROOT} has no CUDA compiler. `./workbook setup` installs one.")
        confined = confinement.strongest(ROOT, found, os.environ.get(WITHOUT, "").split(","))
        # One core a check: the others check other submissions.
        tools = Tools("cmake", "ctest", found, dict(os.environ), confined, 1)
        exercises = {exercise.id: exercise for exercise in api.load_all(ROOT)}
        _prepared.update(version=version.of(ROOT, found), tools=tools, exercises=exercises)
    return _prepared["version"], _prepared["tools"], _prepared["exercises"]


def refusal(wanted, programs):
    """Why this process can't make checks of that version, or ""."""
    try:
        own, _, _ = prepare()
    except WorkbookError as error:
        return str(error)
    if own != wanted:
        return (f"its checkout {ROOT} is of version {own}, and {wanted} is wanted. Give it the same "
                "sources and the same release of the toolkit")
    built = version.built(ROOT)
    missing = [name for name in programs if built.get(name) != wanted]
    if missing:
        return (f"its checkout {ROOT} has not built {', '.join(missing)}. `./workbook grade --build` "
                "there does")
    return ""


def run(job, wanted):
    """The verdict on a plan.Job, as a dictionary."""
    own, tools, exercises = prepare()
    if own != wanted:
        raise AnotherVersion(f"A worker's checkout, {ROOT}, is of version {own}, and {wanted} is "
                             "wanted.")
    exercise = exercises[job.exercise]
    if exercise.is_in_code:
        given = regions.ReaderRegion(tuple(job.lines), job.first)
    else:
        given = answers.Table(tuple(job.lines), job.first)
    verdict = check.check_answer(ROOT, exercise, tools, given)
    if verdict.limit and verdict.status in (FAILED, BROKEN) and not verdict.wrong:
        verdict = replace(verdict, status=plan.OVER_LIMITS)
    return _bounded(verdict.to_dict())


def _bounded(value):
    """Texts without this machine's paths and of a bounded length."""
    if isinstance(value, str):
        text = _WORK_FOLDER.sub("", value.replace(f"{ROOT}/", ""))
        return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + " ..."
    if isinstance(value, dict):
        return {key: _bounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_bounded(one) for one in value[:MOST_LINES]]
    return value
