"""A stub checkout with three exercises, the reader's commands, and a stub engine."""

import sys
import unittest

from support import ROOT, CheckoutTest, rewrite

from tools import toml_text

CHAPTER = "01_mbarrier_pipeline"
_FILE = "producer_consumer_pipeline.cuh"

_SOLUTION = """\
#pragma once
struct Pipeline {{
  void step() {{
    // >>> exercise 1.1 "Step to the next stage"
{first}
    // <<< exercise 1.1
  }}
  void arrive() {{
    // >>> exercise 1.2 "Hand the stage over"
{second}
    // <<< exercise 1.2
  }}
}};
"""

_WRITE = """\
id = "{id}"
title = "{title}"
kind = "write"
minutes = {minutes}
idea = "stage index and lap"
section = "stages-and-laps"
goal = "After the last stage comes the first one again, and a new lap begins with it."
expected = "After the last stage the index is 0 again, and the lap's parity has changed."
hints = ["Which stage follows the last one?", "A lap ends where the index wraps.",
         '''Almost:
    if (...) { lap ^= 1; }''']
passed = "The index wraps and the lap's parity turns with it."
next = "See how the consumer uses the same two numbers."
file = "producer_consumer_pipeline.cuh"
starter = '''
BW_EXERCISE_NOT_DONE("{id}", "{title}");
'''
[[run]]
program = "05_blockwise_fp8_gemm"
[[wrong]]
name = "never"
answer = "lap = 0;"
when = {{output = "never"}}
message = "It never wraps."
[[wrong]]
name = "always"
answer = "lap = 1;"
when = {{output = "always"}}
message = "It always wraps."
"""

_PREDICT = """\
id = "2.1"
title = "Which parity?"
kind = "predict"
minutes = 5
idea = "parity"
section = "parity"
goal = "Say which parity the wait names."
expected = "The parity of the phase that has to be over."
hints = ["a", "b", "c"]
passed = "Parities alternate."
next = "Go on."
[[run]]
program = "05_blockwise_fp8_gemm"
options = ["0", "predict"]
[[question]]
key = "parity"
ask = "Which parity does the third wait name?"
answer = "choice"
options = ["a: 0", "b: 1"]
from = "keys:parity"
[[wrong]]
name = "x"
answer = {parity = "b"}
message = "m"
[[wrong]]
name = "y"
answer = {parity = "c"}
message = "m"
"""


class ExerciseTest(CheckoutTest):
    """Tests of the reader's commands; skipped where this Python reads no TOML of its own."""

    def exercises(self):
        """A checkout with exercises 1.1, 1.2 (both write, in one file) and 2.1 (predict)."""
        if not toml_text.can_read():
            self.skipTest("this Python reads no TOML")
        root = self.checkout()
        rewrite(root / "common" / "tools" / "api.py",
                (ROOT / "tests" / "workbook" / "stand_ins" / "api.py").read_text(encoding="utf-8"))
        folder = root / "solutions" / CHAPTER
        (folder / "exercises").mkdir(parents=True)
        (folder / _FILE).write_text(_SOLUTION.format(first="    // RIGHT", second="    // RIGHT"),
                                    encoding="utf-8")
        for number, title, minutes in ((1, "Step to the next stage", 10),
                                       (2, "Hand the stage over", 75)):
            (folder / "exercises" / f"1.{number}_write.toml").write_text(
                _WRITE.replace("{{", "{").replace("}}", "}").replace("{id}", f"1.{number}")
                .replace("{title}", title).replace("{minutes}", str(minutes)), encoding="utf-8")
        second = root / "solutions" / "02_tmem_lifecycle" / "exercises"
        second.mkdir(parents=True)
        (second / "2.1_predict.toml").write_text(_PREDICT, encoding="utf-8")
        self.reader_file = root / "chapters" / CHAPTER / _FILE
        self.reader_file.parent.mkdir(parents=True)
        self.write_answer(first="    // TODO", second="    // TODO")
        answers = root / "chapters" / "02_tmem_lifecycle" / "answers.toml"
        answers.parent.mkdir(parents=True)
        answers.write_text('# TODO: fill in\n["2.1"]\n# TODO\nparity = ""\n', encoding="utf-8")
        return root

    def write_answer(self, first="    // TODO", second="    // TODO"):
        """The reader's file, with these lines between the marks."""
        self.reader_file.write_text(_SOLUTION.format(first=first, second=second), encoding="utf-8")


def main():
    """unittest.main(), with the status of a skipped test (77) where every test was skipped."""
    result = unittest.main(exit=False).result
    if result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
