"""Exercises' files, the readers' files that are generated from them, answers and reset."""

import unittest
from types import SimpleNamespace
from unittest import mock

import exercise_files
import support
from tools import answers, api, check, exercises, runs, starters
from tools.errors import GraderError, WorkbookError
from tools.reader import progress
from tools.verdict import BROKEN, FAILED, NOT_DONE, PASSED


class SmallRepository(unittest.TestCase):
    def setUp(self):
        holder = support.tempfile.TemporaryDirectory(prefix="exercise files ")
        self.addCleanup(holder.cleanup)
        self.root = exercise_files.write(holder.name)

    def toml(self, number):
        return next((self.root / "solutions" / exercise_files.CHAPTER / "exercises").glob(
            f"1.{number}_*.toml"))

    def edit(self, path, old, new):
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def exercise(self, number):
        return api.find(api.load_all(self.root), f"1.{number}")

    def reader_file(self, name):
        return self.root / "chapters" / exercise_files.CHAPTER / name


class Loading(SmallRepository):
    def test_reads_all_kinds(self):
        found = api.load_all(self.root)
        self.assertEqual([one.kind for one in found], ["write", "improve", "predict", "find"])
        write, improve, predict, find = found
        self.assertEqual(write.runs[0].seeds, (0, 7))
        self.assertEqual(write.region.body, ("stage = stage + 1;",))
        self.assertEqual((improve.budget.metric, improve.budget.at_most), ("cycles", 1.1))
        self.assertEqual([question.key for question in predict.questions], ["count", "who"])
        self.assertEqual(find.file, "f.cuh")
        self.assertEqual(write.section_link, "chapters/01_mbarrier_pipeline/README.md#a-section")

    def refused(self, number, old, new, *words):
        self.edit(self.toml(number), old, new)
        with self.assertRaises(WorkbookError) as caught:
            api.load_all(self.root)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_names_the_file_and_what_is_wrong(self):
        self.refused(1, 'title = "Step on"', 'title = "Step off"', "1.1_x.toml", "f.cuh:2", "Step on")

    def test_not_toml(self):
        self.refused(1, "minutes = 5", "minutes = = 5", "1.1_x.toml:4", "TOML")

    def test_a_missing_key(self):
        self.refused(1, "minutes = 5\n", "", "`minutes` is missing")

    def test_an_unknown_key(self):
        self.refused(1, "minutes = 5", "minutes = 5\nhours = 1", "`hours` is not known")

    def test_a_wrong_type(self):
        self.refused(1, "minutes = 5", 'minutes = "5"', "`minutes`", "int")

    def test_a_starter_is_indented_as_the_solution_and_keeps_its_blank_lines(self):
        self.edit(self.toml(1), 'BW_EXERCISE', '// Step.\n\n  BW_EXERCISE')
        path = self.root / "solutions" / exercise_files.CHAPTER / "f.cuh"
        self.edit(path, '// >>> exercise 1.1', '    // >>> exercise 1.1')
        self.assertEqual(self.exercise(1).region.starter,
                         ("    // Step.", "", '      BW_EXERCISE_NOT_DONE("1.1", "Step on");'))

    def test_starters_that_are_refused(self):
        start = "starter = '''\n"
        for number, old, new, words in (
                (1, 'BW_EXERCISE_NOT_DONE("1.1", "Step on");', "todo();",
                 ['`starter` lacks the line `BW_EXERCISE_NOT_DONE("1.1", "Step on");`']),
                (1, start, start + "x();\nif (a) {\n",
                 ["1.1_x.toml", "`starter`, line 2", "never closed"]),
                (2, start, start + "#define A\n", ["1.2_x.toml", "`starter`, line 1", "#define"]),
                (2, start + "work(slowly);\n'''\n", "", ["1.2_x.toml", "`starter` is missing"]),
                (2, "work(slowly);", "", ["1.2_x.toml", "`starter` is empty"]),
                (3, 'kind = "predict"', 'kind = "predict"\nstarter = "x"', ["`starter` is not known"])):
            with self.subTest(new):
                before = self.toml(number).read_text(encoding="utf-8")
                self.refused(number, old, new, *words)
                self.toml(number).write_text(before, encoding="utf-8")

    def test_too_few_hints(self):
        self.refused(1, '"nudge", ', "", "2 hints", "3")

    def test_too_few_wrong_answers(self):
        text = self.toml(1).read_text(encoding="utf-8")
        self.refused(1, text[text.rindex("[[wrong]]"):], "", "1 [[wrong]]", "at least 2")

    def test_a_wrong_answer_that_nothing_recognises(self):
        self.refused(1, "when = { output = 'deadlock' }", "when = {}", "recognised")

    def test_an_answer_as_a_change_of_the_solution(self):
        self.edit(self.toml(1), 'answer = "stage = stage + 2;"', "change = [['+ 1', '+ 2']]")
        self.assertEqual(self.exercise(1).wrong[0].answer, "stage = stage + 2;")
        solution = self.root / "solutions" / exercise_files.CHAPTER / "f.cuh"
        self.edit(solution, "stage + 1", "stage\n    + 1")
        self.edit(self.toml(1), "[['+ 1', '+ 2']]", "[['stage + 1', 'stage + 2']]")
        self.assertEqual(self.exercise(1).wrong[0].answer, "stage = stage + 2;")
        self.edit(self.toml(1), "[['stage + 1', 'stage + 2']]", "[['+ 1', '+ 2']]")
        kept = self.toml(1).read_text(encoding="utf-8")
        for change, words in (("[['+ 3', '']]", "`+ 3` is in the solution's lines 0 times"),
                              ("[['stage', 'lap']]", "`stage` is in the solution's lines 2 times"),
                              ("[['', 'lap']]", "0 times"), ("['+ 1']", "a pair of texts"),
                              ("[['+ 1', 2]]", "a pair of texts")):
            with self.subTest(change):
                self.refused(1, "[['+ 1', '+ 2']]", change, words)
                self.toml(1).write_text(kept, encoding="utf-8")

    def test_a_level_of_checks(self):
        self.assertEqual([one.runs[0].checks for one in api.load_all(self.root)],
                         ["races", "races", "contract", "contract"])
        self.edit(self.toml(4), "[[run]]", '[[run]]\nchecks = "races"')
        self.assertEqual(self.exercise(4).runs[0].checks, "races")
        self.refused(4, 'checks = "races"', 'checks = "everything"', "checks", "everything", "races")

    def test_a_remark(self):
        path = self.toml(1)
        path.write_text(path.read_text(encoding="utf-8") + '[[remark]]\nname = "by hand"\n'
                        'answer = "stage += 1;"\nwhen = { code = "[+]=" }\nmessage = "You add."\n',
                        encoding="utf-8")
        self.assertEqual([one.name for one in self.exercise(1).remarks], ["by hand"])
        self.assertEqual(len(self.exercise(1).wrong), 2)
        self.refused(1, 'when = { code = "[+]=" }', "when = {}", "recognised")

    def test_a_write_exercise_with_a_budget(self):
        self.edit(self.toml(1), "[[run]]", '[budget]\nmetric = "cycles"\nat_most = 1.1\n[[run]]')
        self.assertEqual(self.exercise(1).budget.at_most, 1.1)

    def test_a_bad_pattern(self):
        self.refused(1, "stage \\+ 2", "stage (", "regular expression")

    def test_an_unknown_kind(self):
        self.refused(1, 'kind = "write"', 'kind = "guess"', "guess", "predict")

    def test_an_id_of_another_chapter(self):
        self.refused(1, 'id = "1.1"', 'id = "2.1"', "`id`", "1.1")

    def test_the_same_id_twice(self):
        path = self.toml(1)
        (path.parent / "1.1_y.toml").write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        with self.assertRaisesRegex(WorkbookError, "already"):
            api.load_all(self.root)

    def test_a_file_that_does_not_exist(self):
        self.refused(1, 'file = "f.cuh"', 'file = "g.cuh"', "g.cuh", "does not exist")

    def test_a_file_without_the_region(self):
        self.edit(self.root / "solutions" / exercise_files.CHAPTER / "f.cuh", "1.2", "1.5")
        self.edit(self.root / "solutions" / exercise_files.CHAPTER / "f.cuh", "1.2", "1.5")
        with self.assertRaisesRegex(WorkbookError, "no region of exercise 1.2"):
            api.load_all(self.root)

    def test_a_patch_that_does_not_fit(self):
        self.refused(4, "-arrive();", "-depart();", "1.4_x.toml", "`depart();` isn't there")

    def test_a_cause_without_letter(self):
        self.refused(4, 'cause = "a"', 'cause = "z"', "not one of the causes")

    def test_an_exercise_that_does_not_exist(self):
        with self.assertRaisesRegex(WorkbookError, "no exercise '1.9'.*1.1 to 1.4"):
            api.find(api.load_all(self.root), "1.9")


class Starters(SmallRepository):
    def test_writes_what_readers_begin_with(self):
        self.assertEqual(len(starters.stale(self.root)), 3)
        starters.write(self.root)
        self.assertEqual(starters.stale(self.root), [])
        code = self.reader_file("f.cuh").read_text(encoding="utf-8")
        self.assertIn('BW_EXERCISE_NOT_DONE("1.1", "Step on");', code)
        self.assertNotIn("stage + 1", code)
        self.assertIn("work(slowly);", code)
        bug = self.reader_file("bugs/1.4_f.cuh").read_text(encoding="utf-8")
        self.assertIn("arrive_twice();", bug)
        self.assertNotIn("// >>>", bug)
        self.assertEqual(bug.count("// Right lines, not shown here"), 2)
        self.assertNotIn("stage + 1", bug)
        blank = self.reader_file("answers.toml").read_text(encoding="utf-8")
        for part in ('["1.3"]', 'count = ""', "How many?", "b: the consumer", '["1.4"]',
                     'line = ""', 'cause = ""'):
            self.assertIn(part, blank)
        self.assertNotIn("1.1", blank)

    def test_notices_what_has_drifted(self):
        starters.write(self.root)
        self.edit(self.root / "solutions" / exercise_files.CHAPTER / "f.cuh", "wait();", "wait(0);")
        self.edit(self.toml(4), " wait();\n'''", " wait(0);\n'''")
        (self.reader_file("bugs") / "9.9_old.cuh").write_text("", encoding="utf-8")
        found = {path.name: what for path, what in starters.stale(self.root)}
        self.assertIn("f.cuh", found)
        self.assertIn("1.4_f.cuh", found)
        self.assertIn("no exercise", found["9.9_old.cuh"])
        starters.write(self.root)
        self.assertEqual(starters.stale(self.root), [])

    def test_a_region_that_no_exercise_describes(self):
        self.toml(1).unlink()
        with self.assertRaisesRegex(WorkbookError, "f.cuh:2: .*1.1"):
            starters.stale(self.root)


class Answers(SmallRepository):
    def setUp(self):
        super().setUp()
        starters.write(self.root)
        self.path = self.reader_file("answers.toml")

    def verdict(self, number):
        with mock.patch("tools.runs.computed_answers", return_value={"count": 2, "who": "b"}):
            return check.check(self.root, self.exercise(number), None)

    def answer(self, **values):
        for key, value in values.items():
            self.edit(self.path, f'{key} = ""', f"{key} = {value}")

    def test_blank_is_not_done(self):
        for number in (3, 4):
            verdict = self.verdict(number)
            self.assertEqual(verdict.status, NOT_DONE)
            self.assertIn(f"exercise 1.{number} is not done yet", verdict.found)

    def test_right_answers_in_any_form(self):
        self.answer(count='"0x2"', who='" B: "')
        self.assertEqual(self.verdict(3).status, PASSED)

    def test_numbers_without_quotes(self):
        self.answer(count="2", who='"b"')
        self.assertEqual(self.verdict(3).status, PASSED)

    def test_wrong_ones_get_their_explanation_and_place(self):
        self.answer(count="1", who='"b"')
        verdict = self.verdict(3)
        self.assertEqual((verdict.status, verdict.wrong), (FAILED, "one less"))
        self.assertIn("You forgot the first.", verdict.explanation)
        self.assertEqual(verdict.place.text, "count = 1")
        self.assertNotIn("2", " ".join(answer.comment for answer in verdict.answers))

    def test_an_answer_of_no_kind(self):
        self.answer(count='"many"', who='"q"')
        comments = [answer.comment for answer in self.verdict(3).answers]
        self.assertIn("whole number", comments[0])
        self.assertIn("not one of a, b", comments[1])

    def test_what_is_not_answered_is_open_and_not_wrong(self):
        self.answer(count="2")
        verdict = self.verdict(3)
        self.assertEqual(verdict.status, NOT_DONE)
        self.assertEqual(verdict.found, "Not answered yet: who. What is answered is right.")
        self.edit(self.path, "count = 2", "count = 1")
        verdict = self.verdict(3)
        self.assertEqual((verdict.status, verdict.wrong), (NOT_DONE, "one less"))
        self.assertIn("Not answered yet: who. 1 of 2 answers", verdict.found)
        self.assertIn("You forgot the first.", verdict.explanation)
        self.assertEqual(verdict.place.text, "count = 1")
        self.answer(cause='"b"')
        verdict = self.verdict(4)
        self.assertEqual((verdict.status, verdict.wrong), (NOT_DONE, "blames the wait"))
        self.assertIn("Not answered yet: line. The cause is another one.", verdict.found)

    def test_the_line_that_is_shown_is_the_one_that_is_explained(self):
        self.answer(count="5", who='"a"')
        verdict = self.verdict(3)
        self.assertEqual((verdict.status, verdict.wrong), (FAILED, "the other one"))
        self.assertEqual(verdict.place.text, 'who = "a"')

    def test_numbers_with_separators_and_units(self):
        for given, number in (("16,384", 16384), ("16_384", 16384), ("16384 bytes", 16384),
                              ("0x4000", 16384), ("16 KiB", 16384), ("16384 B", 16384), ("007", 7),
                              ("1 MiB", 2**20), ("-8", -8), (16384, 16384), (16384.0, 16384)):
            self.assertEqual(answers.whole_number(given, "How many bytes?"), (number, ""), given)
        self.assertEqual(answers.whole_number("43 K blocks", "How many K blocks are left?"), (43, ""))
        for given, words in (("16384 cycles", "does not ask for cycles"), ("16 KB", "KiB"),
                             ("one", "whole number"), ("1,5", "whole number"), ("1__0", "whole"),
                             ("32*512", "whole"), (1.5, "whole"), (True, "whole"), ("0b12", "whole")):
            number, problem = answers.whole_number(given, "How many bytes?")
            self.assertIsNone(number, given)
            self.assertIn(words, problem)

    def test_an_answer_without_quotes_is_told_the_line_to_type(self):
        for given, typed in (("b", 'who = "b"'), ("b  # surely", 'who = "b"'), ("", 'who = ""'),
                             ('"b', 'who = "b"'), ("the producer", 'who = "the producer"'),
                             ("\u201cb\u201d", 'who = "b"')):
            starters.write(self.root)
            self.answer(count="2", who=given)
            verdict = self.verdict(3)
            self.assertEqual(verdict.status, BROKEN)
            number = next(number for number, line in enumerate(
                self.path.read_text(encoding="utf-8").split("\n"), 1) if line.startswith("who ="))
            self.assertEqual(verdict.found, f"{verdict.place.path}:{number}: write the answer between "
                             f"quotes: {typed}")
        starters.write(self.root)
        self.answer(count="16,384", who='"b"')
        self.assertIn('count = "16,384"', self.verdict(3).found)

    def test_crlf_and_a_byte_order_mark(self):
        self.answer(count="2", who='"b"')
        text = self.path.read_text(encoding="utf-8").replace("\n", "\r\n")
        self.path.write_bytes(b"\xef\xbb\xbf" + text.encode())
        self.assertEqual(self.verdict(3).status, PASSED)

    def test_an_empty_file_and_one_that_is_not_text(self):
        self.path.write_text("\n", encoding="utf-8")
        self.assertIn("the file is empty. `./workbook reset 1.3`", self.verdict(3).found)
        self.path.write_bytes(b"\xff\xfe")
        self.assertIn("not UTF-8", self.verdict(3).found)

    def test_find(self):
        exercise = self.exercise(4)
        lines = api.show_bug(self.root, exercise).read_text(encoding="utf-8").split("\n")
        right = lines.index("arrive_twice();") + 1
        self.answer(line=right, cause='"a"')
        self.assertEqual(self.verdict(4).status, PASSED)
        self.edit(self.path, 'cause = "a"', 'cause = "b"')
        verdict = self.verdict(4)
        self.assertEqual((verdict.status, verdict.wrong), (FAILED, "blames the wait"))
        self.edit(self.path, 'cause = "b"', 'cause = "a"')
        self.edit(self.path, f"line = {right}", f"line = {right + 1}")
        self.assertEqual(self.verdict(4).wrong, "names the wait")
        self.edit(self.path, f"line = {right + 1}", "line = 999")
        self.assertIn("from 1 to", self.verdict(4).found)

    def test_a_slip_in_one_does_not_fail_another(self):
        self.answer(count="2 2", who='"b"', line="1", cause='"a"')
        broken = self.verdict(3)
        self.assertEqual(broken.status, BROKEN)
        number = self.path.read_text(encoding="utf-8").split("\n").index("count = 2 2") + 1
        self.assertIn(f"answers.toml:{number}: ", broken.found)
        self.assertEqual(self.verdict(4).status, FAILED)

    def test_a_missing_key(self):
        self.edit(self.path, 'count = ""\n', "")
        verdict = self.verdict(3)
        self.assertEqual(verdict.status, BROKEN)
        self.assertIn("`count", verdict.found)

    def test_a_missing_or_doubled_table_and_a_missing_file(self):
        self.edit(self.path, '["1.3"]\n', "")
        self.assertIn('`["1.3"]` is gone', self.verdict(3).found)
        self.edit(self.path, '["1.4"]', '["1.3"]\n["1.3"]\n["1.4"]')
        self.assertIn("appears here and in line", self.verdict(3).found)
        self.path.unlink()
        self.assertIn("does not exist", self.verdict(3).found)

    def test_the_table_without_quotes_is_understood(self):
        self.edit(self.path, '["1.3"]', "[1.3]")
        self.answer(count="2", who='"b"')
        self.assertEqual(self.verdict(3).status, PASSED)


class Code(SmallRepository):
    """What is said before anything is compiled."""

    compiled = ("a.ptx",)  # what the compiler leaves

    def setUp(self):
        super().setUp()
        starters.write(self.root)
        self.path, self.lines = self.reader_file("f.cuh"), "work(slowly);"

    def verdict(self, number=1):
        return check.check(self.root, self.exercise(number), SimpleNamespace(cores=None))

    def test_the_starter_is_not_done(self):
        verdict = self.verdict()
        self.assertEqual(verdict.status, NOT_DONE)
        self.assertEqual(verdict.found, "exercise 1.1 is not done yet: Step on")
        self.assertEqual(verdict.place.line, 3)

    def test_nothing_or_a_comment_is_not_done(self):
        self.edit(self.path, 'BW_EXERCISE_NOT_DONE("1.1", "Step on");', "// later")
        self.assertEqual(self.verdict().status, NOT_DONE)
        self.edit(self.path, "// later\n", "")
        self.assertEqual(self.verdict().status, NOT_DONE)

    def broken(self, *words):
        verdict = self.verdict()
        self.assertEqual(verdict.status, BROKEN)
        for word in words:
            self.assertIn(word, verdict.found)

    def test_a_missing_brace(self):
        self.edit(self.path, 'BW_EXERCISE_NOT_DONE("1.1", "Step on");', "if (a) {\r\n  b();")
        self.broken("f.cuh:3", "never closed")

    def test_marks_gone_file_empty_or_gone(self):
        self.edit(self.path, "// <<< exercise 1.1\n", "")
        self.broken("is gone", "reset 1.1")
        self.path.write_text("", encoding="utf-8")
        self.broken("empty", "reset 1.1")
        self.path.unlink()
        self.broken("does not exist", "reset 1.1")
        self.path.write_bytes(b"\xff\xfe")
        self.broken("UTF-8")

    def budgeted(self, lines, cycles):
        """The verdict on lines of the improve exercise that take this many cycles; the solution
        takes 100 and 110 are allowed."""
        self.edit(self.path, self.lines, lines)
        self.lines = lines

        def result(cycles):
            return runs.Result(0, "metric cycles 1\ncycles   1\n", "", 0.1, cycles, (),
                               launch_cycles=(7, cycles) if cycles else ())
        with mock.patch.object(check.device_code, "compile_to_ptx", return_value={
                "lab_01_a": check.device_code.Compiled(self.compiled)}), \
                mock.patch.object(runs, "reference", return_value=result(100)), \
                mock.patch.object(runs, "with_ptx", return_value=result(cycles)):
            return self.verdict(2)

    def test_the_starter_that_has_to_be_improved_is_not_done(self):
        verdict = self.budgeted("work(slowly);  // for now", 200)
        self.assertEqual((verdict.status, verdict.wrong, verdict.explanation), (NOT_DONE, "", ""))
        self.assertIn("exercise 1.2 is not done yet", verdict.found)
        self.assertIn("it takes 200 cycles; at most 110 cycles are allowed", verdict.found)

    def test_other_lines_that_are_too_slow_have_failed(self):
        self.assertEqual(self.budgeted("work(a_little_faster);", 150).status, FAILED)

    def test_a_run_without_a_measurement_is_no_verdict(self):
        with self.assertRaisesRegex(GraderError, "counted no cycles in a run of lab_01_a"):
            self.budgeted("work();", 0)

    def test_lines_within_the_budget_pass(self):
        self.assertEqual(self.budgeted("work(fast);", 110).status, PASSED)

    def test_a_remark_on_what_passes_comes_with_its_line(self):
        path = self.toml(2)
        path.write_text(path.read_text(encoding="utf-8").replace("[budget]", '[[remark]]\n'
                        'name = "by hand"\nanswer = "by_hand();"\nwhen = { code = "hand" }\n'
                        'message = "You  work by hand."\n[budget]'), encoding="utf-8")
        verdict = self.budgeted("first();\nby_hand();", 100)
        self.assertEqual((verdict.status, verdict.remark), (PASSED, "You work by hand."))
        self.assertEqual(verdict.place.text, "by_hand();")
        self.assertEqual(self.budgeted("work(fast);", 100).remark, "")

    def test_an_instruction_that_a_right_answer_does_without(self):
        path, ptx = self.toml(2), self.root / "a.ptx"
        path.write_text(path.read_text(encoding="utf-8").replace("[budget]", '[[wrong]]\n'
                        'name = "divides"\nanswer = "a / b;"\nmessage = "You divide."\n'
                        "when = { output = '^div', code = '/' }\n"
                        "[never]\ninstruction = 'div[.]u32'\nwhy = \"a division.\"\n[budget]"),
                        encoding="utf-8")
        self.compiled = (ptx,)
        ptx.write_text("mul.hi.u32 a, b, c;\n", encoding="utf-8")
        self.assertEqual(self.budgeted("work(b * c);", 100).status, PASSED)
        ptx.write_text("div.u32 a, b, c;\n", encoding="utf-8")
        verdict = self.budgeted("work(b / c);", 100)
        self.assertEqual((verdict.status, verdict.wrong), (FAILED, "divides"))
        self.assertIn("the compiler makes `div.u32` of your lines: a division.", verdict.found)

    def test_a_change_outside_of_the_marks_is_noted(self):
        self.assertEqual(self.verdict().notes, ())
        self.edit(self.path, "arrive();", "arrive(2);")
        self.assertIn("f.cuh:8", self.verdict().notes[0])


class Reset(SmallRepository):
    def setUp(self):
        super().setUp()
        starters.write(self.root)

    def test_puts_one_region_back_and_keeps_a_copy(self):
        path = self.reader_file("f.cuh")
        before = path.read_text(encoding="utf-8")
        self.edit(path, 'BW_EXERCISE_NOT_DONE("1.1", "Step on");', "mine();")
        self.edit(path, "work(slowly);", "work(mine);")
        mine = path.read_text(encoding="utf-8")
        copy = api.reset(self.root, self.exercise(1))
        self.assertEqual(copy.read_text(encoding="utf-8"), mine)
        self.assertEqual(path.read_text(encoding="utf-8"),
                         before.replace("work(slowly);", "work(mine);"))

    def test_mends_marks_and_keeps_the_others(self):
        path = self.reader_file("f.cuh")
        before = path.read_text(encoding="utf-8")
        self.edit(path, "work(slowly);", "work(mine);")
        self.edit(path, "// <<< exercise 1.1\n", "")
        api.reset(self.root, self.exercise(1))
        self.assertEqual(path.read_text(encoding="utf-8"),
                         before.replace("work(slowly);", "work(mine);"))
        path.unlink()
        self.assertIsNone(api.reset(self.root, self.exercise(1)))
        self.assertEqual(path.read_text(encoding="utf-8"), before)

    def test_answers(self):
        path = self.reader_file("answers.toml")
        before = path.read_text(encoding="utf-8")
        self.edit(path, 'count = ""', "count = 7")
        self.edit(path, 'line = ""', "line = 3")
        api.reset(self.root, self.exercise(3))
        self.assertEqual(path.read_text(encoding="utf-8"), before.replace('line = ""', "line = 3"))
        self.edit(path, '["1.3"]\n', "")
        api.reset(self.root, self.exercise(3))
        self.assertEqual(path.read_text(encoding="utf-8"), before.replace('line = ""', "line = 3"))

    def test_twice_in_a_second_keeps_two_copies(self):
        copies = set()
        for lines in ("mine();", "other();"):
            self.edit(self.reader_file("f.cuh"), 'BW_EXERCISE_NOT_DONE("1.1", "Step on");', lines)
            copies.add(api.reset(self.root, self.exercise(1)))
        self.assertEqual(len(copies), 2)

    def test_of_an_untouched_exercise_keeps_no_copy(self):
        for number in (1, 3):
            self.assertIsNone(api.reset(self.root, self.exercise(number)))

    def test_the_fingerprint_follows_this_exercise_alone(self):
        first = api.fingerprint(self.root, self.exercise(1))
        self.edit(self.reader_file("f.cuh"), "work(slowly);", "work(mine);")
        self.assertEqual(first, api.fingerprint(self.root, self.exercise(1)))
        self.edit(self.reader_file("f.cuh"), "BW_EXERCISE_NOT_DONE", "mine")
        self.assertNotEqual(first, api.fingerprint(self.root, self.exercise(1)))


class Repository(unittest.TestCase):
    """This repository's own exercises."""

    def test_all_can_be_read_and_the_readers_files_are_current(self):
        found = exercises.load_all(support.ROOT)
        self.assertTrue(found)
        if progress.path(support.ROOT).exists():
            self.skipTest("a reader works here")
        self.assertEqual([f"{path}: {what}" for path, what in starters.stale(support.ROOT)], [])

    def test_numbers_follow_each_other(self):
        by_chapter = {}
        for exercise in exercises.load_all(support.ROOT):
            by_chapter.setdefault(exercise.number[0], []).append(exercise.number[1])
        for chapter, numbers in by_chapter.items():
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)), f"chapter {chapter}")

    def test_answers_have_a_table_each(self):
        for exercise in exercises.load_all(support.ROOT):
            if not exercise.is_in_code:
                text = starters.blank_answers([exercise])
                self.assertEqual(answers.find_table(text, "a", exercise.id).lines,
                                 answers.blank_lines(exercise))


if __name__ == "__main__":
    support.skip_without_toml()
    unittest.main()
