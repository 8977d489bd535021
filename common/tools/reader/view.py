"""How tasks, verdicts and comparisons look: in any width, light or dark, or in a pipe.

Only red, green and bold are used: they can be read on every ground.
"""

import difflib
import re
import textwrap

from ..exercises import FIND, IMPROVE, PREDICT
from ..marking import SENTENCES
from . import progress as progress_file
from . import selection
from .checking import BROKEN, FAILED, NOT_DONE, PASSED
from .listing import duration
from .screen import Screen, Text

_ABOUT_ONE = re.compile(r"Exercises? (?P<id>\d+\.\d+)[ :].*", re.S)
_WIDEST = 100
_BESIDE = 90  # the least width for two versions side by side
_WIDEST_BESIDE = 160
_HEADS = {PASSED: (SENTENCES["passed"], "green"), FAILED: (SENTENCES["failed"], "red"),
          NOT_DONE: (SENTENCES["not_done_yet"], "bold"), BROKEN: ("can't be checked", "red")}


def make_console(stream=None, wide=False):
    """A screen of the terminal's width, up to what reads well."""
    return Screen(stream, _WIDEST_BESIDE if wide else _WIDEST)


class _Rows:
    """Labels with what belongs to them; a path that is too long for its place is not broken, so that
    it can be copied and clicked: it gets a line of its own."""

    def __init__(self, console):
        self._console = console
        self._rows = []

    def add(self, label, text):
        """Words, wrapped."""
        self._rows.append((label, text if isinstance(text, Text) else Text(" ".join(text.split())),
                           True))

    def add_line(self, label, text, style=""):
        """A path or a line of code."""
        self._rows.append((label, Text(text, style=style), False))

    def print(self):
        indent = max(len(label) for label, _, _ in self._rows) + 2
        for label, text, is_wrapped in self._rows:
            room = self._console.width - indent
            lines = text.wrap(room) if is_wrapped else [text]
            head = (label.ljust(indent), "bold")
            if not is_wrapped and text.cell_len > room:
                self._print(Text(label, style="bold"))
                fits = text.cell_len + 2 <= self._console.width
                self._print(Text.assemble("  " if fits else "", text))
                continue
            for number, line in enumerate(lines):
                self._print(Text.assemble(head if number == 0 else " " * indent, line))

    def _print(self, line):
        self._console.print(line, soft_wrap=True)


def _head(console, one, right, style):
    left = f"{one.id}  {one.title}"
    console.print()
    if len(left) + len(right) + 3 <= console.width:
        gap = " " * (console.width - len(left) - len(right))
        console.print(Text.assemble((left, "bold"), gap, (right, style)))
    else:
        console.print(Text(left, style="bold"))
        console.print(Text(right, style=style))
    console.rule(style)


# --- a task -------------------------------------------------------------------------------------

def show_task(console, one, place):
    """An exercise: what to achieve, where to read, where to write; `place` is (file, line)."""
    _head(console, one, f"{one.kind}, about {duration(one.minutes)}", "bold")
    rows = _Rows(console)
    rows.add("goal", one.goal)
    rows.add_line("read", one.section_link)
    if one.kind == FIND:
        rows.add_line("look at", str(one.bug_file))
    for question in one.questions:
        rows.add("question", f"{question.ask} ({question.key})")
        for option in question.options:
            rows.add("", option)
    for cause in one.causes:
        rows.add("cause" if cause is one.causes[0] else "", cause)
    rows.add_line("edit" if one.is_in_code else "answer in", "{}:{}".format(*place))
    if one.is_in_code:
        rows.add("", "Write between the two marks; nothing else in the file is checked.")
    if one.kind == IMPROVE:
        rows.add("budget", f"{one.budget.metric}: at most {one.budget.at_most:g} times what the "
                           "solution takes")
    if one.kind in (FIND, PREDICT) or one.kind == IMPROVE:
        rows.add_line("run", f"./workbook run {one.id}")
    rows.add("check", f"./workbook check {one.id} (or leave ./workbook watch running)")
    rows.add_line("stuck?", f"./workbook hint {one.id}")
    rows.print()


# --- a verdict ----------------------------------------------------------------------------------

def show_verdict(console, one, verdict, own=(), solution=()):
    """Expected and found, the rule, the reader's line, the report; after passing, why it is right
    and `solution` next to the reader's `own` lines."""
    text, style = _HEADS[verdict.status]
    if verdict.remark:
        text = "right, with a remark" if verdict.guessed else "right, but"
    _head(console, one, f"{text} ({verdict.seconds:.1f} s)", style)
    if verdict.status == PASSED:
        _show_passed(console, one, verdict, own, solution)
    else:
        _show_failed(console, one, verdict)


def _show_failed(console, one, verdict):
    rows = _Rows(console)
    if verdict.status in (FAILED, NOT_DONE):
        rows.add("expected", verdict.expected)
    rows.add("found", verdict.found)
    _add_figures(rows, verdict)
    for number, answer in enumerate(verdict.answers):
        rows.add("" if number else "answers", _marked_answer(answer))
    if verdict.explanation:
        rows.add("perhaps" if verdict.guessed else "why", verdict.explanation)
    if verdict.rule:
        rows.add("rule", verdict.rule)
    if verdict.where:
        rows.add_line("read", verdict.where)
    if verdict.place:
        _add_place(rows, verdict.place)
    if verdict.code:
        rows.add_line("explain", f"./workbook explain {verdict.code}")
    for note in verdict.notes:
        rows.add("note", note)
    rows.print()
    if verdict.report:
        console.print()
        console.print(Text("report", style="bold"))
        for line in verdict.report:
            for part in _hanging(console, line.rstrip("\n").expandtabs(4), console.width - 2):
                console.print(Text("  ") + part, soft_wrap=True)
    if verdict.status == FAILED:
        console.print()
        console.print(Text(f"stuck? ./workbook hint {one.id}"))


def _add_place(rows, place):
    rows.add_line("your line", f"{place.path}:{place.line}")
    if place.text.strip():
        rows.add_line("", "  " + place.text.strip(), "bold")


def _marked_answer(answer):
    if answer.given in ("", None):
        return Text.assemble(("open ", "bold"), f"  {answer.key}")
    mark = Text("right", style="green") if answer.right else Text("wrong", style="red")
    return Text.assemble(mark, f"  {answer.key} = {answer.given}",
                         f": {answer.comment}" if answer.comment else "")


def _hanging(console, line, width):
    """The lines of a report's line; if it is too long, its wrapped part is indented further."""
    indent = len(line) - len(line.lstrip())
    if len(line) <= width:
        return [Text(line)]
    # A path is left whole, even if it then ends beyond the edge.
    parts = textwrap.wrap(line.strip(), max(20, width - indent - 2), break_long_words=False,
                          break_on_hyphens=False)
    return [Text(" " * (indent + (2 if number else 0)) + part) for number, part in enumerate(parts)]


def _add_figures(rows, verdict):
    for name, value in verdict.figures:
        rows.add(name, str(value))


def _show_passed(console, one, verdict, own, solution):
    rows = _Rows(console)
    if verdict.remark:
        rows.add("perhaps" if verdict.guessed else "but", verdict.remark)
        if verdict.place:
            _add_place(rows, verdict.place)
    rows.add("why", one.passed)
    _add_figures(rows, verdict)
    for number, answer in enumerate(verdict.answers):
        comment = f": {answer.comment}" if answer.comment else ""
        rows.add("" if number else "answers", f"{answer.key} = {answer.given}{comment}")
    for note in verdict.notes:
        rows.add("note", note)
    rows.print()
    if one.is_in_code and solution:
        console.print()
        show_difference(console, own, solution)


def show_what_follows(console, exercises, one, progress):
    """The exercise after `one`, which has passed or is left out. Where it belongs to another chapter,
    what was left out before it is mentioned."""
    rows, following = _Rows(console), selection.following(exercises, progress, one)
    outlook = _ABOUT_ONE.fullmatch(one.next)
    if following is None:
        rows.add("next", "Every exercise is passed. `./workbook use mine` lets `run` use your own "
                         "code.")
    else:
        rows.add("next", f"{following.id} {following.title}: ./workbook next")
    # A sentence about one exercise is shown only if that exercise follows.
    if progress.state(one.id) == progress_file.PASSED and (
            outlook is None or following is not None and outlook["id"] == following.id):
        rows.add("more" if outlook is None else "", one.next)
    if following is not None and following.chapter != one.chapter:
        left = selection.left_out(exercises, progress, following)
        if left:
            rows.add("left out", f"{selection.phrase(left, exercises)}: ./workbook next "
                                 f"{left[0].id}")
    console.print()
    rows.print()


# --- two versions of some lines -----------------------------------------------------------------

def show_difference(console, own, solution, what="lines"):
    """The reader's lines and the solution's; side by side where there is room."""
    heads = [Text(f"{whose} {what}", style="bold") for whose in ("your", "the solution's")]
    own, solution = _shift(own), _shift(solution)
    if [" ".join(line.split()) for line in own if line.strip()] == [
            " ".join(line.split()) for line in solution if line.strip()]:
        console.print(Text(f"Your {what} are the solution's, word for word."))
        return
    left, right = _marked(own, solution)
    if console.width >= _BESIDE:
        console.print_beside([heads[0], *left], [heads[1], *right])
    else:
        console.print(heads[0], *left, "", heads[1], *right)


def _shift(lines):
    """The lines without the indentation that all of them share."""
    lines = [line.rstrip("\r\n").expandtabs(4).rstrip() for line in lines]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    common = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [line[common:] for line in lines]


def _marked(own, solution):
    """Both versions as Text, with a mark before the lines that differ (neither of them is wrong)."""
    matcher = difflib.SequenceMatcher(None, own, solution, autojunk=False)
    left, right = [], []
    for kind, a_begin, a_end, b_begin, b_end in matcher.get_opcodes():
        same = kind == "equal"
        for lines, begin, end, target in ((own, a_begin, a_end, left),
                                          (solution, b_begin, b_end, right)):
            target += [Text(("  " if same else "* ") + line, style="" if same else "bold")
                       for line in lines[begin:end]]
    return left or [Text("  (nothing)")], right or [Text("  (nothing)")]
