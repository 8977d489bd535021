"""Chapter 7's figures, for draw.py: what draws them is passed in, so that neither imports the other
first."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "chapters" / "07_block_scaled_gemm" / "figures"
TEXT = FOLDER.parent / "README.md"


def figures(figure_class):
    """{name: function that draws it}."""
    return {
        "accuracy": lambda: accuracy(figure_class),
        "atom": lambda: atom(figure_class),
        "scale_ids": lambda: scale_ids(figure_class),
        "order": lambda: order(figure_class),
        "columns": lambda: columns(figure_class),
        "pair": lambda: pair(figure_class),
    }


def accuracy_rows(text):
    """[(format, bits, error of normal numbers, error next to outliers)] from the lab's output in
    the chapter's text, which a test compares with the lab."""
    rows = re.findall(r"^(\S.*?|  \S.*?)\s+(\d\.\d\d)\s+(0\.\d+)\s+(0\.\d+)\s+[\d.]+ %$", text, re.M)
    if not rows:
        raise SystemExit(f"{TEXT} holds no output of lab_07_scale_accuracy to draw.")
    return [
        (name.rstrip(), float(bits), float(normal), float(outliers))
        for name, bits, normal, outliers in rows
    ]


def accuracy(figure_class):
    """Relative errors of six recipes, as bars."""
    rows = accuracy_rows(TEXT.read_text(encoding="utf-8"))
    top, step, left, scale = 56, 46, 210, 1250
    figure = figure_class(760, top + step * len(rows) + 34, "Relative error of six ways to round")
    figure.text(14, 24, "relative rms error", "head")
    figure.box(left, 12, 16, 16, "blue").text(left + 24, 25, "normal numbers")
    figure.box(left + 170, 12, 16, 16, "amber")
    figure.text(left + 194, 25, "the same, next to outliers 30 times as large")
    for number, (name, bits, normal, outliers) in enumerate(rows):
        y = top + step * number
        figure.text(14, y + 16, name.strip() if name[0] != " " else "… " + name.strip())
        figure.text(14, y + 32, f"{bits:.2f} bits a number", "small")
        for below, value, kind in ((0, normal, "blue"), (18, outliers, "amber")):
            figure.box(left, y + below, max(2, round(value * scale)), 15, kind)
            figure.text(left + round(value * scale) + 8, y + below + 12, f"{value:.3f}", "small")
    figure.text(
        14, top + step * len(rows) + 16, "Numbers that are outliers themselves are not counted.", "small"
    )
    return figure


def atom(figure_class):
    """From rows of scales to lanes of tensor memory."""
    figure = figure_class(
        760, 330, "128 rows of four scales become 32 lines, and then 32 lanes, " "four times"
    )
    figure.text(95, 22, "scales of the matrix", "mid head")
    figure.text(95, 40, "a word of four for each row", "mid small")
    for number, (first, kind) in enumerate(((0, "blue"), (32, "green"), (64, "amber"), (96, "red"))):
        figure.box(30, 52 + 58 * number, 130, 50, kind, f"rows {first} … {first + 31}")
    figure.text(350, 22, "an atom: 512 bytes", "mid head")
    figure.text(350, 40, "32 lines of 16 bytes", "mid small")
    for number, kind in enumerate(("blue", "green", "amber", "red")):
        x = 250 + 50 * number
        figure.box(x, 52, 50, 24, kind, str(32 * number), "mid small")
        figure.box(x, 76, 50, 24, kind, str(32 * number + 1), "mid small")
        figure.box(x, 100, 50, 130, kind, "⋮")
        figure.box(x, 230, 50, 24, kind, str(32 * number + 31), "mid small")
    figure.path("166,150 244,150")
    figure.text(350, 274, "line r % 32, word r / 32", "mid mono")
    figure.text(630, 22, "tensor memory", "mid head")
    figure.text(630, 40, "four columns, 128 lanes", "mid small")
    for quarter in range(4):
        y = 52 + 52 * quarter
        for number, kind in enumerate(("blue", "green", "amber", "red")):
            figure.box(560 + 35 * number, y, 35, 46, kind)
        figure.text(552, y + 28, f"lanes {32 * quarter}–{32 * quarter + 31}", "end small")
    figure.path("452,150 476,150")
    figure.text(
        380, 304, "tcgen05.cp.32x128b.warpx4 copies each line to a lane of all four quarters", "mid"
    )
    figure.text(380, 322, "lane r % 32, column r / 32: there the MMA looks for row r", "mid small")
    return figure


def scale_ids(figure_class):
    """The words of one row, and which bytes each MMA takes."""
    figure = figure_class(760, 250, "Which bytes of a row's words the four MMAs of a K block take")
    kinds = ("blue", "green", "amber", "red")
    formats = (
        ("MXFP8", "K 128, a scale for 32", "1X", 1, 1),
        ("MXFP4", "K 256, a scale for 32", "2X", 2, 2),
        ("NVFP4", "K 256, a scale for 16", "4X", 4, 4),
    )
    for number, (name, what, vector, words, scales) in enumerate(formats):
        y = 40 + 68 * number
        figure.text(14, y + 16, name, "head").text(14, y + 33, what, "small")
        figure.text(14, y + 48, f"scale_vec::{vector}", "mono")
        for word in range(words):
            for byte in range(4):
                mma = (word * 4 + byte) // scales
                x = 190 + 138 * word + 32 * byte
                figure.box(x, y, 32, 30, kinds[mma], str(mma), "mid")
            figure.text(190 + 138 * word + 64, y + 46, f"column +{4 * word}", "mid small")
    figure.text(190, 22, "bytes 0 to 3 of a word; the number is the MMA that takes the byte", "small")
    figure.text(
        190, 238, "The scale factor id is the first byte, the address names the column.", "small"
    )
    return figure


def order(figure_class):
    """Which hand-overs need what."""
    figure = figure_class(760, 250, "What is ordered by itself between scales and MMAs, and what is not")
    figure.box(20, 40, 150, 44, "grey", "TMA brings scales")
    figure.box(20, 140, 150, 44, "grey", "threads store scales")
    figure.box(250, 40, 150, 44, "blue", "full barrier")
    figure.path("170,62 244,62").text(207, 54, "bytes", "mid small")
    figure.path("170,162 325,162 325,90")
    figure.text(250, 180, "fence.proxy.async, then arrive", "small")
    figure.box(470, 40, 110, 44, "amber", "tcgen05.cp", "mid mono")
    figure.box(630, 40, 110, 44, "amber", "tcgen05.mma", "mid mono")
    figure.path("400,62 464,62").text(432, 54, "wait", "mid small")
    figure.path("580,62 624,62").text(605, 30, "in order", "mid small")
    figure.box(630, 140, 110, 44, "amber", "next tcgen05.cp", "mid small")
    figure.path("685,84 685,134", "dash")
    figure.text(676, 106, "not ordered: other columns,", "end small")
    figure.text(676, 122, "or a commit and a wait", "end small")
    figure.text(
        380, 232, "tcgen05.cp reads shared memory through the async proxy, as TMA writes it", "mid small"
    )
    return figure


def columns(figure_class):
    """Four ways to fill 512 columns."""
    figure = figure_class(760, 300, "Four ways to divide the 512 columns of tensor memory")
    plans = (
        ("two of 256", "no column is left for scales", ((256, "blue", "D 0"), (256, "green", "D 1"))),
        (
            "128 wide",
            "accumulators and sets of scales",
            (
                (128, "blue", "D 0"),
                (128, "green", "D 1"),
                (128, "blue", "D 2"),
                (64, "grey", ""),
                (64, "amber", "scales"),
            ),
        ),
        (
            "256, alone",
            "the tensor core waits for each epilogue",
            ((256, "blue", "D"), (192, "grey", "unused"), (64, "amber", "scales")),
        ),
    )
    left, width = 170, 560
    for number, (name, what, parts) in enumerate(plans):
        y = 30 + 62 * number
        figure.text(14, y + 16, name, "head").text(14, y + 46, what, "small")
        x = left
        for size, kind, text in parts:
            figure.box(x, y, size * width / 512, 30, kind, text, "mid small")
            x += size * width / 512
    y = 30 + 62 * 3
    figure.text(14, y + 16, "256, overlapping", "head")
    figure.box(left, y, 256 * width / 512, 30, "blue", "D of even tiles", "mid small")
    figure.box(
        left + 224 * width / 512, y + 36, 256 * width / 512, 30, "green", "D of odd tiles", "mid small"
    )
    figure.box(left + 480 * width / 512, y, 32 * width / 512, 66, "amber", "")
    figure.text(14, y + 56, "the shared columns", "small")
    figure.text(14, y + 71, "are read first", "small")
    return figure


def pair(figure_class):
    """What each CTA of a pair holds."""
    figure = figure_class(760, 270, "In a pair, B is halved, its scales are not")
    for number, name in enumerate(("leader", "peer")):
        x = 20 + 380 * number
        figure.text(x + 170, 22, name, "mid head")
        figure.box(x, 34, 340, 104, "box")
        figure.text(x + 10, 52, "shared memory", "small")
        figure.box(x + 10, 62, 96, 64, "blue", "A\nits 128 rows", "mid small")
        figure.box(x + 112, 62, 96, 64, "green", f"B\nhalf {number}", "mid small")
        figure.box(x + 214, 62, 54, 64, "amber", "SFA\nits own", "mid small")
        figure.box(x + 272, 62, 58, 64, "red", "SFB\nof all N", "mid small")
        figure.box(x, 158, 340, 66, "box")
        figure.text(x + 10, 174, "tensor memory", "small")
        figure.box(x + 10, 182, 198, 34, "grey", "D: its 128 rows, all N columns", "mid small")
        figure.box(x + 214, 182, 54, 34, "amber", "SFA", "mid small")
        figure.box(x + 272, 182, 58, 34, "red", "SFB", "mid small")
        figure.path(f"{x + 241},128 {x + 241},178").path(f"{x + 301},128 {x + 301},178")
    figure.text(
        380,
        250,
        "One tcgen05.cp.cta_group::2 of the leader copies in both CTAs, each from its "
        "own shared memory",
        "mid small",
    )
    return figure
