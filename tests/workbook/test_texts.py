"""The tool that keeps texts in step: what it makes, what it notices, what it refuses."""

import re
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import support
from tools import chapters, faulty_runs, links, runs, texts
from tools.timeline import critical, figure, step_table

CODE = """\
struct Ring {
  /// Waits.
  void wait(int parity) {
    while (!done(parity)) {
      rest();
    }
  }
  // >>> exercise 1.1 "Step"
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

    def examine(self, text, write=False,
                kinds=("excerpt", "reading", "output", "cycles", "report")):
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
            self.assertIn("![A run](figures/run.svg)\n<br>`./workbook timeline 1 -- --m 1`\n",
                          self.text.read_text())
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
                         self.caption(2, 9) + "```cpp\n"
                         "/// Waits.\nvoid wait(int parity) {\n  while (!done(parity)) {\n"
                         "    rest();\n  }\n}\nvoid step() { ++stage; }\n```\n")

    def test_an_excerpt_to_the_brace_that_ends_it(self):
        self.assertEqual(self.made('<!-- excerpt solutions/ring.cuh from "void wait" to "}" -->'),
                         self.caption(3, 7) + "```cpp\n"
                         "void wait(int parity) {\n  while (!done(parity)) {\n    rest();\n"
                         "  }\n}\n```\n")

    def test_an_excerpt_between_marks(self):
        self.assertEqual(self.made("<!-- excerpt solutions/ring.cuh end -->"),
                         "[`solutions/ring.cuh`, line 12](solutions/ring.cuh#L12)\n"
                         "```cpp\nint stage;\n```\n")

    @staticmethod
    def caption(first, last):
        """The caption of lines of the code, in a text of the same folder."""
        return (f"[`solutions/ring.cuh`, lines {first} to {last}]"
                f"(solutions/ring.cuh#L{first}-L{last})\n")

    def test_a_caption_is_made_for_a_block_without_one_and_corrected_where_lines_moved(self):
        mark, code = "<!-- excerpt solutions/ring.cuh end -->", "```cpp\nint stage;\n```\n"
        right = f"{mark}\n[`solutions/ring.cuh`, line 12](solutions/ring.cuh#L12)\n{code}after\n"
        for before in (f"{mark}\n{code}after\n", right.replace("12", "9")):
            with self.subTest(before):
                problems, _ = self.examine(before)
                self.assertIn("has drifted", str(problems[0]))
                self.assertEqual(self.examine(before, write=True)[0], [])
                self.assertEqual(self.text.read_text(encoding="utf-8"), right)

    def test_the_caption_of_a_chapters_own_file_is_short(self):
        for folder in ("solutions/01_ring", "chapters/01_ring"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "solutions/01_ring/ring.cuh").write_text(CODE, encoding="utf-8")
        self.text = self.root / "chapters/01_ring/README.md"
        self.assertIn("[`ring.cuh`, line 12](../../solutions/01_ring/ring.cuh#L12)\n",
                      self.made("<!-- excerpt solutions/01_ring/ring.cuh end -->"))

    def test_excerpts_that_can_not_be_made(self):
        self.refused('<!-- excerpt no.cuh from "a" to "b" -->', "no.cuh does not exist")
        self.refused('<!-- excerpt solutions/ring.cuh from "stage" to "b" -->', "2 lines")
        self.refused('<!-- excerpt solutions/ring.cuh from "rest" to "nowhere" -->', "`nowhere`")
        self.refused("<!-- excerpt solutions/ring.cuh other -->", "0 lines")

    READING = ('[[row]]\nfile = "solutions/01_ring/ring.cuh"\nfrom = "void wait"\nto = "}"\n'
               'look = "How it waits."\n')

    def reading(self, text):
        (self.root / "solutions/01_ring").mkdir(exist_ok=True)
        (self.root / "solutions/01_ring/ring.cuh").write_text(CODE, encoding="utf-8")
        (self.root / "solutions/01_ring/reading.toml").write_text(text, encoding="utf-8")

    def test_the_order_of_reading_in_the_chapter_and_beside_the_code(self):
        self.reading(self.READING)
        (self.root / "chapters/01_ring").mkdir(parents=True)
        for folder, link in (("chapters/01_ring", "../../solutions/01_ring/ring.cuh"),
                             ("solutions/01_ring", "ring.cuh")):
            self.text = self.root / folder / "README.md"
            self.assertEqual(self.made("<!-- reading 01_ring -->"),
                             "\n| file | lines | what to look for |\n|---|---|---|\n"
                             f"| [`ring.cuh`]({link}#L3-L7) | 3 to 7 | How it waits. |\n")

    def test_orders_of_reading_that_can_not_be_made(self):
        mark = "<!-- reading 01_ring -->"
        self.refused(mark, "reading.toml does not exist")
        for text, words in ((self.READING.replace("void wait", "nowhere"), ["0 lines with `nowhere`"]),
                            (self.READING.replace("ring.cuh", "no.cuh"), ["no.cuh does not exist"]),
                            (self.READING.replace("look", "see"), ["[[row]] 1", "file, from, to, look"]),
                            (self.READING.replace('"How it waits."', "3"), ["[[row]] 1"]),
                            (self.READING + "[[column]]\n", ["[[row]] tables and nothing else"]),
                            ("", ["[[row]] tables"]), ("row = ", ["reading.toml:1"])):
            with self.subTest(text):
                self.reading(text)
                self.refused(mark, *words)

    def test_drift_is_noticed_and_mended(self):
        mark = "<!-- excerpt solutions/ring.cuh end -->"
        text = f"{mark}\n```cpp\nlong stage;\n```\nafter\n"
        problems, written = self.examine(text)
        self.assertIn("has drifted", str(problems[0]))
        self.assertEqual((written, self.text.read_text(encoding="utf-8")), ([], text))
        problems, written = self.examine(text, write=True)
        self.assertEqual((problems, written), ([], [Path("README.md")]))
        self.assertTrue(self.text.read_text(encoding="utf-8").endswith(
            "\n```cpp\nint stage;\n```\nafter\n"))

    def test_a_mark_in_a_code_block_is_none(self):
        self.assertEqual(self.examine("```\n<!-- excerpt no.cuh end -->\n```\n"), ([], []))

    def test_output_begins_with_its_command(self):
        def execute(_root, _tools, run, _seed, _seconds):
            self.assertEqual((run.program, run.options), ("lab_03_b", ("--rows", "2")))
            return runs.Result(0, "shape 3\ntime     wall 0.1 s\ntime     5 us on the device, "
                               "wall 0.2 s\ncycles   1000\n", "", 0.1, 77, ())
        with mock.patch.object(runs, "execute", side_effect=execute):
            self.assertEqual(self.made("<!-- output lab_03_b --rows 2 -->"),
                             "```text\n$ ./workbook lab b -- --rows 2\nshape 3\n"
                             "time     5 us on the device\ncycles   1000\n```\n")

    # A step: label, cycles, busy cycles of the unit, limit.
    STEPS = (("one tile", 4000, 0, "`load`, 90 %"), ("two; three", 1000, 500, "hand-overs, 40 %"))

    def table(self, mark, *steps):
        found = [step_table.Step(*step) for step in steps]
        with mock.patch.object(step_table, "_measured", side_effect=found) as measured:
            return self.made(mark), measured.call_args_list

    def test_blocks_of_large_runs_stay_as_they_are_where_that_is_asked_for(self):
        large, small = "--m 4096 --n 2048 --k 1024", "--m 4096 --n 2048 --k 1008"
        text = "".join(f"<!-- {mark} -->\n```text\nold\n```\n" for mark in (
            f"output p {large}", f"output p {small}", f'cycles p "a" {small}; p "b" {large}'))
        with mock.patch.object(texts.Blocks, "make", return_value=["new"]) as make:
            self.text.write_text(text, encoding="utf-8")
            problems, _ = texts.examine(self.root, None, ("output", "cycles"),
                                        leaves_out_large_runs=True)
            make.assert_called_once_with("output", f"p {small}")
            self.assertEqual([problem.line for problem in problems], [5])
            problems, _ = texts.examine(self.root, None, ("output", "cycles"))
            self.assertEqual([problem.line for problem in problems], [1, 5, 9])

    def test_a_table_of_cycles(self):
        table, calls = self.table('<!-- cycles lab_a "one tile"; lab_b "two; three" --rows 2 -->',
                                  *self.STEPS, *self.STEPS)
        self.assertEqual(table, "\n| step | simulated cycles | compared with the step before "
                         "| limited by |\n|---|---:|---:|---|\n"
                         "| one tile | 4,000 |  | `load`, 90 % |\n"
                         "| two; three | 1,000 | 0.25 x | hand-overs, 40 % |\n")
        self.assertEqual(calls[1][0][2:], ("two; three", "lab_b", ("--rows", "2"), ""))

    def test_a_table_says_what_share_of_the_cycles_the_work_needs(self):
        table, calls = self.table('<!-- cycles of copies lab_a "a"; lab_b "b" -->',
                                  *self.STEPS, *self.STEPS)
        # 500 of 4,000 and of 1,000: the first run does not use the unit.
        self.assertIn("| one tile | 4,000 |  | 12 % | `load`, 90 % |\n", table)
        self.assertIn("| two; three | 1,000 | 0.25 x | 50 % | hand-overs, 40 % |\n", table)
        self.assertEqual(calls[0][0][5], "loading_cycles")

    def test_a_lab_may_time_a_part_of_its_work(self):
        table, calls = self.table('<!-- cycles of 4/5 tensor lab_a "a"; lab_b "b" -->',
                                  *self.STEPS, *self.STEPS)
        self.assertIn("| one tile | 4,000 |  | 10 % | `load`, 90 % |\n", table)
        self.assertIn("| two; three | 1,000 | 0.25 x | 40 % | hand-overs, 40 % |\n", table)
        self.assertEqual(calls[0][0][5], "tensor_cycles")

    def test_tables_that_can_not_be_made(self):
        self.refused('<!-- cycles of nothing lab_a "one" -->', "a table of cycles reads")
        self.refused('<!-- cycles of 1/0 tensor lab_a "one" -->', "a table of cycles reads")
        self.refused("<!-- cycles lab_a one -->", "a table of cycles reads")
        wrong = runs.Result(1, "WRONG", "", 0.1, 77, ())
        with mock.patch.object(runs, "execute", return_value=wrong):
            self.refused('<!-- cycles lab_a "one" -->', "does not verify")

    def test_what_limits_a_run(self):
        chain = {(critical.ROLE, "write"): 300, (critical.LOADS, ""): 100}
        record = {"alone_cycles": 0, "cycles": 400}
        with mock.patch.object(step_table.metrics, "units", return_value=[("the L2 cache", 71.0)]):
            self.assertEqual(step_table.limit_of(chain, record), "`write`, 75 %")
            # Alone, the CTAs would take an eighth of the time: sharing costs more than the chain.
            self.assertEqual(step_table.limit_of(chain, {"alone_cycles": 50, "cycles": 400}),
                             "the L2 cache, 88 %")
        steps = [critical.Step(critical.ROLE, "write", 50, 90, 0), critical.Step("loads", "", 0, 50, 0)]
        self.assertEqual(critical.shares(step_table.until(steps, 60)),
                         {("loads", ""): 50, (critical.ROLE, "write"): 10})

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
            self.assertEqual(links.slug(heading), slug)


class Captions(unittest.TestCase):
    """The repository's own excerpts, read without the tool that makes them."""

    def test_the_linked_lines_hold_the_excerpt(self):
        count = 0
        for path in links.markdown_files(support.ROOT):
            text = (support.ROOT / path).read_text(encoding="utf-8")
            marks = re.findall(r"^<!-- excerpt (?!FILE).*-->$", text, re.M)
            blocks = re.findall(r"^<!-- excerpt (\S+).*-->\n\[.*\]\((.*)#L(\d+)(?:-L(\d+))?\)\n"
                                r"```\w+\n((?:.*\n)*?)```$", text, re.M)
            self.assertEqual(len(blocks), len(marks), f"{path}: an excerpt without a caption")
            for named, target, first, last, code in blocks:
                source = (support.ROOT / path.parent / target).resolve()
                self.assertEqual(source, (support.ROOT / named).resolve())
                lines = source.read_text(encoding="utf-8").split("\n")[int(first) - 1:int(last or first)]
                # Marks of exercises are in the source alone.
                lines = [line.strip() for line in lines
                         if not re.match(r"\s*// (>>>|<<<)", line)]
                self.assertEqual([line.strip() for line in code.rstrip("\n").split("\n")], lines,
                                 f"{path}: {named}:{first}")
                count += 1
        self.assertGreater(count, 40)


class OrdersOfReading(unittest.TestCase):
    """The orders of reading of the repository's chapters."""

    ROW = r"^\| \[`(\S+)`\]\((\S+)#L(\d+)-L(\d+)\) \| \3 to \4 \| (.{30,}) \|$"

    def rows(self, path):
        """[(linked file, first, last, what to look for)] of the table in a text."""
        text = (support.ROOT / path).read_text(encoding="utf-8")
        return [((support.ROOT / path).parent.joinpath(target).resolve(), int(first), int(last), look)
                for _, target, first, last, look in re.findall(self.ROW, text, re.M)]

    def test_every_chapter_and_its_solution_show_the_same_five_to_seven_places(self):
        for chapter in chapters.CHAPTERS:
            with self.subTest(chapter.name):
                rows = self.rows(f"chapters/{chapter.name}/README.md")
                self.assertIn(len(rows), (5, 6, 7))
                self.assertEqual(rows, self.rows(f"solutions/{chapter.name}/README.md"))
                for file, first, last, _ in rows:
                    lines = file.read_text(encoding="utf-8").split("\n")[first - 1:last]
                    self.assertEqual(len(lines), last - first + 1)
                    # A place begins with a declaration, and not in the middle of something.
                    self.assertRegex(lines[0], r"__device__|__global__|struct|class|constexpr|^ *void")
                    self.assertLess(len(lines), 100, "too much to read at once")
                text = (support.ROOT / f"chapters/{chapter.name}/README.md").read_text(encoding="utf-8")
                self.assertLess(text.index("## Read the code in this order"), 1500,
                                "not on the first screen")

    def test_the_first_place_is_the_kernel(self):
        for chapter in chapters.CHAPTERS:
            file, first, last, look = self.rows(f"chapters/{chapter.name}/README.md")[0]
            lines = file.read_text(encoding="utf-8").split("\n")[first - 1:last]
            self.assertIn("__global__", "\n".join(lines), chapter.name)
            self.assertIn("kernel", look)


if __name__ == "__main__":
    unittest.main()
