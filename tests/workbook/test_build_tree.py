"""Build folders that are stale, damaged or half made, and optional parts that can't be had."""

import shutil
import subprocess
import unittest

from support import CheckoutTest, write_script

# A library that only a benchmark needs, found by CMake as BwPackages.cmake does it.
_OPTIONAL = """
find_library(BW_OpenBLAS_LIBRARY NAMES stand_in_blas PATHS "{folder}" NO_DEFAULT_PATH)
if(BW_OpenBLAS_LIBRARY)
  add_executable(simulator_bench solutions/05_blockwise_fp8_gemm/main.cpp)
endif()
"""


class BuildTree(CheckoutTest):
    def setUp(self):
        super().setUp()
        self.root = self.checkout()
        self.tree = self.root / "build" / "sim"

    def run_five(self, **changes):
        return self.run_workbook(self.root, "run", "5", "--sim", **changes)

    def assert_runs(self, result=None):
        result = result or self.run_five()
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def rewrite(self, name, change):
        path = self.tree / name
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


class Repaired(BuildTree):
    """Whatever was left in build/ by something else, the next command runs."""

    def test_a_cache_that_was_cut_off(self):
        self.assert_runs()
        self.rewrite("CMakeCache.txt", lambda text: text[:len(text) // 2])
        self.assert_runs()

    def test_a_cache_of_another_generator_or_source(self):
        self.assert_runs()
        for name, value in (("CMAKE_GENERATOR", "Unix Makefiles"),
                            ("CMAKE_HOME_DIRECTORY", "/somewhere/else"),
                            ("CMAKE_CACHEFILE_DIR", "/somewhere/else"),
                            ("CMAKE_COMMAND", "/no/such/cmake")):
            with self.subTest(name):
                self.rewrite("CMakeCache.txt", lambda text: "".join(
                    f"{name}:INTERNAL={value}\n" if line.startswith(f"{name}:") else line
                    for line in text.splitlines(keepends=True)))
                self.assert_runs()

    @unittest.skipUnless(shutil.which("make"), "make is not installed, and the build uses Ninja")
    def test_a_tree_made_with_make(self):
        shutil.rmtree(self.tree, ignore_errors=True)
        subprocess.run(["cmake", "-S", self.root, "-B", self.tree, "-G", "Unix Makefiles"],
                       check=True, stdout=subprocess.DEVNULL)
        self.assert_runs()

    def test_a_damaged_build_ninja(self):
        self.assert_runs()
        self.rewrite("build.ninja", lambda text: text[:len(text) // 3] + "\nbuild : :\n")
        self.assertIn("configures it again", self.assert_runs().stderr)

    def test_what_was_compiled_is_kept_when_the_tree_is_made_anew(self):
        self.assert_runs()
        program = self.tree / "bin" / "05_blockwise_fp8_gemm"
        before = program.stat().st_mtime_ns
        self.rewrite("CMakeCache.txt", lambda text: text[:100])
        self.assert_runs()
        self.assertTrue(program.exists())
        self.assertGreaterEqual(program.stat().st_mtime_ns, before)


class Unrepairable(BuildTree):
    def test_a_file_where_the_folder_should_be_is_named(self):
        self.tree.parent.mkdir()
        self.tree.write_text("", encoding="utf-8")
        self.assert_clear_error(self.run_five(), "build/sim", "delete that folder")

    def test_an_error_in_the_build_files_is_shown_and_costs_nothing(self):
        self.assert_runs()
        lists = self.root / "CMakeLists.txt"
        good = lists.read_text(encoding="utf-8")
        cache = (self.tree / "CMakeCache.txt").read_text(encoding="utf-8")
        lists.write_text(good + "message(FATAL_ERROR \"a part is missing\")\n", encoding="utf-8")
        self.assert_clear_error(self.run_five(), "a part is missing", "could not configure")
        self.assertEqual((self.tree / "CMakeCache.txt").read_text(encoding="utf-8"), cache)
        lists.write_text(good, encoding="utf-8")
        self.assert_runs()


class OptionalPart(BuildTree):
    """`bench simulator` needs OpenBLAS; nothing else does, before or after it was asked for."""

    def setUp(self):
        super().setUp()
        self.library = self.folder / "libstand_in_blas.so"
        with open(self.root / "CMakeLists.txt", "a", encoding="utf-8") as lists:
            lists.write(_OPTIONAL.format(folder=self.folder))

    def require(self, name):
        """Makes the benchmark need a library by this name, with a header that is always there."""
        path = self.root / "common" / "CMakeLists.txt"
        path.write_text("bw_require_package(OpenBLAS OPTIONAL FOR simulator_bench TARGET b\n"
                        f"  DEBIAN libopenblas-dev HEADER vector LIBRARY {name})\n",
                        encoding="utf-8")

    def bench(self):
        return self.run_workbook(self.root, "bench", "simulator")

    def test_a_library_that_cannot_be_installed_fails_the_benchmark_alone(self):
        self.assert_runs()
        self.require("no_such_blas")
        tools = self.folder / "bin"
        for name in ("apt-get", "sudo"):
            write_script(tools / name, "exit 1\n")
        result = self.run_workbook(self.root, "bench", "simulator", PATH=f"{tools}:/usr/bin:/bin")
        self.assert_clear_error(result, "libopenblas-dev")
        self.assert_runs()
        doctor = self.run_workbook(self.root, "doctor")
        self.assertIn("missing (libopenblas-dev), only for benchmarks", doctor.stdout)
        self.assertEqual(self.run_workbook(self.root, "test").returncode, 0)

    def test_a_library_that_cmake_does_not_find_fails_the_benchmark_alone(self):
        self.assert_runs()
        self.require("c")
        self.assert_clear_error(self.bench(), "simulator_bench")
        self.assert_runs()

    def test_once_it_is_installed_the_benchmark_runs(self):
        self.assert_runs()
        self.require("c")
        self.library.write_text("", encoding="utf-8")
        self.assert_runs(self.bench())
        self.assert_runs(self.bench())

    def test_a_value_that_failed_does_not_stay_in_the_cache(self):
        """The GPU's benchmark sets BW_BENCH, which stops CMake where cuBLASLt is missing."""
        from tools import build
        from tools.console import Console
        from tools.errors import WorkbookError
        from tools.setup import Tools
        from tools.toolkit import Toolkit

        with open(self.root / "CMakeLists.txt", "a", encoding="utf-8") as lists:
            lists.write("if(BW_BENCH)\n  message(FATAL_ERROR \"no cuBLASLt\")\nendif()\n")
        tools = Tools(shutil.which("cmake"), shutil.which("ctest"),
                      Toolkit(self.toolkit / "bin" / "nvcc", "13.0", False), None)
        build.configure(self.root, tools, Console(), build.GPU)
        with self.assertRaisesRegex(WorkbookError, "could not configure"):
            build.configure(self.root, tools, Console(), build.GPU_BENCH)
        self.assertNotEqual(build.cached(build.GPU.folder(self.root), "BW_BENCH"), "ON")
        build.build(self.root, tools, Console(), build.GPU)


if __name__ == "__main__":
    unittest.main()
