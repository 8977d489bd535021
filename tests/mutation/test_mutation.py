"""The tool that changes sources: what it says of its map from sources to tests, of its file of results,
and that the changed function is the one that runs."""

import ctypes
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from mutate import ROOT, Build, Mutant, Results, mutants_of, sources_of
from suite import (CTEST, LIBRARY, OBSERVERS, UNIT_TESTS, Ended, Suite, run_command, slow_unit_tests,
                   wrong_in_map)

BUILD = Path(sys.argv.pop(1)).resolve()
SIMULATOR = ROOT / "common" / "simulator"
SOURCES = [path.relative_to(SIMULATOR).as_posix() for path in sorted(SIMULATOR.rglob("*.cpp"))]


class MapOfTests(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.listed = Suite(BUILD, ROOT).listed

    def test_it_has_every_folder_and_ctest_lists_its_tests(self):
        self.assertEqual(wrong_in_map(SOURCES, self.listed), [])

    def test_a_folder_without_tests_is_named(self):
        wrong = wrong_in_map([*SOURCES, "caches/a.cpp", "browser/b.cpp"], self.listed)
        self.assertEqual(wrong, ["common/simulator/caches/ has no tests in suite.py: add it to "
                                 "UNIT_TESTS and CTEST"])

    def test_a_folder_that_is_gone_is_named(self):
        rest = [path for path in SOURCES if not path.startswith("trace/")]
        self.assertEqual(wrong_in_map(rest, self.listed),
                         ["suite.py names common/simulator/trace/, which has no source: take it out"])

    def test_a_test_that_does_not_exist_is_named(self):
        gone = {name for name in self.listed if name != "simulator.codes"
                and not name.startswith("simulator_session_test")}
        self.assertEqual(wrong_in_map(SOURCES, gone),
                         [f"suite.py names the test {name}, which CTest does not list: give its present "
                          "name" for name in ("simulator_session_test", "simulator.codes")])

    def test_unit_tests_of_no_folder_are_named(self):
        more = {*self.listed, "simulator_caches_test.Cache.IsCold", "simulator_new_test_NOT_BUILT"}
        self.assertEqual(wrong_in_map(SOURCES, more),
                         [f"no source is tested by simulator_{name}_test: add it to UNIT_TESTS in "
                          "suite.py" for name in ("caches", "new")])

    def test_both_tables_have_the_same_folders(self):
        self.assertEqual(set(UNIT_TESTS), set(CTEST))


class Mutants(unittest.TestCase):

    def test_each_changes_its_line_alone(self):
        path = "common/simulator/machine/cluster.cpp"
        lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
        mutants = mutants_of(path)
        self.assertGreater(len(mutants), 50)
        for mutant in mutants:
            line, changed = lines[mutant.line - 1], mutant.changed_line(lines[mutant.line - 1])
            self.assertNotEqual(changed, line)
            self.assertEqual(len(changed) - len(line), len(mutant.new) - len(mutant.old))

    def test_each_is_linked_into_the_library_that_holds_its_source(self):
        if not (BUILD / OBSERVERS).exists():
            self.skipTest("there is no shared simulator")
        libraries = {}
        for library in (LIBRARY, OBSERVERS):
            text = subprocess.run(["nm", "--defined-only", "--demangle", str(BUILD / library)],
                                  stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
            libraries[library] = text
        build = Build(BUILD)
        for path, function in (("diagnosis/races/watch.cpp", "races::RaceWatch::on_launch("),
                               ("diagnosis/exploration/explorer.cpp", "exploration::explore("),
                               ("trace/recorder.cpp", "trace::Recorder::Recorder("),
                               ("diagnosis/deadlock.cpp", "deadlock_report("),
                               ("session/equip.cpp", "session::equip("),
                               ("machine/cluster.cpp", "Cluster::run(")):
            holding = [library for library, text in libraries.items()
                       if f" T bw::sim::{function}" in text]
            self.assertEqual(holding, [build.library_of(f"common/simulator/{path}")], path)

    def test_files_of_a_group_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            group = Path(folder) / "Unity" / "unity_a_0_cxx.cxx"
            group.parent.mkdir()
            group.write_text('/* generated */\n\n#include "/x/a.cpp"\n\n#include "/x/b.cpp"\n')
            self.assertEqual(sources_of(str(group)), ["/x/a.cpp", "/x/b.cpp"])
        self.assertEqual(sources_of("/x/a.cpp"), ["/x/a.cpp"])

    def test_the_changed_function_runs_where_its_own_group_calls_it(self):
        compiler = ["c++", "-O3", "-fPIC"]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "group.cpp").write_text("namespace a { int f() { return 1; } }\n"
                                              'extern "C" int g() { return 10 * a::f(); }\n')
            (folder / "mutant.cpp").write_text("namespace a { int f() { return 2; } }\n")
            for source in ("group", "mutant"):
                subprocess.run([*compiler, "-c", f"{source}.cpp", "-o", f"{source}.o"], cwd=folder,
                               check=True)
            build = Build.__new__(Build)
            build.folder = folder
            build.link_words = {LIBRARY: [*compiler, "-shared", "-Wl,-Bsymbolic-functions", "-o", "",
                                          "group.o"]}
            build.link(LIBRARY, folder / "mutant.o", folder / "mutated.so")
            self.assertEqual(ctypes.CDLL(str(folder / "mutated.so")).g(), 20)


class ResultsOfARun(unittest.TestCase):

    def test_a_later_line_replaces_an_earlier_one(self):
        first, second = (Mutant("common/simulator/units/a.cpp", line, 4, "1", "2", f"x = 1;  // {line}")
                         for line in (1, 2))
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "results.jsonl")
            results = Results(file)
            results.add(first, "killed", "a test")
            results.add(second, "survived", "")
            self.assertEqual(results.share(), (50.0, 2))
            Results(file).add(second, "killed", "a new test")
            self.assertEqual(Results(file).share(), (100.0, 2))
            self.assertEqual(list(Results(file).summary())[1], "  units/: 100.0 % of 2")
            lines = Path(file).read_text(encoding="utf-8").splitlines()
        self.assertEqual([json.loads(line)["result"] for line in lines],
                         ["killed", "survived", "killed"])

    def test_only_what_changes_something_counts(self):
        results = Results(None)
        for number, result in enumerate(("killed", "survived", "equivalent", "explained", "invalid")):
            results.add(Mutant("common/simulator/ptx/a.cpp", 1, 0, "1", str(number), "1"), result, "")
        self.assertEqual(results.share(), (50.0, 2))

    def test_a_test_that_waits_forever_is_ended(self):
        status, _, used = run_command(["/bin/sleep", "60"], {}, ROOT, 0.05)
        self.assertIsNone(status)
        self.assertLess(used, 0.05)

    def test_slow_unit_tests_are_those_that_use_a_core_for_long(self):
        output = "[       OK ] A.Short (90 ms)\n[       OK ] A.Long (310 ms)\n"
        self.assertEqual(slow_unit_tests(Ended("", output, 0.4)), {"A.Long": 0.31})
        self.assertEqual(slow_unit_tests(Ended("", output, 4.0)), {"A.Long": 0.31})
        # The program had a tenth of a core.
        late = output.replace("90", "900").replace("310", "3100")
        self.assertEqual(slow_unit_tests(Ended("", late, 0.4)), {"A.Long": 0.31})

    def test_status_and_output_are_those_of_the_command(self):
        status, output, _ = run_command(["/bin/sh", "-c", "echo said; exit 3"], {}, ROOT, 5)
        self.assertEqual((status, output), (3, "said\n"))


if __name__ == "__main__":
    unittest.main()
