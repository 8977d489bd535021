"""Listings: pages of the files and folders that the texts link to and that have no page otherwise."""

import html
import posixpath
from pathlib import Path

from . import frame, pages


def write(root, places, wanted, framed):
    """Writes the listings of the paths `wanted`, and of the files in folders among them, by
    framed(page, title, body, trail)."""
    root, done, waiting = Path(root), set(), sorted(wanted)
    while waiting:
        path = waiting.pop()
        if path in done:
            continue
        done.add(path)
        at = pages.listing_of(path)
        if (root / path).is_dir():
            body, inside = _folder(root, places, path, at)
            waiting += inside
        else:
            body = _file(root / path)
        framed(at, path, f"<h1>{html.escape(path)}</h1>\n{body}",
               (("Reference", "generated/reference.html"),))


def _folder(root, places, path, at):
    rows, inside = [], []
    for entry in sorted((root / path).iterdir()):
        if entry.name.startswith((".", "__pycache__")):
            continue
        name = posixpath.join(path, entry.name)
        place = places.of("", name)
        if place == pages.listing_of(name):
            inside.append(name)
        rows.append(f'<li><a href="{frame.to_root(at)}{place}">'
                    f"{html.escape(entry.name)}{'/' if entry.is_dir() else ''}</a></li>")
    return "<ul>\n" + "\n".join(rows) + "\n</ul>", inside


def _file(path):
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return "<p>Not a text.</p>"
    lines = [f'<span id="L{number}" class="bw-line">{html.escape(line)}</span>'
             for number, line in enumerate(text.rstrip("\n").split("\n"), 1)]
    return '<pre class="bw-listing" tabindex="0">' + "\n".join(lines) + "</pre>"
