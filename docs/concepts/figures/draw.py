"""Draws the figures of the concept pages: `python3 docs/concepts/figures/draw.py [--check]`.

SVG with its own colours for light and dark ground. What shows a run is drawn by the chapters; these
show how things hang together. `--check` ends with status 1 where a file has drifted.
"""

import re
import sys
from html import escape
from pathlib import Path

import block_scaled
import hand_overs

HERE = Path(__file__).resolve().parent

_STYLE = """\
text { font-family: 'Segoe UI', 'DejaVu Sans', Arial, sans-serif; font-size: 13px; fill: #24292f; }
.small { font-size: 11.5px; fill: #57606a; }
.head { font-weight: 600; }
.mono { font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace; font-size: 12px; }
.mid { text-anchor: middle; }
.end { text-anchor: end; }
.line { stroke: #57606a; stroke-width: 1.3; fill: none; }
.dash { stroke: #57606a; stroke-width: 1.3; fill: none; stroke-dasharray: 4 3; }
.tip { fill: #57606a; }
.box { fill: none; stroke: #57606a; stroke-width: 1.3; }
.blue { fill: #ddf4ff; stroke: #0969da; stroke-width: 1.3; }
.green { fill: #dafbe1; stroke: #1a7f37; stroke-width: 1.3; }
.amber { fill: #fff8c5; stroke: #9a6700; stroke-width: 1.3; }
.red { fill: #ffebe9; stroke: #cf222e; stroke-width: 1.3; }
.grey { fill: #f0f3f6; stroke: #848d97; stroke-width: 1.3; }
.wait { fill: url(#hatch); stroke: #848d97; stroke-width: 1; }
.hatch { stroke: #848d97; stroke-width: 1.2; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.small { fill: #9da7b1; }
.line, .dash { stroke: #9da7b1; }
.tip { fill: #9da7b1; }
.box { stroke: #9da7b1; }
.blue { fill: #0c2d6b; stroke: #58a6ff; }
.green { fill: #033a16; stroke: #3fb950; }
.amber { fill: #4b2900; stroke: #d29922; }
.red { fill: #67060c; stroke: #f85149; }
.grey { fill: #21262d; stroke: #6e7681; }
}"""
# What the parts refer to, by the reference.
_DEFINITIONS = {
    "url(#tip)": """\
<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">\
<path class="tip" d="M0,0 L8,4 L0,8 z"/></marker>""",
    'class="wait"': """\
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" \
patternTransform="rotate(45)"><path class="hatch" d="M0,0 V6"/></pattern>"""}


def _styles_of(parts):
    """The lines of the style that elements of these parts have."""
    used = {f".{name}" for names in re.findall(r'class="([^"]*)"', parts) for name in names.split()}
    for line in _STYLE.splitlines():
        selector, brace, rule = line.partition(" {")
        if not selector.startswith("."):
            yield line
        elif chosen := [name for name in selector.split(", ") if name in used]:
            yield ", ".join(chosen) + brace + rule


class Figure:
    """An SVG under construction; coordinates are pixels."""

    def __init__(self, width, height, label):
        self._parts = []
        self._head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
        )

    def box(self, x, y, width, height, kind="box", text="", style="mid"):
        """A rectangle; `text` is in its middle, a line for each line."""
        self._parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" class="{kind}"/>'
        )
        lines = text.split("\n") if text else []
        for number, line in enumerate(lines):
            below = y + height / 2 + 4.5 + 17 * (number - (len(lines) - 1) / 2)
            self.text(x + width / 2, below, line, style)
        return self

    def text(self, x, y, text, style=""):
        self._parts.append(f'<text x="{x:g}" y="{y:g}" class="{style}">{escape(text)}</text>')
        return self

    def path(self, points, style="line", tip=True):
        """A line through points `x,y x,y ...`, with an arrow's tip at its end."""
        marker = ' marker-end="url(#tip)"' if tip else ""
        self._parts.append(f'<path d="M{" L".join(points.split())}" class="{style}"{marker}/>')
        return self

    def svg(self):
        parts = "\n".join(self._parts)
        definitions = [text for reference, text in _DEFINITIONS.items() if reference in parts]
        if definitions:
            parts = "\n".join(["<defs>", *definitions, "</defs>", parts])
        return "\n".join([self._head, "<style>", *_styles_of(parts), "</style>", parts, "</svg>", ""])


def counts():
    """The two counts of a phase and what changes them."""
    figure = Figure(
        760, 210, "A phase is complete when pending arrivals and tx-count are both zero"
    )
    figure.box(250, 20, 260, 130, "box")
    figure.text(380, 42, "one mbarrier, phase n", "mid head")
    figure.box(270, 58, 220, 34, "blue", "pending arrivals")
    figure.box(270, 104, 220, 34, "amber", "tx-count: bytes under way")
    figure.text(14, 79, "arrive: one less").path("196,75 262,75")
    figure.text(14, 112, "expect_tx: more bytes").path("196,108 262,114")
    figure.text(14, 142, "a copy lands: fewer bytes").path("196,138 262,129")
    figure.path("510,86 590,86")
    figure.box(596, 58, 146, 56, "green", "both zero:\nphase n is over")
    figure.path("668,114 668,176 380,176 380,158")
    figure.text(
        524, 194, "phase n + 1 begins in the same step, pending as at the start", "mid small"
    )
    return figure


def proxies():
    """Two paths to shared memory, and what orders them."""
    figure = Figure(
        760,
        300,
        "Threads and copy engine reach shared memory by two paths; a proxy fence "
        "orders them in one direction, the bytes on an mbarrier in the other",
    )
    figure.box(290, 110, 180, 60, "grey", "shared memory\none stage of a ring")
    figure.box(20, 110, 170, 60, "blue", "threads\nld.shared, st.shared")
    figure.box(570, 110, 170, 60, "amber", "TMA, tensor core\ncopies, MMA operands")
    figure.path("190,140 284,140").text(237, 130, "generic proxy", "mid small")
    figure.path("570,140 476,140").text(523, 130, "async proxy", "mid small")
    figure.text(380, 24, "from the copy engine to threads", "mid head")
    figure.path("655,104 655,62 105,62 105,104")
    figure.text(
        380,
        54,
        "complete_tx on the mbarrier, then a wait that passes: nothing else is needed",
        "mid small",
    )
    figure.text(380, 284, "from threads to the copy engine", "mid head")
    figure.path("105,176 105,228 655,228 655,176")
    figure.text(
        380,
        220,
        "every thread: fence.proxy.async, then arrive; the other side waits, then copies",
        "mid small",
    )
    figure.text(380, 248, "an arrival alone does not order the two paths", "mid small")
    return figure


def tmem_order():
    """A hand-over of an accumulator, with its fences."""
    figure = Figure(
        760, 250, "Who does what in a hand-over of an accumulator in tensor memory, in order"
    )
    for x, title in ((20, "issuing thread"), (280, "tensor core"), (540, "epilogue thread")):
        figure.text(x + 100, 22, title, "mid head")
        figure.path(f"{x + 100},30 {x + 100},240", "dash", tip=False)
    figure.box(30, 40, 180, 30, "blue", "tcgen05.mma (4 times)", "mid mono")
    figure.box(30, 82, 180, 30, "blue", "tcgen05.commit [full]", "mid mono")
    figure.box(290, 66, 180, 58, "amber", "multiplies, adds to D", "mid")
    figure.path("210,55 284,76")
    figure.box(550, 40, 180, 30, "grey", "waits on full", "mid")
    figure.path("470,110 640,110 640,76")
    figure.text(560, 104, "arrives", "mid small")
    figure.box(550, 128, 180, 30, "green", "fence::after…", "mid mono")
    figure.box(550, 164, 180, 30, "green", "tcgen05.ld, wait::ld", "mid mono")
    figure.box(550, 200, 180, 30, "green", "fence::before…, arrive", "mid mono")
    figure.path("550,215 120,215 120,188")
    figure.box(30, 152, 180, 30, "grey", "waits on empty", "mid")
    figure.text(330, 209, "“I have read it”", "mid small")
    return figure


def descriptor():
    """The fields of tcgen05's shared-memory descriptor."""
    fields = (
        (63, 61, "swizzle", "amber"),
        (60, 53, "0", "grey"),
        (52, 52, "", "grey"),
        (51, 49, "base", "green"),
        (48, 46, "001", "grey"),
        (45, 32, "stride offset / 16", "blue"),
        (31, 30, "0", "grey"),
        (29, 16, "leading offset / 16", "green"),
        (15, 14, "0", "grey"),
        (13, 0, "start address / 16", "amber"),
    )
    figure = Figure(
        760, 130, "The 64 bits of the shared-memory descriptor of tcgen05, from bit 63 to 0"
    )
    left, unit = 12, 11.5
    for high, low, name, kind in fields:
        x = left + (63 - high) * unit
        figure.box(
            round(x, 1),
            40,
            round((high - low + 1) * unit, 1),
            40,
            kind,
            name if (high - low + 1) * unit > 7 * len(name) else "",
            "mid small",
        )
        if high != low:
            figure.text(x + 1, 32, str(high), "small")
    figure.text(left, 100, "61 to 63: the swizzle", "small")
    figure.text(
        left,
        120,
        "49 to 51: base offset; 52: mode of the leading offset; 46 to 48: a constant of sm_100",
        "small",
    )
    figure.text(748, 100, "bit 0", "small end")
    return figure


def scaling():
    """One block of K: which scale belongs to which part of D."""
    figure = Figure(
        760,
        290,
        "In one block of K each row of A has a scale and 128 columns of B share one; "
        "the product of an element of D is scaled by both",
    )
    figure.text(110, 24, "A, one K block", "mid head")
    for row in range(6):
        figure.box(40, 40 + 26 * row, 140, 22, "blue")
        figure.box(190, 40 + 26 * row, 22, 22, "amber")
    figure.text(110, 214, "128 values along K", "mid small")
    figure.text(190, 232, "and a scale for each row", "end small")
    figure.text(380, 24, "B, one K block", "mid head")
    figure.box(290, 40, 84, 152, "blue", "128\ncolumns\nof D")
    figure.box(382, 40, 84, 152, "blue", "the next\n128")
    figure.box(321, 200, 22, 22, "amber").box(413, 200, 22, 22, "amber")
    figure.text(380, 240, "one scale for 128 columns and 128 values along K", "mid small")
    figure.text(640, 24, "D, in fp32 registers", "mid head")
    figure.box(
        540, 40, 200, 152, "green", "sum += product\n· a-scale of the row\n· b-scale of the columns"
    )
    figure.path("480,116 534,116")
    figure.text(640, 214, "again for each K block", "mid small")
    figure.text(
        380,
        276,
        "the tensor core gives the product of one K block; it does not know the scales",
        "mid small",
    )
    return figure


def roles():
    """Rings between roles, each with its two barriers."""
    figure = Figure(760, 210, "Load, MMA and epilogue roles with two rings between them")
    figure.box(16, 70, 130, 60, "blue", "load\n1 warp")
    figure.box(316, 70, 130, 60, "amber", "MMA\n1 warp")
    figure.box(616, 70, 130, 60, "green", "epilogue\n4 warps")
    for left, name in ((172, "input ring"), (472, "accumulator ring")):
        figure.text(left + 59, 56, name, "mid head")
        for stage in range(4):
            figure.box(left + 30 * stage, 72, 26, 56, ("green", "green", "amber", "grey")[stage])
    figure.path("146,88 168,88").path("292,88 312,88").path("446,88 468,88").path("592,88 612,88")
    figure.text(231, 24, "full: bytes have landed", "mid small").text(
        531, 24, "full: commit", "mid small"
    )
    figure.path("380,134 380,170 80,170 80,136")
    figure.text(231, 188, "empty: commit (and who else has read)", "mid small")
    figure.path("680,134 680,170 396,170 396,136")
    figure.text(540, 188, "empty: each thread has read", "mid small")
    return figure


def report():
    """The parts of a deadlock report."""
    figure = Figure(
        860, 270, "The parts of an entry of a deadlock report and the order to read them in"
    )
    rows = (
        (
            "[2] warp 4 at blockwise_tile_kernel.cuh:88, since cycle 974",
            "who waits, at which line",
            "blue",
        ),
        ("waits for phase 0 (parity 0)", "what it asks", "blue"),
        (
            "of mbarrier dynamic_shared+133152 (stage 0 of the 4 empty barriers)",
            "of which barrier",
            "amber",
        ),
        ("it is in phase 0: pending 4 of 5 arrivals, tx-count 0", "what is missing", "red"),
        (
            "in this phase: 1 arrival by warp 5 at …:125",
            "who has come; the others have not",
            "green",
        ),
    )
    figure.text(16, 24, "what the report says", "head").text(536, 24, "what it tells you", "head")
    for number, (text, meaning, kind) in enumerate(rows):
        y = 38 + 44 * number
        figure.box(16, y, 500, 34, kind)
        figure.text(26, y + 21, text, "mono")
        figure.text(536, y + 21, f"{number + 1}. {meaning}", "")
    return figure


def trust():
    """What the simulator's answers rest on."""
    figure = Figure(800, 250, "Four kinds of statements of the simulator and what each rests on")
    rows = (
        (
            "results of instructions that Hopper has too",
            "bit for bit against a Hopper GPU",
            "green",
        ),
        (
            "rules: phases, bytes, fences that are asked for, lifetimes",
            "the PTX ISA's words, tested",
            "green",
        ),
        (
            "tcgen05, pairs, 4- and 6-bit formats",
            "the PTX ISA and published layouts alone",
            "amber",
        ),
        ("cycles", "a model, held against an H100 only", "red"),
    )
    figure.text(16, 24, "what it says", "head").text(470, 24, "what that rests on", "head")
    for number, (text, ground, kind) in enumerate(rows):
        y = 38 + 50 * number
        figure.box(16, y, 420, 40, kind)
        figure.text(28, y + 25, text)
        figure.path(f"436,{y + 20} 462,{y + 20}")
        figure.text(470, y + 25, ground)
    return figure


def hopper_kernel():
    """The warps of chapter 6's kernel and what passes between them."""
    figure = Figure(
        860,
        400,
        "Chapter 6's kernel: a load warp fills the input ring, two warpgroups "
        "multiply, promote and write slices, two output warps move them",
    )
    figure.text(20, 24, "warpgroup 0: moves data", "head").text(
        400, 24, "shared memory", "mid head"
    )
    figure.text(705, 24, "warpgroups 1, 2: do the math", "mid head")
    figure.box(20, 60, 140, 56, "blue", "load warp")
    figure.box(
        300,
        44,
        200,
        100,
        "grey",
        "input ring, 4 stages\nA 128 x 128, 16 KiB\nB 256 x 128, 32 KiB\nA-scales, 512 B",
    )
    figure.box(590, 60, 90, 56, "amber", "wgmma")
    figure.box(730, 60, 116, 56, "amber", "product\n64 registers")
    figure.path("160,80 296,80").text(228, 70, "TMA, multicast", "mid small")
    figure.path("500,80 586,80").text(543, 70, "full", "mid small")
    figure.path("680,88 726,88")
    figure.path("612,116 612,176 90,176 90,122", "dash")
    figure.text(360, 168, "empty: 8 math warps of each of 2 CTAs", "mid small")
    figure.box(730, 200, 116, 56, "green", "sum\n128 registers")
    figure.path("788,116 788,196").text(780, 150, "promotion:", "end small")
    figure.text(780, 166, "sum += product \u00b7 scales", "end small")
    figure.box(20, 300, 140, 56, "blue", "output warp g")
    figure.box(300, 290, 200, 76, "grey", "slots of warpgroup g\n2 slices of 64 x 64\n8 KiB each")
    figure.path("788,256 788,318 506,318").text(
        780, 300, "+ beta \u00b7 C, to bf16, stmatrix", "end small"
    )
    figure.path("300,318 166,318").text(233, 309, "full: its 4 warps", "mid small")
    figure.path("160,346 296,346").text(228, 364, "C by TMA, full: its bytes", "mid small")
    figure.path("500,346 600,346").text(606, 350, "C, read by ordinary loads", "small")
    figure.path("90,356 90,386 240,386").text(248, 390, "D by TMA store to global memory", "small")
    return figure


def stream_k():
    """How the pieces of a last round are divided along K."""
    figure = Figure(
        760,
        216,
        "A last round of 44 pieces on 66 clusters: 44 owners take the first K "
        "blocks of a piece each, 22 helpers share the rest of all",
    )
    figure.text(16, 66, "piece", "head").text(16, 160, "clusters", "head")
    for number, name in enumerate(("0", "1", "2", "\u2026", "43")):
        x = 110 + 128 * number
        figure.text(x + 56, 26, name, "mid")
        figure.box(x, 40, 86, 40, "blue", "K blocks 0-42" if number != 3 else "\u2026", "mid small")
        figure.box(x + 86, 40, 26, 40, "amber", "rest" if number != 3 else "", "mid small")
        figure.path(f"{x + 99},80 {x + 99},108 430,108 430,134", "dash", tip=number == 0)
    figure.box(110, 138, 190, 34, "blue", "22 to 65: one owner each")
    figure.box(330, 138, 400, 34, "amber", "0 to 21: helpers share the rest of all pieces")
    figure.text(
        110,
        200,
        "One line of K blocks, 43 to 55 of piece after piece, is divided evenly among the helpers.",
        "small",
    )
    return figure


# Those of chapter 6.
HOPPER_FIGURES = {"kernel": hopper_kernel, "stream_k": stream_k}
HOPPER = HERE.parents[2] / "chapters" / "06_hopper_fp8_gemm" / "figures"
FIGURES = {
    "counts": counts,
    "proxies": proxies,
    "tmem_order": tmem_order,
    "descriptor": descriptor,
    "scaling": scaling,
    "roles": roles,
    "report": report,
    "trust": trust,
}


def main(arguments):
    drifted = []
    figures = [(HERE / f"{name}.svg", draw) for name, draw in FIGURES.items()]
    figures += [(HOPPER / f"{name}.svg", draw) for name, draw in HOPPER_FIGURES.items()]
    figures += [
        (block_scaled.FOLDER / f"{name}.svg", draw)
        for name, draw in block_scaled.figures(Figure).items()
    ]
    figures += hand_overs.figures(Figure).items()
    for path, draw in figures:
        svg = draw().svg()
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != svg:
            drifted.append(path.name)
            if "--check" not in arguments:
                path.write_text(svg, encoding="utf-8")
    if drifted and "--check" in arguments:
        print(f"{', '.join(drifted)}: drawn again by docs/concepts/figures/draw.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
