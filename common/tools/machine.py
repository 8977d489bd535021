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


def processor_name():
    """The processor's model name, or its architecture where the kernel gives none."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


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
    """The GPUs that nvidia-smi lists, in its order; none if there is no driver."""
    if not shutil.which("nvidia-smi"):
        return []
    status, text = capture(["nvidia-smi", "--query-gpu=name,compute_cap,driver_version",
                            "--format=csv,noheader"])
    if status != 0:
        return []
    fields = [[part.strip() for part in line.split(",")] for line in text.splitlines()]
    return [Gpu(*parts) for parts in fields if len(parts) == 3]
