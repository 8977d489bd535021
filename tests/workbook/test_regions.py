"""Marked regions: what is read, what is generated, and the words for everything that is odd."""

import unittest
from pathlib import Path

import support  # noqa: F401  (puts common/ on the path)
from tools import patches, regions
from tools.errors import WorkbookError

SOLUTION = """\
namespace bw {
  // >>> exercise 1.2 "Step on"
  stage = stage + 1;
  if (stage == 2) { stage = 0; }
  // <<< exercise 1.2
  // >>> exercise 1.3 "Wait"
  wait();
  // <<< exercise 1.3
}
"""
STARTERS = {"1.2": ("  // Move on.", "", '  BW_EXERCISE_NOT_DONE("1.2", "Step on");'),
            "1.3": ('  BW_EXERCISE_NOT_DONE("1.3", "Wait");',)}
STARTER = """\
namespace bw {
  // >>> exercise 1.2 "Step on"
  // Move on.

  BW_EXERCISE_NOT_DONE("1.2", "Step on");
  // <<< exercise 1.2
  // >>> exercise 1.3 "Wait"
  BW_EXERCISE_NOT_DONE("1.3", "Wait");
  // <<< exercise 1.3
}
"""


class Solutions(unittest.TestCase):
    def test_reads_what_stands_there(self):
        first, second = regions.parse(SOLUTION, "f.cuh")
        self.assertEqual((first.id, first.title, first.first, first.last),
                         ("1.2", "Step on", 2, 5))
        self.assertEqual(first.body, ("  stage = stage + 1;", "  if (stage == 2) { stage = 0; }"))
        self.assertEqual((first.body_first, second.body_first), (3, 7))

    def test_starters_replace_the_bodies_alone(self):
        self.assertEqual(regions.with_bodies(SOLUTION, "f.cuh", STARTERS), STARTER)

    def test_no_body_of_a_solution_is_left_where_a_starter_is_missing(self):
        with self.assertRaisesRegex(regions.RegionError, "f.cuh:6: the lines of exercise 1.3"):
            regions.with_bodies(SOLUTION, "f.cuh", {"1.2": STARTERS["1.2"]})

    def test_without_marks_says_where_lines_were(self):
        text, numbers = regions.without_marks(SOLUTION, "f.cuh")
        self.assertNotIn("exercise", text)
        self.assertEqual(text.split("\n")[1], "  stage = stage + 1;")
        self.assertEqual(numbers[:4], [1, 3, 4, 7])

    def test_composed_changes_one_region_alone(self):
        text = regions.composed(SOLUTION, "f.cuh", {"1.2": (["  mine();"], "chapters/f.cuh", 7)},
                                "solutions/f.cuh")
        self.assertEqual(text.split("\n")[:7], [
            '#line 1 "solutions/f.cuh"', "namespace bw {", '  // >>> exercise 1.2 "Step on"',
            '#line 7 "chapters/f.cuh"', "  mine();", '#line 5 "solutions/f.cuh"',
            "  // <<< exercise 1.2"])
        self.assertIn("  wait();", text)

    def refused(self, text, line, *words):
        with self.assertRaises(regions.RegionError) as caught:
            regions.parse(text, "some/f.cuh")
        self.assertIn(f"some/f.cuh:{line}: ", str(caught.exception))
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_refuses_a_region_without_end(self):
        self.refused(SOLUTION.replace("  // <<< exercise 1.3\n", ""), 6, "never ended")

    def test_refuses_an_end_without_begin(self):
        self.refused("// <<< exercise 1.2\n", 1, "begins nowhere")

    def test_refuses_nesting(self):
        self.refused(SOLUTION.replace("  // <<< exercise 1.2\n", ""), 5, "1.3", "inside", "1.2")

    def test_refuses_the_same_id_twice(self):
        self.refused(SOLUTION.replace("1.3", "1.2"), 6, "line 2 already")

    def test_refuses_a_mark_without_id_or_title(self):
        self.refused(SOLUTION.replace('1.2 "Step on"', '"Step on"', 1), 2, "Title")
        self.refused(SOLUTION.replace(' "Step on"\n', "\n", 1), 2, "Title")
        self.refused(SOLUTION.replace("<<< exercise 1.2", "<<< exercise"), 5, "lower mark")

    def test_refuses_unknown_marks(self):
        self.refused(SOLUTION.replace("<<< exercise 1.2", "<< exercise 1.2"), 5, "looks like")
        self.refused(SOLUTION.replace(">>> exercise 1.2", ">>> excercise 1.2"), 2, "looks like")

    def test_refuses_the_text_of_a_starter_anywhere_in_a_source(self):
        for text, line in (("// starter: x\n", 1),
                           (SOLUTION.replace("  wait();", "  // starter: y\n  wait();"), 7),
                           (SOLUTION.replace("  wait();", "  wait();  //starter: y"), 7)):
            self.refused(text, line, "TOML file")

    def test_refuses_a_region_without_body(self):
        self.refused(SOLUTION.replace("  wait();\n", ""), 6, "0 lines")
        self.refused(SOLUTION.replace("  wait();\n", "  wait();\n" * 16), 6, "16 lines")

    def test_refuses_a_body_that_is_not_whole(self):
        self.refused(SOLUTION.replace("{ stage = 0; }", "{ stage = 0;"), 4, "never closed")


class Balance(unittest.TestCase):
    def problem(self, text, line, word):
        found = regions.unbalanced(text)
        self.assertIsNotNone(found, text)
        self.assertEqual(found[0], line, found)
        self.assertIn(word, found[1])

    def test_names_the_line(self):
        self.problem("if (x) {\n  y();\n", 0, "never closed")
        self.problem("x();\n}", 1, "outside of the marks")
        self.problem("f(a[1);", 0, "open is the `[`")
        self.problem("a;\n/* b", 1, "comment")
        self.problem('a;\nf("b);', 1, "string")
        self.problem("a;\n#include <b>", 1, "#include")
        self.problem("#error no", 0, "#error")
        self.problem("#if 0", 0, "#if")
        self.problem("}  // namespace bw\nnamespace other {", 0, "outside of the marks")
        self.problem("a; \\", 0, "backslash")
        self.problem("a;\n\f#include <b>", 1, "#include")
        self.problem("a;\n%:include <b>", 1, "old spelling of `#`")
        self.problem("%>\nvoid f() <%", 0, "old spelling of `}`")
        # A literal after a hexadecimal digit hides nothing from the first look.
        self.problem("a'\"' ; \" /* \"\n#include <b>\n\" */ \";", 1, "#include")
        self.problem("a 'b", 0, "string")

    def test_lets_pass_what_is_whole(self):
        for text in ("", "// } {\n/* ( */ f('{', \"}\");", "#pragma unroll\nfor (;;) {}", "x = 1'000;",
                     "x = 0x1'0000u + 1'0.5e+3; c = 'a'; s = u8\"}\"; r = LR\"(})\";",
                     'asm("}" : : "r"(x));', 'f(R"(})");', "auto f = [&](int a) { return v[a]; };"):
            self.assertIsNone(regions.unbalanced(text), text)


class Readers(unittest.TestCase):
    def test_reads_between_the_marks(self):
        own = regions.reader_region(STARTER, "f.cuh", "1.3")
        self.assertEqual((own.first, own.lines), (8, ('  BW_EXERCISE_NOT_DONE("1.3", "Wait");',)))

    def test_another_exercise_may_be_broken(self):
        text = STARTER.replace("  // <<< exercise 1.3\n", "")
        self.assertEqual(regions.reader_region(text, "f.cuh", "1.2").first, 3)

    def refused(self, text, *words, identity="1.2"):
        with self.assertRaises(regions.RegionError) as caught:
            regions.reader_region(text, "f.cuh", identity)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_a_deleted_mark(self):
        self.refused(STARTER.replace('  // >>> exercise 1.2 "Step on"\n', ""), "f.cuh:5", "is gone",
                     "reset 1.2")
        self.refused(STARTER.replace("  // <<< exercise 1.2\n", ""), "f.cuh:2", "is gone")
        self.refused("", "is gone")

    def test_a_mark_that_stands_twice_or_in_disorder(self):
        self.refused(STARTER + STARTER, "f.cuh:12", "line 2")
        lines = STARTER.split("\n")
        lines[1], lines[5] = lines[5], lines[1]
        self.refused("\n".join(lines), "before it begins")

    def test_a_mark_of_another_exercise_inside(self):
        lines = STARTER.split("\n")
        lines.insert(3, lines.pop(6))
        self.refused("\n".join(lines), "f.cuh:4", "another exercise")

    def test_windows_line_ends_and_a_byte_order_mark(self):
        with support.tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "f.cuh"
            path.write_bytes(b"\xef\xbb\xbf" + STARTER.replace("\n", "\r\n").encode())
            self.assertEqual(regions.read_text(path), STARTER)
            path.write_bytes(b"a\n\xff\n")
            with self.assertRaisesRegex(WorkbookError, "f.cuh:2: .*UTF-8"):
                regions.read_text(path)
            with self.assertRaisesRegex(WorkbookError, "does not exist"):
                regions.read_text(path.with_name("none"))


class Patches(unittest.TestCase):
    TEXT = "a\nb\nc\nd\ne\n"

    def test_applies_wherever_the_lines_are(self):
        patch = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n b\n-c\n+C\n d\n"
        self.assertEqual(patches.apply(self.TEXT, patch), ("a\nb\nC\nd\ne\n", [3]))
        self.assertEqual(patches.patched_file(patch), "f")

    def test_a_deletion_is_named_by_its_neighbours(self):
        patch = "--- a/f\n+++ b/f\n@@\n b\n-c\n d\n"
        self.assertEqual(patches.apply(self.TEXT, patch), ("a\nb\nd\ne\n", [2, 3]))

    def test_a_moved_line_is_named_where_it_stands_now(self):
        patch = "--- a/f\n+++ b/f\n@@\n a\n+d\n b\n@@\n c\n-d\n e\n"
        self.assertEqual(patches.apply(self.TEXT, patch), ("a\nd\nb\nc\ne\n", [2]))

    def test_two_hunks(self):
        patch = "--- a/f\n+++ b/f\n@@\n-a\n+A\n b\n@@\n d\n-e\n+E\n"
        self.assertEqual(patches.apply(self.TEXT, patch), ("A\nb\nc\nd\nE\n", [1, 5]))

    def test_refuses_what_does_not_fit(self):
        for patch, word in (("+++ b/f\n@@\n-x\n+y\n", "`x` isn't there"),
                            ("+++ b/f\n@@\n b\n d\n", "not.*in this order"),
                            ("+++ b/f\n", "no hunk"), ("+++ b/f\n@@\n?\n", "neither")):
            with self.assertRaisesRegex(WorkbookError, word):
                patches.apply(self.TEXT, patch)
        with self.assertRaisesRegex(WorkbookError, "2 places"):
            patches.apply("a\nb\na\n", "+++ b/f\n@@\n-a\n+A\n")
        with self.assertRaisesRegex(WorkbookError, "2 files"):
            patches.patched_file("+++ b/f\n+++ b/g\n")

    def test_lines_that_are_as_right_as_before_are_not_the_fault(self):
        patch = "+++ b/f\n@@\n-a\n~A\n b\n-c\n+C\n~D\n"
        self.assertEqual(patches.apply("a\nb\nc\n", patch), ("A\nb\nC\nD\n", [3]))

    def test_line_numbers_choose_among_equal_places(self):
        self.assertEqual(patches.apply("a\nb\na\n", "+++ b/f\n@@ -3 +3 @@\n-a\n+A\n")[0],
                         "a\nb\nA\n")

    def test_the_faulty_file_hides_the_marks(self):
        with support.tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "f.cuh").write_text(SOLUTION, encoding="utf-8")
            shown = patches.shown(folder, "--- a/f.cuh\n+++ b/f.cuh\n@@\n-  wait();\n+  go();\n")
            self.assertEqual(shown.text.split("\n")[shown.faulty_lines[0] - 1], "  go();")
            self.assertNotIn("exercise", shown.text)
            self.assertNotIn("starter", shown.text)

    OTHERS = ("  a();\n  // >>> exercise 1.2 \"A\"\n  two();\n  // <<< exercise 1.2\n  b();\n"
             "  // >>> exercise 1.10 \"B\"\n  ten();\n  more();\n  // <<< exercise 1.10\n")

    def test_the_faulty_file_hides_the_lines_of_other_exercises(self):
        with support.tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "f.cuh").write_text(self.OTHERS, encoding="utf-8")
            patch = "+++ b/f.cuh\n@@\n-  b();\n+  c();\n"
            whole, shown = patches.shown(folder, patch), patches.shown(folder, patch, hides=True)
            self.assertEqual(shown.text.split("\n"), [
                "  a();", "  // Right lines, not shown here: you write them in exercise 1.2.",
                "  c();", "  // Right lines, not shown here: you write them in exercise 1.10.", "  //",
                ""])
            self.assertEqual(len(whole.text.split("\n")), len(shown.text.split("\n")))
            self.assertEqual(whole.faulty_lines, shown.faulty_lines)
            # Its own fault is shown, wherever it is.
            inside = "+++ b/f.cuh\n@@\n-  ten();\n+  eleven();\n"
            self.assertIn("eleven();", patches.shown(folder, inside, hides=True).text)


if __name__ == "__main__":
    unittest.main()
