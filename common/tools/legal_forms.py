"""Which instruction forms are legal, by PTX version and target: asks ptxas, and keeps the answers.

    python3 -m tools.legal_forms --write [PTXAS]      (with common/ on PYTHONPATH)
    python3 -m tools.legal_forms --check [PTXAS]

common/simulator/isa/legal_forms.txt is the grammar, legal_forms.json next to it keeps what ptxas of the
newest supported toolkit says about each combination. --write asks it again; --check compares. Without a
path the toolkit comes from pinned wheels.
"""

import argparse
import itertools
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import private_env, toolkit
from .console import Console
from .errors import WorkbookError

FOLDER = Path(__file__).resolve().parents[1] / "simulator" / "isa"
GRAMMAR, KEPT = FOLDER / "legal_forms.txt", FOLDER / "legal_forms.json"
# The targets, and the simulator's machine for each.
MACHINES = {"sm_90a": "h100", "sm_100a": "b200", "sm_103a": "b300"}
TARGETS = tuple(MACHINES)
VERSIONS = ("9.0", "9.1", "9.2", "9.3", "9.4", "9.5")
SKIPPED = 77  # ctest's exit status of a test that was skipped
STATUSES = ("executed", "refused", "unknown")
# Number of kernels in a module for ptxas.
BATCH = 4000
_WIDTHS = (("128", "Q"), ("64", "D"), ("32", "R"), ("16", "H"), ("8", "H"))
# Types whose registers are not as wide as the number in their name.
_PACKED = {"f16x2": "R", "bf16x2": "R", "u16x2": "R", "s16x2": "R", "f32x2": "D", "u8x4": "R",
           "s8x4": "R",
           "e4m3x2": "H", "e5m2x2": "H", "e2m3x2": "H", "e3m2x2": "H", "e2m1x2": "B", "ue8m0x2": "H",
           "s2f6x2": "H", "ue5m3x2": "H", "e4m3x4": "R", "e5m2x4": "R", "e2m3x4": "R", "e3m2x4": "R",
           "e2m1x4": "H", "tf32": "R", "pred": "P"}
_TYPE = re.compile(r"(?:[bus](?:8|16|32|64|128)|f(?:16|32|64)|bf16)$")
REGISTERS = (".reg .b8 %B<2>; .reg .b16 %H<9>; .reg .b32 %R<129>; .reg .b64 %D<9>; .reg .b128 %Q<9>; "
             ".reg .pred %P<2>;")


@dataclass(frozen=True)
class Form:
    """One combination of a line of the grammar."""

    family: str
    line: str      # of the grammar
    opcode: str
    operands: str

    def text(self):
        """The instruction, without the semicolon."""
        return f"{self.opcode} {self.operands}".rstrip()


def expand(text):
    """The Forms of a grammar, in order; an opcode with the same operands appears once."""
    known, family, forms, seen = {}, None, [], set()
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("== "):
            family = line[3:]
        elif line.startswith("@"):
            name, words = line[1:].split(" = ")
            known[name] = _with_names(words, known)
        else:
            head, _, operands = line.partition(" :")
            base, *groups = _with_names(head, known).split(" ")
            for choice in itertools.product(*map(_choices, groups)):
                opcode = ".".join([base, *filter(None, choice)])
                form = Form(family, line, opcode, _operands(opcode, operands.strip()))
                if form.text() not in seen:
                    seen.add(form.text())
                    forms.append(form)
    return forms


def names():
    """{"@name": the words that it replaces} of the grammar, in its order."""
    lines = GRAMMAR.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" = ", 1) for line in lines if line.startswith("@"))


def _with_names(text, known):
    return re.sub(r"@(\w+)", lambda found: known[found.group(1)], text)


def _choices(group):
    optional = group.startswith("[")
    words = group.strip("[]").rpartition("=")[2].split("|")
    return ["", *words] if optional else words


def _register(of_type):
    """The letter of a register for a type."""
    return _PACKED.get(of_type) or next(letter for width, letter in _WIDTHS if of_type.endswith(width))


def _operands(opcode, template):
    words = opcode.split(".")
    types = [word for word in words if word in _PACKED or _TYPE.match(word)]
    if template.startswith("@"):
        template = _SPECIAL[template[1:]](words)
    lanes = next((int(word[1]) for word in words if word in ("v2", "v4", "v8")), 1)

    def type_of(digit):
        return _register(types[int(digit)] if digit else types[-1])

    text = re.sub(r"\$([0-2]?)", lambda found: type_of(found.group(1)), template)
    text = re.sub(r"<(\w)>", r"<\1*%d>" % lanes if lanes > 1 else r"\1", text)
    text = re.sub(r"<(\w)\*(\d+)>", lambda found: _vector(found.group(1), int(found.group(2))), text)
    return re.sub(r"(?<![\w.])([BHRDQP])(?!\w)", r"%\g<1>1", text)


def _vector(register, count):
    return "{" + ", ".join(f"%{register}{number}" for number in range(1, count + 1)) + "}"


def _mma(words):
    shape = next(word for word in words if re.match(r"m\d+n\d+k\d+$", word))
    m, n, k = map(int, re.findall(r"\d+", shape))
    is_sparse = words[1].startswith("sp")
    d, a, b, c = [word for word in words if word in _MMA_BITS][:4]
    lanes = 32

    def fragment(rows, columns, of):
        if of == "f64":
            return _vector("D", max(1, rows * columns // lanes))
        if shape == "m8n8k4" and of == "f16" and (rows, columns) != (8, 8):
            return _vector("R", 2)
        if shape == "m8n8k4" and (rows, columns) == (8, 8) and of in ("f16", "f32"):
            return _vector("R", 8 if of == "f32" else 4)
        return _vector("R", max(1, rows * columns * _MMA_BITS[of] // (32 * lanes)))

    stored = k // 2 if is_sparse else k
    operands = [fragment(m, n, d), fragment(m, stored, a), fragment(k, n, b), fragment(m, n, c)]
    return ", ".join(operands + (["R", "0"] if is_sparse else []))


_MMA_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s32": 32, "e4m3": 8, "e5m2": 8,
             "e3m2": 8, "e2m3": 8, "e2m1": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}


def _wgmma(words):
    n = int(next(re.match(r"m64n(\d+)k", word).group(1) for word in words if word.startswith("m64n")))
    d, a = [word for word in words if word in _MMA_BITS][:2]
    scales = ", 1, 1" if _MMA_BITS[a] >= 16 or d != "s32" else ""
    major = ", 0, 0" if a in ("f16", "bf16") else ""
    metadata = ", R, 0" if "sp" in words else ""
    return f"{_vector('R', n // (4 if d == 'f16' else 2))}, D, D{metadata}, P{scales}{major}"


def _tmem_registers(words):
    wide = {"16x128b": 2, "16x256b": 4}
    count = int(next(word[1:] for word in words if re.match(r"x\d+$", word)))
    return count * next((wide[word] for word in words if word in wide), 1)


def _tmem_address(words):
    return "[R], 16" if "16x32bx2" in words else "[R]"


def _tmem_load(words):
    return f"{_vector('R', _tmem_registers(words))}, {_tmem_address(words)}"


def _tmem_store(words):
    return f"{_tmem_address(words)}, {_vector('R', _tmem_registers(words))}"


def _tmem_reduction(words):
    return f"{_vector('R', _tmem_registers(words))}, R, {_tmem_address(words)}"


def _texture(words):
    count = {"1d": 1, "a1d": 2, "2d": 2, "a2d": 4, "3d": 4, "cube": 4}[words[1]]
    return f"<R*4>, [D, {_vector('R', count)}]"


def _surface(words):
    count = {"1d": 1, "2d": 2, "3d": 4}[words[2]]
    return f"$, [D, {_vector('R', count)}]"


_SPECIAL = {"mma": _mma, "wgmma": _wgmma, "tmemld": _tmem_load, "tmemst": _tmem_store,
            "tmemred": _tmem_reduction, "tex": _texture, "suld": _surface}


def module(forms, version, target):
    """A PTX module with a kernel for each form, the form of kernel N on line N + 4."""
    lines = [f".version {version}", f".target {target}", ".address_size 64"]
    for number, form in enumerate(forms):
        lines.append(f".entry k{number}() {{ {REGISTERS} {form.text()}; ret; }}")
    return "\n".join(lines) + "\n"


def accepted(ptxas, forms, version, target):
    """Which of the forms ptxas takes: a list of booleans. Only its parser runs, no code is generated."""
    result = []
    for first in range(0, len(forms), BATCH):
        result += _accepted(ptxas, forms[first:first + BATCH], version, target)
    return result


def _accepted(ptxas, forms, version, target):
    waiting, refused = list(range(len(forms))), set()
    with tempfile.TemporaryDirectory(prefix="bw-forms-") as folder:
        source = Path(folder) / "forms.ptx"
        while waiting:
            source.write_text(module([forms[index] for index in waiting], version, target),
                              encoding="utf-8")
            command = [str(ptxas), "-arch", target.replace("sm_", "compute_"), str(source), "-o",
                       "/dev/null"]
            result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    universal_newlines=True, check=False)
            lines = re.findall(r"line (\d+); (error|fatal)", result.stdout)
            found = {waiting[int(line) - 4] for line, _ in lines}
            if not found and result.returncode != 0 and "fatal" in result.stdout:
                raise WorkbookError(f"ptxas failed: {result.stdout[:500]}")
            refused |= found
            # Past a syntax error nothing was read.
            if not any(kind == "fatal" for _, kind in lines):
                break
            waiting = [index for index in waiting if index not in found]
    return [index not in refused for index in range(len(forms))]


def ask(ptxas, forms):
    """{target: [the number in VERSIONS of the first that has the form, or None]}."""
    answers = {}
    for target in TARGETS:
        first = [None] * len(forms)
        in_newest = accepted(ptxas, forms, VERSIONS[-1], target)
        unknown = [index for index, yes in enumerate(in_newest) if yes]
        for index in unknown:
            first[index] = len(VERSIONS) - 1
        for number, version in enumerate(VERSIONS[:-1]):
            yes = accepted(ptxas, [forms[index] for index in unknown], version, target)
            for index, is_there in zip(unknown, yes):
                if is_there:
                    first[index] = number
            unknown = [index for index, is_there in zip(unknown, yes) if not is_there]
        answers[target] = first
    return answers


def packed(numbers):
    """A list of small numbers and Nones as text: a character each, runs shortened ('0*12')."""
    parts = []
    for number, run in itertools.groupby(numbers):
        count = len(list(run))
        word = "-" if number is None else str(number)
        parts.append(word if count == 1 else f"{word}*{count}")
    return " ".join(parts)


def unpacked(text):
    """The list of packed()."""
    numbers = []
    for part in text.split():
        word, _, count = part.partition("*")
        numbers += [None if word == "-" else int(word)] * int(count or 1)
    return numbers


def kept():
    """(forms, {target: first versions}) as the repository keeps them."""
    forms = expand(GRAMMAR.read_text(encoding="utf-8"))
    answers = json.loads(KEPT.read_text(encoding="utf-8"))["first_versions"]
    answers = {target: unpacked(" ".join(lines)) for target, lines in answers.items()}
    for target, numbers in answers.items():
        if len(numbers) != len(forms):
            raise WorkbookError(f"legal_forms.json has {len(numbers)} answers for {target}, and the "
                                f"grammar has {len(forms)} forms. Run "
                                "python3 -m tools.legal_forms --write.")
    return forms, answers


def _text(forms, answers, release):
    """The kept file: a line of answers for each family."""
    rows = {}
    for target, numbers in answers.items():
        lines, index = [], 0
        for _, group in itertools.groupby(forms, key=lambda form: form.family):
            count = len(list(group))
            lines.append(packed(numbers[index:index + count]))
            index += count
        rows[target] = lines
    return json.dumps({"ptxas": release, "versions": VERSIONS, "first_versions": rows}, indent=1) + "\n"


def statuses(program, forms, answers):
    """{target: [a word of STATUSES for a legal form, else None]}: what the simulator does.

    `program` is the build's form_status."""
    questions, places = [], []
    for target, numbers in answers.items():
        for index, number in enumerate(numbers):
            if number is not None:
                places.append((target, index))
                questions.append("\t".join((MACHINES[target], target, REGISTERS, forms[index].text())))
    found = {target: [None] * len(forms) for target in answers}
    for (target, index), (word, _) in zip(places, _asked(program, questions)):
        found[target][index] = word
    return found


def _asked(program, questions):
    """[(status, version)] that form_status answers."""
    result = subprocess.run([str(program)], input="\n".join(questions) + "\n", stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, universal_newlines=True, check=False)
    rows = [tuple(line.split("\t")) for line in result.stdout.splitlines()]
    if result.returncode != 0 or len(rows) != len(questions):
        raise WorkbookError(f"form_status failed: {result.stderr.strip()[:500]}")
    return rows


def introduced(program, opcodes):
    """The version of PTX that the simulator names for each opcode; '-' up to 9.0."""
    return [version for _, version in
            _asked(program, ["\t".join(("b200", "sm_100a", "", opcode)) for opcode in opcodes])]


def counted(forms, found):
    """{(family, target): {status: number of forms}}, in the grammar's order."""
    counts = {}
    for target, words in found.items():
        for form, word in zip(forms, words):
            row = counts.setdefault((form.family, target), dict.fromkeys(STATUSES, 0))
            if word:
                row[word] += 1
    return counts


def main(arguments=None):
    """Writes or checks the kept answers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="asks ptxas and keeps its answers")
    action.add_argument("--check", action="store_true", help="asks ptxas and compares")
    parser.add_argument("ptxas", metavar="PTXAS", nargs="?")
    options = parser.parse_args(arguments)
    try:
        ptxas = options.ptxas or private_env.other_toolkit(
            FOLDER.parents[2], toolkit.SUPPORTED["newest"], Console()).with_name("ptxas")
    except WorkbookError as error:
        print(f"Skipped: {error}")
        return SKIPPED
    release = toolkit.release_of(Path(ptxas))
    if release is None or ".".join(map(str, release)) != toolkit.SUPPORTED["newest"]:
        print(f"{ptxas} is not a ptxas of CUDA Toolkit {toolkit.SUPPORTED['newest']}, the newest "
              "supported one.")
        return 1
    forms = expand(GRAMMAR.read_text(encoding="utf-8"))
    text = _text(forms, ask(ptxas, forms), toolkit.SUPPORTED["newest"])
    if options.write:
        KEPT.write_text(text, encoding="utf-8")
        print(f"{len(forms)} combinations.")
        return 0
    if text != KEPT.read_text(encoding="utf-8"):
        print("ptxas answers otherwise than legal_forms.json. Run "
              "python3 -m tools.legal_forms --write and review the diff.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
