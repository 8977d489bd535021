"""Sphinx's configuration for the book. BW_BOOK names the file that make.py writes: {"pages": paths of
the texts, "documented": the reference's page of each header, "symbols": of each type and function,
"extra": further pages that the search finds, "words": where words are explained, "panels": those that
run labs, by page, "header": the HTML of the header}."""

import json
import os
from pathlib import Path

from tools.site import panels

_book = json.loads(Path(os.environ["BW_BOOK"]).read_text(encoding="utf-8"))

project = "Blackwell workbook"
html_title = project
extensions = ["myst_parser", "sphinx_copybutton", "tools.site.book.extension"]
root_doc = "index"
language = "en"
source_suffix = {".md": "markdown"}
smartquotes = False
nitpicky = False
# Anchors that a text writes as HTML are unknown to the parser; a test sees to all links of the site.
# CUDA's lexer does not know all of PTX's and C++20's words.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure", "myst.header"]

myst_heading_anchors = 6
myst_fence_as_directive = ["math"]  # as GitHub writes formulas
myst_links_external_new_tab = False

bw_pages = _book["pages"]
bw_documented = _book["documented"]
bw_symbols = _book["symbols"]
bw_extra = _book["extra"]
bw_words = _book["words"]
bw_panels = _book["panels"]

html_theme = "pydata_sphinx_theme"
templates_path = [str(Path(__file__).parent / "templates")]
html_context = {"bw_header": _book["header"], "default_mode": "auto",
                "bw_panel_scripts": panels.SCRIPTS, "bw_panel_styles": panels.STYLES}
html_sidebars = {"**": ["sidebar-nav-bs.html"], "search": [], "generated/try_it": []}
html_theme_options = {
    "secondary_sidebar_items": ["page-toc"],
    "collapse_navigation": True,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    **dict.fromkeys(("navbar_start", "navbar_center", "navbar_end", "navbar_persistent",
                     "primary_sidebar_end", "footer_start", "footer_end"), []),
    "search_bar_text": "Search the workbook",
    "back_to_top_button": False,
}
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_search_scorer = str(Path(__file__).parent / "scorer.js")
copybutton_exclude = ".linenos, .gp"
