"""The answers to chapter 7's predict exercise, read from the event log of a run."""


def stage_bytes(trace):
    return max(event.bytes for event in trace.of("mbarrier_expect_tx"))


def _copies_of_first_block(trace):
    """The copies into tensor memory that were issued before the first MMA."""
    first_mma = trace.events.index(trace.first("mma_issue"))
    return [event for event in trace.events[:first_mma] if event.event == "tmem_copy_issue"]


def copies(trace):
    return len(_copies_of_first_block(trace))


def scale_columns(trace):
    return sum(event.columns for event in _copies_of_first_block(trace))


def overwriting_mmas(trace):
    return len(trace.of("mma_issue", accumulate=False))


def commits(trace):
    return len(trace.of("tmem_commit"))


def input_empty_arrivals(trace):
    """By the first arrival of a commit, which releases the first stage."""
    arrivals = [event for event in trace.of("mbarrier_arrive")
                if "tcgen05.commit" in (event.opcode or "")]
    return arrivals[0].expected
