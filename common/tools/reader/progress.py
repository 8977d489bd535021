"""The reader's progress: a small file in chapters/, to be read, edited and committed as they like."""

import contextlib
import fcntl
import json
import os
import time
from dataclasses import dataclass, field

PASSED, SKIPPED, OPEN = "passed", "skipped", "open"
MINE, SOLUTIONS = "mine", "solutions"
HEAD = "What you have done in this workbook. Delete an entry to start an exercise again."


def path(root):
    """Where it is kept."""
    return root / "chapters" / "progress.json"


@dataclass
class Progress:
    """What was read from the file, and what happened since."""

    exercises: dict = field(default_factory=dict)  # id -> {"state", "since", "lines", "hints", "remark"}
    use: str = SOLUTIONS  # whose code `run` runs
    at: str = ""  # the exercise that the reader was at last, or ""
    note: str = ""  # what was wrong with the file, in a sentence

    def state(self, identifier):
        """'passed', 'skipped' or 'open'."""
        state = self._entry(identifier).get("state")
        return state if state in (PASSED, SKIPPED) else OPEN

    def hints(self, identifier):
        """How many hints of an exercise were shown."""
        shown = self._entry(identifier).get("hints", 0)
        return shown if isinstance(shown, int) and 0 <= shown <= 3 else 0

    def lines(self, identifier):
        """The fingerprint of the lines that passed, or ''."""
        return self._entry(identifier).get("lines", "")

    def remark(self, identifier):
        """The remark with which an exercise passed, or ''."""
        remark = self._entry(identifier).get("remark", "")
        return remark if isinstance(remark, str) and self.state(identifier) == PASSED else ""

    def _entry(self, identifier):
        entry = self.exercises.get(identifier)
        return entry if isinstance(entry, dict) else {}


def load(root):
    """The Progress; a file that can't be understood is put aside and said in `note`."""
    place = path(root)
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Progress()
    except (OSError, UnicodeDecodeError) as error:
        return _put_aside(place, str(error)) if isinstance(error, ValueError) else Progress(
            note=f"{place} can't be read ({error.strerror}), so no progress is shown.")
    try:
        data = json.loads(text)
        if not isinstance(data, dict) or not isinstance(data.get("exercises", {}), dict):
            raise ValueError("it holds no table `exercises`")
    except ValueError as error:
        return _put_aside(place, str(error))
    use, at = data.get("use"), data.get("at")
    return Progress(data.get("exercises", {}), use if use in (MINE, SOLUTIONS) else SOLUTIONS,
                    at if isinstance(at, str) else "")


def _put_aside(place, why):
    copy = place.with_name(f"{place.stem}.damaged-{time.strftime('%Y%m%d-%H%M%S')}.json")
    try:
        place.rename(copy)
        kept = f"It is kept as {copy.name} next to it; repair that and rename it back"
    except OSError:
        kept = "It is left as it is"
    return Progress(note=f"{place} can't be understood ({why}). {kept}. Until then no exercise "
                         "counts as passed.")


def go_to(root, console, identifier):
    """Remembers the exercise that the reader is at."""
    if load(root).at != identifier:
        change(root, console, at=identifier)


def change(root, console, *identifiers, **values):
    """Reads the file, sets values of exercises (or, if none is named, `use` and `at`), writes it; None
    removes a value of an exercise.

    Where it can't be written, that is said and the command goes on.
    """
    with _alone(root):
        progress = load(root)
        if progress.note:
            console.say(progress.note)
        if not identifiers:
            progress.use = values.get("use", progress.use)
            progress.at = values.get("at", progress.at)
        for identifier in identifiers:
            _set(progress, identifier, values)
        try:
            _write(root, progress)
        except OSError as error:
            console.say(f"{path(root)} can't be written ({error.strerror}), so this is not "
                        "remembered.")
    return progress


@contextlib.contextmanager
def _alone(root):
    """Keeps two commands from writing the file over each other's."""
    try:
        folder = os.open(path(root).parent, os.O_RDONLY)
    except OSError:
        yield  # the folder is missing: writing says so
        return
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _set(progress, identifier, values):
    entry = progress.exercises.get(identifier)
    entry = dict(entry if isinstance(entry, dict) else {}, **values)
    entry = {key: value for key, value in entry.items() if value is not None}
    if entry:
        progress.exercises[identifier] = entry
    else:
        progress.exercises.pop(identifier, None)


def _write(root, progress):
    ordered = sorted(progress.exercises.items(), key=lambda item: _order(item[0]))
    text = json.dumps({"about": HEAD, "use": progress.use, "at": progress.at,
                       "exercises": dict(ordered)}, indent=1, ensure_ascii=False)
    temporary = path(root).with_suffix(f".{os.getpid()}.new")
    try:
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(path(root))
    finally:
        if temporary.exists():
            temporary.unlink()


def _order(identifier):
    """1.2 before 1.10; any other identifier comes last."""
    parts = identifier.split(".")
    return [int(part) if part.isdigit() else 10**6 for part in parts]


def today():
    """The date, as the file keeps it."""
    return time.strftime("%Y-%m-%d")
