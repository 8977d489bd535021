"""Each C++ and CUDA file of the build and each header of common/, solutions/ and tests/ compiles alone.

The build compiles files in groups and with precompiled headers (BwUnity.cmake), so that a file may use
what another one includes: it then fails with BW_UNITY=OFF or in the build for a GPU. Here the front ends
of the C++ compiler and of nvcc read the files of both builds one by one, and each header in a file of
its own.

compiles_alone_test.py <build folder> [<unittest's options>...]
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("common", "solutions", "tests")
OPTIONS = ("-GNinja", "-DCMAKE_BUILD_TYPE=Release", "-DBW_UNITY=OFF", "-DBW_TESTS=ON",
           "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON")
CONFIGURATIONS = {"sim": ("-DBW_SIMULATOR=ON", "-DBW_GPU_PROGRAMS=OFF"), "gpu": ("-DBW_SIMULATOR=OFF",)}
_FRONT_END_ALONE = {"c++": ("-fsyntax-only",),
                    "cuda": ("-fdevice-syntax-only", "-Xcompiler=-fsyntax-only", "-o", "alone.o")}
# A front end accepts a file with any of these, or with none.
_OF_THE_BACK_END = re.compile(r"-O\d|-lineinfo|-no-compress|-Xptxas=.*|-Xfatbin=.*")
# Group 1: a header of the tree; empty for a system's header.
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<)', re.M)


class Compilation:
    """A source (relative to the root) and the call of the front end, `c++` or `cuda`, that reads it."""

    def __init__(self, entry, root):
        words = shlex.split(entry["command"])
        self.folder, self.source = entry["directory"], os.path.relpath(entry["file"], str(root))
        self.front_end = "cuda" if " -x cu " in entry["command"] else "c++"
        self.call = [word for word, before in zip(words, ["", *words])
                     if "-o" not in (word, before) and word not in ("-c", entry["file"])
                     and not _OF_THE_BACK_END.fullmatch(word)]

    def key(self):
        """Equal for compilations in which a front end sees the same, in whatever build folder."""
        return self.source, " ".join(self.call).replace(self.folder, "")

    def first_error(self, path):
        """The first error that the front end reports of a file; empty if it accepts the file."""
        done = subprocess.run([*self.call, *_FRONT_END_ALONE[self.front_end], "-c", str(path)],
                              cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, errors="replace", check=False)
        lines = done.stdout.splitlines() or [f"exit status {done.returncode}"]
        return next((line for line in lines if " error" in line), lines[0]) if done.returncode else ""


def compilations(entries, root):
    """The distinct compilations of the tree's files among the entries of compilation databases."""
    folders = tuple(f"{name}/" for name in FOLDERS)
    found = {one.key(): one for one in (Compilation(entry, root) for entry in entries)
             if one.source.startswith(folders)}
    return [found[key] for key in sorted(found)]


def headers(compiled, root):
    """Pairs: each header of the tree, relative to the root, and the compilation of a source near to it,
    whose front end reads it. That is the C++ compiler's for a `.hpp` that C++ files include, else
    nvcc's."""
    read_by_cpp, todo = set(), [one.source for one in compiled if one.front_end == "c++"]
    while todo:
        for name in _INCLUDE.findall((root / todo.pop()).read_text(encoding="utf-8")):
            if name and name not in read_by_cpp and (root / name).is_file():
                read_by_cpp.add(name)
                todo.append(name)
    pairs = []
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.[ch]*")):
        if path.suffix not in (".hpp", ".cuh"):
            continue
        name = path.relative_to(root).as_posix()
        front_end = "c++" if path.suffix == ".hpp" and name in read_by_cpp else "cuda"
        pairs.append((name, max((one for one in compiled if one.front_end == front_end),
                                key=lambda one: len(os.path.commonpath([one.source, name])))))
    return pairs


def findings(entries, root):
    """Sentences: the tree's files that don't compile alone, each with its first error."""
    def of_source(one):
        return one.source, one.first_error(root / one.source)

    def of_header(pair):
        name, nearest = pair
        with tempfile.TemporaryDirectory(prefix="alone_") as folder:
            source = Path(folder) / ("alone.cu" if nearest.front_end == "cuda" else "alone.cpp")
            source.write_text(f'#include "{name}"\n', encoding="utf-8")
            return name, nearest.first_error(source)

    compiled = compilations(entries, root)
    # A source's first include is read as if it were alone.
    first = {(name, one.front_end) for one in compiled
             for name in _INCLUDE.findall((root / one.source).read_text(encoding="utf-8"))[:1]}
    others = [pair for pair in headers(compiled, root) if (pair[0], pair[1].front_end) not in first]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = [*pool.map(of_source, compiled), *pool.map(of_header, others)]
    print(f"{len(compiled)} sources and {len(others)} headers were read alone.")
    return [f"{name}: {error}" for name, error in results if error]


def cached(build, name):
    """A variable of a build folder's cache; empty if it has none of that name or found nothing."""
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    match = re.search(rf"^{name}:\w+=(.*)$", cache, re.M)
    return "" if match is None or match.group(1).endswith("-NOTFOUND") else match.group(1)


def configure(build, folder):
    """Configures both builds in a folder with the tools of a build folder; returns the entries of their
    compilation databases."""
    tools = [f"-D{name}={cached(build, name)}" for name in ("CMAKE_CXX_COMPILER", "CMAKE_CUDA_COMPILER")]
    bench = "ON" if cached(build, "BW_CUBLASLT_LIBRARY") else "OFF"
    entries = []
    for name, options in CONFIGURATIONS.items():
        subprocess.run([cached(build, "CMAKE_COMMAND"), "-S", str(ROOT), "-B", str(folder / name),
                        *OPTIONS, *options, *tools, f"-DBW_BENCH={bench}"],
                       stdout=subprocess.DEVNULL, check=True)
        entries += json.loads((folder / name / "compile_commands.json").read_text(encoding="utf-8"))
    return entries


class WholeTree(unittest.TestCase):
    def test_each_file_compiles_alone(self):
        with tempfile.TemporaryDirectory(prefix="alone_") as folder:
            found = findings(configure(BUILD, Path(folder)), ROOT)
        if found:
            self.fail("\n".join(found))


class SmallTree(unittest.TestCase):
    """A tree with a fault of each kind."""

    FILES = {"common/number.hpp": "#pragma once\nusing Number = int;\n",
             "common/twice.hpp": "#pragma once\ninline Number twice(Number one) { return 2 * one; }\n",
             "common/thread.cuh": "#pragma once\n"
                                  "__device__ inline Number thread() { return threadIdx.x; }\n",
             "common/good.cpp": '#include "common/number.hpp"\n\n#include "common/twice.hpp"\n\n'
                                "Number four() { return twice(2); }\n",
             "common/bad.cpp": "int eight() { return 2 * four(); }\n",
             "tests/good.cu": '#include "common/number.hpp"\n\n#include "common/thread.cuh"\n\n'
                              "__global__ void kernel(int* out) { out[thread()] = 1; }\n",
             "build/generated.cpp": "not the tree's\n"}

    def test_each_fault_is_found(self):
        with tempfile.TemporaryDirectory(prefix="alone_") as folder:
            root, entries = Path(folder), []
            compilers = {".cpp": f"{cached(BUILD, 'CMAKE_CXX_COMPILER')} -O2",
                         ".cu": f"{cached(BUILD, 'CMAKE_CUDA_COMPILER')} -x cu"}
            for name, text in self.FILES.items():
                path = root / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
                if path.suffix in compilers:
                    entries += 2 * [{"directory": folder, "file": str(path),
                                     "command": f"{compilers[path.suffix]} -I{root} -o out.o -c {path}"}]
            found = findings(entries, root)
        self.assertEqual([one.split(":")[0] for one in found],
                         ["common/bad.cpp", "common/thread.cuh", "common/twice.hpp"])
        for sentence, name in zip(found, ("four", "Number", "Number")):
            self.assertRegex(sentence, f"error.*{name}")


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main()
