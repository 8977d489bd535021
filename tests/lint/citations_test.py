"""What code, messages and texts cite exists: citations_test.py.

Pitfalls by number and the contract by chapter lead to docs/pitfalls.md and docs/contract.md; links of
the pages in docs/ lead somewhere; the names on the contract's page are in the code."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FOLDERS = ("common", "solutions", "chapters", "tests", "docs")
SUFFIXES = {".cpp", ".hpp", ".cu", ".cuh", ".py", ".md", ".toml"}
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')


def files():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file() and path != Path(__file__).resolve():
                yield path


def words(path):
    """A file's text with comments' and strings' line breaks closed, so that a citation is one line."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return re.sub(r'"\s*\n\s*"|\s*\n\s*(?:///?|#)?\s*', " ", text)


def anchors(page):
    """The explicit anchors of a page and those of its headings."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
             for heading in headings}
    return set(ANCHOR.findall(text)) | slugs


class Citations(unittest.TestCase):
    def test_pitfalls_are_numbered_without_gaps(self):
        numbers = [int(name.split("-")[1]) for name in
                   ANCHOR.findall((DOCS / "pitfalls.md").read_text(encoding="utf-8"))]
        self.assertEqual(numbers, list(range(1, 54)))

    def test_cited_pitfalls_exist(self):
        known = anchors(DOCS / "pitfalls.md")
        cited = 0
        for path in files():
            for numbers in re.findall(r"\bpitfalls? (\d+(?:(?:,| and) \d+)*)", words(path)):
                for number in re.findall(r"\d+", numbers):
                    cited += 1
                    self.assertIn(f"pitfall-{number}", known, f"{path} cites pitfall {number}")
        self.assertGreater(cited, 10)

    def test_cited_chapters_of_the_contract_exist(self):
        known = anchors(DOCS / "contract.md")
        cited = 0
        for path in files():
            for numbers in re.findall(r"\(contract, chapters? (\d+(?:(?:,| and) \d+)*)", words(path)):
                for number in re.findall(r"\d+", numbers):
                    cited += 1
                    self.assertIn(f"chapter-{number}", known, f"{path} cites chapter {number}")
        self.assertGreater(cited, 20)

    def test_links_of_the_pages_lead_somewhere(self):
        for page in sorted(DOCS.glob("*.md")):
            for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
                if re.match(r"[a-z]+:", link):
                    continue
                target, _, anchor = link.partition("#")
                path = (page.parent / target).resolve() if target else page
                self.assertTrue(path.exists(), f"{page.name} links to {link}")
                if anchor and path.suffix == ".md":
                    self.assertIn(anchor, anchors(path), f"{page.name} links to {link}")

    def test_what_the_contract_names_is_there(self):
        code = "\n".join(path.read_text(encoding="utf-8") for path in
                         sorted((ROOT / "solutions").rglob("*.[ch][up]*")))
        names = {path.name for path in files()}
        rows = 0
        for line in (DOCS / "contract.md").read_text(encoding="utf-8").splitlines():
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            # "the same": what the design calls them in the first column.
            quoted = [text for cell in cells[:2] for text in re.findall(r"`([^`]+)`", cell)]
            if len(cells) != 3 or not quoted:
                continue
            rows += 1
            here = [*re.findall(r"`([^`]+)`", cells[1]),
                    *(re.findall(r"`([^`]+)`", cells[0]) if "the same" in cells[1] else [])]
            self.assertTrue(here or cells[1], line)
            for text in here:
                if text.endswith((".cuh", ".hpp", ".cu")):
                    self.assertIn(text, names, line)
                    continue
                name = re.split(r"[<\[(]", text)[0].split(".")[-1].split("::")[-1].strip("…")
                self.assertTrue(re.search(rf"\b{re.escape(name)}", code), f"{name} of the row {line}")
        self.assertGreater(rows, 50)

    def test_tests_and_folders_that_the_contract_names_are_there(self):
        text = (DOCS / "contract.md").read_text(encoding="utf-8")
        for name in set(re.findall(r"`(\w+_test\.cu)`", text)):
            self.assertTrue((ROOT / "tests" / "contract" / name).is_file(), name)
        for folder in set(re.findall(r"`((?:solutions|tests)/[\w/.]+?)/?`", text)):
            self.assertTrue((ROOT / folder).exists(), folder)


if __name__ == "__main__":
    unittest.main()
