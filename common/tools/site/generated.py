"""Pages that the build writes: the instruction tables, the contract's types, the reference by layer."""

import posixpath
import re
import subprocess
from pathlib import Path

from .. import build, chapters, faults
from ..errors import WorkbookError
from . import code_pages, form_page, toys

LISTING = "opcode_listing"
TIMING_LISTING = "timing_listing"
_EFFECTS = {
    "lane": "its own registers",
    "warp": "its own warp",
    "cluster": "others of its cluster see it",
    "grid": "others of the grid see it",
    "refused": "refused at launch, by name",
}
_REFUSED = "Known and refused"
# The layers of the reference, from the reader's side down: (folder, what it holds).
_LAYERS = (
    *((f"solutions/{chapter.name}", f"chapter {chapter.number}: {chapter.title}")
      for chapter in chapters.CHAPTERS),
    ("common/device", "PTX wrappers of one instruction each, and descriptors"),
    ("common/host", "buffers, tensor maps, problems, references"),
    ("common/simulator/cudart", "the CUDA runtime's functions"),
    ("common/simulator/diagnosis", "why a launch is stuck"),
    ("common/simulator/trace", "recordings of what happened"),
    ("common/simulator/units", "what instructions do, and the state that they keep"),
    ("common/simulator/machine", "device, grid, cluster, warps; event loop"),
    ("common/simulator/clock", "what operations cost: tables, an SM, the L2 cache, shared bandwidth"),
    ("common/simulator/schedule", "the order and the issue slots that ptxas would give"),
    ("common/simulator/ptx", "from PTX text to flat instruction lists"),
    ("common/simulator/isa", "one record per instruction form: all that is known of it"),
    ("common/simulator/base", "errors and text"),
)


_TRY_IT = """\
# Try it

Pages that move. All of them work by keyboard, and without a network.

| page | what it shows |
|---|---|
"""
_LOOK_UP = """\
# Look it up

| you have | look here |
|---|---|
| a word | [glossary](../docs/glossary.md) |
| a kernel that hangs, stops or is wrong | [symptom, cause, fix](../docs/symptoms.md) |
| the code of a report, such as BW-B06 | [the codes](../docs/codes/README.md) |
| the number of a pitfall | [the pitfalls of this field](../docs/pitfalls.md) |
| a fault that the simulator should find | [the catalogue of faults](faults.md) |
| an instruction | [instruction tables](instructions.md), [which forms are executed](legal_forms.md) |
| a number of simulated time | [the timing model](../docs/timing.md), [its numbers](timing_numbers.md) |
| a type of the design | [the design map](../docs/contract.md), [type by type](contract_types.md) |
| a header, a class, a function | [reference by layer](reference.md), or the search field |
"""


def pages(root):
    """[(path, text)] of all generated pages."""
    root = Path(root)
    return [
        *instructions(_listed(root, LISTING)),
        form_page.page(root),
        ("generated/timing_numbers.md", timing_numbers(_listed(root, TIMING_LISTING))),
        *contract(root),
        ("generated/reference.md", reference(root)),
        ("generated/faults.md", fault_catalogue(faults.load_all(root))),
        ("generated/try_it.md", try_it([*toys.load(root), *toys.timelines()])),
        ("generated/look_up.md", _LOOK_UP),
        *code_pages.pages(root),
    ]


def try_it(moving):
    """The page of the pages that move."""
    return _TRY_IT + "".join(f"| [{toy.title}](../{toy.path}) | {toy.shows} |\n" for toy in moving)


def _listed(root, name):
    """The lines that a listing program prints, by fields."""
    program = build.program(root, build.SIM, name)
    if not program.is_file():
        raise WorkbookError(f"The program {name} is not built.")
    result = subprocess.run(
        [str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        check=False,
    )
    if result.returncode != 0:
        raise WorkbookError(f"{name} failed: {result.stderr.strip()}")
    return [line.split("\t") for line in result.stdout.splitlines()]


def fault_catalogue(cases):
    """The page of the catalogue of faults."""
    faulty = [case for case in cases if not case.is_right]
    right = [case for case in cases if case.is_right]
    return "\n".join([
        "# The catalogue of faults",
        "",
        f"Which faults does the simulator find? These {len(faulty)} kernels are faulty, and the tests "
        "expect the code, the lines and the culprits of each report. Some are patches of the solutions, "
        "the others small kernels; [the folder's page](../tests/simulator/faults/README.md) says how "
        "they are written.",
        "",
        "The level is the value of `BW_SIM_CHECKS` that finds the fault: `contract`, the default, or "
        "`races`. A number in the second column is that of [a pitfall](../docs/pitfalls.md).",
        "",
        "| fault | pitfall | code | level | in |",
        "|---|---|---|---|---|",
        *[f"| {_cell(case.idea)} | {_pitfalls(case)} | {case.code} | {case.level} | {_where(case)} |"
          for case in faulty],
        "",
        "## What looks like a fault but is right",
        "",
        f"About these {len(right)} kernels the simulator has to be silent, at the level `races` and "
        "under each seed.",
        "",
        "| kernel | pitfall | in |",
        "|---|---|---|",
        *[f"| {_cell(case.idea)} | {_pitfalls(case)} | {_where(case)} |" for case in right],
        "",
    ])


def _pitfalls(case):
    return ", ".join(f"[{number}](../docs/pitfalls.md#pitfall-{number})" for number in case.pitfalls)


def _where(case):
    place = f"chapter {int(case.chapter)}" if case.chapter else "a small kernel"
    return f"[{place}](../{case.file}#L{case.line})"


def _cell(text):
    """Markdown and Doxygen leave it as it is."""
    return re.sub(r"(\w+(?:(?:::|__|[._])\w+)+(?:\(\))?|\w+ > \d+)", r"`\1`", text).replace("|", "/")


def timing_numbers(rows):
    """The page of the timing model's numbers, from [machine, name, unit, what, value, source, origin]
    rows."""
    machines = list(dict.fromkeys(row[0] for row in rows))
    numbers = {}
    for machine, name, unit, what, value, source, origin in rows:
        numbers.setdefault((name, unit, what), {})[machine] = (value, source, origin)
    lines = [
        "# The numbers of the timing model",
        "",
        "Which number does the simulator use for what, and how far can it be trusted? These tables are "
        "printed from those that it runs with; [the page of the model](../docs/timing.md) says what "
        "*measured*, *fitted*, *published* and *assumed* mean.",
        "",
        "| number | unit | " + " | ".join(machines) + " |",
        "|---|---|" + "---:|" * len(machines),
    ]
    for (name, unit, what), values in numbers.items():
        cells = [f"{values[machine][0]} ({values[machine][1]})" for machine in machines]
        lines.append(f"| {_text(what)} (`{name}`) | {unit} | " + " | ".join(cells) + " |")
    for machine in machines:
        lines += ["", f"## Where the numbers of {machine} come from", "", "| number | source | from |",
                  "|---|---|---|"]
        lines += [f"| `{name}` | {values[machine][1]} | {_cell(values[machine][2])} |"
                  for (name, _, _), values in numbers.items()]
    return "\n".join(lines) + "\n"


def instructions(rows):
    """The overview and one page a subject, from [subject, opcode, grammar, effect, section] rows."""
    groups = {}
    for subject, *form in rows:
        groups.setdefault(_REFUSED if form[2] == "refused" else subject, []).append(form)
    groups[_REFUSED] = groups.pop(_REFUSED, [])  # the last page
    overview = [
        "# Instruction tables",
        "",
        "Which PTX instructions does the simulator execute, and how does it read them? These tables "
        "are printed from its opcode table, the one place that knows an instruction's text.",
        "",
        "The grammar of the modifiers: a word alone is required; `[x]` is optional; `a|b` means one "
        "of them; `name=` gives the choice a name; `name*2` takes two of them, in order; `*` takes "
        "any. Modifiers may come in any order.",
        "",
        "The effect says who can see what an instruction does. It decides what runs ahead and what "
        "waits its turn ([the simulator's page](../common/simulator/README.md)). Where the modifiers "
        "decide, the table names the least.",
        "",
        "| effect | meaning |",
        "|---|---|",
        *[f"| {name} | {meaning} |" for name, meaning in _EFFECTS.items()],
        "",
        "| group | forms |",
        "|---|---:|",
    ]
    made = []
    for title, forms in ((title, forms) for title, forms in groups.items() if forms):
        path = f"generated/instructions_{re.sub('[^a-z]+', '_', title.lower())}.md"
        overview.append(f"| [{title}]({posixpath.basename(path)}) | {len(forms)} |")
        lines = [
            f"# Instructions: {title}",
            "",
            "Made from the simulator's opcode table; [how to read it](instructions.md).",
            "",
            "| opcode | modifiers | effect | PTX ISA section |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| `{opcode}` | {_code(grammar)} | {effect} | {_text(section)} |"
            for opcode, grammar, effect, section in forms
        ]
        made.append((path, "\n".join(lines) + "\n"))
    return [("generated/instructions.md", "\n".join(overview) + "\n"), *made]


def _code(text):
    """Code in a cell; a name that is too long for a narrow page may break between its words."""
    return " ".join(f"`{word}`" for word in text.split()) if text else ""


def _text(text):
    return text.replace("|", "\\|").replace("_", "\\_")


def contract(root):
    """One page for each type of docs/contract.md: its row, and its members' rows."""
    source = "docs/contract.md"
    chapter, code, tests, made, index = None, "", "", [], {}
    current = None
    for line in (root / source).read_text(encoding="utf-8").split("\n"):
        heading = re.match(r"## (Chapter (\d+): .*)", line)
        if heading:
            chapter, current = (int(heading.group(2)), heading.group(1)), None
            continue
        where = re.match(r"Code: (.*?)\. Tests: (.*)\.$", line)
        if where:
            code, tests = where.groups()
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if chapter is None or len(cells) != 3 or cells[0] == "design" or set(cells[0]) <= set("-"):
            continue
        name = re.match(r"`_?([A-Z]\w+)(?:\[[^\]]*\])?`", cells[0])
        of_before = name and current and re.match(rf"`{current}\.", cells[0])
        if name and not of_before:
            current = name.group(1)
            index.setdefault(chapter[1], []).append(current)
            made.append([current, chapter, code, tests, [cells]])
        elif current:
            made[-1][4].append(cells)
        else:
            current = None
    result = []
    for name, of, code, tests, rows in made:
        result.append(
            (f"generated/contract_{name}.md", _type_page(root, name, of, code, tests, rows))
        )
    overview = [
        "# The design map, type by type",
        "",
        "Every type of the design has a page: its name here, its members, what differs and "
        "why, where it is taught and tested. The pages are made from "
        "[the design map](../docs/contract.md), which has it all in one place.",
        "",
    ]
    for title, names in index.items():
        overview += [f"## {title}", "", *[f"- [{name}](contract_{name}.md)" for name in names], ""]
    return [("generated/contract_types.md", "\n".join(overview)), *result]


def _type_page(root, name, of, code, tests, rows):
    number, title = of
    folder = next(path.name for path in (root / "solutions").glob(f"{number:02d}_*"))
    lines = [
        f"# {name}",
        "",
        f"From [{title}](../docs/contract.md#chapter-{number}). Taught in "
        f"[the chapter](../chapters/{folder}/README.md).",
        "",
        f"Code: {_files(root, code, folder)}. Tests: {_tests(root, tests)}.",
        "",
        "| design | here | differs, and why |",
        "|---|---|---|",
    ]
    for row in rows:
        lines.append(
            "| "
            + " | ".join(cell.replace("](pitfalls.md", "](../docs/pitfalls.md") for cell in row)
            + " |"
        )
    here = re.match(r"`(\w+)", rows[0][1])
    cpp = here.group(1) if here else name
    lines += ["", f"In the reference: `bw::{cpp}`."]
    return "\n".join(lines) + "\n"


def _files(root, text, folder):
    def link(match):
        name = match.group(1)
        path = name if (root / name).exists() else f"solutions/{folder}/{name}"
        return f"[{name}](../{path})" if (root / path).exists() else f"`{name}`"

    return re.sub(r"`([^`]+)`", link, text)


def _tests(root, text):
    def link(match):
        for folder in ("tests/contract/", ""):
            if (root / (folder + match.group(1))).exists():
                return f"[{match.group(1)}](../{folder}{match.group(1)})"
        return f"`{match.group(1)}`"

    return re.sub(r"`([^`]+)`", link, text)


def reference(root):
    """The headers by layer, each with the first sentence of its brief."""
    lines = [
        "# Reference by layer",
        "",
        "Every header, from what a chapter shows down to what the simulator rests on. Arrows of "
        "includes go down this page only. A header's page shows what it includes, its types and "
        "functions, and its source.",
        "",
    ]
    for folder, what in _LAYERS:
        lines += [
            f"## {folder}",
            "",
            what[0].upper() + what[1:] + ".",
            "",
            "| header | what it holds |",
            "|---|---|",
        ]
        for path in sorted((root / folder).rglob("*.*h*")):
            if path.suffix not in (".hpp", ".cuh"):
                continue
            name = path.relative_to(root).as_posix()
            lines.append(
                f"| [{path.relative_to(root / folder).as_posix()}](../{name}) | "
                f"{_text(brief(path.read_text(encoding='utf-8')))} |"
            )
        lines.append("")
    return "\n".join(lines)


def brief(text):
    """The first sentence of a header's `\\file` comment."""
    match = re.search(r"^/// \\file\n((?:///.*\n)+)", text, re.M)
    if not match:
        return ""
    words = " ".join(line[3:].strip() for line in match.group(1).splitlines())
    end = re.search(r"\.(?=\s+[A-Z(]|$)", words)
    return words[: end.start()] if end else words
