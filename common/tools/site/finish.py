"""What Doxygen's pages still lack: names of graphs, blocks that scroll by keyboard, links that work."""

import html
import re


def run(folder):
    """Finishes the pages of the reference in a folder."""
    for page in sorted(folder.glob("*.html")):
        text = page.read_text(encoding="utf-8")
        # The first page is empty, as the book has the overview; what has no title are lists of all
        # members by their letters, which the search replaces.
        if page.name == "index.html" or '<div class="title">' not in text:
            page.unlink()
        else:
            page.write_text(finished(text), encoding="utf-8")


def finished(text):
    """A page with what it lacks."""
    # Doxygen takes "file:line" for an address.
    if '"file:' in text:
        text = re.sub(r'<a href="file:[^"]*">([^<]*)</a>', r"\1", text)
    # Its summary names sections that a page without documented members doesn't have.
    if '<div class="summary">' in text:
        names = set(re.findall(r'\b(?:id|name)="([^"]+)"', text))
        text = re.sub(r'<a href="#([\w-]+)">[^<]*</a>(?: &#124;\s*)?',
                      lambda match: match.group(0) if match.group(1) in names else "", text)
    # The title is the page's heading.
    text = re.sub(r'<div class="title">(.*?)</div>', r'<h1 class="title">\1</h1>', text, flags=re.S)
    for block in ('<div class="fragment">', '<pre class="fragment">', '<div class="memproto">'):
        text = text.replace(block, block[:-1] + ' tabindex="0">')
    if "<iframe" not in text:
        return text
    # A graph is called what its caption says.
    text = re.sub(r'(<div class="dynheader">\s*)?(?P<caption>[^<>\n]*(?:graph for|dependency graph)'
                  r'[^<>\n]*)(?P<between>.{0,400}?)<iframe ',
                  lambda match: match.group(0)[:-len("<iframe ")]
                  + f'<iframe title="{html.escape(match.group("caption").strip(" :"), quote=True)}" ',
                  text, flags=re.S)
    return re.sub(r"<iframe (?!title)", '<iframe title="graph" ', text)
