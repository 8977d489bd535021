"""The private environment of the reader's commands: missing, damaged, without a network, read-only."""

import os
import re
import shutil
import subprocess
import sys
import unittest

from exercise_support import ExerciseTest, main
from support import QUICK_VENV, as_an_ordinary_user, environment, lock_up

from tools import cli, private_env

PRIVATE = ("next", "check", "watch", "diff", "reset", "skip", "use")
NO_NETWORK = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": os.devnull, "PYTHONPATH": QUICK_VENV}


class Missing(ExerciseTest):
    def test_without_a_network_a_sentence_says_what_is_missing_and_what_works(self):
        root = self.exercises(needs_libraries=False)
        shutil.rmtree(root / ".workbook")
        for name in PRIVATE[:2]:
            result = self.run_workbook(root, name, **NO_NETWORK)
            self.assert_clear_error(result, f"`{name}` needs Python packages", "typer, rich",
                                    "network connection", "`run`, `profile`, `test`")
        for words in (("list",), ("hint", "1.1"), ("--help",), ("doctor",), ("run", "5", "--sim")):
            result = self.run_workbook(root, *words, **NO_NETWORK)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_help_needs_nothing(self):
        root = self.exercises(needs_libraries=False)
        shutil.rmtree(root / ".workbook")
        for name in PRIVATE:
            result = self.run_workbook(root, name, "--help", **NO_NETWORK)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"usage: ./workbook {name} ", result.stdout)
        self.assertFalse((root / ".workbook").exists())

    def test_setup_and_test_go_on_without_them(self):
        root = self.exercises(needs_libraries=False)
        shutil.rmtree(root / ".workbook")
        result = self.run_workbook(root, "setup", **NO_NETWORK)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("pip could not install the Python packages of the reader's commands",
                      result.stderr)

    def test_packages_that_were_removed_are_said_and_asked_for_again(self):
        root = self.exercises(needs_libraries=False)
        # A link that points nowhere on a machine without these packages; glob() passes over such.
        (next((root / ".workbook/venv/lib").glob("python3*")) / "site-packages").unlink()
        result = self.run_workbook(root, "next")
        self.assert_clear_error(result, "is damaged", "./workbook setup")
        self.assertIsNone(private_env.reader_python(root))


class Pins(unittest.TestCase):
    def test_every_requirement_is_pinned_exactly(self):
        for pin in private_env.reader_pins():
            self.assertRegex(pin, r"^[A-Za-z_-]+==[0-9.]+(; python_version (<|>=) \"3\.\d+\")?$")

    def test_the_three_libraries_are_among_them(self):
        names = {pin.split("==")[0] for pin in private_env.reader_pins()}
        self.assertLessEqual({"typer", "rich", "watchfiles"}, names)

    def test_every_command_has_its_usage(self):
        self.assertEqual(sorted(cli.READER_COMMANDS), sorted(PRIVATE))
        self.assertEqual(list(cli.READER_COMMANDS), list(cli.READER_USAGE))


class Usage(ExerciseTest):
    def test_what_help_says_without_typer_is_what_typer_takes(self):
        root = self.exercises()
        for name, usage in cli.READER_USAGE.items():
            text = self.run_workbook(root, name, "--help", COLUMNS="100").stdout
            for word in re.findall(r"--[a-z-]+|NN|mine", usage):
                self.assertIn(word, text, name)


class ReadOnly(ExerciseTest):
    """A checkout that was set up and then made read-only."""

    def run_locked(self, root, *arguments):
        return subprocess.run([sys.executable, str(root / "workbook"), *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, universal_newlines=True, timeout=100,
                              env=environment(CUDA_HOME=self.toolkit),
                              preexec_fn=as_an_ordinary_user, check=False)

    def test_each_command_works_or_says_why_not(self):
        root = self.exercises()
        lock_up(self, root, root / ".workbook", root / "chapters", self.reader_file.parent)
        for words in (("list",), ("hint", "1.1"), ("next",), ("skip", "1.1"), ("--help",), ("doctor",),
                      ("diff", "1.1", "--spoil"), ("use", "mine"), ("check", "--help")):
            with self.subTest(words):
                result = self.run_locked(root, *words)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn("Traceback", result.stderr)
                if words[0] in ("hint", "skip", "use"):
                    self.assertIn("progress.json can't be written", result.stderr)
        for words in (("check", "1.1"), ("reset", "1.1")):
            with self.subTest(words):
                self.assert_clear_error(self.run_locked(root, *words), "written")


if __name__ == "__main__":
    main()
