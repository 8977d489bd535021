"""The list of legal instruction forms: its expansion, its packing, and what the simulator does with each
form, compared with kept numbers. The answers of ptxas themselves are compared by the slow test."""

import itertools
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

from tools import legal_forms, toolkit  # noqa: E402
from tools.site import form_page  # noqa: E402

KEPT = Path(__file__).with_name("executed_forms.txt")
# The table of the test that runs them at both levels of strictness and under the race detector.
NEWER = Path(__file__).parent / "diagnosis" / "newer_forms.inc"
PROGRAM = None


def table(forms, found):
    """The kept text: a line for each family and target."""
    lines = ["# Legal instruction forms by family and target, and what the simulator does with them."]
    for (family, target), row in legal_forms.counted(forms, found).items():
        if any(row.values()):
            lines.append(f"{target} {family}: " + ", ".join(
                f"{row[status]} {status}" for status in legal_forms.STATUSES))
    return "\n".join(lines) + "\n"


def opcodes_of_table():
    """The opcodes of newer_forms.inc, with each choice of their alternatives."""
    opcodes = set()
    for pattern in re.findall(r'^{Kind::\w+, "([^"]*)"', NEWER.read_text(encoding="utf-8"), re.M):
        parts = re.split(r"{([^}]*)}", pattern)
        choices = [part.split("|") if number % 2 else [part] for number, part in enumerate(parts)]
        opcodes.update("".join(choice) for choice in itertools.product(*choices))
    return opcodes


class Expansion(unittest.TestCase):
    def expand(self, *lines):
        return [form.text() for form in legal_forms.expand("\n".join(("== f", *lines)))]

    def test_groups_combine_in_order(self):
        self.assertEqual(self.expand("add [x=rn|rz] type=f32|f64 : $, $, $"), [
            "add.f32 %R1, %R1, %R1", "add.f64 %D1, %D1, %D1", "add.rn.f32 %R1, %R1, %R1",
            "add.rn.f64 %D1, %D1, %D1", "add.rz.f32 %R1, %R1, %R1", "add.rz.f64 %D1, %D1, %D1"])

    def test_names_and_types_by_position(self):
        self.assertEqual(self.expand("@t = u16|s64", "cvt to=@t from=@t : $0, $1"), [
            "cvt.u16.u16 %H1, %H1", "cvt.u16.s64 %H1, %D1", "cvt.s64.u16 %D1, %H1",
            "cvt.s64.s64 %D1, %D1"])

    def test_vectors_follow_their_modifier(self):
        self.assertEqual(self.expand("ld [v2] b32 : <$>, [D]"),
                         ["ld.b32 %R1, [%D1]", "ld.v2.b32 {%R1, %R2}, [%D1]"])

    def test_packed_answers_are_unpacked(self):
        for numbers in ([], [0], [None, None, 3, 3, 3, None, 0], [5] * 40):
            self.assertEqual(legal_forms.unpacked(legal_forms.packed(numbers)), numbers)


class Simulator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.forms, cls.answers = legal_forms.kept()
        cls.found = legal_forms.statuses(PROGRAM, cls.forms, cls.answers)

    def test_the_numbers_are_the_kept_ones(self):
        self.assertEqual(table(self.forms, self.found), KEPT.read_text(encoding="utf-8"),
                         f"If this is meant: {Path(__file__).name} {PROGRAM} --write")

    def test_the_version_of_a_new_form_is_named(self):
        """The table in isa/ptx_version.cpp and ptxas agree, for each form that is not executed."""
        notes = legal_forms.introduced(PROGRAM, [form.opcode for form in self.forms])
        for target, words in self.found.items():
            for form, word, first, note in zip(self.forms, words, self.answers[target], notes):
                if word in ("refused", "unknown"):
                    expected = legal_forms.VERSIONS[first] if first else "-"
                    self.assertEqual(note, expected, f"{form.opcode} on {target}")

    def test_each_executed_form_since_9_1_is_in_the_table_of_levels_and_accesses(self):
        newer = {form.opcode for target, words in self.found.items()
                 for form, word, first in zip(self.forms, words, self.answers[target])
                 if word == "executed" and first}
        self.assertEqual(sorted(newer), sorted(opcodes_of_table()))

    def test_the_newest_version_is_that_of_the_newest_toolkit(self):
        header = (ROOT / "common" / "simulator" / "isa" / "ptx_version.hpp").read_text(encoding="utf-8")
        major, minor = toolkit.SUPPORTED["newest_ptx"].split(".")
        self.assertIn(f"kNewestPtxVersion = {{{major}, {minor}}};", header)
        self.assertEqual(legal_forms.VERSIONS[-1], toolkit.SUPPORTED["newest_ptx"])

    def test_the_page_has_every_family_and_adds_up(self):
        text = form_page.text(self.forms, self.answers, self.found)
        for family in {form.family for form in self.forms}:
            self.assertIn(f"| {family} |", text)
        total = sum(1 for number in self.answers["sm_100a"] if number is not None)
        self.assertRegex(text, rf"\| \*\*all\*\* \| \d+ \| [\d.]+ % \| {total} \|")

    def test_the_page_has_every_line_and_version(self):
        """The numbers of the last section add up to those of the first, and no line is missing."""
        text = form_page.text(self.forms, self.answers, self.found)
        rows = re.findall(r"^\| `(.*)` \| (9\.\d) \| (.*) \| (.*) \| (.*) \|$",
                          text[text.index("## Every form"):], re.M)
        expected = {(form.line.partition(" :")[0].replace("|", "\\|"), legal_forms.VERSIONS[first])
                    for target, numbers in self.answers.items()
                    for form, first in zip(self.forms, numbers) if first is not None}
        self.assertEqual({row[:2] for row in rows}, expected)
        for target, cells in zip(self.found, list(zip(*rows))[2:]):
            for status, pattern in (("executed", r"^(\d+)(?:,|$)"), ("refused", r"(\d+) refused")):
                total = sum(int(number) for cell in cells for number in re.findall(pattern, cell))
                self.assertEqual(total, self.found[target].count(status), f"{status} on {target}")


if __name__ == "__main__":
    PROGRAM = Path(sys.argv.pop(1))
    if "--write" in sys.argv:
        kept_forms, kept_answers = legal_forms.kept()
        KEPT.write_text(table(kept_forms, legal_forms.statuses(PROGRAM, kept_forms, kept_answers)),
                        encoding="utf-8")
        sys.exit(0)
    unittest.main()
