"""What the reader's commands do. Each takes (root, console, ...), returns an exit status."""

import json
import re
import sys

from .. import api
from ..errors import WorkbookError
from ..verdict import SCHEMA
from . import checking, editor, own_code, selection, view
from . import progress as progress_file


def _load(root, console):
    """(exercises, progress); says what is wrong with the progress file."""
    progress = progress_file.load(root)
    if progress.note:
        console.say(progress.note)
    return api.load_all(root), progress


def _one(root, console, wanted):
    """The exercise that is named, or the current one."""
    exercises, progress = _load(root, console)
    if wanted is None:
        return selection.current(exercises, progress)
    return selection.exercise(exercises, wanted)


def place(root, one):
    """(path relative to the root, line) of what the reader writes."""
    path = api.reader_path(root, one)
    try:
        line = api.reader_line(root, one)
    except (WorkbookError, OSError):  # a mark or the file is gone: whoever looks closer says so
        line = 1
    return path.relative_to(root), line


def show_next(root, console, wanted, open_file):
    """The next exercise, or the one that `wanted` names (of a chapter its first open one), and its
    file in an editor where this is a terminal."""
    exercises, progress = _load(root, console)
    if wanted is not None:
        one = selection.to_show(root, exercises, progress, wanted)
        progress_file.go_to(root, console, one.id)
    else:
        one = selection.following(exercises, progress)
    if one is None:
        if not exercises:
            raise WorkbookError("This checkout has no exercises yet.")
        console.say("Every exercise is passed. `./workbook use mine` lets `run` use your own code.")
        return 0
    show_task(root, one)
    if not api.reader_path(root, one).exists():
        console.say(f"\n{one.reader_file} does not exist. `./workbook reset {one.id}` writes it again.")
    elif open_file and sys.stdin.isatty() and sys.stdout.isatty():
        open_editor(root, console, one)
    return 0


def show_task(root, one):
    """An exercise as `next` shows it."""
    view.show_task(view.make_console(), one, place(root, one))


def open_editor(root, console, one, only_windows=False):
    """Opens the exercise's file; `only_windows`: by an editor that leaves the terminal alone."""
    words, note = editor.find()
    path, line = place(root, one)
    if not words:
        console.say(f"\nNot opened in an editor: {note}.")
    elif not only_windows or editor.has_a_window(words):
        editor.open_at(words, root / path, line)


def check(root, console, words, as_json, again):
    """Checks the exercises that `words` name, or the current one; 0 if all are right."""
    exercises, progress = _load(root, console)
    chosen = _several(root, exercises, progress, words)
    session, results, unchanged = checking.Session(root, console), [], []
    for one in chosen:
        if len(chosen) > 1 and not again and checking.still_passes(root, one, progress):
            unchanged.append(one)
            if not as_json:
                console.say(f"{one.id} has passed and was not changed since.")
            continue
        if not as_json:
            path, line = place(root, one)
            console.say(f"Checking {one.id} in your file {path}:{line}")
        verdict = session.check(one)
        results.append((one, verdict))
        if not as_json:
            show_verdict(root, one, verdict)
    passed = [one for one, verdict in results if verdict.status == checking.PASSED]
    here = chosen if len(chosen) == 1 else passed[-1:]
    if here:
        progress_file.go_to(root, console, here[0].id)
    if as_json:
        print(json.dumps(_as_data(root, results, unchanged), indent=1, ensure_ascii=False))
    else:
        if len(chosen) > 1:
            print(f"\n{len(unchanged) + len(passed)} of {len(chosen)} right")
        if len(passed) == len(results):
            show_what_follows(root, exercises, (passed or chosen)[-1])
    return 0 if len(passed) == len(results) else 1


def _several(root, exercises, progress, words):
    """The exercises that are named, or the current one."""
    return (selection.several(root, exercises, words) if words
            else [selection.current(exercises, progress)])


def show_verdict(root, one, verdict):
    """A verdict; after passing with the solution's lines next to the reader's."""
    own, solution = (), ()
    if verdict.status == checking.PASSED and one.is_in_code:
        own, solution = api.reader_region(root, one), api.solution_region(root, one)
    view.show_verdict(view.make_console(), one, verdict, own, solution)


def show_what_follows(root, exercises, one):
    """What comes after an exercise that is done: the next one with a word about it, and, where
    that begins another chapter, what was left out before it."""
    progress = progress_file.load(root)
    view.show_what_follows(view.make_console(), exercises, one, progress)


def _as_data(root, results, unchanged):
    verdicts = []
    for one, verdict in results:
        path, line = place(root, one)
        verdicts.append({"id": one.id, "title": one.title, "file": str(path), "line": line,
                         **verdict.to_dict()})
    return {"schema": SCHEMA,
            "passed": all(verdict.status == checking.PASSED for _, verdict in results),
            "verdicts": verdicts, "unchanged": [one.id for one in unchanged]}


def diff(root, console, wanted, spoil):
    """The solution's lines next to the reader's."""
    one = _one(root, console, wanted)
    progress = progress_file.load(root)
    if not spoil and progress.state(one.id) != progress_file.PASSED:
        raise WorkbookError(f"Exercise {one.id} has not passed yet, and its solution would spoil it. "
                            f"`./workbook hint {one.id}` gives a hint; `./workbook diff {one.id} "
                            "--spoil` shows the solution in any case.")
    # What a question's answers are is asked of the machine.
    tools = None if one.is_in_code else checking.Session(root, console).prepare(one)
    solution = api.solution_region(root, one, tools)
    path, line = place(root, one)
    screen = view.make_console(wide=True)
    print(f"{one.id} {one.title}: {path}:{line}\n")
    sys.stdout.flush()
    own = api.reader_region(root, one)
    if one.is_in_code:
        view.show_difference(screen, own, solution)
    else:
        answers = [line for line in own if line.strip() and line.lstrip()[0] not in "#["]
        view.show_difference(screen, _unquoted(answers), _unquoted(solution), "answers")
    return 0


def _unquoted(answers):
    """Answers of answers.toml without their quotes: 1 and "1" are the same answer."""
    return [re.sub(r'= "(.*)"\s*$', r"= \1", line) for line in answers]


def reset(root, console, wanted):
    """Puts an exercise's starter back, and its hints; the reader's lines are kept in a copy."""
    one = _one(root, console, wanted)
    copy = api.reset(root, one)
    progress_file.change(root, console, one.id, state=None, since=None, lines=None, hints=None,
                         remark=None)
    path, line = place(root, one)
    print(f"Exercise {one.id} is as it was at the beginning: {path}:{line}")
    if copy is not None:
        print(f"Your lines are kept in {_short(root, copy)}")
    return 0


def _short(root, path):
    try:
        return path.relative_to(root)
    except ValueError:
        return path


def skip(root, console, words, undo):
    """Leaves exercises out, or takes them up again: those that are named, or the current one."""
    exercises, progress = _load(root, console)
    chosen = _several(root, exercises, progress, words)
    wanted = progress_file.SKIPPED if undo else progress_file.OPEN
    changed = [one for one in chosen if progress.state(one.id) == wanted]
    for state, sentence in ((progress_file.PASSED, "passed already"),
                            (progress_file.OPEN if undo else progress_file.SKIPPED,
                             "not left out" if undo else "left out already")):
        others = [one for one in chosen if progress.state(one.id) == state]
        if others:
            _say_of(others, exercises, sentence)
    if not changed:
        return 0
    progress = progress_file.change(root, console, *(one.id for one in changed),
                                    state=None if undo else progress_file.SKIPPED)
    _say_of(changed, exercises, "open again" if undo else "left out for now")
    if not undo:
        view.show_what_follows(view.make_console(), exercises, changed[-1], progress)
    return 0


def _say_of(chosen, exercises, sentence):
    """One line about exercises; of a single one with its title."""
    if len(chosen) == 1:
        print(f"Exercise {chosen[0].id} ({chosen[0].title}) is {sentence}.")
    else:
        print(f"Exercises {selection.phrase(chosen, exercises)} are {sentence}.")


def use(root, console, whose):
    """Whose code `run` runs from now on."""
    _, progress = _load(root, console)
    chosen = own_code.passed(root, progress)
    progress_file.change(root, console, use=whose)
    if whose == progress_file.SOLUTIONS:
        print("`./workbook run` runs the solutions.")
    elif chosen:
        print("`./workbook run` runs your lines of "
              f"{', '.join(one.id for one in chosen)}, and the solution's everywhere else.")
    else:
        print("`./workbook run` will run your lines of every exercise in code that has passed. None has "
              "yet, so it runs the solutions for now.")
    return 0
