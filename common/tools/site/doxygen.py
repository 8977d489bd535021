"""Runs Doxygen over the pages and the headers; what it warns of is an error."""

import re
import shutil
import subprocess
from pathlib import Path

from .. import packages
from ..errors import WorkbookError
from ..process import capture

THEME = Path("/usr/share/doxygen-awesome-css")
# Where types and functions have to be documented.
DOCUMENTED = ("common/device", "common/host", "common/simulator", "solutions")


def missing():
    """The packages that the site can't be made without."""
    absent = [] if shutil.which("doxygen") else ["doxygen"]
    if not (THEME / "doxygen-awesome.css").is_file():
        absent.append("doxygen-awesome-css")
    if not shutil.which("dot"):
        absent.append("graphviz")
    return absent


def ensure(console):
    """Installs what the site is made by; where it can't be had, its test is skipped."""
    absent = missing()
    if not absent:
        return
    try:
        packages.install(absent, console)
    except WorkbookError as error:
        console.say(f"What makes the documentation site could not be installed: {error} Nothing but "
                    "`./workbook docs` and its test needs it.")


def version():
    """(1, 9, 4)."""
    _, text = capture(["doxygen", "--version"])
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def run(root, work, navigation):
    """Writes work/html from work/pages and the headers; WorkbookError with what is to be mended."""
    (work / "layout.xml").write_text(layout(navigation), encoding="utf-8")
    settings = [(root / "docs/site/Doxyfile").read_text(encoding="utf-8"),
                f'OUTPUT_DIRECTORY = "{work}"',
                f'INPUT = "{work / "pages"}" common/device common/host common/simulator solutions '
                "docs/site/examples.dox",
                f'LAYOUT_FILE = "{work / "layout.xml"}"',
                f'GENERATE_TAGFILE = "{work / "tags.xml"}"',
                f'WARN_LOGFILE = "{work / "warnings.txt"}"',
                f'STRIP_FROM_PATH = "{root}" "{work / "pages"}"',
                f'EXAMPLE_PATH = "{root / "tests/contract"}"',  # is read with all its folders
                'HTML_EXTRA_STYLESHEET = ' + " ".join(
                    f'"{path}"' for path in (THEME / "doxygen-awesome.css",
                                             THEME / "doxygen-awesome-sidebar-only.css",
                                             root / "docs/site/workbook.css"))]
    if version() >= (1, 9, 5):
        settings.append("HTML_COLORSTYLE = LIGHT")
    (work / "Doxyfile").write_text("\n".join(settings) + "\n", encoding="utf-8")
    result = subprocess.run(["doxygen", str(work / "Doxyfile")], cwd=root, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    if result.returncode != 0:
        raise WorkbookError("Doxygen failed; its words are above.", details=result.stdout)
    found = problems(root, (work / "warnings.txt").read_text(encoding="utf-8"))
    if found:
        raise WorkbookError(f"Doxygen found {len(found)} faults in the texts and headers. A type and "
                            "a function that does something take a `///` comment.",
                            details="\n".join(found))


def problems(root, log):
    """The warnings that count, with paths relative to the root.

    Left out: what the language itself defines (copies, comparisons, destructors), undocumented
    members of folders that aren't held to it, and members that may go without a comment
    (docs/style.md): fields, constructors and functions without arguments.
    """
    found = []
    for line in log.splitlines():
        line = line.replace(f"{root}/", "")
        undocumented = re.search(r"warning: (?:Member (.*) \(\w+\)|Compound (\S+)).* is not documented",
                                 line)
        if undocumented:
            name = undocumented.group(1) or undocumented.group(2)
            if not (DOCUMENTED and line.startswith(DOCUMENTED)) or _is_the_languages(name):
                continue
            if undocumented.group(1) and _explains_itself(line, name):
                continue
        if line.strip():
            found.append(line)
    return found


def _is_the_languages(name):
    """Assignment, comparison, copies, moves and destructors: the language says what they are."""
    return bool(re.match(r"operator(==|=|!=|<=>)\s*\(|~|(\w+)\((const )?\2 ?&&?", name))


def _explains_itself(line, name):
    """A field, an enumerator, a constructor, or a function without arguments."""
    if not re.search(r"\(function\)", line):
        return bool(re.search(r"\((variable|enumvalue)\)", line))
    owner = re.search(r"of (?:class|struct) (?:\w+::)*(\w+)", line)
    return "()" in name or bool(owner and re.match(rf"{owner.group(1)}\s*\(", name))


def layout(navigation):
    """Doxygen's layout: the navigation's tree. `navigation` is [(title, page or None, children)]."""
    lines = ['<doxygenlayout version="1.0">', "  <navindex>"]

    def add(entries, indent):
        for title, url, children in entries:
            shown = title.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
            if url in ("classlist", "filelist", "namespacelist"):
                lines.append(f'{indent}<tab type="{url}" visible="yes" title="{shown}"/>')
            elif children:
                lines.append(f'{indent}<tab type="usergroup" url="{url or ""}" title="{shown}">')
                add(children, indent + "  ")
                lines.append(f"{indent}</tab>")
            else:
                lines.append(f'{indent}<tab type="user" url="{url}" title="{shown}"/>')

    add(navigation, "    ")
    return "\n".join([*lines, "  </navindex>", "</doxygenlayout>"]) + "\n"
