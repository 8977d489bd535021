"""Configures and builds with CMake and Ninja; a failed build shows the compiler's own words."""

import contextlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from . import machine, packages
from .errors import WorkbookError
from .process import run_logged


@dataclass(frozen=True)
class Configuration:
    """A build: a CMake preset, what it needs, and the cache variables that it insists on."""

    preset: str
    purposes: tuple = ()
    variables: tuple = ()  # (name, value)
    first_variables: tuple = ()  # for a fresh build folder only
    found: tuple = ()  # variables in which CMake keeps where it found an optional part

    def folder(self, root):
        return root / "build" / self.preset


SIM = Configuration("sim", (packages.SIMULATOR, packages.TESTS))
# The same folder: the benchmark's target is there wherever CMake found OpenBLAS.
SIM_BENCH = Configuration("sim", (*SIM.purposes, packages.SIMULATOR_BENCH),
                          found=("BW_OpenBLAS_LIBRARY",))
SANITIZED = Configuration("sim-sanitize", SIM.purposes)
GPU = Configuration("gpu", first_variables=(("BW_TESTS", "OFF"),))
GPU_TESTS = Configuration("gpu", (packages.TESTS,), (("BW_TESTS", "ON"),))
GPU_BENCH = Configuration("gpu", (), (("BW_BENCH", "ON"),), GPU.first_variables)

# The target, and the file, of what a run loads for races, recordings and the exploration of schedules,
# and the variables that request it.
OBSERVERS, OBSERVERS_LIBRARY = "simulator_observers", "libsimulator_observers.so"
REQUESTS = ("BW_SIM_CHECKS", "BW_SIM_EVENTS", "BW_SIM_RECORDING", "BW_SIM_STATISTICS",
            "BW_SIM_EXPLORE")

# What Blackwell code is compiled for, by the GPU's compute capability: the architecture of a B200, or
# the family that a B300 belongs to.
BLACKWELL = {"10.0": "100a", "10.3": "100f"}


def for_gpu(configuration, gpu):
    """A configuration whose programs this GPU runs."""
    if gpu.capability not in BLACKWELL:
        return configuration
    return replace(configuration, variables=(*configuration.variables,
                                             ("BW_BLACKWELL_ARCH", BLACKWELL[gpu.capability])))


# What Ninja says when the build folder itself is at fault, not something that it compiles.
_NINJA_TROUBLE = (r"^ninja: (?:error: (?:loading|rebuilding|build\.ninja:|.*missing and no known rule|"
                  r"unknown target)|fatal:)")


def cached(folder, name):
    """A variable of a build folder's CMake cache, or None."""
    try:
        text = _cache(folder).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(rf"^{re.escape(name)}:\w+=(.*)$", text, re.M)
    return match.group(1) if match else None


def configure(root, tools, console, configuration, afresh=False):
    """Runs CMake where the build folder is missing, moved, damaged, or made with other tools or
    values, or where it did not find an optional part that is wanted now.

    A failure leaves the folder's values as they were.
    """
    folder = configuration.folder(root)
    fresh = afresh or not _is_usable(folder, root, tools)
    variables = list(configuration.variables)
    if not fresh and all(cached(folder, name) == value for name, value in variables) and all(
            _is_found(folder, name) for name in configuration.found):
        return
    command = [tools.cmake, "--preset", configuration.preset,
               f"-DCMAKE_CUDA_COMPILER={tools.toolkit.nvcc}"]
    if fresh:
        command.append("--fresh")
        variables += configuration.first_variables
    command += [f"-D{name}={value}" for name, value in variables]
    with _kept(_cache(folder)), console.step("Configuring") as step:
        status, output = run_logged(command, step, env=tools.env, cwd=root)
        if status != 0:
            raise WorkbookError(
                "CMake could not configure the build; its message is above. `./workbook doctor` "
                "shows what was found on this machine. If the message is about the folder "
                f"{folder.relative_to(root)} itself, delete that folder: it will be created again.",
                details=_from_first(output, r"^CMake Error"))


def _cache(folder):
    return folder / "CMakeCache.txt"


def _is_usable(folder, root, tools):
    """Whether a build folder was configured to its end: here, for Ninja, with tools that exist."""
    # The cache's last entries are these, so one that was cut off lacks them.
    home, own = cached(folder, "CMAKE_HOME_DIRECTORY"), cached(folder, "CMAKE_CACHEFILE_DIR")
    return ((folder / "build.ninja").is_file()
            and home is not None and os.path.realpath(home) == os.path.realpath(root)
            and own is not None and os.path.realpath(own) == os.path.realpath(folder)
            and cached(folder, "CMAKE_GENERATOR") == "Ninja"
            and cached(folder, "CMAKE_CUDA_COMPILER") == str(tools.toolkit.nvcc)
            and all(Path(cached(folder, name) or "/").exists()
                    for name in ("CMAKE_COMMAND", "CMAKE_MAKE_PROGRAM", "CMAKE_CXX_COMPILER")))


def _is_found(folder, name):
    value = cached(folder, name)
    return bool(value) and not value.endswith("-NOTFOUND")


@contextlib.contextmanager
def _kept(path):
    """Restores a file's content if the body fails or is interrupted.

    CMake stores the values that it was given before it checks them.
    """
    before = path.read_bytes() if path.is_file() else None
    try:
        yield
    except BaseException:
        if before is not None and (not path.is_file() or path.read_bytes() != before):
            path.write_bytes(before)
        raise


def build(root, tools, console, configuration, targets=(), title="Building"):
    """Builds targets (all of them if none is given); recreates a damaged build folder once."""
    status, output = _run_build(root, tools, console, configuration, targets, title)
    if status != 0 and re.search(_NINJA_TROUBLE, output, re.M):
        folder = configuration.folder(root)
        console.say(f"The build folder {folder.relative_to(root)} is damaged; CMake configures it "
                    "again. Compiled files are kept where they still fit.")
        configure(root, tools, console, configuration, afresh=True)
        status, output = _run_build(root, tools, console, configuration, targets, title)
    if status != 0:
        log = _log(root, configuration).relative_to(root)
        raise WorkbookError(f"The build failed; the compiler's message is above. The whole log is "
                            f"in {log}.",
                            details=_from_first(output, r"^(FAILED:|ninja: error|CMake Error)"))


class _Failed(Exception):
    """Ends the progress line of a build as failed."""


def _run_build(root, tools, console, configuration, targets, title):
    """(status, output) of Ninja."""
    command = [tools.cmake, "--build", str(configuration.folder(root)), "--parallel",
               str(machine.build_jobs())]
    if targets:
        command += ["--target", *targets]
    result = None
    with contextlib.suppress(_Failed), console.step(title) as step:
        result = run_logged(command, step, env=tools.env, cwd=root,
                            log_path=_log(root, configuration))
        if result[0] != 0:
            raise _Failed
    return result


def _log(root, configuration):
    return configuration.folder(root) / "workbook-build.log"


def program(root, configuration, name):
    """The path of a built program."""
    return configuration.folder(root) / "bin" / name


def libraries(root, configuration):
    """The folder of the libraries that built programs load, the simulator among them."""
    return configuration.folder(root) / "lib"


def _from_first(output, pattern):
    """The output from the first line that matches, less Ninja's progress lines."""
    match = re.search(pattern, output, re.M)
    lines = (output[match.start():] if match else output).splitlines()
    return "\n".join(line for line in lines if not re.match(r"\[\d+/\d+\] ", line))
