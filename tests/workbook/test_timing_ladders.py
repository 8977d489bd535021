"""What `bench timing --published` says of two ladders of kernels."""

import tempfile
import unittest
from pathlib import Path

from support import ROOT

from tools import timing_ladders as ladders
from tools.errors import WorkbookError


def row(value):
    return value, "us"


class Description(unittest.TestCase):
    def test_ratios_mean_worst_and_ranks(self):
        simulated = {("l.a", "n=1"): row(11.0), ("l.b", "n=1"): row(15.0), ("l.c", "n=1"): row(5.0),
                     ("other", "n=1"): row(1.0)}
        recorded = {("l.a", "n=1"): row(10.0), ("l.b", "n=1"): row(20.0), ("l.c", "n=1"): row(40.0)}
        lines = ladders.describe(simulated, recorded)
        self.assertEqual(len(lines), 6)
        self.assertIn("1.10", lines[0])
        # What has no record is shown, and counts nowhere.
        self.assertEqual(lines[3].split(), ["other", "n=1", "1", "-", "-", "us"])
        self.assertEqual(lines[4], "mean deviation 40.8 %, worst 87.5 %")
        # Of three pairs one is in order, two are not.
        self.assertEqual(lines[5], "ranking, n=1: Kendall's tau -0.33")

    def test_nothing_to_compare_is_an_error(self):
        with self.assertRaisesRegex(WorkbookError, "recorded"):
            ladders.describe({("a", ""): row(1.0)}, {("b", ""): row(1.0)})


class RecordedFiles(unittest.TestCase):
    def test_every_ladder_has_recorded_rows(self):
        for ladder in ladders.LADDERS:
            rows = ladders.read_rows(ROOT / "tests/hardware/timing" / ladder.recorded)
            own = [key for key in rows if key[0].startswith("ladder.")]
            self.assertGreaterEqual(len(own), 4, ladder.recorded)
            self.assertTrue(all(rows[key][0] > 0 for key in own))

    def test_a_file_that_is_not_there_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "none.csv"
            with self.assertRaisesRegex(WorkbookError, "none.csv could not be read"):
                ladders.read_rows(path)
            path.write_text("# timing results, version 1\n# a machine\nname,parameter,unit,value\n"
                            "l.a,n,us,2.5\n", encoding="utf-8")
            self.assertEqual(ladders.read_rows(path), {("l.a", "n"): (2.5, "us")})


if __name__ == "__main__":
    unittest.main()
