"""Lines of the tree's sources, for what a recording names."""

import re


class Sources:
    """Lines of the tree's sources, found by the end of a path that a compiler was given."""

    def __init__(self, root):
        self._root, self._lines = root, {}

    def find(self, frame):
        """The path relative to the root, or the file's name."""
        match = re.search(r"(?:^|/)((?:solutions|chapters|common|tests)/.*)$", frame.path)
        return match.group(1) if match else frame.file

    def line(self, frame):
        path = self.find(frame)
        if path not in self._lines:
            place = self._root / path if self._root is not None else None
            try:
                self._lines[path] = place.read_text(encoding="utf-8").split("\n")
            except (OSError, AttributeError):
                self._lines[path] = []
        lines = self._lines[path]
        return lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else ""
