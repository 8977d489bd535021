"""No solution and no lab races: every program, every configuration, at the level `races`.

Run as `race_silence_test.py SEEDS PROGRAM...` with the paths of the chapters' programs, whose labs are
next to them. SEEDS is how many seeds of the schedule are tried."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

# Whole tiles, remainders, and a K for which the stages of every ring come round.
SHAPES = (("--m", "512", "--n", "512", "--k", "512"), ("--m", "200", "--n", "264", "--k", "224"),
          ("--m", "128", "--n", "512", "--k", "2048"))
# Under one seed chapter 6 takes half of the last one's columns: no cluster there is wider than a tile.
NARROW_SHAPE = ("--m", "128", "--n", "256", "--k", "2048")
# Options of a chapter's program, one run each.
OPTIONS = {
    "01_mbarrier_pipeline": [("--rows", "256", "--columns", "512", "--runs", "1", "--produce", how)
                             for how in ("plain", "bulk", "tensor")],
    "02_tmem_lifecycle": [("--cta-group", group) for group in ("1", "2")],
    "03_warp_contexts": [(*shape, "--accumulators", count) for shape in SHAPES
                         for count in ("1", "2", "4")],
    "04_per_k_contexts": [(*shape, "--accumulators", count) for shape in SHAPES
                          for count in ("1", "4")],
}
LEAST_LABS = 38


class NothingRaces(unittest.TestCase):
    seeds = 1
    programs = ()

    def expect_silence(self, program, options=()):
        for seed in range(self.seeds):
            with self.subTest(program=program.name, options=options, seed=seed):
                run = subprocess.run([str(program), *options], stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, universal_newlines=True,
                                     env={**os.environ, "BW_SIM_CHECKS": "races",
                                          "BW_SIM_SEED": str(seed)})
                self.assertEqual(run.returncode, 0, run.stdout[-4000:])

    @staticmethod
    def configurations(program):
        run = subprocess.run([str(program), "--list-configs"], stdout=subprocess.PIPE, check=True,
                             universal_newlines=True)
        return run.stdout.split()

    def chosen(self, configurations):
        """All of them; under one seed each structure of chapter 7 in one format, the next in another:
        between formats a kernel differs in the copies of scales and the MMA alone."""
        if self.seeds > 1:
            return configurations
        structures = {}
        for name in configurations:
            structures.setdefault(re.sub(r"^(mxfp|nvfp)\d_", "", name), []).append(name)
        return [names[place % len(names)] for place, names in enumerate(structures.values())]

    def test_the_programs(self):
        for program in self.programs:
            if program.name in OPTIONS:
                for options in OPTIONS[program.name]:
                    self.expect_silence(program, options)
                continue
            configurations = self.configurations(program)
            self.assertGreater(len(configurations), 15)
            shapes = SHAPES
            if self.seeds == 1:
                shapes = (NARROW_SHAPE,) if program.name == "06_hopper_fp8_gemm" else SHAPES[2:]
            for configuration in self.chosen(configurations):
                more = ("--output", "fp32") if configuration.endswith("fp32") else ()
                if configuration.startswith(("mxfp", "nvfp")):
                    more = ("--format", configuration.split("_")[0])
                for shape in shapes:
                    self.expect_silence(program, (*shape, "--config", configuration, *more))

    def test_the_labs(self):
        labs = sorted(self.programs[0].parent.glob("lab_0*"))
        self.assertGreaterEqual(len(labs), LEAST_LABS)
        for lab in labs:
            self.expect_silence(lab)


if __name__ == "__main__":
    NothingRaces.seeds = int(sys.argv[1])
    NothingRaces.programs = tuple(pathlib.Path(name) for name in sys.argv[2:])
    unittest.main(argv=sys.argv[:1])
