"""What the comparison of toolkits calls a difference."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import compare  # noqa: E402
from compare import Outcome  # noqa: E402


def outcome(status=0, text=("bits 1f", "1 2 3.0"), codes=(), cycles=1000, kernel="k"):
    return Outcome(status, list(text), list(codes), [(kernel, cycles)])


class Compare(unittest.TestCase):
    def wrong(self, reasons=(), **changes):
        return compare.compare("lab", outcome(), outcome(**changes), reasons)[0]

    def test_equal_runs_do_not_differ(self):
        self.assertEqual(self.wrong(), [])

    def test_results_exit_codes_reports_and_kernels_have_to_be_equal(self):
        for changes, words in ((dict(status=1), "exit status 0 became 1"),
                               (dict(codes=["BW-B01"]), "codes of reports"),
                               (dict(text=("bits 1e", "1 2 3.0")), "'bits 1f' became 'bits 1e'"),
                               (dict(text=("bits 1f",)), "2 lines of output became 1"),
                               (dict(kernel="other"), "other kernels")):
            self.assertIn(words, "; ".join(self.wrong(**changes)))

    def test_tables_of_numbers_and_the_last_line_of_a_lab_are_times(self):
        self.assertEqual(self.wrong(text=("bits 1f", "1 2 4.0")), [])
        self.assertEqual(compare.compare("lab", outcome(text=["cycles 10"]), outcome(text=["cycles 11"]),
                                         ())[0], [])

    def test_cycles_may_differ_up_to_the_limit(self):
        self.assertEqual(self.wrong(cycles=1099), [])
        self.assertIn("cycles differ by +11.00 %", self.wrong(cycles=1110)[0])
        self.assertIn("cycles differ by -11.00 %", self.wrong(cycles=890)[0])

    def test_output_with_a_reason_may_differ_and_codes_may_not(self):
        self.assertEqual(self.wrong(reasons=("lab",), text=("bits 1e", "1 2 3.0")), [])
        self.assertNotEqual(self.wrong(reasons=("lab",), codes=["BW-B01"]), [])

    def test_each_explained_program_has_a_reason(self):
        for program, reason in compare.explained().items():
            self.assertNotIn(" ", program)
            self.assertGreater(len(reason), 20)


if __name__ == "__main__":
    unittest.main()
