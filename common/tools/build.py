"""Configures and builds with CMake and Ninja; a failed build shows the compiler's own words."""

import re
from dataclasses import dataclass

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

    def folder(self, root):
        return root / "build" / self.preset


SIM = Configuration("sim", (packages.SIMULATOR, packages.TESTS))
SIM_BENCH = Configuration("sim", (*SIM.purposes, packages.SIMULATOR_BENCH), (("BW_BENCH", "ON"),))
SANITIZED = Configuration("sim-sanitize", SIM.purposes)
GPU = Configuration("gpu", first_variables=(("BW_TESTS", "OFF"),))
GPU_TESTS = Configuration("gpu", (packages.TESTS,), (("BW_TESTS", "ON"),))
GPU_BENCH = Configuration("gpu", (), (("BW_BENCH", "ON"),), GPU.first_variables)


def cached(folder, name):
    """A variable of a build folder's CMake cache, or None."""
    try:
        text = (folder / "CMakeCache.txt").read_text(encoding="utf-8")
    except OSError:
        return None
    match = re.search(rf"^{re.escape(name)}:\w+=(.*)$", text, re.M)
    return match.group(1) if match else None


def configure(root, tools, console, configuration):
    """Runs CMake where the build folder is missing, moved, or made with other tools or values."""
    folder = configuration.folder(root)
    # A half-made or moved cache holds paths that are not to be trusted.
    fresh = (not (folder / "build.ninja").is_file()
             or cached(folder, "CMAKE_HOME_DIRECTORY") not in (None, str(root))
             or cached(folder, "CMAKE_CUDA_COMPILER") not in (None, str(tools.toolkit.nvcc)))
    variables = list(configuration.variables)
    if not fresh and all(cached(folder, name) == value for name, value in variables):
        return
    command = [tools.cmake, "--preset", configuration.preset,
               f"-DCMAKE_CUDA_COMPILER={tools.toolkit.nvcc}"]
    if fresh:
        command.append("--fresh")
        variables += configuration.first_variables
    command += [f"-D{name}={value}" for name, value in variables]
    with console.step("Configuring") as step:
        status, output = run_logged(command, step, env=tools.env, cwd=root)
        if status != 0:
            raise WorkbookError("CMake could not configure the build; its message is above. "
                                "`./workbook doctor` shows what was found on this machine.",
                                details=_from_first(output, r"^CMake Error"))


def build(root, tools, console, configuration, targets=(), title="Building"):
    """Builds targets (all of them if none is given)."""
    jobs = machine.build_jobs()
    folder = configuration.folder(root)
    command = [tools.cmake, "--build", str(folder), "--parallel", str(jobs)]
    if targets:
        command += ["--target", *targets]
    log = folder / "workbook-build.log"
    with console.step(title) as step:
        status, output = run_logged(command, step, env=tools.env, cwd=root, log_path=log)
        if status != 0:
            raise WorkbookError(f"The build failed; the compiler's message is above. The whole log "
                                f"is in {log.relative_to(root)}.",
                                details=_from_first(output, r"^(FAILED:|ninja: error|CMake Error)"))


def program(root, configuration, name):
    """The path of a built program."""
    return configuration.folder(root) / "bin" / name


def _from_first(output, pattern):
    """The output from the first line that matches, less Ninja's progress lines."""
    match = re.search(pattern, output, re.M)
    lines = (output[match.start():] if match else output).splitlines()
    return "\n".join(line for line in lines if not re.match(r"\[\d+/\d+\] ", line))
