"""The program of chapter 6 as its user sees it: program_test.py <program> [<unittest names>].

The one for a GPU (its name ends with _gpu) skips the tests of results without a Hopper GPU,
and those of the refusal with one. The other runs on the simulated H100."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from program_testing import BAD_INPUT, ProgramTest, field, gpu_capability, main

IS_SIMULATED = not sys.argv[1].endswith("_gpu")
HAS_HOPPER = IS_SIMULATED or gpu_capability() == "9.0"


@unittest.skipUnless(HAS_HOPPER, "needs a Hopper GPU as the first one")
class Results(ProgramTest):
    def test_shapes_and_betas(self):
        cases = [((128, 128, 128), 0), ((1, 8, 16), 0.5), ((260, 200, 400), -2)]
        if not IS_SIMULATED:
            cases += [((1000, 576, 1040), 1), ((2048, 2048, 2048), -2)]
        for (m, n, k), beta in cases:
            output = self.expect_verified(m * n, m=m, n=n, k=k, beta=beta)
            self.assertIn("TFLOP/s", field(output, "time"))

    def test_positions_are_exact(self):
        self.expect_verified(300 * 520, m=300, n=520, k=64, beta=0.5, fill="position-c")

    @unittest.skipIf(IS_SIMULATED, "takes too long")
    def test_short_k_has_elements_that_only_the_tensor_cores_explain(self):
        for beta, explained in ((0, 9), (0.5, 12)):  # as the model has it
            output = self.expect_verified(4096 * 7168, m=4096, n=7168, k=128, beta=beta)
            self.assertIn(f"\nexplained {explained} elements outside are, bit for bit", output)

    def test_every_configuration_by_name(self):
        names = subprocess.run([self.program, "--list-configs"], stdout=subprocess.PIPE,
                               universal_newlines=True, check=True).stdout.split()
        for name in names:
            output = self.expect_verified(200 * 264, m=200, n=264, k=272, config=name)
            self.assertEqual(field(output, "config"), name)

    def test_what_was_tuned_is_taken(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "new", "tuned.csv")
            options = {"m": 9, "n": 72, "k": 272, "tuned": path}
            output = self.expect_verified(9 * 72, tune=True, **options)
            found = field(output, "config")
            self.assertIn(f"{found}, ", field(output, "tuned"))
            head, columns, row = path.read_text().splitlines()
            self.assertTrue(head.startswith("# "), head)
            self.assertEqual(len(columns.split(",")), len(row.split(",")))
            self.assertIn(f",9,72,272,yes,{found},", row)
            self.assertEqual(field(self.expect_verified(9 * 72, **options), "config"), found)

            # Another one's line, to see that it is read, and for this machine and shape alone.
            path.write_text("\n".join([head, columns, row.replace(f",{found},", ",256x128_2x1,")]))

            def taken(**more):
                return field(self.expect_verified(9 * 72, **{**options, **more}), "config")

            self.assertEqual(taken(), "256x128_2x1")
            for other in ({"beta": 0}, {"k": 288}, {"config": "8x64_swap"}, {"tuned": ""}):
                self.assertNotEqual(taken(**other), "256x128_2x1", other)
            path.write_text("\n".join([head, columns, "another machine" + row[row.index(","):]]))
            self.expect_verified(9 * 72, tune=True, **options)
            self.assertIn("another machine,", path.read_text())
            self.assertIn(f"\n{row[:row.index(',')]},", path.read_text())

            path.write_text("\n".join([columns, row.replace(f",{found},", ",7x7_1x1,")]))
            self.assertIn("names the configuration 7x7_1x1",
                          self.expect_verified(9 * 72, **options))


class Refusals(ProgramTest):
    def test_sizes(self):
        self.expect_refused("M is 0", m=0)
        self.expect_refused("N is -8", n=-8)
        self.expect_refused("K is 8589934592", k=2**33)
        self.expect_refused("GiB", m=2**31 - 1024, k=2**30)
        self.expect_refused("give a multiple of 16", k=1000)
        self.expect_refused("give a multiple of 8", n=100)

    def test_options(self):
        self.expect_refused("isn't a 64-bit integer", m="many")
        self.expect_refused("isn't a finite number", beta="nan")
        self.expect_refused("fp32", beta="1e300")
        self.expect_refused("normal|position-c", fill="ones")
        self.expect_refused("isn't known", colour="red")
        self.expect_refused("no configuration called 3x3_1x1", config="3x3_1x1")

    def test_help_names_the_options(self):
        self.expect_help("m", "n", "k", "beta", "seed", "fill", "config", "tuned")

    def test_tuning(self):
        self.expect_refused("leave --config out", tune=True, config="8x64_swap")
        self.expect_refused("leave out --tune or --groups", tune=True, groups=2)
        self.expect_refused("give a file with --tuned", tune=True, tuned="")

    @unittest.skipUnless(HAS_HOPPER, "the device is refused first")
    def test_files_of_what_was_tuned(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "tuned.csv")
            columns = "machine,multiprocessors,m,n,k,residual,config,us"
            row = "H100,132,1,8,16,no,8x64_swap,3.5"
            for text, words in (
                    ("", "no line of column names"),
                    ("machine,m\n", "no column multiprocessors"),
                    (f"{columns}\nH100,132\n", "tuned.csv:2 has 2 fields"),
                    (f"{columns}\n{row.replace('no', 'maybe')}\n", 'residual is "maybe"'),
                    (f"{columns}\n{row.replace('3.5', 'fast')}\n", 'us is "fast"'),
                    (f"{columns}\n{row.replace(',16,', ',-16,')}\n", 'k is "-16"'),
                    (f"{columns}\n{row}\n{row}\n", "tuned.csv:3: a line before")):
                path.write_text(text)
                self.expect_refused(words, tuned=path)
                self.assertEqual(path.read_text(), text)
            blocked = Path(folder, "file")
            blocked.write_text("")
            status, output = self.run_program(m=1, n=8, k=16, tune=True, tuned=blocked / "x.csv")
            self.assertEqual(status, BAD_INPUT, output)
            self.assertIn("give a file in a folder that can be written", output)

    @unittest.skipUnless(IS_SIMULATED, "only the simulator has other machines")
    def test_another_machine_is_refused(self):
        self.expect_refused("compute capability 9.0", environment={"BW_SIM_MACHINE": "b200"})

    @unittest.skipIf(HAS_HOPPER, "this machine has a Hopper GPU")
    def test_without_hopper_it_says_what_was_found_and_what_to_do(self):
        for words in ("compute capability 9.0", "H100", "found: ", "./workbook run 5"):
            self.expect_refused(words)
        status, _ = self.run_program(config="auto")
        self.assertEqual(status, BAD_INPUT)

    def test_configurations_are_listed_without_a_gpu(self):
        result = subprocess.run([self.program, "--list-configs"], stdout=subprocess.PIPE,
                                universal_newlines=True)
        self.assertEqual(result.returncode, 0)
        self.assertGreater(len(result.stdout.split()), 1)


if __name__ == "__main__":
    main()
