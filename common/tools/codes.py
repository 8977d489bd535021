"""The codes of the simulator's reports: the table (common/simulator/base/fault_codes.inc) and the
pages (docs/codes/), of which `./workbook explain`, the site and the test of the examples are made.

`python3 -m tools.codes --generate FOLDER` writes the program of the examples; `--write PROGRAM` runs
it and puts the reports into the pages; `--check PROGRAM` says what differs.
"""

import argparse
import difflib
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from . import reports
from .errors import WorkbookError

TABLE = "common/simulator/base/fault_codes.inc"
PAGES = "docs/codes"
# The release of nvcc whose kernels the reports in the pages come from.
PAGES_RELEASE = "13.0"
_ROW = re.compile(r'BW_FAULT_CODE\(\s*([A-Z]\d\d),\s*(\w+),\s*(\w+),\s*(\w+),'
                  r'\s*((?:"(?:[^"\\]|\\.)*"\s*)+),'
                  r'\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)', re.S)
_FENCE = re.compile(r"^```(\w+)(.*)$")
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
# Marks of an example's lines that appear only in its faulty or only in its mended form.
_FAULTY, _MENDED = "// faulty", "// mended"
_KINDS = {"parse": "PTX error", "unsupported": "unsupported", "launch": "launch error",
          "call": "call error", "contract": "contract violation", "deadlock": "deadlock",
          "livelock": "livelock", "trap": "trap"}
# The language of an example that no test runs: it needs several files, or no program gets there.
NOT_RUN = "sh"
_WIDTH = 100


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    id: str
    name: str
    kind: str
    severity: str
    title: str
    sentence: str


@dataclass(frozen=True)
class Page:
    """What docs/codes/ says of a code. `language`: cuda or ptx; `attributes`: of its fence."""

    row: Row
    why: str
    language: str
    attributes: dict
    example: tuple
    report: tuple
    fix: str

    def form(self, mended):
        """The lines of the faulty or the mended form."""
        drop, keep = (_FAULTY, _MENDED) if mended else (_MENDED, _FAULTY)
        return [line.replace(keep, "").rstrip() for line in self.example
                if not line.rstrip().endswith(drop)]

    def difference(self):
        """The mended form against the faulty one, as a diff without its head."""
        lines = difflib.unified_diff(self.form(False), self.form(True), n=1, lineterm="")
        return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def rows(root):
    """[Row], in the order of the table."""
    text = (Path(root) / TABLE).read_text(encoding="utf-8")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    return [Row("BW-" + number, name, kind, severity, _literal(title), _literal(sentence))
            for number, name, kind, severity, title, sentence in _ROW.findall(text)]


def _literal(text):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"')


def raised(root):
    """The names of the codes that the simulator raises."""
    names = set()
    for path in (Path(root) / "common/simulator").rglob("*.[ch]pp"):
        if path.parent.name != "base":
            names.update(re.findall(r"FaultCode::(\w+)", path.read_text(encoding="utf-8")))
    return names


def load(root):
    """{id: Page} of the codes that have one. WorkbookError names the line that doesn't fit."""
    by_id = {row.id: row for row in rows(root)}
    pages = {}
    for path in sorted((Path(root) / PAGES).glob("*.md")):
        if path.name == "README.md":
            continue
        for line, code, lines in _sections(path):
            place = f"{PAGES}/{path.name}:{line}"
            if code not in by_id:
                raise WorkbookError(f"{place}: {code} is not a code of {TABLE}.")
            if code in pages:
                raise WorkbookError(f"{place}: {code} has a page already.")
            pages[code] = _page(by_id[code], lines, place)
    return pages


def _sections(path):
    """[(line, code, lines)] of a file: the text below each `## BW-xnn`."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = re.match(r"## (\S+)$", line)
        if match:
            found.append((number, match.group(1), []))
        elif found:
            found[-1][2].append(line)
    return found


def _page(row, lines, place):
    """Why, the example in its fence, its report in another, the fix."""
    parts, inside = [[]], None
    for line in lines:
        if inside is None and _FENCE.match(line):
            inside = (line, [])
            parts.append(inside)
        elif inside is not None and line == "```":
            inside = None
            parts.append([])
        elif inside is not None:
            inside[1].append(line)
        else:
            parts[-1].append(line)
    if len(parts) != 5 or not isinstance(parts[3], tuple) or not parts[3][0].startswith("```text"):
        raise WorkbookError(f"{place}: {row.id} needs a text, an example (```cuda or ```ptx), its "
                            "report (```text) and the fix.")
    language, attributes = _FENCE.match(parts[1][0]).groups()
    if language not in ("cuda", "ptx", NOT_RUN):
        raise WorkbookError(f"{place}: an example is `cuda` or `ptx` (`sh` where it can't be run), "
                            f"not `{language}`.")
    why, fix = ("\n".join(part).strip() for part in (parts[0], parts[4]))
    if not why or not fix:
        raise WorkbookError(f"{place}: {row.id} says nothing before its example or after its report.")
    return Page(row, why, language, dict(_ATTRIBUTE.findall(attributes)), tuple(parts[1][1]),
                tuple(parts[3][1]), fix)


# --- the program of the examples -----------------------------------------------------------------

_DEFAULT_LAUNCH = {"cuda": "kernel<<<1, 32>>>()", "ptx": "1, 32"}


def generate(root, folder):
    """Writes codes_examples.cu, and the faulty and mended forms as files that reports can show."""
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    used = raised(root)
    text = ['#include "tests/simulator/codes/examples.hpp"', "", "namespace bw::codes {"]
    entries, kernel = [], None
    for code, page in sorted(load(root).items()):
        if page.row.name not in used or page.language == NOT_RUN:
            continue
        for mended in (False, True):
            form = "mended" if mended else "faulty"
            name = f"{code.replace('-', '_').lower()}_{form}"
            lines = page.form(mended)
            shown = folder / form / f"{code}.{'cu' if page.language == 'cuda' else 'ptx'}"
            shown.parent.mkdir(exist_ok=True)
            shown.write_text("\n".join(lines) + "\n", encoding="utf-8")
            text.append(f"namespace {name} {{")
            launch = page.attributes.get(f"{form}-launch", page.attributes.get(
                "launch", _DEFAULT_LAUNCH[page.language]))
            if page.language == "ptx":
                takes_data = "true" if ".param" in "\n".join(lines) else "false"
                text += ['constexpr const char* kText = R"ptx(' + "\n".join(lines) + ')ptx";',
                         f"void run(uint32_t* data) {{ run_ptx(kText, data, {launch}, {takes_data}); }}"]
            else:
                text += [f'#line 1 "{shown}"', *lines, '#line 1 "codes_examples.cu"']
                if not any(re.match(r"void run\(", line) for line in lines):
                    text.append(f"void run([[maybe_unused]] uint32_t* data) {{ {launch}; }}")
                if kernel is None and re.search(r"__global__.* kernel\(", "\n".join(lines)):
                    kernel = f"{name}::kernel"
            text.append(f"}}  // namespace {name}")
        base = f"{code.replace('-', '_').lower()}"
        faulty, mended = (page.attributes.get(key, page.attributes.get("env", ""))
                          .replace("@FOLDER@", str(folder))
                          for key in ("faulty-env", "mended-env"))
        entries.append(f'    {{"{code}", {{{base}_faulty::run, "{faulty}"}}, '
                       f'{{{base}_mended::run, "{mended}"}}}},')
    text += ["}  // namespace bw::codes", "", "int main(int argc, char** argv) {",
             "  using namespace bw::codes;",
             "  return run_examples(argc, argv, {", *entries, "  },",
             f"  reinterpret_cast<const void*>({kernel}));", "}"]
    (folder / "codes_examples.cu").write_text("\n".join(text) + "\n", encoding="utf-8")


def run(program, codes=()):
    """{code: {"faulty": {"status", "errors"}, "mended": ...}}"""
    done = subprocess.run([str(program), *codes], stdout=subprocess.PIPE, universal_newlines=True,
                          timeout=300, check=True)
    return json.loads(done.stdout)


def problems(page, outcome):
    """What is wrong with the run of an example, as sentences."""
    found = []
    codes = re.findall(r"^simulator: .*? (BW-[A-Z]\d\d): ", outcome["faulty"]["errors"], re.M)
    if not codes or set(codes) != {page.row.id}:
        found.append(f"{page.row.id}: the faulty form says {', '.join(codes) or 'no code'}:\n"
                     + outcome["faulty"]["errors"])
    if outcome["mended"]["errors"] or outcome["mended"]["status"] != 0:
        found.append(f"{page.row.id}: the mended form ends with status "
                     f"{outcome['mended']['status']} and says:\n" + outcome["mended"]["errors"])
    return found


def report_lines(errors):
    """A run's first report as a page shows it: without the lines of source, in lines that fit."""
    import textwrap
    lines = errors.rstrip("\n").split("\n")
    end = next((i for i in range(1, len(lines)) if not lines[i].startswith(" ")), len(lines))
    shown = []
    for line in lines[:end]:
        if line.startswith(reports.AGAIN):  # another event whenever simulated times change
            continue
        indent = " " * (len(line) - len(line.lstrip()))
        if reports.SOURCE.match(line):
            shown.append(line.rstrip())
        else:
            shown += textwrap.wrap(line.strip(), _WIDTH, initial_indent=indent,
                                   subsequent_indent=indent + "  ", break_long_words=False,
                                   break_on_hyphens=False)
    return shown


def unwrapped(report):
    """The lines of a page's report as they were before report_lines() broke them."""
    lines, indent, last = [], 0, ""
    for line in report:
        own = len(line) - len(line.lstrip())
        word = line.split(" ", own + 1)[own] if line.strip() else ""
        if (lines and own == indent + 2 and len(last) + 1 + len(word) > _WIDTH
                and not reports.SOURCE.match(line)):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
            indent = own
        last = line
    return lines


def write(root, outcomes):
    """Puts the reports into the pages; returns the names of the files that changed."""
    changed = []
    for path in sorted((Path(root) / PAGES).glob("*.md")):
        old = path.read_text(encoding="utf-8")
        new, code, inside = [], None, False
        for line in old.splitlines():
            heading = re.match(r"## (\S+)$", line)
            code = heading.group(1) if heading else code
            if inside and line == "```":
                inside = False
            elif inside:
                continue
            new.append(line)
            if line == "```text" and code in outcomes:
                inside = True
                new += report_lines(outcomes[code]["faulty"]["errors"])
        text = "\n".join(new) + "\n"
        if text != old:
            path.write_text(text, encoding="utf-8")
            changed.append(path.name)
    return changed


def without_choices_of_compiler(lines):
    """The words of a report that are the same for all releases of nvcc: no numbers of source lines (a
    statement of several lines begins elsewhere), registers and simulated times, and types by size."""
    text = " ".join(" ".join(line for line in lines if not reports.SOURCE.match(line)).split())
    text = re.sub(r"(\.(?:cuh?|hpp)):\d+|(\bcycle) \d+", r"\1\2", text)
    text = re.sub(r"%(?:rd|rs|r|f|fd|p)\d+", "%r", text)
    return re.sub(r"\.[usf](8|16|32|64)\b", r".b\1", text)


def check(root, program, release=PAGES_RELEASE):
    """What is wrong with the pages and the examples, as sentences. `release`: of the program's nvcc."""
    is_of_pages = (release + ".").startswith(PAGES_RELEASE + ".")
    comparable = list if is_of_pages else without_choices_of_compiler
    pages, used = load(root), raised(root)
    found = [f"{row.id} ({row.name}) has no page in {PAGES}." for row in rows(root)
             if row.id not in pages and row.name in used]
    outcomes = run(program)
    for code, page in sorted(pages.items()):
        if page.row.name not in used or page.language == NOT_RUN:
            continue
        if code not in outcomes:
            found.append(f"{code}: the program doesn't hold its example; build it again.")
            continue
        found += problems(page, outcomes[code])
        said = report_lines(outcomes[code]["faulty"]["errors"])
        if comparable(page.report) != comparable(said):
            found.append(f"{code}: its report in {PAGES} is an old one. `cd common && python3 -m "
                         f"tools.codes --write {program}` puts in:\n" + "\n".join(said))
    return found


# --- words ---------------------------------------------------------------------------------------

def search(text, known):
    """The codes in whose titles, else in whose sentences, each of the words begins a word."""
    words = text.lower().split()
    for part in ("title", "sentence"):
        found = [code for code, row in known.items()
                 if words and all(re.search(rf"\b{re.escape(word)}", getattr(row, part).lower())
                                  for word in words)]
        if found:
            return found
    return []


def nearest(text, known):
    """The codes whose spelling is the closest; at least one. `known` has a row for each code."""
    wanted = text.upper().replace("_", "-")
    wanted = wanted if wanted.startswith("BW") else "BW-" + wanted.lstrip("-")
    close = difflib.get_close_matches(wanted, known, 3, 0.6)
    return close or difflib.get_close_matches(wanted, known, 1, 0.0)


def find(text, known):
    """The code that a text names: BW-B06, bw-b06, B06, b6; None for none."""
    parts = re.fullmatch(r"(?:BW-?)?([A-Z])([0-9]+)", text.strip().upper())
    wanted = f"BW-{parts[1]}{int(parts[2]):02}" if parts else None
    return wanted if wanted in known else None


def kind_name(row):
    """As the simulator prints it."""
    return "warning" if row.severity == "warning" else _KINDS[row.kind]


def settings_of(page):
    """The settings that the faulty form of an example runs with, as a shell takes them; or nothing."""
    settings = page.attributes.get("faulty-env", page.attributes.get("env", ""))
    return "" if "LIMIT" in settings else settings.replace("@FOLDER@/mended/", "")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python3 -m tools.codes", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--generate", metavar="FOLDER", type=Path)
    what.add_argument("--write", metavar="PROGRAM", type=Path)
    what.add_argument("--check", metavar="PROGRAM", type=Path)
    parser.add_argument("--release", default=PAGES_RELEASE, help="of the nvcc that compiled PROGRAM")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    chosen = parser.parse_args(arguments)
    try:
        if chosen.generate:
            generate(chosen.root, chosen.generate)
            return 0
        if chosen.write:
            print("\n".join(write(chosen.root, run(chosen.write))) or "nothing has changed")
            return 0
        found = check(chosen.root, chosen.check, chosen.release)
    except WorkbookError as error:
        found = [str(error)]
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
