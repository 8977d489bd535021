"""What the tests of the programs share. A test is run as `<test>.py <program> [<names>]`."""

import os
import re
import subprocess
import sys
import unittest

VERIFIED, WRONG, BAD_INPUT = 0, 1, 2
SKIPPED = 77  # what ctest takes for "skipped"


def gpu_capability():
    """The first GPU's compute capability ("9.0"), or None without a working GPU."""
    try:
        result = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                universal_newlines=True)
    except OSError:
        return None
    return result.stdout.split("\n")[0].strip() if result.returncode == 0 else None


class ProgramTest(unittest.TestCase):
    """Tests of one program, by its options, its output and its exit status."""

    program = ""
    settings = {}  # of the environment, in every run of a class

    def run_program(self, environment=None, **options):
        """Its exit status and everything it printed. Underscores in options become hyphens; an
        option that is True has no value."""
        command = [self.program]
        for name, value in options.items():
            command += ["--" + name.replace("_", "-")] + ([] if value is True else [str(value)])
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                universal_newlines=True,
                                env={**os.environ, **self.settings, **(environment or {})})
        return result.returncode, result.stdout

    def expect_verified(self, elements, environment=None, **options):
        """Its output; fails unless it verified exactly this many elements."""
        with self.subTest(environment=environment, **options):
            status, output = self.run_program(environment, **options)
            self.assertEqual(status, VERIFIED, output)
            self.assertIn(f"verified ({elements} elements)", output)
            return output

    def expect_refused(self, part, **options):
        """Fails unless it refused before it made or ran anything, in words that hold `part`."""
        with self.subTest(**options):
            status, output = self.run_program(**options)
            self.assertEqual(status, BAD_INPUT, output)
            self.assertIn("error: ", output)
            self.assertIn(part, output)
            self.assertNotIn("verified", output)
            self.assertNotIn("shape ", output)

    def expect_help(self, *options):
        """Fails unless --help explains all of `options`."""
        result = subprocess.run([self.program, "--help"], stdout=subprocess.PIPE,
                                universal_newlines=True)
        self.assertEqual(result.returncode, VERIFIED)
        for option in options:
            self.assertIn(f"--{option} ", result.stdout)


class GemmTest(ProgramTest):
    """Tests of a GEMM of one shape, without a residual."""

    def expect_gemm(self, m, n, k, environment=None, **options):
        return self.expect_verified(m * n, environment, m=m, n=n, k=k, **options)

    def expect_impossible_sizes_refused(self):
        """Sizes that the API, the tensor maps or the host's memory can't take."""
        self.expect_refused("M is 0", m=0)
        self.expect_refused("N is -8", n=-8)
        self.expect_refused("K is 2147483648", k=2**31)
        self.expect_refused("tiles", m=2**31 - 1024, n=2**31 - 1024)
        self.expect_refused("GiB", m=2**31 - 1024, k=2**30)
        self.expect_refused("give a multiple of 16", k=1000)
        self.expect_refused("give a multiple of 8", n=100)
        self.expect_refused("isn't a 64-bit integer", m="many")
        self.expect_refused("isn't known", beta=1)


# For sweeps over configurations, whose sums don't depend on times: the model of times takes a fourth
# of such a run. The test of races runs the configurations with it.
WITHOUT_TIMES = {"BW_SIM_TIMING": "simple"}


def field(output, name):
    """The rest of the output's line that begins with `name`."""
    match = re.search(rf"^{re.escape(name)} +(.*)$", output, re.M)
    assert match, f"no line '{name}' in:\n{output}"
    return match.group(1)


def main():
    """Ends with SKIPPED when every test that was to run was skipped."""
    ProgramTest.program = sys.argv.pop(1)
    outcome = unittest.main(exit=False).result
    if outcome.testsRun > 0 and outcome.testsRun == len(outcome.skipped):
        sys.exit(SKIPPED)
    sys.exit(not outcome.wasSuccessful())
