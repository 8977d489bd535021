"""The program of chapter 5 as its user sees it: program_test.py <program> [<unittest names>]."""

import re
import subprocess

from program_testing import BAD_INPUT, WITHOUT_TIMES, GemmTest, field, main

SHAPES = [(128, 128, 128), (256, 512, 1024), (1000, 576, 320), (64, 2112, 7168), (512, 4096, 1024)]
SCHEDULE_SEEDS = range(10)
FEW_SCHEDULE_SEEDS = (11, 12, 13)

# For every configuration: edges in all dimensions, several tiles per cluster of any shape, few
# rows, the shortest K, and a K whose last block is half empty.
RAGGED_SHAPES = [(129, 136, 272), (257, 1000, 1040), (1, 8, 16), (8, 264, 128),
                 (64, 136, 7168 + 64)]
SLOW_SHAPES = [(1024, 1536, 7168), (1000, 576, 7168), (500, 3072, 1536)]
# N is too long for all configurations: the automatic one, and one of each way to share the work.
LONG_SHAPE = (500, 24576, 1536)
LONG_SHAPE_CONFIGS = ["auto", "cta1_128x96_1x1", "cta1_128x256_1x1", "cta2_256x192_2x2_clc"]


def output_of(config):
    return "fp32" if config.endswith("_fp32") else "bf16"


def configurations(program):
    """Names of all configurations."""
    return subprocess.run([program, "--list-configs"], stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout.split()


class Shapes(GemmTest):
    def test_every_shape(self):
        for (m, n, k), beta in zip(SHAPES, (0, 1, 0.5, 0.5, 1)):
            self.expect_gemm(m, n, k, beta=beta)

    def test_every_beta(self):
        for beta in (0, 1, 0.5, -2):
            self.expect_gemm(256, 192, 384, beta=beta)

    def test_small_and_ragged(self):
        for m, n, k in ((1, 8, 16), (129, 136, 144), (127, 120, 112), (300, 8, 2064)):
            self.expect_gemm(m, n, k, beta=1)


class Positions(GemmTest):
    def test_residual_is_exact(self):
        for m, n, k in ((128, 128, 128), (1000, 576, 320), (257, 264, 16)):
            for beta in (0, 1, 0.5):
                self.expect_gemm(m, n, k, beta=beta, fill="position-c")


class Schedules(GemmTest):
    def test_ten_seeds_of_the_schedule(self):
        for seed in SCHEDULE_SEEDS:
            self.expect_gemm(200, 264, 656, environment={"BW_SIM_SEED": str(seed)}, seed=seed)

    def test_no_more_clusters_than_the_gpcs_hold(self):
        # 148 SMs would hold nine clusters of 16 CTAs, its eight GPCs one each.
        status, output = self.run_program({"BW_SIM_STATS": "1"}, config="cta1_64x256_4x4",
                                          m=768, n=4096, k=16, beta=0)
        self.assertEqual(status, 0, output)
        self.assertIn(" 8 clusters, ", output)

    def test_persistent_ctas(self):
        # Fewer SMs than tiles: every ring goes around several times.
        for multiprocessors in (1, 3):
            self.expect_gemm(512, 640, 256, environment={"BW_SIM_SMS": str(multiprocessors)})

    def test_a_dependent_launch_begins_earlier(self):
        microseconds = {}
        for launch in ("serial", "dependent"):
            status, output = self.run_program({}, m=256, n=256, k=512, launches=3, launch=launch)
            self.assertEqual(status, 0, output)
            microseconds[launch] = float(re.search(r"time +([\d.]+) us", output).group(1))
        self.assertLess(microseconds["dependent"], microseconds["serial"] - 0.1)


class ConfigurationTest(GemmTest):
    def expect_all_verified(self, m, n, k, turn=None, **options):
        """All configurations, or, with the number of a turn, every second one."""
        for place, config in enumerate(configurations(self.program)):
            if turn is None or (turn + place) % 2 == 0:
                self.expect_gemm(m, n, k, config=config, output=output_of(config), **options)

    def expect_exact_residual(self, beta):
        self.expect_all_verified(300, 520, 32, beta=beta, fill="position-c")

    def expect_persistent_clusters(self, seed, turn=None):
        # One or two clusters resident: every ring goes around several times.
        self.expect_all_verified(1100, 1064, 400, turn, beta=1, seed=seed,
                                 environment={"BW_SIM_SMS": "17", "BW_SIM_SEED": str(seed)})

    def expect_loader_far_ahead(self, turn=None):
        # One K block a tile: the load warp is ahead of the epilogue-load warp by as many tiles as
        # the scheduler's messages allow.
        self.expect_all_verified(1100, 1560, 16, turn, beta=1, environment={"BW_SIM_SMS": "17"})


class Configurations(ConfigurationTest):
    """Every configuration, by name. Each takes every second case, and neighbours in the list, most of
    which differ in one trait, take turns: a trait that breaks a kind of case breaks one of them. The
    slow tests take every pair."""

    settings = WITHOUT_TIMES

    def test_names_cover_the_supported_classes(self):
        names = configurations(self.program)
        self.assertEqual(len(names), len(set(names)))
        # cta_group and MMA_M, cluster, scheduler, output
        for part in ("cta1_64x", "cta1_128x", "cta2_128x", "cta2_256x", "_1x1", "_2x1", "_2x2",
                     "_4x4", "_8x2", "_clc", "_fp32", "_kgroup2"):
            self.assertTrue([name for name in names if part in name], part)

    def test_ragged_shapes(self):
        for turn, ((m, n, k), beta) in enumerate(zip(RAGGED_SHAPES, (1, 0.5, 0, 1, -0.5))):
            self.expect_all_verified(m, n, k, turn, beta=beta)

    def test_residual_is_exact(self):
        self.expect_exact_residual(0.5)

    def test_persistent_clusters(self):
        self.expect_persistent_clusters(7, turn=0)

    def test_loader_far_ahead(self):
        self.expect_loader_far_ahead(turn=1)

    def test_automatic_choice(self):
        chosen = set()
        for m, n, k in ((1, 4096, 128), (64, 2048, 128), (4096, 1024, 128), (600, 600, 128)):
            chosen.add(field(self.expect_gemm(m, n, k), "config"))
        self.assertGreater(len(chosen), 1, "different shapes call for different configurations")
        output = self.expect_gemm(100, 200, 128, output="fp32")
        self.assertTrue(field(output, "config").endswith("_fp32"), output)


class ConfigurationsSlow(ConfigurationTest):
    """The large shapes, more betas, and more schedules."""

    def test_residual_is_exact(self):
        for beta in (0, 1):
            self.expect_exact_residual(beta)

    def test_persistent_clusters(self):
        for seed in (0, 7):
            self.expect_persistent_clusters(seed)

    def test_loader_far_ahead(self):
        self.expect_loader_far_ahead()

    def test_ragged_shapes(self):
        for (m, n, k), beta in zip(RAGGED_SHAPES, (1, 0.5, 0, 1, -0.5)):
            self.expect_all_verified(m, n, k, beta=beta)

    def test_large_shapes(self):
        for (m, n, k), beta in zip(SLOW_SHAPES, (0.5, 1, 0)):
            self.expect_all_verified(m, n, k, beta=beta)

    def test_large_shapes_under_several_schedules(self):
        for (m, n, k), beta in zip(SLOW_SHAPES, (1, 0.5, -0.5)):
            for seed in FEW_SCHEDULE_SEEDS:
                self.expect_gemm(m, n, k, environment={"BW_SIM_SEED": str(seed)}, beta=beta,
                                 seed=seed)

    def test_ragged_shapes_under_several_schedules(self):
        for (m, n, k), beta in zip(RAGGED_SHAPES, (0.5, 1, 1, -0.5, 1)):
            for seed in FEW_SCHEDULE_SEEDS:
                self.expect_all_verified(m, n, k, environment={"BW_SIM_SEED": str(seed)},
                                         beta=beta, seed=seed)

    def test_long_shape(self):
        m, n, k = LONG_SHAPE
        for config in LONG_SHAPE_CONFIGS:
            self.expect_gemm(m, n, k, config=config, beta=0.5)

    def test_schedules(self):
        for seed in SCHEDULE_SEEDS:
            self.expect_all_verified(600, 1304, 656, beta=0.5, seed=seed,
                                     environment={"BW_SIM_SMS": "33", "BW_SIM_SEED": str(seed)})

    def test_no_race_under_ten_schedules(self):
        for seed in SCHEDULE_SEEDS:
            self.expect_all_verified(
                600, 520, 272, beta=0.5, seed=seed,
                environment={"BW_SIM_CHECKS": "races", "BW_SIM_SMS": "17", "BW_SIM_SEED": str(seed)})


class BadInput(GemmTest):
    def test_sizes(self):
        self.expect_refused("M is 0", m=0)
        self.expect_refused("N is -8", n=-8)
        self.expect_refused("K is 8589934592", k=2**33)
        self.expect_refused("tiles", m=2**31 - 1024, n=2**31 - 1024)
        self.expect_refused("GiB", m=2**31 - 1024, k=2**30)

    def test_strides(self):
        self.expect_refused("give a multiple of 16", k=1000)
        self.expect_refused("give a multiple of 8", n=100)

    def test_configurations(self):
        self.expect_refused("no configuration called cta3_128x128", config="cta3_128x128_1x1")
        self.expect_refused("cta2_256x128_2x1", config="none")  # the names that exist are listed
        self.expect_refused("doesn't write fp32", config="cta1_128x128_1x1", output="fp32")

    def test_small_devices(self):
        status, output = self.run_program({"BW_SIM_SMS": "8"}, config="cta2_128x128_8x2")
        self.assertEqual(status, BAD_INPUT, output)
        self.assertIn("clusters of 16 CTAs", output)

    def test_options(self):
        self.expect_refused("isn't a 64-bit integer", m="many")
        self.expect_refused("isn't a finite number", beta="nan")
        self.expect_refused("fp32", beta="1e300")
        self.expect_refused("normal|position-c", fill="ones")
        self.expect_refused("bf16|fp32", output="int8")
        self.expect_refused("give 1 to 10000", launches=0)
        self.expect_refused("dependent|serial", launch="later")
        self.expect_refused("isn't known", colour="red")


if __name__ == "__main__":
    main()
