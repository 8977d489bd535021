"""Progress, colour and messages, on standard error: standard output belongs to the programs."""

import contextlib
import os
import shutil
import sys
import textwrap
import threading
import time

from . import code_links

# Longer lines are hard to read, however wide the terminal is.
WIDEST = 100
# A step that is over sooner than this says nothing: a second run has nothing to report.
QUIET_SECONDS = 0.7
# Seconds between a step's reports where no terminal can redraw a line.
PLAIN_INTERVAL_SECONDS = 15.0
REDRAW_SECONDS = 0.25

_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "dim": "2"}


def format_duration(seconds):
    """'8 s' below a minute, '3:07 min' above."""
    seconds = int(seconds)
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60}:{seconds % 60:02d} min"


def columns():
    """The width in which texts are shown: that of the terminal or of COLUMNS, up to WIDEST; 80 where
    neither is known."""
    return max(1, min(shutil.get_terminal_size((80, 24)).columns, WIDEST))


def wrapped(text, first="", following=""):
    """`text` in lines that fit columns(); `first` and `following` are put before them. No word is
    broken, so that paths and commands can be copied."""
    width = max(columns(), len(following) + 10)
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=following,
                         break_long_words=False, break_on_hyphens=False) or [first.rstrip()]


class Console:
    """Writes messages and steps to a stream; redraws one line where the stream is a terminal."""

    def __init__(self, stream=None, environment=None):
        self.stream = stream if stream is not None else sys.stderr
        environment = os.environ if environment is None else environment
        dumb = environment.get("TERM", "") == "dumb"
        self.live = self.stream.isatty() and not dumb
        self.coloured = self.live and not environment.get("NO_COLOR")
        self._has_links = self.live and code_links.are_understood(environment)

    def paint(self, text, colour):
        """`text` in a colour, or as it is where colour is not wanted."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.coloured else text

    def linked(self, text):
        """`text` with the codes of reports as links to their pages, where the terminal has links."""
        return code_links.linked(text) if self._has_links else text

    def say(self, text=""):
        """One line."""
        self.stream.write(self.linked(text) + "\n")
        self.stream.flush()

    def error(self, text):
        """The paragraph that ends a failed command."""
        self.say(self.paint("workbook: error: ", "red") + text)

    def step(self, title):
        """A context manager around something that may take long; see Step."""
        return Step(self, title)


class Step:
    """A piece of work with a title, a changing detail and the time it has taken.

    On a terminal: one line that is redrawn and ends as 'title: done (12 s)'. Elsewhere: a line at
    the start, one every PLAIN_INTERVAL_SECONDS and one at the end. A step shorter than
    QUIET_SECONDS prints nothing.
    """

    def __init__(self, console, title):
        self._console = console
        self._title = title
        self._detail = ""
        self._started = 0.0
        self._shown = False
        self._stop = threading.Event()
        self._thread = None

    def detail(self, text):
        """What the step is doing right now ('[12/96] Building ...')."""
        self._detail = text.strip()

    def __enter__(self):
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._report_while_readable, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind, error, trace):
        self._stop.set()
        self._thread.join()
        if not self._shown:
            return False
        outcome = "done" if kind is None else "failed"
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            outcome = "stopped"
        mark = self._console.paint(outcome, "green" if kind is None else "red")
        elapsed = format_duration(time.monotonic() - self._started)
        erase = "\r\x1b[K" if self._console.live else ""
        self._console.say(f"{erase}{self._title}: {mark} ({elapsed})")
        return False

    def _report_while_readable(self):
        with contextlib.suppress(OSError):  # the stream's reader has gone: the work goes on
            self._report()

    def _report(self):
        if self._stop.wait(QUIET_SECONDS):
            return
        self._shown = True
        if not self._console.live:
            self._console.say(f"{self._title} ...")
        interval = REDRAW_SECONDS if self._console.live else PLAIN_INTERVAL_SECONDS
        while True:
            if self._console.live:
                self._console.stream.write("\r\x1b[K" + self._line())
                self._console.stream.flush()
            if self._stop.wait(interval):
                return
            if not self._console.live:
                elapsed = format_duration(time.monotonic() - self._started)
                self._console.say(f"  {elapsed}  {self._detail}".rstrip())

    def _line(self):
        """The current line, cut to the terminal's width so that it never wraps."""
        elapsed = format_duration(time.monotonic() - self._started)
        text = f"{self._title} ({elapsed}) {self._detail}".rstrip()
        width = shutil.get_terminal_size().columns
        return text[: max(1, width - 1)]
