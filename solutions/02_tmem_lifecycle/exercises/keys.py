"""The answers to chapter 2's predict exercises, read from the event log of a run."""

EPILOGUE_WARP = 0
MMA_WARP = 4


# 2.1: lab_02_tmem_round_trip.

def columns_allocated(trace):
    return trace.first("tmem_alloc").columns


def lanes_of_a_warp(trace):
    return trace.first("tmem_load").lane_count


def warp_of_row_70(trace):
    row = 70
    return next(store.warp for store in trace.of("tmem_store")
                if store.lane <= row < store.lane + store.lane_count)


def _load_of_warp(trace, warp):
    return trace.first("tmem_load", warp=warp)


def first_lane_of_warp_3(trace):
    return _load_of_warp(trace, 3).lane


def first_lane_of_warp_5(trace):
    return _load_of_warp(trace, 5).lane


def first_column_of_warp_5(trace):
    return _load_of_warp(trace, 5).column - trace.first("tmem_alloc").column


# 2.6: 02_tmem_lifecycle. The MMA warp of the leader waits for the inputs and then for the readers;
# the epilogue waits for the MMA.

def _barriers_waited_on(trace, warp):
    """The barriers that a warp of the first CTA waits on, in the order of its first waits."""
    offsets = [wait.barrier_offset
               for wait in trace.of("mbarrier_wait", rank=0, warp=warp)]
    return list(dict.fromkeys(offsets))


def _count(trace, offset):
    """The count that a barrier of the first CTA was initialised with."""
    return trace.first("mbarrier_init", barrier_rank=0, barrier_offset=offset).count


def inputs_ready_count(trace):
    return _count(trace, _barriers_waited_on(trace, MMA_WARP)[0])


def dealloc_count(trace):
    return _count(trace, _barriers_waited_on(trace, MMA_WARP)[1])


def _multiplied(trace):
    return _barriers_waited_on(trace, EPILOGUE_WARP)[0]


def multiplied_count(trace):
    return _count(trace, _multiplied(trace))


def who_arrives_on_multiplied(trace):
    """By the instruction whose arrival is the only one; a commit's comes after the MMA's end."""
    arrival = trace.first("mbarrier_arrive", barrier_rank=0, barrier_offset=_multiplied(trace))
    if "tcgen05.commit" in (arrival.opcode or ""):
        return "b"
    return "a" if bin(arrival.lanes).count("1") > 1 else "c"


def commit_targets(trace):
    return bin(trace.first("tmem_commit").targets).count("1")
