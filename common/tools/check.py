"""Checks what a reader has written for one exercise, by itself, and says what is wrong."""

import contextlib
import re
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from . import answers, device_code, exercises, left_over, marking, regions, reports, runs
from .errors import GraderError, WorkbookError
from .verdict import BROKEN, FAILED, NOT_DONE, PASSED, Place, Verdict


def check(root, exercise, tools, on_progress=None):
    """The Verdict on the text in the reader's file. Whatever the reader did ends in a verdict;
    a GraderError is a fault of the set-up (a program that isn't built, a full disk)."""
    return check_answer(root, exercise, tools, None, on_progress)


def check_answer(root, exercise, tools, given, on_progress=None):
    """check() of `given` instead of the text in the reader's file: lines or a ReaderRegion, or
    {key: value} or a Table of answers.toml. None: the reader's file."""
    root, begin = Path(root).resolve(), time.monotonic()
    progress = on_progress or (lambda text: None)
    check_it = _check_code if exercise.is_in_code else _check_answers
    try:
        verdict = check_it(root, exercise, tools, given, progress)
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
    if is_not_done(own.text):
        first = next((number for number, line in enumerate(own.lines, own.first)
                      if exercises.NOT_DONE_MACRO in line), own.first)
        return _verdict(exercise, NOT_DONE, found=not_done, rule="", notes=notes,
                        place=_place(exercise, own, first))
    problem = regions.unbalanced(own.text)
    if problem:
        line = own.first + problem[0]
        return _verdict(exercise, BROKEN, rule="", notes=notes, place=_place(exercise, own, line),
                        found=f"{exercise.reader_file}:{line}: {problem[1]}")
    with contextlib.ExitStack() as folders:
        def new_folder(content):
            return folders.enter_context(_work_folder(root, content))
        return replace(_run_code(root, exercise, tools, own, new_folder, progress), notes=notes)


def is_not_done(text):
    """Whether a region's lines still hold the starter's placeholder, or nothing but comments."""
    code = regions.without_comments(text)
    return exercises.NOT_DONE_MACRO in code or not code.strip()


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


def _run_code(root, exercise, tools, own, new_folder, progress):
    replaced, compiled = [composed_file(root, [(exercise, own)])], {}

    def solution(program):
        text = regions.read_text(root / exercise.solution_file)
        unchanged = device_code.Replaced(exercise.solution_file, text, exercise.solution_file)
        return device_code.compile_to_ptx(root, tools, [program], [unchanged],
                                          new_folder("solution"))[program].files

    figures = []
    for number, run in enumerate(exercise.runs, 1):
        if run.program not in compiled:
            progress("compiling")
            # On one core each waits for its turn: most wrong answers fail in the first program.
            due = [run.program] if tools.cores == 1 else exercise.programs
            compiled.update(device_code.compile_to_ptx(root, tools, due, replaced, new_folder("answer")))
        if not compiled[run.program].files:
            return _does_not_compile(exercise, own, compiled[run.program])
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
    wrong, line = _recognised(exercise.wrong, own, result.output + result.errors)
    place = _first_place(exercise, own)
    if report and report.reader_line:
        place = _place(exercise, own, report.reader_line)
    elif line:
        place = _place(exercise, own, line)
    return _verdict(exercise, FAILED, found=reports.found(result, report, run.expect, _shown(run, seed)),
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
    for one in figures:
        run, _, result, reference = one
        yours, solutions = result.measured_cycles, reference.measured_cycles
        if not yours or not solutions:
            raise GraderError(f"The simulator counted no cycles in a run of {run.program}.",
                              details=result.text)
        if yours <= solutions * exercise.budget.at_most:
            continue
        wrong, line = _recognised(exercise.wrong, own, result.output + result.errors)
        rows = _figures(exercise, one)
        figure = dict(rows)
        place = _place(exercise, own, line) if line else _first_place(exercise, own)
        return _verdict(exercise, FAILED, figures=rows, place=place,
                        found=f"The result is right, but it takes {figure['yours']}; at most "
                        f"{figure['allowed']} are allowed ({exercise.budget.at_most:g} times the "
                        "solution's own).", **_explained(wrong, own))
    return None


def _is_starter(exercise, own):
    """Whether the reader has changed nothing but comments and blanks."""
    given, starter = (regions.without_comments(text).split()
                      for text in (own.text, "\n".join(exercise.region.starter)))
    return given == starter


def _worst_figures(exercise, figures):
    def ratio(one):
        _, _, result, reference = one
        return result.measured_cycles / max(reference.measured_cycles, 1e-9)
    return _figures(exercise, max(figures, key=ratio)) if figures else ()


def _figures(exercise, one):
    """The rows of a verdict that compare cycles. A program's own figure leaves the launch out, and an
    exercise may have several runs, so the first row says what was counted."""
    run, seed, result, reference = one

    def text(value):
        return f"{value:,.0f} cycles"
    return (("counted", f"the whole launch in {_shown(run, seed)}"),
            ("yours", text(result.measured_cycles)),
            ("allowed", text(reference.measured_cycles * exercise.budget.at_most)),
            ("the solution's", text(reference.measured_cycles)))


def _shown(run, seed):
    """A run, as messages name it."""
    return " ".join([run.program, *run.options]) + (f" (BW_SIM_SEED={seed})" if seed else "")


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
    """A folder of its own for one check, removed with all that is in it. `content`: ends its name."""

    def __init__(self, root, content="answer"):
        self._parent, self._content = runs.folder(root), content

    def __enter__(self):
        try:
            self._parent.mkdir(parents=True, exist_ok=True)
            left_over.remove_once(self._parent)
            self._folder = Path(tempfile.mkdtemp(f"_{self._content}", left_over.prefix("check"),
                                                 self._parent))
        except OSError as error:
            raise WorkbookError(f"Checks write into {self._parent}, which can't be written to: "
                                f"{error.strerror}.") from error
        return self._folder

    def __exit__(self, *_):
        shutil.rmtree(self._folder, ignore_errors=True)


# --- predict and find --------------------------------------------------------------------------

def _check_answers(root, exercise, tools, given, progress):
    try:
        values, table = _own_answers(root, exercise, given)
    except WorkbookError as error:
        return unreadable(exercise, error)
    if marking.is_open(values):
        marked = marking.not_done(exercise)
    elif exercise.kind == exercises.FIND:
        progress("looking")
        marked = marking.find(exercise, values, marking.shown_file(root, exercise))
    else:
        progress("running")
        marked = marking.predict(exercise, values, runs.computed_answers(root, tools, exercise))
    fields = {"found": marked.found, "answers": marked.answers}
    if marked.status != PASSED:
        fields["place"] = _answer_place(exercise, table, marked.key)
    if marked.status == NOT_DONE:
        fields["rule"] = ""
    if marked.wrong:
        fields.update(explanation=marked.wrong.message, wrong=marked.wrong.name)
    return _verdict(exercise, marked.status, **fields)


def _own_answers(root, exercise, given):
    if given is None:
        return answers.read(root, exercise)
    if isinstance(given, answers.Table):
        return answers.values(exercise, given), given
    blank = {key: "" for key in answers.keys(exercise)}
    return {**blank, **given}, None


def _answer_place(exercise, table, key):
    if table is None:
        return Place(str(exercise.reader_file), 1)
    line = table.line_of(key)
    return Place(str(exercise.reader_file), line, table.lines[line - table.first].strip())
