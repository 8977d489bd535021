"""The program of chapter 5 as its user sees it: program_test.py <program> [<unittest names>]."""

import os
import subprocess
import sys
import unittest

PROGRAM = ""
VERIFIED, BAD_INPUT = 0, 2
SHAPES = [(128, 128, 128), (256, 512, 1024), (1000, 576, 320), (64, 2112, 7168), (512, 4096, 1024)]
SCHEDULE_SEEDS = range(10)


def run(environment=None, **options):
    """Runs the program; its exit status and everything it printed."""
    command = [PROGRAM]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            universal_newlines=True, env={**os.environ, **(environment or {})})
    return result.returncode, result.stdout


class ProgramTest(unittest.TestCase):
    def expect_verified(self, m, n, k, environment=None, **options):
        with self.subTest(m=m, n=n, k=k, environment=environment, **options):
            status, output = run(environment, m=m, n=n, k=k, **options)
            self.assertEqual(status, VERIFIED, output)
            self.assertIn(f"verified ({m * n} elements)", output)


class Shapes(ProgramTest):
    def test_every_shape(self):
        for (m, n, k), beta in zip(SHAPES, (0, 1, 0.5, 0.5, 1)):
            self.expect_verified(m, n, k, beta=beta)

    def test_every_beta(self):
        for beta in (0, 1, 0.5, -2):
            self.expect_verified(256, 192, 384, beta=beta)

    def test_small_and_ragged(self):
        for m, n, k in ((1, 8, 16), (129, 136, 144), (127, 120, 112), (300, 8, 2064)):
            self.expect_verified(m, n, k, beta=1)


class Positions(ProgramTest):
    def test_residual_is_exact(self):
        for m, n, k in ((128, 128, 128), (1000, 576, 320), (257, 264, 16)):
            for beta in (0, 1, 0.5):
                self.expect_verified(m, n, k, beta=beta, fill="position-c")


class Schedules(ProgramTest):
    def test_ten_seeds_of_the_schedule(self):
        for seed in SCHEDULE_SEEDS:
            self.expect_verified(200, 264, 656, environment={"BW_SIM_SEED": str(seed)}, seed=seed)

    def test_persistent_ctas(self):
        # Fewer SMs than tiles: every ring goes around several times.
        for multiprocessors in (1, 3):
            self.expect_verified(512, 640, 256, environment={"BW_SIM_SMS": str(multiprocessors)})


class BadInput(ProgramTest):
    def expect_refused(self, part, **options):
        with self.subTest(**options):
            status, output = run(**options)
            self.assertEqual(status, BAD_INPUT, output)
            self.assertIn("error: ", output)
            self.assertIn(part, output)
            self.assertNotIn("verified", output)
            self.assertNotIn("shape ", output, "refused before anything was made or run")

    def test_sizes(self):
        self.expect_refused("M is 0", m=0)
        self.expect_refused("N is -8", n=-8)
        self.expect_refused("K is 8589934592", k=2**33)
        self.expect_refused("tiles", m=2**31 - 256, n=2**31 - 256)
        self.expect_refused("GiB", m=2**31 - 256, k=2**30)

    def test_strides(self):
        self.expect_refused("give a multiple of 16", k=1000)
        self.expect_refused("give a multiple of 8", n=100)

    def test_options(self):
        self.expect_refused("isn't a 64-bit integer", m="many")
        self.expect_refused("isn't a finite number", beta="nan")
        self.expect_refused("fp32", beta="1e300")
        self.expect_refused("normal|position-c", fill="ones")
        self.expect_refused("isn't known", colour="red")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
