"""The chapters' sanitize.sh with stubs for cmake and compute-sanitizer."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "workbook"))
from support import write_script  # noqa: E402

PIPELINE, GEMM = "01_mbarrier_pipeline", "06_hopper_fp8_gemm"
GEMM_PARTS = 8
CLEAN = ("echo 'verified (260 elements)'; echo '[       OK ] Of/Sanitized.All (1 ms)';"
         "echo '========= ERROR SUMMARY: 0 errors'")


class SanitizeScript(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="sanitize_test_")
        self.addCleanup(holder.cleanup)
        self.tools = Path(holder.name)
        self.record = self.tools / "record"
        write_script(self.tools / "cmake", f'echo "cmake $*" >> {self.record}\n')

    def sanitize(self, chapter, run, *words):
        """Its exit status, its output, and the command lines that it ran."""
        write_script(self.tools / "compute-sanitizer", f'echo "$*" >> {self.record}\n{run}\n')
        env = {**os.environ, "PATH": f"{self.tools}:/usr/bin:/bin"}
        result = subprocess.run([str(ROOT / "tests" / "chapters" / chapter / "sanitize.sh"), *words],
                                env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                universal_newlines=True)
        return result.returncode, result.stdout, self.record.read_text().splitlines()

    def test_every_tool_sees_every_run_of_the_program_that_was_built(self):
        status, output, commands = self.sanitize(PIPELINE, CLEAN)
        self.assertEqual(status, 0, output)
        self.assertEqual(commands[1], "cmake --build build/gpu --target 01_mbarrier_pipeline_gpu")
        runs = commands[2:]
        self.assertEqual(len(runs), 9)
        for tool in ("memcheck", "racecheck", "synccheck"):
            for produce in ("plain", "bulk", "tensor"):
                self.assertEqual(sum(f"--tool {tool} " in run and f"--produce {produce} " in run
                                     for run in runs), 1)
                self.assertIn(f"{tool}, --produce {produce}", output)

    def test_tools_can_be_named(self):
        status, output, commands = self.sanitize(GEMM, CLEAN, "racecheck")
        self.assertEqual(status, 0, output)
        self.assertIn("-DBW_TESTS=ON", commands[0])
        runs = commands[2:]
        self.assertEqual(len(runs), GEMM_PARTS)
        for run in runs:
            self.assertIn("--tool racecheck", run)
            self.assertIn("--gtest_filter=Of/Sanitized*", run)

    def test_parts_share_the_tests_and_one_that_fails_is_enough(self):
        shares = f'echo "share $GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS" >> {self.record}\n'
        status, output, commands = self.sanitize(GEMM, shares + CLEAN, "memcheck")
        self.assertEqual(status, 0, output)
        self.assertEqual({line for line in commands if line.startswith("share")},
                         {f"share {part} of {GEMM_PARTS}" for part in range(GEMM_PARTS)})
        last = f'[ "$GTEST_SHARD_INDEX" != {GEMM_PARTS - 1} ] || exit 99\n'
        status, output, _ = self.sanitize(GEMM, last + CLEAN, "memcheck")
        self.assertEqual(status, 1, output)
        self.assertEqual(output.count("FAILED; its output begins with"), 1)

    def test_findings_wrong_results_and_missing_summaries_fail(self):
        for run in (CLEAN.replace("0 errors", "3 errors"), CLEAN + "; exit 99",
                    CLEAN.replace("verified", "WRONG"), "echo 'verified (260 elements)'"):
            status, output, _ = self.sanitize(PIPELINE, run, "memcheck")
            self.assertEqual(status, 1, run)
            self.assertIn("failed: memcheck, --produce plain", output)


if __name__ == "__main__":
    unittest.main()
