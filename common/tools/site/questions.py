"""The predict and find exercises for pages: `exercises.json`, next to the launches of the labs.

It holds the texts of the exercises' TOML files, the answers that the machine gives, and the sentences
and tables by which the command marks (tools/marking.py). docs/site/marking.js marks by them, in the
same way.
"""

import json
from pathlib import Path

from .. import answers, exercises, marking, patches, runs
from ..reader import progress

EXERCISES = "exercises.json"
_TEXTS = ("id", "title", "kind", "minutes", "idea", "goal", "expected", "hints", "passed", "next")


def load(root):
    """The exercises whose answers need no compiler."""
    return [one for one in exercises.load_all(root) if not one.is_in_code]


def write(root, tools, folder, recorded):
    """Writes the file. `recorded`: the recorded runs, as labs.json lists them."""
    files = {}
    for run in recorded:
        files.setdefault(run.get("exercise"), []).append(run["file"])
    known = {"rules": rules(), "exercises": [
        {**described(Path(root), tools, one), "launches": files.get(one.id, [])}
        for one in load(root)]}
    (folder / EXERCISES).write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n",
                                    encoding="utf-8")
    return known


def rules():
    """What marking goes by, of no single exercise, and the head of a file of progress."""
    return {"sentences": {**marking.SENTENCES, **answers.NUMBER_SENTENCES},
            "numbers": answers.number_rules(), "progress": progress.HEAD}


def described(root, tools, exercise):
    """An exercise as pages take it."""
    made = {name: getattr(exercise, name) for name in _TEXTS}
    made["section"] = exercise.section_link
    made["chapter"] = exercise.number[0]
    made["programs"] = [" ".join([run.program, *run.options]) for run in exercise.runs]
    if exercise.kind == exercises.PREDICT:
        right = runs.computed_answers(root, tools, exercise)
        made["questions"] = [
            {"key": question.key, "ask": question.ask, "answer": question.answer,
             "options": question.options, "right": right[question.key]}
            for question in exercise.questions]
        made["wrong"] = [{"name": one.name, "message": one.message, "answer": one.answer}
                         for one in exercise.wrong]
        return made
    shown = marking.shown_file(root, exercise)
    hidden = patches.shown(root / "solutions" / exercise.chapter, exercise.patch, hides=True)
    made.update(file=exercise.bug_file.as_posix(), text=hidden.text, causes=exercise.causes,
                cause=exercise.cause, lines=marking.right_lines(exercise, shown))
    made["wrong"] = [{"name": one.name, "message": one.message, "lines": marking.lines_of(one, shown),
                      "cause": one.answer.get("cause", "")} for one in exercise.wrong]
    return made
