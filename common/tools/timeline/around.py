"""What a timeline's page says around the picture: a comparison, warnings, reports, where to read on."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from .. import codes

GUIDE = "docs/concepts/timeline"
SITE = "build/docs/html"


@dataclass(frozen=True)
class Report:
    """A report of a run: its code, what it is, and the address of its page, or ""."""

    code: str
    title: str
    address: str = ""


@dataclass(frozen=True)
class Around:
    """Sentences and addresses around the picture. `guide`: of "how to read this"."""

    headline: str = ""
    warnings: tuple = ()
    reports: tuple = ()
    guide: str = ""


def guide(root, folder):
    """The address of the page on timelines, from a page in `folder`: of the site if it was made here,
    else of the text."""
    return _address(root, folder, [f"{SITE}/{GUIDE}.html", f"{GUIDE}.md"])


def reports(path, root, folder):
    """[Report] of a file that BW_SIM_REPORT has named, each code once; none without the file."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    listed = {one["code"]: one["title"] for one in found["errors"] + found["warnings"]
              if one.get("code")}
    return [Report(code, title, _address(root, folder, _pages_of(root, code)))
            for code, title in listed.items()]


def _pages_of(root, code):
    """Where the page of a code can be, relative to the root."""
    letter = code[3]
    texts = sorted((Path(root) / codes.PAGES).glob(f"{letter}_*.md"))
    return [f"{SITE}/{codes.PAGES}/{code}.html",
            *(path.relative_to(root).as_posix() for path in texts)]


def _address(root, folder, candidates):
    """The address of the first of these files that exists, relative to the folder."""
    for name in candidates:
        if (Path(root) / name).is_file():
            place = os.path.relpath(Path(root).resolve() / name, Path(folder).resolve())
            return quote(Path(place).as_posix())
    return ""
