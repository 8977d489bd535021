"""The labs in the WebAssembly module: records their launches natively and runs them again in node.

    test_labs.py BUILD_FOLDER    (build/sim; the module is looked for in build/wasm next to it)
"""

import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

from tools.site import launches  # noqa: E402
from tools.try_exercise import tools_of  # noqa: E402

BUILD = Path(sys.argv[1]) if __name__ == "__main__" else ROOT / "build/sim"
MODULE = ROOT / "build/wasm/bin/blackwell_simulator.js"


def reason_to_skip():
    """Why the test can't run here; empty if it can."""
    if not MODULE.is_file():
        return (f"{MODULE.relative_to(ROOT)} is not built; `./workbook setup --browser` installs "
                "Emscripten and builds it")
    if not (shutil.which("node") or shutil.which("nodejs")):
        return "node is missing"
    return ""


class LabsInTheBrowser(unittest.TestCase):
    def test_bits_cycles_and_reports_are_the_native_ones(self):
        folder = BUILD / "browser"
        launches.write(ROOT, tools_of(ROOT), folder)
        node = shutil.which("node") or shutil.which("nodejs")
        ended = subprocess.run([node, str(Path(__file__).with_name("labs_test.js")), str(MODULE),
                                str(ROOT / "docs/site/simulator.js"), str(folder)],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               universal_newlines=True, check=False)
        print(ended.stdout)
        self.assertEqual(ended.returncode, 0, "the module differs from the native simulator; if it is "
                         "older than the sources, `./workbook setup --browser` builds it again")


if __name__ == "__main__":
    reason = reason_to_skip()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
