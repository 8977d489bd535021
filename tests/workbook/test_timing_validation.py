"""What `bench timing --validate` says of simulated and measured times."""

import unittest

from support import ROOT

from tools import timing_validation as validation
from tools.errors import WorkbookError


def row(subject, variant, measured, simulated, fills=True):
    return validation.Row("chapter06", subject, variant, measured, simulated, fills)


class KendallTau(unittest.TestCase):
    def test_equal_and_reversed_rankings(self):
        self.assertEqual(validation.kendall_tau([(1, 10), (2, 20), (3, 30)]), 1)
        self.assertEqual(validation.kendall_tau([(1, 30), (2, 20), (3, 10)]), -1)

    def test_one_pair_of_three_is_swapped(self):
        self.assertAlmostEqual(validation.kendall_tau([(1, 10), (2, 30), (3, 20)]), 1 / 3)

    def test_what_was_measured_alike_has_no_order(self):
        self.assertEqual(validation.kendall_tau([(100, 1), (101, 2), (200, 3)]), 1)
        self.assertIsNone(validation.kendall_tau([(100, 1), (101, 2)]))
        self.assertIsNone(validation.kendall_tau([(1, 1)]))


class Tiles(unittest.TestCase):
    def test_a_tile_for_every_sm(self):
        self.assertTrue(validation.fills_chip(4096, 4096, "128x256_2x1"))
        self.assertFalse(validation.fills_chip(1024, 1024, "128x256_2x1"))
        self.assertTrue(validation.fills_chip(16, 8448, "16x64_swap"))
        self.assertFalse(validation.fills_chip(4096, 4096, "auto"))


class Summary(unittest.TestCase):
    def test_mean_worst_and_ranks(self):
        rows = [row("s", "a", 10, 11), row("s", "b", 20, 19), row("s", "c", 40, 20, fills=False),
                row("t", "a", 10, 30), row("t", "b", 20, 20), row("t", "c", 30, 10)]
        text = "\n".join(validation.describe(rows, every=False))
        self.assertIn("6 rows, mean  55.3 %, worst +200.0 % (t a)", text)
        self.assertIn("shapes that fill the chip", text)
        self.assertIn("Kendall's tau 0.00 on average, -1.00 at least (2 subjects)", text)
        self.assertIn("among the simulator's best two on 1 of 2 shapes", text)
        self.assertIn("on the GPU than the GPU's fastest: 100.0 % on average, 200.0 % at most", text)

    def test_swapped_configurations_and_the_direction_of_errors(self):
        rows = [row("s", "16x64_swap", 10, 9), row("t", "16x64_swap", 20, 22),
                row("s", "64x64_1x1", 10, 8)]
        text = "\n".join(validation.describe(rows, every=False))
        self.assertRegex(text, r"operands swapped +2 rows, mean  10.0 %")
        self.assertRegex(text, r"operands not swapped +1 rows, mean  20.0 %, worst  -20.0 %")
        self.assertRegex(text, r"16x64_swap +2 rows,   \+0.0 % on average,  -10.0 to  \+10.0 %")
        self.assertNotIn("operands swapped", "\n".join(validation.describe(rows[2:], every=False)))

    def test_shapes_that_were_drawn_have_a_summary_of_their_own(self):
        drawn = validation.Row("drawn", "s", "64x64_1x1", 10, 11)
        text = "\n".join(validation.describe([row("s", "a", 10, 10), drawn], every=False))
        self.assertRegex(text, r"(?m)^chapter06 +1 rows, mean +0.0 %")
        self.assertRegex(text, r"(?m)^drawn +1 rows, mean +10.0 %")

    def test_rows_are_printed_when_asked_for(self):
        lines = validation.describe([row("s", "a", 10, 11)], every=True)
        self.assertIn("+10.0 %", lines[0])


class Recorded(unittest.TestCase):
    def test_the_recorded_files_hold_every_variant(self):
        chapter01 = validation.recorded_rows(ROOT, "chapter01")
        self.assertEqual({line["stages"] for line in chapter01}, set("12345678"))
        self.assertEqual({line["produce"] for line in chapter01}, {"plain", "bulk", "tensor"})
        shapes = {(line["m"], line["n"], line["k"])
                  for line in validation.recorded_rows(ROOT, "chapter06")}
        self.assertEqual(len(shapes), 20)
        drawn = validation.recorded_rows(ROOT, "drawn")
        self.assertEqual({line["config"] for line in drawn},
                         {line["config"] for line in validation.recorded_rows(ROOT, "chapter06")})
        shapes_drawn = {(line["m"], line["n"], line["k"]) for line in drawn}
        self.assertEqual(len(shapes_drawn), 12)
        self.assertFalse(shapes & shapes_drawn)

    def test_rows_that_hold_a_text(self):
        self.assertEqual(validation.recorded_rows(ROOT, "chapter01", "64x64_split3"), [])
        held = validation.recorded_rows(ROOT, "chapter06", "64x64_split3")
        self.assertEqual({line["config"] for line in held}, {"64x64_split3"})

    def test_a_text_that_no_row_holds(self):
        with self.assertRaisesRegex(WorkbookError, r"chapter01.csv, .*chapter06.csv holds \"777x777\""):
            validation.do_validate(ROOT, None, None, ["777x777"])

    def test_a_file_that_is_not_there(self):
        with self.assertRaisesRegex(WorkbookError, "h100_chapter07.csv could not be read"):
            validation.recorded_rows(ROOT, "chapter07")


if __name__ == "__main__":
    unittest.main()
