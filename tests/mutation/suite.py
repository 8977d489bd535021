"""Which tests of the suite run on a mutant, and how: the unit tests of the layers that can see the
source, then quick tests of CTest's list. Their commands are CTest's, with programs that hold the mutant
in place of the built ones."""

import concurrent.futures
import json
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

# Arrows between layers go down, so a source is seen by its own layer's unit tests and by those of the
# layers above; tests of `machine` run kernels and with them the units.
UNIT_TESTS = {
    "base": ("base", "ptx", "schedule", "machine", "units", "diagnosis", "trace"),
    "ptx": ("ptx", "schedule", "machine", "units", "diagnosis", "trace"),
    "schedule": ("schedule", "machine", "units", "diagnosis", "trace"),
    "machine": ("machine", "units", "diagnosis", "trace"),
    "units": ("units", "machine", "diagnosis", "trace"),
    "diagnosis": ("diagnosis", "units", "machine"),
    "trace": ("trace",),
}
# Numbers that kernels compute, most of them compared with what hardware gave or with float64.
NUMBERS = ("hardware_conformance", "hardware_conformance_hopper", "hardware_expectations_blackwell",
           "simulator_tensor_core.forms", "simulator_tensor_core.block_scaled_gemm",
           "06_hopper_fp8_gemm.MeasuredBits", "simulator.programs.attention",
           "simulator.programs.cooperative_reduction", "simulator.programs.debug_build",
           "simulator.programs.stream_k", "simulator.programs.histogram", "01_mbarrier_pipeline.Bits")
# Faults and their reports; right programs that stay silent.
REPORTS = ("simulator.codes", "simulator.kept_reports", "simulator.faults.kernels",
           "simulator.global_races", "fuzz.pipeline", "fuzz.machine")
# What every instruction form does, and what the unit tests' kernels do beyond what these ask.
FORMS = {"ptx", "schedule", "machine", "units"}
KERNELS = "simulator.kept_units"
# When things happen, and which.
EVENTS = ("simulator.kept_times", "simulator.kept_model", "simulator.kept_events",
          "hardware_timing.PublishedLawsOfB200")
CTEST = {
    "base": REPORTS + ("simulator.reports", KERNELS),
    "ptx": ("fuzz.lexer", "fuzz.parser", "hardware_conformance", "simulator.programs.debug_build")
    + EVENTS + REPORTS + (KERNELS,),
    "schedule": EVENTS + NUMBERS + REPORTS + (KERNELS,),
    "machine": EVENTS + NUMBERS + REPORTS + (KERNELS,),
    "units": EVENTS + NUMBERS + REPORTS + (KERNELS,),
    "diagnosis": REPORTS
    + (KERNELS, "simulator.kept_orders", "simulator.reports", "chapter_exploration"),
    "trace": (KERNELS, "simulator.kept_events", "timeline.model", "simulator.reports"),
}
# Programs of tests whose command names the folder that holds them.
CHAPTERS = tuple(chapter["name"] for chapter in json.loads(
    (Path(__file__).resolve().parents[2] / "common/chapters.json").read_text(encoding="utf-8")))
LABS = ("lab_05_multicast", "lab_05_launch_control", "lab_05_dependent_launch", "lab_05_tma_store",
        "program_attention", "program_histogram", "program_cooperative_reduction", "program_stream_k")
# Unit tests that run kernels.
KERNEL_TESTS = tuple(f"simulator_{layer}_test"
                     for layer in ("ptx", "machine", "units", "diagnosis", "trace"))
FAULTS = ("simulator_faults", "simulator_faults_hopper")
IN_FOLDER = {
    "simulator.faults.kernels": FAULTS,
    "simulator.kept_reports": FAULTS + ("global_races",),
    "simulator.kept_orders": FAULTS,
    "simulator.kept_forms": ("instruction_outcomes",),
    "simulator.kept_times": ("timing_tests", "blackwell_timing_bench"),
    "simulator.kept_events": CHAPTERS + LABS,
    "simulator.kept_model": CHAPTERS + LABS + ("instruction_outcomes",) + KERNEL_TESTS,
    KERNELS: KERNEL_TESTS,
    "chapter_exploration": ("01_mbarrier_pipeline", "04_per_k_contexts", "05_blockwise_fp8_gemm"),
    "timeline.model": CHAPTERS + ("bound_by",),
}
_SLOW = " (slow ones)"  # the unit tests of a program that come last
SLOW_UNIT_TEST_MS = 100
LINK_SECONDS = 0.3
LEAST_SECONDS = 8.0  # a test may take, and
TIME_FACTOR = 4.0    # limit, as a multiple of the time without a change
MOST_SECONDS = 600.0  # without a change


@dataclass(frozen=True)
class Ended:
    """How a test's command ended: `how` is "", "failed", "crashed" or "hung"."""

    how: str
    output: str


@dataclass
class Test:
    name: str
    command: list
    environment: dict
    folder: Path
    passes: list      # one of these patterns says that it has passed, whatever its status
    programs: tuple   # that it runs
    seconds: float = 0.0
    left_out: tuple = ()  # unit tests that fail without a change, or run apart
    only: tuple = ()      # unit tests that run

    @property
    def is_unit_test(self):
        return self.name.startswith("simulator_") and "." not in self.name.split(_SLOW)[0]

    def run(self, built, folder, seconds, to_the_end=False):
        """Runs it, up to the first failure, with programs of `folder` in place of those of `built`."""
        command = [_elsewhere(word, built, folder) for word in self.command]
        if self.is_unit_test and not to_the_end:
            command += ["--gtest_fail_fast", "--gtest_brief=1"]
        if self.left_out or self.only:
            command.append("--gtest_filter=" + ":".join(self.only) + "-" + ":".join(self.left_out))
        status, output = run_command(command, {**os.environ, **self.environment}, self.folder, seconds)
        if status is None:
            return Ended("hung", f"it has not ended after {seconds:.0f} s")
        if self.passes:
            return Ended("" if any(re.search(one, output) for one in self.passes) else "failed", output)
        if status < 0 or status >= 128:
            return Ended("crashed", output)
        return Ended("failed" if status != 0 else "", output)


def _elsewhere(word, built, folder):
    """What a word of a command is, if the programs of `built` are in `folder`: both are called bin."""
    if word in (str(built), str(built.parent)):
        return str(folder if word == str(built) else folder.parent)
    return str(folder / Path(word).name) if os.path.dirname(word) == str(built) else word


def run_command(command, environment, folder, seconds):
    """(status, what was printed); status None: it ran too long, and all that it started was ended."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                          universal_newlines=True, cwd=folder, env=environment,
                          start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""
        return process.returncode, output


def what_failed(output):
    """The first failed test that the output names, or its last line."""
    failed = re.search(r"\[  FAILED  \] (\S+)", output)
    lines = output.strip().splitlines()
    return failed.group(1).rstrip(",") if failed else lines[-1][-200:] if lines else ""


class Suite:
    """The tests of a build folder, as far as their programs are built."""

    def __init__(self, folder, root, only=""):
        self.built, self.only = folder / "bin", only
        self.tests = {}
        for layer in UNIT_TESTS:
            name = f"simulator_{layer}_test"
            self._add(Test(name, [str(self.built / name)], {}, root, [], (name,)))
        listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=folder, check=True,
                                stdout=subprocess.PIPE, universal_newlines=True)
        wanted = {name for names in CTEST.values() for name in names} | {"simulator.kept_forms"}
        for entry in json.loads(listed.stdout)["tests"]:
            if entry["name"] not in wanted or "command" not in entry:
                continue
            properties = {one["name"]: one["value"] for one in entry["properties"]}
            programs = IN_FOLDER.get(entry["name"]) or tuple(
                Path(word).name for word in entry["command"]
                if os.path.dirname(word) == str(self.built))
            self._add(Test(entry["name"], entry["command"],
                           dict(one.split("=", 1) for one in properties.get("ENVIRONMENT", [])),
                           Path(properties["WORKING_DIRECTORY"]),
                           properties.get("PASS_REGULAR_EXPRESSION", []), programs))

    def _add(self, test):
        if self.only in test.name and \
                all((self.built / program).is_file() for program in test.programs):
            self.tests[test.name] = test

    @property
    def missing(self):
        """Names of tests whose programs aren't built."""
        wanted = [f"simulator_{layer}_test" for layer in UNIT_TESTS]
        wanted += [name for names in CTEST.values() for name in names]
        return sorted({name for name in wanted if self.only in name} - set(self.tests))

    @property
    def programs(self):
        return {program for test in self.tests.values() for program in test.programs}

    def of_layer(self, layer):
        """The tests that run on a mutant of that layer: its own unit tests, which kill most, then those
        that take least."""
        units = [f"simulator_{one}_test" for one in UNIT_TESTS[layer]]
        names = units + [name + _SLOW for name in units] + list(CTEST[layer])
        if layer in FORMS:
            names.append("simulator.kept_forms")
        others = [self.tests[name] for name in names[1:] if name in self.tests]
        own = [self.tests[units[0]]] if units[0] in self.tests else []
        return own + sorted(others, key=lambda test: test.seconds + LINK_SECONDS * len(test.programs))

    def measure(self, workers, say):
        """Runs all tests without a change, as many at once as mutants later. What fails so is left
        out, and said."""
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for test, ended in pool.map(self._without_change, list(self.tests.values())):
                if not ended.how:
                    if test.is_unit_test:
                        self._split(test, ended.output)
                    continue
                failed = test.is_unit_test and sorted(set(
                    re.findall(r"^\[  FAILED  \] (\w+\.\w+(?:/\w+)?)", ended.output, re.M)))
                if failed:
                    test.left_out = tuple(failed)
                    say("fails without any change and is left out: " + ", ".join(failed))
                else:
                    say(f"{test.name} {ended.how} without any change and is left out: "
                        f"{what_failed(ended.output)}")
                    del self.tests[test.name]

    def _without_change(self, test):
        begin = time.time()
        ended = test.run(self.built, self.built, MOST_SECONDS, to_the_end=True)
        test.seconds = time.time() - begin
        return test, ended

    def _split(self, test, output):
        """Makes a test of its own of the unit tests that take long."""
        times = re.findall(r"^\[       OK \] (\S+) \((\d+) ms\)", output, re.M)
        slow = {name: int(time) / 1000 for name, time in times if int(time) > SLOW_UNIT_TEST_MS}
        if not slow:
            return
        test.left_out = tuple(slow)
        apart = Test(test.name + _SLOW, test.command, {}, test.folder, [], test.programs,
                     sum(slow.values()), (), tuple(slow))
        test.seconds = max(test.seconds - apart.seconds, 0.0)
        self.tests[apart.name] = apart

    def limit(self, test):
        """Seconds that a test may take on a mutant."""
        return max(LEAST_SECONDS, TIME_FACTOR * test.seconds)
