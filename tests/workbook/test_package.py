"""The wheel: made from the build, installed into a fresh environment, and worked in.

Slow: it compiles the faulty kernels and fetches what builds wheels. Skipped (77) where a program is not
built, or without a network.
"""

import json
import os
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

from support import ROOT, environment
from test_container import ANSWERS
from tools import build, cubin, package, prebuild

SKIPPED = 77
MOST_BYTES = 6 << 20


def _run(words, **settings):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, check=False,
                          stderr=subprocess.STDOUT, universal_newlines=True, **settings)


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        absent = [name for name in prebuild.programs(ROOT)
                  if not build.program(ROOT, build.SIM, name).is_file()]
        if absent:
            raise unittest.SkipTest(f"not built: {', '.join(absent)}")
        holder = tempfile.TemporaryDirectory(prefix="wheel_")
        cls.addClassCleanup(holder.cleanup)
        cls.work = Path(holder.name)
        made = _run([sys.executable, "-m", "tools.package", "--output", cls.work / "dist"],
                    env=environment(PYTHONPATH=str(ROOT / "common")))
        if made.returncode and "pip could not install" in made.stdout:
            raise unittest.SkipTest("no network")
        if made.returncode:
            raise AssertionError(made.stdout)
        cls.wheel = Path(made.stdout.strip().splitlines()[-1])
        python = cls.work / "venv" / "bin" / "python"
        for words in ([sys.executable, "-m", "venv", cls.work / "venv"],
                      [python, "-m", "pip", "install", "--no-index", cls.wheel]):
            result = _run(words)
            if result.returncode:
                raise AssertionError(result.stdout)
        cls.command = python.parent / "blackwell-workbook"
        cls.folder = cls.work / "my workbook"
        result = _run([cls.command, cls.folder])
        if result.returncode:
            raise AssertionError(result.stdout)

    def workbook(self, *words, expected=0):
        """What a command prints where neither a compiler nor CMake is on PATH."""
        tools = self.work / "tools"
        tools.mkdir(exist_ok=True)
        for name in ("env", "bash", "sh", "ldd"):
            if not (tools / name).exists():
                (tools / name).symlink_to(subprocess.check_output(
                    ["which", name], universal_newlines=True).strip())
        if not (tools / "python3").exists():
            (tools / "python3").symlink_to(sys.executable)
        result = _run(["./workbook", *words], cwd=self.folder,
                      env=environment(PATH=str(tools), CUDA_HOME=None, BW_TOOLKIT_IGNORE_SYSTEM="1",
                                      LD_LIBRARY_PATH=None))
        self.assertEqual(result.returncode, expected, result.stdout)
        return result.stdout

    def test_it_is_small_and_of_this_platform(self):
        self.assertLess(self.wheel.stat().st_size, MOST_BYTES)
        self.assertRegex(self.wheel.name,
                         r"^blackwell_workbook-[\d.]+(\+native)?-py3-none-.*linux.*whl$")

    def test_nothing_in_it_names_this_checkout(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            contents = {name: wheel.read(name) for name in wheel.namelist()}
            with wheel.open("blackwell_workbook/workbook.tar.xz") as file:
                with tarfile.open(fileobj=file, mode="r:xz") as archive:
                    contents.update((info.name, archive.extractfile(info).read())
                                    for info in archive if info.isfile())
        self.assertIn("workbook/build/sim/bin/lab_01_ring_of_two", contents)
        self.assertEqual([name for name, data in contents.items() if f"{ROOT}/".encode() in data], [])

    def test_every_program_finds_its_libraries_beside_it(self):
        for program in (self.folder / "build" / "sim" / "bin").iterdir():
            for line in _run(["ldd", program]).stdout.splitlines():
                match = re.match(r"\s*(\S+) => (.+) \(0x", line)
                if match and re.match(r"lib(cuda|fmt|zstd|lz4)", match[1]):
                    self.assertTrue(match[2].startswith(str(self.folder)), line)

    def test_programs_and_labs_run(self):
        self.assertIn("verified", self.workbook("run", "1", "--sim"))
        self.assertIn("verified", self.workbook("lab", "ring_of_two", "--sim"))

    def test_a_report_needs_no_compiler(self):
        printed = self.workbook("run", "1.5", "--sim", expected=70)
        self.assertIn("deadlock BW-H01", printed)
        self.assertIn("1.5_producer_consumer_pipeline.cuh:", printed)

    def test_questions_are_checked(self):
        answers = self.folder / "chapters" / "01_mbarrier_pipeline" / "answers.toml"
        text = answers.read_text(encoding="utf-8")
        for key, value in ANSWERS.items():
            text = text.replace(f'{key} = ""', f'{key} = "{value}"', 1)
        answers.write_text(text, encoding="utf-8")
        printed = self.workbook("check", "1.1", "--json")
        self.assertTrue(json.loads(printed[printed.index("{"):])["passed"], printed)

    def test_what_it_can_not_build_is_said(self):
        for words in (("test",), ("bench", "plain")):
            self.assertIn("Clone the repository", self.workbook(*words, expected=1))

    def test_doctor_misses_nothing(self):
        self.assertIn("from the wheel of version", self.workbook("doctor"))

    def test_a_folder_in_use_is_left_alone(self):
        before = sorted(self.folder.iterdir())
        result = _run([self.command, self.folder])
        self.assertEqual(result.returncode, 1)
        self.assertIn("is not empty", result.stdout)
        self.assertEqual(sorted(self.folder.iterdir()), before)
        result = _run([self.command, self.folder / "workbook"])
        self.assertIn("is a file", result.stdout)
        result = _run([self.command, self.work / "a;b"])
        self.assertIn("holds ;", result.stdout)
        self.assertFalse((self.work / "a;b").exists())

    def test_a_python_that_can_not_unpack_is_named(self):
        target = self.work / "unwritten"
        program = ("import sys; sys.modules['lzma'] = None; "
                   "from blackwell_workbook.__main__ import main; sys.exit(main(sys.argv[1:]))")
        result = _run([self.command.with_name("python"), "-c", program, target])
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, "^blackwell-workbook: error: .*/python was built without")
        self.assertFalse(target.exists())

    def test_the_reader_s_code_is_compiled_as_the_build_compiles_it(self):
        """With this machine's compiler, where it is on PATH."""
        result = _run(["./workbook", "check", "1.3", "--json"], cwd=self.folder)
        self.assertIn('"not_done"', result.stdout)
        solution = (ROOT / "solutions" / "01_mbarrier_pipeline" / "producer_consumer_pipeline.cuh")
        lines = re.search(r">>> exercise 1\.3[^\n]*\n(.*?)\s*// <<< exercise 1\.3",
                          solution.read_text(encoding="utf-8"), re.S).group(1)
        lines = "\n".join(line for line in lines.split("\n") if "// starter:" not in line)
        mine = self.folder / "chapters" / "01_mbarrier_pipeline" / solution.name
        text = mine.read_text(encoding="utf-8")
        mine.write_text(re.sub(r"(>>> exercise 1\.3[^\n]*\n).*?(\s*// <<< exercise 1\.3)",
                               lambda match: match[1] + lines + match[2], text, flags=re.S),
                        encoding="utf-8")
        result = _run(["./workbook", "check", "1.3", "--json"], cwd=self.folder)
        self.assertIn('"passed": true', result.stdout)


class Parts(unittest.TestCase):
    def test_paths_keep_their_length(self):
        """A program's parts must not move."""
        before = b"\0/a/b/solutions/x.cuh\0/a/bc/y"
        self.assertEqual(package._relative(Path("/a/b"), before), b"\0.////solutions/x.cuh\0/a/bc/y")

    def test_equal_contents_make_equal_archives(self):
        with tempfile.TemporaryDirectory() as folder:
            made = []
            for number, mode in enumerate((0o600, 0o755)):
                tree = Path(folder) / str(number) / "workbook"
                for name in ("workbook", "README.md", "build/sim/bin/lab", "build/sim/lib/libcuda.so.1"):
                    (tree / name).parent.mkdir(parents=True, exist_ok=True)
                    (tree / name).write_text(name, encoding="utf-8")
                    (tree / name).chmod(mode)
                    os.utime(tree / name, (number, number))
                package.archive(tree, tree.with_suffix(".tar.xz"))
                made.append(tree.with_suffix(".tar.xz").read_bytes())
            self.assertEqual(*made)
            with tarfile.open(tree.with_suffix(".tar.xz")) as file:
                programs = [info.name for info in file if info.isfile() and info.mode & 0o111]
            self.assertEqual(programs, ["workbook/build/sim/bin/lab", "workbook/workbook"])

    def test_of_machine_code_only_what_the_simulator_reads_is_kept(self):
        names = b"\0.shstrtab\0.text.kernel\0.nv.info.kernel\0"

        def elf(machine):
            contents = [b"", names, b"instructions", b"registers"]
            offsets = [64]
            for content in contents:
                offsets.append(offsets[-1] + len(content))
            header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, machine, 1, 0, 0,
                                 offsets[-1], 0, 64, 0, 0, 64, len(contents), 1)
            starts = [0, *(names.index(name) for name in (b".shstr", b".text", b".nv.info"))]
            table = b"".join(
                struct.pack("<IIQQQQIIQQ", starts[number], 1, 0, 0, offsets[number], len(content), 0, 0,
                            1, 0)
                for number, content in enumerate(contents))
            return header + b"".join(contents) + table

        host, device = elf(62), elf(190)
        kept = cubin.without_code(b"before" + host + device + b"after")
        self.assertEqual(kept, b"before" + host + device.replace(b"instructions", bytes(12)) +
                         b"after")
        for cut in range(len(device)):
            self.assertEqual(len(cubin.without_code(device[:cut])), cut)

    def test_the_version_is_the_date_of_the_newest_change(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "CHANGELOG.md").write_text("# Changes\n\n## 2026-03-09\n\n## 2025-01-01\n")
            (root / "CMakeCache.txt").write_text("BW_NATIVE:BOOL=OFF\n")
            self.assertEqual(package.version(root, root), "2026.3.9")
            (root / "CMakeCache.txt").write_text("BW_NATIVE:BOOL=ON\n")
            self.assertEqual(package.version(root, root), "2026.3.9+native")


if __name__ == "__main__":
    os.chdir(ROOT)
    outcome = unittest.main(exit=False).result
    sys.exit(SKIPPED if outcome.skipped and outcome.wasSuccessful() else not outcome.wasSuccessful())
