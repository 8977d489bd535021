"""Temporary checkouts and stubs for the tests of ./workbook."""

import compileall
import ctypes
import functools
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import forked

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

# A script's background job ignores Ctrl-C, and so would the commands that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The most that a command may take.
SECONDS = 100

# With it on PYTHONPATH, private environments are made at once; one test has the real ones.
QUICK_VENV = ROOT / "tests" / "workbook" / "stand_ins" / "quick_venv"

# `hint` reads 88, of its own and Python's; one library for requests, threads or tables adds 40 or more.
MODULES_OF_A_QUICK_COMMAND = 120

# A project of the same shape as ours, but in C++ alone, so that its build takes a moment. CMake does not
# examine the compiler, which would cost more than everything else here.
_CMAKE = """\
cmake_minimum_required(VERSION 3.24)
set(CMAKE_CXX_COMPILER_ID_RUN TRUE)
set(CMAKE_CXX_COMPILER_ID GNU)
set(CMAKE_CXX_COMPILER_FORCED TRUE)
project(stand_in LANGUAGES CXX)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_CUDA_COMPILER unused CACHE STRING "passed by the command")
add_executable(05_blockwise_fp8_gemm solutions/05_blockwise_fp8_gemm/main.cpp)
add_custom_target(simulator_tests DEPENDS 05_blockwise_fp8_gemm)
add_custom_target(simulator_observers COMMAND ${CMAKE_COMMAND} -E touch observers)
enable_testing()
add_test(NAME five COMMAND 05_blockwise_fp8_gemm)
add_test(NAME four COMMAND 05_blockwise_fp8_gemm)
add_test(NAME never COMMAND 05_blockwise_fp8_gemm 1)
add_test(NAME unit COMMAND 05_blockwise_fp8_gemm 0 sanitized=${BW_SANITIZE})
set_tests_properties(unit PROPERTIES LABELS simulator)
set_tests_properties(five PROPERTIES LABELS chapter05)
set_tests_properties(four PROPERTIES LABELS chapter04)
set_tests_properties(never PROPERTIES LABELS "chapter05;slow")
"""

# Prints its options and exits with the first one, so that tests see that both get through; with 70
# where an option is the schedule's seed, and it says which settings it was given.
_PROGRAM = """\
#include <cstdio>
#include <cstdlib>
#include <cstring>
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::printf("option %s\\n", argv[i]);
  const char* const settings[] = {"BW_SIM_SEED", "BW_SIM_CYCLE_LIMIT", "BW_SIM_UNTIL_EVENT",
                                  "BW_SIM_EXPLORE", "BW_SIM_EXPLORE_LANES"};
  for (const char* const name : settings)
    if (const char* const value = std::getenv(name)) {
      std::printf("%s %s\\n", name, value);
      for (int i = 1; i < argc; ++i)
        if (std::strncmp(argv[i], "seed=", 5) == 0 && std::strcmp(argv[i] + 5, value) == 0) {
          std::printf("again: with BW_SIM_SEED=%s BW_SIM_UNTIL_EVENT=0.3.1250 a run ...\\n", value);
          return 70;
        }
    }
  return argc > 1 ? std::atoi(argv[1]) : 0;
}
"""


def write_script(path, body):
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + body, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


def make_toolkit(folder, release="13.0", without=()):
    """A folder that looks like a CUDA Toolkit; `without` names files that it shall lack."""
    write_script(folder / "bin" / "nvcc", f"echo 'Cuda compilation tools, release {release}, V'\n")
    for name in ("bin/ptxas", "bin/nvdisasm", "nvvm/bin/cicc", "include/cuda_runtime.h",
                 "include/crt/host_config.h", "include/cccl/cuda/std/cstdint"):
        if name not in without:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("", encoding="utf-8")
    return folder


_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


def as_an_ordinary_user():
    """Takes from root what lets it write to every file; the exec that follows makes it so."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)


def lock_up(test, *folders):
    """Makes folders read-only until the test ends; skips it where that has no effect."""
    for folder in folders:
        folder.chmod(0o555)
        test.addCleanup(folder.chmod, 0o755)
    probe = subprocess.run(["touch", str(folders[0] / "probe")], stderr=subprocess.DEVNULL,
                           preexec_fn=as_an_ordinary_user, check=False)
    if probe.returncode == 0:
        test.skipTest("this user may write everywhere")


def _modules_that(command, env):
    """The names of the modules that a run of Python imports."""
    result = subprocess.run([sys.executable, "-X", "importtime", *command], env=env, check=True,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, universal_newlines=True, timeout=100)
    return {line.rsplit("|", 1)[1].strip() for line in result.stderr.splitlines()
            if line.startswith("import time:")}


def environment(**changes):
    """Our environment with changes (None removes), without what steers the choice of tools and the
    encoding of the output, which tests read as UTF-8."""
    result = dict(os.environ)
    for name in ("PYTHONIOENCODING", "CUDA_PATH", "CUDAToolkit_ROOT", "BW_TOOLKIT_IGNORE_SYSTEM",
                 "CUDACXX", "CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_CUDA_COMPILER_LAUNCHER"):
        result.pop(name, None)
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = str(value)
    return result


def skip_without_toml():
    """Ends a test script as skipped where this Python can't read TOML (older than 3.11, no tomli)."""
    from tools import toml_text
    if toml_text.tomllib is None:
        print("skipped: this Python reads no TOML")
        sys.exit(77)


def grade_anywhere():
    """Lets the tests of `grade` go on under limits alone where root has no confinement, as in a
    container with the checkout in root's home; tests of each confinement say so themselves."""
    from tools import confinement, toolkit
    from tools.errors import WorkbookError
    try:
        confinement.strongest(ROOT, toolkit.find(ROOT)[0],
                              os.environ.get("BW_GRADE_WITHOUT", "").split(","))
    except WorkbookError as error:
        print(error, file=sys.stderr)
        os.environ["BW_GRADE_WITHOUT"] = f"{confinement.BUBBLEWRAP},{confinement.USER}"


class _Template:
    """A copy of the command's modules, with their bytecode: else the first command of a checkout would
    compile them again, as it does where this tree can't be written to. Checkouts hold links to its
    files, since making three hundred files takes longer than most commands. So a test that changes one
    of them deletes it first (`rewrite`)."""

    def __init__(self):
        compileall.compile_dir(ROOT / "common" / "tools", quiet=2)
        self._holder = tempfile.TemporaryDirectory(prefix="workbook_tools_")
        self._folder = Path(self._holder.name) / "tools"
        shutil.copytree(ROOT / "common" / "tools", self._folder)
        self._before = self._state()

    def link_to(self, folder):
        shutil.copytree(self._folder, folder, copy_function=os.link)

    def require_unchanged(self):
        changed = set(self._state().items()) ^ set(self._before.items())
        if changed:
            raise AssertionError(f"a test has changed the modules of the next ones: {changed}")

    def _state(self):
        return {path: (path.stat().st_size, path.stat().st_mtime_ns)
                for path in self._folder.rglob("*") if path.is_file()}


_template = functools.lru_cache(maxsize=1)(_Template)


def rewrite(path, text):
    """Writes a file of a checkout that may be a link."""
    path.unlink()
    path.write_text(text, encoding="utf-8")


class CheckoutTest(unittest.TestCase):
    """A test with a folder of its own; checkout() puts the command and a small project there."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="workbook_test_")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        if _template.cache_info().currsize:
            _template().require_unchanged()

    def checkout(self):
        """The command under test in a stub project; returns its root."""
        root = self.folder / "checkout"
        _template().link_to(root / "common" / "tools")
        for name in ("chapters.json", "toolkits.json"):
            shutil.copy(ROOT / "common" / name, root / "common" / name)
        shutil.copy(ROOT / "workbook", root / "workbook")
        shutil.copy(ROOT / "CMakePresets.json", root / "CMakePresets.json")
        (root / "CMakeLists.txt").write_text(_CMAKE, encoding="utf-8")
        chapter = root / "solutions" / "05_blockwise_fp8_gemm"
        chapter.mkdir(parents=True)
        (chapter / "main.cu").write_text("// the mark of a chapter with a program\n",
                                         encoding="utf-8")
        (chapter / "main.cpp").write_text(_PROGRAM, encoding="utf-8")
        self.program = chapter / "main.cpp"
        self.toolkit = make_toolkit(self.folder / "cuda")
        return root

    def run_workbook(self, root, *arguments, **changes):
        """Runs the command with our stub toolkit; standard output and error separate."""
        changes.setdefault("CUDA_HOME", self.toolkit)
        return forked.run(root / "workbook", arguments, environment(**changes), SECONDS)

    def assert_reads_little(self, root, *arguments):
        """A command that imports little beyond a bare Python starts quickly on any machine."""
        env = environment(CUDA_HOME=self.toolkit)
        read = _modules_that([str(root / "workbook"), *arguments], env) - _modules_that(["-c", ""], env)
        self.assertLess(len(read), MODULES_OF_A_QUICK_COMMAND, (arguments, sorted(read)))

    def assert_clear_error(self, result, *words, code=1):
        """One paragraph that contains `words`, no traceback, the expected status."""
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn("workbook: error: ", result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
