"""The program of chapter 7 as its user sees it: program_test.py <program> [<unittest names>]."""

import subprocess

from program_testing import BAD_INPUT, WITHOUT_TIMES, GemmTest, field, main

FORMATS = ("mxfp8", "mxfp4", "nvfp4")
OUTPUTS = ("bf16", "mxfp8", "nvfp4")
SHAPES = [(128, 128, 128), (256, 512, 1024), (1000, 576, 320), (64, 2112, 2048)]
SCHEDULE_SEEDS = range(10)

# For every configuration: edges in all dimensions, the shortest K, K blocks that are partly empty,
# several tiles for a cluster of any shape, and fewer rows than an atom has.
RAGGED_SHAPES = [(129, 136, 288), (257, 1000, 1056), (1, 8, 32), (300, 264, 736)]


def configurations(program):
    """Names of all configurations."""
    return subprocess.run([program, "--list-configs"], stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout.split()


class ScaledGemmTest(GemmTest):
    def expect_all_formats(self, m, n, k, **options):
        for form in FORMATS:
            self.expect_gemm(m, n, k, format=form, **options)

    def expect_all_configurations(self, m, n, k, turn=None, **options):
        """All configurations, or, with the number of a turn, each in one of the formats: between formats
        a kernel differs in the copies of scales and the MMA alone. The next turn is another format's."""
        structures = []
        for config in configurations(self.program):
            form, structure = config.split("_", 1)
            if structure not in structures:
                structures.append(structure)
            if turn is None or (turn + structures.index(structure)) % 3 == FORMATS.index(form):
                self.expect_gemm(m, n, k, config=config, format=form, **options)

    def expect_ragged_shapes(self, turns=(None, None, None, None)):
        for turn, (m, n, k), beta in zip(turns, RAGGED_SHAPES, (1, 0.5, 0, -0.5)):
            self.expect_all_configurations(m, n, k, turn, beta=beta)

    def expect_exact_residual(self, turn=None):
        self.expect_all_configurations(300, 520, 32, turn, beta=0.5, fill="position-c")

    def expect_persistent_clusters(self, turn=None):
        # One or two clusters resident: every ring goes around several times, and overlapping
        # accumulators take turns.
        self.expect_all_configurations(1100, 1064, 416, turn, beta=1, seed=7,
                                       environment={"BW_SIM_SMS": "17", "BW_SIM_SEED": "7"})

    def expect_outputs(self, turns=(None, None)):
        # N is not a multiple of an atom's columns, M not one of its rows, and tiles go beyond both.
        shapes = ((300, 352, 416), (257, 1056, 288))
        for turn, output, (m, n, k) in zip(turns, ("mxfp8", "nvfp4"), shapes):
            self.expect_all_configurations(m, n, k, turn, beta=0.5, output=output)

    def expect_silence(self, turns=(None, None)):
        for turn, level in zip(turns, ("contract", "races")):
            self.expect_all_configurations(300, 520, 544, turn, beta=0.5,
                                           environment={"BW_SIM_CHECKS": level, "BW_SIM_SMS": "9"})


class Shapes(ScaledGemmTest):
    def test_every_shape(self):
        for (m, n, k), beta in zip(SHAPES, (0, 1, 0.5, -2)):
            self.expect_all_formats(m, n, k, beta=beta)

    def test_small_and_ragged(self):
        for m, n, k in ((1, 8, 32), (129, 136, 160), (127, 120, 96), (300, 8, 2080)):
            self.expect_all_formats(m, n, k, beta=1)


class Positions(ScaledGemmTest):
    def test_residual_is_exact(self):
        for m, n, k in ((128, 128, 128), (257, 264, 32)):
            for beta in (0, 0.5):
                self.expect_all_formats(m, n, k, beta=beta, fill="position-c")


class Configurations(ScaledGemmTest):
    """Every configuration, by name, in a format at a time; the slow tests take every pair."""

    settings = WITHOUT_TIMES

    def test_names_cover_the_choices(self):
        names = configurations(self.program)
        self.assertEqual(len(names), len(set(names)))
        for part in (*FORMATS, "cta1_128x128", "x192_", "cta2_256x256", "_1x1", "_2x1", "_2x2", "_4x2",
                     "_clc", "_overlap"):
            self.assertTrue([name for name in names if part in name], part)

    def test_ragged_shapes(self):
        self.expect_ragged_shapes(range(len(RAGGED_SHAPES)))

    def test_residual_is_exact(self):
        self.expect_exact_residual(turn=0)

    def test_persistent_clusters(self):
        self.expect_persistent_clusters(turn=1)

    def test_automatic_choice(self):
        for form in FORMATS:
            chosen = {field(self.expect_gemm(m, n, 128, format=form), "config")
                      for m, n in ((128, 256), (2048, 2560))}
            self.assertEqual(len(chosen), 2, "a large shape calls for another configuration")


class Output(ScaledGemmTest):
    """D in codes and scales, which the program compares with float64: scales first, then elements."""

    settings = WITHOUT_TIMES

    def test_every_configuration(self):
        self.expect_outputs(turns=(0, 1))

    def test_small_and_ragged(self):
        for m, n, k in ((1, 32, 32), (129, 160, 96), (127, 2080, 160)):
            for output in ("mxfp8", "nvfp4"):
                self.expect_all_formats(m, n, k, beta=0, output=output)

    def test_residual(self):
        # A is 0: D is beta C, a number for each position.
        for output in ("mxfp8", "nvfp4"):
            self.expect_all_formats(130, 288, 64, beta=-0.5, fill="position-c", output=output)

    def test_races_are_silent_and_bits_independent_of_host_threads(self):
        for output in ("mxfp8", "nvfp4"):
            bits = {field(self.expect_gemm(
                300, 416, 288, format="mxfp4", config="mxfp4_cta2_256x256_2x1_overlap", output=output,
                environment={"BW_SIM_CHECKS": level, "BW_SIM_THREADS": threads}), "bits")
                for level, threads in (("contract", "1"), ("races", "2"), ("contract", "5"))}
            self.assertEqual(len(bits), 1, bits)

    def test_bad_input(self):
        for output in ("mxfp8", "nvfp4"):
            self.expect_refused("the K of the next GEMM is --n, which is 1000: rows are whole blocks",
                                n=1000, output=output)
            self.expect_refused("give a positive multiple of 32", n=48, output=output)
        self.expect_refused("--output mxfp4 isn't known", output="mxfp4")


class Levels(ScaledGemmTest):
    """What the checks say of right kernels, and what the bits depend on."""

    def test_contract_and_races_are_silent(self):
        self.expect_silence(turns=(0, 1))

    def test_ten_seeds_of_the_schedule(self):
        # In a format at a time: the schedule shuffles what the formats have in common.
        for seed in SCHEDULE_SEEDS:
            self.expect_gemm(200, 264, 672, environment={"BW_SIM_SEED": str(seed)}, seed=seed,
                             format=FORMATS[seed % len(FORMATS)])

    def test_bits_are_the_same_with_any_number_of_host_threads(self):
        for form in FORMATS:
            bits = {field(self.expect_gemm(512, 640, 512, format=form,
                                           environment={"BW_SIM_THREADS": threads}), "bits")
                    for threads in ("1", "2", "5")}
            self.assertEqual(len(bits), 1, bits)


class LevelsSlow(ScaledGemmTest):
    """Every configuration in every format, of which the tests above take a part."""

    def test_every_pair(self):
        self.expect_ragged_shapes()
        self.expect_exact_residual()
        self.expect_persistent_clusters()
        self.expect_outputs()
        self.expect_silence()

    def test_ten_seeds_of_the_schedule(self):
        for seed in SCHEDULE_SEEDS:
            self.expect_all_formats(200, 264, 672, environment={"BW_SIM_SEED": str(seed)}, seed=seed)

    def test_races_are_silent_under_ten_seeds(self):
        for seed in SCHEDULE_SEEDS:
            self.expect_all_configurations(
                300, 544, 1056, beta=0.5, seed=seed, output=OUTPUTS[seed % len(OUTPUTS)],
                environment={"BW_SIM_CHECKS": "races", "BW_SIM_SMS": "9", "BW_SIM_SEED": str(seed)})


class BadInput(ScaledGemmTest):
    def test_sizes(self):
        self.expect_refused("M is 0", m=0)
        self.expect_refused("N is -8", n=-8)
        self.expect_refused("K is 8589934592", k=2**33)
        self.expect_refused("GiB", m=2**31 - 1024, k=2**30)

    def test_k_that_does_not_fit_a_format(self):
        for form in FORMATS:
            self.expect_refused("--k is 1000: rows are whole blocks of", k=1000, format=form)
            self.expect_refused("give a positive multiple of 32", k=16, format=form)
        self.expect_refused("give a multiple of 8", n=100)

    def test_formats_and_configurations(self):
        self.expect_refused("fp6", format="fp6")
        self.expect_refused("isn't for the format nvfp4", format="nvfp4",
                            config="mxfp8_cta1_128x128_1x1")
        self.expect_refused("no configuration called mxfp8_cta3", config="mxfp8_cta3_128x128_1x1")

    def test_beta(self):
        self.expect_refused("largest number", beta="1e300")

    def test_help(self):
        self.expect_help("format", "config", "beta", "k")
        status, output = self.run_program(describe="yes")
        self.assertEqual(status, BAD_INPUT, output)


if __name__ == "__main__":
    main()
