"""Which tests CI runs again after the set-up with extras: those that ctest says were skipped, and
those that left a part out."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support

_PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(stand_in NONE)
enable_testing()
function(add name text status)
  add_test(NAME ${name} COMMAND sh -c "echo '${text}'; exit ${status}")
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()
add(whole.skipped "no Dask" 77)
add(passed "OK" 0)
add(a-part.skipped "OK (expected failures=1, skipped=3)" 0)
add(without_a_gpu "[  SKIPPED ] Gpu.Runs" 77)
add(failed "FAILED (failures=1, skipped=2)" 1)
"""


class Skipped(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="ci_test_")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        if not shutil.which("ctest"):
            self.skipTest("there is no ctest on PATH")

    def ctest(self, *words):
        return subprocess.run(["ctest", "--test-dir", str(self.folder), *words], check=False,
                              stdout=subprocess.PIPE, universal_newlines=True).stdout

    def test_they_are_named_for_ctest(self):
        (self.folder / "CMakeLists.txt").write_text(_PROJECT, encoding="utf-8")
        subprocess.run(["cmake", "-G", "Ninja", "-S", str(self.folder), "-B", str(self.folder)],
                       check=True, stdout=subprocess.DEVNULL)
        said = self.folder / "said"
        said.write_text(self.ctest("--parallel", "2"), encoding="utf-8")
        log = self.folder / "Testing" / "Temporary" / "LastTest.log"
        script = support.ROOT / ".ci" / "skipped.py"
        found = subprocess.run([sys.executable, str(script), str(said), str(log)], check=True,
                               stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()
        listed = self.ctest("--show-only", "--tests-regex", found)
        for name, is_one in (("whole.skipped", True), ("a-part.skipped", True), ("passed", False),
                             ("without_a_gpu", False), ("failed", False)):
            self.assertEqual(f": {name}\n" in listed, is_one, (name, found, listed))

    def test_nothing_for_none(self):
        script = support.ROOT / ".ci" / "skipped.py"
        empty = self.folder / "empty"
        empty.touch()
        found = subprocess.run([sys.executable, str(script), str(empty), str(empty)], check=True,
                               stdout=subprocess.PIPE, universal_newlines=True).stdout
        self.assertEqual(found, "")


if __name__ == "__main__":
    unittest.main()
