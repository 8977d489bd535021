"""What this machine is: processor, memory, distribution, GPUs."""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from .process import capture

# The first driver branch that runs CUDA 13 programs.
MINIMUM_DRIVER = 580
# What one compilation of a CUDA or template-heavy source may take at its peak.
GIB_PER_JOB = 1.5


@dataclass(frozen=True)
class Gpu:
    """A GPU as nvidia-smi reports it; `capability` is '10.0' for a B200, '9.0' for an H100."""

    name: str
    capability: str
    driver: str

    @property
    def driver_is_new_enough(self):
        major = self.driver.split(".")[0]
        return major.isdigit() and int(major) >= MINIMUM_DRIVER


def core_count():
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_gib():
    """Physical memory in GiB, 0 if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError):
        return 0.0


def build_jobs():
    """Parallel compilations: one per core, fewer where memory is short."""
    by_memory = int(memory_gib() / GIB_PER_JOB) or 1
    return max(1, min(core_count(), by_memory))


def processor_name(description=Path("/proc/cpuinfo")):
    """The processor's model name, with its architecture if it is not x86-64.

    On 64-bit Arm the kernel gives numbers alone, for which lscpu knows names.
    """
    try:
        text = description.read_text(encoding="utf-8")
    except OSError:
        text = ""
    name = _field(text, "model name")
    if not name and shutil.which("lscpu"):
        name = _field(capture(["lscpu"], env=dict(os.environ, LC_ALL="C"))[1], "Model name")
    architecture = platform.machine()
    if architecture == "x86_64" and name:
        return name
    return f"{name} ({architecture})" if name and name != "-" else architecture


def _field(text, name):
    """The value of the first line `name : value`, or an empty string."""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def distribution_name():
    """PRETTY_NAME of /etc/os-release, or the system's name."""
    try:
        for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.split("=", 1)[1].strip().strip('"')
    except OSError:
        pass
    return platform.system()


def find_gpus():
    """The GPUs that nvidia-smi lists, in its order; none without a driver."""
    if not shutil.which("nvidia-smi"):
        return []
    status, text = capture(["nvidia-smi", "--query-gpu=name,compute_cap,driver_version",
                            "--format=csv,noheader"])
    if status != 0:
        return []
    fields = [[part.strip() for part in line.split(",")] for line in text.splitlines()]
    return [Gpu(*parts) for parts in fields if len(parts) == 3]
