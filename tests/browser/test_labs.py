"""The labs in the WebAssembly module: records their launches natively and runs them again in node.

    test_labs.py BUILD_FOLDER    (build/sim; the module is looked for in build/wasm next to it)
"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

import timelines  # noqa: E402
from tools import runs, trace  # noqa: E402
from tools.site import launches, questions  # noqa: E402
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
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        ended = subprocess.run([node, str(Path(__file__).with_name("labs_test.js")), str(MODULE),
                                str(ROOT / "docs/site/simulator.js"), str(folder), made.name],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               universal_newlines=True, check=False)
        print(ended.stdout)
        self.assertEqual(ended.returncode, 0, "the module differs from the native simulator; if it is "
                         "older than the sources, `./workbook setup --browser` builds it again")
        self.answers_are_read_from_the_module(Path(made.name), folder)
        recordings = sorted(Path(made.name).glob("*.recording"))
        self.assertGreater(len(recordings), 50)
        self.assertEqual(timelines.differences(node, recordings), [])

    def answers_are_read_from_the_module(self, made, folder):
        """keys.py finds the same answers in the module's event logs as in the native ones."""
        count, outputs = 0, {}
        for run in json.loads((folder / launches.INDEX).read_text(encoding="utf-8"))["runs"]:
            outputs.setdefault(run.get("exercise"), []).append(run["output"])
        for exercise in questions.load(ROOT):
            module = runs.load_keys(ROOT, exercise) if exercise.questions else None
            native = runs.computed_answers(ROOT, tools_of(ROOT), exercise) if module else {}
            for question in exercise.questions:
                log = trace.Trace.read(made / f"{exercise.id}_{question.run}.events",
                                       outputs[exercise.id][question.run])
                self.assertEqual(getattr(module, question.function)(log), native[question.key],
                                 (exercise.id, question.key))
                count += 1
        self.assertGreater(count, 40)


if __name__ == "__main__":
    reason = reason_to_skip()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
