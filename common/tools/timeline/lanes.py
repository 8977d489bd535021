"""The lanes of a picture: one a role, one a unit, one a ring, of a CTA. The page, the SVG and the
Perfetto trace draw the same lanes."""

from dataclasses import dataclass, field

from .model import DATA, EMPTY, FILLING, FULL, READING, RUN

ROLE, COPIES, TENSOR_CORE, RING = "role", "copies", "tensor", "ring"
COPY_LANES = {"load": "TMA loads", "store": "TMA stores", "reduce": "TMA reductions",
              "shared": "copies to other CTAs"}

_PHASES = ("phase", "odd")  # of a lone barrier: even and odd ones


@dataclass
class Mark:
    """A box: what it is (`kind`: run, wait, data, copy, mma or a stage's state), its text, the reason
    of a wait, a place in the sources."""

    begin: int
    end: int
    kind: str
    text: str = ""
    reason: str = ""
    instruction: int = None
    endless: bool = False
    source: object = None  # the Segment, Copy, Mma or lap it comes from


@dataclass
class Lane:
    kind: str
    label: str
    detail: str
    tracks: list = field(default_factory=list)  # lists of Marks that don't overlap
    names: list = field(default_factory=list)  # of the tracks


@dataclass
class Arrow:
    """A hand-over: (lane, track) and cycle of what ended a wait, and of the wait."""

    origin: tuple
    begin: int
    target: tuple
    end: int
    reason: str
    rank: int = None  # of another CTA, if the origin is outside this one


def of_cta(model, cta):
    """([Lane], [Arrow]) of a CTA."""
    lanes, place_of_warp = [], {}
    for role in cta.roles:
        for track, warp in enumerate(role.warps):
            place_of_warp[warp] = (len(lanes), track)
        lanes.append(Lane(ROLE, role.name, _warps(role.warps),
                          [_warp_track(model, cta.warps[warp]) for warp in role.warps],
                          [f"warp {warp}" for warp in role.warps]))
    place_of_unit = {}
    for direction, label in COPY_LANES.items():
        copies = [copy for copy in cta.copies if copy.direction == direction]
        if copies:
            units = {copy.unit for copy in copies}
            if units == {"cp_async"}:
                label = "cp.async"
            place_of_unit[direction] = len(lanes)
            lanes.append(Lane(COPIES, label, "", _packed([_copy_mark(model, copy)
                                                          for copy in copies])))
    if cta.mmas:
        place_of_unit["mma"] = len(lanes)
        lanes.append(Lane(TENSOR_CORE, "tensor core", "", [[
            Mark(mma.begin, mma.end, "mma", mma.text, instruction=mma.instruction, source=mma)
            for mma in cta.mmas]]))
    rings = {}
    for track in cta.stages:
        rings.setdefault(id(track.ring), []).append(track)
    for tracks in rings.values():
        ring = tracks[0].ring
        detail = (f"{len(tracks)} stage{'s' if len(tracks) > 1 else ''}" if ring.empty else "phases")
        lanes.append(Lane(RING, ring.name, detail,
                          [[Mark(begin, end, state if ring.empty else _PHASES[lap % 2],
                                 f"lap {lap}" if ring.empty else f"phase {lap}", source=lap)
                            for begin, end, state, lap in track.states] for track in tracks],
                          [f"stage {track.stage}" for track in tracks]))
    return lanes, _arrows(model, cta, place_of_warp, place_of_unit, lanes)


def _warps(warps):
    if len(warps) == 1:
        return f"warp {warps[0]}"
    consecutive = warps[-1] - warps[0] == len(warps) - 1
    return f"warps {warps[0]}–{warps[-1]}" if consecutive else "warps " + ", ".join(map(str, warps))


def _warp_track(model, segments):
    marks = []
    for segment in segments:
        end = model.end if segment.end is None else segment.end
        if segment.kind == RUN:
            marks.append(Mark(segment.begin, end, RUN, "", "", segment.instruction, False, segment))
            continue
        text = model.reason_of(segment)
        if segment.barrier is not None:
            text = f"{model.barrier_name(segment.barrier)}, phase {segment.phase}"
        marks.append(Mark(segment.begin, end, segment.kind, text, model.reason_of(segment),
                          segment.instruction, segment.end is None, segment))
    return marks


def _copy_mark(model, copy):
    landed = copy.landed if copy.landed is not None else copy.read
    target = f" for {model.barrier_name(copy.barrier)}" if copy.barrier is not None else ""
    multicast = f" to {copy.targets} CTAs" if copy.targets > 1 else ""
    return Mark(copy.issued, model.end if landed is None else landed, "copy",
                f"{copy.bytes:,} bytes{multicast}{target}", "", copy.instruction, landed is None, copy)


def _packed(marks):
    """Tracks of marks that don't overlap, as few as it takes."""
    tracks = []
    for mark in sorted(marks, key=lambda one: (one.begin, one.end)):
        for track in tracks:
            if track[-1].end <= mark.begin:
                track.append(mark)
                break
        else:
            tracks.append([mark])
    return tracks


def _arrows(model, cta, place_of_warp, place_of_unit, lanes):
    copy_places = {}
    for index, lane in enumerate(lanes):
        if lane.kind == COPIES:
            for number, track in enumerate(lane.tracks):
                for mark in track:
                    copy_places[id(mark.source)] = (index, number)
    arrows = []
    for warp, segments in cta.warps.items():
        for segment in segments:
            done = segment.completion
            if done is None or segment.kind == RUN or segment.end is None:
                continue
            if done.by == "warp" and (done.rank, done.warp) == (cta.rank, warp):
                continue
            origin, rank = None, done.rank if done.rank != cta.rank else None
            if rank is None:
                if done.by == "copy" and done.copy is not None:
                    origin = copy_places.get(id(done.copy))
                elif done.by == "mma" and "mma" in place_of_unit:
                    origin = (place_of_unit["mma"], 0)
                if origin is None:
                    origin = place_of_warp.get(done.warp)
            arrows.append(Arrow(origin, min(done.cycle, segment.end), place_of_warp[warp],
                                segment.end, model.reason_of(segment), rank))
    return arrows


STATE_WORDS = {EMPTY: "empty", FILLING: "being filled", FULL: "full", READING: "being read",
               "phase": "an even phase", "odd": "an odd phase"}
KIND_WORDS = {RUN: "issues", "wait": "waits for", DATA: "waits for data that it has loaded",
              "copy": "copy", "mma": "MMA"}
