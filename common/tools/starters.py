"""Generates the readers' files of chapters/ from the solutions.

    python3 -m tools.starters --write     (with common/ on PYTHONPATH)
    python3 -m tools.starters --check     status 1 when a file is not what it would be

For each chapter: the files with marked regions, with the exercises' starters in them; answers.toml
without answers; bugs/, the faulty files of the find exercises. Nothing else is touched.
"""

import argparse
import sys
import textwrap
from pathlib import Path

from . import exercises, patches, regions
from .chapters import CHAPTERS
from .errors import WorkbookError

WIDTH = 100


def solution_files(root, chapter):
    """The chapter's code files, relative to its folder."""
    folder = Path(root) / "solutions" / chapter
    return sorted(path.relative_to(folder) for path in folder.rglob("*")
                  if path.suffix in (".cuh", ".cu", ".hpp") and path.is_file())


def generated(root, chapter):
    """{path relative to the root: text} of everything that is generated for a chapter."""
    root = Path(root)
    own = exercises.load_chapter(root, chapter)
    files, found = {}, {}
    for name in solution_files(root, chapter):
        shown = f"solutions/{chapter}/{name}"
        text = regions.read_text(root / shown)
        marked = regions.parse(text, shown)
        for region in marked:
            if region.id in found:
                raise regions.RegionError(shown, region.first, f"exercise {region.id} has a region "
                                          f"in {found[region.id]} already.")
            found[region.id] = shown
            _check_is_described(own, region, shown)
        if marked:
            files[Path("chapters") / chapter / name] = regions.with_bodies(text, shown,
                                                                          exercises.starters(own))
    for exercise in own:
        if exercise.kind == exercises.FIND:
            faulty = patches.shown(root / "solutions" / chapter, exercise.patch, hides=True)
            files[exercise.bug_file] = faulty.text
    answers = blank_answers(own)
    if answers:
        files[Path("chapters") / chapter / exercises.ANSWERS_FILE] = answers
    return files


def _check_is_described(own, region, shown):
    if not any(exercise.id == region.id and exercise.is_in_code for exercise in own):
        raise regions.RegionError(shown, region.first, f"no file exercises/{region.id}_....toml "
                                  f"describes exercise {region.id}.")


def blank_answers(own):
    """The text of a chapter's answers.toml, or "" where nothing is to be answered."""
    asked = [exercise for exercise in own if not exercise.is_in_code]
    if not asked:
        return ""
    number = int(asked[0].chapter[:2])
    head = [f"# Your answers to the questions of chapter {number}: write them between the quotes,",
            f'# then let `./workbook check {number}` look at them.']
    return "\n".join(head) + "\n" + "".join(blank_table(exercise) for exercise in asked)


def blank_table(exercise):
    """The part of answers.toml that asks one exercise."""
    lines = ["", _comment(f"{exercise.title}. {exercise.goal}"), f'["{exercise.id}"]']
    if exercise.kind == exercises.FIND:
        lines += [_comment(f"The file is {exercise.bug_file}. In which line is the fault?"),
                  'line = ""', _comment("Why is it one? The letter of the cause:"),
                  *[_comment(cause, "  ") for cause in exercise.causes], 'cause = ""']
    for question in exercise.questions:
        kind = {exercises.INTEGER: "a number", exercises.TEXT: "a word",
                exercises.CHOICE: "a letter"}[question.answer]
        lines += [_comment(f"{question.ask} ({kind})"),
                  *[_comment(option, "  ") for option in question.options],
                  f'{question.key} = ""']
    return "\n".join(lines) + "\n"


def _comment(text, indent=""):
    return "\n".join(textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent="# " + indent,
                                   subsequent_indent="# " + indent, break_on_hyphens=False))


def stale(root):
    """[(path, what is wrong)] of generated files that aren't what they would be."""
    root, found = Path(root), []
    for chapter in CHAPTERS:
        files = generated(root, chapter.name)
        for path, text in files.items():
            try:
                if (root / path).read_text(encoding="utf-8") != text:
                    found.append((path, "differs from what the solution gives"))
            except OSError:
                found.append((path, "is missing"))
        for path in _generated_before(root, chapter.name):
            if path not in files:
                found.append((path, "belongs to no exercise any more"))
    return found


def _generated_before(root, chapter):
    """The files in the places where files are generated."""
    folder = root / "chapters" / chapter
    places = [path for path in folder.rglob("*")
              if path.suffix in (".cuh", ".cu", ".hpp") or path.name == exercises.ANSWERS_FILE]
    return sorted(path.relative_to(root) for path in places if path.is_file())


def write(root):
    """Brings all generated files up to date; returns the paths that changed."""
    root, changed = Path(root), []
    for path, _ in stale(root):
        target = root / path
        text = generated(root, path.parts[1]).get(path)
        if text is None:
            target.unlink()
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        changed.append(path)
    return changed


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python3 -m tools.starters", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    chosen = parser.parse_args(arguments)
    try:
        if chosen.write:
            for path in write(chosen.root):
                print(f"written: {path}")
            return 0
        found = stale(chosen.root)
    except WorkbookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for path, what_is_wrong in found:
        print(f"{path}: {what_is_wrong}.", file=sys.stderr)
    if found:
        print("Run `python3 -m tools.starters --write` in common/.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
