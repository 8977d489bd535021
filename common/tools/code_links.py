"""Links from the codes of reports to their pages, in terminals that have links (OSC 8).

`./workbook` links the codes in its own words, the simulator those in the reports that it prints.
"""

import re
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_SITE = "build/docs/html/docs/codes"
CODE = re.compile(r"\bBW-[A-Z]\d\d\b")
# What terminals with links set; of these two, from a version on.
_MARKS = ("KITTY_WINDOW_ID", "WT_SESSION", "DOMTERM")
_VERSIONS = {"VTE_VERSION": 5000, "KONSOLE_VERSION": 201200}
_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio")


def are_understood(environment):
    """Whether the terminal that set this environment shows links. tmux and screen, which would have to
    pass them on, are taken for terminals without."""
    if environment.get("TMUX") or environment.get("STY"):
        return False
    if environment.get("TERM_PROGRAM") in _PROGRAMS or any(map(environment.get, _MARKS)):
        return True
    return any(environment.get(name, "").isdigit() and int(environment[name]) >= least
               for name, least in _VERSIONS.items())


def page_of(code, root=_ROOT):
    """The address of a code's page: that of the site, if it was made, or else the text's; None where
    neither is installed."""
    page = root / _SITE / f"{code}.html"
    if page.is_file():
        return page.as_uri()
    text = next((root / "docs/codes").glob(f"{code[3]}_*.md"), None)
    return f"{text.as_uri()}#{code.lower()}" if text else None


def tell_programs(environment, root=_ROOT):
    """Lets the programs of the simulator link their reports' codes, if the site was made."""
    folder = root / _SITE
    if are_understood(environment) and folder.is_dir():
        environment["BW_CODE_PAGES"] = f"{folder.as_uri()}/"


def linked(text, root=_ROOT):
    """The text with a link at each code."""
    def link(match):
        address = page_of(match.group(), root)
        return f"\x1b]8;;{address}\x1b\\{match.group()}\x1b]8;;\x1b\\" if address else match.group()

    return CODE.sub(link, text)
