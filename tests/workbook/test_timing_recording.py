"""The rows that `bench timing --record` measures and writes, with stubs for a GPU's programs."""

import os
import unittest
from unittest import mock

from support import ROOT, CheckoutTest, write_script

from tools import timing_recording as recording
from tools import timing_validation as validation
from tools.errors import WorkbookError

# Prints its options, and a time by the configuration's name.
_CHAPTER06 = """\
echo "$@" >> "$LOG"
case "$*" in *128x64_1x1*) exit 3 ;; esac
echo "time     12.345 us on the device, launch included (1 cycles at 1.98 GHz), wall 0.1 s"
"""
_CHAPTER01 = """\
echo "$@" >> "$LOG"
echo "stages  cycles  a tile  speedup  GB/s"
echo "     1  122594    3831    1.00x  15.5"
echo "     2  109987    3437    1.11x  17.2"
"""


class Recording(CheckoutTest):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "log"
        self.environment = {**os.environ, "LOG": str(self.log)}
        self.done = []

    def measure(self, group, rows, text):
        program = write_script(self.folder / group, text)
        return list(recording.measure(group, rows, program, self.environment, self.done.append))

    def test_chapter_6_row_by_row_with_the_options_that_are_simulated(self):
        rows = [{"m": "64", "n": "128", "k": "256", "beta": "0", "config": "64x64_1x1",
                 "warm_us": "9", "cold_us": "10"}]
        self.assertEqual(self.measure("chapter06", rows, _CHAPTER06),
                         [{"m": "64", "n": "128", "k": "256", "beta": "0", "config": "64x64_1x1",
                           "warm_us": "12.35"}])
        self.assertEqual(self.log.read_text(encoding="utf-8"),
                         "--m 64 --n 128 --k 256 --beta 0 --config 64x64_1x1 --unverified --queued\n")
        self.assertEqual(self.done, [1])

    def test_chapter_1_measures_all_stages_of_a_shape_at_once(self):
        rows = [{"produce": "bulk", "rows": "32", "columns": "64", "stages": stages, "cycles": "7"}
                for stages in "12"]
        lines = self.measure("chapter01", rows, _CHAPTER01)
        self.assertEqual([line["cycles"] for line in lines], ["122594", "109987"])
        self.assertEqual(len(self.log.read_text(encoding="utf-8").splitlines()), 1)

    def test_what_was_measured_before_a_program_fails_stays_in_the_file(self):
        rows = [{"m": "64", "n": "128", "k": "256", "beta": "0", "config": config}
                for config in ("64x64_1x1", "128x64_1x1")]
        path = recording.file_for("chapter06", self.folder / "measured")
        program = write_script(self.folder / "failing", _CHAPTER06)
        with self.assertRaisesRegex(WorkbookError, "ended with status 3"):
            recording.write(path, "a GPU", recording.by_shape(
                recording.measure("chapter06", rows, program, self.environment, self.done.append),
                ("64x64_1x1", "128x64_1x1")))
        self.assertEqual(path.read_text(encoding="utf-8").splitlines(),
                         ["# a GPU", "m,n,k,beta,64x64_1x1,128x64_1x1", "64,128,256,0,12.35,"])
        with self.assertRaisesRegex(WorkbookError, "h100_chapter06.csv is there already"):
            recording.file_for("chapter06", self.folder / "measured")

    def test_a_recorded_file_is_one_that_validation_reads(self):
        measured = self.folder / "tests" / "hardware" / "timing"
        path = recording.file_for("chapter06", measured)
        rows = validation.recorded_rows(ROOT, "chapter06")
        recording.write(path, "a GPU",
                        recording.by_shape(rows, dict.fromkeys(row["config"] for row in rows)))
        self.assertEqual(validation.recorded_rows(self.folder, "chapter06"), rows)
        self.assertEqual(path.read_text(encoding="utf-8").splitlines()[1:],
                         (ROOT / validation.RECORDED.format("chapter06")).read_text(
                             encoding="utf-8").splitlines()[1:])

    def test_without_a_gpu_and_with_other_options(self):
        root = self.checkout()
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            self.assert_clear_error(self.run_workbook(root, "bench", "timing", "--record", "there"),
                                    "--record measures chapter 6 on a GPU, which can't be done here: no "
                                    "NVIDIA GPU")
        self.assert_clear_error(self.run_workbook(root, "bench", "simulator", "--record", "there"),
                                "goes with `bench timing` alone", code=2)


if __name__ == "__main__":
    unittest.main()
