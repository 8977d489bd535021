"""A terminal's page: painted words, wrapped to its width, alone or in two columns."""

import itertools
import re
import shutil
import sys
import unicodedata

from ..console import Console


def _cells(character):
    """The columns that a character takes."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Text:
    """Characters, each with a style: "bold", "red", "green" or none."""

    def __init__(self, text="", style=""):
        self.plain = text
        self._styles = [style] * len(text)

    @classmethod
    def assemble(cls, *parts):
        """One Text of strings, pairs (string, style) and Texts."""
        whole = cls()
        for part in parts:
            if isinstance(part, str):
                part = cls(part)
            elif isinstance(part, tuple):
                part = cls(*part)
            whole += part
        return whole

    def __add__(self, other):
        whole = Text(self.plain + other.plain)
        whole._styles = self._styles + other._styles
        return whole

    def __getitem__(self, part):
        """A slice."""
        taken = Text(self.plain[part])
        taken._styles = self._styles[part]
        return taken

    @property
    def cell_len(self):
        """The columns that it takes."""
        return sum(map(_cells, self.plain))

    def painted(self, paint):
        """The string for a terminal; `paint` is Console.paint."""
        found = ""
        for style, run in itertools.groupby(zip(self._styles, self.plain), lambda one: one[0]):
            text = "".join(character for _, character in run)
            found += paint(text, style) if style else text
        return found

    def wrap(self, width):
        """[Text]: lines of whole words; a word that is wider than a line is broken."""
        lines, begin, end = [], None, 0
        for word in re.finditer(r"\S+", self.plain):
            if begin is not None and self[begin:word.end()].cell_len > width:
                lines.append(self[begin:end])
                begin = None
            begin, end = word.start() if begin is None else begin, word.end()
            *full, rest = self[begin:end].fold(width)
            lines += full
            begin = end - len(rest.plain)
        return lines if begin is None else [*lines, self[begin:end]]

    def fold(self, width):
        """[Text]: a line of code, broken where the width ends."""
        parts, rest = [], self
        while rest.cell_len > width and len(rest.plain) > 1:
            cut = rest._fitting(width)
            parts.append(rest[:cut])
            rest = rest[cut:]
        return [*parts, rest]

    def _fitting(self, width):
        """How many characters from the first on fit; at least one."""
        used = 0
        for index, character in enumerate(self.plain):
            used += _cells(character)
            if used > width:
                return max(1, index)
        return max(1, len(self.plain))


class Screen:
    """Prints Texts and strings to a stream; colours only for a terminal that wants them."""

    def __init__(self, stream=None, widest=100):
        self._stream = stream or sys.stdout
        console = Console(self._stream)
        self._paint, self._linked = console.paint, console.linked
        self.width = min(shutil.get_terminal_size().columns, widest)
        self.encoding = getattr(self._stream, "encoding", None) or ""

    def print(self, *lines, soft_wrap=False):
        """A line each; without lines an empty one. `soft_wrap`: a line that is too long is left to the
        terminal, so that a path in it can be copied and clicked."""
        for line in lines or ("",):
            line = Text(line) if isinstance(line, str) else line
            fits = soft_wrap or line.cell_len <= self.width
            for part in [line] if fits else _indented(line, self.width):
                kept = part[:len(part.plain.rstrip())]
                self._stream.write(self._linked(kept.painted(self._paint)) + "\n")

    def rule(self, style):
        """A line across the screen."""
        mark = "─" if self.encoding.lower().startswith("utf") else "-"
        self.print(Text(mark * self.width, style))

    def print_beside(self, left, right):
        """Two lists of Texts in columns of equal width."""
        column = (self.width - 2) // 2
        for one, other in _rows(left, right, column):
            gap = " " * (column - one.cell_len + 2)
            self.print(one + Text(gap) + other)


def _indented(line, width):
    """The lines of a wrapped line, all with its indentation."""
    indent = line[:min(len(line.plain) - len(line.plain.lstrip()), width // 2)]
    return [indent + part for part in line.wrap(width - len(indent.plain))]


def _rows(left, right, width):
    """Pairs of Texts that fit a column: lines that belong together begin in one row."""
    for number in range(max(len(left), len(right))):
        parts = [side[number].fold(width) if number < len(side) else [] for side in (left, right)]
        for row in range(max(map(len, parts))):
            yield tuple(part[row] if row < len(part) else Text() for part in parts)
