"""The program of chapter 1 as its user sees it, in the simulator or on a GPU."""

import re

from program_testing import ProgramTest, field, gpu_capability, main

PRODUCE = ("plain", "bulk", "tensor")

NATIVE_CAPABILITIES = ("9.0", "10.0")  # those of sm_90a and sm_100a code
# What the program printed on an H200 (sm_90a code, CUDA 13.0), all modes and stage counts alike.
HOPPER_BITS = {(1024, 1024): "36e8691feafbee2f", (33, 132): "4521052390187275",
               (1000, 260): "628bcd2580403858"}


def cycles(output):
    """Cycles by stage count, from the program's table."""
    return {int(stages): int(spent)
            for stages, spent in re.findall(r"^ +(\d+) +(\d+) +\d+ +[\d.]+x", output, re.M)}


class RunTest(ProgramTest):
    """Skipped where the program is for a GPU and none fits."""

    def setUp(self):
        if self.program.endswith("_gpu") and gpu_capability() not in NATIVE_CAPABILITIES:
            self.skipTest("needs a GPU of compute capability " + " or ".join(NATIVE_CAPABILITIES))


class Shapes(RunTest):
    def test_ragged_shapes_in_every_mode_and_stage_count(self):
        for rows, columns in ((1, 4), (33, 132), (1000, 260), (64, 128), (31, 124)):
            for produce in PRODUCE:
                output = self.expect_verified(columns, rows=rows, columns=columns,
                                              produce=produce, runs=1)
                self.assertEqual(list(cycles(output)), list(range(1, 9)))

    def test_single_stage_counts(self):
        for produce in PRODUCE:
            for stages in range(1, 9):
                output = self.expect_verified(256, rows=300, columns=256, produce=produce,
                                              stages=stages)
                self.assertEqual(list(cycles(output)), [stages])

    def test_seeds_of_the_schedule(self):
        for seed in range(6):
            for produce in PRODUCE:
                self.expect_verified(392, environment={"BW_SIM_SEED": str(seed)}, rows=270,
                                     columns=392, produce=produce, seed=seed, runs=1)

    def test_help(self):
        self.expect_help("rows", "columns", "stages", "produce", "runs", "seed")


class Bits(RunTest):
    def test_bits_are_those_of_a_hopper_gpu(self):
        for (rows, columns), bits in HOPPER_BITS.items():
            for produce in PRODUCE:
                output = self.expect_verified(columns, rows=rows, columns=columns,
                                              produce=produce, runs=1)
                self.assertEqual(field(output, "bits"), bits)

    def test_every_run_has_the_bits_of_the_hosts_sums(self):
        for produce in PRODUCE:
            for stages in range(1, 9):
                output = self.expect_verified(388, rows=517, columns=388, produce=produce,
                                              stages=stages, runs=1)
                self.assertEqual(field(output, "bits"), field(output, "expected"))

    def test_bits_depend_on_the_input(self):
        first, second = (field(self.expect_verified(128, rows=100, columns=128, seed=seed), "bits")
                         for seed in (1, 2))
        self.assertNotEqual(first, second)


class Costs(RunTest):
    def test_a_second_stage_hides_latency(self):
        # Threads that copy wait for their own loads: a second stage hides the consumers' time alone.
        for produce, share in (("plain", 0.95), ("bulk", 0.8), ("tensor", 0.8)):
            spent = cycles(self.expect_verified(256, rows=1024, columns=256, produce=produce))
            self.assertLess(spent[2], share * spent[1])
            self.assertLess(spent[8], 1.05 * spent[2])

    def test_the_copy_engine_is_faster_the_fewer_copies_it_gets(self):
        plain, bulk, tensor = (cycles(self.expect_verified(256, rows=1024, columns=256, stages=8,
                                                           produce=produce))[8]
                               for produce in PRODUCE)
        self.assertLess(bulk, 0.8 * plain)
        self.assertLess(tensor, 0.5 * bulk)


class BadInput(ProgramTest):
    def test_sizes(self):
        self.expect_refused("--rows 0", rows=0)
        self.expect_refused("--columns -4", columns=-4)
        self.expect_refused("a multiple of 4", columns=1002)
        self.expect_refused("2^31 - 256", rows=2**31)
        self.expect_refused("GiB", rows=10**9, columns=10**9)

    def test_options(self):
        self.expect_refused("all|1|2|3|4|5|6|7|8", stages=9)
        self.expect_refused("plain|bulk|tensor", produce="magic")
        self.expect_refused("--runs 0", runs=0)
        self.expect_refused("isn't a 64-bit integer", rows="many")
        self.expect_refused("isn't known", colour="red")

    def test_without_a_gpu_it_says_what_runs_without_one(self):
        if not self.program.endswith("_gpu") or gpu_capability():
            self.skipTest("needs the program for a GPU, and no GPU")
        self.expect_refused("./workbook run, with the chapter's number and --sim")


if __name__ == "__main__":
    main()
