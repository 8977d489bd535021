"""The simulator's current output, down to the last number, compared with the last reviewed output:

    kept_test.py times BIN      the numbers of the timing benches, with constant times and the model
    kept_test.py events BIN     what the chapters' programs do: events, by kind and instruction
    kept_test.py forms BIN      what each instruction form does to random values, its times
    kept_test.py reports BIN    whom the catalogue of faults accuses: codes, threads, figures
    kept_test.py orders BIN     what other orders of the catalogue's kernels' synchronisation lead to
    kept_test.py units BIN      what the unit tests' kernels do beyond what these tests ask: a count and
                                a hash of their events, reports and memory, and of the races found
    kept_test.py model BIN      the times of programs and unit tests with the timing model
    kept_test.py --write BIN [SUBJECT]...   writes them again

BIN is the folder of the built programs. Being listed here makes none of these numbers right: other
tests compare with hardware, with float64 and with the PTX ISA. These find unintended changes.
"""

import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.insert(0, str(ROOT / "tests" / "workbook"))
import support  # noqa: E402  (finds common/)
from tools import faults  # noqa: E402

SECONDS = float(os.environ.get("BW_KEPT_SECONDS", "100"))  # that a program may take
MOST_SHOWN = 60
WORKERS = 2
# Programs with their names in the kept lines, their groups and settings.
BENCHES = {
    "timing_slow_tests": (
        "timing_bench",
        "latency,issue,shared_memory,barrier,tma_latency,tma_throughput,wgmma,memory,launch",
        {"BW_SIM_MACHINE": "h100"}),
    "blackwell_timing_bench": (
        "blackwell_timing_bench", "latency,barrier,mbarrier,tma_latency,wide_tma_loads,tensor_core", {}),
}
# Programs with options that make them quick.
PROGRAMS = {
    "01_mbarrier_pipeline": ("--rows", "128"),
    "02_tmem_lifecycle": ("--cta-group", "2"),
    "03_warp_contexts": ("--m", "256", "--n", "128", "--k", "512"),
    "04_per_k_contexts": ("--m", "128", "--n", "256", "--k", "512"),
    "05_blockwise_fp8_gemm": ("--m", "512", "--n", "512", "--k", "256", "--config",
                              "cta2_128x128_8x2"),
    "06_hopper_fp8_gemm": ("--m", "256", "--n", "256", "--k", "256", "--launches", "1"),
    "07_block_scaled_gemm": ("--m", "256", "--n", "512", "--k", "1024", "--format", "nvfp4", "--config",
                             "nvfp4_cta2_256x256_2x1_overlap", "--output", "mxfp8"),
    "lab_05_multicast": (), "lab_05_launch_control": (), "lab_05_dependent_launch": (),
    "lab_05_tma_store": (), "program_attention": (), "program_histogram": (),
    "program_cooperative_reduction": (), "program_stream_k": (),
}
# Thousands of kernels of one arithmetic instruction, whose every result these tests know.
ARITHMETIC = "--gtest_filter=-*Conversion.*:Float*.*:Half.*:Comparison.*"
# Tests that leave addresses in memory, which the machine chooses.
_ADDRESSES = re.compile(r"^((?:TensorMap\w+|DeviceCalls|LaunchTimeOnThreads)\..*) memory \d+ \w+")
# Those that run kernels, the longest first.
UNIT_TESTS = tuple(f"simulator_{layer}_test"
                   for layer in ("units", "diagnosis", "machine", "trace", "ptx"))
MOST_STATES = "3000"
# One run of these is enough: they have many events.
LONG = ("lab_05_launch_control", "lab_05_dependent_launch")
SEED = "3"
SEEDS_OF_RACES = ("0", "1")
# Of an event: who, where in a source or in memory, and running numbers, of which a summary says nothing.
NO_AMOUNTS = {"number", "line", "launch", "seed", "parity", "done", "try", "waits", "cluster", "cta",
              "id", "group", "address", "object"}
MOST_VALUES = 4  # of one amount that a summary lists one by one
_PLACE = re.compile(r"[\w.]+\.(?:cuh|cu|hpp|h):\d+")
# What depends on costs is kept with the times.
# Addresses of host memory are the machine's.
_TIME = re.compile(r"0x[0-9a-f]{9,}|cycle \d+|\d+ cycles|event [\d.]+|BW_SIM_UNTIL_EVENT=[\d.]+")
_SOURCE = re.compile(r"^ +(?:\d+ \| |\| +\^).*$", re.M)
_NUMBER = re.compile(r"(?<![\w.])(?:0x[0-9a-f]+|\d+(?:\.\d+)?)(?![\w])")


class Failure(Exception):
    """A program did not end as it should."""


def run(program, options, **settings):
    env = {name: value for name, value in os.environ.items() if not name.startswith("BW_SIM_")}
    env.update({"BW_SIM_TIMING": "simple", "BW_SIM_THREADS": "1", **settings})
    return subprocess.run([str(program), *options], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, timeout=SECONDS,
                          check=False)


def run_well(program, options, **settings):
    ended = run(program, options, **settings)
    if ended.returncode != 0:
        raise Failure(f"{program.name} ends with status {ended.returncode}:\n{ended.stdout[-3000:]}")


def in_turn(function, arguments):
    with ThreadPoolExecutor(WORKERS) as pool:
        return [line for lines in pool.map(lambda one: function(*one), arguments) for line in lines]


# ---- times ---------------------------------------------------------------------------------------

def times_of(bench, timing):
    """(what is timed, timing, cycles) of a bench's numbers."""
    name, groups, settings = BENCHES[bench.name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "times.csv"
        run_well(bench, ("--groups", groups, "--write", str(path)), BW_SIM_TIMING=timing,
                 BW_SIM_STRICTNESS="hardware", **settings)
        rows = path.read_text(encoding="utf-8").splitlines()[3:]
    return [(f"{name} {timed}", timing, value)
            for timed, _, value in (row.rpartition(",") for row in rows)]


def times(programs):
    found = defaultdict(list)
    for timed, timing, value in in_turn(times_of, [(programs / name, timing) for timing in
                                                   ("simple", "model") for name in BENCHES]):
        found[timed].append(f"{value} {timing}")
    return [f"{timed}: {', '.join(values)}" for timed, values in found.items()]


# ---- events --------------------------------------------------------------------------------------

def read_events(program, **settings):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events"
        run_well(program, PROGRAMS[program.name], BW_SIM_EVENTS=str(path), **settings)
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def amounts(event):
    """(name, number) of what an event has."""
    for name, value in event.items():
        if name in NO_AMOUNTS:
            continue
        values = value if isinstance(value, list) else [value]
        for one in values:
            if isinstance(one, dict):
                yield from ((f"{name}.{inner}", number) for inner, number in amounts(one))
            elif isinstance(one, (int, float)) and not isinstance(one, bool):
                yield name, one


def spread(name, values):
    """The values of one amount: how often each occurs, or where many differ, their range and mean."""
    counts = Counter(f"{value:#x}" if name == "lanes" else value for value in values)
    if len(counts) <= MOST_VALUES and name != "cycle":
        return f"{name} " + " and ".join(
            f"{value}" + (f" ({count} times)" if len(counts) > 1 else "")
            for value, count in sorted(counts.items()))
    return f"{name} {min(values)} to {max(values)}, mean {sum(values) / len(values):.4f}"


def summary(events):
    """A line for each kind of event and instruction: how many, when, and what its amounts are."""
    kinds, counts = defaultdict(lambda: defaultdict(list)), Counter()
    for event in events:
        kind = " ".join(str(event[name]) for name in ("event", "opcode", "kind", "why") if name in event)
        kind += "".join(f" {name}" for name in ("done", "waits", "try") if event.get(name))
        counts[kind] += 1
        for name, number in amounts(event):
            kinds[kind][name].append(number)
    for kind in sorted(counts):
        parts = "; ".join(spread(name, values) for name, values in sorted(kinds[kind].items()))
        yield f"{kind}: {counts[kind]} times; {parts}"


def total(events):
    """A line for each kind of event: how many, and the mean of their cycles."""
    cycles = defaultdict(list)
    for event in events:
        cycles[event["event"]].append(event.get("cycle", 0))
    return ", ".join(f"{len(found)} {kind} at cycle {sum(found) / len(found):.4f} on average"
                     for kind, found in sorted(cycles.items()))


def events_of(program):
    name = program.name
    lines = [f"{name} {line}" for line in summary(read_events(program))]
    for seed in SEEDS_OF_RACES:  # right programs, in which nothing is found
        run_well(program, PROGRAMS[name], BW_SIM_CHECKS="races", BW_SIM_SEED=seed)
    if name not in LONG:
        lines.append(f"{name}, seed {SEED}: {total(read_events(program, BW_SIM_SEED=SEED))}")
    return lines


def events(programs):
    return in_turn(events_of, [(programs / name,) for name in PROGRAMS])


# ---- forms ---------------------------------------------------------------------------------------

def forms(programs):
    ended = run(programs / "instruction_outcomes", ())
    if ended.returncode != 0:
        raise Failure(f"instruction_outcomes ends with status {ended.returncode}:\n"
                      f"{ended.stdout[-3000:]}")
    return ended.stdout.splitlines()


# ---- unit tests ----------------------------------------------------------------------------------

def outcomes_of(program, settings, label=""):
    """(test, what its kernels did) of a program's unit tests."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outcomes"
        # With another level of checks tests may fail; what their kernels do is written all the same.
        run(program, ("--gtest_brief=1", ARITHMETIC), BW_TEST_OUTCOMES=str(path), **settings)
        if not path.is_file():
            raise Failure(f"{program.name} has not come to its end, {label}")
        lines = path.read_text(encoding="utf-8").splitlines()
    return [(f"{program.name} {test}", label + outcome)
            for test, _, outcome in (_ADDRESSES.sub(r"\1", line).partition(": ") for line in lines)]


def units(programs):
    """A line for each test: what its kernels did, then what they do at the level `races`."""
    passes = (({}, ""), ({"BW_TEST_CHECKS": "races"}, "races: "))
    found = defaultdict(list)
    for test, outcome in in_turn(outcomes_of, [(programs / name, *one) for one in passes
                                               for name in UNIT_TESTS]):
        found[test].append(outcome)
    return [f"{test}: {'; '.join(outcomes)}" for test, outcomes in found.items()]


# ---- the timing model ----------------------------------------------------------------------------

def totals_of(program):
    return [f"{program.name}: {total(read_events(program, BW_SIM_TIMING='model'))}"]


def model(programs):
    events_lines = in_turn(totals_of, [(programs / name,) for name in PROGRAMS if name not in LONG])
    kernels = in_turn(outcomes_of, [(programs / name, {"BW_TEST_TIMING": "model"})
                                    for name in UNIT_TESTS])
    return events_lines + [f"{test}: {outcome}" for test, outcome in kernels]


# ---- reports -------------------------------------------------------------------------------------

def figures(report):
    """The numbers of a report's text, but lines of sources and what costs decide."""
    text = _SOURCE.sub("", _PLACE.sub("", report["text"]))
    return " ".join(_NUMBER.findall(_TIME.sub("", text)))


def place_line(place):
    shown = [f"{name} {place[name]}" for name in ("function", "opcode", "cta", "rank", "warp")
             if name in place]
    lanes = f", lanes {place['lanes']:#x}" if "lanes" in place else ""
    role = place["role"] or "at"
    return f"  {role}: {Path(place['file']).name}, {', '.join(shown)}{lanes}"


def run_reported(program, options, **settings):
    """(what it printed, its reports)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        ended = run(program, options, BW_SIM_REPORT=str(path), BW_SIM_CYCLE_LIMIT="5000000",
                    BW_SIM_LIVELOCK_CYCLES="500000", BW_SIM_MEMORY_GB="2", **settings)
        return ended.stdout, json.loads(path.read_text(encoding="utf-8"))


def run_case(case, programs, **settings):
    return run_reported(programs / case.program, case.options, **dict(case.settings), **settings)


def report_lines(name, written):
    lines = []
    for report in written["errors"] + written["warnings"]:
        accepts = ", hardware accepts" if report["hardware_accepts"] else ""
        lines.append(f"{name}: {report['code']} {report['severity']}, {report['count']} times"
                     f"{accepts}; {len(report['details'])} details")
        lines += [place_line(place) for place in report["places"]]
        lines.append(f"  figures {figures(report)}")
    return lines


def reports_of(case, programs):
    seed = str(case.seeds[0] if case.seeds else 0)
    return report_lines(case.name,
                        run_case(case, programs, BW_SIM_CHECKS=case.level, BW_SIM_SEED=seed)[1])


def global_reports_of(program, name, setting):
    settings = dict([setting.split("=")]) if setting else {}
    return report_lines(name, run_reported(program, (name,), BW_SIM_CHECKS="races", **settings)[1])


def small_kernels():
    support.skip_without_toml()
    return [case for case in faults.load_all(ROOT) if not case.chapter]


def reports(programs):
    wrong = [(case, programs) for case in small_kernels() if not case.is_right]
    program = programs / "global_races"
    listed = [line.split(" ", 1) for line in run(program, ()).stdout.splitlines()]
    return in_turn(reports_of, wrong) + in_turn(
        global_reports_of, [(program, name, setting) for name, setting in listed])


def orders_of(case, programs):
    printed, written = run_case(case, programs, BW_SIM_EXPLORE=MOST_STATES, BW_SIM_CHECKS="contract")
    lines = [f"{case.name}: {_TIME.sub('', line)}" for line in printed.splitlines()
             if ": exploration: " in line]
    return lines + report_lines(case.name, written)


def orders(programs):
    return in_turn(orders_of, [(case, programs) for case in small_kernels()])


# --------------------------------------------------------------------------------------------------

SUBJECTS = {"times": times, "events": events, "forms": forms, "reports": reports, "orders": orders,
            "units": units, "model": model}


def main(arguments):
    try:
        if arguments[0] == "--write":
            for subject in arguments[2:] or SUBJECTS:
                lines = SUBJECTS[subject](Path(arguments[1]))
                (FOLDER / f"{subject}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
            return 0
        subject, programs = arguments
        lines = SUBJECTS[subject](Path(programs))
    except (Failure, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return 1
    kept = (FOLDER / f"{subject}.txt").read_text(encoding="utf-8").splitlines()
    differs = [line for line in difflib.unified_diff(kept, lines, "kept", "now", n=0, lineterm="")
               if not line.startswith("@@")]
    if not differs:
        print(f"{len(kept)} lines are as they were")
        return 0
    print("\n".join(differs[:MOST_SHOWN]))
    print(f"{len(differs)} lines differ. If that was meant, python3 {Path(__file__).resolve()} --write "
          f"{programs} keeps what is said now.")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
