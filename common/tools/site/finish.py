"""What Doxygen's pages still lack: links to files of the repository, figures, listings, names of graphs.

Links that pages.py left as `repository.invalid/PATH` lead to Doxygen's page of a header, or to a
listing that is written here.
"""

import html
import posixpath
import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from .pages import REPOSITORY

_HREF = re.compile(r'href="' + re.escape(REPOSITORY) + r'([^"#]*)(?:#([^"]*))?"')

# The first page's tree is closed where it would help most.
_OPEN_TREE = """<script>
$(window).on("load", () => {
  const root = $("#nav-tree-contents > ul > li").first();
  if (!root.find("ul li").length) root.find("a").first().trigger("click");
});
</script>
"""


def run(root, work, rewriter, framed):
    """Finishes work/html. `framed(name, title, body)` writes a page of the site's own."""
    target = work / "html"
    documented = _documented(work / "tags.xml")
    listings = _Listings(root, framed, documented)
    for page in sorted(target.glob("*.html")):
        text = _finished(page.read_text(encoding="utf-8"), listings)
        if page.name == "index.html":
            text = text.replace("</body>", _OPEN_TREE + "</body>")
        page.write_text(text, encoding="utf-8")
    listings.write_all()
    for source, name in rewriter.images.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / source, target / name)


def _documented(tags):
    """{path in the repository: Doxygen's page of it}."""
    found = {}
    for compound in ElementTree.parse(str(tags)).getroot().findall("compound"):
        if compound.get("kind") == "file":
            path = (compound.findtext("path") or "") + (compound.findtext("name") or "")
            name = compound.findtext("filename")
            found[path] = name if name.endswith(".html") else name + ".html"
    return found


def _finished(text, listings):
    text = _HREF.sub(lambda match: f'href="{listings.page_of(match.group(1), match.group(2))}"', text)
    text = text.replace("<html xmlns=", '<html lang="en" xmlns=', 1)
    # Doxygen's button that ties the tree to the page needs a mouse and says nothing.
    text = re.sub(r'<div id="nav-sync"[^>]*>\s*</div>', "", text)
    # It takes "file:line" for an address.
    text = re.sub(r'<a href="file:[^"]*">([^<]*)</a>', r"\1", text)
    # Its summary names sections that a page without documented members doesn't have.
    text = re.sub(r'<a href="#([\w-]+)">[^<]*</a>(?: &#124;\s*)?',
                  lambda match: match.group(0) if f'name="{match.group(1)}"' in text
                  or f'id="{match.group(1)}"' in text else "", text)
    # Tables and code scroll by themselves where the page is narrow, and by keyboard.
    text = re.sub(r'<table class="markdownTable">', '<div class="bw-scroll" tabindex="0" role="region" '
                  'aria-label="table"><table class="markdownTable">', text)
    text = re.sub(r'(<table class="markdownTable">.*?</table>)', r"\1</div>", text, flags=re.S)
    text = text.replace('<div class="fragment">', '<div class="fragment" tabindex="0">')
    text = text.replace('<pre class="fragment">', '<pre class="fragment" tabindex="0">')
    # A graph is called what its caption says.
    text = re.sub(r'(<div class="dynheader">\s*)?(?P<caption>[^<>\n]*(?:graph for|dependency graph)'
                  r'[^<>\n]*)(?P<between>.{0,400}?)<iframe ',
                  lambda match: match.group(0)[:-len("<iframe ")]
                  + f'<iframe title="{html.escape(match.group("caption").strip(" :"), quote=True)}" ',
                  text, flags=re.S)
    return re.sub(r"<iframe (?!title)", '<iframe title="graph" ', text)


class _Listings:
    """Pages of files and folders that Doxygen has none of."""

    def __init__(self, root, framed, documented):
        self._root, self._framed = Path(root), framed
        self._documented = documented
        self._wanted = {}

    def page_of(self, path, anchor):
        """The page for a path of the repository, with the place that a link names."""
        path = html.unescape(path).rstrip("/")
        line = re.match(r"L(\d+)", anchor or "")
        if path in self._documented:
            page = self._documented[path]
            return page[:-5] + f"_source.html#l{int(line.group(1)):05d}" if line else page
        name = "listing_" + re.sub(r"[^A-Za-z0-9]+", "_", path) + ".html"
        self._wanted[path] = name
        return name + (f"#L{line.group(1)}" if line else "")

    def write_all(self):
        """Writes the listings; a folder's lists files, which may be new ones."""
        done = set()
        while set(self._wanted) - done:
            for path in sorted(set(self._wanted) - done):
                done.add(path)
                place = self._root / path
                body = self._folder(path) if place.is_dir() else self._file(place)
                self._framed(self._wanted[path], path, f"<h1>{html.escape(path)}</h1>\n{body}")

    def _folder(self, path):
        rows = []
        for entry in sorted((self._root / path).iterdir()):
            name = posixpath.join(path, entry.name)
            if entry.name.startswith((".", "__pycache__")):
                continue
            rows.append(f'<li><a href="{self.page_of(name, None)}">'
                        f"{html.escape(entry.name)}{'/' if entry.is_dir() else ''}</a></li>")
        return "<ul>\n" + "\n".join(rows) + "\n</ul>"

    @staticmethod
    def _file(place):
        try:
            text = place.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return "<p>Not a text.</p>"
        lines = [f'<span id="L{number}" class="bw-line">{html.escape(line)}</span>'
                 for number, line in enumerate(text.rstrip("\n").split("\n"), 1)]
        return '<pre class="bw-listing" tabindex="0">' + "\n".join(lines) + "</pre>"
