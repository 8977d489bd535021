"""The answers to chapter 3's predict exercise, read from the event log of a run."""

MMA_WARP, EPILOGUE_WARP = 5, 0
ACCUMULATORS = 2


def _of_accumulator_ring(trace, event, **fields):
    """The events of the accumulator ring's barriers: full 0, full 1, empty 0, empty 1."""
    return trace.of(event, stages=2 * ACCUMULATORS, **fields)


def _parity_of_wait(trace, warp, tile):
    """The parity of the wait that let `warp` go on with `tile`."""
    return _of_accumulator_ring(trace, "mbarrier_wait", warp=warp, done=True)[tile].parity


def column_of_tile_3(trace):
    # Each tile has one MMA that doesn't accumulate: its first.
    return trace.of("mma_issue", accumulate=False)[3].column


def mma_parity_tile_3(trace):
    return _parity_of_wait(trace, MMA_WARP, 3)


def epilogue_parity_tile_3(trace):
    return _parity_of_wait(trace, EPILOGUE_WARP, 3)


def empty_arrivals(trace):
    return _of_accumulator_ring(trace, "mbarrier_arrive", warp=EPILOGUE_WARP)[0].expected


def full_phases(trace):
    full = [event for event in _of_accumulator_ring(trace, "mbarrier_complete")
            if event.stage < ACCUMULATORS]
    return len(full)
