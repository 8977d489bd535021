"""Brings a machine into shape: packages, CMake, CUDA Toolkit. Does nothing where nothing is needed.

Nothing is remembered about the machine: every check is repeated, and all of them take a fraction
of a second. Only the private environment keeps a note of what was installed to the end.
"""

import os
import platform
import shutil
import sys
from dataclasses import dataclass

from . import confinement, packages, private_env, toml_text, toolkit
from .errors import WorkbookError

# Debian and Ubuntu keep what makes virtual environments apart from Python.
VENV_PACKAGE = "python3-venv"


@dataclass(frozen=True)
class Tools:
    """What a build uses. `env` is the environment for CMake, Ninja and ctest.

    A check of a stranger's text confines the processes that work on it, and keeps to some cores.
    """

    cmake: str
    ctest: str
    toolkit: toolkit.Toolkit
    env: dict
    confinement: object = confinement.NONE
    cores: int = 0  # 0: all of the machine's


def ensure(root, console, purposes=(packages.SIMULATOR, packages.TESTS), everything=False):
    """Installs what a build for these purposes misses and returns the Tools.

    `everything`: also what a few tests need, and what reads the exercises, as far as it can be had.
    """
    if platform.system() != "Linux":
        raise WorkbookError(f"The workbook builds on Linux; this is {platform.system()}. Use a "
                            "Linux machine, a virtual machine or a container.")
    missing = packages.missing_packages(root, purposes)
    if missing:
        # With them what makes private environments, so that who installs by hand is asked once.
        venv = [] if private_env.venv_module_works() else [VENV_PACKAGE]
        packages.install(missing + venv, console)
        still = packages.missing_packages(root, purposes)
        if still:
            raise WorkbookError("apt-get reported success, but these are still not usable: "
                                + ", ".join(still) + ". `./workbook doctor` shows what was "
                                "found; a g++ or CMake earlier on PATH may hide the packages'.")
    compiler = packages.gxx_version()
    if compiler < packages.MINIMUM_GXX:
        raise WorkbookError(f"g++ is version {compiler}, and C++20 as used here takes "
                            f"{packages.MINIMUM_GXX} or newer. Install a newer g++ and put it "
                            "first on PATH, or use a newer release of the distribution.")
    cmake_folder = _ensure_cmake(root, console)
    found = _ensure_toolkit(root, console)
    if everything:
        _ensure_disassembler(root, found, console)
        try:
            ensure_toml(root, console)
        except WorkbookError as error:
            console.say(str(error))
    env = dict(os.environ)
    if cmake_folder:
        env["PATH"] = f"{cmake_folder}{os.pathsep}{env.get('PATH', '')}"
    return Tools(shutil.which("cmake", path=env["PATH"]), shutil.which("ctest", path=env["PATH"]),
                 found, env)


def ensure_compiler(root, console):
    """The CUDA compiler's Toolkit and g++, for a workbook that builds nothing; installs them."""
    if packages.gxx_version() is None:
        venv = [] if private_env.venv_module_works() else [VENV_PACKAGE]
        packages.install(["g++", *venv], console)
    return _ensure_toolkit(root, console)


def cmake_is_new_enough():
    version = packages.version_of("cmake")
    return version is not None and version >= packages.MINIMUM_CMAKE


def _ensure_cmake(root, console):
    """The folder of the private CMake, or None where the system's will do."""
    if cmake_is_new_enough():
        return None
    if private_env.cmake_folder(root) is None:
        _ensure_venv(console)
        private_env.install_cmake(root, console)
    return private_env.cmake_folder(root)


def _ensure_toolkit(root, console):
    found, rejected = toolkit.find(root)
    if found:
        if found.caution():
            console.say(found.caution())
        return found
    for other in rejected:
        console.say(f"Not using {other.nvcc}: {other.reason}.")
    _ensure_venv(console)
    private_env.install_toolkit(root, console)
    found, rejected = toolkit.find(root)
    if not found:
        reasons = "; ".join(f"{other.nvcc}: {other.reason}" for other in rejected)
        raise WorkbookError(f"The CUDA compiler was installed but can't be used ({reasons}). "
                            "Delete the folder .workbook and try again.")
    return found


def _ensure_disassembler(root, found, console):
    """nvdisasm, which some toolkits come without; where it can't be had, a few tests fail."""
    if toolkit.find_nvdisasm(root, found.nvcc):
        return
    try:
        _ensure_venv(console)
        private_env.install_disassembler(root, console)
    except WorkbookError as error:
        console.say(f"{found.describe()} has no nvdisasm, and it could not be installed: {error} "
                    "The tests that read machine code will fail; nothing else needs it.")


def ensure_toml(root, console):
    """Installs what reads TOML where this Python has nothing of its own."""
    if not toml_text.can_read():
        _ensure_venv(console)
        private_env.install_toml(root, console)


def ensure_grading(root, console):
    """Installs what `./workbook grade` likes to have: bubblewrap, which shows a submission nothing but
    what it needs, and Dask, an extra of the private environment."""
    if sys.version_info < private_env.GRADING_PYTHON:
        raise WorkbookError("Dask takes "
                            "Python " + ".".join(map(str, private_env.GRADING_PYTHON)) + " or newer; "
                            f"this is {platform.python_version()}. `./workbook grade` works "
                            "without it, on "
                            "this machine alone.")
    _ensure_venv(console)
    _ensure_bubblewrap(console)
    if private_env.grading_python(root) is None:
        private_env.install_grading(root, console)


def _ensure_bubblewrap(console):
    """Where it can't be had, submissions are confined in another way."""
    if shutil.which("bwrap"):
        return
    try:
        packages.install(["bubblewrap"], console)
    except WorkbookError as error:
        console.say(f"bubblewrap could not be installed: {error} `./workbook grade` confines "
                    "submissions less well without it.")


def _ensure_venv(console):
    if not private_env.venv_module_works():
        packages.install([VENV_PACKAGE], console)
