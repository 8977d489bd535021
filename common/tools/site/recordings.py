"""Recorded runs for the page that steps through an mbarrier.

A recording holds the mbarriers of one CTA and, in order, what happened to them: who arrived, which
bytes were announced and landed, who asked, who went to sleep and was woken. It is made from the
simulator's event log (common/simulator/README.md, "The event log") at every build of the site.
"""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from .. import build, exercises, runs
from ..errors import WorkbookError
from ..timeline import builder, figure, page
from ..timeline.around import Around
from ..timeline.recording import signalling_unit

_GUIDE = "../concepts/timeline.html"  # in the site, from the folder of the timelines
_EVENTS = {"mbarrier_init": "init", "mbarrier_arrive": "arrive", "mbarrier_expect_tx": "expect",
           "mbarrier_complete_tx": "landed", "mbarrier_complete": "complete",
           "mbarrier_wait": "ask", "wait": "sleep", "resume": "wake"}


@dataclass(frozen=True)
class Recorded:
    """A run that is recorded: its title on the page, its program and options, and which CTA."""

    name: str
    title: str
    program: str
    options: tuple
    rank: int = 0


RUNS = (
    Recorded("chapter1", "Chapter 1: a ring of two stages, filled by tensor copies",
             "01_mbarrier_pipeline",
             ("--rows", "256", "--columns", "128", "--stages", "2", "--runs", "1")),
    Recorded("chapter5", "Chapter 5: the GEMM on a pair of CTAs, the leader's barriers",
             "05_blockwise_fp8_gemm",
             ("--m", "256", "--n", "128", "--k", "2048", "--beta", "0.5")),
)


def write(root, tools, folder):
    """Writes one script a run into `folder`; returns the files' names."""
    names = []
    for run in RUNS:
        data = record(root, tools, run)
        name = f"recording_{run.name}.js"
        text = json.dumps(data, separators=(",", ":"))
        (folder / name).write_text(f"(window.bwRecordings = window.bwRecordings || []).push({text});\n",
                                   encoding="utf-8")
        names.append(name)
    return names


def write_timelines(root, tools, folder, frame):
    """The same runs as timelines; returns their file names. `frame(name)` is the site's header for a
    page: what goes into its <head>, and what its <body> begins with."""
    pages = []
    for run in RUNS:
        launch = figure.recorded(root, tools, run.program, run.options, None)
        name = f"timeline_{run.name}.html"
        page.write(folder / name, run.title,
                   [(" ".join(run.options), launch, builder.build(launch, Path(root)))], Path(root),
                   *frame(name), around=Around(guide=_GUIDE))
        pages.append(name)
    return pages


def record(root, tools, run):
    """The recording of a run as the page takes it."""
    runs.folder(root).mkdir(parents=True, exist_ok=True)
    log = runs.folder(root) / f"site-{os.getpid()}.jsonl"
    try:
        ended = runs.execute(root, tools, exercises.Run(run.program, run.options), 0,
                             runs.SOLUTION_SECONDS, BW_SIM_EVENTS=str(log))
        if not ended.verified:
            raise WorkbookError(f"{run.program} {' '.join(run.options)} does not verify.",
                                details=ended.text)
        with open(log, encoding="utf-8") as lines:
            made = of_log(lines, run, _Sources(root))
    finally:
        if log.exists():
            log.unlink()
    launch = figure.recorded(root, tools, run.program, run.options, None)
    made["roles"] = roles_of(builder.build(launch, Path(root))[0])
    return made


def roles_of(model):
    """{"rank,warp": role} of a cluster's warps, by the names that timelines have."""
    return {f"{cta.rank},{warp}": role.name for cta in model.ctas for role in cta.roles
            for warp in role.warps}


def of_log(lines, run, sources):
    """A recording from the lines of an event log."""
    barriers, steps, begin = {}, [], None
    for text in lines:
        event = json.loads(text)
        if event["event"] == "launch":
            if begin:
                break  # one launch is shown
            begin = event
            continue
        name = _EVENTS.get(event["event"])
        if name is None or event.get("barrier_rank") != run.rank or event.get("cluster"):
            continue
        if name in ("sleep", "wake") and event.get("kind") != "mbarrier":
            continue
        offset = event["barrier_offset"]
        if name == "init":
            barriers[offset] = event
        steps.append((offset, _step(name, event)))
    if not barriers:
        raise WorkbookError(f"{run.program} has initialised no mbarrier in CTA {run.rank}.")
    order = sorted(barriers)
    index = {offset: number for number, offset in enumerate(order)}
    return {"name": run.name, "title": run.title, "kernel": begin["kernel"],
            "command": " ".join([run.program, *run.options]),
            "barriers": _named([barriers[offset] for offset in order], sources),
            "steps": [[index[offset], *step] for offset, step in steps if offset in index]}


def _step(name, event):
    """[event, cycle, [rank, warp], place, {further fields}]"""
    fields = {}
    for short, field in (("ph", "phase"), ("pe", "pending"), ("ex", "expected"), ("tx", "tx"),
                         ("n", "count"), ("b", "bytes"), ("q", "waited_phase"), ("why", "why"),
                         ("s", "waited")):
        if field in event:
            fields[short] = event[field]
    if "done" in event:
        fields["ok"] = int(event["done"])
    place = _own_place(event)
    who = event.get("warp", -1)
    unit = signalling_unit(event.get("opcode", ""))
    if unit == "mma" and name in ("arrive", "complete"):
        fields["unit"] = "tensor core"
    if unit == "copy" and name in ("landed", "complete"):
        fields["unit"] = "copy engine"
    return [name, event["cycle"], [event["rank"], who], place, fields]


def _own_place(event):
    """Where a warp's role says it: the innermost place outside of what all rings share."""
    if "file" not in event:
        return ""
    shared = ("mbarrier.cuh", "shared_mem_barrier.cuh", "producer_consumer_pipeline.cuh",
              "pipeline_contexts.cuh", "tma_load.cuh", "bulk_copy.cuh", "tcgen05_commit.cuh")
    for place in event.get("stack", ()):
        if not place.startswith(shared):
            return place
    return f"{event['file']}:{event['line']}"


def _named(inits, sources):
    """[{label, count, place, offset}]: a ring's barriers are named after the line that made them."""
    groups = {}
    for event in inits:
        groups.setdefault(_maker(event, sources), []).append(event)
    named = {}
    for maker, events in groups.items():
        ring = len(events) > 1 and any("producer_consumer_pipeline.cuh" in place
                                       for place in events[0].get("stack", ()))
        for number, event in enumerate(events):
            label = maker
            if ring:  # a pipeline keeps its full barriers before its empty ones
                half = len(events) // 2
                label += f", {'full' if number < half else 'empty'}[{number % half}]"
            elif len(events) > 1:
                label += f"[{number}]"
            named[event["barrier_offset"]] = label
    return [{"label": named[event["barrier_offset"]], "count": event["count"],
             "place": event["barrier_init"], "symbol": event["barrier"]} for event in inits]


def _maker(event, sources):
    """What the reader calls the barriers that a line makes: `input` of `input.init_barriers(...)`."""
    for place in reversed(event.get("stack") or [f"{event['file']}:{event['line']}"]):
        match = re.search(r"(\w+)(?:\(\)|<[^;]*?>|\})?(?:\.pipeline)?(?:\.|->|::)init_barriers?\(",
                          sources.line(place))
        if match and match.group(1) not in ("cta", "roles"):
            return match.group(1)
    return event["barrier_init"]


class _Sources:
    """Lines of the repository's files by the base names that the event log has."""

    def __init__(self, root):
        self._files = {}
        for folder in ("solutions", "common/device"):
            for path in sorted((Path(root) / folder).rglob("*.cuh")):
                self._files.setdefault(path.name, []).append(path)

    def line(self, place):
        """The text of `file:line`, or nothing where it isn't known which file it is."""
        name, _, number = place.rpartition(":")
        found = self._files.get(name, [])
        for path in found:
            lines = path.read_text(encoding="utf-8").split("\n")
            if int(number) <= len(lines) and (len(found) == 1 or "init" in lines[int(number) - 1]):
                return lines[int(number) - 1]
        return ""


def programs():
    """The CMake targets that recordings run."""
    return [run.program for run in RUNS]


def built(root):
    """Whether the programs are there."""
    return all(build.program(Path(root), build.SIM, name).is_file() for name in programs())
