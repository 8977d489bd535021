"""The verdicts on disk: one JSON object a line, appended as they come, in order at the end.

docs/verdicts.md describes a line. Whatever ends the command leaves whole lines and at most one torn one,
which the next run drops.
"""

import contextlib
import fcntl
import json
import os
from dataclasses import fields
from pathlib import Path

from ..errors import WorkbookError
from ..verdict import Verdict
from . import plan

VERDICTS = "verdicts.jsonl"


class Store:
    """The verdicts of one folder of results. A context manager: one command at a time writes there."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self._path = self.folder / VERDICTS
        self._lines = {}   # (submission, exercise) -> line as a dictionary
        self._by_key = {}  # key -> verdict, for submissions with the same answer
        self._stream = None
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = self._stack.enter_context(open(self.folder / ".lock", "w", encoding="utf-8"))
            self._alone(lock)
            self._read()
            self._stream = self._stack.enter_context(open(self._path, "ab", buffering=0))
        except OSError as error:
            self._stack.close()
            raise WorkbookError(f"{error.filename or self.folder} can't be written: "
                                f"{error.strerror}. `--out` "
                                "names a folder for the results.") from error
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _alone(self, lock):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkbookError(f"Another `./workbook grade` writes into {self.folder}. Wait for "
                                "it, or name "
                                "another folder with --out.") from None

    def _read(self):
        """What earlier runs have found; a torn or foreign line is cut off with all that follows."""
        whole = 0
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        for line in data.splitlines(keepends=True):
            if not line.endswith(b"\n") or not self._take(line):
                break
            whole += len(line)
        if whole < len(data):
            os.truncate(self._path, whole)

    def _take(self, line):
        try:
            entry = json.loads(line)
            if entry["schema"] != plan.SCHEMA:
                return False
            self._keep(entry)
        except (ValueError, KeyError, TypeError):
            return False
        return True

    def _keep(self, entry):
        self._lines[(entry["submission"], entry["id"])] = entry
        self._by_key.setdefault(entry["key"], entry)

    def has(self, cell):
        """Whether this very answer has its verdict."""
        entry = self._lines.get((cell.submission, cell.exercise))
        return entry is not None and entry["key"] == cell.key

    def verdict_of(self, key):
        """The verdict that another submission got for the same answer, or None."""
        entry = self._by_key.get(key)
        return None if entry is None else {name: value for name, value in entry.items()
                                           if name in _VERDICT}

    def line(self, cell):
        """The entry of a cell, or None."""
        return self._lines.get((cell.submission, cell.exercise)) if self.has(cell) else None

    def add(self, cells, verdict, version):
        """Appends the verdict for all submissions that gave this answer."""
        entries = [_entry(cell, verdict, version) for cell in cells]
        rest = memoryview("".join(_line(entry) for entry in entries).encode())
        before = os.fstat(self._stream.fileno()).st_size
        try:
            while rest:
                rest = rest[self._stream.write(rest):]
        except OSError as error:
            with contextlib.suppress(OSError):
                os.truncate(self._path, before)
            raise WorkbookError(f"{self._path} can't be written: {error.strerror}. The verdicts so "
                                "far are kept "
                                "there; run the same command again when there is room.") from error
        for entry in entries:
            self._keep(entry)

    def finish(self, cells):
        """Rewrites the file: a line for each cell that has a verdict, in their order."""
        text = "".join(_line(self.line(cell)) for cell in cells if self.has(cell))
        write_whole(self._path, text)
        self._lines = {(cell.submission, cell.exercise): self.line(cell) for cell in cells
                       if self.has(cell)}


_VERDICT = frozenset(field.name for field in fields(Verdict))


def _entry(cell, verdict, version):
    entry = {"schema": plan.SCHEMA, "submission": cell.submission, "key": cell.key, "version": version,
             "alert": cell.alert, **verdict}
    if cell.notes:
        entry["notes"] = list(cell.notes)
    return json.loads(_line(entry))  # as it would be read


def _line(entry):
    # Text that is not UTF-8 was refused before; what a name can't show was replaced.
    return json.dumps(entry, ensure_ascii=True) + "\n"


def write_whole(path, text):
    """Writes a file whole or not at all."""
    temporary = path.with_name(path.name + ".new")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise WorkbookError(f"{path} can't be written: {error.strerror}. What was written before "
                            "is kept; run "
                            "the same command again when that is mended.") from error
