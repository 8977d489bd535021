"""A warp's life without gaps: it runs, waits, or what it loaded has not arrived."""

from .model import DATA, RUN, WAIT, Segment

# Cycles between a time limit and the next test.
LONGEST_RETRY = 100
# Waits within a warp: they hide under the wait of another strand of it.
INNER_WAITS = ("reconvergence", "warp_sync")


def segments(runs, waits, end_of_all):
    """[Segment] of a warp's runs (begin, end, instructions, instruction) and waits, from its first
    event to its last."""
    return _without_retries(_without_gaps(runs, waits, end_of_all))


def _merged(runs):
    """Stretches of runs that follow each other or overlap: (begin, end, parts)."""
    stretches = []
    for run in sorted(runs):
        if stretches and run[0] <= stretches[-1][1]:
            last = stretches[-1]
            last[2].append(run)
            last[1] = max(last[1], run[1])
        else:
            stretches.append([run[0], run[1], [run]])
    return stretches


def _without_gaps(runs, waits, end_of_all):
    stretches = _merged(runs)
    endless = any(wait.end is None for wait in waits)
    waits = sorted(waits, key=lambda wait: (wait.begin, wait.reason in INNER_WAITS))
    segments, at, first = [], None, 0

    def fill(begin, end):
        """What a warp does between two runs: it waits, or its data is on the way."""
        nonlocal first
        while first < len(waits) and waits[first].end is not None and waits[first].end <= begin:
            first += 1
        covering = []
        for wait in waits[first:]:
            if wait.begin >= end:
                break
            if wait.end is None or wait.end > begin:
                covering.append(wait)
        place = begin
        while place < end:
            now = [wait for wait in covering
                   if wait.begin <= place and (wait.end is None or wait.end > place)]
            edges = [wait.begin for wait in covering if wait.begin > place]
            if now:
                best = min(now, key=lambda wait: wait.reason in INNER_WAITS)
                until = min([end if best.end is None else best.end, end]
                            + (edges if best.reason in INNER_WAITS else []))
                _add_wait(segments, best, place, until)
            else:
                until = min([*edges, end])
                segments.append(Segment(DATA, place, until,
                                        segments[-1].instruction if segments else None))
            place = until

    for begin, end, parts in stretches:
        if at is not None and begin > at:
            fill(at, begin)
        elif at is None and waits and waits[0].begin < begin:
            fill(waits[0].begin, begin)
        if end > begin:
            segments.append(Segment(RUN, begin, end, parts[0][3], parts))
        at = end if at is None else max(at, end)
    last = max([at or 0] + [wait.end for wait in waits if wait.end is not None])
    if endless:
        last = max(last, end_of_all)
    if at is not None and last > at or at is None and waits:
        fill(at if at is not None else waits[0].begin, last)
    if endless and segments and segments[-1].kind == WAIT:
        segments[-1].end = None
    return segments


def _without_retries(segments):
    """A wait whose time limit passed and that is tried again is one wait."""
    kept = []
    for segment in segments:
        before = kept[-2:]
        if (len(before) == 2 and before[0].timed_out and before[1].kind == RUN
                and before[1].length(0) <= LONGEST_RETRY and segment.kind == WAIT
                and (segment.barrier, segment.phase) == (before[0].barrier, before[0].phase)):
            kept.pop()
            wait = kept[-1]
            wait.parts = [*wait.parts, *before[1].parts]
            wait.end, wait.completion = segment.end, segment.completion
            wait.timed_out = segment.timed_out
            wait.instruction = segment.instruction
        else:
            kept.append(segment)
    return kept


def _add_wait(segments, wait, begin, end):
    whole = wait.end is not None and end == wait.end
    segments.append(Segment(WAIT, begin, end, wait.instruction, [], wait.reason, wait.barrier,
                            wait.phase, wait.object, wait.completion if whole else None,
                            wait.timed_out and whole))
