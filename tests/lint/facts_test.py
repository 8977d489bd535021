"""What a page says may be worded differently, and has to say the same:

    facts_test.py                what counts as a difference
    facts_test.py REVISION       compares the pages of this checkout with a revision's: numbers, code,
                                 blocks and links that are gone or new; exits 1 if there are any

After rewriting sentences, look at each line that the second form prints: it is a slip, or meant.
"""

import re
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (".md", ".toml")
MOST_SHOWN_CHARACTERS = 60
_BLOCK = re.compile(r"```.*?```", re.S)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`]+)`")
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*\d|\b\d\b")


def facts(page):
    """{kind: Counter of what a page holds of it}; lines of linked sources move, and don't count."""
    text = _BLOCK.sub("", page)
    words = _LINK.sub("]", text)
    return {"block": Counter(_BLOCK.findall(page)),
            "link": Counter(re.sub(r"#L\d+.*", "", link) for link in _LINK.findall(text)),
            "code": Counter(" ".join(code.split()) for code in _CODE.findall(words)),
            "number": Counter(_NUMBER.findall(_CODE.sub("", words)))}


def differences(old, new):
    """Lines: what of an old page is gone, and what is new."""
    before, after = facts(old), facts(new)
    return [f"{sign} {kind} {' '.join(one.split())[:MOST_SHOWN_CHARACTERS]}"
            for kind in before
            for sign, counts in (("-", before[kind] - after[kind]), ("+", after[kind] - before[kind]))
            for one in counts.elements()]


def _git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout


def compare(revision):
    """Prints how the pages differ from a revision's; returns the number of lines."""
    count = 0
    try:
        changed = _git("diff", "--name-only", "--diff-filter=M", revision, "--").splitlines()
    except subprocess.CalledProcessError:
        sys.exit(f"git cannot compare with {revision!r}. Name a commit or a branch.")
    for name in changed:
        if not name.endswith(PAGES):
            continue
        for line in differences(_git("show", f"{revision}:{name}"),
                                (ROOT / name).read_text(encoding="utf-8")):
            print(f"{name}: {line}")
            count += 1
    return count


class Facts(unittest.TestCase):
    PAGE = ("The ring takes 36,432 cycles with 2 stages ([why](page.md#why)): `full[stage]` is waited "
            "for in\n`step()`. [`a.cuh`, lines 3 to 4](a.cuh#L3-L4)\n```cpp\nwait(1);\n```\n")

    def test_other_words_are_the_same_page(self):
        self.assertEqual(differences(self.PAGE, self.PAGE), [])
        reworded = self.PAGE.replace("The ring takes", "For the ring we count").replace(
            "`full[stage]` is waited for in\n`step()`", "in `step()` a thread waits for `full[stage]`")
        self.assertNotEqual(reworded, self.PAGE)
        self.assertEqual(differences(self.PAGE, reworded), [])

    def test_an_excerpt_may_move(self):
        moved = self.PAGE.replace("#L3-L4", "#L13-L14")
        self.assertEqual(differences(self.PAGE, moved), [])

    def test_each_kind_is_noticed(self):
        for old, new, lines in (
                ("36,432", "36,423", ["- number 36,432", "+ number 36,423"]),
                ("2 stages", "stages", ["- number 2"]),
                ("full[stage]", "empty[stage]", ["- code full[stage]", "+ code empty[stage]"]),
                ("wait(1);", "wait(0);", ["- block ```cpp wait(1); ```", "+ block ```cpp wait(0); ```"]),
                ("page.md#why", "page.md", ["- link page.md#why", "+ link page.md"])):
            with self.subTest(new):
                self.assertEqual(differences(self.PAGE, self.PAGE.replace(old, new, 1)), lines)


if __name__ == "__main__":
    if len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        sys.exit(1 if compare(sys.argv[1]) else 0)
    unittest.main()
