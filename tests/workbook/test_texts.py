"""The tool that keeps texts in step: what it makes, what it notices, what it refuses."""

import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import support
from tools import faulty_runs, runs, texts
from tools.timeline import figure

CODE = """\
struct Ring {
  /// Waits.
  void wait(int parity) {
    while (!done(parity)) {
      rest();
    }
  }
  // >>> exercise 1.1 "Step"
  // starter: todo();
  void step() { ++stage; }
  // <<< exercise 1.1
  // [excerpt end]
  int stage;
  // [/excerpt end]
};
"""


class Texts(unittest.TestCase):
    def setUp(self):
        holder = support.tempfile.TemporaryDirectory(prefix="texts ")
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name)
        (self.root / "solutions").mkdir()
        (self.root / "solutions" / "ring.cuh").write_text(CODE, encoding="utf-8")
        self.text = self.root / "README.md"

    def examine(self, text, write=False, kinds=("excerpt", "output", "cycles", "report")):
        self.text.write_text(text, encoding="utf-8")
        return texts.examine(self.root, None, kinds, write)

    def made(self, mark):
        """The block that a mark makes."""
        problems, _ = self.examine(f"# A\n\n{mark}\n", write=True)
        self.assertEqual(problems, [])
        block = self.text.read_text(encoding="utf-8").split("\n", 3)[3]
        self.assertEqual(self.examine(self.text.read_text(encoding="utf-8")), ([], []))
        return block

    def refused(self, mark, *words):
        problems, _ = self.examine(f"{mark}\n")
        self.assertEqual(len(problems), 1, problems)
        for word in (*words, "README.md:1"):
            self.assertIn(word, str(problems[0]))

    def test_the_commands_stand_between_their_marks(self):
        text = "<!-- all-commands -->\nold\n<!-- /all-commands -->\nkept\n"
        with mock.patch.object(texts.command_page, "page", return_value=["new"]):
            problems, _ = self.examine(text, kinds=("all-commands",))
            self.assertIn("has drifted", str(problems[0]))
            self.assertEqual(self.examine(text, write=True, kinds=("all-commands",))[0], [])
        self.assertEqual(self.text.read_text(), text.replace("old", "new"))
        self.assertEqual(self.examine("<!-- commands by_hand -->\n", kinds=("all-commands",)), ([], []))

    TIMELINE = '<!-- timeline figures/run.svg "A run" cycles 0-9 without "x" -- 01_x --m 1 -->'

    def test_a_timeline_is_drawn_beside_its_text(self):
        with mock.patch.object(figure, "recorded") as recorded, \
                mock.patch.object(figure.builder, "build", return_value=[SimpleNamespace(ctas=[1])]), \
                mock.patch.object(figure.svg, "draw", return_value="<svg/>") as draw:
            kinds = ("timeline",)
            problems, _ = self.examine(f"{self.TIMELINE}\n![A run](figures/run.svg)\n", kinds=kinds)
            self.assertIn("has drifted", str(problems[0]))
            problems, _ = self.examine(f"{self.TIMELINE}\n", write=True, kinds=kinds)
            self.assertEqual(problems, [])
            self.assertEqual((self.root / "figures" / "run.svg").read_text(), "<svg/>")
            self.assertIn("![A run](figures/run.svg)", self.text.read_text())
            self.assertEqual(self.examine(self.text.read_text(), kinds=kinds), ([], []))
        self.assertEqual(recorded.call_args[0][2:], ("01_x", ["--m", "1"], None))
        self.assertEqual(draw.call_args[0][2:], ("A run", (0, 9)))
        self.assertEqual(draw.call_args[1], {"without": ("x",)})

    def test_timelines_that_can_not_be_drawn(self):
        for mark in ("run.svg", 'run.svg "A run" -- ', 'run.svg "A run" cycles x -- p',
                     'run.svg "A run" color 1 -- p', 'run.svg "A run" cta -- p', 'run.svg "A -- p'):
            problems, _ = self.examine(f"<!-- timeline {mark} -->\n", kinds=("timeline",))
            self.assertIn("a timeline reads", str(problems[0]))

    REPORT = ["simulator: deadlock: nobody can run", "  where: a.cuh:1", "  [1] warp 0 at a.cuh:2",
              "      waits for phase 0", "  [2] warp 4 at a.cuh:9, " + "for the bytes of it " * 6,
              "      waits for phase 1", "  rule:  a rule", "      of two lines", "  fix:   this", ""]
    WITHOUT = '<!-- report 01_x without solutions/ring.cuh "++stage" entries 2 -->'

    def test_a_report_is_cut_to_the_entries_and_to_the_width_of_a_page(self):
        with mock.patch.object(faulty_runs, "_report", return_value=self.REPORT) as report:
            block = self.made(self.WITHOUT).split("\n")
        self.assertEqual(report.call_args[0][2:], ("01_x", [], Path("solutions/ring.cuh"),
                                                   "++stage"))
        self.assertEqual(block[:2], ["```text", self.REPORT[0]])
        self.assertTrue(block[2].startswith("  [2] warp 4 at a.cuh:9,"), block[2])
        self.assertRegex(block[3], "^ {4}[a-z]")
        self.assertLessEqual(max(map(len, block)), 100)
        self.assertEqual(block[-3:], ["      waits for phase 1", "```", ""])

    def test_reports_that_can_not_be_made(self):
        self.refused(self.WITHOUT, "The program 01_x is not built.")
        self.refused("<!-- report 01_x -->", "a report reads")

    def test_an_excerpt_from_line_to_line_without_marks(self):
        self.assertEqual(self.made('<!-- excerpt solutions/ring.cuh from "/// Waits." '
                                   'to "stage; }" -->'),
                         "```cpp\n/// Waits.\nvoid wait(int parity) {\n  while (!done(parity)) {\n"
                         "    rest();\n  }\n}\nvoid step() { ++stage; }\n```\n")

    def test_an_excerpt_to_the_brace_that_ends_it(self):
        self.assertEqual(self.made('<!-- excerpt solutions/ring.cuh from "void wait" to "}" -->'),
                         "```cpp\nvoid wait(int parity) {\n  while (!done(parity)) {\n    rest();\n"
                         "  }\n}\n```\n")

    def test_an_excerpt_between_marks(self):
        self.assertEqual(self.made("<!-- excerpt solutions/ring.cuh end -->"),
                         "```cpp\nint stage;\n```\n")

    def test_excerpts_that_can_not_be_made(self):
        self.refused('<!-- excerpt no.cuh from "a" to "b" -->', "no.cuh does not exist")
        self.refused('<!-- excerpt solutions/ring.cuh from "stage" to "b" -->', "2 lines")
        self.refused('<!-- excerpt solutions/ring.cuh from "rest" to "nowhere" -->', "`nowhere`")
        self.refused("<!-- excerpt solutions/ring.cuh other -->", "0 lines")

    def test_drift_is_noticed_and_mended(self):
        mark = "<!-- excerpt solutions/ring.cuh end -->"
        text = f"{mark}\n```cpp\nlong stage;\n```\nafter\n"
        problems, written = self.examine(text)
        self.assertIn("has drifted", str(problems[0]))
        self.assertEqual((written, self.text.read_text(encoding="utf-8")), ([], text))
        problems, written = self.examine(text, write=True)
        self.assertEqual((problems, written), ([], [Path("README.md")]))
        self.assertEqual(self.text.read_text(encoding="utf-8"),
                         f"{mark}\n```cpp\nint stage;\n```\nafter\n")

    def test_a_mark_in_a_code_block_is_none(self):
        self.assertEqual(self.examine("```\n<!-- excerpt no.cuh end -->\n```\n"), ([], []))

    def test_output_and_cycles(self):
        def execute(_root, _tools, run, _seed, _seconds):
            output = {"lab_a": "cycles   4000\n", "lab_b": "shape 3\ntime     wall 0.1 s\n"
                      "time     5 us on the device, wall 0.2 s\ncycles   1000\n"}[run.program]
            return runs.Result(0, output, "", 0.1, 77, ())
        with mock.patch.object(runs, "execute", side_effect=execute) as executed:
            self.assertEqual(self.made("<!-- output lab_b --rows 2 -->"),
                             "```text\nshape 3\ntime     5 us on the device\ncycles   1000\n```\n")
            table = self.made('<!-- cycles lab_a "one tile"; lab_b "two; three" --rows 2 -->')
            self.assertEqual(table, "\n| step | simulated cycles | against the step before |\n"
                             "|---|---:|---:|\n| one tile | 4,000 |  |\n"
                             "| two; three | 1,000 | 0.25 x |\n")
            self.assertEqual(executed.call_args_list[0][0][2].options, ("--rows", "2"))

    def test_a_table_of_a_run_that_does_not_verify(self):
        wrong = runs.Result(1, "WRONG", "", 0.1, 77, ())
        with mock.patch.object(runs, "execute", return_value=wrong):
            self.refused('<!-- cycles lab_a "one" -->', "does not verify")

    def test_links(self):
        (self.root / "a picture.svg").write_text("", encoding="utf-8")
        (self.root / "other.md").write_text("# What `it` is, exactly\n\n## Twice\n\n## Twice\n",
                                            encoding="utf-8")
        good = ("# Here\n[a](other.md) [b](other.md#what-it-is-exactly) [c](#here) [d](other.md#twice-1)"
                " ![e](a%20picture.svg) [f](https://example.com/x) [g](solutions/ring.cuh#L3)\n"
                "`[h](nowhere.md)`\n\n```\n[i](nowhere.md)\n```\n")
        self.assertEqual(self.examine(good), ([], []))
        for bad in ("[a](nowhere.md)", "[a](other.md#twice-2)", "[a](#there)", "![a](no.svg)",
                    "[a](solutions/ring.cuh#L99)", '<img src="no.svg">', "[a]: nowhere.md",
                    "[a](../../../etc/passwd)"):
            with self.subTest(bad):
                problems, _ = self.examine(f"# Here\n{bad}\n")
                self.assertEqual(len(problems), 1, problems)
                self.assertIn("README.md:2", str(problems[0]))

    def test_slugs_are_those_of_github(self):
        for heading, slug in (("Two barriers, one tile", "two-barriers-one-tile"),
                              ("`tcgen05.mma` and M×N", "tcgen05mma-and-mn"),
                              ("What's new?", "whats-new"), ("A [link](b.md) — here", "a-link--here")):
            self.assertEqual(texts.slug(heading), slug)


if __name__ == "__main__":
    unittest.main()
