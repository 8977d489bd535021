"""Configures and builds with CMake and Ninja; a failed build shows the compiler's own words."""

import re

from . import machine
from .errors import WorkbookError
from .process import run_logged
from .setup import build_folder

PRESET = "sim"


def cached(root, name):
    """A variable of the build folder's CMake cache, or None."""
    try:
        text = (build_folder(root) / "CMakeCache.txt").read_text(encoding="utf-8")
    except OSError:
        return None
    match = re.search(rf"^{re.escape(name)}:\w+=(.*)$", text, re.M)
    return match.group(1) if match else None


def configure(root, tools, console, benchmarks=False):
    """Runs CMake where the build folder is missing, moved, or made with other tools."""
    moved = cached(root, "CMAKE_HOME_DIRECTORY") not in (None, str(root))
    other_nvcc = cached(root, "CMAKE_CUDA_COMPILER") not in (None, str(tools.toolkit.nvcc))
    ready = (build_folder(root) / "build.ninja").is_file()
    if ready and not moved and not other_nvcc and (not benchmarks
                                                   or cached(root, "BW_BENCH") == "ON"):
        return
    command = [tools.cmake, "--preset", PRESET,
               f"-DCMAKE_CUDA_COMPILER={tools.toolkit.nvcc}"]
    if benchmarks:
        command.append("-DBW_BENCH=ON")
    # A half-made or moved cache holds paths that are not to be trusted.
    if moved or other_nvcc or not ready:
        command.append("--fresh")
    with console.step("Configuring") as step:
        status, output = run_logged(command, step, env=tools.env, cwd=root)
        if status != 0:
            raise WorkbookError("CMake could not configure the build; its message is above. "
                                "`./workbook doctor` shows what was found on this machine.",
                                details=_from_first(output, r"^CMake Error"))


def build(root, tools, console, targets=(), title="Building"):
    """Builds targets (all of them if none is given)."""
    jobs = machine.build_jobs()
    command = [tools.cmake, "--build", str(build_folder(root)), "--parallel", str(jobs)]
    if targets:
        command += ["--target", *targets]
    log = build_folder(root) / "workbook-build.log"
    with console.step(title) as step:
        status, output = run_logged(command, step, env=tools.env, cwd=root, log_path=log)
        if status != 0:
            raise WorkbookError(f"The build failed; the compiler's message is above. The whole log "
                                f"is in {log.relative_to(root)}.",
                                details=_from_first(output, r"^(FAILED:|ninja: error|CMake Error)"))


def program(root, name):
    """The path of a built program."""
    return build_folder(root) / "bin" / name


def _from_first(output, pattern):
    """The output from the first line that matches, less Ninja's progress lines."""
    match = re.search(pattern, output, re.M)
    lines = (output[match.start():] if match else output).splitlines()
    return "\n".join(line for line in lines if not re.match(r"\[\d+/\d+\] ", line))
