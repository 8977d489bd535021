"""The answers to chapter 5's predict exercises, read from the event log of a run."""

# 5.5: lab_05_cta_pair --ctas 2, one tile of 256 x 128 and four K blocks.

LEADER, PEER = 0, 1


def _inits(trace):
    """The barriers' initialisations of the leader, in their order: input ring (full, empty),
    accumulator ring (full, empty), and the others."""
    return [event for event in trace.events
            if event["event"] == "mbarrier_init" and event["rank"] == LEADER]


def _ring(inits, first):
    """The counts of a ring whose full barriers begin at `first`: (full, empty, next barrier). All
    full barriers count alike, and so do all empty ones."""
    full = inits[first]["count"]
    after = first
    while inits[after]["count"] == full:
        after += 1
    stages = after - first
    return full, inits[after]["count"], first + 2 * stages


def _full_barrier(trace):
    """Offset of the input ring's first full barrier: where the first bytes are expected."""
    return _expected(trace)["barrier_offset"]


def _expected(trace):
    return next(event for event in trace.events if event["event"] == "mbarrier_expect_tx")


def full_bytes(trace):
    return _expected(trace)["bytes"]


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
    offsets = {init["barrier_offset"] for init in inits[:stages]}
    return sum(1 for event in trace.events
               if event["event"] == "mbarrier_complete" and event["barrier_rank"] == PEER
               and event["barrier_offset"] in offsets)


def commits(trace):
    return sum(1 for event in trace.events if event["event"] == "tmem_commit")


def commit_mask(trace):
    return next(event["targets"] for event in trace.events if event["event"] == "tmem_commit")
