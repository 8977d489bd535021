"""Faults of the set-up never become a verdict, whatever ends the compiler or a run: each one that can be
made is made here, and the check has to call it an error of the grader. So does `./workbook grade`, which
leaves the answer open and grades it the next time."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import uuid
from dataclasses import replace
from pathlib import Path
from unittest import mock

import support
from tools import (api, blame, build, check, confinement, device_code, limited, ptx_cache, runs,
                   simulate)
from tools.errors import GraderError
from tools.grading import plan, submissions
from tools.try_exercise import tools_of
from tools.verdict import BROKEN, FAILED, PASSED

ROOT = support.ROOT
EXERCISE = "1.4"
REPORT = "simulator: parse error BW-S03: the PTX file 0.ptx, which BW_SIM_PTX names, can't be read"
# What a compiler does (a shell's lines, "$@" are its arguments), and a word of what has to be said.
COMPILERS = {
    "silent": ("exit 1", "fails on the solution's own text"),
    "killed": ("kill -9 $$", "killed from outside"),
    "killed inside": ("echo \"nvcc error   : 'cicc' died due to signal 9 (Kill signal)\" >&2; exit 9",
                      "killed from outside"),
    "crashed": ("kill -SEGV $$", "fails on the solution's own text"),
    "full disk": ("echo 'fatal error: error writing to /tmp/x.s: No space left on device' >&2; exit 1",
                  "No space left on device"),
    "no output": ("exit 0", "wrote no PTX"),
    "loader": ("echo 'nvcc: error while loading shared libraries: libx.so: cannot open' >&2; exit 127",
               "error while loading shared libraries"),
    "no forks": ("echo 'sh: fork: Resource temporarily unavailable' >&2; exit 2",
                 "Resource temporarily unavailable"),
    "no header": ("echo 'common/device/mbarrier.cuh(3): catastrophic error: cannot open source file "
                  "\"x.h\"' >&2; exit 1", "cannot open source file"),
    "not permitted": ("echo 'nvcc fatal   : Could not open output file new-0.ptx' >&2; exit 1",
                      "Could not open output file"),
}
# The same of a program that runs kernels.
PROGRAMS = {
    "silent": ("exit 1", "does not work with the solution's own text"),
    "killed": ("kill -9 $$", "killed from outside"),
    "loader": ("echo 'lab: error while loading shared libraries: libsim.so: x' >&2; exit 127",
               "error while loading shared libraries"),
    "unreadable": (f"echo \"{REPORT}\" >&2; exit 70", "can't be read"),
    "not started": ("exec /no/such/program", "does not work with the solution's own text"),
    "its own error": ("echo 'error: The host ran out of memory' >&2; exit 2", "does not work with"),
}


class FaultTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tools = replace(tools_of(ROOT), cores=1)
        exercise = api.find(api.load_all(ROOT), EXERCISE)
        cls.exercise = replace(exercise, runs=(exercise.runs[0],))
        cls.command = runs.command(ROOT, exercise.runs[0])

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="grading_faults_")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.folder.chmod(0o755)

    def new_text(self):
        """The solution's lines, in a text that no compiler has seen."""
        return (f"// {uuid.uuid4()}", *self.exercise.region.body)

    def with_compiler(self, script, tools=None):
        """Tools whose compiler is a shell script; REAL is the real one."""
        tools = tools or self.tools
        nvcc = support.write_script(self.folder / f"{uuid.uuid4()}" / "bin" / "nvcc",
                                    script.replace("REAL", str(self.tools.toolkit.nvcc)) + "\n")
        return replace(tools, toolkit=replace(tools.toolkit, nvcc=nvcc))

    def check(self, tools=None, lines=None):
        return check.check_answer(ROOT, self.exercise, tools or self.tools, lines or self.new_text())

    def assert_error(self, words, tools=None, lines=None):
        with self.assertRaises(GraderError) as caught:
            verdict = self.check(tools, lines)
            self.fail(f"a verdict: {verdict}")
        self.assertIn("an error of the grader", str(caught.exception))
        self.assertIn(words, str(caught.exception) + caught.exception.details)


class Compiler(FaultTest):
    def test_what_ends_a_compiler(self):
        for name, (script, words) in COMPILERS.items():
            with self.subTest(name):
                self.assert_error(words, self.with_compiler(script))

    def test_a_compiler_that_is_gone(self):
        nvcc = self.folder / "nvcc"
        tools = replace(self.tools, toolkit=replace(self.tools.toolkit, nvcc=nvcc))
        self.assert_error("could not be started", tools)
        nvcc.write_text("no program", encoding="utf-8")
        self.assert_error("could not be started", tools)
        nvcc.chmod(0o755)
        self.assert_error("could not be started", tools)

    def test_a_compiler_that_waits(self):
        with mock.patch.object(device_code, "COMPILE_SECONDS", 0.2):
            self.assert_error("this machine is too busy", self.with_compiler("sleep 100"))

    def test_a_compiler_that_fails_once_is_asked_again(self):
        mark = self.folder / "failed"
        once = f"[ -e {mark} ] || {{ touch {mark}; kill -SEGV $$; }}; exec REAL \"$@\""
        self.assertEqual(self.check(self.with_compiler(once)).status, PASSED)
        self.assertTrue(mark.exists())

    def test_what_the_text_alone_brings_about_is_its_own(self):
        lines = (*self.new_text(), "int of_the_reader;")
        crash = ("for one in \"$@\"; do case $one in -I*/include) "
                 "grep -rq of_the_reader \"${one#-I}\" && kill -SEGV $$;; esac; done; exec REAL \"$@\"")
        verdict = self.check(self.with_compiler(crash), lines)
        self.assertEqual((verdict.status, verdict.found), (BROKEN, "The compiler failed."))
        verdict = self.check(lines=(*lines, "No_space_left_on_device;"))
        self.assertEqual(verdict.status, BROKEN)
        self.assertIn('identifier "No_space_left_on_device"', verdict.found)

    def test_nothing_of_a_fault_is_kept(self):
        lines = self.new_text()
        flag = self.folder / "flag"
        flag.touch()
        tools = self.with_compiler(f"[ -e {flag} ] && exit 1; exec REAL \"$@\"")
        self.assert_error("", tools, lines)
        flag.unlink()
        self.assertEqual(self.check(tools, lines).status, PASSED)

    def test_what_was_kept_is_whole_or_made_again(self):
        lines, made = self.new_text(), self.folder / "made.ptx"
        # What it made once, it gives again at once.
        tools = self.with_compiler(f'for output in "$@"; do :; done; [ -e {made} ] || {{ REAL "$@" && '
                                   f'mv "$output" {made}; }} && cp {made} "$output"')
        self.assertEqual(self.check(tools, lines).status, PASSED)
        newest = max(ptx_cache.folder(ROOT).glob("*.ptx"), key=lambda path: path.stat().st_mtime_ns)
        data = newest.read_bytes()
        plain = b"mbarrier"  # a whole file, but not of compressed text
        for cut in (data[:len(data) // 2], b"", data[:-1] + bytes([data[-1] ^ 1]),
                    hashlib.sha256(plain).hexdigest().encode() + b"\n" + plain):
            newest.write_bytes(cut)
            self.assertEqual(self.check(tools, lines).status, PASSED)
            self.assertEqual(newest.read_bytes(), data)

    def test_a_full_disk(self):
        # A file system of its own for what checks write, with no room.
        script = ('mount -t tmpfs -o size=40k tmpfs "$1" || exit 77\n'
                  'shift; exec "$@"\n')
        code = ("import sys; sys.path[:0] = sys.argv[1:3]\nimport test_grading_faults as faults\n"
                "test = faults.Compiler('assert_error'); test.setUpClass(); test.setUp()\n"
                "test.assert_error('')\nprint('an error, as it should be')\n")
        runs.folder(ROOT).mkdir(parents=True, exist_ok=True)
        before = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        result = subprocess.run(
            [*before, "sh", "-c", script, "sh", str(runs.folder(ROOT)), sys.executable, "-B", "-c", code,
             str(ROOT / "tests" / "workbook"), str(ROOT / "common")], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, universal_newlines=True, check=False, timeout=200)
        if result.returncode == 77 or result.stdout.startswith("unshare: "):
            self.skipTest("no file system can be mounted here")
        self.assertIn("an error, as it should be", result.stdout)


class Programs(FaultTest):
    def ran_by(self, script):
        program = support.write_script(self.folder / f"{uuid.uuid4()}" / "lab",
                                       script.replace("REAL", " ".join(self.command)) + "\n")
        return mock.patch.object(runs, "command", return_value=[str(program)])

    def setUp(self):
        super().setUp()
        runs.reference(ROOT, self.tools, self.exercise.runs[0], 0)
        self.lines = self.exercise.region.body

    def test_what_ends_a_run(self):
        for name, (script, words) in PROGRAMS.items():
            with self.subTest(name), self.ran_by(script):
                self.assert_error(words, lines=self.lines)

    def test_a_run_that_waits(self):
        with self.ran_by("sleep 100"), mock.patch.object(runs, "LEAST_SECONDS", 0.2), \
                mock.patch.object(runs, "LIMIT_FACTOR", 0.01):
            self.assert_error("this machine is too busy", lines=self.lines)

    def test_a_crash_of_the_simulator_is_not_the_answers_fault(self):
        with self.ran_by("case $BW_SIM_PTX in *solution*) exec REAL;; esac; kill -SEGV $$"):
            self.assert_error("The simulator itself crashed", lines=self.lines)

    def test_a_run_that_fails_once_is_made_again(self):
        mark = self.folder / "failed"
        with self.ran_by(f"[ -e {mark} ] || {{ touch {mark}; exit 1; }}; exec REAL"):
            self.assertEqual(self.check(lines=self.lines).status, PASSED)

    def test_a_program_that_is_not_built(self):
        with mock.patch.object(runs.build, "program", return_value=self.folder / "nowhere"):
            self.assert_error("is not built", lines=self.lines)

    def test_a_library_that_is_missing(self):
        libraries = build.libraries(ROOT, build.SIM)
        if not (libraries / build.OBSERVERS_LIBRARY).exists():
            self.skipTest("programs hold the simulator themselves")
        for path in (Path(self.command[0]), libraries / simulate.RUNTIME):
            (self.folder / path.parent.name).mkdir()
            shutil.copy(str(path), str(self.folder / path.parent.name))
        copied = self.folder / "bin" / Path(self.command[0]).name
        with self.ran_by(f"BW_SIM_CHECKS=races exec {copied} {' '.join(self.command[1:])}"):
            self.assert_error(build.OBSERVERS_LIBRARY, lines=self.lines)

    def test_a_wrong_answer_is_wrong(self):
        self.assertEqual(self.check(lines=("pipeline_->consumer_step();",)).status, FAILED)


class SetUp(FaultTest):
    def test_a_confinement_that_fails(self):
        class Failing(confinement._Limits):
            def command(self, words, bounds, writable=None, readable=()):
                return ["sh", "-c",
                        "echo 'setpriv: setgroups failed: Operation not permitted' >&2; exit 1"]
        self.assert_error("setgroups failed", replace(self.tools, confinement=Failing(ROOT)))

    def test_an_entry_that_refuses_says_why(self):
        limits = confinement._Limits(ROOT)
        bounds = confinement.Bounds(20)
        for changes, words in (({"folder": "/no/such/folder"}, "No such file or directory"),
                               ({"namespaces": 1}, "Invalid argument")):
            ended = limited.run(limits._entered(["true"], bounds, **changes), 20)
            self.assertEqual(ended.status, 125)
            self.assertIn(words, ended.errors)
            with self.assertRaisesRegex(GraderError, words):
                blame.require_no_fault_of_machine("The compiler", ended, self.folder)
        ended = limited.run(limits._entered(["no-such-program"], bounds), 20)
        self.assertEqual((ended.status, ended.errors[:13]), (125, "confinement: "))

    def test_a_folder_that_is_not_writable(self):
        blocked = self.folder / "a file"
        blocked.touch()
        with mock.patch.object(runs, "folder", return_value=blocked / "checks"):
            self.assert_error("can't be written")

    def test_a_readers_file_that_can_not_be_read(self):
        exercise = replace(self.exercise)
        with mock.patch.object(Path, "read_bytes", side_effect=OSError(5, "Input/output error")):
            with self.assertRaisesRegex(GraderError, "an error of the grader.*Input/output error"):
                check.check(ROOT, exercise, self.tools)

    def test_a_submission_that_can_not_be_read_stays_open(self):
        place = self.folder / "class" / "anna" / self.exercise.reader_file
        place.parent.mkdir(parents=True)
        place.write_text("x", encoding="utf-8")
        real = os.open

        def refusing(path, *words, **options):
            if path == place.name:
                raise OSError(13, "Permission denied")
            return real(path, *words, **options)
        found, _ = submissions.find(self.folder / "class")
        with mock.patch.object(os, "open", side_effect=refusing):
            cell, = plan.cells(ROOT, "v", [self.exercise], found[0])
        self.assertIsNone(cell.verdict)
        self.assertIn("Permission denied", cell.error)


class Grading(FaultTest):
    """The command itself, with a compiler that is killed for as long as a file is there."""

    def grade(self, **changes):
        words = [sys.executable, "-B", str(Path(__file__).with_name("grade_driver.py")),
                 "--without-dask", str(self.folder / "log"), "0", str(self.folder / "class"),
                 "--exercises", EXERCISE, "--workers", "1", "--out", str(self.folder / "out"),
                 "--limits-alone"]
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              universal_newlines=True, timeout=200, stdin=subprocess.DEVNULL,
                              env=support.environment(**changes))

    def test_the_answer_stays_open_and_is_graded_the_next_time(self):
        from class_maker import Maker
        maker = Maker(ROOT, self.folder / "class", [self.exercise], self.tools)
        maker.submission("anna", {EXERCISE: (self.new_text(), [PASSED, ""])})
        flag = self.folder / "flag"
        flag.touch()
        home = support.make_toolkit(self.folder / "cuda")
        support.write_script(home / "bin" / "nvcc", "case $* in *version*) ;; *) "
                             f"[ -e {flag} ] && kill -9 $$;; esac\n"
                             f"exec {self.tools.toolkit.nvcc} \"$@\"\n")
        result = self.grade(CUDA_HOME=home)
        self.assertEqual(result.returncode, 1, result.stdout)
        for words in ("1 not checked yet", "an error of the grader", "killed from outside",
                      "Run the same command again"):
            self.assertIn(words, result.stdout)
        self.assertEqual((self.folder / "out" / "verdicts.jsonl").read_text(encoding="utf-8"), "")
        self.assertIn("killed from outside",
                      (self.folder / "out" / "report.html").read_text(encoding="utf-8"))
        flag.unlink()
        result = self.grade(CUDA_HOME=home)
        self.assertEqual(result.returncode, 0, result.stdout)
        line = json.loads((self.folder / "out" / "verdicts.jsonl").read_text(encoding="utf-8"))
        self.assertEqual(line["status"], PASSED)


class Signals(unittest.TestCase):
    def test_which_signals_are_a_crash(self):
        for status, number in ((-signal.SIGSEGV, 11), (128 + signal.SIGABRT, 6), (1, 0), (70, 0),
                               (-signal.SIGKILL, 0), (127, 0), (0, 0)):
            self.assertEqual(blame.crashed(status), number)


if __name__ == "__main__":
    support.skip_without_toml()
    unittest.main()
