"""The chapters: their names, and which GPUs run them natively."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from .errors import WorkbookError


@dataclass(frozen=True)
class Chapter:
    """A chapter. `name` is its folder and the name of its program; capabilities are of GPUs."""

    name: str
    title: str
    capabilities: tuple

    @property
    def number(self):
        return int(self.name[:2])

    @property
    def label(self):
        """Its label in ctest."""
        return f"chapter{self.number:02d}"

    def runs_on(self, gpu):
        return gpu.capability in self.capabilities and gpu.driver_is_new_enough


# GPUs for which a chapter is compiled for the family of its architecture ('100f' instead of '100a').
FAMILIES = {"10.0": ("10.3",)}


def _capabilities(architectures):
    """The compute capabilities of the GPUs that run code for architectures: '10.0' for '100a', and
    those of its family."""
    found = []
    for architecture in architectures:
        digits = re.match(r"\d+", architecture).group()
        capability = f"{digits[:-1]}.{digits[-1]}"
        found += [capability, *FAMILIES.get(capability, ())]
    return tuple(found)


def _read():
    """The chapters of common/chapters.json, which CMake reads as well (BwChapters.cmake)."""
    text = (Path(__file__).resolve().parents[1] / "chapters.json").read_text(encoding="utf-8")
    return tuple(Chapter(entry["name"], entry["title"], _capabilities(entry["architectures"]))
                 for entry in json.loads(text))


CHAPTERS = _read()


def written(root, chapter):
    """Whether the chapter's program is in this checkout."""
    return any((root / place / chapter.name / "main.cu").is_file()
               for place in ("chapters", "solutions"))


def find(root, wanted):
    """The chapter called '5', '05' or '05_blockwise_fp8_gemm'; an error lists what there is."""
    for chapter in CHAPTERS:
        if wanted == chapter.name or (re.fullmatch(r"\d{1,2}", wanted)
                                      and int(wanted) == chapter.number):
            return chapter
    raise WorkbookError(f"There is no chapter '{wanted}'. Chapters to run, by number or name: "
                        f"{listing(root)}.", exit_code=2)


def find_program(root, wanted):
    """Like find(), for a chapter whose program is in this checkout."""
    chapter = find(root, wanted)
    if not written(root, chapter):
        raise WorkbookError(f"Chapter {chapter.number} ({chapter.title}) is planned but has no "
                            f"program yet. Chapters to run: {listing(root)}.")
    return chapter


def listing(root):
    """The chapters of this checkout in one phrase."""
    names = [f"{chapter.number} ({chapter.name})" for chapter in CHAPTERS
             if written(root, chapter)]
    return ", ".join(names) if names else "none yet"


def choose_machine(chapter, gpus, wanted):
    """(run on the GPU?, why) for a chapter; `wanted` is 'gpu', 'sim' or None for the best one."""
    if wanted == "sim":
        return False, "in the simulator, as asked"
    fitting = [gpu for gpu in gpus if chapter.runs_on(gpu)]
    if fitting:
        return True, f"on the GPU ({fitting[0].name})"
    reason = _why_not(chapter, gpus)
    if wanted == "gpu":
        raise WorkbookError(f"Chapter {chapter.number} can't run on a GPU here: {reason}. Leave "
                            "--gpu out to run it in the simulator.")
    return False, f"in the simulator ({reason})"


def gpu_for(chapter, gpus, what):
    """The first GPU that runs a chapter's code; an error where `what` finds none."""
    for gpu in gpus:
        if chapter.runs_on(gpu):
            return gpu
    raise WorkbookError(f"{what} measures chapter {chapter.number} on a GPU, which can't be done here: "
                        f"{_why_not(chapter, gpus)}.")


def describe_machine(chapter, gpus):
    """Where a chapter runs, in one phrase."""
    return choose_machine(chapter, gpus, None)[1]


def _why_not(chapter, gpus):
    if not gpus:
        return "no NVIDIA GPU with a working driver was found"
    old = [gpu for gpu in gpus if gpu.capability in chapter.capabilities]
    if old:
        return f"the driver {old[0].driver} of {old[0].name} is older than CUDA 13 needs (580)"
    needed = " or ".join(chapter.capabilities)
    return (f"{gpus[0].name} has compute capability {gpus[0].capability}, and the chapter is "
            f"compiled for {needed}")
