"""The texts of the site: which pages there are, in which order, and where a link of theirs leads.

The site's folder mirrors the repository. `docs/glossary.md` is served as `docs/glossary.html`, a
README.md as the index.html of its folder, the reference in `reference/`, and any other file or folder
that a text links to as a listing in `files/`. So the links of the texts, which work on GitHub, only
change their endings.
"""

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from .. import chapters, links
from . import code_pages

REFERENCE, LISTINGS = "reference", "files"
# The concept pages, in the order in which one needs them.
CONCEPTS = ("mbarrier", "proxies", "tmem", "descriptors", "scaling", "block_scales",
            "warp_specialisation", "deadlock_report", "schedules", "races", "timeline", "profile",
            "simulator")
# The links of the header.
PLACES = (("Chapters", "chapters/index.html"), ("Concepts", "docs/concepts/index.html"),
          ("Try it", "generated/try_it.html"), ("Look it up", "generated/look_up.html"),
          ("Reference", "generated/reference.html"), ("The project", "CONTRIBUTING.html"))
FIGURES = (".svg", ".png")
_HEADING = re.compile(r"^#\s+(.*?)\s*#*\s*$", re.M)
_EXTERNAL = re.compile(r"^([a-z][a-z0-9+.-]*:|//)", re.I)
_LINE = re.compile(r"L(\d+)")


@dataclass(frozen=True)
class Page:
    """A text of the site: its path in the repository (a generated one has a path of its own kind), and
    its Markdown."""

    path: str
    text: str

    @property
    def name(self):
        """The page's path in the site without its ending, which is Sphinx's name of it."""
        return name_of(self.path)

    @property
    def title(self):
        return plain(_HEADING.search(self.text).group(1))


def name_of(path):
    """`chapters/01_x/README.md` -> `chapters/01_x/index`."""
    folder, file = posixpath.split(path[:-len(".md")])
    return posixpath.join(folder, "index" if file == "README" else file)


def plain(text):
    """Markdown of one line without its marks."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[`*]", "", text).strip()


def load(root, extra=()):
    """All pages: the repository's texts, and `extra` ones as (path, text)."""
    found = [(path.as_posix(), (Path(root) / path).read_text(encoding="utf-8"))
             for path in links.markdown_files(root)
             if not path.as_posix().startswith(code_pages.FOLDER)]  # has one page a code instead
    return [Page(path, text) for path, text in [*found, *extra]]


class Places:
    """Where the links of the texts lead in the site. `pages`: the paths of the texts; `documented`: the
    reference's page of a header by its path."""

    def __init__(self, pages, documented):
        self.pages, self.documented = set(pages), dict(documented)

    def of(self, source, target):
        """The path in the site, with its anchor, that `target` leads to in the text or page `source`;
        None if it leads out of the site or stays on the page."""
        name, _, anchor = target.partition("#")
        if not name or is_external(target):
            return None
        anchor = unquote(anchor)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), unquote(name)))
        if path.startswith(code_pages.FOLDER) and anchor.startswith("bw-"):
            return f"{code_pages.FOLDER}{anchor.upper()}.html"  # there, a section; here, a page
        for page in (path, posixpath.join(path, "README.md")):
            if page in self.pages:
                return name_of(page) + ".html" + (f"#{anchor.lower()}" if anchor else "")
        if path.endswith(FIGURES) or posixpath.dirname(path) == "docs/site" and path.endswith(".html"):
            return path + (f"#{anchor}" if anchor else "")
        return self._file(path, _LINE.match(anchor))

    def _file(self, path, line):
        if path in self.documented:
            page = f"{REFERENCE}/{self.documented[path]}"
            return f"{page[:-len('.html')]}_source.html#l{int(line.group(1)):05d}" if line else page
        return listing_of(path) + (f"#L{line.group(1)}" if line else "")

    def listed(self, pages):
        """The paths in the repository of files and folders that the pages link to as listings."""
        found = set()
        for page in pages:
            for target in link_targets(page.text):
                place = self.of(page.path, target)
                if place and place.startswith(LISTINGS + "/"):
                    path = posixpath.normpath(posixpath.join(posixpath.dirname(page.path),
                                                             unquote(target.partition("#")[0])))
                    found.add(path)
        return found


def is_external(target):
    """Whether a link leads out of the site."""
    return bool(_EXTERNAL.match(target))


def listing_of(path):
    """The page in the site that shows a file or folder of the repository."""
    return f"{LISTINGS}/{path}.html"


def link_targets(text):
    """The targets of a text's links and images, outside of code."""
    text = re.sub(r"^(```+|~~~+).*?^\1\s*$", "", text, flags=re.M | re.S)
    text = re.sub(r"(`+)(?:(?!\1).)*?\1", "x", text, flags=re.S)
    return [match.group(1) for match in links.LINK.finditer(text)]


def navigation(pages):
    """{page: [(title or None for its own, page)]}: the order of the book, by Sphinx's names."""
    names = {page.name for page in pages}
    texts = [f"chapters/{chapter.name}/index" for chapter in chapters.CHAPTERS]
    tree = {
        "index": [("Chapters", "chapters/index"), ("Concepts", "docs/concepts/index"),
                  (None, "generated/try_it"), (None, "generated/look_up"), (None, "generated/reference"),
                  ("The project", "CONTRIBUTING")],
        "chapters/index": texts,
        "chapters/05_blockwise_fp8_gemm/index": ["chapters/05_blockwise_fp8_gemm/lab_notebook"],
        "chapters/06_hopper_fp8_gemm/index": ["chapters/06_hopper_fp8_gemm/appendix",
                                              "chapters/06_hopper_fp8_gemm/lab_notebook"],
        "docs/concepts/index": [f"docs/concepts/{name}" for name in CONCEPTS],
        "generated/look_up": ["docs/glossary", "docs/symptoms", "docs/codes/index", "docs/pitfalls",
                              "docs/commands", "docs/your_kernel", "docs/race_suites",
                              "generated/faults", "docs/timing", "generated/instructions",
                              "generated/legal_forms",
                              "docs/contract", "generated/contract_types"],
        "docs/codes/index": [name for name in _below(names, "docs/codes/") if name[12:13] == "_"],
        "docs/timing": ["generated/timing_numbers"],
        "generated/instructions": _below(names, "generated/instructions_"),
        "generated/contract_types": [name for name in _below(names, "generated/contract_")
                                     if name != "generated/contract_types"],
        "generated/reference": ["common/simulator/index", "tests/hardware/index"],
        "CONTRIBUTING": ["docs/style", "docs/exercises", "docs/teaching", "docs/verdicts", "AGENTS",
                         "CHANGELOG"],
    }
    for chapter in chapters.CHAPTERS:
        below = tree.setdefault(f"chapters/{chapter.name}/index", [])
        below.append((f"The solution of chapter {chapter.number}", f"solutions/{chapter.name}/index"))
    for subject in tree["docs/codes/index"]:
        tree[subject] = _below(names, f"docs/codes/BW-{posixpath.basename(subject)[0]}")
    tree = {page: [entry if isinstance(entry, tuple) else (None, entry) for entry in below]
            for page, below in tree.items()}
    tree = {page: [entry for entry in below if entry[1] in names] for page, below in tree.items()}
    placed = {name for below in tree.values() for _, name in below}
    tree["CONTRIBUTING"] += [(None, name) for name in sorted(names - placed - {"index"})]
    return tree


def _below(names, prefix):
    return sorted(name for name in names if name.startswith(prefix))


def sections(page):
    """[[anchor, text without Markdown's marks]]: what the search shows excerpts of. A row of the
    glossary is a section of its own."""
    found = [["", ""]]
    for part in re.split(r"^(?=#+ )", re.sub(r"<!--[\s\S]*?-->", "", page.text), flags=re.M):
        heading = re.match(r"#+ (.*)", part)
        found.append([links.slug(heading.group(1)) if heading else "", readable(part)])
    if page.path == "docs/glossary.md":
        found += [[row_anchor(plain(re.split(r",| \(", word)[0])), readable(f"{word}: {meaning}")]
                  for word, meaning in _glossary(page)]
    return [section for section in found if section[1]]


def _glossary(page):
    """[(word, meaning)]: the cells of the glossary's rows, in Markdown."""
    return re.findall(r"^\| (.+?) \| (.+) \|$", page.text, re.M)[1:]


def readable(text):
    """A text without Markdown's marks."""
    text = re.sub(r"^\s*(```|~~~).*$|^\|[-:| ]+\|$|^#+ |^\s*- ", "", text, flags=re.M)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\*\*|`+|(?<![\w*])\*(?=\w)|(?<=\w)\*(?![\w*])", "", text)
    return re.sub(r"\s+", " ", text.replace("|", " ")).strip()


def words(pages):
    """{page: [[word, anchor]]}: the index of the search. It has the codes of the reports, and the words
    of the glossary with its own rows and with what their last links lead to."""
    found, places = {}, Places([page.path for page in pages], {})
    glossary = next((page for page in pages if page.path == "docs/glossary.md"), None)
    for cells in _glossary(glossary) if glossary else ():
        terms = re.split(r",\s*", plain(re.sub(r"\s*\(.*\)", "", cells[0])))
        targets = link_targets(cells[1])
        explained = [f"{glossary.name}.html#{row_anchor(terms[0])}",
                     places.of(glossary.path, targets[-1]) if targets else None]
        for page, _, anchor in (place.partition("#") for place in explained if place):
            found.setdefault(page[:-len(".html")], []).extend([term, anchor] for term in terms)
    for page in pages:
        code = re.fullmatch(code_pages.FOLDER + r"(BW-(\w\d+))\.md", page.path)
        if code:
            found[page.name] = [[code.group(1), ""], [code.group(2), ""]]
    return found


def row_anchor(word):
    """The name of a word's row in the glossary."""
    return "word-" + re.sub(r"\W+", "-", word.lower()).strip("-")


def staged(page, below):
    """The page's Markdown as Sphinx reads it: with the table of the pages below it, which the navigation
    is made of."""
    if not below:
        return page.text
    entries = "\n".join(f"{title} </{name}>" if title else f"/{name}" for title, name in below)
    return f"{page.text.rstrip()}\n\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"
