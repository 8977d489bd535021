"""The synchronisation of chapters' kernels, in small shapes that fill their rings more than once, goes
right in every order. Arguments: the folder of the programs."""

import os
import subprocess
import sys
import unittest

FOLDER = sys.argv.pop(1)
STATES = 200_000


class Exploration(unittest.TestCase):
    def prove(self, program, options):
        """Every launch is explored to its end, also where the lanes of a warp run apart."""
        for lanes_apart in ("0", "1"):
            self.explore(program, options, lanes_apart)

    def explore(self, program, options, lanes_apart):
        done = subprocess.run([os.path.join(FOLDER, program), *options.split()], timeout=100,
                              env=dict(os.environ, BW_SIM_EXPLORE=str(STATES), BW_SIM_STATS="1",
                                       BW_SIM_EXPLORE_LANES=lanes_apart),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [line for line in done.stderr.splitlines() if ": exploration: " in line]
        launches = [line for line in done.stderr.splitlines() if " warp instructions, " in line]
        self.assertTrue(launches, done.stderr)
        self.assertGreaterEqual(len(lines), len(launches), done.stderr)
        for line in lines:
            self.assertIn("every order ends", line)

    def test_chapter_1(self):
        for transport in ("plain", "bulk", "tensor"):
            self.prove("01_mbarrier_pipeline",
                       f"--rows 256 --columns 128 --runs 1 --stages 3 --produce {transport}")

    def test_chapter_4(self):
        self.prove("04_per_k_contexts", "--m 256 --n 256 --k 1024")

    def test_chapter_5(self):
        for config in ("cta1_128x128_1x1", "cta1_128x128_1x1_clc", "cta1_128x128_1x1_kgroup2",
                       "cta2_256x128_2x1", "cta1_128x192_2x1", "cta1_128x128_2x2_clc"):
            self.prove("05_blockwise_fp8_gemm", f"--m 256 --n 256 --k 1024 --config {config}")

    def test_chapter_7(self):
        # A set of scales for each input stage; fewer sets than stages; and overlapping accumulators.
        for config in ("cta1_128x128_1x1", "cta2_256x256_2x1", "cta2_256x256_2x1_overlap"):
            self.prove("07_block_scaled_gemm", "--m 256 --n 256 --k 2048 --format nvfp4 --config "
                       f"nvfp4_{config}")


if __name__ == "__main__":
    unittest.main()
