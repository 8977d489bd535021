"""Marks the answers of predict and find exercises.

The commands mark with these functions. Pages of the site (docs/site/marking.js) mark with the same
sentences and tables, which common/tools/site/questions.py writes into the site; a test compares both on
every kept answer.
"""

from dataclasses import dataclass

from . import answers, exercises, patches
from .verdict import FAILED, NOT_DONE, PASSED, Answer

SENTENCES = {
    "passed": "right",
    "failed": "not right yet",
    "not_done_yet": "not done yet",
    "open": "not answered yet",
    "not_done": "exercise {id} is not done yet: {title}",
    "one_differs": "It is not what the machine does: {given}.",
    "one_of_some_differs": "1 of {count} answers is not what the machine does: {given}.",
    "some_differ": "{bad} of {count} answers are not what the machine does: {given}.",
    "not_a_letter": "this is not one of {letters}",
    "other_line": "The fault is not in the line that you named.",
    "other_cause": "The cause is another one.",
    "neither": "Neither the line nor the cause is the fault's.",
    "not_a_line": "`line` takes a number from 1 to {lines}, a line of {file}",
    "not_a_cause": "`cause` takes one of {letters}",
    "still_open": "Not answered yet: {keys}. {so_far}",
    "right_so_far": "What is answered is right.",
}


@dataclass(frozen=True)
class Marked:
    """Answers with their marks. `key` is the question that the verdict is about, `wrong` the known
    wrong answer that this is, or None."""

    status: str
    found: str
    key: str
    answers: tuple = ()
    wrong: exercises.Wrong = None


def is_open(values):
    """Whether nothing has been answered."""
    return all(answers.is_blank(value) for value in values.values())


def not_done(exercise):
    """The Marked of an exercise of which nothing has been answered."""
    found = SENTENCES["not_done"].format(id=exercise.id, title=exercise.title)
    return Marked(NOT_DONE, found, answers.keys(exercise)[0])


def predict(exercise, values, right):
    """The Marked of the answers {key: value}; `right`: what the machine does."""
    marked = [_mark(question, values[question.key], right[question.key])
              for question in exercise.questions]
    bad = [answer for answer in marked if not answer.right and answer.given]
    sentence = SENTENCES["one_differs" if len(marked) == 1 else
                         "one_of_some_differs" if len(bad) == 1 else "some_differ"]
    found = sentence.format(bad=len(bad), count=len(marked), given=", ".join(
        f"{answer.key} = {answer.given}" for answer in bad))
    return _of_all(exercise, marked, found, _recognised_answers(exercise, values))


def find(exercise, values, shown):
    """The same of a bug hunt; `shown`: the faulty file (patches.Shown)."""
    marked = [_mark_line(exercise, values["line"], shown),
              _mark_cause(exercise, values["cause"])]
    bad = [answer for answer in marked if not answer.right and answer.given]
    sentence = {("line",): "other_line", ("cause",): "other_cause"}.get(
        tuple(answer.key for answer in bad), "neither")
    comments = [answer.comment + "." for answer in bad if answer.comment]
    return _of_all(exercise, marked, " ".join([SENTENCES[sentence], *comments]),
                   _recognised_fault(exercise, values, shown))


def shown_file(root, exercise):
    """The faulty file of a find exercise."""
    return patches.shown(root / "solutions" / exercise.chapter, exercise.patch)


def _of_all(exercise, marked, found, wrong):
    """Of the given answers the wrong ones are shown; the verdict is about the first one that the
    explanation is about. As long as a question is open, the exercise is not done, and not failed."""
    if all(answer.right for answer in marked):
        return Marked(PASSED, exercise.expected, marked[0].key, tuple(marked))
    unanswered = [answer.key for answer in marked if not answer.given]
    bad = [answer.key for answer in marked if not answer.right and answer.given]
    explained = [key for key in bad if wrong and key in _keys_of(wrong)]
    if unanswered:
        found = SENTENCES["still_open"].format(
            keys=", ".join(unanswered), so_far=found if bad else SENTENCES["right_so_far"])
    return Marked(NOT_DONE if unanswered else FAILED, found, (explained or bad or unanswered)[0],
                  tuple(marked), wrong if bad else None)


def _keys_of(wrong):
    """The questions that a known wrong answer is about."""
    return ["line" if key == "line_text" else key for key in wrong.answer]


def _mark(question, given, right):
    shown = str(given).strip()
    if answers.is_blank(given):
        return Answer(question.key, "", False, SENTENCES["open"])
    if question.answer == exercises.INTEGER:
        number, problem = answers.whole_number(given, question.ask)
        if problem:
            return Answer(question.key, shown, False, problem)
        return Answer(question.key, shown, number == int(right))
    if question.answer == exercises.CHOICE:
        letter = _letter(shown)
        if letter not in question.letters():
            return Answer(question.key, shown, False, SENTENCES["not_a_letter"].format(
                letters=", ".join(question.letters())))
        return Answer(question.key, shown, letter == str(right))
    return Answer(question.key, shown, _plain(shown) == _plain(str(right)))


def _letter(text):
    return text.strip().rstrip(":.)").lower()


def _plain(text):
    return " ".join(text.lower().split())


def _recognised_answers(exercise, values):
    """The known wrong answer whose every key agrees with the reader's, or None."""
    questions = {question.key: question for question in exercise.questions}
    for wrong in exercise.wrong:
        if all(key in values and not answers.is_blank(values[key])
               and _mark(questions[key], values[key], value).right
               for key, value in wrong.answer.items()):
            return wrong
    return None


def right_lines(exercise, shown):
    """The numbers of the lines in which the fault may be named, from 1."""
    also = [text.strip() for text in exercise.also_lines]
    return [number for number, line in enumerate(shown.text.split("\n"), 1)
            if number in shown.faulty_lines or line.strip() in also]


def lines_of(wrong, shown):
    """The numbers of the lines that a known wrong answer names; None if it is about the cause alone."""
    text = wrong.answer.get("line_text", "")
    return [number for number, line in enumerate(shown.text.split("\n"), 1)
            if text in line] if text else None


def _mark_line(exercise, given, shown):
    text = str(given).strip()
    if not text:
        return Answer("line", "", False, SENTENCES["open"])
    number, problem = answers.whole_number(given, "line")
    lines = shown.text.count("\n") + 1
    if problem or not 1 <= number <= lines:
        return Answer("line", text, False, SENTENCES["not_a_line"].format(
            lines=lines, file=exercise.bug_file))
    return Answer("line", text, number in right_lines(exercise, shown))


def _mark_cause(exercise, given):
    shown = _letter(str(given))
    if not shown:
        return Answer("cause", "", False, SENTENCES["open"])
    letters = [cause[0] for cause in exercise.causes]
    if shown not in letters:
        return Answer("cause", shown, False,
                      SENTENCES["not_a_cause"].format(letters=", ".join(letters)))
    return Answer("cause", shown, shown == exercise.cause)


def _recognised_fault(exercise, values, shown):
    number, _ = answers.whole_number(values["line"], "line")
    cause = _letter(str(values["cause"]))
    for wrong in exercise.wrong:
        named = lines_of(wrong, shown)
        if ((named is None or number in named)
                and wrong.answer.get("cause", cause) in (cause, "")):
            return wrong
    return None
