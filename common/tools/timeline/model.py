"""What a recording shows: roles, what each warp does when, rings and their stages, copies and MMAs.

Cycles are those of the recording. builder.build() makes these of a launch.
"""

from dataclasses import dataclass, field

RUN, WAIT, DATA = "run", "wait", "data"
EMPTY, FILLING, FULL, READING = "empty", "filling", "full", "reading"
STAGE_STATES = (EMPTY, FILLING, FULL, READING)
LOADED_DATA = "data it has loaded"
# The paths of copies by their direction.
COPY_PATHS = {"load": "global to shared memory", "store": "shared to global memory",
              "reduce": "shared to global memory (reduction)",
              "shared": "shared memory to another CTA's"}
# What waits are for, by the kind that a recording has; named barriers have numbers.
WAIT_PHRASES = {
    "cluster_barrier": "the cluster's barrier",
    "warp_sync": "lanes of its warp", "reconvergence": "lanes of its warp",
    "bulk_group": "its bulk stores", "cp_async_group": "its cp.async copies",
    "wgmma_group": "its wgmma", "register_pool": "registers",
    "tcgen05_alloc": "tensor memory to allocate",
    "tcgen05_wait": "its tensor memory accesses",
    "global_order": "global memory", "sleep": "sleep"}


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
        return COPY_PATHS[self.direction]

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
            return LOADED_DATA
        if segment.barrier is not None:
            return self.barrier_family(segment.barrier)
        return self.wait_phrase(segment.reason, segment.object)

    @staticmethod
    def wait_phrase(kind, number=None):
        """The same of a kind of wait; `number` of a named barrier."""
        if kind == "named_barrier":
            return f"barrier {number}" if number else "__syncthreads"
        return WAIT_PHRASES.get(kind, kind)
