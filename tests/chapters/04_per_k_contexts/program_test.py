"""The program of chapter 4 as its user sees it."""

from program_testing import ProgramTest, main

TILE_COLUMNS = (64, 96, 128)


class GemmTest(ProgramTest):
    def expect_gemm(self, m, n, k, environment=None, **options):
        return self.expect_verified(m * n, environment, m=m, n=n, k=k, **options)


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

    def test_help(self):
        self.expect_help("m", "n", "k", "tile-n", "seed")


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
        self.expect_refused("M is 0", m=0)
        self.expect_refused("N is -8", n=-8)
        self.expect_refused("K is 2147483648", k=2**31)
        self.expect_refused("tiles", m=2**31 - 1024, n=2**31 - 1024)
        self.expect_refused("GiB", m=2**31 - 1024, k=2**30)

    def test_strides(self):
        self.expect_refused("give a multiple of 16", k=1000)
        self.expect_refused("give a multiple of 8", n=100)

    def test_options(self):
        self.expect_refused("give one of 64|96|128", tile_n=80)
        self.expect_refused("isn't a 64-bit integer", m="many")
        self.expect_refused("isn't known", beta=1)


if __name__ == "__main__":
    main()
