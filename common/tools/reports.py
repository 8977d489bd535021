"""Cuts the compiler's and the machine's words to what concerns the reader's lines."""

import re
from dataclasses import dataclass

from . import ptx_errors, runs

# How reports call the reader's file, and the workbook's with a fault to be found: the base name of
# each is the solution's as well.
YOURS = "your "
FAULTY = "faulty "
MOST_LINES = 14
_ERROR = re.compile(r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?:catastrophic )?error\b"
                    r"(?: #[\w-]+)?\s*:\s*(?P<message>.*)$")
_PREPROCESSOR_ERROR = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?"
                                 r"error: (?P<message>.*)$")
# ptxas' words about a whole kernel (ptx_errors.py).
_ERROR_WITHOUT_PLACE = re.compile(r"^error: (?P<message>ptxas: .*)$")
# A report's first line: "simulator: contract violation BW-B06: what happened".
_HEAD = re.compile(r"simulator: (?P<kind>[A-Za-z][A-Za-z ]*) (?P<code>BW-[A-Z]\d\d): (?P<what>.*)$")
# Lines of source in a report, each with its number or the caret under the one before.
SOURCE = re.compile(r" +\d* \| ")
# How a schedule is run again to the report's event.
AGAIN = "  again: "
_NOTE = re.compile(r"\b(?:at line |)(?P<line>\d+)(?: of | in )\"?(?P<file>[^\"\n]+?)\"?$")


@dataclass(frozen=True)
class CompilerError:
    """The first error of a compilation; `line` is the reader's, or None."""

    message: str
    line: int
    lines: tuple


def first_error(text, reader_file):
    """The first error that concerns the reader's lines, else the first one; None without any."""
    errors = _errors(text.splitlines())
    if not errors:
        return None
    name = str(reader_file)
    own = next((error for error in errors if error[0].endswith(name)), None)
    if own:
        file, line, message, lines = own
        return CompilerError(_sentence(message), line, _trimmed(lines, reader_file))
    for file, line, message, lines in errors:
        used_at = re.search(rf"at line (\d+) of (?:\S*/)?{re.escape(name)}", "\n".join(lines))
        if used_at:
            return CompilerError(f"{_sentence(message)} ({_short(file)}:{line}, which your line "
                                 f"{used_at.group(1)} leads to)", int(used_at.group(1)),
                                 _trimmed(lines, reader_file))
    file, line, message, lines = errors[0]
    place = f" ({_short(file)}:{line})" if file else ""
    return CompilerError(_sentence(message) + place, None, _trimmed(lines, reader_file))


def _errors(lines):
    """[(file, line, message, its lines)]; the file is "" where the compiler names none."""
    found = []
    for line in lines:
        match = _ERROR.match(line) or _PREPROCESSOR_ERROR.match(line)
        if match:
            found.append((match["file"], int(match["line"]), match["message"], [line]))
        elif _ERROR_WITHOUT_PLACE.match(line):
            found.append(("", 0, _ERROR_WITHOUT_PLACE.match(line)["message"], [line]))
        elif re.match(r"^\d+ errors? detected", line) or re.search(r"\): warning\b", line):
            if found:
                found.append(None)  # what follows belongs to no error
        elif found and found[-1] and line.strip():
            found[-1][3].append(line)
    return [error for error in found if error]


def _sentence(message):
    return message.strip().rstrip(".")


def _short(file):
    """A path from the repository's folders on."""
    match = re.search(r"(?:^|/)((?:solutions|common|chapters)/.*)$", file)
    return match.group(1) if match else file.rsplit("/", 1)[-1]


def _trimmed(lines, reader_file):
    """The error's line, the source line with its caret, and the first note that names the reader's
    file: templates' other instantiations tell them nothing."""
    kept, notes = [], []
    for index, line in enumerate(lines):
        is_note = line.startswith(ptx_errors.INLINED)
        if index < 3 and not is_note:
            kept.append(line)
        elif str(reader_file) in line and not notes:
            notes.append(line.strip())
    shown = [re.sub(r"^\S*?((?:solutions|common|chapters)/)", r"\1", line) for line in kept + notes]
    return tuple(line.rstrip() for line in shown)


@dataclass(frozen=True)
class Report:
    """A report of the simulator. `shown`: cut to the reader's lines, with their file's path."""

    kind: str
    code: str
    what: str
    rule: str
    reader_line: int
    shown: tuple

    @property
    def is_of_cycles(self):
        """Whether a limit of simulated cycles has ended the run."""
        return "(the limit is BW_SIM_" in self.what

    @property
    def is_of_old_program(self):
        """Whether the program launched none of the kernels that it was to take from a file."""
        return self.code == "BW-S04"


def parse(errors, reader_file):
    """The simulator's report in a run's standard error, or None."""
    lines = errors.split("\n")
    start = next((index for index, line in enumerate(lines)
                  if _HEAD.match(line) and _HEAD.match(line)["kind"] != "warning"), None)
    if start is None:
        return None
    end = next((index for index in range(start + 1, len(lines))
                if not lines[index].startswith(" ")), len(lines))
    # The caller has the reader's line of source already, and a check chooses the schedule itself.
    body = [_with_path(line, reader_file) for line in lines[start:end]
            if not SOURCE.match(line) and not line.startswith(AGAIN)]
    head = _HEAD.match(body[0])
    rule = next((line.strip()[len("rule:"):].strip() for line in body
                 if line.startswith("  rule:")), "")
    own = re.search(re.escape(str(reader_file)) + r":(\d+)", "\n".join(body))
    return Report(head["kind"], head["code"], head["what"], rule, int(own.group(1)) if own else None,
                  tuple(_cut(body, str(reader_file))))


def _with_path(line, reader_file):
    return line.replace(YOURS + reader_file.name, str(reader_file))


def _cut(body, name):
    """All of a short report; of a long one the first lines, `rule` and `fix`, and those paragraphs
    that name the reader's file."""
    if len(body) <= MOST_LINES:
        return body
    head, tail = [], []
    paragraphs = []
    for line in body:
        if line.startswith(("  rule:", "  fix:")):
            tail.append(line)
        elif line.startswith("  ["):
            paragraphs.append([line])
        elif paragraphs:
            paragraphs[-1].append(line)
        else:
            head.append(line)
    own = [paragraph for paragraph in paragraphs if any(name in line for line in paragraph)]
    kept = own or paragraphs[:1]
    left = len(paragraphs) - len(kept)
    middle = [line for paragraph in kept for line in paragraph]
    if left:
        middle.append(f"  ... {left} more waiting or running role{'s' if left > 1 else ''} not "
                      "shown")
    return head + middle + tail


def found(result, report, expect, shown):
    """One or two sentences: how a run that did not verify has ended."""
    if result.timed_out:
        return (f"`{shown}` did not end within {result.seconds:.0f} s and was stopped: look for a "
                "loop that never ends.")
    if result.printed_too_much:
        return f"`{shown}` printed without end and was stopped: look for a loop that never ends."
    if result.limit == "time":
        return f"`{shown}` took too long and was stopped: look for a loop that never ends."
    if result.limit:
        return f"`{shown}` took too much {result.limit} and was stopped."
    if report:
        return f"`{shown}` was stopped. {report.kind}: {report.what}."
    wrong = re.search(r"^WRONG\s+(.*)$", result.output, re.M)
    if wrong:
        return f"`{shown}` gives a wrong result: {wrong.group(1)}."
    error = re.search(r"^error:\s*(.*)$", result.errors, re.M)
    if error:
        return f"`{shown}` failed: {error.group(1)}"
    if result.status == runs.VERIFIED:
        return f"`{shown}` gives the right result, but its output has no line that reads like " \
               f"`{expect}`."
    return f"`{shown}` ended with status {result.status}."
