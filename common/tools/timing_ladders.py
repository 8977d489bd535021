"""Holds the simulator's timing model against two ladders of matrix products, each kernel with one
idea more than the one before: whether it sees what each idea brings (tests/hardware/timing)."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import build
from .errors import WorkbookError
from .timing_validation import kendall_tau, read_table, run_program

_FOLDER = "tests/hardware/timing"


@dataclass(frozen=True)
class Ladder:
    """Kernels of one program, and the file with what they are held against."""

    title: str
    program: str
    groups: str
    recorded: str
    machine: str


LADDERS = (
    Ladder("by wgmma, simulated as an H100, compared with one H100", "timing_bench",
           "ladder,large_ladder", "h100_times.csv", "h100"),
    Ladder("by tcgen05, simulated as a B200, compared with learn-cuda's published times of its kernels",
           "blackwell_timing_bench", "ladder", "b200_kernels.csv", "b200"),
)


def read_rows(path):
    """The numbers of a file of results by name and parameter."""
    return {(row["name"], row["parameter"]): (float(row["value"]), row["unit"])
            for row in read_table(path)}


def describe(simulated, recorded):
    """Lines: each number, with the recorded one and their ratio where there is one; then mean, worst
    and order by size."""
    if not any(key in recorded for key in simulated):
        raise WorkbookError("None of the ladder's numbers has a recorded one.")
    lines = []
    pairs = {}
    errors = []
    for (name, parameter), (value, unit) in simulated.items():
        if (name, parameter) not in recorded:
            lines.append(f"{name:<28} {parameter:<12} {value:10.4g} {'-':>10} {'-':>6}  {unit}")
            continue
        other = recorded[name, parameter][0]
        lines.append(f"{name:<28} {parameter:<12} {value:10.4g} {other:10.4g} {value / other:6.2f}  "
                     f"{unit}")
        errors.append(100 * abs(value / other - 1))
        pairs.setdefault(parameter, []).append((other, value))
    lines.append(f"mean deviation {sum(errors) / len(errors):.1f} %, worst {max(errors):.1f} %")
    for parameter, own in pairs.items():
        tau = kendall_tau(own)
        if tau is not None:
            lines.append(f"ranking, {parameter}: Kendall's tau {tau:.2f}")
    return lines


def do_published(root, console, tools):
    """`./workbook bench timing --published`; `tools` for programs that are built."""
    for ladder in LADDERS:
        program = build.program(root, build.SIM, ladder.program)
        environment = {**tools.env, "BW_SIM_MACHINE": ladder.machine, "BW_SIM_TIMING": "model",
                       "BW_SIM_CHECKS": "off", "BW_SIM_ACCUMULATION": "none"}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ladder.csv"
            with console.step(f"Simulating the ladder {ladder.title.split(',')[0]}"):
                run_program(program, ["--groups", ladder.groups, "--write", str(path)], environment)
            simulated = read_rows(path)
        print(f"products {ladder.title}; one constant was chosen with the H100's in view")
        print("\n".join(describe(simulated, read_rows(root / _FOLDER / ladder.recorded))))
        print()
    return 0
