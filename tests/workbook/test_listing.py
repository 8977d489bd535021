"""`list` and `hint`: what they show, in any terminal, with the standard library alone."""

import io
import json
import threading
import unittest

from exercise_support import ExerciseTest
from support import ROOT

from tools.console import Console
from tools.errors import WorkbookError
from tools.exercises import load_all
from tools.reader import progress, selection


class HintsOfTheChapters(unittest.TestCase):
    """The hints of this checkout's exercises."""

    def test_statements_are_lines_of_code(self):
        for one in load_all(ROOT):
            for hint in one.hints:
                for line in hint.splitlines():
                    if not line.startswith("    "):
                        self.assertNotRegex(line, r"\{ |[{};]$", one.id)


class Selection(ExerciseTest):
    """What words name, with 1.1, 1.2 and 2.1 in the checkout."""

    def setUp(self):
        super().setUp()
        self.root = self.exercises()
        self.known = load_all(self.root)

    def test_exercises_chapters_and_ranges_each_once(self):
        for words, expected in ((["1.1", "1.2"], "1.1 1.2"), (["1.1-1.2"], "1.1 1.2"),
                                (["1.2,1.1"], "1.2 1.1"), (["1"], "1.1 1.2"), (["1", "1.1"], "1.1 1.2"),
                                (["01-1"], "1.1 1.2"), (["1.2-2.1"], "1.2 2.1"),
                                (["1-2"], "1.1 1.2 2.1"), (["2", "1.1"], "2.1 1.1"),
                                (["01_mbarrier_pipeline"], "1.1 1.2")):
            found = selection.several(self.root, self.known, words)
            self.assertEqual(" ".join(one.id for one in found), expected, words)

    def test_what_names_nothing_is_said(self):
        for words, said in ((["1.2-1.1"], "ends before it begins. Did you mean 1.1-1.2"),
                            (["1.1", "9.9"], "no exercise '9.9'"), (["1.1-"], "lacks its end"),
                            (["-1.1"], "lacks its beginning"), ([","], "names no exercise"),
                            (["1.1-1.9"], "no exercise '1.9'"), (["99"], "no chapter '99'"),
                            (["2-1"], "Did you mean 1-2"), (["x"], "no exercise 'x'")):
            with self.assertRaisesRegex(WorkbookError, said):
                selection.several(self.root, self.known, words)

    def test_phrases(self):
        for ids, words in (("1.1", "1.1"), ("1.1 1.2", "1.1 and 1.2"), ("2.1 1.1", "1.1 and 2.1"),
                           ("1.1 1.2 2.1", "1.1 to 2.1")):
            chosen = [one for one in self.known if one.id in ids.split()]
            self.assertEqual(selection.phrase(chosen, self.known), words)

    def test_what_follows(self):
        first, second, third = self.known
        open_, skipped, passed = {}, {"state": "skipped"}, {"state": "passed"}
        for at, states, expected in (("", (open_, open_, open_), first),
                                     ("1.2", (open_, open_, open_), second),
                                     ("1.2", (open_, passed, open_), third),
                                     ("2.1", (open_, passed, passed), first),
                                     ("1.1", (skipped, open_, open_), second),
                                     ("2.1", (skipped, passed, passed), first),
                                     ("9.9", (open_, open_, open_), first),
                                     ("2.1", (passed, passed, passed), None)):
            kept = progress.Progress({one.id: state for one, state in zip(self.known, states)}, at=at)
            self.assertEqual(selection.following(self.known, kept), expected, (at, states))
        self.assertEqual(selection.left_out(self.known, progress.Progress({"1.1": skipped}), third),
                         [first, second])


class Listing(ExerciseTest):
    def setUp(self):
        super().setUp()
        self.root = self.exercises()

    def run_list(self, *arguments, **changes):
        result = self.run_workbook(self.root, "list", *arguments, **changes)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def progress(self, **exercises):
        entries = {name.lstrip("e").replace("_", "."): {"state": state}
                   for name, state in exercises.items()}
        (self.root / "chapters" / "progress.json").write_text(json.dumps({"exercises": entries}),
                                                              encoding="utf-8")

    def test_progress_by_chapter_and_minutes_that_are_left(self):
        self.progress(e1_1="passed")
        text = self.run_list()
        self.assertIn("1 of 3 exercises passed, about 1 h 20 to go", text)
        self.assertRegex(text, r"1  The mbarrier pipeline +#####\.\.\.\.\. +1/2 +1 h 15")
        self.assertRegex(text, r"2  The life of tensor memory +\.\.\.\.\.\.\.\.\.\. +0/1 +5 min")
        self.assertRegex(text, r"3  Warp contexts +no exercises")
        self.assertIn("next: 1.2 Hand the stage over", text)

    def test_the_exercises_of_the_chapter_that_the_reader_is_in(self):
        self.progress(e1_1="passed", e1_2="passed")
        text = self.run_list()
        self.assertIn("Which parity?", text)
        self.assertNotIn("Hand the stage over", text)
        self.assertIn("Hand the stage over", self.run_list("1"))
        self.assertIn("Hand the stage over", self.run_list("--all"))

    def test_skipped_exercises_come_last(self):
        self.progress(e1_1="skipped", e1_2="passed")
        self.assertIn("next: 2.1", self.run_list())
        self.progress(e1_1="skipped", e1_2="passed", e2_1="passed")
        self.assertIn("next: 1.1", self.run_list())

    def test_everything_passed(self):
        self.progress(e1_1="passed", e1_2="passed", e2_1="passed")
        text = self.run_list()
        self.assertIn("3 of 3 exercises passed\n", text)
        self.assertIn("Every exercise is passed", text)

    def test_no_line_is_wider_than_the_terminal_and_none_has_colours_in_a_pipe(self):
        for columns in (60, 80, 120):
            text = self.run_list("--all", COLUMNS=columns)
            self.assertLessEqual(max(map(len, text.splitlines())), columns)
            self.assertNotIn("\x1b", text)

    def test_marks_are_plain_where_the_terminal_has_no_others(self):
        self.progress(e1_1="passed")
        text = self.run_list(PYTHONIOENCODING="ascii", PYTHONUTF8="0")
        self.assertRegex(text, r"(?m)^     x 1\.1 .*\n     > 1\.2 ")

    def test_json(self):
        self.progress(e1_1="passed")
        data = json.loads(self.run_list("--json"))
        self.assertEqual((data["next"], data["use"]), ("1.2", "solutions"))
        first = data["chapters"][0]
        self.assertEqual((first["passed"], first["total"], first["minutes_left"]), (1, 2, 75))
        self.assertEqual([(one["id"], one["state"]) for one in first["exercises"]],
                         [("1.1", "passed"), ("1.2", "open")])

    def test_a_chapter_without_exercises_and_one_that_does_not_exist(self):
        self.assert_clear_error(self.run_workbook(self.root, "list", "4"), "has no exercises yet",
                                code=2)
        self.assert_clear_error(self.run_workbook(self.root, "list", "9"), "no chapter '9'",
                                code=2)

    def test_list_and_hint_are_quick(self):
        for words in (("list",), ("hint", "1.1", "--level", "1")):
            self.assert_reads_little(self.root, *words)


class DamagedProgress(ExerciseTest):
    def test_a_file_that_is_no_progress_is_kept_aside_and_said(self):
        root = self.exercises()
        for text in ("{\"exercises\": {\"1.1\"", "[1, 2]", "{\"exercises\": 3}"):
            (root / "chapters" / "progress.json").write_text(text, encoding="utf-8")
            result = self.run_workbook(root, "hint", "1.1")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("progress.json can't be understood", result.stderr)
            kept = list((root / "chapters").glob("progress.damaged-*.json"))
            self.assertIn(text, [path.read_text(encoding="utf-8") for path in kept])
            data = json.loads((root / "chapters" / "progress.json").read_text(encoding="utf-8"))
            self.assertEqual(data["exercises"]["1.1"]["hints"], 1)

    def test_commands_at_once_lose_nothing(self):
        root = self.exercises()
        console = Console(io.StringIO())
        threads = [threading.Thread(target=progress.change, args=(root, console, f"1.{number}"),
                                    kwargs={"hints": 1}) for number in range(1, 21)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(progress.load(root).exercises), 20)

    def test_entries_of_an_odd_shape_count_as_open(self):
        root = self.exercises()
        (root / "chapters" / "progress.json").write_text(
            '{"use": 3, "exercises": {"1.1": "passed", "1.2": {"state": 7, "hints": "x"}, "9.9": {}}}',
            encoding="utf-8")
        result = self.run_workbook(root, "list")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("0 of 3 exercises passed", result.stdout)


class Hints(ExerciseTest):
    def setUp(self):
        super().setUp()
        self.root = self.exercises()

    def hint(self, *arguments, **changes):
        result = self.run_workbook(self.root, "hint", *arguments, **changes)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_each_call_goes_one_step_further_and_the_last_one_stays(self):
        texts = [self.hint("1.1") for _ in range(4)]
        self.assertIn("hint 1 of 3, a nudge\n  Which stage follows", texts[0])
        self.assertIn("One step further: ./workbook hint 1.1", texts[0])
        self.assertIn("hint 2 of 3, the idea", texts[1])
        self.assertIn("hint 3 of 3, almost the code\n  Almost:\n      if (...) { lap ^= 1; }", texts[2])
        self.assertIn("chapters/01_mbarrier_pipeline/README.md#stages-and-laps", texts[2])
        self.assertEqual(texts[2], texts[3])

    def test_a_level_can_be_named_and_is_not_taken_back(self):
        self.hint("1.1", "--level", "2")
        self.assertIn("hint 1 of 3", self.hint("1.1", "--level", "1"))
        self.assertIn("hint 3 of 3", self.hint("1.1"))
        self.assertEqual(self.run_workbook(self.root, "hint", "1.1", "--level", "4").returncode, 2)

    def test_without_a_name_it_is_the_next_exercise(self):
        self.assertIn("1.1 Step to the next stage", self.hint())

    def test_a_line_of_code_is_never_wrapped(self):
        narrow = self.hint("1.1", "--level", "3", COLUMNS="20")
        self.assertIn("\n      if (...) { lap ^= 1; }\n", narrow)
        self.assertTrue(any(line.startswith("That was the last") and len(line) <= 20
                            for line in narrow.splitlines()), narrow)

    def test_an_exercise_that_does_not_exist_names_the_nearest(self):
        for wanted, words in (("1.7", "Chapter 1 has 1.1 to 1.2"), ("9.1", "as in 1.1"),
                              ("parity", "2.1 (Which parity?)"), ("hand the stag", "1.2 (Hand the"),
                              ("", "Exercises are called"), ("1.", "Chapter 1 has")):
            self.assert_clear_error(self.run_workbook(self.root, "hint", wanted),
                                    f"no exercise '{wanted}'", words, code=2)

    def test_leading_zeros_are_no_other_exercise(self):
        self.assertIn("hint 1 of 3", self.hint("01.01"))


if __name__ == "__main__":
    unittest.main()
