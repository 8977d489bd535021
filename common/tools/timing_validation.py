"""Holds the simulator's timing model against what an H100 took for programs that no constant of it
was fitted to: chapter 1's and chapter 6's (tests/hardware/timing)."""

import csv
import os
import re
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import build, machine, process
from .errors import WorkbookError

RECORDED = "tests/hardware/timing/h100_{}.csv"
_GEMM = "06_hopper_fp8_gemm"
CHAPTER_PROGRAMS = {"chapter01": "01_mbarrier_pipeline", "chapter06": _GEMM, "drawn": _GEMM}
GROUPS = tuple(CHAPTER_PROGRAMS)
# `drawn` are shapes that were drawn at random, for an occasional look: figures that are looked at
# often are soon fitted to.
DEFAULT_GROUPS = ("chapter01", "chapter06")
RUN_SECONDS = 1800.0
# Two runs of one measurement differ by up to this share.
MEASURED_ALIKE = 0.03
_STAGES = re.compile(r"^\s*(\d)\s+(\d+)\s+\d+\s+[\d.]+x\s+[\d.]+$", re.M)
_DEVICE_TIME = re.compile(r"^time\s+([\d.]+) us on the device", re.M)
# In the names of chapter 6's configurations that have B's rows on wgmma's M side.
SWAPPED = "swap"
_TILE = re.compile(r"^(\d+)x(\d+)_")
# Columns of chapter 6's recorded files; the others are configurations.
SHAPE = ("m", "n", "k", "beta")


@dataclass(frozen=True)
class Row:
    """One number, simulated and measured. Rows of one `subject` are variants that compete."""

    group: str
    subject: str
    variant: str
    measured: float
    simulated: float
    fills_chip: bool = True

    @property
    def deviation(self):
        return self.simulated / self.measured - 1


def kendall_tau(pairs):
    """How far the rankings of (measured, simulated) values agree: 1 in every pair, -1 in none. What
    was measured within MEASURED_ALIKE has no order; None where nothing has one."""
    agreeing = total = 0
    for index, (measured_a, simulated_a) in enumerate(pairs):
        for measured_b, simulated_b in pairs[index + 1:]:
            if abs(measured_a - measured_b) <= MEASURED_ALIKE * min(measured_a, measured_b):
                continue
            total += 1
            product = (measured_a - measured_b) * (simulated_a - simulated_b)
            agreeing += (product > 0) - (product < 0)
    return agreeing / total if total else None


def loss_of_choice(variants):
    """What it costs on the GPU to take the variant that the simulator finds fastest, as a share."""
    chosen = min(variants, key=lambda row: row.simulated)
    return chosen.measured / min(row.measured for row in variants) - 1


def read_table(path):
    """The lines of a file of times as dictionaries; lines that begin with # are comments."""
    try:
        lines = [line for line in Path(path).read_text(encoding="utf-8").splitlines()
                 if line and not line.startswith("#")]
    except OSError as error:
        raise WorkbookError(f"{path} could not be read: {error.strerror}.") from error
    return list(csv.DictReader(lines))


def recorded_rows(root, group, only=None):
    """The recorded numbers of a group as dictionaries; `only`: those that hold this text."""
    rows = read_table(root / RECORDED.format(group))
    if CHAPTER_PROGRAMS.get(group) == _GEMM:
        rows = [{**{name: row[name] for name in SHAPE}, "config": config, "warm_us": microseconds}
                for row in rows for config, microseconds in row.items()
                if config not in SHAPE and microseconds]
    if only:
        rows = [row for row in rows if only in "x".join(row.values()) or only in row.get("config", "")
                or only in row.get("produce", "")]
    return rows


def fills_chip(m, n, config, multiprocessors=132):
    """Whether a configuration has a tile for every SM. (Of the kernels for few rows the second
    number of the name is the tile's width as well.)"""
    match = _TILE.match(config)
    if not match:
        return False
    tiles = -(-m // int(match.group(1))) * -(-n // int(match.group(2)))
    return tiles >= multiprocessors


def run_program(program, options, environment):
    """What a program prints."""
    status, text = process.capture([str(program), *options], env=environment, timeout=RUN_SECONDS)
    if status != 0:
        raise WorkbookError(f"`{program.name} {' '.join(options)}` ended with status {status}:\n{text}")
    return text


def chapter01_cycles(program, produce, rows, columns, runs, environment):
    """Cycles by number of stages, as chapter 1's program measures them."""
    text = run_program(program, ["--produce", produce, "--rows", rows, "--columns", columns,
                                 "--runs", str(runs)], environment)
    return {stages: float(cycles) for stages, cycles in _STAGES.findall(text)}


def chapter06_microseconds(program, row, environment):
    """The device time of a recorded row's configuration and shape, as chapter 6's program measures
    it: launches that wait in the queue after other work."""
    text = run_program(program, ["--m", row["m"], "--n", row["n"], "--k", row["k"], "--beta",
                                 row["beta"], "--config", row["config"], "--unverified", "--queued"],
                       environment)
    found = _DEVICE_TIME.search(text)
    if not found:
        raise WorkbookError(f"{program.name} printed no time:\n{text}")
    return float(found.group(1))


def _simulated(tools):
    """What programs find in their environment that are simulated as on an H100."""
    environment = {**tools.env, "BW_SIM_MACHINE": "h100", "BW_SIM_THREADS": "1",
                   "BW_SIM_CHECKS": "off", "BW_SIM_ACCUMULATION": "none"}
    environment.setdefault("BW_SIM_TIMING", "model")
    return environment


def _chapter01(rows, program, tools, pool):
    wanted = defaultdict(dict)
    for row in rows:
        wanted[row["produce"], row["rows"], row["columns"]][row["stages"]] = float(row["cycles"])

    def run(key):
        produce, matrix_rows, columns = key
        found = chapter01_cycles(program, *key, runs=3, environment=_simulated(tools))
        return [Row("chapter01", f"{produce} {matrix_rows}x{columns}", stages, measured, found[stages])
                for stages, measured in wanted[key].items()]

    return [row for part in pool.map(run, wanted) for row in part]


def _gemm(group, rows, program, tools, pool, known):
    def run(row):
        simulated = chapter06_microseconds(program, row, _simulated(tools))
        return Row(group, f"{row['m']}x{row['n']}x{row['k']}", row["config"],
                   float(row["warm_us"]), simulated,
                   fills_chip(int(row["m"]), int(row["n"]), row["config"]))

    return list(pool.map(run, [row for row in rows if row["config"] in known]))


def simulate(root, group, tools, only=None):
    """The rows of a group, simulated now; `only`: those whose subject or variant holds this text."""
    program = build.program(root, build.SIM, CHAPTER_PROGRAMS[group])
    rows = recorded_rows(root, group, only)
    with ThreadPoolExecutor(machine.core_count()) as pool:
        if group == "chapter01":
            return _chapter01(rows, program, tools, pool)
        known = set(process.capture([str(program), "--list-configs"], env=tools.env)[1].split())
        return _gemm(group, rows, program, tools, pool, known)


def _summary(name, rows):
    if not rows:
        return f"{name:<44} no row"
    deviations = [abs(row.deviation) for row in rows]
    worst = max(rows, key=lambda row: abs(row.deviation))
    return (f"{name:<44} {len(rows):4d} rows, mean {100 * sum(deviations) / len(rows):5.1f} %, worst "
            f"{100 * worst.deviation:+6.1f} % ({worst.subject} {worst.variant})")


def _by_variant(rows):
    """A line for each variant: in which direction it errs."""
    variants = defaultdict(list)
    for row in rows:
        variants[row.variant].append(100 * row.deviation)
    return [f"    {variant:<26} {len(own):3d} rows, {sum(own) / len(own):+6.1f} % on average, "
            f"{min(own):+6.1f} to {max(own):+6.1f} %" for variant, own in variants.items()]


def describe(rows, every):
    """Lines: each row where `every` is set, then mean, worst and ranks."""
    lines = []
    if every:
        lines += [f"{row.group}  {row.subject:<22} {row.variant:<24} {row.simulated:10.2f} "
                  f"{row.measured:10.2f} {100 * row.deviation:+7.1f} %" for row in rows]
    for group in dict.fromkeys(row.group for row in rows):
        own = [row for row in rows if row.group == group]
        lines.append(_summary(group, own))
        is_gemm = CHAPTER_PROGRAMS[group] == _GEMM
        if is_gemm:
            lines.append(_summary("  shapes that fill the chip", [row for row in own if row.fills_chip]))
            for name, is_swapped in (("  operands not swapped", False), ("  operands swapped", True)):
                part = [row for row in own if (SWAPPED in row.variant) == is_swapped]
                if part:
                    lines.append(_summary(name, part))
        subjects = defaultdict(list)
        for row in own:
            subjects[row.subject].append(row)
        taus = [tau for variants in subjects.values()
                if (tau := kendall_tau([(row.measured, row.simulated) for row in variants])) is not None]
        if taus:
            mean = sum(taus) / len(taus)
            lines.append(f"  ranking of variants: Kendall's tau {mean:.2f} on average, {min(taus):.2f} "
                         f"at least ({len(taus)} subjects)")
        if is_gemm:
            among = sum(min(variants, key=lambda row: row.measured) in
                        sorted(variants, key=lambda row: row.simulated)[:2]
                        for variants in subjects.values())
            lines.append(f"  the GPU's fastest is among the simulator's best two on {among} of "
                         f"{len(subjects)} shapes")
            losses = [100 * loss_of_choice(variants) for variants in subjects.values()]
            lines.append("  the simulator's fastest takes longer on the GPU than the GPU's fastest: "
                         f"{sum(losses) / len(losses):.1f} % on average, {max(losses):.1f} % at most")
            lines += _by_variant(own)
    return lines


def do_validate(root, console, tools, options):
    """`./workbook bench timing --validate [-- GROUP|TEXT ...]`; `tools` for programs that are built."""
    groups = [name for name in options if name in GROUPS] or list(DEFAULT_GROUPS)
    rest = [name for name in options if name not in GROUPS]
    every = "--rows" in rest
    texts = [name for name in rest if name != "--rows"]
    if len(texts) > 1 or any(text.startswith("-") for text in texts):
        raise WorkbookError("`bench timing --validate --` takes groups (" + ", ".join(GROUPS) + "), "
                            "--rows, and one text that rows must hold; " +
                            " ".join(rest) + " was given.")
    text = texts[0] if texts else None
    holding = [group for group in groups if recorded_rows(root, group, text)]
    if not holding:
        raise WorkbookError("No row of " + ", ".join(RECORDED.format(group) for group in groups) +
                            f" holds \"{text}\".")
    rows = []
    begin = time.monotonic()
    for group in holding:
        with console.step(f"Simulating {group}"):
            rows += simulate(root, group, tools, text)
    seconds = time.monotonic() - begin
    model = os.environ.get("BW_SIM_TIMING", "model")
    print(f"simulated as an H100 (BW_SIM_TIMING={model}), compared with one H100; no constant was "
          "fitted to these")
    print("\n".join(describe(rows, every)))
    print(f"{len(rows)} rows in {seconds:.0f} s")
    return 0
