"""What has to hold of every exercise: starter, solution and each kept wrong answer, by the real
check."""

from dataclasses import dataclass
from pathlib import Path

from . import check, compose, exercises, patches, runs
from .verdict import FAILED, NOT_DONE, PASSED, Verdict


@dataclass(frozen=True)
class Trial:
    """One answer and what the check says to it."""

    name: str
    status: str         # that it should have
    verdict: Verdict
    wrong: str = ""     # name of the wrong answer that it should be recognised as
    remark: str = ""    # the remark that it should pass with
    complaint: str = ""  # when it isn't a verdict that was looked at

    def problem(self):
        """What is not as it should be, or ""."""
        if self.complaint or self.verdict is None:
            return self.complaint
        if self.verdict.status != self.status:
            return f"the status is {self.verdict.status}; it should be {self.status}."
        if self.verdict.wrong != self.wrong:
            return (f"it is recognised as '{self.verdict.wrong}', not as '{self.wrong}'."
                    if self.verdict.wrong else "it gets no explanation of its own.")
        if self.verdict.remark != self.remark:
            return f"its remark is '{self.verdict.remark}'; it should be '{self.remark}'."
        return ""


def trials(root, exercise, tools):
    """All trials of an exercise, one by one."""
    yield starter(root, exercise, tools)
    yield solution(root, exercise, tools)
    yield from wrong_answers(root, exercise, tools)


def wrong_answers(root, exercise, tools):
    """Each wrong answer, and a find exercise's faulty program."""
    right = right_answer(root, exercise, tools)
    for one in exercise.wrong:
        yield Trial(f"wrong answer '{one.name}'", FAILED,
                    check.check_answer(root, exercise, tools, given(root, exercise, one, right)),
                    one.name)
    for one in exercise.remarks:
        yield Trial(f"remark '{one.name}'", PASSED,
                    check.check_answer(root, exercise, tools, given(root, exercise, one, right)),
                    remark=" ".join(one.message.split()))
    if exercise.kind == exercises.FIND and exercise.runs:
        yield faulty(root, exercise, tools)


def starter(root, exercise, tools):
    """The text that a reader begins with."""
    lines = exercise.region.starter if exercise.is_in_code else {}
    return Trial("starter", NOT_DONE, check.check_answer(root, exercise, tools, lines))


def solution(root, exercise, tools):
    """The right answer."""
    return Trial("solution", PASSED,
                 check.check_answer(root, exercise, tools, right_answer(root, exercise, tools)))


def right_answer(root, exercise, tools):
    """The solution's lines, or the right values of answers.toml."""
    if exercise.is_in_code:
        return exercise.region.body
    if exercise.kind == exercises.PREDICT:
        return runs.computed_answers(root, tools, exercise)
    shown = patches.shown(Path(root) / "solutions" / exercise.chapter, exercise.patch)
    return {"line": shown.faulty_lines[0], "cause": exercise.cause}


def given(root, exercise, wrong, right):
    """A kept wrong answer, as a check takes it; questions that it says nothing about are answered
    as in `right`."""
    if exercise.is_in_code:
        return wrong.answer.strip("\n").split("\n")
    if exercise.kind == exercises.PREDICT:
        return {**right, **wrong.answer}
    shown = patches.shown(Path(root) / "solutions" / exercise.chapter, exercise.patch)
    lines = shown.text.split("\n")
    text = wrong.answer.get("line_text")
    line = next((number for number, line in enumerate(lines, 1) if text and text in line),
                shown.faulty_lines[0] if text is None else len(lines) + 1)
    return {"line": line, "cause": wrong.answer.get("cause", exercise.cause)}


def faulty(root, exercise, tools):
    """The faulty program of a find exercise: it must not verify, or the exercise says why it
    does."""
    symptoms = []
    with compose.bug(root, exercise, tools) as composed:
        for run in exercise.runs:
            for seed in run.seeds:
                reference = runs.reference(root, tools, run, seed)
                result = runs.with_ptx(root, tools, run, seed, composed.files_of(run.program),
                                       reference, composed.focus, run.checks)
                symptoms.append(not result.verified)
    complaint = ""
    if not any(symptoms) and not exercise.needs_reports:
        complaint = "the faulty program verifies; give options or seeds that show the fault, or " \
                    "`needs_reports` and `why`."
    return Trial("faulty program", "", None, complaint=complaint)
