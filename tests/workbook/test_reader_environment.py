"""The reader's commands without a network, on Pythons without a reader of TOML, and read-only."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import unittest
from pathlib import Path

from exercise_support import ExerciseTest, main
from support import QUICK_VENV, as_an_ordinary_user, environment, lock_up

from tools import private_env

NO_NETWORK = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": os.devnull, "PYTHONPATH": QUICK_VENV}
PYTHONS_OWN = Path(sysconfig.get_path("stdlib")) / "tomllib"


class WithoutANetwork(ExerciseTest):
    def test_every_command_works_and_installs_nothing(self):
        root = self.exercises()
        self.write_answer(first="    stage = 0;  // RIGHT")
        for words in (("next",), ("check", "1.1"), ("diff", "1.1"), ("hint", "1.2"), ("skip", "1.2"),
                      ("use", "mine"), ("list",), ("reset", "1.1"), ("doctor",),
                      ("run", "5", "--sim")):
            result = self.run_workbook(root, *words, **NO_NETWORK)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse((root / ".workbook" / "venv").exists())

    def test_no_command_imports_anything_from_outside(self):
        root = self.exercises()
        for words in (("next",), ("check", "1.1"), ("list",)):
            # -S: no site-packages at all.
            result = subprocess.run([sys.executable, "-S", str(root / "workbook"), *words],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    stdin=subprocess.DEVNULL, universal_newlines=True, timeout=100,
                                    env=environment(CUDA_HOME=self.toolkit, PYTHONPATH=None),
                                    check=False)
            self.assertNotIn("Traceback", result.stderr)
            self.assertIn("1.1", result.stdout)


class WithoutToml(ExerciseTest):
    """As on Python 3.10 and older, whose library reads no TOML."""

    def setUp(self):
        super().setUp()
        self.root = self.exercises()
        hidden = self.folder / "hidden"
        hidden.mkdir()
        for name in ("tomllib.py", "tomli.py"):
            (hidden / name).write_text("raise ImportError\n", encoding="utf-8")
        self.without = dict(NO_NETWORK, PYTHONPATH=f"{hidden}:{QUICK_VENV}")

    def test_it_is_said_what_is_missing_and_the_others_work(self):
        for words in (("next",), ("check", "1.1"), ("list",), ("hint",)):
            result = self.run_workbook(self.root, *words, **self.without)
            self.assert_clear_error(result, "pip could not install tomli==", "network connection")
        for words in (("run", "5", "--sim"), ("--help",), ("next", "--help"), ("explain", "--help")):
            result = self.run_workbook(self.root, *words, **self.without)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("installs a package that reads them",
                      self.run_workbook(self.root, "doctor", **self.without).stdout)

    def test_setup_goes_on_without_it(self):
        result = self.run_workbook(self.root, "setup", **self.without)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("pip could not install tomli==", result.stderr)

    @unittest.skipUnless(PYTHONS_OWN.is_dir(), "this Python has no tomllib to take for tomli")
    def test_an_installed_package_is_used_and_a_removed_one_asked_for_again(self):
        (self.folder / "hidden" / "tomli.py").unlink()
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        package = self.root / ".workbook/venv/lib" / version / "site-packages/tomli"
        shutil.copytree(PYTHONS_OWN, package)
        private_env._mark(self.root, private_env.TOML_PINS)
        result = self.run_workbook(self.root, "next", **self.without)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("1.1  Step to the next stage", result.stdout)
        shutil.rmtree(package)
        self.assert_clear_error(self.run_workbook(self.root, "next", **self.without),
                                "pip could not install tomli==")


class Pins(unittest.TestCase):
    def test_every_requirement_is_pinned_exactly(self):
        for pin in (*private_env.TOML_PINS, *private_env._pins_of(private_env.GRADING_REQUIREMENTS)):
            self.assertTrue(re.fullmatch(r"[A-Za-z][\w-]*==[0-9.]+(; python_version (<|>=) \"3\.\d+\")?",
                                         pin), pin)


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
        (root / ".workbook").mkdir()
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
