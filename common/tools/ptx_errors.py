"""ptxas' errors in terms of the source: nvcc has ptxas check the PTX that it writes.

ptxas names a line of the PTX. The .loc directives before that line say which line of the source it comes
from, and through which inlined calls.
"""

import re

INLINED = "    inlined at line "  # begins the line of a call that led to an error's place
_AT_A_LINE = re.compile(r"^ptxas (?P<file>.*), line (?P<line>\d+); (?:error|fatal)\s*: (?P<words>.*)$")
_WITHOUT_LINE = re.compile(r"^ptxas (?:error|fatal)\s*: (?P<words>.*)$")
_LAST_WORDS = "Ptx assembly aborted due to errors"
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"(.*)"')
_LOC = re.compile(r"^\s*\.loc\s+(\d+) (\d+) (\d+)"
                  r"(?:, function_name [^,]*, inlined_at (\d+) (\d+) (\d+))?\s*$")
_ASM = re.compile(r"^\s*// begin inline asm\n(.*?)^\s*// end inline asm$", re.M | re.S)
_NOT_CODE = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.S)


def explained(said, ptx, name):
    """The compiler's words `said`, with ptxas' places in the file `name`, whose text is `ptx`, replaced
    by those of the source: `FILE(LINE): error: ptxas: ...`, the PTX, and the calls that led there."""
    lines, rest, by_line = ptx.split("\n"), [], _directive(ptx)
    for line in said.splitlines():
        match, without = _AT_A_LINE.match(line), _WITHOUT_LINE.match(line)
        if match and match["file"] == name and int(match["line"]) <= len(lines):
            by_line.setdefault(int(match["line"]), []).append(match["words"])
        elif without and without["words"] != _LAST_WORDS:
            rest.append(f"error: ptxas: {without['words']}")
        elif not without:
            rest.append(line)
    found = [line for number, words in by_line.items()
             for line in _error(lines, number, "; ".join(words))]
    return "\n".join([*found, *rest]) + "\n"


def _directive(ptx):
    """{line: [words]} for the first asm statement with a `#`, at which ptxas crashes without a word."""
    for asm in _ASM.finditer(ptx):
        code = _NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), asm[1])
        if "#" in code:
            number = ptx.count("\n", 0, asm.start(1)) + code.count("\n", 0, code.index("#")) + 1
            return {number: ["`#` is not allowed in an asm statement: PTX has no preprocessor"]}
    return {}


def _error(lines, number, words):
    """The lines of an error at a line of the PTX; one without a place in the source keeps its number."""
    instruction, places = "    " + lines[number - 1].strip(), source_places(lines, number)
    if not places:
        return [f"error: ptxas: {words} (line {number} of the PTX)", instruction]
    (file, line), callers = places[0], places[1:]
    return [f"{file}({line}): error: ptxas: {words}", instruction,
            *(f"{INLINED}{line} of {file}" for file, line in callers)]


def source_places(lines, number):
    """[(file, line)] of the source for a line of PTX, counted from 1: its own place, then those of the
    calls that led there, from the innermost to the outermost. [] where no .loc comes before it."""
    files = {match[1]: match[2] for match in map(_FILE.match, lines) if match}
    callers, place = {}, None
    for line in lines[:number]:
        match = _LOC.match(line)
        if match:
            place = match.groups()[:3]
            callers[place] = match.groups()[3:] if match[4] else None
    found = []
    while place and place not in found:
        found.append(place)
        place = callers.get(place)
    return [(files.get(file, "?"), int(line)) for file, line, _ in found]
