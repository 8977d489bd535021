"""The rates of all configurations that chapter 5 shows: rates_test.py <05_config_choice> <figures>
[--write]. Each file holds what the program prints for its shape, and at the shape whose rates are
published no configuration is clearly faster than the one that the program takes. `--write` simulates
them again and writes the files; roofline.py then draws the picture."""

import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM, FIGURES = sys.argv[1], Path(sys.argv[2])
PUBLISHED = "rates_4096.txt"
SHAPES = {"roofline.txt": (4096, 4096, 1024), PUBLISHED: (4096, 4096, 4096)}


def rates(m, n, k):
    return subprocess.run([PROGRAM, "--m", str(m), "--n", str(n), "--k", str(k)],
                          stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout


class Rates(unittest.TestCase):
    def test_the_files_are_current(self):
        for name, shape in SHAPES.items():
            with self.subTest(file=name):
                self.assertEqual((FIGURES / name).read_text(), rates(*shape),
                                 f"write it again: {' '.join(sys.argv)} --write")


class Choice(unittest.TestCase):
    # The model does not know a difference of half a per cent.
    ALIKE = 1.005

    def test_no_configuration_is_faster_than_the_chosen_one(self):
        lines = (FIGURES / PUBLISHED).read_text().splitlines()
        cycles = {words[0]: int(words[2]) for words in map(str.split, lines)
                  if words[0].startswith("cta")}
        chosen = lines[-1].split()[-1]
        self.assertLessEqual(cycles[chosen], self.ALIKE * min(cycles.values()))


if __name__ == "__main__":
    if "--write" in sys.argv:
        for name, shape in SHAPES.items():
            (FIGURES / name).write_text(rates(*shape))
    else:
        unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
