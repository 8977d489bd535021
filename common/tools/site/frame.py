"""The site's header, and the frame of pages that are written by hand.

Every page of the site has the same header: the book (through its theme), the reference (through
Doxygen's header) and the pages that this module frames.
"""

import html
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[3] / "docs/site"
# What every page loads: the colours with the header's style, and its script.
STYLE, SCRIPT = "docs/site/colours.css", "docs/site/site.js"


def to_root(at):
    """The prefix that leads from the page `at`, a path in the site, to the site's folder."""
    return "../" * at.count("/")


def head(at):
    """The elements of <head> that the header needs on the page `at`."""
    root = to_root(at)
    return (f'<link rel="stylesheet" href="{root}{STYLE}">\n'
            f'<script src="{root}{SCRIPT}"></script>')


def header(root, places):
    """The header for a page from which the prefix `root` leads to the site's folder. `places`: its
    links as (title, path in the site)."""
    links = "".join(f'<a href="{root}{path}">{html.escape(title)}</a>' for title, path in places)
    text = (_FOLDER / "header.html").read_text(encoding="utf-8")
    return text.replace("@PLACES@", links).replace("@ROOT@", root)


def bar(at, places, trail=(), between=" › "):
    """The header of the page `at` and the way back: `trail` lists the pages above it as (title, path
    in the site), `between` is what separates them."""
    root = to_root(at)
    steps = between.join(f'<a href="{root}{path}">{html.escape(title)}</a>' for title, path in trail)
    back = f'<nav class="bw-trail" aria-label="Breadcrumbs">{steps}</nav>\n' if trail else ""
    return header(root, places) + back


def page(title, body, at, places, trail=(), extra_head=""):
    """A whole page: `body` is the HTML inside of <main>, `extra_head` goes into <head>."""
    text = (_FOLDER / "shell.html").read_text(encoding="utf-8")
    parts = {"@TITLE@": html.escape(title),
             "@HEAD@": f"{head(at)}\n{extra_head}".rstrip(),
             "@BAR@": bar(at, places, trail),
             "@BODY@": body}
    for mark, part in parts.items():
        text = text.replace(mark, part, 1)
    return text
