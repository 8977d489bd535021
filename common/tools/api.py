"""The exercise engine, as the command uses it."""

import hashlib
import os
import shutil
import time
from pathlib import Path

from . import answers, check as checking, compose, exercises, private_env, regions, starters
from .errors import WorkbookError
from .exercises import Exercise, find, load_all  # noqa: F401  (part of this interface)
from .verdict import (BROKEN, FAILED, NOT_DONE, PASSED, Answer, Place,  # noqa: F401
                      Verdict)

check = checking.check


def targets(exercise):
    """What has to be built before a check."""
    return list(exercise.programs)


def reader_path(root, exercise):
    """The file that the reader edits."""
    return Path(root) / exercise.reader_file


def reader_line(root, exercise):
    """The line at which an editor should open it; 1 where that can't be told."""
    try:
        return _own(root, exercise)[1]
    except WorkbookError:
        return 1


def reader_region(root, exercise):
    """The lines that the reader has written: between the marks, or the exercise's table of
    answers.toml. Throws WorkbookError when they can't be told from the rest."""
    return list(_own(root, exercise)[0])


def _own(root, exercise):
    """(lines, number of the first)."""
    text = regions.read_text(reader_path(root, exercise))
    if exercise.is_in_code:
        own = regions.reader_region(text, exercise.reader_file, exercise.id)
        return own.lines, own.first
    table = answers.find_table(text, exercise.reader_file, exercise.id)
    return table.lines, table.first


def solution_region(root, exercise, tools=None):
    """The solution's lines and the reader's. A predict exercise's take `tools`: the machine is
    asked."""
    from . import trials
    if exercise.is_in_code:
        return list(exercise.region.body)
    right = trials.right_answer(root, exercise, tools)
    return [f"{key} = {value if isinstance(value, int) else chr(34) + str(value) + chr(34)}"
            for key, value in right.items()]


def starter_region(exercise):
    """What the reader found there at first."""
    return list(exercise.region.starter if exercise.is_in_code else answers.blank_lines(exercise))


def is_not_done(root, exercise):
    """Whether the reader's lines can't run yet: they are the starter's placeholder, or empty."""
    return exercise.is_in_code and checking.is_not_done("\n".join(reader_region(root, exercise)))


def show_bug(root, exercise):
    """The faulty file of a find exercise."""
    return Path(root) / exercise.bug_file


def compose_program(root, chosen, program, tools, on_progress=None):
    """`use mine`: the Composed device code of a program with the reader's lines of `chosen` in it,
    or None when no exercise of them concerns it. Run the prebuilt program in the root with
    Composed.environment(program)."""
    return compose.mine(root, chosen, program, tools, on_progress)


def compose_bug(root, exercise, tools, on_progress=None):
    """The Composed programs of a find exercise, with its fault in them."""
    return compose.bug(root, exercise, tools, on_progress)


def fingerprint(root, exercise):
    """Changes whenever the verdict could: what the reader wrote, and what the exercise asks."""
    digest = hashlib.sha256()
    try:
        digest.update("\n".join(reader_region(root, exercise)).encode())
    except WorkbookError as error:
        digest.update(str(error).encode())
    digest.update(exercise.source.read_bytes())
    digest.update(repr(exercise.region).encode())
    return digest.hexdigest()


def reset(root, exercise):
    """Puts back what the reader found there at first, of this exercise alone; returns the copy of
    the file as it was, or None where nothing changes."""
    root, path = Path(root), reader_path(root, exercise)
    if exercise.is_in_code:
        text = _reset_code(root, exercise, path)
    else:
        text = _reset_answers(root, exercise, path)
    changes = path.exists() and path.read_bytes() != text.encode("utf-8")
    copy = _keep_copy(root, exercise, path) if changes else None
    _write(path, text)
    if exercise.kind == exercises.FIND:
        _write(show_bug(root, exercise),
               starters.generated(root, exercise.chapter)[exercise.bug_file])
    return copy


def _keep_copy(root, exercise, path):
    folder = private_env.folder(root) / "saved"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stamp = time.strftime("%Y-%m-%d-%H%M%S")
        copy = folder / f"{stamp}-{exercise.id}-{path.name}"
        number = 1
        while copy.exists():
            number += 1
            copy = folder / f"{stamp}-{number}-{exercise.id}-{path.name}"
        shutil.copyfile(path, copy)
    except OSError as error:
        raise WorkbookError(f"No copy of {exercise.reader_file} could be kept in {folder}: "
                            f"{error.strerror}. Nothing was changed.") from error
    return copy


def _reset_code(root, exercise, path):
    """The file with this region's starter; the others' lines stay where they can be told."""
    solution = regions.read_text(root / exercise.solution_file)
    found = regions.parse(solution, exercise.solution_file)
    try:
        text = regions.read_text(path)
    except WorkbookError:
        text = ""
    try:  # the marks are whole: only the lines between them change
        own = regions.reader_region(text, exercise.reader_file, exercise.id)
        lines = text.split("\n")
        lines[own.first - 1:own.first - 1 + len(own.lines)] = exercise.region.starter
        return "\n".join(lines)
    except WorkbookError:
        pass
    bodies = exercises.starters(exercises.load_chapter(root, exercise.chapter))
    for region in found:
        if region.id != exercise.id:
            try:
                bodies[region.id] = regions.reader_region(text, exercise.reader_file,
                                                          region.id).lines
            except WorkbookError:
                continue
    return regions.with_bodies(solution, exercise.solution_file, bodies)


def _reset_answers(root, exercise, path):
    own = exercises.load_chapter(root, exercise.chapter)
    blank = starters.blank_answers(own)
    try:
        text = regions.read_text(path)
        table = answers.find_table(text, exercise.reader_file, exercise.id)
        lines = text.split("\n")
        lines[table.first - 1:table.first - 1 + len(table.lines)] = answers.blank_lines(exercise)
        return "\n".join(lines)
    except WorkbookError:
        pass
    # The table is missing or appears twice: a new file, with the other tables unchanged.
    result = blank
    for other in own:
        if other.is_in_code or other.id == exercise.id:
            continue
        try:
            kept = answers.find_table(regions.read_text(path), exercise.reader_file, other.id).lines
        except WorkbookError:
            continue
        result = result.replace("\n".join(answers.blank_lines(other)), "\n".join(kept))
    return result


def _write(path, text):
    """Whole or not at all."""
    temporary = path.with_name(path.name + f".{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise WorkbookError(f"{path} can't be written: {error.strerror}. Nothing was changed."
                            ) from error
