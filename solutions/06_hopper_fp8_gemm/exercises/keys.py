"""The answers to chapter 6's predict exercises, read from what the labs print."""

import re


def _found(trace, pattern):
    """The integers that a line of the program's output holds."""
    match = re.search(pattern, trace.output, re.M)
    if match is None:
        raise ValueError(f"the lab prints no line like {pattern!r}")
    return [int(group) for group in match.groups()]


# 6.6: lab_06_last_round

def divided(trace):
    return _found(trace, r"^rounds +\d+ pieces whole, (\d+) divided")[0]


def helpers(trace):
    return _found(trace, r"^helpers +(\d+) share")[0]


def line(trace):
    return _found(trace, r"^helpers +\d+ share the other (\d+)")[0]


def owner_of_first(trace):
    return _found(trace, r"^piece +\d+: cluster (\d+): K blocks 0 to")[0]


def _parts_of_helper(trace, helper):
    """(first, last) K block of each part that the lab shows of a helper."""
    found = re.findall(rf"cluster {helper}: K blocks (\d+) to (\d+);", trace.output)
    return [(int(first), int(last)) for first, last in found]


def share(trace):
    return sum(last - first + 1 for first, last in _parts_of_helper(trace, 0))


def pieces_of_helper(trace):
    return len(_parts_of_helper(trace, 0))


# 6.4: lab_06_tensor_core_sum

def _sum(trace, name):
    return _found(trace, rf"^sum +{re.escape(name)} = (-?\d+) ")[0]


def thirteenth(trace):
    return _sum(trace, "16384 + 2 - 16384")


def fourteenth(trace):
    return _sum(trace, "16384 + 1 - 16384")


def cut(trace):
    return _sum(trace, "16384 + 3 - 16384")


def ones(trace):
    return _sum(trace, "16384 + 31 ones")


def two_steps(trace):
    return _sum(trace, "31 ones, then 16384")
