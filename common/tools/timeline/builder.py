"""Makes the models of a recorded launch. Nothing here knows a kernel."""

from bisect import bisect_right
from collections import defaultdict

from . import lives, rings, roles
from .model import WAIT, ClusterModel, Completion, Copy, Cta, Mma, Segment
from .recording import signalling_unit
from .sources import Sources

# Behind a run that got stuck, this share of its length is drawn.
MARGIN = 20
WARPGROUP = 4  # warps
STUCK = ("deadlock", "livelock", "cycle_limit")


def build(launch, root=None):
    """[ClusterModel] of a launch."""
    sources = Sources(root)
    models = [_Builder(launch, cluster, sources).build() for cluster in launch.clusters]
    roles.name(models)
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
        if self._launch.status in STUCK:  # so that waits which never end are seen
            end += max(1, (end - begin) // MARGIN)
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
        model.rings = rings.find(model, self._places, self._sources)
        for cta in ctas:
            cta.tensor_memory = []
        for event in events:
            if event.event in ("tmem_load", "tmem_store"):
                ctas[event.rank].tensor_memory.append(event)
        rings.add_stages(model)
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
        """The completer of each phase of each barrier."""
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
            by = signalling_unit(opcode)
            found[(event.barrier, event.phase)] = Completion(
                event.cycle, by, event.rank, event.warp, event.instruction,
                copies[-1] if copies else None)
        return found

    # -- warps -----------------------------------------------------------------------------------
    def _warps(self, model):
        runs, waits, opened = defaultdict(list), defaultdict(list), {}
        groups = _Groups(model)
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
                if segment is None:  # its beginning is before the window
                    continue
                segment.end = event.cycle
                segment.timed_out = event.why == "timeout"
                if event.why == "event":
                    segment.completion = (model.completions.get((segment.barrier, segment.phase))
                                          if segment.barrier is not None
                                          else groups.completion(event, segment))
        if self._launch.status == "finished":  # they end after the window
            for segment in opened.values():
                segment.end = max(model.end, segment.begin)
        for rank, warp in sorted(set(runs) | set(waits)):
            model.ctas[rank].warps[warp] = lives.segments(runs[(rank, warp)], waits[(rank, warp)],
                                                          model.end)

    def _group_completions(self, model):
        return _Groups(model)


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
        if segment.reason == "wgmma_group":  # all warps of a warpgroup wait for its MMAs
            mmas = [mma for mma in self._model.ctas[event.rank].mmas
                    if mma.warp // WARPGROUP == event.warp // WARPGROUP
                    and segment.begin <= mma.end <= event.cycle]
            if mmas:
                return Completion(mmas[-1].end, "mma", event.rank, mmas[-1].warp,
                                  mmas[-1].instruction)
        if segment.reason in ("bulk_group", "cp_async_group"):
            ended = [copy for copy in self._copies[(event.rank, event.warp)]
                     if copy.issued <= event.cycle
                     and segment.begin <= (copy.landed or copy.read or 0) <= event.cycle
                     or segment.begin <= (copy.read or 0) <= event.cycle]
            if ended:
                copy = max(ended, key=lambda one: one.landed or one.read)
                return Completion(event.cycle, "copy", copy.rank, copy.warp, copy.instruction, copy)
        return None
