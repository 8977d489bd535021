"""The checkout's private environment, .workbook/: pinned wheels where the machine has too little.

It is a Python virtual environment that holds the CUDA Toolkit's compiler and its disassembler where the
machine's own toolkit is missing or has none, CMake where the distribution's is too old, a reader of TOML
for Pythons without one, and what tests and `./workbook grade` like to have.
"""

import json
import os
import platform
import shutil
import sys
from pathlib import Path

from .errors import WorkbookError
from .process import capture, run_logged

# The supported releases of the toolkit, the one that is installed here, and the wheels of each.
TOOLKITS = json.loads((Path(__file__).resolve().parents[1] / "toolkits.json")
                      .read_text(encoding="utf-8"))
# Of one release line; the parts are versioned separately within it.
TOOLKIT_PINS = tuple(TOOLKITS["wheels"][TOOLKITS["pinned"]])
# What platform.machine() gives where these have wheels; pip chooses the machine's own.
TOOLKIT_ARCHITECTURES = ("x86_64", "aarch64")
# Of the newest supported release: a disassembler reads the machine code of older compilers as well.
DISASSEMBLER_PINS = ("nvidia-cuda-nvdisasm==13.5.37",)
CMAKE_PINS = ("cmake==3.31.10",)
# Reads TOML (the exercises) for Pythons before 3.11, which have no module for it.
TOML_PINS = ("tomli==2.2.1",)
# What `./workbook grade` spreads its checks with, one pin a line: an extra, and the oldest Python that
# it runs on.
GRADING_REQUIREMENTS = Path(__file__).resolve().parent / "requirements-grading.txt"
GRADING_PYTHON = (3, 10)
# What the site's book is made with, in the same way.
SITE_REQUIREMENTS = GRADING_REQUIREMENTS.with_name("requirements-site.txt")
SITE_PYTHON = (3, 11)

_PROBE = """
#include <cuda/std/cstdint>
#include <cuda_fp8.h>
__global__ void probe(unsigned* slot) {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  *slot = 1;
}
"""


def folder(root):
    return root / ".workbook"


def _venv(root):
    return folder(root) / "venv"


def site_packages(root):
    """Where the environment keeps Python packages (at most one folder)."""
    return sorted(_venv(root).glob("lib/python3*/site-packages"))


def _stamp(root):
    return folder(root) / "installed.json"


def _installed(root):
    """The pins whose installation was completed."""
    try:
        return set(json.loads(_stamp(root).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return set()


def has(root, pins):
    """Whether these wheels were installed to the end."""
    return _installed(root).issuperset(pins)


def install(root, console, pins, title):
    """Installs wheels that need nothing else."""
    _install(root, console, pins, title)
    _mark(root, pins)


def is_complete(root):
    """Whether the toolkit's wheels were installed to the end, in the versions pinned here."""
    return _installed(root).issuperset(TOOLKIT_PINS)


def _toolkit_program(root, name):
    """Where the wheels put a program of the toolkit (at most one path exists)."""
    return [site / "nvidia" / "cu13" / "bin" / name for site in site_packages(root)]


def nvcc_paths(root):
    """Where the wheels put nvcc (at most one path exists)."""
    return _toolkit_program(root, "nvcc")


def nvdisasm(root):
    """The private disassembler, or None if it was not installed to the end."""
    if not _installed(root).issuperset(DISASSEMBLER_PINS):
        return None
    return next((path for path in _toolkit_program(root, "nvdisasm") if path.is_file()), None)


def cmake_folder(root):
    """The folder with the private cmake and ctest, or None if they are not installed."""
    if not _installed(root).issuperset(CMAKE_PINS):
        return None
    for site in site_packages(root):
        if (site / "cmake" / "data" / "bin" / "cmake").is_file():
            return site / "cmake" / "data" / "bin"
    return None


def _pins_of(file):
    lines = file.read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def grading_python(root):
    """The interpreter that has Dask, or None if it was not installed."""
    python = _venv(root) / "bin" / "python"
    pins = _pins_of(GRADING_REQUIREMENTS)
    if not _installed(root).issuperset(pins) or not os.access(python, os.X_OK):
        return None
    return python


def site_python(root):
    """The interpreter that has Sphinx, or None if it was not installed."""
    python = _venv(root) / "bin" / "python"
    if not has(root, _pins_of(SITE_REQUIREMENTS)) or not os.access(python, os.X_OK):
        return None
    return python


def install_site(root, console):
    """Installs Sphinx and the book's theme, and checks that they can be imported."""
    if sys.version_info < SITE_PYTHON:
        raise WorkbookError("The site's book is made with Python "
                            f"{'.'.join(map(str, SITE_PYTHON))} or newer; this is "
                            f"{'.'.join(map(str, sys.version_info[:3]))}. Run the command with a newer "
                            "one.")
    _install(root, console, ("-r", str(SITE_REQUIREMENTS)), "Installing Sphinx (60 MB)",
             "the Python packages that the site's book is made with (Sphinx, its theme)", "")
    _require(capture([str(_venv(root) / "bin" / "python"), "-c",
                      "import latex2mathml, myst_parser, pydata_sphinx_theme, sphinx_copybutton"]),
             "The Python packages of the site's book were installed but can't be imported. Delete the "
             "folder .workbook/venv and run `./workbook docs`.")
    _mark(root, _pins_of(SITE_REQUIREMENTS))


def is_running_in(root):
    """Whether this process is that interpreter."""
    return os.path.realpath(sys.prefix) == os.path.realpath(_venv(root))


def install_toml(root, console):
    """Installs what reads TOML for this Python."""
    _install(root, console, TOML_PINS, "Installing what reads the exercises (50 KB)", otherwise="")
    _mark(root, TOML_PINS)


def install_grading(root, console):
    """Installs Dask and checks that it can be imported."""
    _install(root, console, ("-r", str(GRADING_REQUIREMENTS)), "Installing Dask (20 MB)",
             "the Python packages that `./workbook grade` spreads its work with (dask, distributed)",
             "Without them it grades on this machine alone, with Python's own process pool.")
    python = _venv(root) / "bin" / "python"
    _require(capture([str(python), "-c", "import cryptography, dask, distributed"]),
             "The Python packages of `./workbook grade` were installed but can't be imported. "
             "Delete the "
             "folder .workbook/venv and run `./workbook setup --grading`.")
    _mark(root, _pins_of(GRADING_REQUIREMENTS))


def venv_module_works():
    """Whether this Python can make virtual environments (Debian splits that off)."""
    status, _ = capture([sys.executable, "-c", "import ensurepip, venv"])
    return status == 0


def install_toolkit(root, console):
    """Installs the toolkit's wheels and checks that they compile for sm_100a."""
    if platform.machine() not in TOOLKIT_ARCHITECTURES:
        raise WorkbookError(f"This machine's processor is {platform.machine()}, and NVIDIA makes the "
                            f"CUDA Toolkit for {' and '.join(TOOLKIT_ARCHITECTURES)}. Use a machine "
                            "with one of these.")
    _install(root, console, TOOLKIT_PINS, "Installing the CUDA compiler (about 300 MB on disk)")
    nvcc = next(path for path in nvcc_paths(root) if path.is_file())
    _complete_layout(nvcc.parent.parent)
    with console.step("Checking the CUDA compiler") as step:
        _check(root, nvcc, step)
    _mark(root, TOOLKIT_PINS)


def other_toolkit(root, release, console):
    """The nvcc of a supported release in a folder of its own, for tests that compare releases."""
    pins, target = TOOLKITS["wheels"][release], folder(root) / "toolkits" / release
    nvcc = target / "nvidia" / "cu13" / "bin" / "nvcc"
    if capture([str(nvcc), "--version"])[0] != 0:
        _install(root, console, ("--upgrade", "--target", str(target), *pins),
                 f"Installing CUDA Toolkit {release} for comparison (about 300 MB on disk)",
                 ", ".join(pins))
        _complete_layout(nvcc.parent.parent)
    return nvcc


def install_disassembler(root, console):
    """Installs nvdisasm and checks that it runs."""
    _install(root, console, DISASSEMBLER_PINS, "Installing the CUDA disassembler")
    program = next(path for path in _toolkit_program(root, "nvdisasm") if path.is_file())
    status, output = capture([str(program), "--version"])
    _require((status, output), "The CUDA disassembler that was just installed does not run. Install"
                               " nvdisasm of your CUDA Toolkit and put it on PATH.")
    _mark(root, DISASSEMBLER_PINS)


def install_cmake(root, console):
    """Installs a CMake of this checkout's own."""
    _install(root, console, CMAKE_PINS, "Installing CMake")
    _mark(root, CMAKE_PINS)


def _install(root, console, pins, title, what=None, otherwise=(
        "Alternatively install a whole CUDA Toolkit, 13.0 or newer, yourself and set CUDA_HOME to its "
        "folder.")):
    """Installs pins; `what` names them in the error, `otherwise` is what works without them."""
    folder(root).mkdir(exist_ok=True)
    python = _venv(root) / "bin" / "python"
    with console.step(title) as step:
        # A broken or half-made environment is made again; a good one is kept.
        if capture([str(python), "-m", "pip", "--version"])[0] != 0:
            shutil.rmtree(_venv(root), ignore_errors=True)
            _stamp(root).unlink() if _stamp(root).exists() else None
            _require(run_logged([sys.executable, "-m", "venv", str(_venv(root))], step),
                     "A Python virtual environment could not be made in .workbook/venv. On Debian "
                     "and Ubuntu the package python3-venv has what it takes.")
        _require(run_logged([str(python), "-m", "pip", "install", "--no-deps", "--no-input",
                             "--disable-pip-version-check", "--only-binary=:all:",
                             "--progress-bar=off", *pins], step),
                 f"pip could not install {what or ', '.join(pins)}. A network connection to a "
                 f"Python package index is needed once. {otherwise}".rstrip())


def _complete_layout(toolkit_root):
    """Adds the names under which a toolkit's libraries are usually looked for."""
    for link, target in ((toolkit_root / "lib64", "lib"),
                         (toolkit_root / "lib" / "libcudart.so", "libcudart.so.13")):
        if not link.exists():
            link.symlink_to(target)


def _check(root, nvcc, step):
    source, output = folder(root) / "probe.cu", folder(root) / "probe.o"
    source.write_text(_PROBE, encoding="utf-8")
    try:
        _require(run_logged([str(nvcc), "-std=c++20", "-c", "-cudart", "none", "-gencode",
                             "arch=compute_100a,code=[compute_100a,sm_100a]", str(source), "-o",
                             str(output)], step),
                 "The CUDA compiler that was just installed can't compile for sm_100a. Delete "
                 "the folder .workbook and try again; if it fails again, install CUDA Toolkit "
                 "13.0 or newer yourself and set CUDA_HOME to its folder.")
    finally:
        for path in (source, output):
            if path.exists():
                path.unlink()


def _mark(root, pins):
    _write_stamp(root, _installed(root).union(pins))


def _write_stamp(root, pins):
    text = json.dumps(sorted(pins), indent=1)
    temporary = _stamp(root).with_suffix(".new")
    temporary.write_text(text + "\n", encoding="utf-8")
    temporary.replace(_stamp(root))


def _require(result, message):
    status, output = result
    if status != 0:
        raise WorkbookError(message, details="\n".join(output.splitlines()[-15:]))
