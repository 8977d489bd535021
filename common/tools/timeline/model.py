"""What a recording shows: roles, what each warp does when, rings and their stages, copies and MMAs.

Cycles are those of the recording. Nothing here knows a kernel: roles are named by the functions that
their warps alone are in, a ring is two equal rows of mbarriers of which one is waited for by those
who arrive on the other.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

RUN, WAIT, DATA = "run", "wait", "data"
# A role's function has to take at least this share of its warps' time to name it. It is small: a warp
# that has done its work waits for the others.
_NAMING_SHARE = 0.02
_SET_UP = re.compile(r"init|prefetch|elect_one")
# Cycles between a time limit and the next test.
_LONGEST_RETRY = 100
# Behind a run that got stuck, this share of its length is drawn.
_MARGIN = 20
_STUCK = ("deadlock", "livelock", "cycle_limit")
# Waits within a warp: they hide behind what another strand of it waits for.
_INNER_WAITS = ("reconvergence", "warp_sync")
EMPTY, FILLING, FULL, READING = "empty", "filling", "full", "reading"
STAGE_STATES = (EMPTY, FILLING, FULL, READING)


@dataclass
class Completion:
    """What ended a wait: `by` is "warp", "copy", "mma" or "other"; (rank, warp) acted or had issued
    it."""

    cycle: int
    by: str
    rank: int
    warp: int
    instruction: int
    copy: object = None


@dataclass
class Segment:
    """A stretch of a warp: it runs, waits, or what it loaded has not arrived (`data`).

    `end` is None for a wait that never ended. `parts`: (begin, end, instructions, instruction) line
    by line; of a wait, where its time limit passed and it was tried again. `completion`: of a wait,
    what ended it."""

    kind: str
    begin: int
    end: int
    instruction: int = None
    parts: list = field(default_factory=list)
    reason: str = ""  # the kind of a wait
    barrier: int = None  # index in the cluster
    phase: int = None
    object: int = None
    completion: Completion = None
    timed_out: bool = False

    def length(self, until):
        return (until if self.end is None else self.end) - self.begin


@dataclass
class Copy:
    id: int
    unit: str
    direction: str
    bytes: int
    rank: int
    warp: int
    instruction: int
    issued: int
    barrier: int = None
    signals: list = field(default_factory=list)
    targets: int = 1
    read: int = None
    landed: int = None

    @property
    def path(self):
        return {"load": "global to shared memory", "store": "shared to global memory",
                "reduce": "shared to global memory (reduction)",
                "shared": "shared memory to another CTA's"}[self.direction]

    @property
    def moved(self):
        """Bytes written: a multicast copy reads once and writes in each CTA."""
        return self.bytes * self.targets


@dataclass
class Mma:
    id: int
    rank: int
    warp: int
    instruction: int
    issued: int
    begin: int  # it follows the one before it
    end: int
    text: str
    group: int
    operations: int


@dataclass
class Ring:
    """Stages with their barriers by offset; `empty` is () for barriers that make no ring."""

    name: str
    full: tuple
    empty: tuple
    place: object = None

    @property
    def stages(self):
        return len(self.full)


@dataclass
class StageTrack:
    """One stage of a CTA's ring: (begin, end, state, lap)."""

    ring: Ring
    stage: int
    states: list


@dataclass
class Role:
    name: str
    warps: tuple


@dataclass
class Cta:
    rank: int
    index: list
    begin: int
    end: int
    roles: list = field(default_factory=list)
    warps: dict = field(default_factory=dict)  # warp: [Segment]
    copies: list = field(default_factory=list)
    mmas: list = field(default_factory=list)
    stages: list = field(default_factory=list)
    tensor_memory: list = field(default_factory=list)  # events tmem_load and tmem_store


@dataclass
class ClusterModel:
    index: int
    begin: int
    end: int
    ctas: list
    barriers: list
    rings: list
    events: list
    completions: dict = None  # (barrier, phase): Completion
    places: dict = None

    def barrier_name(self, barrier):
        """"input full 3" for a ring's stage, else the barrier's own name."""
        offset = self.barriers[barrier]["barrier_offset"]
        for ring in self.rings:
            for word, offsets in (("full", ring.full), ("empty", ring.empty)):
                if offset in offsets:
                    which = f" {offsets.index(offset)}" if ring.stages > 1 else ""
                    return f"{ring.name} {word}{which}" if ring.empty else f"{ring.name}{which}"
        return self.barriers[barrier]["barrier"]

    def barrier_family(self, barrier):
        """The same without the stage: what waits are coloured and summed by."""
        offset = self.barriers[barrier]["barrier_offset"]
        for ring in self.rings:
            if offset in ring.full:
                return f"{ring.name} full" if ring.empty else ring.name
            if offset in ring.empty:
                return f"{ring.name} empty"
        return self.barriers[barrier]["barrier"]

    def reason_of(self, segment):
        """What a wait is for, as one phrase."""
        if segment.kind == DATA:
            return "data it has loaded"
        if segment.barrier is not None:
            return self.barrier_family(segment.barrier)
        return {"named_barrier": f"barrier {segment.object}" if segment.object else "__syncthreads",
                "cluster_barrier": "the cluster's barrier",
                "warp_sync": "lanes of its warp", "reconvergence": "lanes of its warp",
                "bulk_group": "its bulk stores", "cp_async_group": "its cp.async copies",
                "wgmma_group": "its wgmma", "tcgen05_alloc": "tensor memory to allocate",
                "tcgen05_wait": "its tensor memory accesses",
                "global_order": "global memory", "sleep": "sleep"}.get(segment.reason,
                                                                       segment.reason)


class Sources:
    """Lines of the tree's sources, found by the end of a path that a compiler was given."""

    def __init__(self, root):
        self._root, self._lines = root, {}

    def find(self, frame):
        """The path relative to the root, or the file's name."""
        match = re.search(r"(?:^|/)((?:solutions|chapters|common|tests)/.*)$", frame.path)
        return match.group(1) if match else frame.file

    def line(self, frame):
        path = self.find(frame)
        if path not in self._lines:
            place = self._root / path if self._root is not None else None
            try:
                self._lines[path] = place.read_text(encoding="utf-8").split("\n")
            except (OSError, AttributeError):
                self._lines[path] = []
        lines = self._lines[path]
        return lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else ""


def build(launch, root=None):
    """[ClusterModel] of a launch."""
    sources = Sources(root)
    models = [_Builder(launch, cluster, sources).build() for cluster in launch.clusters]
    _name_roles(models)
    return models


class _Builder:
    def __init__(self, launch, cluster, sources):
        self._launch, self._cluster, self._sources = launch, cluster, sources
        self._places = launch.places

    def build(self):
        events = self._cluster.events
        ends = [event.fields.get("until", event.cycle) for event in events]
        ends += [event.fields.get("completes", 0) for event in events]
        begin, end = (events[0].cycle, max(ends)) if events else (0, 0)
        if self._launch.status in _STUCK:  # so that waits which never end are seen
            end += max(1, (end - begin) // _MARGIN)
        ctas = [Cta(rank, index, begin, end) for rank, index in enumerate(self._cluster.ctas)]
        model = ClusterModel(self._cluster.index, begin, end, ctas, self._cluster.barriers, [],
                             events, {}, self._places)
        for event in events:
            if event.event == "cta_start":
                ctas[event.rank].begin = event.cycle
            elif event.event == "cta_end":
                ctas[event.rank].end = event.cycle
        self._copies(model)
        self._mmas(model)
        model.completions = self._completions(model)
        self._warps(model)
        model.rings = self._rings(model)
        for cta in ctas:
            cta.tensor_memory = []
        for event in events:
            if event.event in ("tmem_load", "tmem_store"):
                ctas[event.rank].tensor_memory.append(event)
        self._stages(model)
        return model

    # -- asynchronous units ----------------------------------------------------------------------
    def _copies(self, model):
        by_id = {}
        for event in model.events:
            if event.event == "copy_issue":
                copy = Copy(event.id, event.unit, event.direction, event.bytes, event.rank,
                            event.warp, event.instruction, event.cycle, event.barrier,
                            event.get("signals", []), max(1, len(event.destination)))
                by_id[copy.id] = copy
                model.ctas[copy.rank].copies.append(copy)
            elif event.event in ("copy_read", "copy_land") and event.id in by_id:
                setattr(by_id[event.id], event.event.replace("copy_", "").replace("land", "landed"),
                        event.cycle)

    def _mmas(self, model):
        last_end = {}
        for event in model.events:
            if event.event not in ("mma_issue", "tmem_copy_issue", "tmem_shift_issue"):
                continue
            begin = max(event.cycle, last_end.get(event.rank, 0))
            last_end[event.rank] = event.completes
            is_mma = event.event == "mma_issue"
            text = (f"{event.kind} {event.m}x{event.n}x{event.k}" if is_mma
                    else event.event.replace("_issue", "").replace("_", " "))
            size = event.m * event.n * event.k * 2 if is_mma else 0
            model.ctas[event.rank].mmas.append(
                Mma(event.id, event.rank, event.warp, event.instruction, event.cycle, begin,
                    event.completes, text, event.group, size))

    def _completions(self, model):
        """Who completed which phase of which barrier."""
        landings = defaultdict(list)
        for cta in model.ctas:
            for copy in cta.copies:
                if copy.landed is not None:
                    landings[(copy.rank, copy.warp, copy.instruction, copy.landed)].append(copy)
        found = {}
        for event in model.events:
            if event.event != "mbarrier_complete" or event.barrier is None:
                continue
            opcode = self._places[event.instruction].opcode if event.instruction is not None else ""
            copies = landings.get((event.rank, event.warp, event.instruction, event.cycle), ())
            if opcode.startswith("tcgen05.commit"):
                by = "mma"
            elif opcode.startswith("cp.async") and "mbarrier.arrive" not in opcode:
                by = "copy"
            else:
                by = "warp"
            found[(event.barrier, event.phase)] = Completion(
                event.cycle, by, event.rank, event.warp, event.instruction,
                copies[-1] if copies else None)
        return found

    # -- warps -----------------------------------------------------------------------------------
    def _warps(self, model):
        runs, waits, opened = defaultdict(list), defaultdict(list), {}
        groups = self._group_completions(model)
        for event in model.events:
            key = (event.rank, event.warp)
            if event.event == "run":
                runs[key].append((event.cycle, event.until, event.instructions, event.instruction))
            elif event.event == "wait":
                segment = Segment(WAIT, event.cycle, None, event.instruction, reason=event.kind,
                                  barrier=event.barrier, phase=event.get("phase"),
                                  object=event.get("object"))
                opened[(*key, event.lanes)] = segment
                waits[key].append(segment)
            elif event.event == "resume":
                segment = opened.pop((*key, event.lanes), None)
                if segment is None:  # its beginning lies before the window
                    continue
                segment.end = event.cycle
                segment.timed_out = event.why == "timeout"
                if event.why == "event":
                    segment.completion = (model.completions.get((segment.barrier, segment.phase))
                                          if segment.barrier is not None
                                          else groups.completion(event, segment))
        if self._launch.status == "finished":  # they end behind the window
            for segment in opened.values():
                segment.end = max(model.end, segment.begin)
        for rank, warp in sorted(set(runs) | set(waits)):
            segments = _without_retries(_segments(runs[(rank, warp)], waits[(rank, warp)], model.end))
            model.ctas[rank].warps[warp] = segments

    def _group_completions(self, model):
        return _Groups(model)

    # -- rings -----------------------------------------------------------------------------------
    def _rings(self, model):
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
        """Two single barriers that have names of their own are no ring of one stage."""
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
        """The outermost line that stands in a function which initialises."""
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

    # -- stages ----------------------------------------------------------------------------------
    def _stages(self, model):
        marks = self._marks(model)
        for cta in model.ctas:
            for ring in model.rings:
                for stage, offset in enumerate(ring.full):
                    empty = ring.empty[stage] if ring.empty else None
                    states = _stage_states(marks, cta, offset, empty, model.end)
                    if states:
                        cta.stages.append(StageTrack(ring, stage, states))

    def _marks(self, model):
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


class _Groups:
    """What ended waits that are not for mbarriers: the last arrival, or a copy of one's own."""

    def __init__(self, model):
        self._model = model
        self._barriers = defaultdict(list)  # (kind, rank, id): [(cycle, event)]
        for event in model.events:
            if event.event == "barrier_complete":
                rank = None if event.kind == "cluster_barrier" else event.rank
                self._barriers[(event.kind, rank, event.id)].append((event.cycle, event))
        self._copies = defaultdict(list)
        for cta in model.ctas:
            for copy in cta.copies:
                self._copies[(copy.rank, copy.warp)].append(copy)

    def completion(self, event, segment):
        if segment.reason in ("named_barrier", "cluster_barrier"):
            of_cluster = segment.reason == "cluster_barrier"
            done = self._barriers.get((segment.reason, None if of_cluster else event.rank,
                                       0 if of_cluster else segment.object or 0), [])
            at = bisect_right([cycle for cycle, _ in done], event.cycle) - 1
            if at < 0 or done[at][0] < segment.begin:
                return None
            by = done[at][1]
            return Completion(by.cycle, "warp", by.rank, by.warp, by.instruction)
        if segment.reason in ("bulk_group", "cp_async_group"):
            ended = [copy for copy in self._copies[(event.rank, event.warp)]
                     if copy.issued <= event.cycle
                     and segment.begin <= (copy.landed or copy.read or 0) <= event.cycle
                     or segment.begin <= (copy.read or 0) <= event.cycle]
            if ended:
                copy = max(ended, key=lambda one: one.landed or one.read)
                return Completion(event.cycle, "copy", copy.rank, copy.warp, copy.instruction, copy)
        return None


def _merged(runs):
    """Stretches of runs that follow each other or overlap: (begin, end, parts)."""
    stretches = []
    for run in sorted(runs):
        if stretches and run[0] <= stretches[-1][1]:
            last = stretches[-1]
            last[2].append(run)
            last[1] = max(last[1], run[1])
        else:
            stretches.append([run[0], run[1], [run]])
    return stretches


def _segments(runs, waits, end_of_all):
    """A warp's life without gaps, from its first event to its last."""
    stretches = _merged(runs)
    endless = any(wait.end is None for wait in waits)
    waits = sorted(waits, key=lambda wait: (wait.begin, wait.reason in _INNER_WAITS))
    segments, at, first = [], None, 0

    def fill(begin, end):
        """What a warp does between two runs: it waits, or its data is on the way."""
        nonlocal first
        while first < len(waits) and waits[first].end is not None and waits[first].end <= begin:
            first += 1
        covering = []
        for wait in waits[first:]:
            if wait.begin >= end:
                break
            if wait.end is None or wait.end > begin:
                covering.append(wait)
        place = begin
        while place < end:
            now = [wait for wait in covering
                   if wait.begin <= place and (wait.end is None or wait.end > place)]
            edges = [wait.begin for wait in covering if wait.begin > place]
            if now:
                best = min(now, key=lambda wait: wait.reason in _INNER_WAITS)
                until = min([end if best.end is None else best.end, end]
                            + (edges if best.reason in _INNER_WAITS else []))
                _add_wait(segments, best, place, until)
            else:
                until = min([*edges, end])
                segments.append(Segment(DATA, place, until,
                                        segments[-1].instruction if segments else None))
            place = until

    for begin, end, parts in stretches:
        if at is not None and begin > at:
            fill(at, begin)
        elif at is None and waits and waits[0].begin < begin:
            fill(waits[0].begin, begin)
        if end > begin:
            segments.append(Segment(RUN, begin, end, parts[0][3], parts))
        at = end if at is None else max(at, end)
    last = max([at or 0] + [wait.end for wait in waits if wait.end is not None])
    if endless:
        last = max(last, end_of_all)
    if at is not None and last > at or at is None and waits:
        fill(at if at is not None else waits[0].begin, last)
    if endless and segments and segments[-1].kind == WAIT:
        segments[-1].end = None
    return segments


def _without_retries(segments):
    """A wait whose time limit passed and that is tried again is one wait."""
    kept = []
    for segment in segments:
        before = kept[-2:]
        if (len(before) == 2 and before[0].timed_out and before[1].kind == RUN
                and before[1].length(0) <= _LONGEST_RETRY and segment.kind == WAIT
                and (segment.barrier, segment.phase) == (before[0].barrier, before[0].phase)):
            kept.pop()
            wait = kept[-1]
            wait.parts = [*wait.parts, *before[1].parts]
            wait.end, wait.completion = segment.end, segment.completion
            wait.timed_out = segment.timed_out
            wait.instruction = segment.instruction
        else:
            kept.append(segment)
    return kept


def _add_wait(segments, wait, begin, end):
    whole = wait.end is not None and end == wait.end
    segments.append(Segment(WAIT, begin, end, wait.instruction, [], wait.reason, wait.barrier,
                            wait.phase, wait.object, wait.completion if whole else None,
                            wait.timed_out and whole))


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


# -- roles ---------------------------------------------------------------------------------------
def _name_roles(models):
    """Names each CTA's roles by the functions that their warps alone are in."""
    for model in models:
        for cta in model.ctas:
            names = _role_names(cta, model)
            groups = {}
            for warp in sorted(cta.warps):
                groups.setdefault(names[warp], []).append(warp)
            cta.roles = [Role(name, tuple(warps)) for name, warps in groups.items()]


def _role_names(cta, model):
    weights = {}
    for warp, segments in cta.warps.items():
        mine = defaultdict(int)
        for segment in segments:
            parts = segment.parts or [(segment.begin, segment.end, 0, segment.instruction)]
            for begin, end, _, instruction in parts:
                if instruction is None or end is None:
                    end = cta.end
                for path in _function_paths(model.places, instruction):
                    mine[path] += end - begin
        weights[warp] = mine
    return {warp: _role_name(warp, weights, cta, model) for warp in weights}


def _function_paths(places, instruction):
    """The inlined functions around an instruction, outermost first: (f,), (f, g), ..."""
    if instruction is None or instruction not in places:
        return ()
    functions = [frame.function for frame in reversed(places[instruction].stack)][1:]
    return [tuple(functions[:depth + 1]) for depth in range(len(functions))]


def _role_name(warp, weights, cta, model):
    mine = weights[warp]
    total = sum(segment.length(cta.end) for segment in cta.warps[warp]) or 1
    others = [weights[other] for other in weights if other != warp]
    best = None
    for path, weight in mine.items():
        # A function that all warps are in (the dispatch, the set-up) names nobody's role.
        shared = all(_is_in(other, path) for other in others) and others
        outer = path[:-1]
        outer_shared = not outer or all(_is_in(other, outer) for other in others)
        if (shared or not outer_shared or weight < _NAMING_SHARE * total
                or not path[-1] or _SET_UP.search(path[-1])):
            continue
        if best is None or weight > mine[best]:
            best = path
    if best:
        parts = best[-1].split("::")
        # A member called `run` says nothing without its class.
        return "::".join(parts[-2:]) if parts[-1] == "run" else parts[-1]
    return _behaviour(warp, cta)


def _is_in(weights, path):
    """Whether a warp is in a function for more than what moved there from another line."""
    return weights.get(path, 0) > 2


def _behaviour(warp, cta):
    """What a warp without a function of its own does."""
    if any(mma.warp == warp for mma in cta.mmas):
        return "MMA"
    if any(copy.warp == warp and copy.direction == "load" for copy in cta.copies):
        return "load"
    if any(event.warp == warp for event in cta.tensor_memory):
        return "epilogue"
    if any(copy.warp == warp for copy in cta.copies):
        return "store"
    return "threads"
