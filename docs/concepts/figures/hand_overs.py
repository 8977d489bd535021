"""Figures of chapters 2 and 4 about hand-overs; draw.py draws them."""

from pathlib import Path

CHAPTERS = Path(__file__).resolve().parents[3] / "chapters"


def who_signals(figure_class):
    """The signals of one K block, from top to bottom in the order of time."""
    figure = figure_class(
        860,
        334,
        "The signals of one K block in the order of time: input-full, two commits at once, "
        "the epilogue's arrivals on input-empty and then on accumulator-empty",
    )
    load, mma, core, epilogue = 95, 300, 500, 765
    for x, kind, name in (
        (load, "blue", "load warp, TMA"),
        (mma, "green", "MMA warp"),
        (core, "green", "tensor core"),
        (epilogue, "amber", "epilogue, 4 warps"),
    ):
        figure.box(x - 75, 14, 150, 30, kind, name, "mid head")
        figure.path(f"{x},44 {x},296", "dash", tip=False)
    figure.path(f"{load},84 {mma - 3},84").path(f"{mma},84 {epilogue - 3},84")
    figure.text((load + mma) / 2, 66, "input-full: the bytes", "mid small")
    figure.text((load + mma) / 2, 79, "of A, B and A-scales", "mid small")
    figure.text((mma + epilogue) / 2, 79, "the epilogue waits on it, too: for its scales", "mid small")
    figure.path(f"{mma},118 {core - 53},118")
    figure.text((mma + core - 50) / 2, 113, "4 MMAs, 2 commits", "mid small")
    figure.box(core - 50, 106, 100, 66, "green", "multiplies", "mid")
    figure.path(f"{core},186 {epilogue - 3},186").path(f"{core},186 {load + 3},186")
    figure.text((core + epilogue) / 2, 181, "accumulator-full: commit", "mid small")
    figure.text((load + mma) / 2, 181, "input-empty: commit", "mid small")
    figure.text(core + 8, 202, "both when the MMAs are complete", "small")
    figure.path(f"{epilogue},234 {load + 3},234")
    figure.text(
        (load + core) / 2,
        229,
        "input-empty: an arrival of each warp, its scales are in registers",
        "mid small",
    )
    figure.path(f"{epilogue},272 {mma + 3},272")
    figure.text(
        (mma + epilogue) / 2,
        267,
        "accumulator-empty: 128 arrivals, the product is in registers",
        "mid small",
    )
    figure.text(
        20,
        320,
        "After its last signal each role steps once in each ring that it uses: the load warp in one, "
        "the others in both.",
        "small",
    )
    return figure


def mma_of_a_pair(figure_class):
    """What the one MMA of a pair reads and writes, in both CTAs."""
    figure = figure_class(
        860,
        290,
        "One MMA of a pair reads A and B from the shared memory of both CTAs and writes D "
        "into the tensor memory of both",
    )
    for number, name in enumerate(("leader: CTA of rank 0", "peer: CTA of rank 1")):
        left = 14 + 486 * number
        a_left, b_left = (left + 14, left + 178) if number == 0 else (left + 194, left + 30)
        figure.box(left, 14, 346, 232, "box").text(left + 14, 36, name, "head")
        rows = ("0 to 127", "128 to 255")[number]
        figure.box(a_left, 52, 138, 62, "blue", f"A rows\n{rows}", "mid small")
        columns = ("0 to 31", "32 to 63")[number]
        figure.box(b_left, 52, 138, 34, "green", f"B rows {columns}", "mid small")
        figure.text(left + 14, 132, "shared memory", "small")
        d_left = left + 14 + 16 * number
        figure.box(d_left, 166, 302, 44, "amber", f"D rows {rows}, all 64 columns", "mid small")
        figure.text(left + 14, 230, "tensor memory", "small")
    figure.box(386, 112, 88, 44, "red", "mma", "mid head")
    figure.path("330,69 400,108").path("530,69 460,108")
    figure.path("166,106 382,126").path("694,106 478,126")
    figure.path("402,156 334,184").path("458,156 526,184")
    figure.text(
        430,
        274,
        "One lane of the leader issues it; the tensor cores of both SMs work; one commit arrives in "
        "both CTAs.",
        "mid small",
    )
    return figure


def figures(figure_class):
    """{path: a function that draws it}."""
    drawn = {
        "02_tmem_lifecycle/figures/pair.svg": mma_of_a_pair,
        "04_per_k_contexts/figures/who_signals.svg": who_signals,
    }
    return {CHAPTERS / name: lambda draw=draw: draw(figure_class) for name, draw in drawn.items()}
