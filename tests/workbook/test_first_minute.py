"""The measured times of a fresh clone: the files and their contents, with stub commands."""

import io
import shutil
import subprocess
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from support import ROOT, CheckoutTest, write_script

from tools import first_minute, machine, regions
from tools.errors import WorkbookError

MARKED = f"before\n{first_minute.BEGIN}\nold\n{first_minute.END}\nafter\n"


class FirstMinute(CheckoutTest):
    def clone(self, script):
        clone = self.folder / "clone"
        (clone / "build" / "sim").mkdir(parents=True)
        write_script(clone / "workbook", script)
        return clone

    def measured(self, script):
        with mock.patch.object(first_minute, "write_answer", return_value="1.2"):
            return first_minute.measure(self.clone(script), show=lambda line: None)

    def test_commands_are_run_in_order(self):
        steps = self.measured('echo "$@" >> ran; head -c 3M /dev/zero > build/sim/file\n')
        self.assertEqual((self.folder / "clone" / "ran").read_text(encoding="utf-8").split("\n"),
                         ["run 5", "run 5", "test", "check 1.2", ""])
        self.assertEqual(len(steps), 5)
        self.assertEqual(steps[-1].value, "3 MiB")

    def test_a_failed_command_is_named(self):
        with self.assertRaisesRegex(WorkbookError, r"`./workbook run 5` failed .*exit status 3"):
            self.measured("exit 3\n")

    def test_caches_are_off_and_the_readers_settings_stay_out(self):
        settings = {"BW_SIM_SEED": "1", "CCACHE_DIR": "/c", "PYTHONPATH": str(ROOT / "common")}
        with mock.patch.dict("os.environ", settings):
            env = first_minute.environment()
        self.assertEqual(env["CCACHE_DISABLE"], "1")
        self.assertFalse(set(settings) & set(env))

    def test_what_stands_between_the_marks_is_replaced(self):
        self.assertEqual(first_minute.replaced(MARKED, "new\n"),
                         MARKED.replace("old", "new"))
        for text in ("no marks\n", MARKED + MARKED):
            with self.assertRaisesRegex(WorkbookError, "has to hold the marks"):
                first_minute.replaced(text, "new\n")

    def test_times_in_words(self):
        words = [first_minute._spoken(seconds) for seconds in (3.14, 59.6, 719.6)]
        self.assertEqual(words, ["3.1 s", "60 s", "12 min 0 s"])

    def test_a_readme_without_marks_is_refused_before_anything_is_measured(self):
        (self.folder / first_minute.README).write_text("nothing\n", encoding="utf-8")
        errors = io.StringIO()
        with redirect_stderr(errors), redirect_stdout(io.StringIO()), \
                mock.patch.object(first_minute, "measure", side_effect=AssertionError):
            self.assertEqual(first_minute.main(["--write", "--root", str(self.folder)]), 1)
        self.assertIn(first_minute.BEGIN, errors.getvalue())

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_the_answer_that_is_written_is_the_solution(self):
        clone = self.folder / "clone"
        subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(clone)], check=True)
        identity = first_minute.write_answer(clone)
        exercise = next(one for one in first_minute.api.load_all(clone) if one.id == identity)
        text = regions.read_text(clone / exercise.reader_file)
        self.assertEqual(regions.reader_region(text, "file", identity).lines, exercise.region.body)


class Processor(CheckoutTest):
    def name(self, description, lscpu, architecture):
        path = self.folder / "cpuinfo"
        path.write_text(description, encoding="utf-8")
        write_script(self.folder / "lscpu", f"echo 'Architecture: any'\necho 'Model name:  {lscpu}'\n")
        with mock.patch("platform.machine", return_value=architecture), \
                mock.patch.dict("os.environ", {"PATH": f"{self.folder}:/usr/bin:/bin"}):
            return machine.processor_name(Path(path))

    def test_the_kernels_name_comes_first(self):
        self.assertEqual(self.name("processor : 0\nmodel name\t: A CPU @ 2 GHz\n", "other", "x86_64"),
                         "A CPU @ 2 GHz")

    def test_64_bit_arm_has_a_name_too(self):
        numbers = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
        self.assertEqual(self.name(numbers, "Neoverse-N1", "aarch64"), "Neoverse-N1 (aarch64)")
        self.assertEqual(self.name(numbers, "-", "aarch64"), "aarch64")


if __name__ == "__main__":
    unittest.main()
