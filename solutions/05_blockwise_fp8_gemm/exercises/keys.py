"""The answers to chapter 5's predict exercises, read from the event log of a run."""

# 5.5: lab_05_cta_pair --ctas 2, one tile of 256 x 128 and four K blocks.

LEADER, PEER = 0, 1


def _inits(trace):
    """The initialisations of the leader's barriers in the order of shared memory: input ring (full,
    empty), accumulator ring (full, empty), and the others."""
    return sorted(trace.of("mbarrier_init", rank=LEADER), key=lambda init: init.barrier_offset)


def _ring(inits, first):
    """Of the ring whose full barriers begin at `first`: counts of full and of empty, and where the
    next ring begins. All full barriers count alike, and another number than the empty ones."""
    full = inits[first].count
    after = first
    while inits[after].count == full:
        after += 1
    return full, inits[after].count, 2 * after - first


def full_bytes(trace):
    return trace.first("mbarrier_expect_tx").bytes


def full_arrivals(trace):
    return _ring(_inits(trace), 0)[0]


def input_empty_count(trace):
    return _ring(_inits(trace), 0)[1]


def accumulator_empty_count(trace):
    inits = _inits(trace)
    return _ring(inits, _ring(inits, 0)[2])[1]


def peer_full_phases(trace):
    inits = _inits(trace)
    stages = _ring(inits, 0)[2] // 2
    offsets = {init.barrier_offset for init in inits[:stages]}
    return sum(event.barrier_offset in offsets
               for event in trace.of("mbarrier_complete", barrier_rank=PEER))


def commits(trace):
    return len(trace.of("tmem_commit"))


def commit_mask(trace):
    return trace.first("tmem_commit").targets
