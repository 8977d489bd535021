"""The exercises in pages: verdicts in node are the command's, and progress goes there and back.

    test_exercises.py BUILD_FOLDER    (build/sim)
"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

from tools import answers, check, console, exercises, trials  # noqa: E402
from tools.reader import progress  # noqa: E402
from tools.site import questions  # noqa: E402
from tools.try_exercise import tools_of  # noqa: E402

NODE = shutil.which("node") or shutil.which("nodejs")
# What readers type where a number or a letter is asked for.
ODD = ("2", "+2", "-1", "007", "0x10", "0X1f", "0b101", "0o17", "0b12", "0x_1f", "1_000", "1__0", "_1",
       "16,384", "1,6384", "16384 bytes", "16 KiB", "16 kb", "4 MB", "3 arrivals", "3 phases.",
       "7 things", "2.5", "2.", "two", "b.", "B)", " a ", "a: yes", "c", "z", "ab", "-0",
       "99999999999999999999", "²", "1 2", "12 bytes and more")
FIELDS = ("status", "expected", "found", "explanation", "wrong", "rule", "where")


def cases(tools, exercise):
    """[{key: value}] of answers to an exercise."""
    right = trials.right_answer(ROOT, exercise, tools)
    found = [right, {}, *(trials.given(ROOT, exercise, one, right) for one in exercise.wrong)]
    found += [one.answer for one in exercise.wrong if exercise.kind == exercises.PREDICT]
    for key in answers.keys(exercise):
        found += [{**right, key: odd} for odd in ("", *ODD)]
        found.append({key: right[key]})
    return found


def in_node(**given):
    """What the page's script says."""
    ended = subprocess.run([NODE, str(Path(__file__).with_name("marking.js")),
                            str(ROOT / "docs/site/marking.js")], input=json.dumps(given),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                           check=False)
    if ended.returncode:
        raise AssertionError(ended.stderr)
    return json.loads(ended.stdout)


class Verdicts(unittest.TestCase):
    def test_every_answer_gets_the_commands_verdict(self):
        tools, chosen = tools_of(ROOT), questions.load(ROOT)
        asked = [(one, given) for one in chosen for given in cases(tools, one)]
        known = json.loads(json.dumps([questions.described(ROOT, tools, one) for one in chosen]))
        told = in_node(rules=questions.rules(), exercises=known, files=[],
                       cases=[{"id": one.id, "given": given} for one, given in asked])["verdicts"]
        self.assertEqual(len(told), len(asked))
        explained = set()
        for (one, given), page in zip(asked, told):
            command = check.check_answer(ROOT, one, tools, given)
            with self.subTest(exercise=one.id, given=given):
                self.assertEqual({name: page[name] for name in FIELDS},
                                 {name: getattr(command, name) for name in FIELDS})
                self.assertEqual([(each["key"], each["given"], each["right"], each["comment"])
                                  for each in page["answers"]],
                                 [(each.key, each.given, each.right, each.comment)
                                  for each in command.answers])
            explained.add((one.id, page["wrong"]))
        wanted = {(one.id, wrong.name) for one in chosen for wrong in one.wrong}
        self.assertEqual(wanted - explained, set())
        print(f"{len(chosen)} exercises, {len(wanted)} explained wrong answers, {len(asked)} answers")


class Progress(unittest.TestCase):
    def command_after(self, text):
        """The texts of the file after the command has read and written it, untouched and changed."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "chapters").mkdir()
            file = progress.path(root)
            file.write_text(text, encoding="utf-8")
            screen = console.Console(sys.stderr)
            kept = progress.load(root)
            progress.change(root, screen, use=kept.use)
            untouched = file.read_text(encoding="utf-8")
            with mock.patch.object(progress, "today", lambda: "2026-01-31"):
                progress.change(root, screen, "1.2", state=progress.PASSED, since=progress.today(),
                                lines=None, remark=None)
                progress.change(root, screen, "1.5", hints=2)
                if kept.state("1.1") == progress.PASSED:
                    progress.change(root, screen, "1.1", state=None, since=None, lines=None, remark=None)
            return untouched, file.read_text(encoding="utf-8")

    def test_a_file_goes_there_and_back(self):
        files = [
            json.dumps({"exercises": {}}),
            json.dumps({"about": "x", "use": "mine", "at": "1.3", "exercises": {
                "1.10": {"state": "passed", "since": "2026-01-02", "lines": "ab", "remark": "é, but"},
                "1.1": {"state": "passed", "since": "2026-01-02", "lines": "cd", "hints": 3},
                "1.5": {"hints": 1}, "2.3": {"state": "skipped"}, "1.8": {"hints": 3}}}),
        ]
        for text, page in zip(files, in_node(rules=questions.rules(), exercises=[], cases=[],
                                             files=files)["progress"]):
            untouched, after = self.command_after(text)
            self.assertEqual(page["untouched"], untouched)
            self.assertEqual(page["after"], after)
            self.assertEqual(self.command_after(page["untouched"]), (untouched, after))

    def test_other_files_are_refused_in_a_sentence(self):
        told = in_node(rules=questions.rules(), exercises=[], cases=[],
                       files=["", "[]", "{", '{"exercises": 3}', "null"])["progress"]
        for one in told:
            self.assertIn("This is not a file of progress: ", one["problem"])
            self.assertIn("Choose chapters/progress.json", one["problem"])


if __name__ == "__main__":
    if NODE is None:
        print("SKIPPED: node is missing; `./workbook setup --browser` installs it")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
