"""./workbook sim: what it says of programs that can't run, and how the others find the simulator.

The programs are built by the tests' own build; BW_TEST_PROGRAMS names their folder.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import ROOT

from tools import build, elf, exercises, runs, simulate
from tools.errors import WorkbookError

PROGRAMS = Path(os.environ["BW_TEST_PROGRAMS"])


def refusal(path):
    """What is said of a program."""
    try:
        simulate.check(elf.read(path), path)
    except WorkbookError as error:
        return str(error)
    return ""


class Refusals(unittest.TestCase):

    def test_the_static_runtime(self):
        self.assertIn("static CUDA runtime", refusal(PROGRAMS / "static_runtime"))
        self.assertIn("-cudart shared", refusal(PROGRAMS / "static_runtime"))

    def test_machine_code_alone(self):
        said = refusal(PROGRAMS / "machine_code")
        self.assertIn("no PTX", said)
        self.assertIn("its images are: sm_100a", said)
        self.assertIn("compute_100a", said)

    def test_another_release(self):
        program = elf.Program(needed=["libcudart.so.12"], ptx=["compute_100a"], carries_cuda=True)
        with self.assertRaisesRegex(WorkbookError, r"needs libcudart.so.12.*CUDA Toolkit 13"):
            simulate.check(program, Path("program"))

    def test_a_library_that_is_not_there(self):
        with self.assertRaisesRegex(WorkbookError, "needs libbw_nowhere.so, which the loader"):
            simulate.check_libraries(PROGRAMS / "lacks_a_library", dict(os.environ))

    def test_no_program(self):
        with self.assertRaisesRegex(WorkbookError, "There is no program ./nothing"):
            simulate.find_program("./nothing")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "script.py"
            file.write_text("", encoding="utf-8")
            with self.assertRaisesRegex(WorkbookError, "not executable"):
                simulate.find_program(str(file))
            with self.assertRaisesRegex(WorkbookError, "is a folder"):
                simulate.find_program(folder)


class WithoutACall(unittest.TestCase):
    """A program that never calls the runtime is not a run in the simulator, and is reported as such."""

    def test_the_report_tells(self):
        with tempfile.TemporaryDirectory() as folder:
            for before in (None, "from an earlier run"):
                file = Path(folder) / "report.json"
                if before:
                    file.write_text(before, encoding="utf-8")
                with simulate.watched({"BW_SIM_REPORT": str(file)}) as made_a_call:
                    self.assertFalse(made_a_call())
                    file.write_text("{}", encoding="utf-8")
                    self.assertTrue(made_a_call())
                file.unlink()
        env = {}
        with simulate.watched(env) as made_a_call:
            self.assertFalse(made_a_call())
            Path(env["BW_SIM_REPORT"]).write_text("{}", encoding="utf-8")
            self.assertTrue(made_a_call())
        self.assertFalse(Path(env["BW_SIM_REPORT"]).exists())

    def test_the_sentence_fits_the_program(self):
        self.assertIn("is built with nvcc", simulate.no_call("/bin/ls", elf.read(Path("/bin/ls"))))
        self.assertIn("built with nvcc", simulate.no_call("script", None))
        program = PROGRAMS / "shared_runtime"
        self.assertIn("carries kernels", simulate.no_call(program, elf.read(program)))

    def test_programs_in_the_simulator(self):
        if not (build.SIM.folder(ROOT) / "lib" / "libcudart.so.13").exists():
            self.skipTest("the simulator's runtime is not built")
        for program, calls in ((PROGRAMS / "shared_runtime", True), (Path("/bin/true"), False)):
            env = simulate.environment(ROOT, os.environ, elf.read(program))
            with simulate.watched(env) as made_a_call:
                subprocess.run([str(program)], env=env, check=False, timeout=100,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.assertEqual(made_a_call(), calls, program)


class Programs(unittest.TestCase):

    def test_what_runs_is_not_refused(self):
        self.assertEqual(refusal(PROGRAMS / "shared_runtime"), "")
        self.assertEqual(elf.read(PROGRAMS / "shared_runtime").ptx, ["compute_100a"])
        self.assertEqual(refusal(Path("/bin/sh")), "")

    def test_a_file_that_is_no_program_or_cut_off(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "file"
            file.write_bytes(b"#!/bin/sh\n")
            self.assertIsNone(elf.read(file))
            file.write_bytes((PROGRAMS / "shared_runtime").read_bytes()[:5000])
            self.assertIsNone(elf.read(file))

    def test_the_simulator_comes_first(self):
        folder = str(build.SIM.folder(ROOT) / "lib")
        env = simulate.environment(ROOT, {"LD_LIBRARY_PATH": "/own"}, elf.Program())
        self.assertEqual(env["LD_LIBRARY_PATH"], folder + ":/own")
        self.assertNotIn("LD_PRELOAD", env)
        # A search path that the program itself carries would come before.
        env = simulate.environment(ROOT, {}, elf.Program(rpath="/usr/local/cuda/lib64"))
        self.assertEqual(env["LD_PRELOAD"], f"{folder}/libcudart.so.13:{folder}/libcuda.so.1")


class Linked(unittest.TestCase):
    """Programs of the build and the one simulator that they load."""

    NAME = "lab_01_bulk_copy"

    def setUp(self):
        self.program = build.program(ROOT, build.SIM, self.NAME)
        temporary = tempfile.TemporaryDirectory(prefix="workbook_linked_")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def run_program(self, program, **env):
        return subprocess.run([str(program)], env=dict(os.environ, **env), check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True)

    def test_another_runtime_in_the_search_path_is_passed_over(self):
        (self.folder / simulate.RUNTIME).write_bytes(b"no library\n")
        result = self.run_program(self.program, LD_LIBRARY_PATH=str(self.folder))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("verified", result.stdout)

    def test_a_build_folder_that_was_moved(self):
        libraries = build.libraries(ROOT, build.SIM)
        for path in (self.program, libraries / simulate.RUNTIME):
            (self.folder / path.parent.name).mkdir()
            shutil.copy(str(path), str(self.folder / path.parent.name))
        moved = self.folder / "bin" / self.NAME
        self.assertIn(str(self.folder / "lib"), os.path.realpath(self.loaded(moved)))
        result = self.run_program(moved)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_what_only_some_runs_need_is_loaded_for_them(self):
        libraries = build.libraries(ROOT, build.SIM)
        if not (libraries / build.OBSERVERS_LIBRARY).exists():
            self.skipTest("programs hold the simulator themselves")
        for path in (self.program, libraries / simulate.RUNTIME):
            (self.folder / path.parent.name).mkdir()
            shutil.copy(str(path), str(self.folder / path.parent.name))
        moved = self.folder / "bin" / self.NAME
        recording = self.folder / "recording"
        asked = {"BW_SIM_CHECKS": "races", "BW_SIM_EVENTS": str(recording),
                 "BW_SIM_RECORDING": str(recording), "BW_SIM_STATISTICS": str(recording),
                 "BW_SIM_EXPLORE": "1000"}
        # A check that can't be had is an error, and a plain run asks for none.
        for name, value in asked.items():
            result = self.run_program(moved, **{name: value})
            self.assertEqual(result.returncode, os.EX_USAGE, result.stdout)
            self.assertRegex(" ".join(result.stdout.split()),
                             rf"BW-S01: {name}\S* needs the library {build.OBSERVERS_LIBRARY}, which "
                             r"can't be loaded: .* fix: .* --target simulator_observers")
            self.assertNotIn("verified", result.stdout)
            self.assertFalse(recording.exists())
        result = self.run_program(moved, BW_SIM_CHECKS="contract", BW_SIM_EVENTS="")
        self.assertEqual(result.returncode, 0, result.stdout)
        # A library of that name is not enough.
        found = self.folder / "lib" / build.OBSERVERS_LIBRARY
        shutil.copy(str(libraries / simulate.DRIVER), str(found))
        result = self.run_program(moved, BW_SIM_CHECKS="races")
        self.assertEqual(result.returncode, os.EX_USAGE, result.stdout)
        self.assertIn("bw_add_requested_observers", result.stdout)
        shutil.copy(str(libraries / build.OBSERVERS_LIBRARY), str(found))
        for name, value in asked.items():
            result = self.run_program(moved, **{name: value})
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertIn("verified", result.stdout)
            self.assertEqual(recording.exists(), value == str(recording), name)
            if recording.exists():
                recording.unlink()

    def test_what_is_remembered_of_a_run_ends_with_a_change_of_the_simulator(self):
        program = build.program(self.folder, build.SIM, "program")
        library = build.libraries(self.folder, build.SIM) / simulate.RUNTIME
        for path in (program, library):
            path.parent.mkdir(parents=True)
            path.write_bytes(b"first")
        run = exercises.Run("program")
        before = runs._stamp(self.folder, run, 1)
        self.assertEqual(runs._stamp(self.folder, run, 1), before)
        library.write_bytes(b"another one")
        after = runs._stamp(self.folder, run, 1)
        self.assertNotEqual(after, before)
        library.with_name(build.OBSERVERS_LIBRARY).write_bytes(b"one that follows later")
        self.assertNotEqual(runs._stamp(self.folder, run, 1), after)

    def loaded(self, program):
        """The simulator's library as the loader finds it."""
        text = subprocess.run(["ldd", str(program)], check=True, stdout=subprocess.PIPE,
                              universal_newlines=True).stdout
        return next(line.split()[2] for line in text.splitlines() if simulate.RUNTIME in line)


if __name__ == "__main__":
    unittest.main()
