"""Progress and colour: on a terminal, and without one."""

import io
import os
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import support  # noqa: F401  (makes `tools` importable)

from tools import code_links, console
from tools.console import Console, columns, format_duration, wrapped
from tools.reader.screen import Screen, Text


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Links(unittest.TestCase):
    """Codes of reports lead to their pages, in terminals that have links."""

    def said(self, stream, **environment):
        Console(stream, {"TERM": "xterm-256color", **environment}).say("deadlock BW-H01: BW-H01")
        return stream.getvalue()

    def test_only_where_they_are_understood(self):
        plain = "deadlock BW-H01: BW-H01\n"
        self.assertEqual(self.said(io.StringIO(), VTE_VERSION="7200"), plain)
        self.assertEqual(self.said(Terminal()), plain)
        self.assertEqual(self.said(Terminal(), VTE_VERSION="4999"), plain)
        self.assertEqual(self.said(Terminal(), VTE_VERSION="7200", TMUX="/tmp/x"), plain)
        for environment in ({"VTE_VERSION": "7200"}, {"TERM_PROGRAM": "vscode"},
                            {"KITTY_WINDOW_ID": "1"}, {"WT_SESSION": "x"}):
            text = self.said(Terminal(), **environment)
            self.assertEqual(text.count("BW-H01\x1b]8;;\x1b\\"), 2, environment)
            self.assertRegex(text, r"\x1b\]8;;file:///\S+docs/codes/\S+\x1b\\BW-H01")

    def test_the_site_comes_before_the_text(self):
        with tempfile.TemporaryDirectory() as holder:
            root = Path(holder).resolve()
            self.assertIsNone(code_links.page_of("BW-H01", root))
            self.assertEqual(code_links.linked("BW-H01", root), "BW-H01")
            text, page = root / "docs/codes/H_hangs.md", root / "build/docs/html/docs/codes/BW-H01.html"
            for path, wanted in ((text, f"{text.as_uri()}#bw-h01"), (page, page.as_uri())):
                path.parent.mkdir(parents=True)
                path.write_text("", encoding="utf-8")
                self.assertEqual(code_links.page_of("BW-H01", root), wanted)


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


class Widths(unittest.TestCase):
    def wide(self, width):
        return mock.patch.dict(os.environ, COLUMNS=str(width))

    def test_the_width_is_the_terminals_up_to_what_reads_well(self):
        for width, expected in ((40, 40), (100, 100), (300, 100), (0, 80)):
            # Where neither COLUMNS nor a terminal says more.
            with self.wide(width), mock.patch("os.get_terminal_size", side_effect=OSError):
                self.assertEqual(columns(), expected)

    def test_words_are_wrapped_and_none_is_broken(self):
        text = "one two-three " + "long/path/" * 8 + " four " * 30
        for width in (1, 10, 40, 80):
            with self.wide(width):
                lines = wrapped(text, "- ", "  ")
            self.assertEqual(" ".join(lines).split(), ["-", *text.split()])
            for line in lines:
                self.assertTrue(len(line) <= max(width, 12) or len(line.split()) == 1, line)
        self.assertEqual(wrapped("", "a  "), ["a"])


class Screens(unittest.TestCase):
    """Texts on a screen: what was printed is read back and compared with what went in."""

    def printed(self, width, action, stream=None):
        stream = stream or io.StringIO()
        with mock.patch.dict(os.environ, COLUMNS=str(width)):
            action(Screen(stream))
        return stream.getvalue()

    def test_lines_are_wrapped_with_their_indentation(self):
        text = "    some words " + "and more " * 20 + "x" * 50
        for width in (20, 40, 80):
            lines = self.printed(width, lambda screen: screen.print(text)).splitlines()
            self.assertTrue(all(len(line) <= width and line.startswith("    ") for line in lines))
            self.assertEqual("".join("".join(lines).split()), "".join(text.split()))
        self.assertEqual(self.printed(20, lambda screen: screen.print(text, soft_wrap=True)),
                         text + "\n")

    def test_wide_and_combining_characters_count_as_they_are_shown(self):
        self.assertEqual(Text("漢字e\u0301").cell_len, 5)
        self.assertEqual([part.plain for part in Text("漢字漢字").fold(4)], ["漢字", "漢字"])
        self.assertEqual([part.plain for part in Text("漢字").fold(1)], ["漢", "字"])

    def test_styles_stay_with_their_characters(self):
        text = Text.assemble(("red words ", "red"), "plain ", ("bold", "bold"))
        marks = {"red": "<", "bold": "{"}
        lines = [line.painted(lambda part, style: marks[style] + part + ">") for line in text.wrap(9)]
        self.assertEqual(lines, ["<red words>", "plain", "{bold>"])

    def test_colours_only_on_a_terminal_and_no_blanks_at_the_end_of_a_line(self):
        def show(screen):
            screen.print(Text("wrong  ", "red"))
        self.assertEqual(self.printed(80, show), "wrong\n")
        with mock.patch.dict(os.environ, TERM="xterm"):
            os.environ.pop("NO_COLOR", None)
            self.assertEqual(self.printed(80, show, Terminal()), "\x1b[31mwrong\x1b[0m\n")

    def test_two_columns_hold_each_all_of_its_lines(self):
        left = [Text("a = 1;"), Text("b" * 70), Text("")]
        right = [Text("c = 2;"), Text("d;"), Text("e;"), Text("f;")]
        lines = self.printed(60, lambda screen: screen.print_beside(left, right)).splitlines()
        self.assertTrue(all(len(line) <= 60 for line in lines))
        column = (60 - 2) // 2
        self.assertEqual("".join(line[:column].strip() for line in lines), "a = 1;" + "b" * 70)
        self.assertEqual([line[column + 2:] for line in lines if line[column + 2:]],
                         ["c = 2;", "d;", "e;", "f;"])
        self.assertLess(lines[0].index("c = 2;"), 60)


class Durations(unittest.TestCase):
    def test_seconds_then_minutes(self):
        self.assertEqual([format_duration(s) for s in (0, 59.9, 60, 187)],
                         ["0 s", "59 s", "1:00 min", "3:07 min"])


if __name__ == "__main__":
    unittest.main()
