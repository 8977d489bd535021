"""Finds what was handed in and reads it. Nothing of it is trusted: no symbolic link is followed, only
plain files of a bounded size are read, and names are shown without what a terminal would obey."""

import errno
import itertools
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from ..chapters import CHAPTERS
from ..errors import GraderError, WorkbookError
from ..harmless import harmless

MOST_FILE_BYTES = 256 << 10   # a reader's file has some ten thousand
MOST_LIST_BYTES = 4 << 20
MOST_ENTRIES = 10_000         # of a folder that is looked through
MOST_DEPTH = 3                # an archive often puts a folder around the folder
# What alerts are called: what was refused, or looks wrong.
LINK, LARGE, SPECIAL, NAME, SAME_FOLDER, BARE, EMPTY = (
    "symbolic link", "too large", "not a plain file", "odd name", "same folder", "bare repository",
    "nothing handed in")
# By no fault of the submission: its answers stay unchecked.
NOT_READABLE = "not readable"


class Refused(WorkbookError):
    """A file or a folder that is not read; `alert` says why in two words."""

    def __init__(self, alert, message):
        super().__init__(message)
        self.alert = alert


class Missing(WorkbookError):
    """The file does not exist."""


@dataclass(frozen=True)
class Submission:
    """What one reader has handed in: `base`, which the teacher named, and the folder names that lead
    from there to the chapters' folders. With a `problem`, nothing of it is read."""

    name: str
    base: Path
    parts: tuple = ()
    alert: str = ""
    problem: str = ""

    def read(self, relative):
        """The bytes of "chapters/NN_name/file". Throws Missing or Refused."""
        names = Path(relative).parts[1:]
        return read_beneath(self.base, [*self.parts, *names], relative)


def printable(name):
    """A file's name, made harmless."""
    return harmless(os.fsencode(name).decode("utf-8", "surrogateescape").replace("\n", "\\n")
                    .replace("\t", "\\t"))


def read_beneath(base, names, shown):
    """The bytes of a plain file below `base`, on whose way no symbolic link is."""
    folder = _open_folder(base, names[:-1], shown)
    try:
        try:
            file = os.open(names[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
                           dir_fd=folder)
        except OSError as error:
            raise _reason(error, folder, names[-1], shown) from error
    finally:
        os.close(folder)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(SPECIAL, f"{shown} is not a plain file, and was not read.")
        if status.st_size > MOST_FILE_BYTES:
            raise Refused(LARGE, f"{shown} has {status.st_size:,} bytes; at most {MOST_FILE_BYTES:,} "
                          "are read.")
        with os.fdopen(os.dup(file), "rb") as stream:
            data = stream.read(MOST_FILE_BYTES + 1)
    finally:
        os.close(file)
    if len(data) > MOST_FILE_BYTES:  # it grew since, or is of a kind without a size
        raise Refused(LARGE, f"{shown} has more than {MOST_FILE_BYTES:,} bytes, which are all that is "
                      "read.")
    return data


def _open_folder(base, names, shown):
    try:
        folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise GraderError(f"{base} can't be read: {error.strerror}.") from error
    for name in names:
        try:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC,
                            dir_fd=folder)
        except OSError as error:
            reason = _reason(error, folder, name, shown)
            os.close(folder)
            raise reason from error
        os.close(folder)
        folder = inner
    return folder


def _reason(error, folder, name, shown):
    """What is wrong with an entry that could not be opened."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        mode = 0
    if stat.S_ISLNK(mode):
        return Refused(LINK, f"{shown}: {printable(name)} is a symbolic link, and none is followed.")
    if error.errno == errno.ENOENT:
        return Missing(f"{shown} was not handed in.")
    if error.errno in (errno.ENOTDIR, errno.ENXIO):
        return Refused(SPECIAL, f"{shown}: {printable(name)} is not what it should be (a folder, "
                                "or a plain "
                       "file).")
    return GraderError(f"{shown} can't be read: {error.strerror}.")


def find(place):
    """(submissions, notes) of a folder of submissions or of a file that lists them."""
    place = Path(place)
    try:
        is_folder = stat.S_ISDIR(place.stat().st_mode)
    except OSError as error:
        raise WorkbookError(f"{place} can't be read: {error.strerror}. Name a folder that holds the "
                            "submissions, or a text file that lists them.") from error
    found, notes = _of_folder(place) if is_folder else _of_list(place)
    if not any(one.parts or not one.problem for one in found):
        tried = f"; found there: {', '.join(one.name for one in found[:5])}" if found else ""
        raise WorkbookError(
            f"{place} holds no submission{tried}. A submission is a folder of a reader's: it has "
            f"`chapters/` in it, or is that folder itself ({CHAPTERS[0].name} and so on).")
    return _named(found), notes


def _of_folder(place):
    found, notes = [], []
    with os.scandir(place) as entries:
        for entry in sorted(entries, key=lambda one: os.fsencode(one.name)):
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                found.append(Submission(printable(entry.name), place, alert=LINK,
                                        problem="It is a symbolic link, and none is followed. A list "
                                        "of submissions may name the folder that it leads to."))
            elif entry.is_dir(follow_symlinks=False):
                found.append(_located(place, [entry.name], printable(entry.name)))
            else:
                notes.append(f"{printable(entry.name)} is not a folder, and is left out")
    return found, notes


def _of_list(place):
    if place.stat().st_size > MOST_LIST_BYTES:
        raise WorkbookError(f"{place} is too large for a list of submissions (at most "
                            f"{MOST_LIST_BYTES:,} bytes): one path a line.")
    try:
        lines = place.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise WorkbookError(f"{place} is not a list of submissions: it is not UTF-8 text. A list has "
                            "one path a line.") from error
    found, notes, seen = [], [], {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        path = place.parent / text
        try:
            status = path.stat()
        except (OSError, ValueError) as error:
            raise WorkbookError(f"{place}:{number}: {printable(text)} can't be read: "
                                f"{getattr(error, 'strerror', error)}. Correct the line, or put a # "
                                "before it.") from error
        if not stat.S_ISDIR(status.st_mode):
            raise WorkbookError(f"{place}:{number}: {printable(text)} is not a folder. A "
                                "submission is one "
                                "that holds a reader's `chapters/`.")
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            notes.append(f"{printable(text)} (line {number}) is the same folder as "
                         f"{seen[identity]}, and is "
                         "graded once")
            continue
        name = printable(path.name if path.name not in ("", "..", "chapters") else
                         path.resolve().parent.name if path.name == "chapters" else path.resolve().name)
        seen[identity] = name
        found.append(_located(path, [], name))
    return found, notes


def _located(base, parts, name):
    """The Submission in a folder: where its chapters are."""
    try:
        inner = _chapters(base, list(parts), MOST_DEPTH)
    except (Refused, Missing) as error:
        return Submission(name, base, (), getattr(error, "alert", EMPTY), str(error))
    except (GraderError, OSError) as error:
        return Submission(name, base, (), NOT_READABLE,
                          f"It can't be read: {getattr(error, 'strerror', '') or error}")
    if inner is None:
        return Submission(name, base, (), EMPTY, "It holds no chapters: neither `chapters/` nor a "
                                                 "folder "
                          f"like {CHAPTERS[0].name}.")
    # A submission that is named by its chapters' folder has no parts of its own.
    return Submission(name, base, tuple(inner) or (".",))


def _chapters(base, parts, depth):
    """The names that lead to the folder of chapters, or None."""
    folder = _open_folder(base, parts, "it")
    try:
        with os.scandir(folder) as listing:
            entries = {entry.name: entry for entry in itertools.islice(listing, MOST_ENTRIES)}
            kinds = {name: (entry.is_symlink(), entry.is_dir(follow_symlinks=False))
                     for name, entry in entries.items()}
    finally:
        os.close(folder)
    if kinds.get("chapters", (False, False))[0]:
        raise Refused(LINK, "chapters is a symbolic link, and none is followed.")
    if kinds.get("chapters", (False, False))[1]:
        return [*parts, "chapters"]
    if any(chapter.name in kinds for chapter in CHAPTERS):
        return parts
    if {"HEAD", "objects", "refs"} <= set(kinds):
        raise Refused(BARE, "It is a bare git repository. Clone it (`git clone`), and hand the "
                            "clone in: "
                      "git itself is not run on strangers' repositories.")
    seen = [name for name in kinds if not name.startswith(".")]
    if len(seen) == 1 and kinds[seen[0]][1] and depth > 0:
        return _chapters(base, [*parts, seen[0]], depth - 1)
    return None


def _named(found):
    """The submissions with names that differ."""
    counts, named = {}, []
    taken = {one.name for one in found}
    for one in found:
        number = counts[one.name] = counts.get(one.name, 0) + 1
        name = one.name
        while number > 1 and name in taken:
            name = f"{one.name} ({number})"
            number += 1
        taken.add(name)
        named.append(replace(one, name=name))
    return named
