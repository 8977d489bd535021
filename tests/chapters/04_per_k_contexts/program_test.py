"""The program of chapter 4 as its user sees it."""

from program_testing import GemmTest, main

TILE_COLUMNS = (64, 96, 128)


class Shapes(GemmTest):
    def test_whole_tiles(self):
        for m, n, k in ((128, 128, 128), (256, 384, 1024), (512, 768, 512)):
            for tile_n in TILE_COLUMNS:
                self.expect_gemm(m, n, k, tile_n=tile_n)

    def test_ragged(self):
        # Long and short of every ring; K blocks that end inside of a swizzled row.
        for m, n, k in ((1, 8, 16), (8, 136, 272), (129, 136, 144), (127, 120, 112),
                        (300, 8, 2064), (257, 1000, 1040), (64, 192, 7168 + 64)):
            for tile_n in TILE_COLUMNS:
                self.expect_gemm(m, n, k, tile_n=tile_n)

    def test_one_accumulator(self):
        for tile_n in TILE_COLUMNS:
            self.expect_gemm(129, 200, 1040, tile_n=tile_n, accumulators=1)

    def test_help(self):
        self.expect_help("m", "n", "k", "tile-n", "accumulators", "seed")


class Schedules(GemmTest):
    def test_seeds_of_the_schedule(self):
        for seed in range(8):
            self.expect_gemm(200, 264, 1040, {"BW_SIM_SEED": str(seed)}, seed=seed,
                             tile_n=TILE_COLUMNS[seed % len(TILE_COLUMNS)])

    def test_one_multiprocessor(self):
        # Tensor memory, barriers and shared memory of one CTA are ready for the next.
        self.expect_gemm(384, 256, 256, {"BW_SIM_SMS": "1"})


class BadInput(GemmTest):
    def test_sizes(self):
        self.expect_impossible_sizes_refused()

    def test_options(self):
        self.expect_refused("give one of 64|96|128", tile_n=80)
        self.expect_refused("give one of 1|4", accumulators=2)


if __name__ == "__main__":
    main()
