"""Reads the statistics that the simulator writes (BW_SIM_STATISTICS), and adds them up by role."""

import json
from dataclasses import dataclass, field

from ..errors import WorkbookError

# Of the simulator's records; StatisticsFile::kVersion.
VERSION = 1


def read(path):
    """[record] of a file, a launch each. Throws WorkbookError for one that can't be read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise WorkbookError(f"The statistics {path} can't be read: {error.strerror}.") from error
    records = []
    for line in lines:
        try:
            records.append(json.loads(line))
        except ValueError:
            break  # the program was killed while it wrote
    if not records:
        raise WorkbookError("The program launched no kernel, so there is nothing to show.")
    for record in records:
        if record.get("statistics") != VERSION:
            raise WorkbookError(f"The statistics {path} have version {record.get('statistics')}; this "
                                f"workbook reads version {VERSION}. Build everything again.")
    return records


@dataclass
class RoleSums:
    """Where the time of a role's warps went, in all CTAs: the parts add up to `cycles`."""

    name: str
    warps: list = field(default_factory=list)  # numbers in the CTA
    count: int = 0
    cycles: int = 0
    instructions: int = 0
    issued: int = 0
    stalls: dict = field(default_factory=dict)
    waits: dict = field(default_factory=dict)  # {what for: cycles}


def by_role(record, model):
    """[RoleSums] of a record; `model` is of a recorded cluster, which knows the names."""
    names = {(cta.rank, warp): role.name for cta in model.ctas for role in cta.roles
             for warp in role.warps}
    families = {(model.barriers[index]["barrier_rank"], model.barriers[index]["barrier_offset"]):
                model.barrier_family(index) for index in range(len(model.barriers))}
    roles = {}
    for warp in record["warps"]:
        name = names.get((warp["rank"], warp["warp"]), "threads")
        role = roles.setdefault(name, RoleSums(name))
        if warp["warp"] not in role.warps:
            role.warps.append(warp["warp"])
        role.count += warp["warps"]
        role.cycles += warp["cycles"]
        role.instructions += warp["instructions"]
        role.issued += warp["issued"]
        for reason, cycles in warp["stalls"].items():
            role.stalls[reason] = role.stalls.get(reason, 0) + cycles
        for wait in warp["waits"]:
            what = _what_for(wait, record, families, model)
            role.waits[what] = role.waits.get(what, 0) + wait["cycles"]
    return sorted(roles.values(), key=lambda role: min(role.warps))


def _what_for(wait, record, families, model):
    if wait["for"] != "mbarrier":
        return model.wait_phrase(wait["for"], wait.get("id"))
    if "barrier" not in wait:
        return "an mbarrier"
    barrier = record["barriers"][wait["barrier"]]
    place = barrier["barrier_rank"], barrier["barrier_offset"]
    return families.get(place) or f"{barrier['barrier']} ({barrier['barrier_init']})"


@dataclass
class Occupancy:
    """How full a ring is: of its stages that hold data, the mean, and the shares of time in which all
    and in which none do."""

    ring: str
    stages: int
    mean: float
    full: float
    empty: float


def occupancies(model, filled):
    """[Occupancy] of the rings of a recorded cluster; `filled`: the states of a stage with data."""
    found = []
    for ring in model.rings:
        if not ring.empty:
            continue
        total = area = all_full = none = 0
        for cta in model.ctas:
            tracks = [track.states for track in cta.stages if track.ring is ring]
            if not tracks:
                continue
            changes = []
            for states in tracks:
                for begin, end, state, _ in states:
                    if state in filled:
                        changes += [(begin, 1), (end, -1)]
            begin = min(states[0][0] for states in tracks)
            end = max(states[-1][1] for states in tracks)
            level, at = 0, begin
            for cycle, change in [*sorted(changes), (end, 0)]:
                area += level * (cycle - at)
                all_full += (cycle - at) if level == len(tracks) else 0
                none += (cycle - at) if level == 0 else 0
                level, at = level + change, cycle
            total += end - begin
        if total:
            found.append(Occupancy(ring.name, ring.stages, area / total, all_full / total,
                                   none / total))
    return found
