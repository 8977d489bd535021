"""The command line: help, usage errors, and what a reader sees when something is missing."""

import unittest

from support import CheckoutTest

from tools import cli

SUBCOMMANDS = ("setup", "run", "timeline", "profile", "test", "bench", "docs", "doctor", "list", "hint")


class Help(CheckoutTest):
    def test_every_help_has_examples(self):
        root = self.checkout()
        for words in ((), *((name,) for name in SUBCOMMANDS)):
            result = self.run_workbook(root, *words, "--help")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("examples:\n  ./workbook" if words != ("setup",) else "examples:",
                          result.stdout)

    def test_without_a_command_help_and_chapters_are_shown(self):
        result = self.run_workbook(self.checkout())
        self.assertEqual(result.returncode, 0)
        self.assertIn("chapters: 5 (05_blockwise_fp8_gemm)", result.stdout)


    def test_every_command_is_listed_with_a_sentence(self):
        text = self.run_workbook(self.checkout(), "--help").stdout
        for name in (*SUBCOMMANDS, *cli.READER_COMMANDS):
            self.assertRegex(text, rf"(?m)^  {name} +[A-Z].*\.$")

    def test_help_needs_no_private_environment_and_is_quick(self):
        root = self.checkout()
        self.assert_reads_little(root, "--help")
        self.assertFalse((root / ".workbook").exists())


class UsageErrors(CheckoutTest):
    def test_a_mistyped_command_is_guessed(self):
        result = self.run_workbook(self.checkout(), "chekc")
        self.assertEqual(result.returncode, 2)
        self.assertIn("Did you mean `check`?", result.stderr)

    def test_wrong_usage_exits_with_2(self):
        root = self.checkout()
        for words in (("frobnicate",), ("run",), ("bench",), ("bench", "nothing"),
                      ("run", "5", "--sim", "--gpu"), ("run", "5", "--m", "12"),
                      ("doctor", "--", "x"), ("test", "5", "6")):
            result = self.run_workbook(root, *words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn("usage:", result.stderr)
            self.assertNotIn("Traceback", result.stderr)

    def test_an_unknown_chapter_is_named_with_those_there_are(self):
        root = self.checkout()
        for command in ("run", "test"):
            self.assert_clear_error(self.run_workbook(root, command, "9"),
                                    "no chapter '9'", "5 (05_blockwise_fp8_gemm)")

    def test_the_grid_is_hoppers(self):
        self.assert_clear_error(
            self.run_workbook(self.checkout(), "bench", "simulator", "--grid"),
            "--grid belongs to `bench hopper`, not to `bench simulator`.")

    def test_a_gpu_asked_for_in_vain(self):
        result = self.run_workbook(self.checkout(), "run", "5", "--gpu", PATH="/usr/bin:/bin")
        if result.returncode == 0 or "configure" in result.stderr:
            self.skipTest("this machine has a GPU that runs chapter 5")
        self.assert_clear_error(result, "can't run on a GPU here")


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
