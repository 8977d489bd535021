"""The pages that move: fragments of HTML in docs/site/, and timelines of recorded runs.

A fragment is what <main> holds. Its <h1> is the page's title, the first sentence of its first paragraph
says what it shows, and its links are relative to it in the repository, as those of the texts are.
"""

import html
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import frame, pages, recordings

FOLDER = "docs/site"
_FRAMES = {"header.html", "shell.html", "reference_header.html", "reference_footer.html"}
_TRAIL = (("Try it", "generated/try_it.html"),)


@dataclass(frozen=True)
class Toy:
    """A page that moves: its path in the repository and in the site, its title, what it shows."""

    path: str
    title: str
    shows: str


def load(root):
    """All of them, by title."""
    found = []
    for path in sorted((Path(root) / FOLDER).glob("*.html")):
        if path.name not in _FRAMES:
            text = path.read_text(encoding="utf-8")
            title, shows = (_text(re.search(pattern, text, re.S).group(1))
                            for pattern in (r"<h1>(.*?)</h1>", r"<p>(.*?[.?])(?=\s|</p>)"))
            found.append(Toy(f"{FOLDER}/{path.name}", title, shows))
    return found


def timelines():
    """The recorded runs' timelines."""
    found = []
    for run in recordings.RUNS:
        where, _, what = run.title.partition(": ")
        found.append(Toy(f"{FOLDER}/timeline_{run.name}.html", f"Timeline of {where.lower()}",
                         f"{what[0].upper()}{what[1:]}."))
    return found


def _text(fragment):
    return html.unescape(re.sub(r"<[^>]+>|\s+", lambda match: " " if match.group().isspace() else "",
                                fragment)).strip()


def write(root, tools, target, places, framed):
    """Writes all of them into the site's folder `target`, by framed(page, title, body, trail)."""
    source, folder = root / FOLDER, target / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for path in [*source.glob("*.js"), *source.glob("*.css")]:
        shutil.copyfile(path, folder / path.name)
    recordings.write_timelines(
        root, tools, folder,
        lambda name: (frame.head(f"{FOLDER}/{name}"),
                      frame.bar(f"{FOLDER}/{name}", pages.PLACES, _TRAIL)))
    scripts = "".join(f'<script src="{name}"></script>\n'
                      for name in recordings.write(root, tools, folder))
    for toy in load(root):
        body = (root / toy.path).read_text(encoding="utf-8").replace("@RECORDINGS@", scripts)
        framed(toy.path, toy.title, _linked(body, toy.path, places), _TRAIL)


def _linked(body, source, places):
    """The fragment with its links to texts and files as links to pages."""
    def link(match):
        target = html.unescape(match.group(1))
        place = places.of(source, target)
        if place:
            target = frame.to_root(source) + place
        return f'<a href="{html.escape(target, quote=True)}"'

    return re.sub(r'<a href="([^"]*)"', link, body)
