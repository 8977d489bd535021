"""A class with hostile entries, graded in one confinement: all get the expected verdicts, in
each.

    test_grade_confined.py bubblewrap|view|user|limits
"""

import re
import sys
import uuid

import class_maker
import exercise_support
import support
from test_grade import GradeTest, ROOT, api, tools_of
from test_grading_parts import KINDS, LEFT_OUT
from tools import confinement
from tools.errors import WorkbookError

# Of each kind of hostility, what is quick. The slow class of 200 has all.
ENTRIES = ("include", "include_in_other_letters", "include_that_is_spliced", "closes_the_function",
           "shell",
           "fork_bomb", "endless_loop", "sleeping", "endless_printing", "much_memory", "many_bytes",
           "terminal_escapes", "link_to_a_file", "link_to_a_folder", "link_on_the_way",
           "link_instead_of_a_folder", "pipe", "ten_gigabytes", "folder_instead_of_a_file",
           "nested_tables", "odd_name", "name_of_bytes", "formula")
LINE_OF_THE_HOST = re.compile(r"root:[x*!$]")  # of /etc/passwd or /etc/shadow
CONTROL = re.compile(r"[\x00-\x08\x1b\u202e]")
MOST_PRINTED_SECONDS = 60  # on a machine that does much else; without the limit it takes minutes there


class Hostile(GradeTest):
    confinement = ""

    @classmethod
    def make_class(cls):
        exercises = [api.find(api.load_all(ROOT), one) for one in ("1.4", "1.5", "1.6")]
        maker = class_maker.Maker(ROOT, cls.handed_in, exercises, tools_of(ROOT))
        cls.handed_in.mkdir()
        maker.right("right")
        maker.wrong("wrong", 0)
        # A text that this confinement's compiler has to compile; it knows the others, or they are kept.
        maker.with_lines("new", [f"// {uuid.uuid4()}"], class_maker.PASSED)
        for name in ENTRIES:
            maker.hostile(name)
        return maker.expected

    def test_the_class(self):
        without = ",".join(LEFT_OUT[self.confinement])
        try:
            one = confinement.strongest(ROOT, tools_of(ROOT).toolkit, without.split(","))
        except WorkbookError as error:
            self.skipTest(f"{self.confinement} can't be used here: {error}")
        if type(one) is not KINDS[self.confinement]:
            self.skipTest(f"{self.confinement} can't be used here")
        said = self.grade("--workers", "2", dask=False, BW_GRADE_WITHOUT=without)
        self.assert_expected()
        lines = self.lines()
        printing = lines[("endless_printing", "1.4")]
        self.assertEqual(printing["limit"], "output")
        self.assertLess(printing["seconds"], MOST_PRINTED_SECONDS)
        for path in [*self.out.rglob("*.html"), self.out / "verdicts.jsonl", self.out / "table.csv"]:
            text = path.read_text(encoding="utf-8")
            self.assertIsNone(LINE_OF_THE_HOST.search(text), path)
            self.assertIsNone(CONTROL.search(text), path)
        self.assertIsNone(CONTROL.search(said), said)
        report = (self.out / "report.html").read_text(encoding="utf-8")
        self.assertIn(one.name, report)
        self.assertEqual("Warning: " in report, bool(one.warning))


if __name__ == "__main__":
    support.skip_without_toml()
    Hostile.confinement = sys.argv.pop(1)
    exercise_support.main()
