"""`./workbook test --gpu`: runs everything natively on a Blackwell GPU, compares it with the
simulator, and writes one report to send back."""

import json
import os
import platform
import re
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import build, chapters, limited, machine, packages
from .errors import WorkbookError
from .process import capture

NEEDS = ("`./workbook test --gpu` needs an NVIDIA B200 or B300 (compute capability 10.0 or 10.3) with "
         f"a driver for CUDA 13 ({machine.MINIMUM_DRIVER} or newer)")
# A kernel that hangs on a GPU says nothing: its program is ended.
SECONDS = 300
CASE_SECONDS = 60
# The classes of tests/chapters/*/program_test.py that say something about a GPU.
GROUPS = {
    "01_mbarrier_pipeline": ("Shapes", "Bits"),
    "02_tmem_lifecycle": ("Shapes", "Descriptors"),
    "03_warp_contexts": ("Shapes", "Overlap"),
    "04_per_k_contexts": ("Shapes",),
    "05_blockwise_fp8_gemm": ("Shapes", "Positions", "Configurations"),
    "07_block_scaled_gemm": ("Shapes", "Positions", "Configurations"),
}
# What a program prints about the machine or the time: no two machines agree.
_DIFFERS = re.compile(r"^(machine|time|cycles|clock)\b|cycles|GHz|\bus\b|TFLOP|GB/s", re.I)
_FORMAT = 1
PASSED, FAILED, TIMED_OUT, NOT_RUN = "passed", "failed", "timed out", "not run"


@dataclass
class Item:
    """One thing that was run: natively, and where that says something, in the simulator."""

    kind: str  # program, tests, lab, contract, conformance
    name: str
    gpu: str = NOT_RUN
    simulator: str = NOT_RUN
    seconds: float = 0.0
    agrees: object = None  # True, False, or None where nothing was compared
    differences: list = field(default_factory=list)
    output: str = ""  # of what did not pass


def require_gpu(gpus):
    """The first GPU that everything runs on; an error says what is needed and what there is."""
    fitting = [gpu for gpu in gpus if gpu.capability in build.BLACKWELL]
    for gpu in fitting:
        if gpu.driver_is_new_enough:
            return gpu
    if fitting:
        found = f"the driver {fitting[0].driver} of {fitting[0].name} is older"
    elif gpus:
        found = f"this machine has {gpus[0].name}, compute capability {gpus[0].capability}"
    else:
        found = "no NVIDIA GPU with a working driver was found"
    raise WorkbookError(f"{NEEDS}; {found}. `./workbook test` tests what runs on this machine.")


def configuration(gpu):
    """The build that links every program with both runtimes."""
    both = build.Configuration("sim", build.SIM.purposes,
                               (("BW_GPU_PROGRAMS", "ON"), ("BW_TESTS", "ON")))
    return build.for_gpu(both, gpu)


class Measurement:
    """Runs the items; `run(command, seconds, env)` returns a limited.Ended."""

    def __init__(self, root, folder, python, run):
        self.root, self.bin, self.python, self.run = root, folder / "bin", python, run
        self.folder = folder

    def items(self, wanted):
        """The Items of chapters, one after the other; `wanted` is a Chapter or None for all."""
        for chapter in chapters.CHAPTERS:
            if chapter.name not in GROUPS or wanted not in (None, chapter):
                continue
            yield self.compared("program", chapter.name)
            yield from (self.tests(chapter.name, group) for group in GROUPS[chapter.name])
            prefix = f"lab_{chapter.number:02d}_"
            for path in sorted(self.bin.glob(f"{prefix}*_gpu")):
                yield self.compared("lab", path.name[:-len("_gpu")])
            yield from self.contract(f"contract_chapter{chapter.number:02d}")
        if wanted is None:
            yield self.conformance("conformance")
            yield self.conformance("conformance_blackwell")

    def compared(self, kind, name):
        """A program with its own options, natively and in the simulator; what it prints is compared."""
        item = Item(kind, name)
        native = self._native(item, [name + "_gpu"])
        if native is None:
            return item
        simulated = self._run([name], SECONDS)
        item.simulator = _word(simulated)
        item.differences = _differing_lines(native.output, simulated.output)
        item.agrees = item.gpu == item.simulator and not item.differences
        return item

    def tests(self, name, group):
        """A class of the program's tests, natively: they compare with references of their own."""
        item = Item("tests", f"{name}.{group}")
        script = self.root / "tests" / "chapters" / name / "program_test.py"
        program = self.bin / (name + "_gpu")
        if program.is_file():
            env = dict(os.environ, PYTHONPATH=str(self.root / "tests" / "chapters"))
            self._note(item, self.run([self.python, "-B", str(script), str(program), group], SECONDS,
                                      env))
        return item

    def contract(self, name):
        """Each case of a GoogleTest program by itself: one that hangs or traps leaves the others."""
        program = self.bin / (name + "_gpu")
        if not program.is_file():
            yield Item("contract", name)
            return
        for case in _cases(self._run([name + "_gpu", "--gtest_list_tests"], CASE_SECONDS).output):
            item = Item("contract", f"{name}.{case}")
            only = f"--gtest_filter={case}"
            self._note(item, self._run([name + "_gpu", only], CASE_SECONDS))
            simulated = self._run([name, only], CASE_SECONDS)
            item.simulator = _word(simulated)
            item.agrees = item.gpu == item.simulator
            yield item

    def conformance(self, name):
        """The results of single instructions, measured natively and compared by the simulator."""
        item = Item("conformance", name)
        results = self.folder / f"blackwell-{name}.txt"
        if self._native(item, [name + "_gpu", "--write", str(results)]) is None:
            return item
        if item.gpu == PASSED:
            compared = self._run([name, "--compare", str(results)], SECONDS)
            item.simulator = _word(compared)
            item.agrees = compared.status == 0
            item.differences = [] if item.agrees else compared.text.splitlines()[-40:]
        return item

    def _native(self, item, command):
        """The run of a program on the GPU, noted in the item; None where it is not built."""
        if not (self.bin / command[0]).is_file():
            return None
        ended = self._run(command, SECONDS)
        self._note(item, ended)
        return ended

    def _run(self, command, seconds):
        return self.run([str(self.bin / command[0]), *command[1:]], seconds, None)

    @staticmethod
    def _note(item, ended):
        item.gpu, item.seconds = _word(ended), round(ended.seconds, 3)
        if item.gpu != PASSED:
            item.output = ended.text[-4000:]


def _word(ended):
    if ended.timed_out:
        return TIMED_OUT
    return PASSED if ended.status == 0 else FAILED


def _cases(listing):
    """The names of `--gtest_list_tests`."""
    suite, names = "", []
    for line in listing.splitlines():
        if re.match(r"\S+\.(\s|$)", line):
            suite = line.split()[0]
        elif line.startswith("  ") and suite:
            names.append(suite + line.split()[0])
    return names


def _differing_lines(native, simulated):
    """Lines that only one of two outputs has, apart from those about machine and time."""
    first, second = ([line.rstrip() for line in text.splitlines() if not _DIFFERS.search(line)]
                     for text in (native, simulated))
    if first == second:
        return []
    return ([f"gpu:       {line}" for line in first if line not in second]
            + [f"simulator: {line}" for line in second if line not in first])[:20]


def describe_build(root, tools):
    """What was built, of what."""
    _, commit = capture(["git", "-C", str(root), "rev-parse", "HEAD"])
    changed, _ = capture(["git", "-C", str(root), "diff", "--quiet", "HEAD"])
    return {"commit": commit.strip(), "changed": changed != 0, "toolkit": tools.toolkit.release,
            "compiler": str(packages.gxx_version()), "python": platform.python_version()}


def describe_machine(gpu):
    return {"gpu": gpu.name, "capability": gpu.capability, "driver": gpu.driver,
            "processor": machine.processor_name(), "system": machine.distribution_name()}


def summary(items):
    """{word: number of items} of the native runs, and how many disagree with the simulator."""
    counts = {word: sum(item.gpu == word for item in items)
              for word in (PASSED, FAILED, TIMED_OUT, NOT_RUN)}
    counts["differ from the simulator"] = sum(item.agrees is False for item in items)
    return counts


def write(folder, facts, items):
    """Writes the report for programs and for people; returns the two paths."""
    report = dict(facts, format=_FORMAT, written=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                  summary=summary(items), items=[asdict(item) for item in items])
    paths = folder / "blackwell-report.json", folder / "blackwell-report.txt"
    paths[0].write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    paths[1].write_text(text_of(facts, items), encoding="utf-8")
    return paths


def text_of(facts, items):
    """The report as a table, and below it what did not pass or differs."""
    lines = [f"{name:<12}{value}" for part in facts.values() for name, value in part.items()]
    lines += ["", *(f"{number:>5} {word}" for word, number in summary(items).items()), "",
              f"{'kind':<12}{'gpu':<11}{'simulator':<11}{'compared':<11}name"]
    for item in items:
        compared = {True: "same", False: "different", None: "-"}[item.agrees]
        lines.append(f"{item.kind:<12}{item.gpu:<11}{item.simulator:<11}{compared:<11}{item.name}")
    for item in items:
        if item.differences or item.output:
            lines += ["", f"--- {item.kind} {item.name}", *item.differences, item.output.rstrip()]
    return "\n".join(lines) + "\n"


def run_limited(command, seconds, env):
    return limited.run(command, seconds, env=env)


def measure(root, console, gpu, tools, folder, wanted, run=run_limited):
    """Runs everything and writes the report; returns the command's exit status."""
    measurement = Measurement(Path(root), folder, sys.executable, run)
    items = []
    for item in measurement.items(wanted):
        items.append(item)
        compared = {True: "", False: ", differs from the simulator", None: ""}[item.agrees]
        console.say(f"{item.gpu:<10} {item.kind} {item.name}{compared}")
    facts = {"workbook": describe_build(root, tools), "machine": describe_machine(gpu)}
    paths = write(folder, facts, items)
    counts = summary(items)
    console.say("")
    console.say(", ".join(f"{number} {word}" for word, number in counts.items()))
    console.say(f"The report is in {paths[0]} (for programs) and {paths[1]} (to read). Please send "
                "both, and the files blackwell-conformance*.txt next to them: this project has no "
                "such GPU.")
    bad = counts[FAILED] + counts[TIMED_OUT] + counts["differ from the simulator"]
    return 1 if bad or not counts[PASSED] else 0
