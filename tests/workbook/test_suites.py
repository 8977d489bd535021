"""./workbook suite: what it makes of names, folders and reports, and a small suite of each layout.

The programs here are the tests' own; BW_TEST_BUILD is the build that holds the simulator, BW_TEST_NVCC
its compiler.
"""

import contextlib
import io
import os
import struct
import tempfile
import unittest
from argparse import Namespace
from pathlib import Path
from unittest import mock

from support import ROOT

from tools import build, suites, toolkit
from tools.console import Console
from tools.errors import WorkbookError
from tools.limited import Ended

# The launcher that each program of the first suite includes.
_GRAPH_MAIN = """\
#include <cstdio>
#include <cstdlib>
#include <vector>
__global__ void test_kernel(int* nindex, int* nlist, data_t* data1, data_t* data2, int n);
static int* on_device(const std::vector<int>& values) {
  int* pointer;
  cudaMalloc(&pointer, values.size() * sizeof(int));
  cudaMemcpy(pointer, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice);
  return pointer;
}
int main(int argc, char** argv) {
  if (argc != 4) return 2;
  FILE* file = fopen(argv[1], "rb");
  int counts[2];
  if (file == nullptr || fread(counts, sizeof(int), 2, file) != 2) return 2;
  std::vector<int> index(counts[0] + 1), list(counts[1]), zeros(counts[0]);
  if (fread(index.data(), sizeof(int), index.size(), file) != index.size()) return 2;
  if (fread(list.data(), sizeof(int), list.size(), file) != list.size()) return 2;
  test_kernel<<<atoi(argv[3]), atoi(argv[2])>>>(on_device(index), on_device(list), on_device(zeros),
                                                on_device(zeros), counts[0]);
  cudaDeviceSynchronize();
  puts("ended");
}
"""
_GRAPH_KERNEL = """\
typedef int data_t;
#include "indigo_cuda.h"
__global__ void test_kernel(int* nindex, int* nlist, data_t* data1, data_t* data2, int n) {
  int v = threadIdx.x + blockIdx.x * blockDim.x;
  if (v >= n) return;
  BODY
}
"""
_GRAPH_BODIES = {
    "count_vertex": "if (nindex[v] < nindex[v + 1]) atomicAdd(data1, 1);",
    "count_vertex_atomicBug": "if (nindex[v] < nindex[v + 1]) data1[0]++;",
    "count_vertex_guardBug": "if (data1[0] < v) atomicMax(data1, v);",
    "count_vertex_boundsBug": "data1[v] = nlist[nindex[n] + v];",
}
_SCOPED = """\
#include <stdio.h>
__global__ void kmain(unsigned int* data) {
  if (threadIdx.x == 0) BODY;
}
int main() {
  unsigned int* d_data;
  cudaMalloc(&d_data, sizeof(unsigned int));
  kmain<<<2, 32>>>(d_data);
  return cudaDeviceSynchronize();
}
"""
_SCOPED_BODIES = {"norace_interblock_atom": "atomicExch(data, 1)",
                  "race_interblock_blkatom": "atomicExch_block(data, 1)"}
_MEMORY = """\
__device__ int x;
__global__ void unaligned_kernel() { *(int*)((char*)&x + 1) = 42; }
__device__ void out_of_bounds_function() {
  *(int*)0x87654320 = 42;
}
__global__ void out_of_bounds_kernel() { out_of_bounds_function(); }
int main() {
  int* kept = nullptr;
  cudaMalloc(&kept, 1024);
  unaligned_kernel<<<1, 1>>>();
  cudaDeviceSynchronize();
  out_of_bounds_kernel<<<1, 1>>>();
  cudaDeviceSynchronize();
}
"""
_RACE = """\
__shared__ int smem[64];
__global__ void sumKernel(int* sum_out) {
  smem[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < 64; ++i) sum += smem[i];
    *sum_out = sum;
  }
}
int main() {
  int* sum_out;
  cudaMalloc(&sum_out, sizeof(int));
  sumKernel<<<1, 64>>>(sum_out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_graph(path, vertices):
    """A ring of vertices in compressed rows, as the suite's files have it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    edges = [(vertex + 1) % vertices for vertex in range(vertices)]
    numbers = [vertices, len(edges), *range(vertices + 1), *edges]
    path.write_bytes(struct.pack(f"<{len(numbers)}i", *numbers))


def make_suite(name, folder):
    """A small folder in the layout of a suite."""
    if name == "indigo":
        write(folder / "indigo" / "indigo_include" / "indigo_cuda.h", _GRAPH_MAIN)
        write_graph(folder / "indigo" / "input" / "ring_200n.egr", 200)
        for stem, body in _GRAPH_BODIES.items():
            write(folder / "indigo" / "indigo_sources" / "count_vertex" / f"{stem}.cu",
                  _GRAPH_KERNEL.replace("BODY", body))
    elif name == "scor":
        for stem, body in _SCOPED_BODIES.items():
            write(folder / "microbenchmarks" / "src" / f"{stem}.cu", _SCOPED.replace("BODY", body))
    else:
        write(folder / "Memcheck" / "memcheck_demo.cu", _MEMORY)
        write(folder / "Racecheck" / "block_error.cu", _RACE)


def ended(text, status=0, timed_out=False):
    return Ended(status, text, "", 0.1, timed_out)


class Folders(unittest.TestCase):

    def test_a_folder_that_is_no_suite(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in suites.SUITES:
                with self.assertRaisesRegex(WorkbookError, "is not .*there should be .*") as refused:
                    suites.programs_of(name, folder)
                self.assertEqual(refused.exception.exit_code, 2)
            with self.assertRaisesRegex(WorkbookError, "is not a folder"):
                suites.programs_of("scor", Path(folder) / "nothing")
            # Another suite's folder isn't one either.
            make_suite("indigo", Path(folder))
            with self.assertRaisesRegex(WorkbookError, "is not ScoR"):
                suites.programs_of("scor", folder)

    def test_a_suite_without_its_graphs(self):
        with tempfile.TemporaryDirectory() as folder:
            make_suite("indigo", Path(folder))
            (Path(folder) / "indigo" / "input" / "ring_200n.egr").unlink()
            with self.assertRaisesRegex(WorkbookError, "no graph"):
                suites.programs_of("indigo", folder)

    def test_the_verdicts_that_names_hold(self):
        with tempfile.TemporaryDirectory() as folder:
            make_suite("indigo", Path(folder))
            make_suite("scor", Path(folder))
            make_suite("sanitizer", Path(folder))
            self.assertEqual(
                [(one.name, one.expected) for one in suites.programs_of("indigo", folder)],
                [("count_vertex", "right"), ("count_vertex_atomicBug", "race"),
                 ("count_vertex_boundsBug", "fault"), ("count_vertex_guardBug", "race")])
            self.assertEqual([one.expected for one in suites.programs_of("scor", folder)],
                             ["right", "race"])
            self.assertEqual([one.name for one in suites.programs_of("sanitizer", folder)],
                             ["memcheck_demo.misaligned", "memcheck_demo.out_of_bounds",
                              "memcheck_demo.leak", "block_error"])
        self.assertEqual(suites.indigo_verdict("pull_boundsBug_syncBug_last"), "race")


class Verdicts(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = Path(folder.name) / "a.cu"
        write(self.source, _MEMORY)

    def said(self, expected, *runs, **more):
        program = suites.Program("a", self.source, expected, **more)
        finding = suites.judge(program, runs)
        return finding.said, finding.as_expected

    def test_races_and_other_faults(self):
        race, fault = ended("BW-R12 a race at a.cu:4"), ended("BW-M01 out of bounds, a.cu:4")
        quiet = ended("ended")
        self.assertEqual(self.said("right", quiet, quiet), ("nothing", True))
        self.assertEqual(self.said("right", quiet, race), ("race", False))
        self.assertEqual(self.said("race", quiet, race), ("race", True))
        self.assertEqual(self.said("race", fault), ("fault", False))
        self.assertEqual(self.said("race", fault, race), ("race", True))
        self.assertEqual(self.said("fault", race, fault), ("fault", True))
        self.assertEqual(self.said("race", quiet), ("nothing", False))

    def test_runs_that_say_nothing(self):
        self.assertEqual(self.said("right", ended("", timed_out=True)), ("no end", False))
        self.assertEqual(self.said("right", ended("", status=-11)), ("not run", False))

    def test_a_report_of_another_function_does_not_count(self):
        fault = ended("BW-M01 out of bounds, a.cu:4")
        self.assertEqual(self.said("fault", fault, function="out_of_bounds_function"), ("fault", True))
        self.assertEqual(self.said("fault", fault, function="unaligned_kernel"), ("nothing", False))
        self.assertEqual(self.said("fault", fault, pattern="1024 bytes"), ("nothing", False))

    def test_the_lines_of_a_function(self):
        self.assertEqual(suites.lines_of_function(_MEMORY, "out_of_bounds_function"), range(3, 6))
        self.assertEqual(suites.lines_of_function(_MEMORY, "unaligned_kernel"), range(2, 3))
        self.assertEqual(suites.lines_of_function(_GRAPH_MAIN, "on_device"), range(5, 11))
        self.assertEqual(suites.lines_of_function(_MEMORY, "nothing"), range(0))

    def test_the_table(self):
        program = suites.Program("a", self.source, "race")
        right = suites.Program("b", self.source, "right")
        text = suites.table([suites.Finding(program, "race"), suites.Finding(program, "fault"),
                             suites.Finding(right, "nothing")])
        self.assertEqual([line.split() for line in text.splitlines()],
                         [["the", "suite", "says", "race", "fault", "nothing", "sum"],
                          ["right", "0", "0", "1", "1"], ["race", "1", "1", "0", "2"]])


@unittest.skipUnless("BW_TEST_NVCC" in os.environ, "needs the build's compiler")
class Runs(unittest.TestCase):
    """Whole suites, of a few programs each."""

    def run_suite(self, name, change=lambda _: None):
        """(exit status, what was printed)."""
        found = toolkit.Toolkit(Path(os.environ["BW_TEST_NVCC"]), "13.0", False)
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
            make_suite(name, Path(folder))
            change(Path(folder))
            place = Path(os.environ["BW_TEST_BUILD"])
            with mock.patch.object(build.Configuration, "folder", lambda *_: place), \
                    mock.patch.object(toolkit, "find", lambda *_: (found, [])):
                status = suites.do_suite(
                    Path(folder), Console(io.StringIO()),
                    Namespace(suite=name, folder=folder, only=None, jobs=2, seeds=2, seconds=60),
                    lambda *_: None)
            return status, out.getvalue()

    def test_indigo(self):
        status, said = self.run_suite("indigo")
        self.assertIn("4 of 4 judged as the suite does", said)
        self.assertEqual(status, 0)

    def test_scor(self):
        def mislabel(folder):
            sources = folder / "microbenchmarks" / "src"
            (sources / "race_interblock_blkatom.cu").rename(sources / "norace_mislabelled.cu")
            write(sources / "race_does_not_compile.cu", "int main( {")
        status, said = self.run_suite("scor", mislabel)
        self.assertRegex(said, r"norace_mislabelled: right in the suite, said: race \(.*BW-R06")
        self.assertRegex(said, r"race_does_not_compile: race in the suite, said: not run \(.*error")
        self.assertIn("1 of 3 judged as the suite does", said)
        self.assertEqual(status, 1)

    def test_sanitizer(self):
        status, said = self.run_suite("sanitizer")
        self.assertIn("4 of 4 judged as the suite does", said)
        self.assertEqual(status, 0)


if __name__ == "__main__":
    unittest.main(argv=[str(ROOT / "tests" / "workbook" / "test_suites.py")])
