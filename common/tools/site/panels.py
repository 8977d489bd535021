"""The panels that run a chapter's labs on its page, if the module and the launches have been made.

book/extension.py puts a panel after the first paragraph of the page that links to the lab's file;
docs/site/lab_panel.js fills it when the reader opens it.
"""

import html
import json

from .. import browser, labs
from .pages import LISTINGS

FOLDER = "docs/site/simulator"
SCRIPTS = ("simulator.js", "simulator_page.js", "lab_panel.js")  # of docs/site, for a page with panels
STYLES = ("controls.css", "simulator.css")


def of_pages(root, recorded):
    """{page by Sphinx's name: {lab: HTML of its panel}} of the labs that labs.json lists."""
    launched = {(run["chapter"], run["lab"]) for run in recorded["runs"]} if recorded else set()
    found = {}
    for lab in labs.find_all(root):
        if (lab.chapter.number, lab.stem) in launched:
            page = f"chapters/{lab.chapter.name}/index"
            found.setdefault(page, {})[lab.stem] = panel(root, lab)
    return found


def panel(root, lab):
    """The HTML of a lab's panel, closed."""
    command = html.escape(labs.command_line(root, [lab.program]))
    return (f'<details class="bw-lab" id="run-{lab.stem}" data-lab="{lab.chapter.number}/{lab.stem}">'
            f"<summary>Run the lab <code>{lab.stem}</code> here</summary>"
            f"<p>In your checkout, <code>{command}</code> runs it.</p></details>")


def _sources(places, recorded):
    """{path in the repository: page in the site} of the files that the panels name."""
    names = {run["source"] for run in recorded["runs"]} - {""} if recorded else set()
    return {name: places.of("", name) for name in sorted(names)}


def listed(places, recorded):
    """The paths of those that need a listing."""
    return {name for name, page in _sources(places, recorded).items()
            if page.startswith(LISTINGS + "/")}


def write(root, site, places, recorded):
    """Copies the module and the launches into the site, and says in labs.json which pages show the
    sources."""
    if recorded is None:
        return
    browser.copy_for_site(root, site / FOLDER)
    known = {**recorded, "pages": _sources(places, recorded)}
    (site / FOLDER / "labs.json").write_text(json.dumps(known), encoding="utf-8")
