"""The program of chapter 2 as its user sees it."""

from program_testing import ProgramTest, field, main

CTA_GROUPS = (1, 2)
COLUMNS = (32, 64, 128, 256)
SHAPES = ("32x32b", "16x64b", "16x128b", "16x256b")
ROWS_PER_CTA = 128


class LifecycleTest(ProgramTest):
    def expect_every_shape(self, cta_group, n, environment=None, **options):
        size = ROWS_PER_CTA * cta_group * n
        output = self.expect_verified(len(SHAPES) * size, environment, cta_group=cta_group, n=n,
                                      **options)
        for shape in SHAPES:
            self.assertIn(f"{shape:8} {size} of {size} elements are right", output)
        return output


class Shapes(LifecycleTest):
    def test_every_configuration(self):
        for cta_group in CTA_GROUPS:
            for n in COLUMNS:
                self.expect_every_shape(cta_group, n)

    def test_positions_are_exact(self):
        for cta_group in CTA_GROUPS:
            for n in COLUMNS:
                output = self.expect_every_shape(cta_group, n, fill="position")
                self.assertIn("max |D - reference| 0,", output)

    def test_help(self):
        self.expect_help("cta-group", "n", "fill", "seed")


class Descriptors(LifecycleTest):
    def test_they_say_what_was_multiplied(self):
        for cta_group in CTA_GROUPS:
            for n in COLUMNS:
                output = self.expect_every_shape(cta_group, n)
                self.assertIn(f"M {ROWS_PER_CTA * cta_group}, N {n}, A format 0",
                              field(output, "mma"))
                self.assertIn("8 rows 256 bytes apart, swizzle code 6", field(output, "operand"))


class Schedules(LifecycleTest):
    def test_seeds_of_the_schedule(self):
        for seed in range(8):
            for cta_group in CTA_GROUPS:
                self.expect_every_shape(cta_group, 64, {"BW_SIM_SEED": str(seed)}, seed=seed)


class BadInput(LifecycleTest):
    def test_options(self):
        self.expect_refused("give one of 1|2", cta_group=3)
        self.expect_refused("give one of 32|64|128|256", n=48)
        self.expect_refused("normal|position", fill="ones")
        self.expect_refused("isn't a 64-bit integer", seed="many")
        self.expect_refused("isn't known", m=128)


if __name__ == "__main__":
    main()
