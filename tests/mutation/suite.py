"""Which tests of the suite run on a mutant, and how: the unit tests of the layers that can see the
source, then quick tests of CTest's list. Their commands are CTest's; the loader gives their programs
the library that holds the mutant."""

import concurrent.futures
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

# Arrows between layers go down, so a source is seen by its own layer's unit tests and by those of the
# layers above; tests of `machine` run kernels and with them the units. A layer without unit tests of its
# own begins with those that use it most.
UNIT_TESTS = {
    "base": ("base", "ptx", "schedule", "machine", "units", "diagnosis", "trace"),
    "isa": ("ptx", "units", "machine", "schedule", "diagnosis"),
    "ptx": ("ptx", "schedule", "machine", "units", "diagnosis", "trace"),
    "schedule": ("schedule", "machine", "units", "diagnosis", "trace"),
    "clock": ("machine", "units", "diagnosis", "trace"),
    "machine": ("machine", "units", "diagnosis", "trace"),
    "units": ("units", "machine", "diagnosis", "trace"),
    "diagnosis": ("diagnosis", "units", "machine"),
    "trace": ("trace",),
    "session": ("session",),
    "cudart": ("cudart",),
}
LIBRARY = "lib/libcudart.so.13"  # the simulator's, which programs and tests share
OBSERVERS = "lib/libsimulator_observers.so"  # what it loads for races, recordings and exploration
# What the build for this machine does not compile: Emscripten's part.
NOT_COMPILED = ("browser/", "base/system_browser.cpp")
# Numbers that kernels compute, most of them compared with what hardware gave or with float64.
NUMBERS = ("hardware_conformance", "hardware_conformance_hopper", "hardware_expectations_blackwell",
           "hardware_newer_forms", "simulator_tensor_core.forms",
           "simulator_tensor_core.block_scaled_gemm",
           "06_hopper_fp8_gemm.MeasuredBits", "simulator.programs.attention",
           "simulator.programs.cooperative_reduction", "simulator.programs.debug_build",
           "simulator.programs.stream_k", "simulator.programs.histogram", "01_mbarrier_pipeline.Bits")
# Faults and their reports; right programs that stay silent.
REPORTS = ("simulator.codes", "simulator.kept_reports", "simulator.faults.kernels",
           "simulator.global_races", "fuzz.pipeline", "fuzz.machine",
           "observed_writes_test.ObservedWrites.EveryFamilyTells")
# What every instruction form does and is, and what the unit tests' kernels do beyond what these ask.
FORMS = ("simulator.legal_forms", "simulator.kept_forms")
KERNELS = "simulator.kept_units"
# When things happen, and which.
EVENTS = ("simulator.kept_times", "simulator.kept_model", "simulator.kept_events",
          "hardware_timing.PublishedLawsOfB200")
CTEST = {
    "base": REPORTS + ("simulator.reports", KERNELS),
    "isa": FORMS + EVENTS + NUMBERS + REPORTS + (KERNELS,),
    "ptx": ("fuzz.lexer", "fuzz.parser", "hardware_conformance", "simulator.programs.debug_build")
    + FORMS + EVENTS + REPORTS + (KERNELS,),
    "schedule": FORMS + EVENTS + NUMBERS + REPORTS + (KERNELS,),
    "clock": EVENTS + REPORTS + (KERNELS,),
    "machine": FORMS + EVENTS + NUMBERS + REPORTS + (KERNELS,),
    "units": FORMS + EVENTS + NUMBERS + REPORTS + (KERNELS,),
    "diagnosis": REPORTS
    + (KERNELS, "simulator.kept_orders", "simulator.reports", "chapter_exploration"),
    "trace": (KERNELS, "simulator.kept_events", "timeline.model", "simulator.reports"),
    "session": (),
    "cudart": ("fuzz.fat_binary", "hardware_newer_forms", "simulator.programs.attention",
               "simulator.programs.cooperative_reduction", "simulator.programs.grouped_gemm",
               "06_hopper_fp8_gemm_simulated.Graph.IsRecordedNotExecutedAndLaunchedAsOftenAsOneLikes",
               "06_hopper_fp8_gemm_simulated.Plan.LaunchesMayBeCapturedIntoAGraph")
    + REPORTS,
}
_SLOW = " (slow ones)"  # the unit tests of a program that come last
SLOW_UNIT_TEST_MS = 100
LEAST_SECONDS = 8.0  # of processor time a process of a test may take, and
TIME_FACTOR = 4.0    # limit, as a multiple of the test's time without a change
WAIT_FACTOR = 10     # Limit by the clock: cores are shared, and a deadlock takes no processor time.
MOST_SECONDS = 600.0  # without a change
MOST_OUTPUT = 1 << 20  # characters of a test's output that are kept, the last ones


@dataclass(frozen=True)
class Ended:
    """How a test's command ended: `how` is "", "failed", "crashed" or "hung"."""

    how: str
    output: str
    seconds: float


@dataclass
class Test:
    name: str
    command: list
    environment: dict
    folder: Path
    passes: list      # one of these patterns says that it has passed, whatever its status
    seconds: float = 0.0  # of processor time, of all its processes
    left_out: tuple = ()  # unit tests that fail without a change, or run apart
    only: tuple = ()      # unit tests that run

    @property
    def is_unit_test(self):
        return self.name.startswith("simulator_") and "." not in self.name.split(_SLOW)[0]

    def run(self, library, seconds, to_the_end=False):
        """Runs it, up to the first failure; `library` takes the place of the built one, unless None."""
        command = list(self.command)
        if self.is_unit_test and not to_the_end:
            command += ["--gtest_fail_fast", "--gtest_brief=1"]
        if self.left_out or self.only:
            command.append("--gtest_filter=" + ":".join(self.only) + "-" + ":".join(self.left_out))
        preload = {"LD_PRELOAD": str(library)} if library else {}
        preload["BW_KEPT_SECONDS"] = str(WAIT_FACTOR * seconds)
        status, output, used = run_command(
            command, {**os.environ, **self.environment, **preload}, self.folder, seconds)
        if status in (None, -signal.SIGXCPU):
            return Ended("hung", f"it has not ended after {seconds:.0f} s", used)
        if self.passes:
            well = any(re.search(one, output) for one in self.passes)
            return Ended("" if well else "failed", output, used)
        if status < 0 or status >= 128:
            return Ended("crashed", output, used)
        return Ended("failed" if status != 0 else "", output, used)


def run_command(command, environment, folder, seconds):
    """(status, what was printed, seconds of processor time); status None: it has not ended. Each
    process of it may use that many seconds of a core."""
    limit = int(seconds) + 1

    def limited():
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                          universal_newlines=True, cwd=folder, env=environment,
                          start_new_session=True, preexec_fn=limited) as process:
        late = []

        def end():
            late.append(True)
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(WAIT_FACTOR * seconds, end)
        timer.start()
        output = ""
        for part in iter(lambda: process.stdout.read(1 << 16), ""):
            output = (output + part)[-MOST_OUTPUT:]
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = \
            -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    used = usage.ru_utime + usage.ru_stime
    return (None if late else process.returncode), output, used


def what_failed(output):
    """The first failed test that the output names, or its last line."""
    failed = re.search(r"\[  FAILED  \] (\S+)", output)
    lines = output.strip().splitlines()
    return failed.group(1).rstrip(",") if failed else lines[-1][-200:] if lines else ""


def _listed_by_ctest(folder):
    """What ctest says of a build folder's tests. It is asked in another folder, since it would begin a
    new LastTest.log in this one, also while it runs the tests there."""
    with tempfile.TemporaryDirectory() as other:
        (Path(other) / "CTestTestfile.cmake").write_text(f'subdirs("{folder.resolve().as_posix()}")\n')
        listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=other, check=True,
                                stdout=subprocess.PIPE, universal_newlines=True)
    return json.loads(listed.stdout)["tests"]


class Suite:
    """The tests of a build folder."""

    def __init__(self, folder, root, only=""):
        self.folder, self.only = folder, only
        self.tests, self.kills = {}, Counter()
        entries = _listed_by_ctest(folder)
        self.listed = {entry["name"] for entry in entries}
        for layer in {layer for layers in UNIT_TESTS.values() for layer in layers}:
            program = folder / "bin" / f"simulator_{layer}_test"
            if program.is_file():
                self._add(Test(program.name, [str(program)], {}, root, []))
        wanted = {name for names in CTEST.values() for name in names}
        for entry in entries:
            if entry["name"] not in wanted or "command" not in entry or \
                    not _is_built(entry["command"], folder):
                continue
            properties = {one["name"]: one["value"] for one in entry["properties"]}
            self._add(Test(entry["name"], entry["command"],
                           dict(one.split("=", 1) for one in properties.get("ENVIRONMENT", [])),
                           Path(properties["WORKING_DIRECTORY"]),
                           properties.get("PASS_REGULAR_EXPRESSION", [])))

    def _add(self, test):
        if self.only in test.name:
            self.tests[test.name] = test

    @property
    def missing(self):
        """Names of tests whose programs aren't built."""
        wanted = [f"simulator_{layer}_test" for layers in UNIT_TESTS.values() for layer in layers]
        wanted += [name for names in CTEST.values() for name in names]
        return sorted({name for name in wanted if self.only in name} - set(self.tests))

    def of_layer(self, layer):
        """The tests that run on a mutant of that layer: its own unit tests, which kill most, then those
        that killed most of the layer's earlier mutants for their time."""
        units = [f"simulator_{one}_test" for one in UNIT_TESTS[layer]]
        names = units + [name + _SLOW for name in units] + list(CTEST[layer])
        others = [self.tests[name] for name in names[1:] if name in self.tests]
        own = [self.tests[units[0]]] if units[0] in self.tests else []
        return own + sorted(others, key=lambda test: (test.seconds + 0.1)
                            / (1 + self.kills[layer, test.name]))

    def measure(self, workers, say):
        """Runs the tests without a change, as many at once as mutants later, but those that passed an
        earlier run and are as they were then. What fails so is left out, and said. Returns those that
        ran."""
        record = self.folder / "mutation_times.json"
        known = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
        state = {name: _state(test.command, self.folder) for name, test in self.tests.items()}
        before = {name: known[name] for name in self.tests
                  if name in known and known[name]["state"] == state[name]}
        ran = [test for name, test in self.tests.items() if name not in before]
        for name, one in before.items():
            self.tests[name].seconds = one["seconds"]
            self._split(self.tests[name], one["slow"])
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for test, ended in pool.map(self._without_change, ran):
                if not ended.how:
                    slow = slow_unit_tests(ended) if test.is_unit_test else {}
                    known[test.name] = {"state": state[test.name], "seconds": test.seconds, "slow": slow}
                    self._split(test, slow)
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
        record.write_text(json.dumps(known, indent=1), encoding="utf-8")
        return ran

    def keep(self, least, most):
        """Leaves out tests that take fewer or more seconds."""
        self.tests = {name: test for name, test in self.tests.items() if least < test.seconds <= most}

    @staticmethod
    def passing(tests, library, workers):
        """Names of the tests that pass with a library of the simulator."""
        def passes(test):
            return not test.run(library, MOST_SECONDS).how
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            return [test.name for test, well in zip(tests, pool.map(passes, tests)) if well]

    @staticmethod
    def _without_change(test):
        ended = test.run(None, MOST_SECONDS, to_the_end=True)
        test.seconds = ended.seconds
        return test, ended

    def _split(self, test, slow):
        """Makes a test of its own of the unit tests that take long (names and seconds)."""
        if not slow:
            return
        test.left_out = tuple(slow)
        apart = Test(test.name + _SLOW, test.command, {}, test.folder, [],
                     min(sum(slow.values()), 0.9 * test.seconds), (), tuple(slow))
        test.seconds -= apart.seconds
        self.tests[apart.name] = apart

    def limit(self, test):
        """Seconds that a test may take on a mutant."""
        return max(LEAST_SECONDS, TIME_FACTOR * test.seconds)


def slow_unit_tests(ended):
    """{name: seconds} of the unit tests that take long, as a program printed it. It prints times by the
    clock: where others use the cores, they are scaled to the program's processor time."""
    times = re.findall(r"^\[       OK \] (\S+) \((\d+) ms\)", ended.output, re.M)
    scale = min(1.0, 1000 * ended.seconds / max(1, sum(int(time) for _, time in times)))
    return {name: scale * int(time) / 1000 for name, time in times
            if scale * int(time) > SLOW_UNIT_TEST_MS}


def _state(command, folder):
    """When what a command names in the build folder, and the libraries, were last built."""
    built = [Path(word) for word in command if word.startswith(str(folder) + "/")]
    return [path.stat().st_mtime for path in (*built, folder / LIBRARY, folder / OBSERVERS)
            if path.exists()]


def _is_built(command, folder):
    """Whether the programs and libraries that a command names are in the build folder."""
    return all(Path(word).exists() for word in command if word.startswith(str(folder) + "/"))


def wrong_in_map(sources, listed):
    """What the tables above say that is not so, in sentences: of the sources of common/simulator (paths
    from there), and of the names of CTest's tests."""
    folders = {path.split("/")[0] for path in sources if not path.startswith(NOT_COMPILED)}
    wrong = [f"common/simulator/{folder}/ has no tests in suite.py: add it to UNIT_TESTS and CTEST"
             for folder in sorted(folders - (set(UNIT_TESTS) & set(CTEST)))]
    wrong += [f"suite.py names common/simulator/{folder}/, which has no source: take it out"
              for folder in sorted((set(UNIT_TESTS) | set(CTEST)) - folders)]
    # A program that is not built has one test, which says so.
    programs = {name.split(".")[0].replace("_NOT_BUILT", "") for name in listed}
    layers = {f"simulator_{layer}_test" for named in UNIT_TESTS.values() for layer in named}
    tests = {name for names in CTEST.values() for name in names
             if f"{name.split('.')[0]}_NOT_BUILT" not in listed}
    wrong += [f"suite.py names the test {name}, which CTest does not list: give its present name"
              for name in sorted(layers - programs) + sorted(tests - set(listed))]
    unit_tests = {name for name in programs if re.fullmatch(r"simulator_[a-z]+_test", name)}
    wrong += [f"no source is tested by {name}: add it to UNIT_TESTS in suite.py"
              for name in sorted(unit_tests - layers)]
    return wrong
