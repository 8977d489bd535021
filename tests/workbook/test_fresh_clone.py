"""The README's two commands in a fresh clone without any CUDA Toolkit of the machine's own.

Slow: it downloads the toolkit's wheels and builds everything. Skipped (77) without a network.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import ROOT, environment

SKIPPED = 77


class FreshClone(unittest.TestCase):
    def test_run_and_test_bring_their_own_toolkit(self):
        with tempfile.TemporaryDirectory(prefix="workbook_clone_") as folder:
            clone = Path(folder) / "clone"
            subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
            env = _without_toolkits()
            setup = subprocess.run([str(clone / "workbook"), "setup"], env=env, check=False,
                                   stderr=subprocess.PIPE, universal_newlines=True)
            if setup.returncode != 0 and "pip could not install" in setup.stderr:
                self.skipTest("no network")
            self.assertEqual(setup.returncode, 0, setup.stderr)
            self.assertIn("private environment", setup.stderr)
            for command in (["run", "5", "--sim"], ["test", "5"]):
                result = subprocess.run([str(clone / "workbook"), *command], env=env, check=False)
                self.assertEqual(result.returncode, 0, command)


def _without_toolkits():
    """The environment with no way to a CUDA Toolkit."""
    path = [entry for entry in os.environ["PATH"].split(os.pathsep)
            if not (Path(entry) / "nvcc").exists()]
    return environment(PATH=os.pathsep.join(path), CUDA_HOME=None, LIBRARY_PATH=None,
                       BW_TOOLKIT_IGNORE_SYSTEM="1")


if __name__ == "__main__":
    outcome = unittest.main(exit=False).result
    sys.exit(SKIPPED if outcome.skipped else not outcome.wasSuccessful())
