"""The composed check with the real compiler and simulator: any text in a region ends in a
clear sentence, and names the reader's lines."""

import os
import re
import subprocess
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

import support
from tools import api, check, compose, device_code, regions, reports, runs
from tools.errors import WorkbookError
from tools.try_exercise import tools_of
from tools.verdict import BROKEN, FAILED, PASSED

WRITE = "1.3"
FIND = "1.5"
GEMM = "05_blockwise_fp8_gemm"


class ComposedCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = support.ROOT
        cls.tools = tools_of(cls.root)
        known = api.load_all(cls.root)
        cls.exercise, cls.bug = api.find(known, WRITE), api.find(known, FIND)
        # The first of its programs, which has to be compiled for each answer, shows what all would.
        cls.first_run = replace(cls.exercise, runs=(replace(cls.exercise.runs[0], seeds=(0,)),))

    def verdict(self, *lines):
        # A run that goes on for long costs time and shows nothing more.
        with mock.patch.object(runs, "LIMIT_FACTOR", 5), mock.patch.object(
                runs, "LEAST_CYCLES", 100_000):
            return check.check_answer(self.root, self.first_run, self.tools, lines)

    def work_folders(self):
        """Those of this process: other tests check exercises at the same time."""
        return list(runs.folder(self.root).glob(f"check-*-{os.getpid()}-*"))

    def test_the_solution_passes_and_a_work_folder_is_not_left(self):
        verdict = check.check_answer(self.root, self.exercise, self.tools, self.exercise.region.body)
        self.assertEqual(verdict.status, PASSED, verdict)
        self.assertEqual(self.work_folders(), [])

    def test_with_one_core_a_program_is_compiled_when_its_turn_comes(self):
        real, asked, error = device_code.compile_to_ptx, [], device_code.Compiled(errors="no\n")

        def compile_it(root, tools, programs, *rest):
            asked.append(tuple(programs))
            return real(root, tools, programs, *rest) if tools.cores else {
                program: error for program in programs}
        exercise = api.find(api.load_all(self.root), "1.4")
        lines = next(iter(exercise.wrong)).answer.strip("\n").split("\n")
        with mock.patch.object(device_code, "compile_to_ptx", side_effect=compile_it):
            for cores, status in ((1, FAILED), (None, BROKEN)):
                tools = replace(self.tools, cores=cores)
                verdict = check.check_answer(self.root, exercise, tools, lines)
                self.assertEqual(verdict.status, status, verdict)
        self.assertGreater(len(exercise.programs), 1)
        self.assertEqual(asked, [exercise.programs[:1], exercise.programs])

    def test_a_compiler_error_names_the_line_and_nothing_more(self):
        verdict = self.verdict("// a comment first", "stage = no_such_name;")
        self.assertEqual(verdict.status, BROKEN)
        self.assertIn("no_such_name", verdict.found)
        self.assertEqual((verdict.place.line, verdict.place.text), (2, "stage = no_such_name;"))
        self.assertIn(f"{self.exercise.reader_file}(2)", verdict.report[0])
        self.assertLessEqual(len(verdict.report), 4)

    def test_an_error_in_a_template_that_a_line_leads_to(self):
        verdict = self.verdict("ScopePointer<int> pointer(stage);", "pointer.no_such_member();")
        self.assertEqual(verdict.status, BROKEN)
        self.assertLessEqual(len(verdict.report), 5)
        self.assertIn(verdict.place.line, (1, 2))

    def test_a_failed_static_assertion(self):
        verdict = self.verdict('static_assert(NumStages > 100, "a sentence of mine");')
        self.assertEqual(verdict.status, BROKEN)
        self.assertIn("a sentence of mine", verdict.found)

    def test_loops_without_end(self):
        for line in ("while (true) __nanosleep(20);", "for (volatile uint32_t i = 0;; ) i = 1;",
                     "for (__shared__ uint32_t word;;) atomicAdd(&word, 1u);"):
            with self.subTest(line):
                verdict = self.verdict(line)
                self.assertEqual(verdict.status, FAILED, verdict)
                self.assertIn("was stopped", verdict.found)
                self.assertLess(verdict.seconds, 100)

    def test_printing_without_end(self):
        # Neither cycles nor time end it: what it prints is seen while it runs.
        with mock.patch.object(runs, "LEAST_CYCLES", 10 ** 12), \
                mock.patch.object(runs, "LEAST_SECONDS", 3000.0):
            verdict = check.check_answer(self.root, self.first_run, self.tools,
                                         ['while (true) printf("again and again\\n");'])
        self.assertEqual((verdict.status, verdict.limit), (FAILED, "output"))
        self.assertIn("printed without end", verdict.found)

    def test_a_fault_in_the_readers_line(self):
        verdict = self.verdict("++stage;", "*reinterpret_cast<volatile uint32_t*>(uintptr_t{16}) = 1;")
        self.assertEqual(verdict.status, FAILED)
        self.assertEqual(verdict.place.line, 2)
        self.assertIn(f"{self.exercise.reader_file}:2", " ".join(verdict.report))
        self.assertNotIn(reports.YOURS, " ".join(verdict.report))

    def test_an_explanation_of_lines_that_only_resemble_the_known_answers_is_a_guess(self):
        known = next(one for one in self.exercise.wrong if not one.output)
        verdict = self.verdict("// mine", *known.answer.strip().split("\n"))
        self.assertEqual((verdict.wrong, verdict.guessed), (known.name, False), verdict)
        verdict = self.verdict(*known.answer.strip().split("\n"), "static_cast<void>(stage);")
        self.assertEqual((verdict.wrong, verdict.guessed), (known.name, True), verdict)

    def test_settings_of_the_user_do_not_reach_a_check(self):
        self.tools.env["BW_SIM_SMS"] = "nonsense"
        self.addCleanup(self.tools.env.pop, "BW_SIM_SMS")
        self.assertEqual(self.verdict(*self.exercise.region.body).status, PASSED)

    def test_a_program_that_is_not_built(self):
        run = self.exercise.runs[0].__class__("no_such_program")
        with self.assertRaisesRegex(WorkbookError, "no_such_program is not built"):
            runs.command(self.root, run)
        with self.assertRaisesRegex(WorkbookError, "no program 'no_such_program'"):
            device_code.units(self.root, "no_such_program")

    def test_a_faulty_program_shows_its_symptom(self):
        with compose.bug(self.root, self.bug, self.tools) as composed:
            run = self.bug.runs[0]
            result = self.start(run.program, run.options, composed.environment(run.program))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(reports.FAULTY + self.bug.bug_file.name, result.stderr)
        self.assertNotIn(reports.YOURS, result.stderr)

    def test_a_report_of_a_program_with_the_readers_lines_names_them(self):
        lines = ("++stage;", "*reinterpret_cast<volatile uint32_t*>(uintptr_t{16}) = 1;")
        own = regions.ReaderRegion(lines, 1)
        program = self.exercise.runs[0].program
        with mock.patch.object(regions, "reader_region", return_value=own), \
                compose.mine(self.root, [self.exercise], program, self.tools) as composed:
            result = self.start(program, self.exercise.runs[0].options, composed.environment(program))
        self.assertEqual(result.returncode, runs.FAULT)
        self.assertIn(f"{reports.YOURS}{self.exercise.reader_file.name}:2", result.stderr)

    def start(self, program, options, settings):
        return subprocess.run([str(runs.build.program(self.root, runs.build.SIM, program)),
                               *options], cwd=self.root, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=100,
                              env={**runs.clean_environment(self.tools), **settings}, check=False)

    def test_a_kernel_with_the_starter_in_it_says_so(self):
        own = regions.ReaderRegion(self.exercise.region.starter, 1)
        replaced = [check.composed_file(self.root, [(self.exercise, own)])]
        program = self.exercise.runs[0].program
        with compose.composed(self.root, self.tools, [program], replaced) as composed:
            result = self.start(program, self.exercise.runs[0].options,
                                composed.environment(program))
        said = f"exercise {WRITE} is not done yet: {self.exercise.title}\n"
        self.assertEqual(result.stdout.count(said), 1, result.stdout)
        self.assertEqual(result.returncode, runs.FAULT)

    def test_kernels_that_nobody_launches_are_a_failure(self):
        program, other = self.exercise.runs[0].program, "01_mbarrier_pipeline"
        own = regions.ReaderRegion(self.exercise.region.body, 1)
        replaced = [check.composed_file(self.root, [(self.exercise, own)])]
        with compose.composed(self.root, self.tools, [other], replaced) as composed:
            result = self.start(program, (), composed.environment(other))
        self.assertEqual(result.returncode, runs.FAULT)
        self.assertIn("none of the kernels in the files of BW_SIM_PTX was launched", result.stderr)
        missing = self.start(program, (), {"BW_SIM_PTX": "no/such/file.ptx"})
        self.assertEqual(missing.returncode, runs.FAULT)
        self.assertIn("no/such/file.ptx", missing.stderr)

    def test_all_exercises_passed_are_a_whole_gemm(self):
        """`use mine`, for a reader who wrote what the solutions have."""
        chosen = [exercise for exercise in api.load_all(self.root) if exercise.is_in_code]
        bodies = {exercise.id: exercise.region.body for exercise in chosen}
        read = regions.read_text

        def readers_text(path):
            name = path.relative_to(self.root)
            if name.parts[0] != "chapters":
                return read(path)
            solution = Path("solutions", *name.parts[1:])
            return regions.with_bodies(read(self.root / solution), solution, bodies)
        # Of the program's sources two, the second of which has the kernel that is run: one compilation
        # takes a second. The slow test of `use mine` compiles all.
        units = [unit for unit in device_code.units(self.root, GEMM)
                 if unit.source.name in ("single_cta.cu", "half_tile.cu")]
        self.assertEqual(len(units), 2)
        with mock.patch.object(regions, "read_text", side_effect=readers_text), \
                mock.patch.object(device_code, "units", return_value=units):
            composed = compose.mine(self.root, chosen, GEMM, self.tools)
        self.assertEqual(len(composed.files_of(GEMM)), 2)
        with composed:
            for options, status in ((("--m", "256", "--n", "256", "--k", "256"), 0),
                                    (("--m", "no number"), 2)):
                result = self.start(GEMM, options, composed.environment(GEMM))
                self.assertEqual(result.returncode == 0, status == 0, result.stderr)
                self.assertEqual("verified (" in result.stdout, status == 0, result.stdout)

    def test_use_mine_without_anything_that_concerns_a_program(self):
        self.assertIsNone(compose.mine(self.root, [], GEMM, self.tools))
        self.assertIsNone(compose.mine(self.root, [self.bug], GEMM, self.tools))

    def test_an_interrupt_leaves_nothing(self):
        with mock.patch.object(device_code.limited, "run_all", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                self.verdict(*self.exercise.region.body)
        self.assertEqual(self.work_folders(), [])


class Reports(unittest.TestCase):
    FILE = Path("chapters/01_x/f.cuh")

    def test_the_first_error_of_the_reader_comes_first(self):
        text = ("/r/common/device/a.cuh(3): error: name followed by \"::\" must be a class\n"
                "    x::y;\n    ^\n"
                "          detected during instantiation of \"void f<T>() [with T=int]\" at line 12 of"
                " /r/chapters/01_x/f.cuh\n\n1 error detected in the compilation of \"m.cu\".\n")
        error = reports.first_error(text, self.FILE)
        self.assertEqual(error.line, 12)
        self.assertIn("common/device/a.cuh:3", error.message)
        own = "/r/chapters/01_x/f.cuh(7): error: identifier \"q\" is undefined\n    q;\n    ^\n\n"
        error = reports.first_error(text + own, self.FILE)
        self.assertEqual((error.line, error.message), (7, 'identifier "q" is undefined'))
        self.assertTrue(error.lines[0].startswith("chapters/01_x/f.cuh(7)"))
        self.assertIsNone(reports.first_error("warning only\n", self.FILE))

    def test_a_long_report_is_cut_to_the_readers_roles(self):
        roles = "".join(f"  [{k}] warp {k} at other.cuh:{k}\n      waits\n" for k in range(1, 9))
        text = ("simulator: warning BW-X02: let pass\n  where: other.cuh:2\n"
                "simulator: deadlock BW-H01: nobody can run\n  where: other.cuh:1\n"
                "   5 | step();\n     | ^\n" + roles
                + "  [9] warp 9 at other.cuh:9, by your f.cuh:5 in step\n      waits for it\n"
                "  rule:  a rule\n  fix:   a fix\nanother line\n")
        report = reports.parse(text, self.FILE)
        self.assertEqual((report.kind, report.code, report.what, report.rule, report.reader_line),
                         ("deadlock", "BW-H01", "nobody can run", "a rule", 5))
        shown = "\n".join(report.shown)
        self.assertIn("by chapters/01_x/f.cuh:5 in step\n      waits for it", shown)
        self.assertIn("8 more waiting or running roles", shown)
        self.assertNotIn("warp 3", shown)
        self.assertNotIn("another line", shown)
        self.assertNotIn("step();", shown)
        self.assertTrue(re.search("fix:", shown))
        self.assertIsNone(reports.parse("error: x\n", self.FILE))


if __name__ == "__main__":
    support.skip_without_toml()
    unittest.main()
