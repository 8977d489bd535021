"""Makes the site: `python3 -m tools.site.make [--root DIR] [--output DIR]` (common/ on PYTHONPATH).

The programs that it runs are built before: `./workbook docs` and the CMake target `docs` see to it.
What has not changed since the last time is not made again.
"""

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

from .. import browser, codes, private_env
from ..errors import WorkbookError
from . import book, doxygen, frame, generated, listings, pages, panels, recordings, toys


# What Sphinx leaves in its folder for itself, or by mistake.
_NOT_SERVED = (".buildinfo", "webpack-macros.html", "objects.inv")


def targets():
    """The CMake targets that the site runs."""
    return [generated.LISTING, generated.TIMING_LISTING, *recordings.programs()]


def missing(root):
    """What the site can't be made without and is not installed."""
    return doxygen.missing() + ([] if private_env.site_python(root) else ["Sphinx"])


def make(root, tools, output):
    """Writes the site into output/html; returns its first page."""
    root, output = Path(root).resolve(), Path(output).resolve()
    absent = missing(root)
    if absent:
        raise WorkbookError("The site can't be made; missing here: " + ", ".join(absent)
                            + ". `./workbook docs` installs it where it may; nothing else needs it.")
    work = output / "making"
    work.mkdir(parents=True, exist_ok=True)
    doxygen.run(root, work)
    found = pages.load(root, generated.pages(root))
    places = pages.Places([page.path for page in found], doxygen.documented(root, work))
    moving = [*toys.load(root), *toys.timelines()]
    symbols = doxygen.symbols(work)
    runnable = browser.recorded(root)
    book.run(root, work, found, places.documented, symbols, _searched(moving, symbols),
             panels.of_pages(root, runnable))
    site = work / "site"
    shutil.rmtree(site, ignore_errors=True)
    for made, place in ((work / "book", site), (work / "reference/html", site / pages.REFERENCE)):
        _linked_copy(made, place)
    _pages_by_hand(root, tools, site, places, places.listed(found) | panels.listed(places, runnable))
    _files(root, site, found)
    panels.write(root, site, places, runnable)
    finished = output / "html"
    shutil.rmtree(finished, ignore_errors=True)
    site.rename(finished)
    return finished / "index.html"


def _searched(moving, symbols):
    """{page without its ending: title} of pages that the search finds and that are not the book's."""
    found = {toy.path[:-len(".html")]: toy.title for toy in moving}
    for name, page in symbols.items():
        if "#" not in page:
            found[f"{pages.REFERENCE}/{page[:-len('.html')]}"] = f"bw::{name}"
    return found


def _linked_copy(source, target):
    """The files of a folder in another one of the same disk; no file is written to later."""
    for path in source.rglob("*"):
        if path.is_file() and path.name not in _NOT_SERVED:
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, place)


def _pages_by_hand(root, tools, site, places, listed):
    def framed(at, title, body, trail):
        (site / at).parent.mkdir(parents=True, exist_ok=True)
        style = f'<link rel="stylesheet" href="{frame.to_root(at)}docs/site/interactive.css">'
        (site / at).write_text(frame.page(title, body, at, pages.PLACES, trail, style),
                               encoding="utf-8")

    toys.write(root, tools, site, places, framed)
    listings.write(root, places, listed, framed)


def _files(root, site, found):
    """The texts for the search; llms.txt, the texts as they are in the repository, and the figures that
    they show, in the same folders, so that the links of the texts work."""
    texts = {page.name: pages.sections(page) for page in found}
    (site / "docs/site/search_texts.js").write_text(
        f"window.bwTexts = {json.dumps(texts, ensure_ascii=False)};\n", encoding="utf-8")
    names = {"llms.txt", *(page.path for page in found)}
    names.update(path.relative_to(root).as_posix() for path in (root / codes.PAGES).glob("*.md"))
    for page in found:
        folder = Path(page.path).parent
        names.update(os.path.normpath(folder / target) for target in pages.link_targets(page.text)
                     if target.endswith(pages.FIGURES) and not pages.is_external(target))
    for name in sorted(names):
        if (root / name).is_file():
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, site / name)


def main(arguments=None):
    from ..try_exercise import tools_of
    parser = argparse.ArgumentParser(prog="python3 -m tools.site.make", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[3])
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args(arguments)
    try:
        first = make(chosen.root, tools_of(chosen.root), chosen.output or chosen.root / "build/docs")
    except WorkbookError as error:
        print(f"{error.details or ''}\nerror: {error}", file=sys.stderr)
        return 1
    print(f"written: {first}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
