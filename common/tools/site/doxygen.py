"""The reference: runs Doxygen over the headers, takes its warnings for errors, reads its tag file."""

import hashlib
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from ..errors import WorkbookError
from ..process import capture
from . import finish, frame, pages

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


def version():
    """(1, 9, 4)."""
    _, text = capture(["doxygen", "--version"])
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def run(root, work):
    """Writes work/reference/html and work/reference/tags.xml from the headers, unless they are made
    from the same headers already; WorkbookError says what is to be mended."""
    target = work / "reference"
    frames = _frames(root)
    settings = _settings(root, target)
    state = _state(root, settings, frames)
    stamp = target / "made_from"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == state:
        return
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name, text in frames.items():
        (target / name).write_text(text, encoding="utf-8")
    (target / "Doxyfile").write_text(settings, encoding="utf-8")
    result = subprocess.run(["doxygen", str(target / "Doxyfile")], cwd=root, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    if result.returncode != 0:
        raise WorkbookError("Doxygen failed; its words are above.", details=result.stdout)
    found = problems(root, (target / "warnings.txt").read_text(encoding="utf-8"))
    if found:
        raise WorkbookError(f"Doxygen found {len(found)} faults in the headers. A type and a function "
                            "that does something take a `///` comment.", details="\n".join(found))
    finish.run(target / "html")
    stamp.write_text(state, encoding="utf-8")


def _settings(root, target):
    lines = [(root / "docs/site/Doxyfile").read_text(encoding="utf-8"),
             f'OUTPUT_DIRECTORY = "{target}"',
             f"INPUT = {' '.join(DOCUMENTED)} docs/site/examples.dox",
             f'GENERATE_TAGFILE = "{target / "tags.xml"}"',
             f'WARN_LOGFILE = "{target / "warnings.txt"}"',
             f'STRIP_FROM_PATH = "{root}"',
             f'EXAMPLE_PATH = "{root / "tests/contract"}"',  # is read with all its folders
             f'HTML_HEADER = "{target / "reference_header.html"}"',
             f'HTML_FOOTER = "{target / "reference_footer.html"}"',
             f'HTML_EXTRA_STYLESHEET = "{THEME / "doxygen-awesome.css"}" '
             f'"{root / "docs/site/workbook.css"}"']
    if version() >= (1, 9, 5):
        lines.append("HTML_COLORSTYLE = LIGHT")
    return "\n".join(lines) + "\n"


def _frames(root):
    """What the pages begin and end with: the site's header, and the way back."""
    at = "reference/page.html"  # all of its pages are in one folder
    bar = frame.bar(at, pages.PLACES, (("Reference", "generated/reference.html"),
                                       ("Types", "reference/annotated.html"),
                                       ("Files", "reference/files.html")), between=" · ")
    texts = {name: (root / "docs/site" / name).read_text(encoding="utf-8")
             for name in ("reference_header.html", "reference_footer.html")}
    return {name: text.replace("@HEAD@", frame.head(at)).replace("@BAR@", bar)
            for name, text in texts.items()}


def _state(root, settings, frames):
    """A digest of everything that the reference is made from."""
    digest = hashlib.sha256(f"{version()}{settings}{frames}".encode())
    folder = Path(__file__).resolve().parent
    sources = [folder / "doxygen.py", folder / "finish.py", root / "docs/site/examples.dox",
               root / "docs/site/workbook.css", *(root / "tests/contract").rglob("*.cu")]
    for name in DOCUMENTED:
        sources += [path for path in (root / name).rglob("*") if path.suffix in (".hpp", ".cuh")]
    for path in sorted(sources):
        digest.update(f"{path}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def documented(root, work):
    """{path in the repository: the reference's page of that header}."""
    found = {}
    for compound in _tags(work):
        if compound.get("kind") == "file":
            path = (compound.findtext("path") or "") + (compound.findtext("name") or "")
            found[os.path.relpath(path, str(root))] = _page(compound.findtext("filename"))
    return found


def symbols(work):
    """{name: the reference's page, with its anchor} of types and functions: those of the kernels by
    their names alone, those of the simulator with `sim::`. A name that several have is left out."""
    found = {}
    for compound in _tags(work):
        if compound.get("kind") in ("class", "struct", "concept"):
            _enter(found, compound.findtext("name"), _page(compound.findtext("filename")))
        elif compound.get("kind") in ("namespace", "file"):
            space = compound.findtext("name") + "::" if compound.get("kind") == "namespace" else ""
            for member in compound.findall("member"):
                if member.get("kind") in ("function", "enumeration"):
                    _enter(found, space + member.findtext("name"),
                           f"{_page(member.findtext('anchorfile'))}#{member.findtext('anchor')}")
    return {name: page for name, page in found.items() if page}


def _enter(found, name, page):
    if not name.startswith("bw::"):
        return
    name = name[len("bw::"):]
    found[name] = "" if name in found else page


def _tags(work):
    return ElementTree.parse(str(work / "reference/tags.xml")).getroot().findall("compound")


def _page(name):
    return name if name.endswith(".html") else name + ".html"


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
