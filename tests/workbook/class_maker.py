"""Makes a class: submissions of readers who are right, wrong in every kept way, empty-handed, careless
or hostile, and what the verdict on each of their answers has to be.

    class_maker.py FOLDER [--count 200] [--exercises 1.3,1.4,1.6] [--seed 1]

writes FOLDER/<submission>/chapters/... and FOLDER.expected.json: {submission: {exercise: [status, name
of the wrong answer]}}. The same seed gives the same class. The programs of predict exercises have to be
built.
"""

import argparse
import json
import os
import random
import shutil
import sys
from pathlib import Path

import support
from tools import api, exercises, regions, starters, trials
from tools.chapters import CHAPTERS
from tools.exercises import FIND
from tools.try_exercise import tools_of

PASSED, FAILED, NOT_DONE, BROKEN, OVER = "passed", "failed", "not_done", "broken", "over_limits"
SPARSE_BYTES = 10 << 30

# Lines for a region of device code, and the status that they get.
HOSTILE_LINES = {
    "include": (['#include "/etc/passwd"'], BROKEN),
    "include_after_form_feed": (['\f#include "/etc/passwd"'], BROKEN),
    "include_in_other_letters": (['%:include "/etc/passwd"'], BROKEN),
    "include_behind_a_literal": (["int a = 'a'; (void)a; a'\"' ; \" /* \"", '#include "/etc/passwd"',
                                  '" */ ";'], BROKEN),
    "include_that_is_spliced": (["%\\", ':include "/etc/passwd"'], BROKEN),
    "shell": (['system("cat /etc/passwd");'], BROKEN),
    "fork_bomb": (["while (true) fork();"], BROKEN),
    "macro_bomb": (["#define A x x x x x x x x", "#define B A A A A A A A A", "B"], BROKEN),
    "closes_the_function": (["}", "__global__ void mine() {"], BROKEN),
    "closes_it_in_other_letters": (["%>", "__global__ void mine() <%"], BROKEN),
    "template_recursion": (["auto more = [](auto self, auto x) -> int { return self(self, [x] { "
                            "return x; }); };",
                            "volatile int kept = more(more, 0);"], BROKEN),
    "endless_loop": (["for (volatile uint32_t i = 0;;) i = 1;"], OVER),
    "sleeping": (["while (true) __nanosleep(1000000);"], OVER),
    "endless_printing": (['while (true) printf("again and again and again and again\\n");'], OVER),
    "much_memory": (["static __device__ volatile char block[size_t{1} << 40];",
                     "block[threadIdx.x] = 1;"], OVER),
    "many_bytes": (["// " + "x" * 70] * 400, OVER),
}
SYNTAX_ERROR = ["no_such_name = 1;"]


def _stripped(lines):
    return [line.strip() for line in lines]


class Maker:
    """Writes submissions of some exercises below a folder; `expected` is what they have to get."""

    def __init__(self, root, folder, exercises, tools):
        self.root, self.folder, self.exercises = Path(root), Path(folder), exercises
        self.expected = {}
        self._files = {}
        for chapter in CHAPTERS:
            self._files.update(starters.generated(root, chapter.name))
        self._right = {one.id: trials.right_answer(root, one, tools) for one in exercises}
        self.code = [one for one in exercises if one.is_in_code]
        self.asked = [one for one in exercises if not one.is_in_code]

    def choices(self, exercise):
        """[(answer, [status, wrong])]: the starter, the right one, each kept wrong one."""
        starter = exercise.region.starter if exercise.is_in_code else {}
        found = [(starter, [NOT_DONE, ""]), (self._right[exercise.id], [PASSED, ""])]
        for one in exercise.wrong:
            given = trials.given(self.root, exercise, one, self._right[exercise.id])
            # The plain way of an improve exercise is wrong, and is what its reader begins with.
            is_starter = exercise.is_in_code and _stripped(given) == _stripped(starter)
            found.append((given, [NOT_DONE, ""] if is_starter else [FAILED, one.name]))
        return found

    def submission(self, name, chosen, expected=None):
        """Writes a submission with the answers of `chosen` ({id: (answer, verdict)}), starters else."""
        place = self.folder / name
        texts = {}
        for one in self.exercises:
            texts.setdefault(one.reader_file, []).append(one)
        for path, own in texts.items():
            target = place / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self._text(path, own, chosen), encoding="utf-8")
        self.expected[name] = {one.id: chosen[one.id][1] if one.id in chosen
                               else [NOT_DONE, ""] for one in self.exercises}
        self.expected[name].update(expected or {})
        return place

    def _text(self, path, own, chosen):
        if own[0].is_in_code:
            solution = Path("solutions", *path.parts[1:])
            bodies = exercises.starters(exercises.load_chapter(self.root, own[0].chapter))
            bodies.update({one.id: list(chosen[one.id][0]) for one in own if one.id in chosen})
            return regions.with_bodies(regions.read_text(self.root / solution), solution, bodies)
        text = self._files[path]
        for one in own:
            values = chosen[one.id][0] if one.id in chosen else {}
            blank = starters.blank_table(one)
            filled = blank
            for key, value in values.items():
                filled = filled.replace(f'\n{key} = ""', f'\n{key} = "{value}"')
            text = text.replace(blank, filled)
        return text

    def everybody(self, name, status):
        """The results of a submission in which every exercise is alike."""
        self.expected[name] = {one.id: [status, ""] for one in self.exercises}

    # --- those who are right, wrong, or in between ---------------------------------------------

    def right(self, name):
        return self.submission(name, {one.id: (self._right[one.id], [PASSED, ""])
                                      for one in self.exercises})

    def wrong(self, name, number):
        """The wrong answer of that number in each exercise, if it has that many."""
        return self.submission(name, {
            one.id: self.choices(one)[-len(one.wrong):][number % len(one.wrong)]
            for one in self.exercises})

    def mixed(self, name, chance):
        return self.submission(name, {one.id: chance.choice(self.choices(one))
                                      for one in self.exercises})

    def empty(self, name):
        (self.folder / name).mkdir(parents=True)
        self.everybody(name, NOT_DONE)

    # --- the careless ---------------------------------------------------------------------------

    def with_lines(self, name, lines, status):
        """Those lines before the right ones, in the first exercise in code."""
        one = self.code[0]
        return self.submission(name, {one.id: ([*lines, *self._right[one.id]], [status, ""])})

    def without_mark(self, name):
        one = self.code[0]
        place = self.submission(name, {}, {one.id: [BROKEN, ""]}) / one.reader_file
        text = place.read_text(encoding="utf-8")
        place.write_text(text.replace(f"// <<< exercise {one.id}\n", "\n"), encoding="utf-8")

    def not_text(self, name):
        one = self.code[0]
        place = self.submission(name, {}, self._of_file(one, BROKEN)) / one.reader_file
        place.write_bytes(b"\xff\xfe\x00" + bytes(range(256)))

    def _of_file(self, exercise, status):
        return {one.id: [status, ""] for one in self.exercises
                if one.reader_file == exercise.reader_file}

    # --- the hostile ----------------------------------------------------------------------------

    def hostile(self, name):
        """One of the ways of _HOSTILE; `name` is its name."""
        if name in HOSTILE_LINES:
            self.with_lines(name, *HOSTILE_LINES[name])
            return
        getattr(self, f"_{name}")(name)

    def _instead(self, name, exercise, status=BROKEN):
        """A submission without the exercise's file; returns that file's path."""
        place = self.submission(name, {}, self._of_file(exercise, status)) / exercise.reader_file
        place.unlink()
        return place

    def _link_to_a_file(self, name):
        self._instead(name, self.code[0]).symlink_to("/etc/passwd")

    def _link_to_a_folder(self, name):
        place = self.submission(name, {})
        shutil.rmtree(place / "chapters")
        (place / "chapters").symlink_to(self.root / "solutions")
        self.everybody(name, BROKEN)

    def _link_on_the_way(self, name):
        place = self.submission(name, {})
        chapter = place / "chapters" / self.exercises[0].chapter
        shutil.rmtree(chapter)
        chapter.symlink_to(self.root / "chapters" / self.exercises[0].chapter)
        self.expected[name].update({one.id: [BROKEN, ""] for one in self.exercises
                                    if one.chapter == self.exercises[0].chapter})

    def _link_instead_of_a_folder(self, name):
        (self.folder / name).symlink_to(self.root)
        self.everybody(name, BROKEN)

    def _pipe(self, name):
        os.mkfifo(self._instead(name, self.code[0]))

    def _ten_gigabytes(self, name):
        with open(self._instead(name, self.code[0]), "wb") as file:
            file.truncate(SPARSE_BYTES)

    def _folder_instead_of_a_file(self, name):
        self._instead(name, self.code[0]).mkdir()

    def _nested_tables(self, name):
        if not self.asked:
            return
        one = self.asked[0]
        place = self.submission(name, {}, {one.id: [BROKEN, ""]}) / one.reader_file
        lines = place.read_text(encoding="utf-8").split("\n")
        lines.insert(lines.index(f'["{one.id}"]') + 1, "x = " + "[" * 5000)
        place.write_text("\n".join(lines), encoding="utf-8")

    def _terminal_escapes(self, name):
        one = next((one for one in self.asked if one.kind == FIND), None)
        if one is None:
            return
        self.submission(name, {one.id: ({"line": "\\u001b[31m\\u009b1m", "cause": "\\u001b]0;x\\u0007"},
                                        [FAILED, ""])})

    def _odd_name(self, name):
        odd = "\x1b[31mred\x07\u202e"
        self.submission(odd, {})
        self.expected["\\x1b[31mred\\x07\\u202e"] = self.expected.pop(odd)

    def _name_of_bytes(self, name):
        self.submission("tmp", {})
        os.rename(os.fsencode(self.folder / "tmp"), os.fsencode(self.folder) + b"/\xff\xfe")
        self.expected["\\xff\\xfe"] = self.expected.pop("tmp")

    def _formula(self, name):
        self.submission("=cmd()", {})


HOSTILE = (*HOSTILE_LINES, "link_to_a_file", "link_to_a_folder", "link_on_the_way",
           "link_instead_of_a_folder", "pipe", "ten_gigabytes", "folder_instead_of_a_file",
           "nested_tables", "terminal_escapes", "odd_name", "name_of_bytes", "formula")


def make(root, folder, exercises, count=200, seed=1):
    """A class of `count` submissions; returns what each has to get."""
    maker, chance = Maker(root, folder, exercises, tools_of(root)), random.Random(seed)
    maker.folder.mkdir(parents=True)
    maker.right("right")
    maker.submission("as_it_came", {})
    maker.empty("empty")
    maker.with_lines("syntax_error", SYNTAX_ERROR, BROKEN)
    maker.without_mark("without_mark")
    maker.not_text("not_text")
    for name in HOSTILE:
        maker.hostile(name)
    for number in range(max(len(one.wrong) for one in exercises)):
        maker.wrong(f"wrong_{number}", number)
    maker.right("twin_of_right")
    number = 0
    while len(maker.expected) < count:
        maker.mixed(f"student_{number:03d}", chance)
        number += 1
    return maker.expected


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--exercises", default="1.3,1.4,1.5,1.6,1.7")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    known = api.load_all(support.ROOT)
    wanted = [api.find(known, text) for text in chosen.exercises.split(",")]
    expected = make(support.ROOT, chosen.folder, wanted, chosen.count, chosen.seed)
    chosen.folder.with_name(chosen.folder.name + ".expected.json").write_text(
        json.dumps(expected, indent=1), encoding="utf-8")
    print(f"{len(expected)} submissions in {chosen.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
