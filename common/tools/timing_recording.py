"""Measures on a Hopper GPU what the simulator's times are held against (timing_validation): the same
programs with the same options."""

import csv
import time
from pathlib import Path

from . import build, timing_validation
from .errors import WorkbookError

# Of chapter 1's program, in a measurement; simulated ones do not differ from run to run.
CHAPTER01_RUNS = 50
PROGRAMS = {group: f"{name}_gpu" for group, name in timing_validation.CHAPTER_PROGRAMS.items()}


def measure(group, rows, program, environment, done):
    """What was measured for each of `rows`, as it comes; done(count) after each."""
    cycles = {}
    for count, row in enumerate(rows, 1):
        if group == "chapter01":
            key = row["produce"], row["rows"], row["columns"]
            if key not in cycles:
                cycles[key] = timing_validation.chapter01_cycles(program, *key, runs=CHAPTER01_RUNS,
                                                                 environment=environment)
            yield {**dict(zip(("produce", "rows", "columns"), key)), "stages": row["stages"],
                   "cycles": f"{cycles[key][row['stages']]:.0f}"}
        else:
            microseconds = timing_validation.chapter06_microseconds(program, row, environment)
            yield {**{name: row[name] for name in (*timing_validation.SHAPE, "config")},
                   "warm_us": f"{microseconds:.2f}"}
        done(count)


def by_shape(lines, configurations):
    """A line for each shape of chapter 6, with a column for each configuration. What an error leaves
    of the last shape comes before the error."""
    row = {}
    try:
        for line in lines:
            shape = {name: line[name] for name in timing_validation.SHAPE}
            if row and not shape.items() <= row.items():
                yield row
                row = {}
            row = row or {**shape, **dict.fromkeys(configurations, "")}
            row[line["config"]] = line["warm_us"]
    except BaseException:
        if row:
            yield row
        raise
    if row:
        yield row


def file_for(group, folder):
    """Where a group's rows are to be written. Nothing that is there is written over."""
    path = Path(folder) / Path(timing_validation.RECORDED.format(group)).name
    if path.exists():
        raise WorkbookError(f"{path} is there already. Give a folder without it, or remove it.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkbookError(f"{path.parent} can't be made: {error.strerror}.") from error
    return path


def write(path, title, lines):
    """A recorded file; what was measured before an error or Ctrl-C stays in it."""
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(f"# {title}\n")
            writer = None
            for line in lines:
                if writer is None:
                    writer = csv.DictWriter(file, list(line), lineterminator="\n")
                    writer.writeheader()
                writer.writerow(line)
                file.flush()
    except OSError as error:
        raise WorkbookError(f"{path} can't be written: {error.strerror}.") from error


def do_record(root, console, tools, gpu, folder):
    """`./workbook bench timing --record FOLDER`; `tools` for programs that are built."""
    paths = {group: file_for(group, folder) for group in PROGRAMS}
    for group, path in paths.items():
        rows = timing_validation.recorded_rows(root, group)
        program = build.program(root, build.GPU, PROGRAMS[group])
        title = f"{gpu.name}, driver {gpu.driver}, {time.strftime('%Y-%m-%d')}; {program.name}"
        with console.step(f"Measuring {group}") as step:
            lines = measure(group, rows, program, tools.env,
                            lambda count: step.detail(f"{count} of {len(rows)}"))
            if group != "chapter01":
                lines = by_shape(lines, dict.fromkeys(row["config"] for row in rows))
            write(path, title, lines)
        print(path)
    return 0
