"""What the book needs in addition to Markdown: links as on GitHub, links to the reference, figures, and
an index for the search that is complete."""

import html
import json
import posixpath
import re
from pathlib import Path

from docutils import nodes
from latex2mathml import converter
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import new_document

from ... import code_links
from .. import code_pages, frame
from ..pages import REFERENCE, Places, row_anchor

_BACK = f"{REFERENCE}/in_the_book.js"


def source_of(name):
    """The repository's path of a page by Sphinx's name of it."""
    folder, file = posixpath.split(name)
    return posixpath.join(folder, ("README" if file == "index" else file) + ".md")


class Links(SphinxPostTransform):
    """Links to texts and files of the repository."""

    default_priority = 1  # before the parser's own, which knows pages alone

    def run(self, **_):
        source = source_of(self.env.docname)
        places = Places(self.config.bw_pages, self.config.bw_documented)
        for node in list(self.document.findall(addnodes.pending_xref)):
            if node.get("reftype") != "myst":
                continue
            target = node["reftarget"]
            if node["refdomain"] == "doc":
                target = posixpath.relpath(source_of(target), posixpath.dirname(source) or ".")
                target += f"#{node['reftargetid']}" if node.get("reftargetid") else ""
            place = places.of(source, target)
            uri = frame.to_root(self.env.docname) + place if place else target
            node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=uri))


class Panels(SphinxPostTransform):
    """A panel that runs a lab follows the first paragraph that links to the lab's file, and what that
    paragraph announces by a colon."""

    default_priority = 0  # before the links are those of the site

    def run(self, **_):
        waiting = dict(self.config.bw_panels.get(self.env.docname, {}))
        for node in list(self.document.findall(addnodes.pending_xref)):
            lab = re.search(r"(?:^|/)labs/(\w+)\.cu$", node.get("reftarget", ""))
            if lab and lab.group(1) in waiting:
                _insert_after(node, nodes.raw("", waiting.pop(lab.group(1)), format="html"))
        if waiting:
            raise ExtensionError(f"{source_of(self.env.docname)} links to no file labs/<name>.cu of its "
                                 "labs " + ", ".join(sorted(waiting)) + "; their panels need a place.")


def _insert_after(node, panel):
    while not isinstance(node.parent, nodes.section):
        node = node.parent
    parent, at = node.parent, node.parent.index(node) + 1
    if node.astext().rstrip().endswith(":"):
        while at < len(parent) and not isinstance(parent[at], (nodes.paragraph, nodes.section)):
            at += 1
    while at < len(parent) and "bw-lab" in parent[at].astext():
        at += 1  # of a lab that the same paragraph names before
    parent.insert(at, panel)


class Symbols(SphinxPostTransform):
    """Code that is the name of a type or function leads to the reference."""

    default_priority = 20

    def run(self, **_):
        symbols, root = self.config.bw_symbols, frame.to_root(self.env.docname)
        for node in list(self.document.findall(nodes.literal)):
            page = symbols.get(_name(node.astext()))
            if page and not _is_within(node, (nodes.reference, nodes.title)):
                link = nodes.reference("", "", internal=True, refuri=f"{root}{REFERENCE}/{page}",
                                       classes=["bw-symbol"])
                node.replace_self(link)
                link += node


def _name(text):
    """`bw::Name<...>` or `name()` -> the name as the reference has it."""
    return re.sub(r"<.*>$|\(\)$", "", text).removeprefix("bw::")


def _is_within(node, kinds):
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False


class Figures(SphinxTransform):
    """Figures are files next to the page, as in the repository, and scroll where the page is narrow."""

    default_priority = 500

    def apply(self, **_):
        for node in list(self.document.findall(nodes.image)):
            alt = html.escape(node.get("alt", ""), quote=True)
            source = html.escape(node["uri"], quote=True)
            node.replace_self(nodes.raw(
                "", f'<span class="bw-figure" tabindex="0" role="group" aria-label="figure">'
                    f'<img src="{source}" alt="{alt}"></span>', format="html"))
        for node in list(self.document.findall(nodes.raw)):
            if re.fullmatch(r"\s*(<!--.*?-->\s*)+", node.astext(), re.S):
                node.parent.remove(node)


class Words(SphinxTransform):
    """Names the rows of the glossary, so that the search leads to a word's own."""

    default_priority = 500

    def apply(self, **_):
        if self.env.docname == "docs/glossary":
            for row in self.document.findall(nodes.row):
                row["ids"].append(row_anchor(re.split(r",|\s*\(", row[0].astext())[0]))


class Literals(SphinxTransform):
    """Notes which names the page's code spells, for the reference's way back to the book."""

    default_priority = 500

    def apply(self, **_):
        spelled = {_name(node.astext()) for node in self.document.findall(nodes.literal)}
        kept = getattr(self.env, "bw_spelled", None)
        if kept is None:
            kept = self.env.bw_spelled = {}
        kept[self.env.docname] = {word for word in spelled if re.fullmatch(r"[A-Za-z_][\w:]*", word)}


def _purge(_app, env, name):
    getattr(env, "bw_spelled", {}).pop(name, None)


def _complete_search(app):
    """Gives the search's index its words, which Sphinx keeps for no page that it does not write again,
    and pages that it does not make: the reference's, and those that move."""
    indexer = app.builder.indexer
    for name, title in app.config.bw_extra.items():
        page = new_document(name)
        page += nodes.section("", nodes.title(title, title), ids=[""])
        indexer.feed(name, name + ".html", title, page)
    for name, words in app.config.bw_words.items():
        indexer._index_entries[name] = [(word, anchor, "main") for word, anchor in words]
    prune = indexer.prune
    indexer.prune = lambda names: prune([*names, *app.config.bw_extra])
    return []


def _back_links(app, error):
    """Writes which pages of the book name a type or function, for the reference's pages."""
    if error:
        return
    found = {}
    for name, words in sorted(getattr(app.env, "bw_spelled", {}).items()):
        for word in words:
            page = app.config.bw_symbols.get(word)
            if page:
                entry = [app.env.titles[name].astext(), name + ".html"]
                entries = found.setdefault(page.partition("#")[0], [])
                if entry not in entries:
                    entries.append(entry)
    path = Path(app.outdir) / _BACK
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"window.bwInTheBook = {json.dumps(found, sort_keys=True)};\n", encoding="utf-8")


def _link_codes(app, name, _template, context, _doctree):
    """The codes of reports lead to their pages, in sentences as in quoted reports."""
    if "body" in context:
        own = posixpath.basename(name)
        known = {page for page in app.config.bw_pages if page.startswith(code_pages.FOLDER)}
        context["body"] = with_code_links(
            context["body"], frame.to_root(name),
            lambda code: code != own and f"{code_pages.FOLDER}{code}.md" in known)


def with_code_links(body, root, has_page):
    """HTML whose codes with a page are links, unless they are part of a link or a heading already."""
    def link(match):
        code = match.group()
        if not has_page(code):
            return code
        return f'<a class="bw-code" href="{root}{code_pages.FOLDER}{code}.html">{code}</a>'

    parts, within = [], 0
    for part in re.split(r"(<[^>]*>)", body):
        if re.match(r"<(a|h\d)\b", part):
            within += 1
        elif re.match(r"</(a|h\d)>", part):
            within -= 1
        elif not within and not part.startswith("<"):
            part = code_links.CODE.sub(link, part)
        parts.append(part)
    return "".join(parts)


def _formula(translator, node):
    """Mathematics as MathML, which browsers draw without a script or the network."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    translator.body.append(converter.convert(node.astext(), display=display))
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
    for name in ("bw_pages", "bw_documented", "bw_symbols", "bw_extra", "bw_words", "bw_panels"):
        app.add_config_value(name, {}, "html", types=(dict, list))
    for transform in (Figures, Words, Literals):
        app.add_transform(transform)
    for transform in (Panels, Links, Symbols):
        app.add_post_transform(transform)
    app.connect("env-purge-doc", _purge)
    app.connect("html-page-context", _link_codes)
    app.connect("html-collect-pages", _complete_search)
    app.connect("build-finished", _back_links)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
