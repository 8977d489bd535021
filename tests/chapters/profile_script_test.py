"""The chapters' profile.sh with stubs for nvidia-smi and ncu: profile_script_test.py."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "workbook"))
sys.path.insert(0, str(ROOT / "common"))
from support import write_script  # noqa: E402
from tools.timeline import metrics  # noqa: E402

HOPPER = "0, NVIDIA H200, 9.0"
BLACKWELL = "0, NVIDIA B200, 10.0"
SCRIPTS = sorted(ROOT.glob("solutions/0*/profile.sh"))

# Knows every metric that the scripts ask for but one, profiles two launches, and keeps its words.
NCU = """\
printf '%s\\n' "$*" >> {record}
case "$1" in
  --query-metrics)
    echo "Device NVIDIA (GH100)"
    for name in {known}; do echo "$name  Counter  words"; done ;;
  --import)
    echo '==PROF== words'
    echo '"ID","Kernel Name","gpu__time_duration.sum","sm__cycles_elapsed.max"'
    echo '"","","ns","cycle"'
    echo '"0","first_kernel<4, Copy>(Arguments)","12,345.50","9,876"'
    echo '"1","second_kernel","0.123","1"' ;;
  *) {run} ;;
esac
"""


class ProfileScript(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The system's commands but those that a machine with a GPU has: each test puts its own.
        holder = tempfile.TemporaryDirectory(prefix="profile_test_system_")
        cls.addClassCleanup(holder.cleanup)
        cls.system = Path(holder.name)
        for command in (*Path("/bin").iterdir(), *Path("/usr/bin").iterdir()):
            link = cls.system / command.name
            if command.name not in ("nvidia-smi", "ncu") and not link.is_symlink():
                link.symlink_to(command)

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="profile_test_")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.tools = self.folder / "tools"
        self.record = self.folder / "record"
        self.program = write_script(self.folder / "program", "echo program $*\n")
        self.report = self.folder / "reports" / "mine.ncu-rep"

    def put_gpu(self, listing, status=0):
        write_script(self.tools / "nvidia-smi", f"printf '{listing}\\n'\nexit {status}\n")

    def put_ncu(self, run="exit 0", known="gpu__time_duration sm__cycles_elapsed"):
        write_script(self.tools / "ncu", NCU.format(record=self.record, known=known, run=run))

    def profile(self, chapter, *words, **environment):
        (script,) = (path for path in SCRIPTS if path.parent.name.startswith(chapter))
        path = f"{self.tools}:{self.system}"
        env = {**os.environ, "PATH": path, "CUDA_HOME": str(self.folder), **environment}
        env.pop("CUDA_VISIBLE_DEVICES", None)
        return subprocess.run([str(script), *words], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True)

    def profile_program(self, chapter, *options):
        return self.profile(chapter, "--program", str(self.program), "--output", str(self.report),
                            *(("--", *options) if options else ()))

    def expect_error(self, result, *parts, status=1):
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertIn("profile.sh: error: ", result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)


class Profiling(ProfileScript):
    def test_every_chapter_has_a_script_that_explains_itself(self):
        chapters = sorted(path.parent for path in ROOT.glob("solutions/0*/main.cu"))
        self.assertEqual([path.parent for path in SCRIPTS], chapters)
        for script in SCRIPTS:
            result = self.profile(script.parent.name, "--help")
            self.assertEqual(result.returncode, 0, result.stderr)
            for words in ("Usage: ", "--program", "--output", "gpu__time_duration.sum"):
                self.assertIn(words, result.stdout)

    def test_the_kernels_it_looks_for_are_the_chapters_own(self):
        for script in SCRIPTS:
            pattern = re.search(r'^KERNELS="(.*)"$', script.read_text(), re.M).group(1)
            sources = "".join(path.read_text() for path in script.parent.glob("*.cu*"))
            names = re.findall(r"__global__[^;{]*?(\w+)\(\s*const", sources)
            self.assertTrue(any(re.search(pattern, name) for name in names), (pattern, names))

    def test_options_reach_the_program_and_the_table_shows_every_launch(self):
        self.put_gpu(HOPPER)
        self.put_ncu()
        result = self.profile_program("01", "--stages", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        profiled = self.record.read_text().splitlines()[1]
        self.assertTrue(profiled.endswith(f"{self.program} --stages 3"), profiled)
        for words in (f"--export {self.report} ", "--clock-control none", "--section SpeedOfLight",
                      "--metrics gpu__time_duration.sum,sm__cycles_elapsed.max ",
                      "regex:column_sums_kernel "):
            self.assertIn(words, profiled)
        self.assertIn("NVIDIA H200, compute capability 9.0", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^launch 1  first_kernel<4, Copy>\(Arguments\)$")
        self.assertRegex(result.stdout, r"(?m)^launch 2  second_kernel$")
        self.assertRegex(result.stdout, r"(?m)^launch +1 +2$")
        self.assertRegex(result.stdout, r"(?m)^time +12346 +0\.12  ns +gpu__time_duration\.sum$")
        self.assertRegex(result.stdout, r"(?m)^cycles +9876 +1  cycle +sm__cycles_elapsed\.max$")
        self.assertIn(f"report   {self.report}", result.stdout)
        self.assertTrue(self.report.parent.is_dir())

    def test_without_options_the_program_gets_the_chapters_own(self):
        self.put_gpu(BLACKWELL)
        self.put_ncu()
        self.assertEqual(self.profile_program("05").returncode, 0)
        self.assertRegex(self.record.read_text(), r"program --m \d+ --n \d+ --k \d+")

    def test_unknown_metrics_are_left_out_aloud(self):
        self.put_gpu(HOPPER)
        self.put_ncu(known="gpu__time_duration")
        result = self.profile_program("01")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("--metrics gpu__time_duration.sum ", self.record.read_text())
        self.assertRegex(result.stderr, r"left out, because .*: sm__cycles_elapsed\.max, ")
        self.assertNotRegex(result.stdout, r"(?m)^cycles")

    def test_the_rows_are_those_of_the_simulators_table(self):
        self.put_gpu(HOPPER)
        rows = metrics.rows()
        self.put_ncu(known=" ".join(row.metric.split(".")[0] for row in rows))
        self.assertEqual(self.profile_program("01").returncode, 0)
        asked = re.search(r"--metrics (\S+) ", self.record.read_text()).group(1).split(",")
        self.assertEqual(asked, [row.metric for row in rows])

    def test_many_launches_stand_in_several_tables(self):
        self.put_gpu(HOPPER)
        self.put_ncu()
        path = self.tools / "ncu"
        more = "".join(f"""    echo '"{i}","kernel_{i}","{i}","{10 * i}"'\n""" for i in range(2, 6))
        path.write_text(path.read_text().replace(" ;;\n  *)", "\n" + more + " ;;\n  *)"))
        result = self.profile_program("01")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^launch +1 +2 +3 +4$")
        self.assertRegex(result.stdout, r"(?m)^launch +5 +6$")
        self.assertRegex(result.stdout, r"(?m)^cycles +40 +50  cycle")

    def test_a_gpu_that_is_not_the_first_is_chosen(self):
        self.put_gpu("0, NVIDIA H200, 9.0\\n1, NVIDIA B200, 10.0")
        self.put_ncu(run=f"echo devices $CUDA_VISIBLE_DEVICES >> {self.record}")
        self.assertEqual(self.profile_program("04").returncode, 0)
        self.assertIn("devices 1\n", self.record.read_text())


class Refusals(ProfileScript):
    def test_no_driver(self):
        for chapter, needed in (("01", "9.0 or 10.0"), ("05", "10.0")):
            self.expect_error(self.profile_program(chapter), "no nvidia-smi",
                              f"compute capability {needed}. ",
                              f"./workbook run {int(chapter)} --sim")

    def test_a_driver_that_fails(self):
        self.put_gpu("Failed to initialize NVML", status=9)
        self.expect_error(self.profile_program("02"), "Failed to initialize NVML", "--sim")

    def test_a_gpu_of_another_generation(self):
        self.put_gpu(HOPPER)
        self.put_ncu()
        self.expect_error(self.profile_program("03"), "needs a GPU of compute capability 10.0",
                          "this machine has NVIDIA H200 (9.0)", "./workbook run 3 --sim")
        self.assertFalse(self.record.exists())

    def test_no_profiler(self):
        self.put_gpu(HOPPER)
        result = self.profile_program("01")
        if "was not found" not in result.stderr:
            self.skipTest("the script finds this machine's own")
        self.expect_error(result, "Nsight Compute (ncu) was not found", "nsight-compute",
                          "Put its ncu on PATH")

    def test_no_program(self):
        self.put_gpu(BLACKWELL)
        self.put_ncu()
        self.expect_error(self.profile("02", "--program", "/no/such"), "there is no such program")

    def test_no_permission(self):
        self.put_gpu(HOPPER)
        self.put_ncu(run="echo '==ERROR== ERR_NVGPUCTRPERM - no permission'; exit 1")
        self.expect_error(self.profile_program("01"), "ERR_NVGPUCTRPERM", "sudo -E",
                          "NVreg_RestrictProfilingToAdminUsers=0", "--cap-add=SYS_ADMIN")

    def test_nothing_was_profiled(self):
        self.put_gpu(HOPPER)
        self.put_ncu(run="echo '==WARNING== No kernels were profiled.'")
        self.expect_error(self.profile_program("01"), "launched no kernel")

    def test_a_program_that_fails(self):
        self.put_gpu(HOPPER)
        self.put_ncu(run="echo error: bad rows; exit 2")
        result = self.profile_program("01")
        self.expect_error(result, "ncu's exit status: 2")
        self.assertIn("error: bad rows", result.stdout)

    def test_usage(self):
        self.expect_error(self.profile("01", "--stages", "3"), "--stages is not an option", "--",
                          status=2)
        self.expect_error(self.profile("01", "--output"), "--output needs a value", status=2)


if __name__ == "__main__":
    unittest.main()
