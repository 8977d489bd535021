"""A repository of one small chapter with an exercise of each kind, for tests of the engine."""

import textwrap
from pathlib import Path

CHAPTER = "01_mbarrier_pipeline"

CODE = """\
#pragma once
// >>> exercise 1.1 "Step on"
stage = stage + 1;
// <<< exercise 1.1
// >>> exercise 1.2 "Be quick"
work(quickly);
// <<< exercise 1.2
arrive();
wait();
"""

_COMMON = """\
id = "{id}"
title = "{title}"
kind = "{kind}"
minutes = 5
idea = "an idea"
section = "a-section"
goal = "A goal."
expected = "what a right answer does"
hints = ["nudge", "idea", "almost"]
passed = "Why it is right."
next = "What comes next."
"""

_STARTERS = {1: 'BW_EXERCISE_NOT_DONE("1.1", "Step on");', 2: "work(slowly);"}

_WRITE = """\
file = "f.cuh"
starter = '''
{starter}
'''
[[run]]
program = "lab_01_a"
options = ["--rows", "8"]
seeds = [0, 7]
[[wrong]]
name = "one too many"
answer = "stage = stage + 2;"
when = {{ code = 'stage \\+ 2' }}
message = "You step twice."
[[wrong]]
name = "nothing"
answer = "stage = stage;"
when = {{ output = 'deadlock' }}
message = "You don't step."
"""

_PREDICT = """\
[[run]]
program = "lab_01_a"
[[question]]
key = "count"
ask = "How many?"
answer = "integer"
from = "keys:count"
[[question]]
key = "who"
ask = "Who?"
answer = "choice"
options = ["a: the producer", "b: the consumer"]
from = "keys:who"
[[wrong]]
name = "one less"
answer = { count = 1 }
message = "You forgot the first."
[[wrong]]
name = "the other one"
answer = { who = "a" }
message = "It is the other role."
"""

_FIND = """\
patch = '''
--- a/f.cuh
+++ b/f.cuh
@@
-arrive();
+arrive_twice();
 wait();
'''
causes = ["a: the count", "b: the wait"]
cause = "a"
[[run]]
program = "lab_01_a"
[[wrong]]
name = "blames the wait"
answer = { cause = "b" }
message = "The wait is right."
[[wrong]]
name = "names the wait"
answer = { line_text = "wait();" }
message = "This line is right."
"""


def write(root):
    """The small repository below `root`."""
    solutions = Path(root) / "solutions" / CHAPTER
    folder = solutions / "exercises"
    folder.mkdir(parents=True)
    (solutions / "f.cuh").write_text(CODE, encoding="utf-8")
    budget = '[budget]\nmetric = "cycles"\nat_most = 1.1\n'
    for number, title, kind, rest in (
            (1, "Step on", "write", _WRITE.format(starter=_STARTERS[1])),
            (2, "Be quick", "improve", _WRITE.format(starter=_STARTERS[2]) + budget),
            (3, "Count", "predict", _PREDICT), (4, "Too much", "find", _FIND)):
        (folder / f"1.{number}_x.toml").write_text(
            _COMMON.format(id=f"1.{number}", title=title, kind=kind) + rest, encoding="utf-8")
    (folder / "keys.py").write_text(textwrap.dedent("""\
        def count(trace):
            return 2

        def who(trace):
            return "b"
        """), encoding="utf-8")
    return Path(root)
