"""The answers to chapter 1's predict exercises, read from the event log of a run."""

COPY_WARP = 4
SUM_WARP = 0


def _of_first_cta(trace, *events, **fields):
    """The events of the kernel's first CTA with these fields, in their order."""
    return trace.of(*events, cta=[0, 0, 0], **fields)


# 1.1: lab_01_phase_and_parity, count 3: two waits (parity 0, then 1) after each arrival.

def _waits_after(trace, arrivals):
    """{parity: passes?} of the two tests that follow this many arrivals."""
    waits = _of_first_cta(trace, "mbarrier_wait")[2 * arrivals:2 * arrivals + 2]
    return {wait.parity: wait.done for wait in waits}


def _passes(trace, arrivals, parity):
    return "a" if _waits_after(trace, arrivals)[parity] else "b"


def _parity_that_passes(trace, arrivals):
    return next(parity for parity, passes in _waits_after(trace, arrivals).items() if passes)


def _next_arrival(trace, arrivals):
    """The arrival after this many others: the state that it found in the barrier."""
    return _of_first_cta(trace, "mbarrier_arrive")[arrivals]


def fresh_parity_0(trace):
    return _passes(trace, 0, 0)


def fresh_parity_1(trace):
    return _passes(trace, 0, 1)


def pending_after_2(trace):
    return _of_first_cta(trace, "mbarrier_arrive")[1].pending


def phase_after_3(trace):
    return _next_arrival(trace, 3).phase


def passes_after_3(trace):
    return _parity_that_passes(trace, 3)


def pending_after_3(trace):
    arrival = _next_arrival(trace, 3)
    return arrival.pending + arrival.count


def passes_after_7(trace):
    return _parity_that_passes(trace, 7)


# 1.2: lab_01_ring_of_two.

def _parity_of_tile(trace, warp, tile):
    """The parity of the wait by which a warp gets to a tile: its successful waits are in order."""
    waits = _of_first_cta(trace, "mbarrier_wait", warp=warp, done=True)
    return waits[tile].parity


def consumer_tile_2(trace):
    return _parity_of_tile(trace, SUM_WARP, 2)


def consumer_tile_5(trace):
    return _parity_of_tile(trace, SUM_WARP, 5)


def producer_tile_0(trace):
    return _parity_of_tile(trace, COPY_WARP, 0)


def producer_tile_2(trace):
    return _parity_of_tile(trace, COPY_WARP, 2)


def producer_tile_5(trace):
    return _parity_of_tile(trace, COPY_WARP, 5)


def _barrier_of_tile_0(trace, warp):
    """Offset of the barrier that a warp waits on for tile 0."""
    return _of_first_cta(trace, "mbarrier_wait", warp=warp)[0].barrier_offset


def empty_arrivals(trace):
    offset = _barrier_of_tile_0(trace, COPY_WARP)
    return _of_first_cta(trace, "mbarrier_arrive", barrier_offset=offset)[0].expected


def full_phases(trace):
    offset = _barrier_of_tile_0(trace, SUM_WARP)
    return len(_of_first_cta(trace, "mbarrier_complete", barrier_offset=offset))


# 1.6: lab_01_bulk_copy. `full` of tile 0 in its phase 0.

def _in_first_phase_of_full(trace, *events):
    offset = _barrier_of_tile_0(trace, SUM_WARP)
    return trace.of(*events, cluster=0, barrier_offset=offset, phase=0)


def full_arrivals(trace):
    return _in_first_phase_of_full(trace, "mbarrier_arrive")[0].expected


def pending_after_announcement(trace):
    return _in_first_phase_of_full(trace, "mbarrier_arrive")[0].pending


def bytes_after_announcement(trace):
    return _in_first_phase_of_full(trace, "mbarrier_arrive")[0].tx


def bytes_of_a_copy(trace):
    return _in_first_phase_of_full(trace, "mbarrier_complete_tx")[0].bytes


def copies_of_a_phase(trace):
    return len(_in_first_phase_of_full(trace, "mbarrier_complete_tx"))


def what_completes_full(trace):
    events = [event.event for event in _in_first_phase_of_full(
        trace, "mbarrier_arrive", "mbarrier_complete_tx", "mbarrier_complete")]
    before = events[events.index("mbarrier_complete") - 1]
    return {"mbarrier_arrive": "a", "mbarrier_complete_tx": "b"}[before]
