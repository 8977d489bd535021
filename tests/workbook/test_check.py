"""next, check, diff, reset, skip, use and run with the reader's code, with a stub engine."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import unittest
from types import SimpleNamespace
from unittest import mock

from exercise_support import ExerciseTest, main
from support import environment, write_script

from tools import commands
from tools.errors import WorkbookError
from tools.reader import editor


class Reader(ExerciseTest):
    def setUp(self):
        super().setUp()
        self.root = self.exercises()

    def workbook(self, *arguments, code=0, **changes):
        result = self.run_workbook(self.root, *arguments, **changes)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        return result

    def progress(self):
        path = self.root / "chapters" / "progress.json"
        return json.loads(path.read_text(encoding="utf-8"))["exercises"]

    def pass_first(self):
        self.write_answer(first="    stage = 0;  // RIGHT")
        self.workbook("check", "1.1")


class Check(Reader):
    def test_a_wrong_answer_expected_found_rule_line_report_in_this_order(self):
        self.write_answer(first="    stage = stage + 1;")
        result = self.workbook("check", "1.1", code=1, COLUMNS=100)
        self.assertIn("Checking 1.1 in your file chapters/01_mbarrier_pipeline/"
                      "producer_consumer_pipeline.cuh:5", result.stderr)
        words = ("not right yet", "expected", "the lap's parity has changed", "found",
                 "waits for ever", "why", "The lap never advances", "rule", "A wait on a parity",
                 "README.md#stages-and-laps", "your line", "producer_consumer_pipeline.cuh:5",
                 "stage = stage + 1;", "report", "deadlock", "./workbook hint 1.1")
        at = [result.stdout.find(word) for word in words]
        self.assertNotIn(-1, at, result.stdout)
        self.assertEqual(at, sorted(at), result.stdout)

    def test_an_explanation_that_is_a_guess_says_so(self):
        self.write_answer(first="    stage = 0;")
        self.assertRegex(self.workbook("check", "1.1", code=1).stdout, r"(?m)^why +The lap never")
        self.write_answer(first="    stage = 0;  // GUESS")
        self.assertRegex(self.workbook("check", "1.1", code=1).stdout, r"(?m)^perhaps +The lap never")

    def test_a_right_answer_says_why_shows_the_solution_and_what_is_next(self):
        self.write_answer(first="    stage = 0;  // RIGHT")
        result = self.workbook("check", "1.1")
        for words in ("right", "The index wraps and", "See how the consumer", "your lines",
                      "the solution's lines", "NumStages ? 0 : stage + 1",
                      "1.2 Hand the stage over: ./workbook next"):
            self.assertIn(words, result.stdout)
        self.assertEqual(len(re.findall(r"^next\b", result.stdout, re.M)), 1, result.stdout)
        self.assertEqual(self.progress()["1.1"]["state"], "passed")

    def test_a_remark_is_shown_kept_and_listed_until_the_answer_changes(self):
        self.write_answer(first="    stage = 0;  // RIGHT, BUT")
        text = self.workbook("check", "1.1").stdout
        self.assertRegex(text, r"1\.1  Step to the next stage +right, but \(")
        self.assertRegex(text, r"(?m)^but +Your lines count laps at every step\.")
        self.assertIn("right, but: Your lines count laps", self.workbook("list", "1").stdout)
        listed = json.loads(self.workbook("list", "--json").stdout)["chapters"][0]["exercises"][0]
        self.assertEqual((listed["state"], listed["remark"]),
                         ("passed", "Your lines count laps at every step."))
        self.write_answer(first="    stage = 1;  // RIGHT, BUT")  # changed, not checked
        self.assertNotIn("right, but", self.workbook("list", "1").stdout)
        listed = json.loads(self.workbook("list", "--json").stdout)["chapters"][0]["exercises"][0]
        self.assertEqual(listed["remark"], "")
        self.write_answer(first="    stage = 0;  // RIGHT, BUT a GUESS")
        text = self.workbook("check", "1.1").stdout
        self.assertRegex(text, r"1\.1  Step to the next stage +right, with a remark \(")
        self.assertRegex(text, r"(?m)^perhaps +Your lines count laps at every step\.")
        self.pass_first()
        self.assertNotIn("right, but", self.workbook("list", "1").stdout)
        self.assertNotIn("remark", self.progress()["1.1"])

    def test_a_starter_is_not_done_yet_and_code_that_does_not_compile_shows_the_compilers_line(self):
        self.assertIn("exercise 1.1 is not done yet", self.workbook("check", code=1).stdout)
        self.write_answer(first="    // BROKEN")
        text = self.workbook("check", "1.1", code=1).stdout
        self.assertIn('identifier "stagee" is undefined', text)

    def test_what_passed_and_fails_now_is_open_again(self):
        self.pass_first()
        self.write_answer(first="    stage = 1;")
        self.workbook("check", "1.1", code=1)
        self.assertNotIn("1.1", self.progress())

    def test_a_chapter_checks_what_has_not_passed_as_it_stands(self):
        self.pass_first()
        (self.root / "checked").unlink()
        result = self.workbook("check", "1", code=1)
        self.assertIn("1.1 has passed and was not changed since", result.stderr)
        self.assertIn("1 of 2 right", result.stdout)
        self.assertEqual((self.root / "checked").read_text(encoding="utf-8"), "1.2\n")
        self.workbook("check", "1", "--again", code=1)
        self.assertEqual((self.root / "checked").read_text(encoding="utf-8"), "1.2\n1.1\n1.2\n")

    def test_several_exercises_and_ranges(self):
        self.assertIn("0 of 3 right", self.workbook("check", "1.1", "1.2-2", code=1).stdout)
        self.assert_clear_error(self.run_workbook(self.root, "check", "1.1", "9.9"),
                                "no exercise '9.9'", code=2)

    def test_json_alone_is_on_standard_output(self):
        self.write_answer(first="    stage = 0;  // RIGHT")
        data = json.loads(self.workbook("check", "1", "--json", code=1).stdout)
        self.assertFalse(data["passed"])
        self.assertEqual([(one["id"], one["status"]) for one in data["verdicts"]],
                         [("1.1", "passed"), ("1.2", "not_done")])
        self.assertEqual(data["verdicts"][0]["line"], 5)

    def test_ctrl_c_ends_a_check_with_130_and_nothing_is_remembered(self):
        self.write_answer(first="    // HANG")
        process = subprocess.Popen([sys.executable, str(self.root / "workbook"), "check", "1.1"],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   universal_newlines=True, start_new_session=True,
                                   env=environment(CUDA_HOME=self.toolkit))
        deadline = time.monotonic() + 60
        while not (self.root / "hanging").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        text, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, text)
        self.assertNotIn("Traceback", text)
        self.assertFalse((self.root / "chapters" / "progress.json").exists())

    def test_a_mark_that_is_gone_is_said(self):
        text = self.reader_file.read_text(encoding="utf-8")
        self.reader_file.write_text(text.replace("// <<< exercise 1.1", ""), encoding="utf-8")
        result = self.workbook("check", "1.1", code=1)
        self.assertIn("a mark of exercise 1.1 is gone", " ".join(result.stdout.split()))

    def test_what_does_not_exist(self):
        for wanted, words in (("1.9", "Chapter 1 has 1.1 to 1.2"), ("9", "no chapter '9'"),
                              ("3", "no exercises yet"), ("stage", "1.1 (Step to the next stage)")):
            self.assert_clear_error(self.run_workbook(self.root, "check", wanted), words, code=2)

    def test_widths_and_colours(self):
        self.write_answer(first="    stage = stage + 1;")
        for columns in (60, 120):
            text = self.workbook("check", "1.1", code=1, COLUMNS=columns).stdout
            self.assertNotIn("\x1b", text)
            for line in text.splitlines():  # only a path may exceed the width: it is not broken
                self.assertTrue(len(line) <= columns or ".cuh:" in line.split()[-1], line)
                self.assertEqual(line, line.rstrip())


class Next(Reader):
    def test_the_task_and_where_it_is(self):
        text = self.workbook("next").stdout
        for words in ("1.1  Step to the next stage", "write, about 10 min", "goal",
                      "README.md#stages-and-laps", "producer_consumer_pipeline.cuh:5",
                      "./workbook check 1.1", "./workbook hint 1.1"):
            self.assertIn(words, text)

    def test_skip_goes_on_and_comes_back(self):
        self.assertIn("1.2", self.workbook("skip").stdout)
        self.assertIn("1.2  Hand the stage over", self.workbook("next").stdout)
        self.assertIn("Exercise 1.1 (Step to the next stage) is open again",
                      self.workbook("skip", "1.1", "--undo").stdout)
        self.assertIn("1.1  Step", self.workbook("next").stdout)
        self.pass_first()
        self.assertIn("passed already", self.workbook("skip", "1.1").stdout)

    def test_it_follows_where_the_reader_is(self):
        self.assertIn("1.2  Hand the stage over", self.workbook("next", "1.2").stdout)
        self.assertIn("1.2  Hand the stage over", self.workbook("next").stdout)
        self.assertIn("next: 1.2", self.workbook("list").stdout)
        self.write_answer(second="    arrive();  // RIGHT")
        text = self.workbook("check").stdout
        self.assertRegex(text, r"next +2\.1 Which parity\?: \./workbook next\n")
        self.assertRegex(text, r"left out +1\.1: \./workbook next 1\.1\n")
        text = self.workbook("next").stdout
        self.assertIn("2.1  Which parity?", text)
        self.assertNotIn("left out", text)
        self.assertIn("1.1  Step", self.workbook("next", "1").stdout)
        self.workbook("check", "2.1", code=1)  # a wrong answer shows where the reader is, too
        self.assertIn("2.1  Which parity?", self.workbook("next").stdout)

    def test_what_it_can_not_show(self):
        for wanted, words in (("99", "no chapter '99'"), ("1.9", "Chapter 1 has 1.1 to 1.2"),
                              ("3", "no exercises yet"), ("x", "1.1")):
            self.assert_clear_error(self.run_workbook(self.root, "next", wanted), words, code=2)
        self.assertFalse((self.root / "chapters" / "progress.json").exists())

    def test_chapters_and_ranges_are_left_out_and_taken_up_again(self):
        self.assertIn("Exercises 1.1 and 1.2 are left out for now.", self.workbook("skip", "1").stdout)
        text = self.workbook("skip", "1.2-2.1").stdout
        self.assertIn("Exercise 1.2 (Hand the stage over) is left out already.", text)
        self.assertIn("Exercise 2.1 (Which parity?) is left out for now.", text)
        self.assertIn("Exercises 1.1 to 2.1 are open again.",
                      self.workbook("skip", "1", "2", "--undo").stdout)
        self.pass_first()
        text = self.workbook("skip", "1").stdout
        self.assertIn("Exercise 1.1 (Step to the next stage) is passed already.", text)
        self.assertRegex(text, r"next +2\.1 Which parity\?")
        before = self.progress()
        for words in (("x",), ("1.2-1.1",), ("7.7", "--undo")):
            result = self.run_workbook(self.root, "skip", *words)
            self.assertNotEqual(result.returncode, 0)
            self.assertNotIn("Traceback", result.stderr)
        self.assertEqual(self.progress(), before)

    def test_a_question_shows_its_choices_and_where_to_answer(self):
        self.workbook("skip", "1.1-1.2")
        text = self.workbook("next").stdout
        for words in ("Which parity does the third wait name?", "a: 0", "b: 1",
                      "chapters/02_tmem_lifecycle/answers.toml:", "./workbook run 2.1"):
            self.assertIn(words, text)

    def test_the_editor_is_opened_on_a_terminal_and_only_there(self):
        record = self.folder / "opened"
        vim = write_script(self.folder / "bin" / "vim", f"echo \"$*\" >> {record}\n")
        self.workbook("next", EDITOR=vim, VISUAL=None)
        self.assertFalse(record.exists())
        self.on_terminal("next", EDITOR=vim, VISUAL=None)
        self.assertEqual(record.read_text(encoding="utf-8"), f"+5 {self.reader_file}\n")
        self.on_terminal("next", "--no-open", EDITOR=vim, VISUAL=None)
        self.assertEqual(len(record.read_text(encoding="utf-8").splitlines()), 1)

    def test_without_an_editor_it_says_so(self):
        text = self.on_terminal("next", EDITOR=None, VISUAL=None, DISPLAY=None, WAYLAND_DISPLAY=None,
                                TERM_PROGRAM=None)
        self.assertIn("$EDITOR is not set", text)
        text = self.on_terminal("next", EDITOR="no-such-editor -w", VISUAL=None)
        self.assertIn("there is no program 'no-such-editor'", text)

    def on_terminal(self, *arguments, **changes):
        """The command's output on a terminal of its own."""
        leader, follower = pty.openpty()
        process = subprocess.Popen([sys.executable, str(self.root / "workbook"), *arguments],
                                   stdin=follower, stdout=follower, stderr=follower,
                                   env=environment(CUDA_HOME=self.toolkit, TERM="xterm", **changes))
        os.close(follower)
        text = b""
        deadline = time.monotonic() + 60
        while process.poll() is None or select.select([leader], [], [], 0.1)[0]:
            self.assertLess(time.monotonic(), deadline, text)
            if select.select([leader], [], [], 0.1)[0]:
                try:
                    text += os.read(leader, 4096)
                except OSError:  # the other end is closed
                    break
        process.wait()
        os.close(leader)
        return text.decode("utf-8")


    def test_a_file_that_is_gone_is_said(self):
        self.reader_file.unlink()
        self.assertIn("./workbook reset 1.1` writes it again", self.workbook("next").stderr)


class Editors(unittest.TestCase):
    def test_the_line_is_passed_as_each_editor_takes_it(self):
        for words, expected in ((["vim"], ["vim", "+7", "f.cuh"]),
                                (["/usr/bin/nano", "-w"], ["/usr/bin/nano", "-w", "+7", "f.cuh"]),
                                (["code", "-w"], ["code", "-w", "--goto", "f.cuh:7"]),
                                (["hx"], ["hx", "f.cuh:7"])):
            self.assertEqual(editor.command(words, "f.cuh", 7), expected)

    def test_visual_comes_before_editor_and_a_broken_one_is_said(self):
        self.assertEqual(editor.find({"VISUAL": "sh -c x", "EDITOR": "ls", "PATH": "/bin"})[0],
                         ["sh", "-c", "x"])
        self.assertIn("can't be read", editor.find({"EDITOR": "vi 'x", "PATH": "/bin"})[1])


class OwnLines(Reader):
    def test_diff_waits_until_the_exercise_has_passed(self):
        self.write_answer(first="    stage = 0;  // RIGHT")
        self.assert_clear_error(self.run_workbook(self.root, "diff", "1.1"), "--spoil",
                                "./workbook hint 1.1")
        self.assertIn("NumStages ? 0", self.workbook("diff", "1.1", "--spoil").stdout)
        self.assertIn("answers.toml", self.workbook("diff", "2.1", "--spoil").stdout)
        self.pass_first()
        text = self.workbook("diff", "1.1", COLUMNS=120).stdout
        self.assertRegex(text, r"\* stage = 0;  // RIGHT +\* stage = stage \+ 1 == NumStages")

    def test_reset_keeps_a_copy_and_says_where(self):
        self.workbook("hint", "1.1")
        self.pass_first()
        text = self.workbook("reset", "1.1").stdout
        self.assertIn("kept in .workbook/saved/1.1.txt", text)
        self.assertIn("stage = 0;", (self.root / ".workbook/saved/1.1.txt").read_text("utf-8"))
        self.assertIn("// TODO", self.reader_file.read_text(encoding="utf-8"))
        self.assertNotIn("1.1", self.progress())
        self.assertIn("hint 1 of 3", self.workbook("hint", "1.1").stdout)
        self.assertEqual(self.run_workbook(self.root, "reset").returncode, 2)

    def test_use_mine_runs_what_has_passed_as_it_stands(self):
        self.program.write_text("#include <cstdio>\n#include <cstdlib>\nint main() {\n  const char* "
                                "own = std::getenv(\"OWN_CODE\");\n  std::printf(\"own: %s\\n\", own ? "
                                "own : \"none\");\n}\n", encoding="utf-8")
        self.assertIn("None has yet", " ".join(self.workbook("use", "mine").stdout.split()))
        self.assertEqual(self.workbook("run", "5", "--sim").stdout, "own: none\n")
        self.pass_first()
        self.assertIn("your lines of 1.1", self.workbook("use", "mine").stdout)
        result = self.workbook("run", "5", "--sim")
        self.assertEqual(result.stdout, "own: 1.1\n")
        self.assertIn("with your lines of 1.1", result.stderr)
        self.write_answer(first="    stage = 1;  // RIGHT")  # changed, not checked
        self.assertEqual(self.workbook("run", "5", "--sim").stdout, "own: none\n")
        self.workbook("use", "solutions")
        self.assertEqual(self.workbook("run", "5", "--sim").stdout, "own: none\n")
        self.assertEqual(self.run_workbook(self.root, "use", "yours").returncode, 2)

    def test_run_of_an_exercise_takes_its_options_and_the_readers_lines(self):
        result = self.workbook("run", "2.1", "--", "more")
        self.assertEqual(result.stdout, "option 0\noption predict\noption more\nBW_SIM_SEED 0\n")
        self.write_answer(first="    stage = 0;")
        result = self.workbook("run", "1.1")
        self.assertIn("with your lines in chapters/01_mbarrier_pipeline", result.stderr)
        self.assert_clear_error(self.run_workbook(self.root, "run", "1.9"), "no exercise '1.9'",
                                code=2)
        self.assert_clear_error(self.run_workbook(self.root, "run", "1.1", "--gpu"), "simulator",
                                code=2)

    def test_run_of_an_exercise_that_is_not_done_says_so_and_builds_nothing(self):
        result = self.run_workbook(self.root, "run", "1.1")
        self.assert_clear_error(result, "Exercise 1.1 is not done yet")
        for words in ("producer_consumer_pipeline.cuh:5.", "./workbook next 1.1", "./workbook hint 1.1"):
            self.assertIn(words, result.stderr)
        self.assertNotIn("Building", result.stderr)

    def test_run_of_an_exercise_ends_with_the_first_of_its_runs_that_fails(self):
        path = self.root / "solutions" / "02_tmem_lifecycle" / "exercises" / "2.1_predict.toml"
        text, run = path.read_text(encoding="utf-8"), '[[run]]\nprogram = "05_blockwise_fp8_gemm"\n'
        more = "".join(f'{run}options = ["{status}", "{name}"]\n'
                       for status, name in ((0, "first"), (3, "second"), (0, "third")))
        path.write_text(text.replace("[[question]]", more + "[[question]]"), encoding="utf-8")
        result = self.workbook("run", "2.1", code=3)
        for name, times in (("predict", 1), ("first", 1), ("second", 1), ("third", 0)):
            self.assertEqual(result.stdout.count(f"option {name}\n"), times, result.stdout)
        self.assertNotIn("first", self.workbook("run", "2.1", "--", "more").stdout)


class Profile(Reader):
    def test_the_chapters_script_runs_on_a_gpu_that_fits(self):
        folder = self.root / "solutions" / "06_hopper_fp8_gemm"
        write_script(folder / "profile.sh", "exit 7\n")
        chapter = SimpleNamespace(number=6, name=folder.name, runs_on=lambda gpu: True)
        arguments = SimpleNamespace(chapter="6", machine=None, rest=["--m", "64"], timing=None, gpu=None,
                                    launch=None, against=None, save=None, json=False)
        with mock.patch.object(commands.chapters, "find_program", return_value=chapter), \
                mock.patch.object(commands.machine, "find_gpus", return_value=["a GPU"]), \
                mock.patch.object(commands, "prepare"), \
                mock.patch.object(commands, "run_in_foreground", return_value=7) as run:
            self.assertEqual(commands.do_profile(self.root, None, arguments), 7)
            self.assertEqual(run.call_args[0][0], [str(folder / "profile.sh"), "--", "--m", "64"])
            (folder / "profile.sh").unlink()
            with self.assertRaisesRegex(WorkbookError, "no profile.sh"):
                commands.do_profile(self.root, None, arguments)
            # Only the simulator compares.
            arguments.against = "--m 64"
            with mock.patch("tools.timeline.profile_command.do_profile", return_value=5):
                self.assertEqual(commands.do_profile(self.root, None, arguments), 5)

    def test_without_a_gpu_the_simulator_profiles(self):
        # A simulator can't record this checkout's program.
        self.assert_clear_error(self.run_workbook(self.root, "profile", "5"), "launched no kernel")
        self.assert_clear_error(self.run_workbook(self.root, "timeline", "5"), "launched no kernel")


if __name__ == "__main__":
    main()
