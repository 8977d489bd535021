"""./workbook test --gpu: what it needs, what it runs, and its report, without a GPU."""

import io
import json
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from support import ROOT

from tools import build, chapters, gpu_report
from tools.console import Console
from tools.errors import WorkbookError
from tools.limited import Ended
from tools.machine import Gpu

B200 = Gpu("NVIDIA B200", "10.0", "580.65")
B300 = Gpu("NVIDIA B300", "10.3", "590.10")
H100 = Gpu("NVIDIA H100", "9.0", "580.65")
OLD = Gpu("NVIDIA B200", "10.0", "570.10")

GEMM = "machine  {machine}\nshape    m 512\ntime     {time} us\nerror    worst 0.499\nverified\n"
CASES = "Running main()\nContract.\n  Waits\n  Hangs\nTable/Rows.\n  Row/0  # GetParam() = 1\n"


class FakeMachine:
    """Answers for every program; remembers what was run."""

    def __init__(self, folder, programs):
        (folder / "bin").mkdir()
        for name in programs:
            (folder / "bin" / name).write_text("", encoding="utf-8")
        self.answers, self.commands = {}, []

    def answer(self, name, output="", status=0, timed_out=False):
        self.answers[name] = Ended(status, output, "", 0.5, timed_out)

    def run(self, command, _seconds, _env):
        words = [Path(word).name if "/" in word else word for word in command]
        self.commands.append(words)
        for length in range(len(words), 0, -1):
            found = self.answers.get(" ".join(words[:length]))
            if found:
                return found
        return Ended(0, "", "", 0.5)


class Needs(unittest.TestCase):

    def test_a_blackwell_gpu_is_taken(self):
        self.assertIs(gpu_report.require_gpu([H100, B200]), B200)
        self.assertIs(gpu_report.require_gpu([OLD, B300]), B300)

    def test_what_is_needed_is_said(self):
        for gpus, said in (([], "no NVIDIA GPU"), ([H100], "NVIDIA H100, compute capability 9.0"),
                           ([OLD], "driver 570.10 of NVIDIA B200 is older")):
            with self.assertRaisesRegex(WorkbookError, said) as caught:
                gpu_report.require_gpu(gpus)
            self.assertIn("needs an NVIDIA B200 or B300", str(caught.exception))

    def test_a_b300_gets_code_for_the_family(self):
        for gpu, architecture in ((B200, "100a"), (B300, "100f")):
            variables = dict(gpu_report.configuration(gpu).variables)
            self.assertEqual(variables["BW_BLACKWELL_ARCH"], architecture)
            self.assertEqual(variables["BW_GPU_PROGRAMS"], "ON")
        self.assertEqual(build.for_gpu(build.GPU, H100), build.GPU)
        self.assertTrue(chapters.find(ROOT, "5").runs_on(B300))
        self.assertFalse(chapters.find(ROOT, "6").runs_on(B300))


class Reports(unittest.TestCase):

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def measure(self, fake, wanted=None):
        tools = SimpleNamespace(toolkit=SimpleNamespace(release="13.0"))
        self.said = io.StringIO()
        console = Console()
        console.say = lambda text="": print(text, file=self.said)
        chapter = chapters.find(ROOT, wanted) if wanted else None
        status = gpu_report.measure(ROOT, console, B200, tools, self.folder, chapter, fake.run)
        self.report = json.loads((self.folder / "blackwell-report.json").read_text())
        self.text = (self.folder / "blackwell-report.txt").read_text()
        return status

    def item(self, name):
        return next(item for item in self.report["items"] if item["name"] == name)

    def test_a_program_that_agrees(self):
        fake = FakeMachine(self.folder, ["05_blockwise_fp8_gemm_gpu", "lab_05_pair_gpu"])
        fake.answer("05_blockwise_fp8_gemm_gpu", GEMM.format(machine="NVIDIA B200", time="9.1"))
        fake.answer("05_blockwise_fp8_gemm", GEMM.format(machine="Simulated", time="3.4"))
        self.assertEqual(self.measure(fake, "5"), 0)
        program = self.item("05_blockwise_fp8_gemm")
        self.assertEqual((program["gpu"], program["simulator"], program["agrees"]),
                         ("passed", "passed", True))
        self.assertEqual(self.item("lab_05_pair")["kind"], "lab")
        # Its tests get the native program.
        self.assertTrue(any("program_test.py" in words and "Shapes" in words
                            and "05_blockwise_fp8_gemm_gpu" in words for words in fake.commands))
        self.assertEqual(self.item("contract_chapter05")["gpu"], "not run")  # not built
        self.assertEqual(self.report["machine"]["gpu"], "NVIDIA B200")
        self.assertEqual(self.report["workbook"]["toolkit"], "13.0")
        self.assertIn("passed     same", self.text)
        self.assertIn("blackwell-report.json", self.said.getvalue())

    def test_a_program_that_prints_something_else(self):
        fake = FakeMachine(self.folder, ["05_blockwise_fp8_gemm_gpu"])
        fake.answer("05_blockwise_fp8_gemm_gpu",
                    GEMM.format(machine="NVIDIA B200", time="9").replace("0.499", "0.612"))
        fake.answer("05_blockwise_fp8_gemm", GEMM.format(machine="Simulated", time="3"))
        self.assertEqual(self.measure(fake, "5"), 1)
        program = self.item("05_blockwise_fp8_gemm")
        self.assertIs(program["agrees"], False)
        self.assertEqual(program["differences"], ["gpu:       error    worst 0.612",
                                                  "simulator: error    worst 0.499"])
        self.assertIn("worst 0.612", self.text)
        self.assertEqual(self.report["summary"]["differ from the simulator"], 1)

    def test_a_case_that_hangs_leaves_the_others(self):
        fake = FakeMachine(self.folder, ["contract_chapter02_gpu"])
        fake.answer("contract_chapter02_gpu --gtest_list_tests", CASES)
        fake.answer("contract_chapter02_gpu --gtest_filter=Contract.Hangs", status=-9, timed_out=True)
        self.assertEqual(self.measure(fake, "2"), 1)
        results = {item["name"]: (item["gpu"], item["agrees"]) for item in self.report["items"]
                   if item["kind"] == "contract"}
        self.assertEqual(results, {
            "contract_chapter02.Contract.Waits": ("passed", True),
            "contract_chapter02.Contract.Hangs": ("timed out", False),
            "contract_chapter02.Table/Rows.Row/0": ("passed", True)})

    def test_the_simulator_compares_what_instructions_gave(self):
        fake = FakeMachine(self.folder, ["conformance_gpu"])
        fake.answer("conformance", "add.s32: element 3 differs\n", status=1)
        self.assertEqual(self.measure(fake), 1)
        item = self.item("conformance")
        self.assertEqual((item["gpu"], item["agrees"]), ("passed", False))
        self.assertEqual(item["differences"], ["add.s32: element 3 differs"])

    def test_nothing_that_ran_is_no_success(self):
        self.assertEqual(self.measure(FakeMachine(self.folder, [])), 1)
        self.assertEqual(self.report["summary"]["passed"], 0)


if __name__ == "__main__":
    unittest.main()
