"""The repository's texts and their links: links, images and anchors inside the repository have to
exist."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from . import regions

FENCE = re.compile(r"^\s*(```+|~~~+)")
_SKIPPED = {"build", ".workbook", ".git", "node_modules", "__pycache__"}
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_REFERENCE = re.compile(r"^\s*\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)")
_HTML_LINK = re.compile(r"<(?:img|a|source)\b[^>]*?\b(?:src|href|srcset)\s*=\s*\"([^\"]+)\"", re.I)


@dataclass(frozen=True)
class Problem:
    """Something that isn't as it should be, with its place."""

    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


def markdown_files(root):
    """The repository's texts, relative to the root."""
    found = [path.relative_to(root) for path in Path(root).rglob("*.md")]
    return sorted(path for path in found if not _SKIPPED & set(path.parts))


def anchors(text):
    """The names that GitHub gives the headings of a text."""
    found, seen, inside = set(), {}, False
    for line in text.split("\n"):
        if FENCE.match(line):
            inside = not inside
        for name in re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", line):
            found.add(name)
        match = None if inside else re.match(r"^#{1,6}\s+(.*?)\s*#*\s*$", line)
        if not match:
            continue
        name = slug(match.group(1))
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def slug(heading):
    """GitHub's name of a heading: lower case, without punctuation, hyphens for blanks."""
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = re.sub(r"[`*]|<[^>]+>", "", plain).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def broken_links(root, path, text, cache):
    """[Problem] for links of a text that lead nowhere."""
    problems, inside = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            inside = not inside
        if inside:
            continue
        code_free = re.sub(r"(`+)(?:(?!\1).)*?\1", lambda m: "x" * len(m.group()), line)
        targets = LINK.findall(code_free) + _HTML_LINK.findall(line)
        targets += _REFERENCE.findall(code_free)
        for target in targets:
            message = _link_problem(Path(root), path, target, text, cache)
            if message:
                problems.append(Problem(str(path), number, message))
    return problems


def _link_problem(root, path, target, text, cache):
    if re.match(r"^[a-z][a-z0-9+.-]*:", target, re.I) or target.startswith("//"):
        return None
    name, _, anchor = target.partition("#")
    place = (root / path).parent / unquote(name) if name else root / path
    if not place.exists():
        return f"the link to `{target}` leads to nothing."
    if name and root.resolve() not in [place.resolve(), *place.resolve().parents]:
        return f"the link to `{target}` leads out of the repository."
    if not anchor:
        return None
    if place.suffix == ".md":
        if place not in cache:
            cache[place] = anchors(text if not name else regions.read_text(place))
        return None if unquote(anchor).lower() in cache[place] else (
            f"`{target}`: there is no heading of that name.")
    match = re.fullmatch(r"L(\d+)(?:-L(\d+))?", anchor)
    if match and place.is_file():
        count = regions.read_text(place).count("\n")
        if int(match.group(2) or match.group(1)) > count:
            return f"`{target}`: the file has only {count} lines."
    return None
