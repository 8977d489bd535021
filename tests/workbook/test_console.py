"""Progress and colour: on a terminal, and where there is none."""

import io
import os
import time
import unittest
from unittest import mock

import support  # noqa: F401  (makes `tools` importable)

from tools import console
from tools.console import Console, format_duration


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Steps(unittest.TestCase):
    def run_step(self, stream, seconds, detail="", failing=False):
        with mock.patch.object(console, "QUIET_SECONDS", 0.02), \
                mock.patch.object(console, "REDRAW_SECONDS", 0.01), \
                mock.patch.object(console, "PLAIN_INTERVAL_SECONDS", 0.03):
            try:
                with Console(stream, {"TERM": "xterm"}).step("Building") as step:
                    step.detail(detail)
                    time.sleep(seconds)
                    if failing:
                        raise RuntimeError
            except RuntimeError:
                pass
        return stream.getvalue()

    def test_a_short_step_says_nothing(self):
        self.assertEqual(self.run_step(io.StringIO(), 0.0), "")
        self.assertEqual(self.run_step(Terminal(), 0.0), "")

    def test_plain_lines_where_there_is_no_terminal(self):
        lines = self.run_step(io.StringIO(), 0.15, "[3/9] x.o").splitlines()
        self.assertEqual(lines[0], "Building ...")
        self.assertEqual(lines[1], "  0 s  [3/9] x.o")
        self.assertEqual(lines[-1], "Building: done (0 s)")

    def test_a_terminal_gets_one_line_that_is_redrawn_and_ended(self):
        text = self.run_step(Terminal(), 0.1, "[3/9] x.o")
        self.assertGreater(text.count("\r\x1b[K"), 2)
        self.assertEqual(text.count("\n"), 1)
        self.assertIn("Building (0 s) [3/9] x.o", text)
        self.assertTrue(text.endswith("(0 s)\n"), repr(text[-30:]))

    def test_a_failed_step_says_so(self):
        self.assertIn("Building: failed", self.run_step(io.StringIO(), 0.1, failing=True))

    def test_the_live_line_never_wraps(self):
        with mock.patch.dict(os.environ, COLUMNS="24", LINES="10"):
            text = self.run_step(Terminal(), 0.1, "[3/9] " + "very/long/path/" * 20)
        for line in text.split("\r\x1b[K")[1:-1]:
            self.assertLessEqual(len(line), 23, line)


class Colours(unittest.TestCase):
    def paint(self, stream, **environment):
        return Console(stream, environment).paint("x", "red")

    def test_only_a_terminal_gets_colour(self):
        self.assertIn("\x1b[31m", self.paint(Terminal(), TERM="xterm"))
        self.assertEqual(self.paint(io.StringIO(), TERM="xterm"), "x")

    def test_no_color_and_dumb_terminals_are_honoured(self):
        self.assertEqual(self.paint(Terminal(), TERM="xterm", NO_COLOR="1"), "x")
        self.assertEqual(self.paint(Terminal(), TERM="dumb"), "x")


class Durations(unittest.TestCase):
    def test_seconds_then_minutes(self):
        self.assertEqual([format_duration(s) for s in (0, 59.9, 60, 187)],
                         ["0 s", "59 s", "1:00 min", "3:07 min"])


if __name__ == "__main__":
    unittest.main()
