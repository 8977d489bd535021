"""The longest chain of steps that wait for each other: what a run's length is made of.

It is walked backwards, from the warp that ends last: what it ran; where it waited, what ended the
wait, and on from there, through the copy to the warp that issued it, or through the tensor core's
queue. Nothing that is not on the chain could make the run shorter by itself.
"""

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass

from .model import DATA, RUN, WAIT

TENSOR_CORE, LOADS, STORES, HAND_OVER = "tensor core", "loads", "stores", "hand-overs"
ROLE, ROLE_DATA, OTHER = "role", "data", "other"
# An instruction that synchronises takes less than this.
LONGEST_SYNCHRONISATION = 64
SYNCHRONISING = ("mbarrier_arrive", "mbarrier_expect_tx", "mbarrier_wait", "barrier_arrive", "fence",
                 "tmem_commit")


@dataclass
class Step:
    """A link of the chain. `kind` is one of the constants above; `who`: the role's name, or what is
    waited for."""

    kind: str
    who: str
    begin: int
    end: int
    rank: int
    warp: int = None


def walk(model):
    """[Step] of a cluster, latest first; [] where a warp never ended."""
    lives = [(cta, warp) for cta in model.ctas for warp in cta.warps if cta.warps[warp]]
    if not lives or any(cta.warps[warp][-1].end is None for cta, warp in lives):
        return []
    return _Walk(model).steps(*max(lives, key=lambda life: life[0].warps[life[1]][-1].end))


class _Walk:
    def __init__(self, model):
        self._model = model
        self._begins = {}
        self._roles = {}
        for cta in model.ctas:
            for role in cta.roles:
                for warp in role.warps:
                    self._roles[(cta.rank, warp)] = role.name
            for warp, segments in cta.warps.items():
                self._begins[(cta.rank, warp)] = [segment.begin for segment in segments]
        self._synchronising = _synchronising(model)

    def steps(self, cta, warp):
        steps, rank, time, seen = [], cta.rank, cta.warps[warp][-1].end, set()
        while True:
            at = bisect_left(self._begins.get((rank, warp), ()), time) - 1
            if at < 0:
                return steps
            segment = self._model.ctas[rank].warps[warp][at]
            # Waits that end in one cycle may name each other; the second visit goes straight back.
            again = (rank, warp, at, time) in seen
            seen.add((rank, warp, at, time))
            found, rank, warp, time = self._before(segment, rank, warp, time, again)
            steps += [step for step in found if step.end > step.begin]

    def _before(self, segment, rank, warp, time, again):
        """(steps, rank, warp, time): what a segment adds, and where the chain goes on."""
        who = self._roles.get((rank, warp), "")
        if segment.kind == RUN:
            return self._run(segment.begin, time, rank, warp, who), rank, warp, segment.begin
        if segment.kind == DATA:
            return [Step(ROLE_DATA, who, segment.begin, time, rank, warp)], rank, warp, segment.begin
        done = None if again else segment.completion
        if done is None or done.cycle <= segment.begin:
            kind = HAND_OVER if done is not None else OTHER
            reason = self._model.reason_of(segment)
            return [Step(kind, reason, segment.begin, time, rank, warp)], rank, warp, segment.begin
        cycle = min(done.cycle, time)
        steps = [Step(HAND_OVER, self._model.reason_of(segment), cycle, time, rank, warp)]
        if done.by == "copy" and done.copy is not None:
            copy = done.copy
            kind = LOADS if copy.direction == "load" else STORES
            steps.append(Step(kind, copy.path, min(copy.issued, cycle), cycle, copy.rank, copy.warp))
            return steps, copy.rank, copy.warp, min(copy.issued, cycle)
        if done.by == "mma":
            return self._through_tensor_core(steps, done, cycle)
        # An arrival that travelled, or a barrier that took its time: its sender has gone on to wait.
        at = bisect_left(self._begins.get((done.rank, done.warp), ()), cycle) - 1
        sender = self._model.ctas[done.rank].warps[done.warp][at] if at >= 0 else None
        if sender is not None and sender.kind == WAIT and cycle > sender.begin:
            steps.append(Step(HAND_OVER, self._model.reason_of(segment), sender.begin, cycle,
                              done.rank, done.warp))
            cycle = sender.begin
        return steps, done.rank, done.warp, cycle

    def _through_tensor_core(self, steps, done, cycle):
        mmas = [mma for mma in self._model.ctas[done.rank].mmas if mma.end <= cycle]
        while mmas and mmas[-1].warp != done.warp:
            mmas.pop()
        if not mmas:
            return steps, done.rank, done.warp, cycle
        steps.append(Step(HAND_OVER, "commit", mmas[-1].end, cycle, done.rank))
        time, issuer = mmas[-1].end, done.warp
        for mma in reversed(mmas):  # in the tensor core's queue, whoever has issued them
            if mma.end < time:
                break
            steps.append(Step(TENSOR_CORE, mma.text, mma.begin, time, done.rank))
            time, issuer = mma.begin, mma.warp
            if mma.begin <= mma.issued:
                break
        return steps, done.rank, issuer, time

    def _run(self, begin, end, rank, warp, who):
        """A run, split into what synchronises and what works."""
        steps, time = [], end
        spans = self._synchronising.get((rank, warp), [])
        for index in range(bisect_left(spans, [end]) - 1, -1, -1):
            first, last = spans[index]
            if last <= begin:
                break
            first, last = max(first, begin), min(last, time)
            steps += [Step(ROLE, who, last, time, rank, warp),
                      Step(HAND_OVER, "instructions that synchronise", first, last, rank, warp)]
            time = first
        return [*steps, Step(ROLE, who, begin, time, rank, warp)]


def _synchronising(model):
    """{(rank, warp): [(begin, end)]} of instructions that synchronise, as far as it can be told."""
    begins = defaultdict(list)
    for event in model.events:
        if event.instruction is not None and event.event != "run":
            begins[(event.rank, event.warp)].append(event)
    found = {}
    for key, events in begins.items():
        spans = []
        for index, event in enumerate(events):
            if event.event not in SYNCHRONISING:
                continue
            following = next((other.cycle for other in events[index + 1:index + 8]
                              if other.cycle > event.cycle), event.cycle + LONGEST_SYNCHRONISATION)
            end = min(following, event.cycle + LONGEST_SYNCHRONISATION)
            if spans and spans[-1][1] > event.cycle:
                spans[-1][1] = max(spans[-1][1], end)
            else:
                spans.append([event.cycle, end])
        found[key] = spans
    return found


def shares(steps):
    """{(kind, who of a role): cycles}, greatest first."""
    sums = defaultdict(int)
    for step in steps:
        who = step.who if step.kind in (ROLE, ROLE_DATA) else ""
        sums[(ROLE if step.kind == ROLE_DATA else step.kind, who)] += step.end - step.begin
    return dict(sorted(sums.items(), key=lambda entry: -entry[1]))
