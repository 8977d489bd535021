"""The program of chapter 3 as its user sees it."""

import re

from program_testing import GemmTest, field, main

ACCUMULATORS = (1, 2, 4)


class Shapes(GemmTest):
    def test_whole_tiles(self):
        for m, n, k in ((128, 128, 128), (256, 384, 512), (512, 256, 1024)):
            self.expect_gemm(m, n, k)

    def test_ragged(self):
        for m, n, k in ((1, 8, 16), (129, 136, 144), (127, 120, 112), (300, 8, 2064),
                        (257, 1000, 1040)):
            for accumulators in ACCUMULATORS:
                self.expect_gemm(m, n, k, accumulators=accumulators)

    def test_tiles_per_cta(self):
        for ctas in (1, 2, 3, 5, 100):
            output = self.expect_gemm(400, 400, 272, ctas=ctas)
            self.assertIn(f"16 tiles on {min(ctas, 16)} CTAs", field(output, "shape"))

    def test_help(self):
        self.expect_help("m", "n", "k", "ctas", "accumulators", "seed")


class Overlap(GemmTest):
    def test_a_second_accumulator_hides_the_epilogue(self):
        cycles = {accumulators: self.cycles(accumulators) for accumulators in (1, 2)}
        self.assertLess(cycles[2], 0.9 * cycles[1])

    def cycles(self, accumulators):
        # With constants: in the timing model the rows that threads write take longer than the rest.
        output = self.expect_gemm(1024, 128, 512, {"BW_SIM_TIMING": "simple"}, ctas=1,
                                  accumulators=accumulators)
        return int(re.search(r"\((\d+) cycles", field(output, "time")).group(1))


class Schedules(GemmTest):
    def test_seeds_of_the_schedule(self):
        for seed in range(8):
            self.expect_gemm(264, 392, 400, {"BW_SIM_SEED": str(seed)}, seed=seed, ctas=3,
                             accumulators=ACCUMULATORS[seed % len(ACCUMULATORS)])


class BadInput(GemmTest):
    def test_sizes(self):
        self.expect_impossible_sizes_refused()
        self.expect_refused("--ctas 0", ctas=0)

    def test_options(self):
        self.expect_refused("give one of 1|2|4", accumulators=3)


if __name__ == "__main__":
    main()
