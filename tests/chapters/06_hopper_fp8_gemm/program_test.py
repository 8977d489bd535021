"""The program of chapter 6 as its user sees it: program_test.py <program> [<unittest names>].

The one for a GPU (its name ends with _gpu) skips the tests of results where there is no Hopper GPU,
and those of the refusal where there is one. The other runs on the simulated H100."""

import subprocess
import sys
import unittest

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
        self.expect_help("m", "n", "k", "beta", "seed", "fill", "config")

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
