"""What the tests of the programs share. A test is run as `<test>.py <program> [<names>]`."""

import os
import re
import subprocess
import sys
import unittest

VERIFIED, WRONG, BAD_INPUT = 0, 1, 2


class ProgramTest(unittest.TestCase):
    """Tests of one program, by its options, its output and its exit status."""

    program = ""

    def run_program(self, environment=None, **options):
        """Its exit status and everything it printed. Underscores in options become hyphens."""
        command = [self.program]
        for name, value in options.items():
            command += ["--" + name.replace("_", "-"), str(value)]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                universal_newlines=True, env={**os.environ, **(environment or {})})
        return result.returncode, result.stdout

    def expect_verified(self, elements, environment=None, **options):
        """Its output; fails unless it verified exactly so many elements."""
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


def field(output, name):
    """The rest of the output's line that begins with `name`."""
    match = re.search(rf"^{re.escape(name)} +(.*)$", output, re.M)
    assert match, f"no line '{name}' in:\n{output}"
    return match.group(1)


def main():
    ProgramTest.program = sys.argv.pop(1)
    unittest.main()
