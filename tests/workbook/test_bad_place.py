"""Checkouts in awkward places: read-only, owned by someone else, with spaces in the path, or busy."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
import unittest

from support import CheckoutTest, as_an_ordinary_user, environment, lock_up

from tools import workspace


class ReadOnly(CheckoutTest):
    def setUp(self):
        super().setUp()
        self.root = self.checkout()
        self.home = self.folder / "home"
        self.home.mkdir()

    def run_locked(self, *arguments, before=()):
        return subprocess.run([*before, sys.executable, str(self.root / "workbook"), *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, universal_newlines=True, timeout=100,
                              env=environment(CUDA_HOME=self.toolkit, HOME=self.home),
                              preexec_fn=as_an_ordinary_user, check=False)

    def test_commands_that_build_say_that_the_checkout_cannot_be_written_to(self):
        lock_up(self, self.root)
        for words in (("run", "5", "--sim"), ("test",), ("bench", "simulator"), ("setup",),
                      ("timeline", "5"), ("sim", "--", "true")):
            with self.subTest(words):
                result = self.run_locked(*words)
                self.assert_clear_error(result, f"{self.root} can't be written to",
                                        "copy of the checkout",
                                        f"`cp -r {self.root} {self.home}/checkout` makes one",
                                        "./workbook list, hint, explain, doctor and --help work.")

    def test_a_clone_is_offered_where_git_makes_one(self):
        (self.root / ".git").mkdir()
        lock_up(self, self.root)
        for owner, command in ((os.geteuid(), "git clone"), (os.geteuid() + 1, "cp -r")):
            if owner != os.geteuid():
                if os.geteuid() != 0:
                    self.skipTest("only root gives a folder away")
                os.chown(self.root, owner, -1)
            self.assert_clear_error(self.run_locked("run", "5", "--sim"),
                                    f"{command} {self.root}")

    def test_a_read_only_file_system_is_named_and_no_rights_are_asked_for(self):
        mount = f"mount --bind {self.root} {self.root} && mount -o remount,bind,ro {self.root}"
        before = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount + ' && exec "$@"', "sh"]
        if not shutil.which("unshare") or subprocess.run([*before, "true"], stderr=subprocess.DEVNULL,
                                                         check=False).returncode:
            self.skipTest("nothing can be mounted here")
        for words in (("run", "5", "--sim"), ("setup",)):
            result = self.run_locked(*words, before=before)
            self.assert_clear_error(result, f"{self.root} can't be written to",
                                    "read-only file system", "that can be written to",
                                    f"`cp -r {self.root} {self.home}/checkout`")
            self.assertNotIn("chown", result.stderr)
        result = self.run_locked("run", "5", "--sim", "--report", str(self.root / "x"), before=before)
        self.assert_clear_error(result, "--report can't write", code=2)
        self.assertEqual(self.run_locked("doctor", before=before).returncode, 0)

    def test_what_only_reads_works(self):
        lock_up(self, self.root)
        for words in (("--help",), ("run", "--help"), (), ("doctor",)):
            with self.subTest(words):
                result = self.run_locked(*words)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn("Traceback", result.stderr)

    def test_folders_that_another_user_made_are_named_with_the_remedy(self):
        self.assertEqual(self.run_workbook(self.root, "run", "5", "--sim").returncode, 0)
        for folder in (self.root / "build" / "sim", self.root / ".workbook"):
            lock_up(self, folder)
            self.assert_clear_error(self.run_locked("run", "5", "--sim"),
                                    f"{folder} can't be written to", "sudo chown")
            folder.chmod(0o755)


class OddPaths(CheckoutTest):
    def test_a_path_with_spaces_and_brackets(self):
        root = self.checkout()
        root = root.rename(self.folder / "my own (checkout)")
        result = self.run_workbook(root, "run", "5", "--sim", "--", "0", "a b")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("option a b\n", result.stdout)
        self.assertEqual(self.run_workbook(root, "test").returncode, 0)
        self.assertEqual(self.run_workbook(root, "doctor").returncode, 0)

    def test_a_path_that_the_compiler_cannot_take_is_refused_before_anything_is_built(self):
        root = self.checkout()
        for character in workspace.UNUSABLE_IN_PATHS:
            with self.subTest(character):
                root = root.rename(self.folder / f"it{character}s mine")
                self.assert_clear_error(self.run_workbook(root, "run", "5", "--sim"),
                                        f"path contains {character},", str(root), "Rename")
                self.assertFalse((root / "build").exists())
                self.assertEqual(self.run_workbook(root, "doctor").returncode, 0)


class TwoAtOnce(CheckoutTest):
    def test_the_second_command_says_that_it_waits_and_then_runs(self):
        root = self.checkout()
        (root / ".workbook").mkdir()
        with open(root / ".workbook" / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            waiting = subprocess.Popen([sys.executable, str(root / "workbook"), "run", "5", "--sim"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       universal_newlines=True,
                                       env=environment(CUDA_HOME=self.toolkit))
            self.addCleanup(waiting.stderr.close)
            self.assertIn("Another ./workbook is building", waiting.stderr.readline())
            time.sleep(0.3)
            self.assertIsNone(waiting.poll())
            self.assertFalse((root / "build").exists())
        _, errors = waiting.communicate(timeout=100)
        self.assertEqual(waiting.returncode, 0, errors)

    def test_two_builds_started_together_both_succeed(self):
        root = self.checkout()
        both = [subprocess.Popen([sys.executable, str(root / "workbook"), "run", "5", "--sim"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 universal_newlines=True,
                                 env=environment(CUDA_HOME=self.toolkit)) for _ in range(2)]
        for process in both:
            _, errors = process.communicate(timeout=100)
            self.assertEqual(process.returncode, 0, errors)


if __name__ == "__main__":
    unittest.main()
