"""Which chapter a word names, and where it runs."""

import unittest

from support import ROOT, CheckoutTest

from tools import chapters
from tools.errors import WorkbookError
from tools.machine import Gpu

B200 = Gpu("NVIDIA B200", "10.0", "580.65.06")
H100 = Gpu("NVIDIA H100 80GB HBM3", "9.0", "580.65.06")
OLD_DRIVER = Gpu("NVIDIA H100 80GB HBM3", "9.0", "535.104")
LAPTOP_GPU = Gpu("NVIDIA GeForce RTX 4060", "8.9", "581.00")


class Names(CheckoutTest):
    def test_number_padded_number_and_name_mean_the_same(self):
        root = self.checkout()
        for word in ("5", "05", "05_blockwise_fp8_gemm"):
            self.assertEqual(chapters.find_program(root, word).name, "05_blockwise_fp8_gemm")

    def test_unknown_chapters_are_refused_with_a_list(self):
        root = self.checkout()
        for word in ("0", str(len(chapters.CHAPTERS) + 1), "005", "gemm", "", "-5", "5.0"):
            with self.assertRaisesRegex(WorkbookError, "5 .05_blockwise_fp8_gemm"):
                chapters.find(root, word)

    def test_a_chapter_without_a_program_can_be_tested_but_not_run(self):
        root = self.checkout()
        self.assertEqual(chapters.find(root, "4").label, "chapter04")
        with self.assertRaisesRegex(WorkbookError, "no program yet"):
            chapters.find_program(root, "4")


class OneList(unittest.TestCase):
    """common/chapters.json is what the build reads too (BwChapters.cmake)."""

    def test_every_chapter_with_a_program_is_in_it_and_builds_by_it(self):
        folders = sorted(path.parent.name for path in (ROOT / "solutions").glob("*/main.cu"))
        self.assertEqual([chapter.name for chapter in chapters.CHAPTERS], folders)
        for name in folders:
            text = (ROOT / "solutions" / name / "CMakeLists.txt").read_text(encoding="utf-8")
            self.assertIn("bw_add_chapter_program(", text, name)

    def test_architectures_are_compute_capabilities_of_gpus(self):
        self.assertEqual([chapters.CHAPTERS[0].capabilities, chapters.CHAPTERS[4].capabilities],
                         [("9.0", "10.0", "10.3"), ("10.0", "10.3")])


class Machines(unittest.TestCase):
    NUMBERS = [chapter.number for chapter in chapters.CHAPTERS]

    def place(self, number, gpus, wanted=None):
        chapter = next(c for c in chapters.CHAPTERS if c.number == number)
        return chapters.choose_machine(chapter, gpus, wanted)[0]

    def test_blackwell_runs_its_chapters_natively(self):
        self.assertEqual([n for n in self.NUMBERS if self.place(n, [B200])], [1, 2, 3, 4, 5, 7])

    def test_hopper_runs_chapters_1_and_6_natively(self):
        self.assertEqual([n for n in self.NUMBERS if self.place(n, [H100])], [1, 6])

    def test_everything_else_runs_in_the_simulator(self):
        for gpus in ([], [LAPTOP_GPU], [OLD_DRIVER]):
            self.assertFalse(any(self.place(n, gpus) for n in self.NUMBERS), gpus)

    def test_the_machine_of_a_chapter_in_one_phrase(self):
        chapter = chapters.CHAPTERS[5]
        self.assertEqual(chapters.describe_machine(chapter, [H100]),
                         "on the GPU (NVIDIA H100 80GB HBM3)")
        self.assertRegex(chapters.describe_machine(chapter, []), "in the simulator .no NVIDIA GPU")

    def test_what_needs_a_gpu_finds_the_first_that_fits_or_says_why_not(self):
        chapter = chapters.CHAPTERS[5]
        self.assertIs(chapters.gpu_for(chapter, [LAPTOP_GPU, H100], "a benchmark"), H100)
        with self.assertRaisesRegex(WorkbookError, "^a benchmark measures chapter 6 .*: no NVIDIA GPU"):
            chapters.gpu_for(chapter, [], "a benchmark")

    def test_one_fitting_gpu_among_several_is_enough(self):
        self.assertTrue(self.place(5, [LAPTOP_GPU, B200]))

    def test_sim_wins_over_a_fitting_gpu(self):
        self.assertFalse(self.place(5, [B200], "sim"))

    def test_gpu_asked_for_in_vain_says_why(self):
        for gpus, reason in (([], "no NVIDIA GPU"), ([H100], "compute capability 9.0")):
            with self.assertRaisesRegex(WorkbookError, reason):
                self.place(5, gpus, "gpu")
        with self.assertRaisesRegex(WorkbookError, "driver 535.104 .* older"):
            self.place(1, [OLD_DRIVER], "gpu")


if __name__ == "__main__":
    unittest.main()
