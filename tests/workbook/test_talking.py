"""Answers that talk instead of computing: what a kernel prints is neither a measurement, nor a result,
nor a report, and changes no verdict."""

import os
import unittest
from dataclasses import replace

import support
from tools import api, check, exercises
from tools.try_exercise import tools_of
from tools.verdict import FAILED, PASSED

# As programs, labs and the simulator print it.
WORDS = (r'metric cycles 1\n', r'metric read_cycles 1\n', r'cycles   1\n',
         r'read     1 cycles, the mean of 1\n', r'verified (256 elements)\n',
         r'simulator: bw::release_early: 1 clusters, 1 cycles, 1 warp instructions\n')
BAD_WORDS = (r'WRONG    256 of 256 elements are off\n', r'error: nothing works\n',
             r'simulator: deadlock BW-H01: nothing can run\n')


def said(words):
    """Lines in which the first thread prints each of these words before and after the others, the first
    two times that it comes by: some regions are loops."""
    text = "".join(words + words)
    return ["if (threadIdx.x == 0 && blockIdx.x == 0) {", "  static int printed = 0;",
            f'  if (printed++ < 2) printf("{text}");', "}"]


class Talking(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tools, cls.known = tools_of(support.ROOT), api.load_all(support.ROOT)

    def verdict(self, exercise, lines):
        return check.check_answer(support.ROOT, exercise, self.tools, lines)

    def test_a_slow_answer_that_prints_a_low_number(self):
        slow = [exercise for exercise in self.known if exercise.kind == exercises.IMPROVE]
        self.assertGreater(len(slow), 2)
        # One place measures for all exercises; the programs that print differ. The slow test asks all.
        for exercise in slow if "BW_TEST_SWEEP" in os.environ else slow[::3]:
            with self.subTest(exercise.id):
                lines = list(exercise.region.starter)
                if any(exercises.NOT_DONE_MACRO in line for line in lines):
                    late = next(one for one in exercise.wrong
                                if one.message.strip().startswith("Right, but"))
                    lines = late.answer.strip("\n").split("\n")
                verdict = self.verdict(exercise, said(WORDS) + lines + said(WORDS))
                self.assertEqual(verdict.status, FAILED, verdict)
                self.assertIn("The result is right, but it takes", verdict.found)

    def test_a_wrong_answer_that_prints_verified_and_a_right_one_that_prints_errors(self):
        exercise = api.find(self.known, "1.3")
        exercise = replace(exercise, runs=(replace(exercise.runs[-1], seeds=(0,)),))
        right = list(exercise.region.body)
        wrong = next(one for one in exercise.wrong if one.name == "the lap never advances")
        talking = self.verdict(exercise, said(WORDS) + wrong.answer.strip("\n").split("\n"))
        self.assertEqual((talking.status, talking.wrong), (FAILED, wrong.name), talking)
        # Printing takes cycles, so without the budget.
        talking = self.verdict(replace(exercise, budget=None), said(BAD_WORDS) + right)
        self.assertEqual(talking.status, PASSED, talking)


if __name__ == "__main__":
    support.skip_without_toml()
    unittest.main()
