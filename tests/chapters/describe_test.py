"""What --describe prints, next to what a run of the same configuration does:

    describe_test.py <program> <nvcc> [<options of one configuration>]...

A configuration's options may be followed by `|` and further ones of the run. The run's event log has the
counts with which mbarriers are initialised, the bytes that are expected on them, the columns of tensor
memory and the shared memory of the launch; the PTX has the threads and the registers that setmaxnreg
moves; ptxas says how many registers a thread is launched with. Of a cluster, the CTA of rank 0 is read.
"""

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from compiled_code import machine_code, ptx_modules  # noqa: E402

SECONDS = 300
MBARRIER_BYTES = 8
RING = re.compile(r"^  (?P<name>\S.*?) +(?:(?P<rings>\d+) x )?(?P<stages>\d+) +(?P<full>\d+) +"
                  r"(?P<bytes>\d+|-) +(?P<empty>\d+|-)$")
PART = re.compile(r"^  (\S.*?) +(\d+)$")


class Description:
    """The lines of --describe, read back."""

    def __init__(self, text):
        self.text = text
        head, rings, parts = re.fullmatch(r"(.*?)mbarriers +stages.*?\n(.*?)shared memory +bytes\n(.*)",
                                          text, re.S).groups()
        self.config = re.search(r"^config +(.*)$", head, re.M).group(1)
        self.threads = int(re.search(r"^threads +(\d+),", head, re.M).group(1))
        self.warps = sum(map(int, re.findall(r" (\d+)(?=,|$)",
                                             re.search(r"in warps:(.*)$", head, re.M).group(1))))
        self.cluster = tuple(map(int, re.search(r"^cluster +(\d+) x (\d+)", head, re.M).groups()))
        registers = re.search(r"^registers at most (\d+) a thread at launch(.*)$", head, re.M)
        self.launch_registers = int(registers.group(1))
        self.moved = set(map(int, re.findall(r" (\d+)(?=,|$)", registers.group(2))))
        tmem = re.search(r"^tmem +(\d+) columns, accumulators: (\d+) of (\d+) columns$", head, re.M)
        self.columns, self.accumulators, self.accumulator_columns = (
            map(int, tmem.groups()) if tmem else (0, 0, 0))
        self.rings = [RING.match(line) for line in rings.splitlines()]
        assert all(self.rings), rings
        self.parts = {name: int(bytes_) for name, bytes_ in map(lambda line: PART.match(line).groups(),
                                                                parts.splitlines())}

    def counts(self):
        """{arrivals: mbarriers} of a CTA."""
        found = Counter()
        for ring in self.rings:
            number = int(ring["rings"] or 1) * int(ring["stages"])
            found[int(ring["full"])] += number
            if ring["empty"] != "-":
                found[int(ring["empty"])] += number
        return found

    def bytes(self):
        """The bytes that complete phases of full barriers."""
        return {int(ring["bytes"]) for ring in self.rings if ring["bytes"] != "-"}


def described(program, options):
    result = subprocess.run([program, *options, "--describe"], stdout=subprocess.PIPE, check=False,
                            stderr=subprocess.STDOUT, universal_newlines=True, timeout=SECONDS)
    assert result.returncode == 0, result.stdout
    return Description(result.stdout)


def first_launch(program, options):
    """What a run printed, and the events of its first launch."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events"
        kinds = "mbarrier_init,mbarrier_expect_tx,tmem_alloc,cta_start"
        result = subprocess.run([program, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                check=False, universal_newlines=True, timeout=SECONDS,
                                env={**os.environ, "BW_SIM_EVENTS": str(path),
                                     "BW_SIM_EVENT_KINDS": kinds, "BW_SIM_TIMING": "simple"})
        assert result.returncode == 0 and "verified (" in result.stdout, result.stdout
        lines = path.read_text(encoding="utf-8").splitlines()
    events = list(map(json.loads, lines))
    begins = [index for index, event in enumerate(events) if event["event"] == "launch"]
    return result.stdout, events[begins[0]:(begins + [len(events)])[1]]


def same(what, told, seen, description):
    assert told == seen, f"{what}: described {told}, but the run has {seen}\n{description.text}"


def check_run(program, options, more):
    """Compares a description with the first launch of a run; returns the description. Read are the
    events of the first cluster's CTA of rank 0, and of whichever CTA expects bytes on its mbarriers."""
    description = described(program, options)
    printed, events = first_launch(program, [*options, *more])
    if "config " in printed:
        same("config", description.config, re.search(r"^config +(.*)$", printed, re.M).group(1),
             description)
    launch, cluster = events[0], [event for event in events if event.get("cluster") == 0]
    cta = [event for event in cluster if event["rank"] == 0]
    threads = cta[0]["threads"]
    same("threads", description.threads, threads, description)
    same("threads of the warps", description.warps * 32, threads, description)
    same("CTAs of a cluster", description.cluster[0] * description.cluster[1],
         len({event["rank"] for event in cluster}), description)
    same("shared memory of the launch", description.parts["of the launch"],
         launch["dynamic_shared_bytes"], description)
    inits = [event for event in cta if event["event"] == "mbarrier_init"]
    same("arrivals", description.counts(), Counter(event["count"] for event in inits), description)
    same("bytes of mbarriers", description.parts["mbarriers"],
         MBARRIER_BYTES * len({event["barrier_offset"] for event in inits}), description)
    expected = defaultdict(int)
    for event in cluster:
        if event["event"] == "mbarrier_expect_tx" and event["barrier_rank"] == 0:
            expected[event["barrier_offset"], event["phase"]] += event["bytes"]
    same("bytes that fill a stage", description.bytes(), set(expected.values()), description)
    columns = {event["columns"] for event in cta if event["event"] == "tmem_alloc"}
    same("columns", {description.columns} - {0}, columns, description)
    assert description.accumulators * description.accumulator_columns <= description.columns
    parts = sum(bytes_ for name, bytes_ in description.parts.items()
                if name not in ("together", "of the launch"))
    same("parts of the shared memory", description.parts["together"], parts, description)
    assert description.parts["together"] <= description.parts["of the launch"]
    print(f"{description.config}: as described")
    return description


def kernels_of(text):
    """{name: (threads, registers that setmaxnreg names, registers that its bounds allow)} of a PTX
    module's kernels."""
    found = {}
    for name, body in re.findall(r"\.entry (\w+)(.*?)(?=\.entry|\Z)", text, re.S):
        threads = re.search(r"\.maxntid (\d+)", body)
        moved = re.findall(r"setmaxnreg\.\w+\.sync\.aligned\.u32 (\d+)", body)
        ctas = re.search(r"\.minnctapersm (\d+)", body)
        if threads:
            of_sm = int(threads.group(1)) * int(ctas.group(1) if ctas else 1)
            found[name] = (int(threads.group(1)), set(map(int, moved)),
                           min(255, 65536 // of_sm // 8 * 8))
    return found


@functools.lru_cache(maxsize=None)
def registers_of(nvcc, architecture, text):
    """{name: registers of a thread at launch} of a PTX module's kernels, by ptxas."""
    report = machine_code(nvcc, architecture, text, disassembles=False)[0]
    return dict(re.findall(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", report, re.S))


def check_registers(program, nvcc, description):
    """Compares threads and registers with a compiled kernel that has these threads."""
    wanted = (description.threads, description.moved, description.launch_registers)
    for architecture, texts in ptx_modules(program).items():
        for text in texts:
            names = [name for name, kernel in kernels_of(text).items() if kernel == wanted]
            if not names:
                continue
            used = registers_of(nvcc, architecture, text)
            registers = {int(used[name]) for name in names}
            assert max(registers) <= description.launch_registers, (registers, description.text)
            if description.moved:  # then ptxas takes for the launch whatever it may
                same("registers at launch", {description.launch_registers}, registers, description)
            return
    raise AssertionError(f"no kernel has the threads and registers {wanted}\n{description.text}")


def main():
    program, nvcc = Path(sys.argv[1]), Path(sys.argv[2])
    for words in sys.argv[3:]:
        options, _, more = words.partition("|")
        check_registers(program, nvcc, check_run(program, options.split(), more.split()))


if __name__ == "__main__":
    main()
