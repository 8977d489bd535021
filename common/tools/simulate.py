"""`./workbook sim -- PROGRAM`: runs a CUDA program of the reader's own in the simulator."""

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from . import build
from .errors import WorkbookError
from .process import capture

# The shared libraries, and the static one that `cmake --install` puts into a package.
TARGETS = ("simulator_cudart_shared", "simulator_cuda_shared", build.OBSERVERS, "simulator_cudart")
RUNTIME, DRIVER = "libcudart.so.13", "libcuda.so.1"
# NVIDIA's libraries that carry machine code for GPUs and no PTX for the simulator.
_CLOSED = re.compile(r"^lib(cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|nccl|npp)\w*\.so")
_HOW_TO_BUILD = ("nvcc -cudart shared -gencode arch=compute_100a,code=[compute_100a,sm_100a] "
                 "(in CMake CUDA_RUNTIME_LIBRARY Shared and CUDA_ARCHITECTURES 100a)")


def find_program(name):
    """The file that a shell would run."""
    found = shutil.which(name)
    if found:
        return Path(os.path.abspath(found))
    path = Path(name)
    if path.is_dir():
        raise WorkbookError(f"{name} is a folder, not a program.", exit_code=2)
    if path.is_file():
        raise WorkbookError(f"{name} is not executable. `chmod +x {name}` makes it so; a Python "
                            f"program runs as `./workbook sim -- python3 {name}`.", exit_code=2)
    raise WorkbookError(f"There is no program {name}. Name a file as in a shell: "
                        "./workbook sim -- ./program arguments", exit_code=2)


def check(program, path):
    """Refuses, with what to do, an ELF program that can't run in the simulator."""
    if program is None or not program.carries_cuda:
        return  # a script, an interpreter: what it loads is looked at when it is loaded
    if program.holds(b"BW_SIM_ON_ERROR"):
        return  # it is linked with the simulator already
    runtimes = [name for name in program.needed if name.startswith("libcudart.so")]
    if not runtimes and program.holds(b"libcuda.so.1") and DRIVER not in program.needed:
        raise WorkbookError(f"{path} was linked with the static CUDA runtime, which nvcc does unless "
                            f"it is told otherwise; the simulator takes the place of the shared one. "
                            f"Build it with {_HOW_TO_BUILD}.")
    for name in runtimes:
        if name != RUNTIME:
            raise WorkbookError(f"{path} needs {name}, the runtime of another CUDA release; the "
                                f"simulator is {RUNTIME}. Build it with a CUDA Toolkit 13: "
                                f"{_HOW_TO_BUILD}.")
    if not program.ptx:
        images = ", ".join(sorted(set(program.machine_code))) or "none"
        raise WorkbookError(f"{path} carries machine code (SASS) but no PTX, and the simulator runs "
                            f"PTX; its images are: {images}. Build it with {_HOW_TO_BUILD}: the word "
                            "compute_100a in `code=[...]` keeps the PTX.")


def check_libraries(path, env):
    """Refuses a program whose libraries aren't all there."""
    status, text = capture(["ldd", str(path)], env=env)
    if status != 0:
        return  # no dynamic program, or no ldd: the loader will say what it lacks
    missing = sorted({line.split()[0] for line in text.splitlines() if "not found" in line
                      and "=>" in line})
    if missing:
        closed = [name for name in missing if _CLOSED.match(name)]
        more = (f" {', '.join(closed)} would not run in the simulator anyway: NVIDIA's libraries "
                "carry machine code without PTX." if closed else "")
        raise WorkbookError(f"{path} needs {', '.join(missing)}, which the loader doesn't find. "
                            "Install it, or name its folder in LD_LIBRARY_PATH." + more)


def environment(root, base, program):
    """The environment in which a program finds the simulator's runtime and driver first."""
    folder = str(build.libraries(root, build.SIM))
    env = dict(base)
    paths = [folder] + [path for path in [env.get("LD_LIBRARY_PATH")] if path]
    env["LD_LIBRARY_PATH"] = ":".join(paths)
    if program is not None and program.rpath:
        # Its own search path comes before LD_LIBRARY_PATH.
        loaded = [os.path.join(folder, name) for name in (RUNTIME, DRIVER)]
        env["LD_PRELOAD"] = ":".join(loaded + [env["LD_PRELOAD"]] if env.get("LD_PRELOAD")
                                     else loaded)
    return env


@contextlib.contextmanager
def watched(env):
    """A function that says whether a program, or one that it started, has called the runtime or the
    driver. It is known from the report (BW_SIM_REPORT), which is written from the first call on; `env`
    names a file of our own for it unless it names one already."""
    with tempfile.TemporaryDirectory(prefix="workbook_sim_") as folder:
        report = env.setdefault("BW_SIM_REPORT", os.path.join(folder, "report.json"))
        before = _identity(report)
        is_a_pipe = os.path.exists(report) and not os.path.isfile(report)
        yield lambda: is_a_pipe or _identity(report) != before


def _identity(path):
    """Changes whenever a file is written; None without a file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def no_call(path, program):
    """What is said of a program that has called neither runtime nor driver."""
    carried = program is not None and program.carries_cuda
    return (f"{path} made no CUDA call, so the simulator had nothing to do. "
            + ("It carries kernels; the way that it took launches none." if carried else
               "A program for it is built with nvcc, or loads libcuda.so.1: docs/your_kernel.md"))
