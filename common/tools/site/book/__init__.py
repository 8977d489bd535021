"""The book: runs Sphinx over the texts. The other modules of this folder run within Sphinx, in the
private environment."""

import json
import os
import shutil
from pathlib import Path

from ... import private_env
from ...errors import WorkbookError
from ...process import capture
from .. import frame, pages

_FOLDER = Path(__file__).resolve().parent
_COMMON = _FOLDER.parents[2]


def run(root, work, found, documented, symbols, extra, panels=None):
    """Writes work/book from the pages `found`, as far as they have changed since the last run. `extra`:
    {page in the site without its ending: title} of further pages that the search finds; `panels`: those
    of each page (site/panels.py)."""
    source, target = work / "texts", work / "book"
    _stage(source, found)
    names = {page.name for page in found}
    if any(path.relative_to(target).with_suffix("").as_posix() not in names | {"search"}
           for path in target.rglob("*.html") if "_static" not in path.parts):
        shutil.rmtree(target)  # a page is gone: its HTML would stay
    settings = work / "book.json"
    facts = {"pages": sorted(page.path for page in found), "documented": documented,
             "symbols": symbols, "extra": extra, "words": pages.words(found),
             "panels": panels or {},
             "header": frame.header("@ROOT@", pages.PLACES)}
    settings.write_text(json.dumps(facts, sort_keys=True), encoding="utf-8")
    status, text = capture(
        [str(private_env.site_python(root)), "-B", "-m", "sphinx", "-q", "-b", "html", "-c",
         str(_FOLDER), "-d", str(work / "doctrees"), str(source), str(target)],
        timeout=None, env={**os.environ, "BW_BOOK": str(settings), "PYTHONPATH": str(_COMMON)})
    text = text.replace(f"{source}/", "")
    if status != 0 or "WARNING" in text or "ERROR" in text:
        raise WorkbookError("Sphinx can't make the book of these texts; its words are above.",
                            details=text)


def _stage(source, found):
    """The texts as Sphinx reads them, in the folders that they have in the repository. A text that is
    as it was keeps its time, which is what Sphinx looks at."""
    tree = pages.navigation(found)
    wanted = {source / (page.name + ".md"): pages.staged(page, tree.get(page.name, ()))
              for page in found}
    for path in set(source.rglob("*.md")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
