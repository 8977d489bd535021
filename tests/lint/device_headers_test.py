"""The sources that nvcc compiles in solutions/ include no heavy header of the standard library, those in
tests/ none of GoogleTest.

nvcc reads every header of a file three times. Each of these costs it between a fifth of a second and
two seconds in each file; `common/host/require.hpp`, `common/device/min_max.cuh` and functions of the
host's library are there instead. GoogleTest's take six seconds: tests with device code have
`tests/device_cases.hpp`. A source without device code is the C++ compiler's
(`bw_without_device_code`), and may include what it likes.

device_headers_test.py <build folder>
"""

import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAVY = frozenset("algorithm filesystem fstream functional iomanip iostream map memory ostream random "
                  "ranges regex set sstream stdexcept string string_view unordered_map "
                  "unordered_set".split())
GOOGLE_TEST = frozenset(["gtest/gtest.h", "gtest/gtest-spi.h"])
# A program of the host with one small kernel among its functions.
MAY_BE_HEAVY = ("solutions/06_hopper_fp8_gemm/main.cu",)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.M)


def device_sources(build, folder, root=ROOT):
    """The CUDA files of a folder, relative to the root, without those that a build compiles as C++. A
    file that this build does not compile is included: nvcc compiles it in the build for a GPU."""
    host = set()
    for command in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        if " -x cu " not in command["command"]:
            source = Path(command["file"])
            united = build in source.parents
            members = (_INCLUDE.findall(source.read_text(encoding="utf-8")) if united
                       else [(str(source), "")])
            host.update((root / own).relative_to(root).as_posix() for own, _ in members)
    return sorted({path.relative_to(root).as_posix() for path in (root / folder).rglob("*.cu")} - host)


def heavy_includes(source, heavy=HEAVY, root=ROOT):
    """Sentences: by which way a source includes which heavy headers."""
    came_from, todo, sentences = {source: None}, [source], []
    while todo:
        name = todo.pop(0)
        for own, standard in _INCLUDE.findall((root / name).read_text(encoding="utf-8")):
            if standard in heavy:
                way = [name]
                while came_from[way[0]]:
                    way.insert(0, came_from[way[0]])
                sentences.append(f"{' -> '.join(way)} includes <{standard}>")
            elif own and own not in came_from and (root / own).is_file():
                came_from[own] = name
                todo.append(own)
    return sentences


class DeviceHeaders(unittest.TestCase):
    def test_no_source_includes_a_heavy_header(self):
        sources = device_sources(BUILD, "solutions")
        self.assertGreater(len(sources), 70)
        for source in sources:
            found = heavy_includes(source)
            if source in MAY_BE_HEAVY:
                self.assertTrue(found, f"{source} needs no exception any more")
            else:
                self.assertEqual(found, [])

    def test_no_test_includes_googletests_headers(self):
        sources = device_sources(BUILD, "tests")
        for source in ("contract/chapter01_pipeline_test.cu", "benchmarks/hopper/floor_tma.cu"):
            self.assertIn(f"tests/{source}", sources)
        for source in sources:
            self.assertEqual(heavy_includes(source, GOOGLE_TEST), [])
        self.assertTrue(heavy_includes("tests/device_cases.cpp", GOOGLE_TEST))

    def test_a_heavy_header_is_found_wherever_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in {"a.cu": '#include <vector>\n#include "b.hpp"\n',
                               "b.hpp": '  #  include "c.hpp"\n#include "a.cu"\n// #include <map>\n',
                               "c.hpp": "#include<string>\n#include <cstring>\n"}.items():
                (root / name).write_text(text, encoding="utf-8")
            self.assertEqual(heavy_includes("a.cu", root=root),
                             ["a.cu -> b.hpp -> c.hpp includes <string>"])


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main()
