"""A trace for ui.perfetto.dev and its trace processor, in the JSON trace event format.

One cycle is one microsecond there. A CTA is a process; warps, units and stages are its threads.
"""

import json
from collections import defaultdict

from . import lanes

_DELAY = 0.25  # of a cycle: flows begin and end inside of slices


def events(runs):
    """The trace events of runs [(label, launch, models)]."""
    made, flows, process = [], [0], [0]
    for label, launch, models in runs:
        for model in models:
            threads = {}
            pending = []
            for cta in model.ctas:
                process[0] += 1
                made += _cta_events(label, launch, model, cta, process[0], threads, pending)
            made += _flows(pending, threads, flows)
    return made


def write(path, runs):
    with open(path, "w", encoding="utf-8") as file:
        # Not json.dump(), which takes several times as long: it encodes and writes each token by itself.
        file.write(json.dumps({"displayTimeUnit": "ns", "traceEvents": events(runs)},
                              separators=(",", ":")))


def _cta_events(label, launch, model, cta, process, threads, pending):
    name = f"{label + ': ' if label else ''}CTA {tuple(cta.index)}, cluster {model.index}"
    made = [_meta("process_name", process, 0, {"name": f"{name} (1 us is 1 cycle)"}),
            _meta("process_sort_index", process, 0, {"sort_index": process})]
    drawn, _ = lanes.of_cta(model, cta)
    thread = 0
    for lane in drawn:
        for number, track in enumerate(lane.tracks):
            thread += 1
            title = lane.label + (f", {lane.names[number]}" if lane.names else
                                  f" {number}" if len(lane.tracks) > 1 else "")
            made += [_meta("thread_name", process, thread, {"name": title}),
                     _meta("thread_sort_index", process, thread, {"sort_index": thread})]
            for mark in track:
                if mark.end <= mark.begin:
                    continue
                made.append({"ph": "X", "pid": process, "tid": thread, "ts": mark.begin,
                             "dur": mark.end - mark.begin, "name": _slice_name(mark),
                             "cat": mark.kind, "args": _arguments(mark, launch)})
                if mark.source is not None and not isinstance(mark.source, int):
                    threads.setdefault(id(mark.source), (process, thread, mark))
            if lane.kind == lanes.ROLE:
                warp = int(lane.names[number].split()[-1])
                threads[("warp", cta.rank, warp)] = (process, thread, track)
    for segments in cta.warps.values():
        pending += [segment for segment in segments
                    if segment.completion is not None and segment.end is not None]
    return made + _counters(cta, process)


def _meta(name, process, thread, arguments):
    return {"ph": "M", "pid": process, "tid": thread, "name": name, "args": arguments}


def _slice_name(mark):
    if mark.kind == "wait":
        return f"waits for {mark.reason}"
    if mark.kind in ("copy", "mma"):
        return mark.text
    return lanes.STATE_WORDS.get(mark.kind) or {"run": "issues", "data": "waits for loaded data"}[
        mark.kind]


def _arguments(mark, launch):
    arguments = {}
    if mark.text and mark.kind not in ("copy", "mma"):
        arguments["what"] = mark.text
    place = launch.places.get(mark.instruction)
    if place is not None:
        arguments["place"] = str(place.detail)
        arguments["instruction"] = place.opcode
    if mark.endless:
        arguments["ended"] = "never"
    return arguments


def _counters(cta, process):
    """Bytes in flight, and stages of each ring that hold data."""
    changes = defaultdict(lambda: defaultdict(int))
    for copy in cta.copies:
        landed = copy.landed if copy.landed is not None else copy.read
        changes["bytes in flight"][copy.issued] += copy.bytes
        if landed is not None:
            changes["bytes in flight"][landed] -= copy.bytes
    for track in cta.stages:
        if not track.ring.empty:
            continue
        for begin, end, state, _ in track.states:
            if state in ("full", "reading"):
                changes[f"{track.ring.name}: stages in use"][begin] += 1
                changes[f"{track.ring.name}: stages in use"][end] -= 1
    made = []
    for name, steps in changes.items():
        value = 0
        for cycle in sorted(steps):
            value += steps[cycle]
            made.append({"ph": "C", "pid": process, "tid": 0, "ts": cycle, "name": name,
                         "args": {"value": value}})
    return made


def _flows(pending, threads, numbers):
    """Arrows from the event that ended a wait to the wait. Both ends are inside of a slice."""
    made = []
    for segment in pending:
        target = threads.get(id(segment))
        done = segment.completion
        if target is None or segment.end <= segment.begin:
            continue
        source = None
        if done.by == "copy" and done.copy is not None and id(done.copy) in threads:
            process, thread, mark = threads[id(done.copy)]
            source = process, thread, min(done.cycle, mark.end) - 2 * _DELAY
        else:
            found = threads.get(("warp", done.rank, done.warp))
            at = _inside(found[2], done.cycle, segment.end) if found else None
            if at is not None:
                source = found[0], found[1], at
        arrives = segment.end - _DELAY
        if source is None or source[2] >= arrives or source[:2] == target[:2]:
            continue
        numbers[0] += 1
        common = {"id": numbers[0], "name": "hand-over", "cat": "hand-over"}
        made.append({"ph": "s", "pid": source[0], "tid": source[1], "ts": source[2], **common})
        made.append({"ph": "f", "bp": "e", "pid": target[0], "tid": target[1], "ts": arrives,
                     **common})
    return made


def _inside(track, cycle, before):
    """A moment of a track's slice that holds, or last held, the cycle."""
    best = None
    for mark in track:
        if mark.begin > cycle:
            break
        if mark.end > mark.begin:
            best = mark
    if best is None:
        return None
    return min(cycle + _DELAY, best.end - 2 * _DELAY, before - 2 * _DELAY) \
        if best.begin <= min(cycle, before - 2 * _DELAY) else None
