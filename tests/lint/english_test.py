"""The English of texts, comments and messages: english_test.py [--write].

Two checks. Markers are words that technical English seldom needs and that this tree once used by the
hundred (docs/style.md lists the rules); english.json has the number that each folder may
contain, and --write lowers these numbers to what is there. Harper checks the grammar of the pages; the
rules that are off are listed in english.json with a reason.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = Path(__file__).with_name("english.json")
MARKERS = (
    r"Who [a-z]+s? ", r"who (?:wants|does|asks|goes|changes|follows|takes)\b", r"behind\b",
    r"besides?\b",
    r"stands?\b", r"lies?\b", r"in the mean\b", r"by chance\b", r"(?:is|are) no (?!longer)\w",
    r"is none\b", r"anew\b", r"(?:no|some|every)body\b", r"so (?:much|many|long)\b", r"the own\b",
    r"for ever\b", r"at hand\b", r"meanwhile\b", r"there (?:is|are)n't\b", r"parted\b")
MARKER = re.compile(r"\b(?:" + "|".join(MARKERS) + ")")
SUFFIXES = (".md", ".py", ".hpp", ".cpp", ".cuh", ".cu", ".inc", ".toml")
LEAST_LETTERS_OF_A_MESSAGE = 25
GENERATED_PAGES = ("docs/codes/", "docs/commands.md")  # their words are checked where they are written


def files(suffixes=SUFFIXES):
    """What Git tracks; in a copy without Git, what is there."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False)
    names = listed.stdout.decode().split("\0") if listed.returncode == 0 else [
        path.relative_to(ROOT).as_posix()
        for folder in ("chapters", "common", "docs", "solutions", "tests")
        for path in (ROOT / folder).rglob("*") if path.is_file()]
    return sorted(name for name in names if name.endswith(suffixes) and (ROOT / name).is_file())


def prose(name, text):
    """The sentences of a file: texts without code, comments, and strings that are long enough to be
    messages."""
    if name.endswith(".md"):
        return re.sub(r"```.*?```", "", text, flags=re.S)
    if name.endswith(".toml"):
        return text
    if name.endswith(".py"):
        return "\n".join(re.findall(r'"""(.*?)"""', text, re.S) + re.findall(r"#\s(.*)$", text, re.M))
    messages = rf'"((?:[^"\\]|\\.){{{LEAST_LETTERS_OF_A_MESSAGE},}})"'
    return "\n".join(re.findall(r"//+<?\s?(.*)$", text, re.M) + re.findall(messages, text))


def folder_of(name):
    """Chapters and the parts of common/simulator by themselves, the rest by two levels."""
    parts = name.split("/")
    depth = 3 if parts[:2] == ["common", "simulator"] else 2
    return "/".join(parts[:depth]) if len(parts) > depth else "/".join(parts[:-1]) or "."


def count_markers():
    found = Counter()
    for name in files():
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        found[folder_of(name)] += len(MARKER.findall(prose(name, text)))
    return found


def settings():
    return json.loads(SETTINGS.read_text(encoding="utf-8"))


def harper():
    """The grammar checker's path: the checkout's own, else the machine's."""
    own = ROOT / ".workbook" / "venv" / "bin" / "harper"
    return str(own) if os.access(str(own), os.X_OK) else shutil.which("harper")


class English(unittest.TestCase):
    maxDiff = None
    def test_no_folder_has_more_markers_than_it_had(self):
        allowed = settings()["markers"]
        more = {folder: f"{count} markers, {allowed.get(folder, 0)} are allowed"
                for folder, count in count_markers().items() if count > allowed.get(folder, 0)}
        self.assertEqual(more, {}, "rewrite the new sentences: docs/style.md has the rules")

    def test_a_marker_is_found_in_prose_alone(self):
        quotes, hash_sign = '"' * 3, "#"  # this file's own docstrings and comments are counted, too
        for name, text, count in (
                ("a.md", "It stands behind.\n```\nbehind\n```\n", 2),
                ("a.py", f'{quotes}What lies\nthere.{quotes}\nx = "behind"  {hash_sign} by chance\n', 2),
                ("a.cpp", 'f("behind"); // anew\ng("this message has nobody in it, and is long");', 2),
                ("a.md", "is no longer, standard, belies, understands\n", 0)):
            self.assertEqual(len(MARKER.findall(prose(name, text))), count, text)

    def test_the_pages_grammar(self):
        tool = harper()
        if tool is None:
            self.skipTest("harper was not found; ./workbook setup installs it")
        pages = [name for name in files((".md",)) if not name.startswith(GENERATED_PAGES)]
        self.assertGreater(len(pages), 20)
        done = subprocess.run([tool, "lint", "--no-color", "--format", "json", "--ignore",
                               ",".join(settings()["rules off"]), *pages],
                              cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              universal_newlines=True)
        self.assertTrue(done.stdout.startswith("["), done.stdout + done.stderr)
        report, _ = json.JSONDecoder().raw_decode(done.stdout)
        # It names files without their folders, in the order that it was given.
        self.assertEqual([file["file"] for file in report], [Path(page).name for page in pages])
        found = [f"{page}:{one['line']}: {one['rule']}: {one['matched_text']!r}: {one['message']}"
                 for page, file in zip(pages, report) for one in file["lints"]]
        self.assertEqual(found, [])


def write():
    """Lowers what each folder may contain to what it contains; a number never rises."""
    now, data = count_markers(), settings()
    before = data["markers"]
    data["markers"] = {folder: min(count, before.get(folder, count))
                       for folder, count in sorted(now.items()) if count}
    SETTINGS.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
