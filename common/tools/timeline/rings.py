"""Rings of barriers, and what each of their stages holds when.

A ring is two equal rows of mbarriers of which one is waited for by those who arrive on the other.
"""

import re
from collections import defaultdict

from .model import EMPTY, FILLING, FULL, READING, Ring, StageTrack


def find(model, places, sources):
    """[Ring] of a cluster's barriers; `places` of instructions."""
    return _Finder(places, sources).find(model)


class _Finder:
    def __init__(self, places, sources):
        self._places, self._sources = places, sources

    def find(self, model):
        waiters, arrivers, first_waits = self._users(model)
        at = {}
        for barrier in model.barriers:
            at.setdefault(barrier["barrier_offset"], barrier)
        blocks = defaultdict(list)
        for offset in sorted(at):
            blocks[self._block_of(at[offset])].append(offset)

        def is_pair(full, empty):
            """Whether those who wait for one row arrive on the other."""
            if len(full) != len(empty):
                return False
            forth = any(waiters[f] & arrivers[e] for f, e in zip(full, empty))
            back = any(waiters[e] & arrivers[f] for f, e in zip(full, empty))
            nobody = not any(waiters[e] for e in empty) and any(arrivers[e] for e in empty)
            return forth and (back or nobody)

        def oriented(one, other):
            """(full, empty): the producer asks for the empty stage before its first phase."""
            if any(first_waits.get(offset, 0) < 0 for offset in one):
                return other, one
            if any(first_waits.get(offset, 0) < 0 for offset in other):
                return one, other
            return one, other

        rings = []
        for offsets in blocks.values():
            half = len(offsets) // 2
            if len(offsets) % 2 == 0:
                for one, other in ((offsets[:half], offsets[half:]), (offsets[::2], offsets[1::2])):
                    full, empty = oriented(one, other)
                    if is_pair(full, empty) and self._may_be_ring(at, full, empty):
                        rings.append(self._ring(at, full, empty, True))
                        break
                else:
                    rings += self._by_line(at, offsets, is_pair, oriented)
            else:
                rings += self._by_line(at, offsets, is_pair, oriented)
        return sorted(rings, key=lambda ring: ring.full)

    def _by_line(self, at, offsets, is_pair, oriented):
        """Rings of barriers that are initialised line by line."""
        rows = []
        for offset in offsets:
            place = self._frames(at[offset])[0]
            if rows and rows[-1][0] == place:
                rows[-1][1].append(offset)
            else:
                rows.append((place, [offset]))
        found, index = [], 0
        while index < len(rows):
            if index + 1 < len(rows):
                full, empty = oriented(rows[index][1], rows[index + 1][1])
                if is_pair(full, empty) and self._may_be_ring(at, full, empty):
                    found.append(self._ring(at, full, empty, False))
                    index += 2
                    continue
            found.append(self._ring(at, rows[index][1], (), False))
            index += 1
        return found

    def _may_be_ring(self, at, full, empty):
        """Two single barriers that have names of their own are not a ring of one stage."""
        if len(full) > 1:
            return True
        names = [self._name_in(self._naming_frame(self._frames(at[offset])), at[offset])
                 for offset in (full[0], empty[0])]
        return names[0] == names[1] or any("full" in name or "empty" in name for name in names)

    def _users(self, model):
        """Warps that wait for, and that arrive on, the barriers at an offset (or have issued what
        arrives), and the phase that is asked for first. CTAs of a cluster are alike."""
        waiters, arrivers, first_waits = defaultdict(set), defaultdict(set), {}
        for event in model.events:
            if event.barrier is None and not event.fields.get("signals"):
                continue
            offset = (model.barriers[event.barrier]["barrier_offset"]
                      if event.barrier is not None else None)
            if event.event == "mbarrier_wait":
                waiters[offset].add(event.warp)
                first_waits.setdefault(offset, event.waited_phase)
            elif event.event in ("mbarrier_arrive", "mbarrier_expect_tx", "tmem_commit",
                                 "mbarrier_complete_tx"):
                arrivers[offset].add(event.warp)
        return waiters, arrivers, first_waits

    def _frames(self, barrier):
        """The calls around an init, less the wrappers of instructions."""
        stack = self._places[barrier["init"]].stack
        own = [frame for frame in stack if "common/device/" not in frame.path]
        return own or list(stack)

    def _block_of(self, barrier):
        """Equal for the barriers that one call initialises."""
        frames = self._frames(barrier)
        return (frames[0].function, tuple(str(frame) for frame in frames[1:]))

    def _ring(self, at, full, empty, by_call):
        frames = self._frames(at[full[0]])
        frame = self._naming_frame(frames)
        if frame == frames[0] and by_call and len(full) > 1 and len(frames) > 1:
            frame = frames[1]  # the ring's own function says nothing of this ring
        names = [self._name_in(frame, at[full[0]])]
        if empty and not by_call:
            second = self._name_in(self._naming_frame(self._frames(at[empty[0]])), at[empty[0]])
            if second != names[0]:
                names.append(second)
        return Ring(" / ".join(names), tuple(full), tuple(empty), frame)

    @staticmethod
    def _naming_frame(frames):
        """The outermost line inside a function which initialises."""
        inits = [frame for frame in frames if "init" in frame.function]
        return inits[-1] if inits else frames[0]

    def _name_in(self, frame, barrier):
        """From the line that initialises it: shared.input_barriers is "input"."""
        text = self._sources.line(frame)
        match = (re.search(r"\b(?:shared|storage)\.(\w+)", text)
                 or re.match(r"(?:if \([^)]*\) )?[*&]?([a-z_]\w*)(?=[\[.(-])", text))
        if not match or match.group(1) in ("ptx", "typename", "if", "for"):
            return barrier["barrier"].split("::")[-1]
        name = re.sub(r"_?(barriers?|mbars?|pipeline)$", "", match.group(1)) or match.group(1)
        return name.replace("_", " ").strip()


def add_stages(model):
    """Adds the StageTracks of each CTA's rings."""
    marks = _marks(model)
    for cta in model.ctas:
        for ring in model.rings:
            for stage, offset in enumerate(ring.full):
                empty = ring.empty[stage] if ring.empty else None
                states = _stage_states(marks, cta, offset, empty, model.end)
                if states:
                    cta.stages.append(StageTrack(ring, stage, states))


def _marks(model):
    """{(rank, offset): {"begins": ..., "completes": ..., "passes": ...}}: cycles by phase."""
    marks = defaultdict(lambda: {"begins": {}, "completes": {}, "passes": {}})

    def key(barrier):
        one = model.barriers[barrier]
        return one["barrier_rank"], one["barrier_offset"]

    for event in model.events:
        if event.event == "copy_issue":
            signals = [(signal["rank"], signal["offset"])
                       for signal in event.fields.get("signals", ())]
            if event.barrier is not None:
                signals.append(key(event.barrier))
            for signal in signals:
                marks[signal].setdefault("copies", []).append((event.cycle, event.rank))
        if event.barrier is None:
            continue
        mark = marks[key(event.barrier)]
        if event.event in ("mbarrier_arrive", "mbarrier_expect_tx"):
            mark["begins"].setdefault(event.phase, event.cycle)
        elif event.event == "mbarrier_complete":
            mark["completes"][event.phase] = event.cycle
        elif event.event == "mbarrier_wait" and event.done:
            mark["passes"].setdefault(event.waited_phase, event.cycle)
        elif event.event == "wait":
            mark["waits"] = True
    return marks


def _stage_states(marks, cta, full_offset, empty_offset, end):
    """[(begin, end, state, lap)] of a stage; [] where its barriers did nothing."""
    full = marks.get((cta.rank, full_offset))
    empty = marks.get((cta.rank, empty_offset)) if empty_offset is not None else None
    if empty and (not full or not full["completes"]):
        # The other CTA of a pair keeps its full barrier: this one's copies signal that.
        for (_, offset), other in marks.items():
            if offset == full_offset and any(source == cta.rank
                                             for _, source in other.get("copies", ())):
                full = other
                break
    if empty and not empty["completes"] and (cta.rank ^ 1, empty_offset) in marks:
        empty = marks[(cta.rank ^ 1, empty_offset)]  # … and both release to the leader
    if not full or not (full["completes"] or full["begins"] or full.get("waits")):
        return []
    states, at, lap = [], cta.begin, 0

    def add(until, state):
        nonlocal at
        if until > at:
            states.append((at, until, state, lap))
            at = until

    if empty is None:  # a lone barrier: a phase after the other
        for phase in sorted(full["completes"]):
            lap = phase
            add(full["completes"][phase], FILLING)
        lap = len(full["completes"])
        add(end, FILLING)
        return states
    while True:
        done = full["completes"].get(lap)
        begins = [cycle for cycle in (full["begins"].get(lap),) if cycle is not None]
        begins += [cycle for cycle, _ in full.get("copies", ())
                   if at <= cycle <= (-1 if done is None else done)][:1]
        passed = empty["passes"].get(lap - 1)
        if passed is not None and (begins or done is not None):
            begins.append(passed)
        if not begins:
            add(end, EMPTY)
            return states
        add(max(at, min(begins)), EMPTY)
        if done is None:
            add(end, FILLING)
            return states
        add(done, FILLING)
        released = empty["completes"].get(lap)
        taken = full["passes"].get(lap)
        if taken is None:
            add(end if released is None else released, FULL)
        else:
            add(max(taken, done), FULL)
            add(end if released is None else released, READING)
        if released is None:
            return states
        lap += 1
