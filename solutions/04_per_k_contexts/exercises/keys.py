"""The answers to chapter 4's predict exercise, read from the event log of a run."""

MMA_WARP, LOAD_WARP = 5, 4
# Both rings have four stages, so eight barriers of one init line: the first of them in shared memory
# are the input ring's, the others the accumulator ring's.
STAGES = 4


def _of_rings(trace, event, **fields):
    """(events of the input ring, events of the accumulator ring)."""
    events = trace.of(event, **fields)
    inits = sorted({(found.barrier_offset, found.barrier_init)
                    for found in trace.of("mbarrier_init")})
    place = {offset: index for index, (offset, _) in enumerate(inits)}
    return [[found for found in events if place[found.barrier_offset] // (2 * STAGES) == ring]
            for ring in (0, 1)]


def stage_bytes(trace):
    return trace.of("mbarrier_expect_tx", warp=LOAD_WARP)[0].bytes


def input_empty_arrivals(trace):
    inputs, _ = _of_rings(trace, "mbarrier_arrive", warp=0)
    return inputs[0].expected


def column_of_block_6(trace):
    return trace.of("mma_issue", accumulate=False)[6].column


def mma_parity_block_6(trace):
    _, accumulators = _of_rings(trace, "mbarrier_wait", warp=MMA_WARP, done=True)
    return accumulators[6].parity


def overwriting_mmas(trace):
    return len(trace.of("mma_issue", accumulate=False))


def commits(trace):
    return len(trace.of("tmem_commit"))
