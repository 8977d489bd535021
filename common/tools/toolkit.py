"""Finds a CUDA Toolkit that is new enough and complete.

common/cmake/BwToolkit.cmake looks in the same places for those who call CMake themselves. Both read the
supported releases from common/toolkits.json.
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import private_env
from .process import capture

SUPPORTED = private_env.TOOLKITS
# Environment variable: 1 leaves the machine's own toolkits aside and uses the checkout's.
IGNORE_SYSTEM = "BW_TOOLKIT_IGNORE_SYSTEM"
# Environment variable: 1 also accepts a toolkit that is older than the oldest supported one.
ANY_RELEASE = "BW_TOOLKIT_ANY_RELEASE"


def _numbers(release):
    return tuple(int(number) for number in release.split("."))


@dataclass(frozen=True)
class Toolkit:
    """A usable toolkit: its nvcc, and its release as printed by nvcc ('13.0')."""

    nvcc: Path
    release: str
    private: bool

    def describe(self):
        where = "the checkout's private environment" if self.private else self.nvcc.parent.parent
        return f"CUDA Toolkit {self.release} ({where})"

    def caution(self):
        """A sentence about a release outside of the supported ones, or None."""
        oldest, newest = SUPPORTED["oldest"], SUPPORTED["newest"]
        if _numbers(self.release) > _numbers(newest):
            return (f"CUDA Toolkit {self.release} is newer than {newest}, the newest release that this "
                    "workbook was tested with. It is used; if something fails, "
                    f"`{IGNORE_SYSTEM}=1 ./workbook setup` installs a tested one.")
        if _numbers(self.release) < _numbers(oldest):
            return (f"CUDA Toolkit {self.release} is older than {oldest}, the oldest supported release. "
                    f"It is used because {ANY_RELEASE} is 1, and code for sm_100a may not compile.")
        return None


@dataclass(frozen=True)
class Rejected:
    """A toolkit that was found but can't be used, and why."""

    nvcc: Path
    reason: str


def _system_candidates(env):
    if env.get(IGNORE_SYSTEM) == "1":
        return
    for name in ("CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT"):
        if env.get(name):
            yield Path(env[name]) / "bin" / "nvcc"
    in_path = shutil.which("nvcc", path=env.get("PATH", ""))
    if in_path:
        yield Path(in_path)
    yield Path("/usr/local/cuda/bin/nvcc")


def release_of(nvcc):
    """The release of an nvcc as two numbers, or None if it does not run."""
    status, text = capture([str(nvcc), "--version"])
    match = re.search(r"release (\d+)\.(\d+)", text)
    return (int(match.group(1)), int(match.group(2))) if status == 0 and match else None


def _missing_part(nvcc):
    """The first part that compiling for sm_100a needs and this toolkit lacks, or None."""
    root = nvcc.resolve().parent.parent
    includes = [root / "include", *root.glob("targets/*/include")]

    def has_header(name):
        return any((include / name).is_file() for include in includes)

    parts = (
        ("ptxas", (root / "bin" / "ptxas").is_file()),
        ("cicc (nvvm)", (root / "nvvm" / "bin" / "cicc").is_file()),
        ("the runtime's headers", has_header("cuda_runtime.h")),
        ("the crt headers", has_header("crt/host_config.h")),
        ("libcu++ (cccl)", has_header("cccl/cuda/std/cstdint") or has_header("cuda/std/cstdint")),
    )
    return next((name for name, present in parts if not present), None)


def _examine(nvcc, private, env):
    """The Toolkit of an nvcc, or a Rejected."""
    release = release_of(nvcc)
    if release is None:
        return Rejected(nvcc, "it does not run")
    text = f"{release[0]}.{release[1]}"
    oldest = SUPPORTED["oldest"]
    if release < _numbers(oldest) and env.get(ANY_RELEASE) != "1":
        return Rejected(nvcc, f"it is release {text}, older than {oldest} ({ANY_RELEASE}=1 uses it all "
                              "the same)")
    missing = _missing_part(nvcc)
    if missing:
        return Rejected(nvcc, f"it lacks {missing}")
    return Toolkit(nvcc, text, private)


def find_nvdisasm(root, nvcc, env=None):
    """The disassembler that goes with an nvcc: of its own toolkit, on PATH, or the checkout's. An nvcc
    of the checkout's has the pinned one alone: others may be older than the machine code.

    None if no disassembler is found. Only the tests that read machine code need it.
    """
    env = os.environ if env is None else env
    beside = Path(nvcc).resolve().parent / "nvdisasm"
    if private_env.folder(Path(root)).resolve() in beside.parents:
        return private_env.nvdisasm(root)
    if beside.is_file():
        return beside
    in_path = shutil.which("nvdisasm", path=env.get("PATH", ""))
    if in_path and env.get(IGNORE_SYSTEM) != "1":
        return Path(in_path)
    return private_env.nvdisasm(root)


def find(root, env=None):
    """(Toolkit or None, [Rejected]): the first usable toolkit of the places where one may be."""
    env = os.environ if env is None else env
    rejected = []
    candidates = [(path, False) for path in _system_candidates(env)]
    if private_env.is_complete(root):
        candidates += [(path, True) for path in private_env.nvcc_paths(root)]
    seen = set()
    for path, private in candidates:
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        result = _examine(path, private, env)
        if isinstance(result, Toolkit):
            return result, rejected
        rejected.append(result)
    return None, rejected
