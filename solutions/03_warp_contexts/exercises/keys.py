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


# 3.10: lab_03_input_stages

STAGE_KIBIBYTES = 32
LATER = 700  # cycles


def _input_ring(trace, stages):
    """(cycles from the first request until its stage is empty, cycles between two landings)"""
    def cycles(event, is_of_stage):
        return [one.cycle for one in trace.of(event, stages=2 * stages) if is_of_stage(one.stage)]
    requests = cycles("mbarrier_expect_tx", lambda stage: stage < stages)
    full = cycles("mbarrier_complete", lambda stage: stage < stages)
    empty = cycles("mbarrier_complete", lambda stage: stage >= stages)
    landings = sorted(later - one for one, later in zip(full, full[1:]))
    return empty[0] - requests[0], landings[len(landings) // 2]


def stages_enough(trace, more=0):
    latency, interval = _input_ring(trace, 6)
    return -(-(latency + more) // interval)


def stages_enough_later(trace):
    return stages_enough(trace, LATER)


def time_with_two(trace):
    full = [one.cycle for one in trace.of("mbarrier_complete", stages=4) if one.stage < 2]
    average = (full[-1] - full[0]) / (len(full) - 1)
    return min(("a", 1100), ("b", 560), ("c", 296), key=lambda option: abs(option[1] - average))[0]


def kibibytes_enough(trace):
    return STAGE_KIBIBYTES * stages_enough(trace)
