"""Draws chapter 5's roofline: `python3 roofline.py [--check]`, next to roofline.txt.

roofline.txt is what `./workbook bench configs -- --m 4096 --n 4096 --k 1024` prints. `--check` ends
with status 1 if roofline.svg does not show it."""

import math
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "docs/concepts/figures"))
from draw import Figure  # noqa: E402

ROOFS = re.compile(r"roofs: .* (\d+) TFLOP/s, .* ([\d.]+) TB/s")
LINE = re.compile(r"(cta\S+) +(\d+) +\d+ +(\d+) ")
LEFT, TOP, WIDTH, HEIGHT = 70, 30, 560, 330
BYTES = (50, 600)  # FLOP per byte, logarithmic
RATES = (400, 6000)  # TFLOP/s, logarithmic
NAMED = {  # how far right and below a configuration's name is written, and its anchor
    "cta2_256x256_4x2": (0, -10, "mid "), "cta2_256x256_2x1": (7, 15, ""),
    "cta1_128x256_1x1": (-4, -10, "mid "), "cta2_256x128_2x1": (8, 14, ""),
    "cta1_128x128_1x1": (-8, 4, "end "), "cta2_256x128_4x4": (8, 4, ""),
    "cta1_64x128_1x1": (8, 4, ""), "cta1_128x192_2x1": (-8, 4, "end ")}


def x_of(flop_per_byte):
    low, high = map(math.log, BYTES)
    return LEFT + WIDTH * (math.log(flop_per_byte) - low) / (high - low)


def y_of(rate):
    low, high = map(math.log, RATES)
    return TOP + HEIGHT * (1 - (math.log(rate) - low) / (high - low))


def draw(peak, slope, rows):
    """`peak`, `slope`: TFLOP/s and TB/s; `rows`: each configuration's name, FLOP per byte, TFLOP/s."""
    figure = Figure(760, 420, "The rate of each configuration below the roof that the L2 cache and "
                              "the tensor cores set")
    figure.path(f"{LEFT},{TOP} {LEFT},{TOP + HEIGHT} {LEFT + WIDTH},{TOP + HEIGHT}", tip=False)
    for flop_per_byte in (64, 128, 256, 512):
        figure.text(x_of(flop_per_byte), TOP + HEIGHT + 18, str(flop_per_byte), "mid small")
    for rate in (500, 1000, 2000, 4000):
        figure.text(LEFT - 8, y_of(rate) + 4, str(rate), "end small")
    figure.text(LEFT + WIDTH / 2, TOP + HEIGHT + 40, "FLOP per byte from L2", "mid")
    figure.text(LEFT, 20, "TFLOP/s, simulated, 4096 x 4096 x 1024", "")
    ridge = peak / slope
    figure.path(f"{x_of(BYTES[0]):.1f},{y_of(BYTES[0] * slope):.1f} {x_of(ridge):.1f},{y_of(peak):.1f} "
                f"{LEFT + WIDTH},{y_of(peak):.1f}", tip=False)
    figure.text(LEFT + WIDTH - 4, y_of(peak) - 8, "tensor cores", "end small")
    figure.text(x_of(140), y_of(140 * slope) - 14, "L2", "end small")
    for name, flop_per_byte, rate in rows:
        x, y = x_of(flop_per_byte), y_of(rate)
        figure.box(round(x - 4, 1), round(y - 4, 1), 8, 8, "blue")
        if name in NAMED:
            right, below, anchor = NAMED[name]
            figure.text(x + right, y + below, name, anchor + "small")
    return figure.svg()


def main():
    report = (HERE / "roofline.txt").read_text()
    peak, slope = map(float, ROOFS.search(report).groups())
    rows = [(name, float(flop), float(rate)) for name, flop, rate in LINE.findall(report)]
    text, path = draw(peak, slope, rows), HERE / "roofline.svg"
    if "--check" in sys.argv[1:]:
        if not path.is_file() or path.read_text() != text:
            sys.exit(f"{path} does not show roofline.txt: run {Path(__file__).name}.")
        return
    path.write_text(text)


if __name__ == "__main__":
    main()
