"""./workbook lab: names, the list, and a program that is built and run."""

import re
import unittest
from unittest import mock

from support import ROOT, CheckoutTest

from tools import labs
from tools.errors import WorkbookError

_LAB = """\
/// \\file
/// {idea}
///
/// More about it.
int main() {{}}
"""


class Names(unittest.TestCase):
    def test_every_lab_is_found_by_each_of_its_names(self):
        found = labs.find_all(ROOT)
        files = {path.relative_to(ROOT) for path in ROOT.glob("solutions/*/labs/*.cu")}
        self.assertEqual(len(found), len(files))
        stems = [lab.stem for lab in found]
        is_unique = {lab: stems.count(lab.stem) == 1 for lab in found}
        with mock.patch.object(labs, "find_all", return_value=found):  # once is enough
            for lab in found:
                chapter = f"{lab.chapter.number:02d}"
                for name in (lab.program, lab.name, f"{chapter}.{lab.stem}", f"{chapter}_{lab.stem}",
                             lab.program.upper(), f"{lab.name.replace('_', '-')}", f"{lab.stem}.cu"):
                    if is_unique[lab] or lab.chapter.name[:2] in name or lab.name[:2] in name:
                        self.assertEqual(labs.named(ROOT, name), lab, name)

    def test_a_part_of_a_name_is_enough_if_only_one_lab_has_it(self):
        self.assertEqual(labs.named(ROOT, "2.one").stem, "one_mma")
        self.assertEqual(labs.named(ROOT, "round_trip").stem, "tmem_round_trip")
        with self.assertRaisesRegex(WorkbookError, r"several labs: 1\.early_release, 4\.early_release"):
            labs.named(ROOT, "early_release")
        for name in ("", "nothing", "9.one_mma", "one mma", "../one_mma", "."):
            self.assertIsNone(labs.named(ROOT, name), name)

    def test_the_command_that_a_text_shows_finds_its_lab(self):
        for lab in labs.find_all(ROOT):
            shown = labs.command_line(ROOT, [lab.program, "--k", "32"])
            name = re.match(r"\./workbook lab (\S+) -- --k 32$", shown).group(1)
            self.assertEqual(labs.named(ROOT, name), lab)
        self.assertEqual(labs.command_line(ROOT, ["lab_01_ring_of_two"]), "./workbook lab ring_of_two")
        self.assertEqual(labs.command_line(ROOT, ["lab_04_early_release"]),
                         "./workbook lab 4.early_release")
        self.assertEqual(labs.command_line(ROOT, ["03_warp_contexts", "--m", "8"], "timeline"),
                         "./workbook timeline 3 -- --m 8")

    def test_each_begins_with_an_idea(self):
        for lab in labs.find_all(ROOT):
            self.assertRegex(lab.idea, r"^[A-Z0-9].{10,}", lab.program)
            self.assertNotRegex(lab.idea, r"^(Lab|New)\b|\\")

    def test_no_text_makes_a_reader_type_more_than_the_command(self):
        texts = [*ROOT.glob("chapters/**/*.md"), *ROOT.glob("docs/**/*.md"),
                 *ROOT.glob("solutions/**/*.md"), *ROOT.glob("solutions/**/*.cu*"), ROOT / "README.md"]
        self.assertGreater(len(texts), 50)
        for path in texts:
            text = path.read_text(encoding="utf-8")
            found = re.findall(r".*(?:--target lab_|bin/lab_).*", text)
            self.assertEqual(found, [], path)
            for name in re.findall(r"\./workbook lab (\w*[a-z_][\w.]*|\d+\.\w+)", text):
                self.assertIsNotNone(labs.named(ROOT, name), (path, name))


class Command(CheckoutTest):
    def setUp(self):
        super().setUp()
        self.root = self.checkout()
        five = "05_blockwise_fp8_gemm"
        for chapter, stem, idea in ((five, "c_ring", "Lab: the ring of C alone. It is"),
                                    (five, "cta_pair", "New: a pair of CTAs. It"),
                                    ("04_per_k_contexts", "c_ring", "Lab: another ring.")):
            folder = self.root / "solutions" / chapter / "labs"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{stem}.cu").write_text(_LAB.format(idea=idea), encoding="utf-8")
        with open(self.root / "CMakeLists.txt", "a", encoding="utf-8") as lists:
            lists.write("add_executable(lab_05_cta_pair solutions/05_blockwise_fp8_gemm/main.cpp)\n")

    def test_the_list(self):
        text = self.run_workbook(self.root, "lab").stdout
        self.assertIn("chapter 4: Per-K contexts\n  c_ring    Another ring.\n", text)
        self.assertIn("\n  c_ring    The ring of C alone.", text)
        self.assertIn("./workbook lab 4.c_ring runs one; its options follow `--`.", text)
        self.assertNotIn("Another", self.run_workbook(self.root, "lab", "5").stdout)
        self.assert_clear_error(self.run_workbook(self.root, "lab", "9"), "no chapter '9'", code=2)

    def test_a_lab_is_built_and_run_with_its_options_and_its_status(self):
        for name in ("cta_pair", "5.cta_pair", "lab_05_cta_pair"):
            result = self.run_workbook(self.root, "lab", name, "--sim", "--", "3", "a b")
            self.assertEqual((result.returncode, result.stdout), (3, "option 3\noption a b\n"),
                             result.stderr)
            self.assertIn("Lab 5.cta_pair, in the simulator, as asked", result.stderr)

    def test_a_schedule_that_fails_can_be_run_again(self):
        result = self.run_workbook(self.root, "lab", "cta_pair", "--sim", "--schedules", "5", "--", "0",
                                   "seed=3")
        self.assertEqual(result.returncode, 70)
        line = "./workbook lab cta_pair --sim --seed 3"
        self.assertIn(line, result.stderr + result.stdout)
        self.assertIn("BW_SIM_SEED 3\n", self.run_workbook(
            self.root, *line.split()[1:], "--", "0").stdout)

    def test_names_that_mean_none_or_several(self):
        for name, words in (("c_ring", "means several labs: 4.c_ring, 5.c_ring"),
                            ("cta_pear", "Did you mean 5.cta_pair?"), ("xyz", "`./workbook lab` lists"),
                            ("6.c_ring", "There is no lab '6.c_ring'")):
            self.assert_clear_error(self.run_workbook(self.root, "lab", name), words, code=2)
        self.assert_clear_error(self.run_workbook(self.root, "run", "cta_pair"),
                                "cta_pair is a lab: ./workbook lab 5.cta_pair", code=2)

    def test_the_list_is_quick(self):
        self.assert_reads_little(self.root, "lab")


class Builds(unittest.TestCase):
    def test_the_programs_are_those_that_cmake_makes(self):
        ninja = ROOT / "build" / "sim" / "build.ninja"
        if not ninja.is_file():
            self.skipTest("build/sim is not configured")
        targets = re.findall(r"(?m)^build bin/(lab_\w+):", ninja.read_text(encoding="utf-8"))
        self.assertEqual(sorted(lab.program for lab in labs.find_all(ROOT)), sorted(targets))


if __name__ == "__main__":
    unittest.main()
