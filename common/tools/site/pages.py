"""The repository's texts as pages of the site: what Doxygen's Markdown can't take is rewritten.

GitHub and Doxygen differ in how headings are named, how files are found and how figures are shown.
The texts are written for GitHub; here each heading gets a label, links between texts become links
between pages, and everything else that is linked becomes a link that finish.py resolves.
"""

import html
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from .. import links
from . import code_pages

# A link into the repository whose target isn't a page; finish.py finds the file's page for it.
REPOSITORY = "repository.invalid/"
_FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\w*)")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"\s*>\s*</a>")
_EXTERNAL = re.compile(r"^([a-z][a-z0-9+.-]*:|//)", re.I)


@dataclass(frozen=True)
class Page:
    """A text of the site: where it comes from, its label (the page's file name) and its title."""

    path: str  # relative to the repository; a generated one has a path of its own kind
    label: str
    title: str
    text: str

    @property
    def file(self):
        return self.label + ".html"


def label_of(path):
    """A page's name: `chapters/01_x/README.md` -> `chapters_01_x`; the top README is the index."""
    if path == "README.md":
        return "index"
    stem = path[:-3]
    if stem.endswith("/README"):
        stem = stem[: -len("/README")]
    return re.sub(r"[^A-Za-z0-9]+", "_", stem)


def anchor_of(label, name):
    """The label of a heading or anchor: unique in the site, as Doxygen wants it."""
    return f"{label}--{re.sub(r'[^A-Za-z0-9_-]', '_', name)}"


def _whole_links(text):
    """The lines of a text, with links and code that were broken over two lines in one of them."""
    lines, inside = [], False
    for line in text.split("\n"):
        before = lines[-1] if lines and not inside else ""
        open_code = before.count("`") % 2 == 1 and not _FENCE.match(before)
        open_link = re.search(r"\[[^\[\]]*$", before) and re.match(r"[^\[\]]*\]\(", line)
        if line.strip() and (open_code or open_link):
            lines[-1] += " " + line.lstrip()
            continue
        lines.append(line)
        if _FENCE.match(line):
            inside = not inside
    return lines


def plain(text):
    """Markdown of one line without its marks."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[`*]", "", text).strip()


def load(root, extra=()):
    """All pages: the repository's texts, and `extra` ones as (path, text)."""
    root = Path(root)
    found = [
        (str(path), (root / path).read_text(encoding="utf-8"))
        for path in links.markdown_files(root)
        if not str(path).startswith(code_pages.FOLDER)  # the site has them in another form
    ] + list(extra)
    pages = []
    for path, text in found:
        title = next(
            (plain(match.group(2)) for match in map(_HEADING.match, text.split("\n")) if match),
            path,
        )
        pages.append(Page(path, label_of(path), title, text))
    return pages


class Rewriter:
    """Turns texts into Doxygen's Markdown; collects what finish.py has to bring along."""

    def __init__(self, root, pages):
        self._root = Path(root)
        self._pages = {page.path: page for page in pages}
        self.images = {}  # path in the repository -> name in the site
        self.files = set()  # linked files and folders that aren't pages

    def rewrite(self, page):
        """The page's text for Doxygen."""
        lines, seen, result, fence, pending = _whole_links(page.text), {}, [], None, None
        first = True
        in_comment = False
        for line in lines:
            match = _FENCE.match(line)
            if fence is None and match:
                fence = match.group(1)
                language = {"cpp": "cpp", "cuda": "cpp", "python": "py", "bash": "sh"}.get(
                    match.group(2), ""
                )
                if language == "sh":
                    language = ""
                result.append(f"```{{.{language}}}" if language else "```{.unparsed}")
                continue
            if fence is not None:
                if match and match.group(1).startswith(fence) and not match.group(2):
                    result.append("```")
                    fence = None
                else:
                    result.append(line)
                continue
            if in_comment or line.lstrip().startswith("<!--"):
                in_comment = "-->" not in line
                continue
            heading = _HEADING.match(line)
            if heading:
                text = heading.group(2)
                name = links.slug(text)
                count = seen.get(name, 0)
                seen[name] = count + 1
                anchor = anchor_of(page.label, f"{name}-{count}" if count else name)
                shown = plain(text)
                if first:
                    label = "mainpage" if page.label == "index" else page.label
                    result.append(f"# {shown} {{#{label}}}")
                    if page.label != "index":
                        result += ["", f"@anchor {anchor}", ""]
                    first = False
                else:
                    if pending:
                        result += ["", f"@anchor {anchor_of(page.label, pending)}", ""]
                        pending = None
                    result.append(f"{heading.group(1)} {shown} {{#{anchor}}}")
                continue
            alone = re.fullmatch(r"\s*" + _ANCHOR.pattern + r"\s*", line)
            if alone:
                pending = alone.group(1)
                continue
            result.append(self._line(line, page))
        return "\n".join(result) + "\n"

    def _line(self, line, page):
        image = re.fullmatch(r"\s*" + _LINK.pattern + r"\s*", line)
        if image and image.group(1):
            return self._figure(image.group(2), image.group(3), page)
        html_image = re.fullmatch(r"\s*<(?:p|div)[^>]*>?.*<img[^>]*>.*|\s*<img[^>]*>\s*", line)
        if html_image:
            source = re.search(r"src=\"([^\"]+)\"", line)
            text = re.search(r"alt=\"([^\"]*)\"", line)
            return self._figure(text.group(1) if text else "", source.group(1), page)
        return self._inline(line, page)

    def _inline(self, line, page):
        """Links and anchors, outside of code spans."""
        kept = []

        def keep(match):
            kept.append(match.group())
            return f"\x00{len(kept) - 1}\x00"

        line = re.sub(r"(`+)(?:(?!\1).)*?\1", keep, line)  # a link's text may hold code
        line = _ANCHOR.sub(
            lambda match: (
                f'@htmlonly<a id="{anchor_of(page.label, match.group(1))}"></a>@endhtmlonly '
            ),
            line,
        )

        def link(match):
            if match.group(1):
                return match.group(2)
            target = self.target(match.group(3), page)
            return f"[{match.group(2)}]({target})"

        line = _LINK.sub(link, line)
        # Doxygen's command ends where the word does: nothing visible parts it from a letter.
        line = re.sub(r"(\x00\d+\x00)(?=\w)", r"\1&zwnj;", line)
        return re.sub(r"\x00(\d+)\x00", lambda match: code_span(kept[int(match.group(1))]), line)

    def target(self, target, page):
        """Where a link of a page leads in the site."""
        if _EXTERNAL.match(target):
            return target
        name, _, anchor = target.partition("#")
        anchor = unquote(anchor)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), unquote(name)))
        if not name:
            other = page
        else:
            other = self._pages.get(path) or self._pages.get(posixpath.join(path, "README.md"))
        if other:
            return other.file + (f"#{anchor_of(other.label, anchor.lower())}" if anchor else "")
        if posixpath.dirname(path) == "docs/site":  # a page of the site's own
            return posixpath.basename(path)
        self.files.add(path)
        return REPOSITORY + path + (f"#{anchor}" if anchor else "")

    def _figure(self, text, source, page):
        if _EXTERNAL.match(source):
            return ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), source))
        name = "figures/" + re.sub(r"[^A-Za-z0-9.]+", "_", path)
        self.images[path] = name
        shown = html.escape(plain(text), quote=True)
        return (
            f'\n@htmlonly\n<p class="bw-figure" tabindex="0"><img src="{name}" alt="{shown}"></p>\n'
            "@endhtmlonly\n"
        )


def code_span(text):
    """A code span in HTML: in Markdown's own, Doxygen looks for its commands and for tables' bars."""
    escaped = html.escape(text.strip("`"), quote=False).replace("|", "&#124;")
    return f"@htmlonly<code>{escaped}</code>@endhtmlonly"
