"""Prints a regular expression of the tests that ctest skipped, or that left a part of themselves out:

    skipped.py OUTPUT LOG    (what ctest printed, and its LastTest.log)

Nothing for none. Tests that only lack a GPU are not among them: GoogleTest skips those itself.
"""

import re
import sys
from pathlib import Path

_NOT_RUN = re.compile(r"^\s*\d+ - (\S+) \(Skipped\)$", re.M)
_BLOCK = re.compile(r"^\d+/\d+ Testing: (?P<name>.*)\n(?P<text>(?:(?!\d+/\d+ Testing: ).*\n)*)", re.M)
_PARTS = re.compile(r"^OK \(.*\bskipped=\d+.*\)$", re.M)


def names(output, log):
    """The tests' names, in the log's order."""
    not_run = set(_NOT_RUN.findall(output))
    return [block["name"] for block in _BLOCK.finditer(log) if _PARTS.search(block["text"]) or (
        block["name"] in not_run and "[  SKIPPED ]" not in block["text"])]


if __name__ == "__main__":
    found = names(*(Path(name).read_text(encoding="utf-8", errors="replace") for name in sys.argv[1:3]))
    if found:
        print(f"^({'|'.join(map(re.escape, found))})$".replace("\\-", "-"))
