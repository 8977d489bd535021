"""The page of legal instruction forms: which of them the simulator executes, by version and target."""

import itertools

from .. import build, legal_forms, toolkit
from ..errors import WorkbookError

PATH = "generated/legal_forms.md"
STATUS = "form_status"
# Opcodes that a row lists of those that are not executed.
_EXAMPLES = 3


def page(root):
    """(path, text) of the page."""
    program = build.program(root, build.SIM, STATUS)
    if not program.is_file():
        raise WorkbookError(f"The program {STATUS} is not built.")
    forms, answers = legal_forms.kept()
    return PATH, text(forms, answers, legal_forms.statuses(program, forms, answers))


def text(forms, answers, found):
    """The page, from the forms, the versions that ptxas gives and the simulator's answers."""
    newest, ptx = toolkit.SUPPORTED["newest"], toolkit.SUPPORTED["newest_ptx"]
    lines = [
        "# Which instruction forms are executed",
        "",
        f"These are the instruction forms of PTX ISA {ptx} for three targets. A form is an opcode with "
        "one choice of its modifiers. The list is expanded from "
        "[a grammar](../common/simulator/isa/legal_forms.txt), and a form counts if ptxas of CUDA "
        f"Toolkit {newest} accepts a kernel that holds it. Cache operators, priorities and vectors of "
        "loads and stores are combined with the state spaces, and not with each other; textures, "
        "surfaces and video instructions are represented by a few forms.",
        "",
        "*Executed* means that the simulator loads a kernel with this form, *refused* that it rejects "
        "the kernel with a report that names the form or its operands, and *unknown* that it has no "
        "record of it. Being executed does not mean that the result was compared with hardware: nothing "
        "here was run on Blackwell.",
        "",
        *_families(forms, found),
        "",
        "## By the version that introduced a form",
        "",
        *_versions(answers, found),
        "",
        "## Forms that are not executed",
        "",
        "Each row is a line of the grammar. *Since* is the version of PTX that introduced the forms, or "
        "9.0 for older ones.",
        "",
        *_not_executed(forms, answers, found),
        "",
        "## Every form",
        "",
        "A row is a line of the grammar and a version of PTX: the opcode and its modifiers in order. A "
        "form has one of the words with `|` between them, words in brackets may be absent, and a word "
        "before `=` names a choice. A word with `@` means the words of this list:",
        "",
        *(f"- `{name}`: `{words}`" for name, words in legal_forms.names().items()),
        "",
        "Under a target is how many forms are *executed*, with the numbers of *refused* and *unknown* "
        "ones where there are any; an empty cell means that ptxas accepts none of them there.",
        "",
        *_all_lines(forms, answers, found),
    ]
    return "\n".join(lines) + "\n"


def _percent(part, whole):
    """Rounded down, so that 100 % means all."""
    return f"{1000 * part // whole / 10:.1f} %" if whole else ""


def _families(forms, found):
    counts = legal_forms.counted(forms, found)
    lines = ["| family | " + " | ".join(f"{target}: forms | executed" for target in found) + " |",
             "|---|" + "---:|" * (2 * len(found))]
    totals = {target: [0, 0] for target in found}
    for family in dict.fromkeys(form.family for form in forms):
        cells = []
        for target in found:
            row = counts[family, target]
            total = sum(row.values())
            totals[target][0] += total
            totals[target][1] += row["executed"]
            cells += [str(total), _percent(row["executed"], total)]
        lines.append(f"| {family} | " + " | ".join(cells) + " |")
    cells = itertools.chain.from_iterable(
        (str(total), _percent(executed, total)) for total, executed in totals.values())
    lines.append("| **all** | " + " | ".join(cells) + " |")
    return lines


def _versions(answers, found):
    heads = [f"{target}: forms | executed | refused | unknown" for target in found]
    lines = ["| PTX | " + " | ".join(heads) + " |", "|---|" + "---:|" * (4 * len(found))]
    for number, version in enumerate(legal_forms.VERSIONS):
        cells = []
        for target, words in found.items():
            mine = [word for word, first in zip(words, answers[target]) if first == number]
            cells += [str(len(mine)), *(str(mine.count(status)) for status in legal_forms.STATUSES)]
        name = f"{version} and older" if number == 0 else version
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def _not_executed(forms, answers, found):
    lines = ["| family | forms | status | since | targets | for example |", "|---|---:|---|---|---|---|"]
    rows = {}
    for target, words in found.items():
        for form, word, first in zip(forms, words, answers[target]):
            if word in ("refused", "unknown"):
                row = rows.setdefault((form.family, form.line, word, first), {})
                row.setdefault(target, []).append(form.opcode)
    for (family, _, word, first), by_target in rows.items():
        opcodes = list(dict.fromkeys(itertools.chain.from_iterable(by_target.values())))
        examples = ", ".join(f"`{opcode}`" for opcode in opcodes[:_EXAMPLES])
        more = ", …" if len(opcodes) > _EXAMPLES else ""
        lines.append(f"| {family} | {len(opcodes)} | {word} | {legal_forms.VERSIONS[first]} | "
                     f"{', '.join(by_target)} | {examples}{more} |")
    return lines


def _all_lines(forms, answers, found):
    """A table for each family: lines of the grammar, and counts of statuses by version and target."""
    rows = {}
    for target, words in found.items():
        for form, word, first in zip(forms, words, answers[target]):
            if word:
                family = rows.setdefault(form.family, {})
                row = family.setdefault((form.line, first), {})
                counts = row.setdefault(target, dict.fromkeys(legal_forms.STATUSES, 0))
                counts[word] += 1
    lines = []
    for name, family in rows.items():
        lines += [f"### {name[0].upper()}{name[1:]}", "", "| form | since | " + " | ".join(found) + " |",
                  "|---|---|" + "---:|" * len(found)]
        for (line, first), row in family.items():
            head = line.partition(" :")[0].replace("|", "\\|")
            lines.append(f"| `{head}` | {legal_forms.VERSIONS[first]} | "
                         + " | ".join(_counts(row.get(target)) for target in found) + " |")
        lines.append("")
    return lines[:-1]


def _counts(counts):
    """The cell of a target: "12", or "12, 3 refused"."""
    if not counts:
        return ""
    others = [f"{counts[status]} {status}" for status in legal_forms.STATUSES[1:] if counts[status]]
    return ", ".join(([str(counts["executed"])] if counts["executed"] else []) + others)
