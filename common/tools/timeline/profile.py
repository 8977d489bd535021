"""A run's profile without a GPU: who issues and who waits for what, how busy the units are, and what
limits the run. All shares are of the recorded cluster's cycles in the simulator."""

from collections import defaultdict
from dataclasses import dataclass

from . import critical
from .model import DATA, RUN, STAGE_STATES


@dataclass
class RoleShares:
    """Cycles of a role's warps: all, issuing, waiting for loaded data, and by reason of a wait."""

    name: str
    warps: tuple
    cycles: int
    issuing: int
    data: int
    waiting: dict


@dataclass
class Profile:
    cycles: int
    roles: list
    tensor_busy: dict  # {rank: cycles in which an MMA is under way}
    loads_busy: int  # cycles in which a copy into shared memory is under way, of all CTAs
    rings: dict  # {ring: {state: cycles of its stages}}
    bytes: dict  # {path: bytes}
    chain: dict  # critical.shares


def union(spans):
    """The length of the union of (begin, end)."""
    total, reached = 0, None
    for begin, end in sorted(spans):
        if reached is None or begin > reached:
            total += end - begin
            reached = end
        elif end > reached:
            total += end - reached
            reached = end
    return total


def measure(model):
    """The Profile of a cluster."""
    roles, rings, moved = {}, defaultdict(lambda: defaultdict(int)), defaultdict(int)
    for cta in model.ctas:
        for role in cta.roles:
            shares = roles.setdefault(role.name, RoleShares(role.name, role.warps, 0, 0, 0,
                                                            defaultdict(int)))
            for warp in role.warps:
                _add(shares, cta.warps[warp], model, cta.end)
        for track in cta.stages:
            for begin, end, state, _ in track.states:
                if track.ring.empty:
                    rings[track.ring.name][state] += end - begin
        for copy in cta.copies:
            moved[copy.path] += copy.moved
    loads = sum(union((copy.issued, copy.landed if copy.landed is not None else model.end)
                      for copy in cta.copies if copy.direction in ("load", "shared"))
                for cta in model.ctas)
    tensor = {cta.rank: union((mma.begin, mma.end) for mma in cta.mmas)
              for cta in model.ctas if cta.mmas}
    return Profile(model.end - model.begin, list(roles.values()), tensor, loads,
                   {name: dict(states) for name, states in rings.items()}, dict(moved),
                   critical.shares(critical.walk(model)))


def _add(shares, segments, model, end):
    for segment in segments:
        length = segment.length(max(end, segment.begin))
        shares.cycles += length
        if segment.kind == RUN:
            shares.issuing += length
        elif segment.kind == DATA:
            shares.data += length
        else:
            shares.waiting[model.reason_of(segment)] += length


def percent(part, whole):
    share = 100 * part / whole if whole else 0
    return f"{share:.0f} %" if share >= 0.95 or not part else f"{share:.1f} %"


def list_of_warps(warps):
    if len(warps) > 1 and warps[-1] - warps[0] == len(warps) - 1:
        return f"{warps[0]}-{warps[-1]}"
    return ",".join(map(str, warps))


_WORDS = {
    critical.TENSOR_CORE: ("The tensor core limits", "MMAs"),
    critical.LOADS: ("Copies into shared memory limit", "such copies"),
    critical.STORES: ("Copies out of shared memory limit", "such copies"),
    critical.HAND_OVER: ("The barriers limit", "hand-overs through barriers"),
    critical.OTHER: ("Waits that no barrier tells of limit", "such waits"),
}
_ROLE_WORDS = ("The role {role} limits", "instructions and loads of {role}")
_UNENDED = "The run did not end, so nothing can be said about what limits it."
_COPIES = {critical.LOADS: "copies into shared memory",
           critical.STORES: "copies out of shared memory"}


def words_of_limits():
    """The words of limit(), for pages that make recordings themselves."""
    return {"kinds": _WORDS, "role": _ROLE_WORDS, "copies": _COPIES, "unended": _UNENDED}


def limit(profile):
    """One sentence: what limits the run, with its share."""
    return limits(profile.chain)[1]


def limits(chain, sharing=None):
    """(share of what limits the run, or None, one sentence).

    `chain`: critical.shares of a cluster; `sharing`: (share of the launch's time by which CTAs slow
    each other down, the unit that is busiest, its share of the time), or None."""
    if not chain:
        return None, _UNENDED
    total = sum(chain.values())

    def words(entry):
        kind, who = entry
        return _WORDS.get(kind) or tuple(text.format(role=who) for text in _ROLE_WORDS)

    (first, cycles), *rest = chain.items()
    slowed, unit, busy = sharing or (0.0, "", 0.0)
    share = (1 - slowed) * cycles / total
    if slowed > share:
        name = f"{unit[0].upper()}{unit[1:]}"
        return slowed, (f"{name} limit{'' if unit.endswith(('cores', 'slots')) else 's'} this run: in "
                        f"{percent(slowed, 1)} of the time CTAs wait because they share what there "
                        f"is, and this is the busiest ({percent(busy, 100)} of what it can do).")
    sentence = (f"{words(first)[0]} this run: {percent(cycles, total)} of the longest chain of steps "
                f"that wait for each other are {words(first)[1]}")
    if rest:
        what = words(rest[0][0])[1].replace("such copies", _COPIES.get(rest[0][0][0], ""))
        sentence += f"; next come {what} ({percent(rest[0][1], total)})"
    if slowed >= 0.01:
        sentence += (f". Beyond this chain, CTAs wait in {percent(slowed, 1)} of the time because they "
                     "share what there is")
    return share, sentence + "."


def table(profile):
    """The profile as lines for a terminal."""
    lines = []
    width = max([len(role.name) for role in profile.roles] + [11]) + 2
    lines.append(f"{'role':<{width}}{'warps':<7}{'issuing':>8}{'data':>7}{'waiting':>9}  for")
    for role in profile.roles:
        waiting = sum(role.waiting.values())
        lines.append(f"{role.name:<{width}}{list_of_warps(role.warps):<7}"
                     f"{percent(role.issuing, role.cycles):>8}{percent(role.data, role.cycles):>7}"
                     f"{percent(waiting, role.cycles):>9}  " + _reasons(role))
    if profile.tensor_busy:
        busy = sum(profile.tensor_busy.values())
        lines.append(f"{'tensor core':<{width}}{'':<7}"
                     f"{percent(busy, profile.cycles * len(profile.tensor_busy)):>8}"
                     "   of the cycles an MMA is under way")
    if profile.rings or profile.bytes:
        lines.append("")
    for name, states in profile.rings.items():
        total = sum(states.values())
        parts = ", ".join(f"{state} {percent(states.get(state, 0), total)}"
                          for state in STAGE_STATES)
        lines.append(f"{'stages of ' + name:<{width + 10}}{parts}")
    for path, count in profile.bytes.items():
        lines.append(f"{'bytes':<{width + 10}}{count:,} from {path}")
    return [line.rstrip() for line in lines]


def _reasons(role):
    ordered = sorted(role.waiting.items(), key=lambda entry: -entry[1])
    shown = [f"{reason} {percent(cycles, role.cycles)}" for reason, cycles in ordered
             if cycles * 200 >= role.cycles]
    return ", ".join(shown)
