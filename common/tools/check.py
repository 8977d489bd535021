"""Checks what a reader has written for one exercise, by itself, and says what is wrong."""

import re
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from . import answers, device_code, exercises, left_over, patches, regions, reports, runs
from .errors import GraderError, WorkbookError
from .verdict import BROKEN, FAILED, NOT_DONE, PASSED, Answer, Place, Verdict


def check(root, exercise, tools, on_progress=None):
    """The Verdict on the text in the reader's file. Whatever the reader did ends in a verdict;
    a GraderError is a fault of the set-up (a program that isn't built, a full disk)."""
    return check_answer(root, exercise, tools, None, on_progress)


def check_answer(root, exercise, tools, given, on_progress=None):
    """check() of `given` instead of the text in the reader's file: lines or a ReaderRegion, or
    {key: value} or a Table of answers.toml. None: the reader's file."""
    root, begin = Path(root).resolve(), time.monotonic()
    progress = on_progress or (lambda text: None)
    how = {exercises.PREDICT: _check_predict, exercises.FIND: _check_find}
    try:
        verdict = how.get(exercise.kind, _check_code)(root, exercise, tools, given, progress)
    except GraderError:
        raise
    except WorkbookError as error:
        raise GraderError(str(error), error.details, error.exit_code) from error
    except OSError as error:
        raise GraderError(f"{error.filename or root}: {error.strerror}.") from error
    return replace(verdict, seconds=round(time.monotonic() - begin, 3))


def _verdict(exercise, status, **fields):
    fields.setdefault("rule", exercise.idea)
    return Verdict(exercise.id, status, exercise.expected, where=exercise.section_link, **fields)


def unreadable(exercise, error):
    """The verdict for a reader's file in which the exercise can't be found or understood."""
    if isinstance(error, GraderError):
        raise error
    place = None
    if isinstance(error, regions.RegionError):
        place = Place(error.path, error.line)
    return _verdict(exercise, BROKEN, found=str(error), place=place, rule="")


# --- write and improve -------------------------------------------------------------------------

def _check_code(root, exercise, tools, given, progress):
    try:
        own = _own_region(root, exercise, given)
    except WorkbookError as error:
        return unreadable(exercise, error)
    notes = () if given is not None else _changed_elsewhere(root, exercise)
    not_done = f"exercise {exercise.id} is not done yet: {exercise.title}"
    code = regions.without_comments(own.text)
    if exercises.NOT_DONE_MACRO in code or not code.strip():
        first = next((number for number, line in enumerate(own.lines, own.first)
                      if exercises.NOT_DONE_MACRO in line), own.first)
        return _verdict(exercise, NOT_DONE, found=not_done, rule="", notes=notes,
                        place=_place(exercise, own, first))
    problem = regions.unbalanced(own.text)
    if problem:
        line = own.first + problem[0]
        return _verdict(exercise, BROKEN, rule="", notes=notes, place=_place(exercise, own, line),
                        found=f"{exercise.reader_file}:{line}: {problem[1]}")
    with _work_folder(root) as folder:
        return replace(_run_code(root, exercise, tools, own, folder, progress), notes=notes)


def _own_region(root, exercise, given):
    if isinstance(given, regions.ReaderRegion):
        return given
    if given is not None:
        return regions.ReaderRegion(tuple(given), 1)
    text = regions.read_text(root / exercise.reader_file) if (
        root / exercise.reader_file).exists() else None
    if text is None:
        raise WorkbookError(f"{exercise.reader_file} does not exist. `./workbook reset "
                            f"{exercise.id}` writes it again.")
    if not text.strip():
        raise regions.RegionError(exercise.reader_file, 1, "the file is empty. `./workbook reset "
                                  f"{exercise.id}` writes it again.")
    return regions.reader_region(text, exercise.reader_file, exercise.id)


def _run_code(root, exercise, tools, own, folder, progress):
    replaced = [composed_file(root, [(exercise, own)])]
    progress("compiling")
    compiled = device_code.compile_to_ptx(root, tools, exercise.programs, replaced, folder)
    for result in compiled.values():
        if not result.files:
            return _does_not_compile(exercise, own, result)

    def solution(program):
        text = regions.read_text(root / exercise.solution_file)
        unchanged = device_code.Replaced(exercise.solution_file, text, exercise.solution_file)
        place = folder / "solution"
        return device_code.compile_to_ptx(root, tools, [program], [unchanged], place)[program].files

    figures = []
    for number, run in enumerate(exercise.runs, 1):
        for seed in run.seeds:
            progress(_progress_text(exercise, number, run, seed))
            reference = runs.reference(root, tools, run, seed)
            result = runs.with_ptx(root, tools, run, seed, compiled[run.program].files, reference,
                                   reports.YOURS + exercise.reader_file.name,
                                   run.checks, lambda run=run: solution(run.program))
            if not result.verified or not re.search(run.expect, result.output, re.M):
                return _failed_run(exercise, own, run, seed, result)
            if exercise.budget:
                figures.append((run, seed, result, reference))
    if exercise.budget:
        failed = _over_budget(exercise, own, figures)
        if failed and _is_starter(exercise, own):
            return replace(failed, status=NOT_DONE, rule="", explanation="", wrong="", guessed=False,
                           found=f"exercise {exercise.id} is not done yet: the lines are still the "
                           f"starter's. {failed.found}")
        if failed:
            return failed
    never = exercise.never and _never(exercise, own, compiled.values())
    if never:
        return never
    remark, line = _recognised(exercise.remarks, own, result.output + result.errors)
    return _verdict(exercise, PASSED, found=exercise.expected,
                    figures=_worst_figures(exercise, figures) if exercise.kind == exercises.IMPROVE
                    else (), remark=" ".join(remark.message.split()) if remark else "",
                    guessed=_is_guess(remark, own),
                    place=_place(exercise, own, line) if line else None)


def _never(exercise, own, compiled):
    """The verdict on device code with an instruction that a right answer does not need, or None."""
    for file in (file for result in compiled for file in result.files):
        found = re.search(exercise.never.instruction, regions.read_text(file))
        if found:
            wrong, line = _recognised(exercise.wrong, own, found.group())
            return _verdict(exercise, FAILED, place=_place(exercise, own, line) if line else
                            _first_place(exercise, own), **_explained(wrong, own),
                            found=f"The result is right, but the compiler makes `{found.group()}` of "
                            f"your lines: {exercise.never.why}")
    return None


def composed_file(root, chosen):
    """The solution's file with the regions of readers' exercises in it; all of one file.
    `chosen`: (Exercise, ReaderRegion)s."""
    exercise = chosen[0][0]
    name = exercise.solution_file
    bodies = {one.id: (own.lines, root / one.reader_file, own.first) for one, own in chosen}
    text = regions.composed(regions.read_text(root / name), name, bodies, root / name)
    return device_code.Replaced(name, text, exercise.reader_file)


def _progress_text(exercise, number, run, seed):
    text = "running" if len(exercise.runs) == 1 else f"run {number} of {len(exercise.runs)}"
    return text + (f" (seed {seed})" if seed else "")


def _does_not_compile(exercise, own, compiled):
    if compiled.limit:
        return _verdict(exercise, BROKEN, rule="", place=_first_place(exercise, own),
                        limit=compiled.limit, found=device_code.over_limit(compiled.limit)
                        + " Look for a template or a constant expression that never ends.")
    error = reports.first_error(compiled.errors, exercise.reader_file)
    # What only the code tells apart may be right: it was never run.
    wrong, _ = _recognised(exercise.wrong, own, compiled.errors, needs_output=True)
    if error is None:
        return _verdict(exercise, BROKEN, rule="", place=_first_place(exercise, own),
                        found="Your lines compile to a program without kernels."
                        if not compiled.errors.strip() else "The compiler failed.",
                        report=tuple(compiled.errors.splitlines()[-8:]))
    fields = {"place": _place(exercise, own, error.line or own.first), "report": error.lines}
    if wrong:
        return _verdict(exercise, FAILED, found=f"It does not compile: {error.message}",
                        **_explained(wrong, own), **fields)
    return _verdict(exercise, BROKEN, rule="", found=f"It does not compile: {error.message}",
                    **fields)


def _failed_run(exercise, own, run, seed, result):
    report = reports.parse(result.errors, exercise.reader_file)
    if report and report.is_of_old_program:
        raise WorkbookError(f"The program {run.program} was built from sources other than the"
                            " current ones. Build it again: `./workbook check` does.")
    shown = " ".join([run.program, *run.options]) + (f" (BW_SIM_SEED={seed})" if seed else "")
    wrong, line = _recognised(exercise.wrong, own, result.output + result.errors)
    place = _first_place(exercise, own)
    if report and report.reader_line:
        place = _place(exercise, own, report.reader_line)
    elif line:
        place = _place(exercise, own, line)
    return _verdict(exercise, FAILED, found=reports.found(result, report, run.expect, shown),
                    **_explained(wrong, own),
                    rule=(report.rule if report and report.rule else exercise.idea),
                    limit=result.limit or ("cycles" if report and report.is_of_cycles else ""),
                    place=place, code=report.code if report else "",
                    report=report.shown if report else ())


def _recognised(known, own, output, needs_output=False):
    """(the known answer that this is, the reader's line that shows it), or (None, None)."""
    code = regions.without_comments(own.text)
    for wrong in known:
        if needs_output and not wrong.output:
            continue
        in_code = re.search(wrong.code, code, re.M) if wrong.code else None
        if wrong.code and not in_code:
            continue
        if wrong.output and not re.search(wrong.output, output, re.M):
            continue
        line = own.first + code.count("\n", 0, in_code.start()) if in_code else None
        return wrong, line
    return None, None


def _is_guess(known, own):
    """Whether a known answer was recognised by a pattern of its code alone, in lines that are not
    its own: they may do something else."""
    def words(text):
        return re.findall(r"\w+|\S", regions.without_comments(text))
    return bool(known) and not known.output and words(known.answer) != words(own.text)


def _explained(wrong, own):
    """The fields of a verdict that say which known answer (or None) this is."""
    return ({"explanation": wrong.message, "wrong": wrong.name, "guessed": _is_guess(wrong, own)}
            if wrong else {})


def _over_budget(exercise, own, figures):
    """The verdict for a run that takes more than is allowed, or None."""
    for run, _, result, reference in figures:
        yours, solutions = result.measured_cycles, reference.measured_cycles
        if not yours or not solutions:
            raise GraderError(f"The simulator counted no cycles in a run of {run.program}.",
                              details=result.text)
        if yours <= solutions * exercise.budget.at_most:
            continue
        wrong, line = _recognised(exercise.wrong, own, result.output + result.errors)
        figure = _figures(exercise, yours, solutions)
        place = _place(exercise, own, line) if line else _first_place(exercise, own)
        return _verdict(exercise, FAILED, figures=figure, place=place,
                        found=f"The result is right, but it takes {figure[0][1]}; at most "
                        f"{figure[1][1]} are allowed ({exercise.budget.at_most:g} times the "
                        "solution's own).", **_explained(wrong, own))
    return None


def _is_starter(exercise, own):
    """Whether the reader has changed nothing but comments and blanks."""
    given, starter = (regions.without_comments(text).split()
                      for text in (own.text, "\n".join(exercise.region.starter)))
    return given == starter


def _worst_figures(exercise, figures):
    if not figures:
        return ()
    pairs = [(result.measured_cycles, reference.measured_cycles)
             for _, _, result, reference in figures]
    return _figures(exercise, *max(pairs, key=lambda pair: pair[0] / max(pair[1], 1e-9)))


def _figures(exercise, yours, solutions):
    def text(value):
        return f"{value:,.0f} cycles"
    return (("yours", text(yours)), ("allowed", text(solutions * exercise.budget.at_most)),
            ("the solution's", text(solutions)))


def _place(exercise, own, line):
    index = line - own.first
    text = own.lines[index].strip() if 0 <= index < len(own.lines) else ""
    return Place(str(exercise.reader_file), line, text)


def _first_place(exercise, own):
    """The first of the reader's lines that holds code."""
    code = regions.without_comments(own.text).split("\n")
    index = next((index for index, line in enumerate(code) if line.strip()), 0)
    return _place(exercise, own, own.first + index)


def _changed_elsewhere(root, exercise):
    """A note when the reader has changed what isn't looked at."""
    try:
        return changed_outside(root, exercise, regions.read_text(root / exercise.reader_file))
    except WorkbookError:
        return ()


def changed_outside(root, exercise, text):
    """The note for the text of a reader's file, or ()."""
    line = first_difference_outside(text, regions.read_text(root / exercise.solution_file))
    if line is None:
        return ()
    return (f"Only the lines between the marks are checked: {exercise.reader_file}:{line} is "
            "outside of them and differs from the file as it came.",)


def first_difference_outside(text, solution):
    """The first line of `text` that differs from `solution` outside of all marks, or None."""
    mine, original = _outside(text), _outside(solution)
    for (number, line), (_, other) in zip(mine, original):
        if line != other:
            return number
    if len(mine) == len(original):
        return None
    return mine[len(original)][0] if len(mine) > len(original) else len(text.split("\n"))


def _outside(text):
    lines, inside = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"\s*// <<< exercise ", line):
            inside = False
        if not inside:
            lines.append((number, line.rstrip()))
        if re.match(r"\s*// >>> exercise ", line):
            inside = True
    return lines


class _work_folder:
    """A folder of its own for one check, removed with all that is in it."""

    def __init__(self, root):
        self._parent = runs.folder(root)

    def __enter__(self):
        try:
            self._parent.mkdir(parents=True, exist_ok=True)
            left_over.remove_once(self._parent)
            self._folder = Path(tempfile.mkdtemp(prefix=left_over.prefix("check"), dir=self._parent))
        except OSError as error:
            raise WorkbookError(f"Checks write into {self._parent}, which can't be written to: "
                                f"{error.strerror}.") from error
        return self._folder

    def __exit__(self, *_):
        shutil.rmtree(self._folder, ignore_errors=True)


# --- predict -----------------------------------------------------------------------------------

def _check_predict(root, exercise, tools, given, progress):
    try:
        values, table = _own_answers(root, exercise, given)
    except WorkbookError as error:
        return unreadable(exercise, error)
    if all(answers.is_blank(value) for value in values.values()):
        return _not_answered(exercise, table, exercise.questions[0].key)
    progress("running")
    right = runs.computed_answers(root, tools, exercise)
    marked = [_mark(question, values[question.key], right[question.key])
              for question in exercise.questions]
    if all(answer.right for answer in marked):
        return _verdict(exercise, PASSED, found=exercise.expected, answers=tuple(marked))
    bad = [answer for answer in marked if not answer.right and answer.given]
    found = (("It is" if len(marked) == 1 else
              f"{len(bad)} of {len(marked)} answers {'is' if len(bad) == 1 else 'are'}")
             + " not what the machine does: "
             + ", ".join(f"{answer.key} = {answer.given}" for answer in bad) + ".")
    return _verdict_on_answers(exercise, table, marked, found, _recognised_answers(exercise, values))


def _verdict_on_answers(exercise, table, marked, found, wrong):
    """The verdict on answers that are not all right. Of those that are given the wrong ones are
    shown, the first one that the explanation is about as the reader's line; as long as a question is
    open, the exercise is not done, and not failed."""
    unanswered = [answer.key for answer in marked if not answer.given]
    bad = [answer.key for answer in marked if not answer.right and answer.given]
    explained = [key for key in bad if wrong and key in _keys_of(wrong)]
    fields = {"answers": tuple(marked),
              "place": _answer_place(exercise, table, (explained or bad or unanswered)[0])}
    if wrong and bad:
        fields.update(explanation=wrong.message, wrong=wrong.name)
    if not unanswered:
        return _verdict(exercise, FAILED, found=found, **fields)
    so_far = found if bad else "What is answered is right."
    return _verdict(exercise, NOT_DONE, rule="", **fields, found="Not answered yet: "
                    + ", ".join(unanswered) + ". " + so_far)


def _keys_of(wrong):
    """The questions that a known wrong answer is about."""
    return ["line" if key == "line_text" else key for key in wrong.answer]


def _own_answers(root, exercise, given):
    if given is None:
        return answers.read(root, exercise)
    if isinstance(given, answers.Table):
        return answers.values(exercise, given), given
    blank = {key: "" for key in answers.keys(exercise)}
    return {**blank, **given}, None


def _not_answered(exercise, table, key):
    return _verdict(exercise, NOT_DONE, rule="", place=_answer_place(exercise, table, key),
                    found=f"exercise {exercise.id} is not done yet: {exercise.title}")


def _answer_place(exercise, table, key):
    if table is None:
        return Place(str(exercise.reader_file), 1)
    line = table.line_of(key)
    return Place(str(exercise.reader_file), line, table.lines[line - table.first].strip())


def _mark(question, given, right):
    shown = str(given).strip()
    if answers.is_blank(given):
        return Answer(question.key, "", False, "not answered yet")
    if question.answer == exercises.INTEGER:
        number, problem = answers.whole_number(given, question.ask)
        if problem:
            return Answer(question.key, shown, False, problem)
        return Answer(question.key, shown, number == int(right))
    if question.answer == exercises.CHOICE:
        letter = shown.rstrip(":.)").lower()
        if letter not in question.letters():
            return Answer(question.key, shown, False,
                          f"this is not one of {', '.join(question.letters())}")
        return Answer(question.key, shown, letter == str(right))
    return Answer(question.key, shown, _plain(shown) == _plain(str(right)))


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


# --- find --------------------------------------------------------------------------------------

def _check_find(root, exercise, tools, given, progress):
    try:
        values, table = _own_answers(root, exercise, given)
    except WorkbookError as error:
        return unreadable(exercise, error)
    if all(answers.is_blank(value) for value in values.values()):
        return _not_answered(exercise, table, "line")
    progress("looking")
    shown = patches.shown(root / "solutions" / exercise.chapter, exercise.patch)
    lines = shown.text.split("\n")
    marked = (_mark_line(exercise, values["line"], lines, shown.faulty_lines),
              _mark_cause(exercise, values["cause"]))
    if all(answer.right for answer in marked):
        return _verdict(exercise, PASSED, found=exercise.expected, answers=marked)
    bad = [answer for answer in marked if not answer.right and answer.given]
    found = {("line",): "The fault is not in the line that you named.",
             ("cause",): "The cause is another one."}.get(
                 tuple(answer.key for answer in bad), "Neither the line nor the cause is the fault's.")
    comments = [answer.comment for answer in bad if answer.comment]
    return _verdict_on_answers(exercise, table, marked,
                               " ".join([found, *(comment + "." for comment in comments)]),
                               _recognised_fault(exercise, values, lines))


def _mark_line(exercise, given, lines, faulty):
    shown = str(given).strip()
    if not shown:
        return Answer("line", "", False, "not answered yet")
    number, problem = answers.whole_number(given, "line")
    if problem or not 1 <= number <= len(lines):
        return Answer("line", shown, False,
                      f"`line` takes a number from 1 to {len(lines)}, a line of "
                      f"{exercise.bug_file}")
    right = number in faulty or lines[number - 1].strip() in (
        text.strip() for text in exercise.also_lines)
    return Answer("line", shown, right)


def _mark_cause(exercise, given):
    shown = str(given).strip().rstrip(":.)").lower()
    if not shown:
        return Answer("cause", "", False, "not answered yet")
    letters = [cause[0] for cause in exercise.causes]
    if shown not in letters:
        return Answer("cause", shown, False, f"`cause` takes one of {', '.join(letters)}")
    return Answer("cause", shown, shown == exercise.cause)


def _recognised_fault(exercise, values, lines):
    number, problem = answers.whole_number(values["line"], "line")
    text = lines[number - 1] if not problem and 1 <= number <= len(lines) else ""
    cause = str(values["cause"]).strip().rstrip(":.)").lower()
    for wrong in exercise.wrong:
        wanted_line, wanted_cause = (wrong.answer.get(key, "") for key in ("line_text", "cause"))
        if wanted_line and wanted_line not in text:
            continue
        if wanted_cause and wanted_cause != cause:
            continue
        return wrong
    return None
