"""./workbook explain, and the pages of the codes from which it reads."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import forked
import support
from tools import codes
from tools.errors import WorkbookError
from tools.site import code_pages

ROOT = support.ROOT


def explain(*arguments, columns=100):
    return forked.run(ROOT / "workbook", ["explain", *arguments],
                      dict(os.environ, COLUMNS=str(columns)), support.SECONDS)


class Command(unittest.TestCase):
    def test_a_code_in_every_spelling(self):
        first = explain("BW-B06")
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        for words in ("BW-B06: more arrivals than expected (contract violation)", "An example",
                      "What the simulator says", "contract violation BW-B06: 32 arrivals", "The fix",
                      "-  full.arrive();", "+  if (threadIdx.x == 0) full.arrive();"):
            self.assertIn(words, first.stdout)
        for other in ("b06", "bw-b06", "B06", "b6", "bwb06"):
            self.assertEqual(explain(other).stdout, first.stdout)

    def test_an_unknown_code_has_neighbours(self):
        done = explain("BW-B99")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("There is no code 'BW-B99', and no code has this in its title or sentence. The "
                      "nearest:", done.stderr)
        self.assertRegex(done.stderr, r"(?m)^  BW-B\d\d  ")
        for words in (("",), (" ",), ("no", "such", "words"), ("[",), ("\\",), ("BW-",)):
            done = explain(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertNotIn("Traceback", done.stderr)

    def test_words_that_one_code_has_explain_it(self):
        for words, code in ((("leak",), "BW-X09"), (("Deadlock",), "BW-H01"),
                            (("a deadlock",), "BW-H01"), (("more", "arrivals"), "BW-B06")):
            done = explain(*words)
            self.assertEqual((done.returncode, done.stdout), (0, explain(code).stdout), words)

    def test_words_that_several_codes_have_list_them(self):
        done = explain("barrier")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        listed = re.findall(r"(?m)^  (BW-\w+)  ", done.stdout)
        self.assertEqual(listed, [row.id for row in codes.rows(ROOT)
                                  if re.search(r"\bbarrier", row.title, re.I)])
        self.assertGreater(len(listed), 1)
        self.assertIn(f"{len(listed)} codes have this", done.stdout)
        data = json.loads(explain("barrier", "--json").stdout)
        self.assertEqual([one["code"] for one in data["codes"]], listed)

    def test_it_fits_the_terminal(self):
        pages = codes.load(ROOT)
        code = {line.strip() for page in pages.values()
                for line in (*page.form(False), *page.difference(), *page.report)}
        for columns in (40, 80):
            for words in ((), ("barrier",), *((one,) for one in list(pages)[::20])):
                for line in explain(*words, columns=columns).stdout.splitlines():
                    # Lines of code, commands and the words of a path are not broken.
                    self.assertTrue(len(line) <= columns or len(line.split()) <= 2
                                    or line.strip() in code or line.startswith("./workbook"), line)

    def test_a_report_is_put_together_as_it_was(self):
        """What breaks the lines of a page's report is undone before they are wrapped again."""
        report = ["simulator: " + "many words " * 20 + "end", "  where: here", "  6 |   full.wait(0);",
                  "    |   ^", "    deep " + "word " * 40 + "end", "      deeper", "  rule: one"]
        broken = codes.report_lines("\n".join(report))
        self.assertGreater(len(broken), len(report))
        self.assertEqual(codes.unwrapped(broken), report)

    def test_the_list(self):
        done = explain()
        self.assertEqual(done.returncode, 0)
        for row in codes.rows(ROOT):
            self.assertIn(f"  {row.id}  {row.title}\n", done.stdout)

    def test_json(self):
        one = json.loads(explain("--json", "B06").stdout)
        self.assertEqual((one["schema"], one["code"], one["severity"]), (1, "BW-B06", "error"))
        self.assertIn("  full.arrive();", one["example"])
        every = json.loads(explain("--json").stdout)
        self.assertEqual([item["code"] for item in every["codes"]],
                         [row.id for row in codes.rows(ROOT)])

    def test_reports_that_cant_be(self):
        for arguments, words in ((["--gpu", "--report", "x.json"], "what the simulator says"),
                                 (["--report", "/nonexistent/x.json"], "is no folder /nonexistent"),
                                 (["--report", str(ROOT)], "it is a folder")):
            done = subprocess.run([sys.executable, str(ROOT / "workbook"), "run", "5", *arguments],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  universal_newlines=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)


class Pages(unittest.TestCase):
    GOOD = ["## BW-B06", "", "Why.", "", "```cuda", "a;  // faulty", "b;  // mended", "c;", "```", "",
            "```text", "said", "```", "", "The fix."]

    def load(self, lines):
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            table = root / codes.TABLE
            table.parent.mkdir(parents=True)
            table.write_text((ROOT / codes.TABLE).read_text(encoding="utf-8"), encoding="utf-8")
            (root / codes.PAGES).mkdir(parents=True)
            (root / codes.PAGES / "B.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
            return codes.load(root)

    def test_a_page(self):
        page = self.load(self.GOOD)["BW-B06"]
        self.assertEqual((page.why, page.fix, page.report), ("Why.", "The fix.", ("said",)))
        self.assertEqual((page.form(False), page.form(True)), (["a;", "c;"], ["b;", "c;"]))
        self.assertEqual(page.difference(), ["-a;", "+b;", " c;"])

    def test_what_is_no_page(self):
        for lines, words in (([line.replace("B06", "B77") for line in self.GOOD], "is not a code"),
                             (self.GOOD + self.GOOD, "has a page already"),
                             (self.GOOD[:9], "needs a text, an example"),
                             ([line.replace("cuda", "cpp") for line in self.GOOD], "not `cpp`"),
                             (self.GOOD[:-1], "says nothing")):
            with self.assertRaisesRegex(WorkbookError, words):
                self.load(lines)

    def test_every_code_has_a_page(self):
        pages, raised = codes.load(ROOT), codes.raised(ROOT)
        self.assertEqual([row.id for row in codes.rows(ROOT)
                          if row.name in raised and row.id not in pages], [])
        self.assertEqual([page.row.id for page in pages.values()
                          if page.row.name in raised and not page.report
                          and "pending" not in page.attributes], [])

    def test_the_sites_pages(self):
        made = dict(code_pages.pages(ROOT))
        for row in codes.rows(ROOT):
            self.assertTrue(made[f"docs/codes/{row.id}.md"].startswith(f"# {row.id}: "), row.id)
        self.assertIn("full.init(2);", made["docs/codes/BW-H01.md"])
        self.assertNotIn("// faulty", made["docs/codes/BW-H01.md"])
        self.assertIn("[BW-B06](BW-B06.md)", made["docs/codes/README.md"])


if __name__ == "__main__":
    unittest.main()
