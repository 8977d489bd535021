"""Whole programs with readers' lines in them: all passed exercises (`use mine`), or the faulty file
of a find exercise."""

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import check, device_code, patches, prebuilt, regions, reports, runs
from .errors import WorkbookError


@dataclass
class Composed:
    """Device code of programs. A context manager: the files go at its end."""

    root: Path
    folder: Path
    focus: str = ""                 # the files whose lines reports shall name (BW_SIM_FOCUS)
    programs: dict = field(default_factory=dict)

    def files_of(self, program):
        return self.programs[program]

    def environment(self, program):
        """The settings with which the prebuilt program (started in the root) runs this code."""
        files = ":".join(os.path.relpath(file, self.root) for file in self.files_of(program))
        settings = {"BW_SIM_PTX": files}
        if self.focus:
            settings["BW_SIM_FOCUS"] = self.focus
        return settings

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


def bug(root, exercise, tools, on_progress=None):
    """The programs of a find exercise with its fault in them."""
    root = Path(root).resolve()
    focus = reports.FAULTY + exercise.bug_file.name
    ready = prebuilt.bug(root, exercise)
    if ready:
        return Composed(root, _work_folder(root), focus, ready)
    shown = patches.shown(root / "solutions" / exercise.chapter, exercise.patch)
    text = f'#line 1 "{root / exercise.bug_file}"\n' + shown.text
    replaced = [device_code.Replaced(exercise.solution_file, text, exercise.bug_file,
                                     reports.FAULTY)]
    return composed(root, tools, exercise.programs, replaced, on_progress, focus)


def mine(root, chosen, program, tools, on_progress=None):
    """A program with the reader's lines of all exercises of `chosen` that concern it; None when
    none does."""
    root, by_file = Path(root).resolve(), {}
    for exercise in chosen:
        if exercise.is_in_code:
            text = regions.read_text(root / exercise.reader_file)
            own = regions.reader_region(text, exercise.reader_file, exercise.id)
            by_file.setdefault(exercise.solution_file, []).append((exercise, own))
    replaced = [check.composed_file(root, regions_of_file) for regions_of_file in by_file.values()]
    sources = [unit.source.relative_to(root) for unit in device_code.units(root, program)]
    replaced = [file for file in replaced
                if any(device_code.includes(root, source, [file.name]) for source in sources)]
    if not replaced:
        return None
    return composed(root, tools, [program], replaced, on_progress,
                    ":".join(file.shown for file in replaced))


def composed(root, tools, programs, replaced, on_progress=None, focus=""):
    """Programs with the files of `replaced` in place of their own. A context manager."""
    made = Composed(root, _work_folder(root), focus)
    try:
        if on_progress:
            on_progress("compiling")
        compiled = device_code.compile_to_ptx(root, tools, programs, replaced, made.folder)
        for program, result in compiled.items():
            if not result.files:
                raise WorkbookError(_why(result, replaced), details=result.errors)
            made.programs[program] = result.files
    except BaseException:
        made.__exit__()
        raise
    return made


def _work_folder(root):
    runs.folder(root).mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="mine-", dir=runs.folder(root)))


def _why(compiled, replaced):
    for file in replaced:
        error = reports.first_error(compiled.errors, file.reader_file)
        if error and error.line:
            return f"{file.reader_file}:{error.line}: it does not compile: {error.message}."
    return "The composed program does not compile; the compiler's words are above."
