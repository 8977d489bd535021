"""The command line: help, usage errors, closed streams, and what a reader sees when something is
missing."""

import json
import os
import re
import shlex
import subprocess
import sys
import unittest
from unittest import mock

from support import ROOT, CheckoutTest, environment

from tools import cli, commandline
from tools.command_table import COMMANDS, MACHINES

WIDTHS = (40, 80, 200)


class Help(CheckoutTest):
    def assert_fits(self, text, width):
        """No line is wider, except for a command to copy and a single word."""
        for line in text.splitlines():
            self.assertTrue(len(line) <= min(width, 100) or line.startswith("  ./workbook ")
                            or len(line.split()) == 1, f"{len(line)} columns: {line}")

    def test_every_help_has_an_example_and_fits_the_terminal(self):
        root = self.checkout()
        for width in WIDTHS:
            with mock.patch.dict(os.environ, COLUMNS=str(width)):
                texts = {"": cli.overview(root)}
                texts.update((name, commandline.help_of(one)) for name, one in COMMANDS.items())
            for name, text in texts.items():
                self.assertIn(f"examples:\n  ./workbook {name}", text)
                self.assert_fits(text, width)
        for words, text in (((), texts[""]), (("check",), texts["check"])):
            result = self.run_workbook(root, *words, "--help", COLUMNS=width)
            self.assertEqual((result.returncode, result.stderr, result.stdout), (0, "", text + "\n"))

    def test_every_example_can_be_typed(self):
        for command in COMMANDS.values():
            for line, _ in command.examples:
                name, *words = shlex.split(line)
                self.assertEqual(name, command.name)
                arguments = commandline.parse(command, *commandline.split(words))
                self.assertEqual(arguments.command, name)

    def test_without_a_command_it_says_what_to_type_first(self):
        root = self.checkout()
        for width in WIDTHS:
            result = self.run_workbook(root, COLUMNS=width)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("./workbook next", result.stdout)
            self.assertIn("5 (05_blockwise_fp8_gemm)", " ".join(result.stdout.split()))
            self.assert_fits(result.stdout, width)
        self.assertLess(len(result.stdout.splitlines()), 15)

    def test_every_command_is_listed_with_a_sentence(self):
        text = self.run_workbook(self.checkout(), "--help", COLUMNS=100).stdout
        for name, command in COMMANDS.items():
            self.assertRegex(text, rf"(?m)^  {name} +[A-Z].*\.$")
            self.assertIn(command.summary, text)

    def test_help_is_quick_and_needs_nothing(self):
        root = self.checkout()
        for words in (("--help",), ("next", "--help"), ("check", "-h")):
            self.assert_reads_little(root, *words)
        for name in ("next", "run", "grade"):
            # An isolated interpreter: no packages, no network, nothing to read but the checkout.
            result = subprocess.run([sys.executable, "-S", "-E", str(root / "workbook"), name, "-h"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100,
                                    check=False)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertFalse((root / ".workbook").exists())


class UsageErrors(CheckoutTest):
    def setUp(self):
        super().setUp()
        self.root = self.checkout()

    def refused(self, *words):
        result = self.run_workbook(self.root, *words)
        self.assert_clear_error(result, code=2)
        self.assertIn("usage: ./workbook", result.stderr)
        return result.stderr.splitlines()[-1]

    def test_a_mistyped_command_is_guessed(self):
        self.assertIn("Did you mean `check`?", self.refused("chekc"))

    def test_a_mistyped_option_is_guessed(self):
        for words, option in ((("check", "--jsn"), "--json"),
                              (("run", "5", "--schedule", "3"), "--schedules"),
                              (("next", "--no-opn"), "--no-open"), (("use", "mien"), "mine"),
                              (("suite", "score", "x"), "scor")):
            self.assertIn(f"Did you mean `{option}`?", self.refused(*words))

    def test_options_of_a_program_get_the_line_to_type(self):
        for words, line in (("run 1 --stages 3", "run 1 -- --stages 3"),
                            ("run 4 --tile-n 96", "run 4 -- --tile-n 96"),
                            ("run 4 --tile-n=96 --sim --seed 3", "run 4 --sim --seed 3 -- --tile-n=96"),
                            ("run 4 --tile-n 96 -- --m 3", "run 4 -- --tile-n 96 --m 3"),
                            ("run --stages 3 1", "run NN -- --stages 3 1"),
                            ("run 5 6", "run 5 -- 6"),
                            ("sim ls", "sim -- ls"), ("sim ls -l 'a b'", "sim -- ls -l 'a b'"),
                            ("lab one_mma --k 128", "lab one_mma -- --k 128"),
                            ("timeline 5 --k 512", "timeline 5 -- --k 512"),
                            ("test -R barrier", "test -- -R barrier")):
            said = self.refused(*shlex.split(words))
            self.assertTrue(said.endswith(f"follows `--`: ./workbook {line}"), said)
            self.assertNotIn("Did you mean", said)

    def test_a_machine_is_one_that_the_simulator_describes(self):
        described = (ROOT / "common" / "simulator" / "isa" / "machine_description.cpp").read_text(
            encoding="utf-8")
        self.assertEqual(sorted(MACHINES), sorted(re.findall(r'\bname = "(\w+)"', described)))
        self.assertIn("'b400' is not one of b200, b300, h100, h200. Did you mean",
                      self.refused("profile", "2", "--machine", "b400"))

    def test_a_value_that_is_missing_gets_an_example(self):
        self.assertIn('For example: ./workbook timeline 5 --against "--k 512',
                      self.refused("timeline", "1", "--against"))
        self.assertIn("--seed needs a value, S: the seed", self.refused("run", "5", "--seed"))
        self.assertIn("`run` needs NN: ./workbook run 5", self.refused("run"))

    def test_wrong_usage_exits_with_2(self):
        for words in (("frobnicate",), ("bench",), ("bench", "nothing"), ("run", "5", "--sim", "--gpu"),
                      ("doctor", "--", "x"), ("test", "5", "6"), ("use", "theirs"), ("use",),
                      ("reset",), ("next", "1", "2"), ("--", "x"), ("run", "5", "--seed", "-1"),
                      ("hint", "1.1", "--level", "4"), ("docs", "--serve", "70000"),
                      ("run", "5", "--until-event", "3")):
            self.refused(*words)

    def test_an_unknown_chapter_is_named_with_those_there_are(self):
        for command in ("run", "test", "timeline", "profile"):
            self.assert_clear_error(self.run_workbook(self.root, command, "9"),
                                    "no chapter '9'", "5 (05_blockwise_fp8_gemm)", code=2)

    def test_errors_of_commands_that_print_json_are_json(self):
        for words, code in ((("check", "--json", "--x"), 2), (("timeline", "--json"), 2),
                            (("timeline", "--json", "9"), 2), (("profile", "--json", "9"), 2),
                            (("check", "--json"), 1),
                            (("list", "9", "--json"), 2), (("frob", "--json"), 2)):
            result = self.run_workbook(self.root, *words)
            self.assertEqual((result.returncode, result.stderr), (code, ""), words)
            data = json.loads(result.stdout)
            self.assertLessEqual(set(data), {"error", "details"})
            self.assertRegex(data["error"], r"^\S.+[.?)]$")

    def test_the_grid_is_hoppers(self):
        self.assert_clear_error(
            self.run_workbook(self.root, "bench", "simulator", "--grid"),
            "--grid belongs to `bench hopper`, not to `bench simulator`.", code=2)

    def test_a_gpu_asked_for_in_vain(self):
        result = self.run_workbook(self.root, "run", "5", "--gpu", PATH="/usr/bin:/bin")
        if result.returncode == 0 or "configure" in result.stderr:
            self.skipTest("this machine has a GPU that runs chapter 5")
        self.assert_clear_error(result, "can't run on a GPU here")


class Streams(CheckoutTest):
    """Standard streams that are closed, full, or without a reader."""

    COMMANDS = ((), ("--help",), ("run", "--help"), ("doctor",), ("list",), ("check", "--json"),
                ("run", "5", "--sim"), ("frob",))

    def shell(self, root, words, redirection):
        line = shlex.join([sys.executable, str(root / "workbook"), *words]) + " " + redirection
        return subprocess.run(["bash", "-c", line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=100,
                              env=environment(CUDA_HOME=self.toolkit), check=False)

    def test_no_traceback_and_no_complaint(self):
        root = self.checkout()
        for words in self.COMMANDS:
            expected = self.run_workbook(root, *words)
            for redirection in (">&-", ">&- 2>&- <&-", "| head -1", "2>&1 | true"):
                with self.subTest(words, redirection=redirection):
                    result = self.shell(root, words, redirection)
                    for sign in ("Traceback", "BrokenPipe", "Exception ignored", "Bad file"):
                        self.assertNotIn(sign, result.stderr + result.stdout)
                    if "|" not in redirection:
                        self.assertEqual(result.returncode, expected.returncode, result.stderr)

    def test_what_runs_does_not_get_a_file_of_ours_for_its_output(self):
        root = self.checkout()
        self.assertEqual(self.shell(root, ("run", "5", "--sim", "--", "0", "word"), ">&-").returncode, 0)
        for path in (root / ".workbook").rglob("*"):
            self.assertNotIn(b"option word", path.read_bytes() if path.is_file() else b"")

    @unittest.skipUnless(os.path.exists("/dev/full"), "this system has no /dev/full")
    def test_a_full_disk_is_said(self):
        for words in (("list",), ("--help",)):
            result = self.shell(self.checkout_once(), words, "> /dev/full")
            self.assert_clear_error(result, "no room left")

    def checkout_once(self):
        root = self.folder / "checkout"
        return root if root.exists() else self.checkout()


class Doctor(CheckoutTest):
    def test_it_names_machine_tools_and_chapters(self):
        result = self.run_workbook(self.checkout(), "doctor")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for words in ("machine", "cores", "GPU", "g++", "CMake", "Ninja", "CUDA Toolkit 13.0",
                      "chapter 5", "Nothing is missing"):
            self.assertIn(words, result.stdout)

    def test_a_missing_toolkit_is_reported_with_the_remedy(self):
        result = self.run_workbook(self.checkout(), "doctor", BW_TOOLKIT_IGNORE_SYSTEM="1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("Missing: CUDA Toolkit 13.0 or newer", result.stdout)
        self.assertIn("./workbook setup", result.stdout)


if __name__ == "__main__":
    unittest.main()
