"""The colours of timelines: the page and the SVG draw every chapter's runs with this one palette.

A wait has a colour for its ring and a direction of hatching for its side of it, so that `input full`
looks the same in every picture. Every colour of a drawn thing differs from the ground by a contrast
of at least 3:1, every colour of a text by 4.5:1 (WCAG 2.2, 1.4.3 and 1.4.11), on both themes. States
of a stage that follow each other differ in their pattern as well. The grounds are those of the site
(docs/site/colours.css), where some timelines are pages.
"""

from dataclasses import dataclass

LIGHT = {"ground": "#ffffff", "panel": "#f6f8fa", "text": "#1f2328", "quiet": "#57606a",
         "line": "#848d97", "grid": "#d0d7de", "focus": "#cf222e", "arrow": "#24292f",
         "run": "#4c6f9f", "data": "#848d97", "copy": "#12807a", "mma": "#3c8f3c",
         "empty": "#848d97", "filling": "#12807a", "full": "#14505c", "reading": "#2f8f4e",
         "phase": "#7a63b8", "odd": "#7a63b8",
         "wait-0": "#b35900", "wait-1": "#7c4fd0", "wait-2": "#bf3989", "wait-3": "#7d7a18",
         "wait-4": "#0f77a8", "wait-5": "#b4472b", "wait-6": "#3a5fd0", "wait-7": "#6b7280"}
DARK = {"ground": "#1c1d1f", "panel": "#25262a", "text": "#e6edf3", "quiet": "#9aa4ae",
        "line": "#6e7681", "grid": "#30363d", "focus": "#ff7b72", "arrow": "#e6edf3",
        "run": "#7ea6dc", "data": "#848d97", "copy": "#4fbcae", "mma": "#6fc46f",
        "empty": "#848d97", "filling": "#4fbcae", "full": "#a5e3ec", "reading": "#56c27a",
        "phase": "#a994e0", "odd": "#a994e0",
        "wait-0": "#f0a33c", "wait-1": "#b394f4", "wait-2": "#f083b2", "wait-3": "#c8c44a",
        "wait-4": "#4db8e8", "wait-5": "#f08a6c", "wait-6": "#8fa8ff", "wait-7": "#a3abb5"}
# `grid` marks round cycles, whose numbers are next to it; the rest of these is text or ground.
TEXTS, GROUNDS, DECORATION = ("text", "quiet"), ("ground", "panel"), ("grid",)
# How a stage's state is filled; a state that is not named here is solid.
PATTERNS = {"empty": "outline", "filling": "rows", "reading": "columns", "phase": "outline"}

FORWARD, BACKWARD, CROSSED = "forward", "backward", "crossed"
DIRECTIONS = (FORWARD, BACKWARD, CROSSED)
HUES = 8
_OTHERS = HUES - 1
# The rings of the chapters, by the name that their barriers have in a recording.
_RINGS = {"input": 0, "pipeline": 0, "accumulator": 1, "epi load": 2, "tile scheduler": 3, "store": 5}
_SIDES = {"full": FORWARD, "empty": BACKWARD}
_PHRASES = {"inputs ready": (0, FORWARD), "multiplied": (1, FORWARD), "its wgmma": (1, CROSSED),
            "__syncthreads": (4, FORWARD), "the cluster's barrier": (4, CROSSED),
            "its bulk stores": (5, CROSSED), "dealloc": (6, FORWARD), "tmem dealloc": (6, FORWARD),
            "load order": (6, BACKWARD), "its tensor memory accesses": (6, CROSSED)}
_NAMED_BARRIER = (4, BACKWARD)


@dataclass(frozen=True)
class Hatching:
    """How a wait is drawn: the number of its colour, and the direction of its lines."""

    hue: int
    direction: str

    @property
    def css_class(self):
        return f"w{self.hue}{self.direction[0]}"


def of_waits(sums):
    """{reason: Hatching} of waits, `sums`: {reason: cycles}. Reasons that only a reader's own kernel
    has take the colours that are left, the longest first; the last colour is for all others."""
    chosen = {reason: known for reason in sums for known in (_known(reason),) if known}
    left = [hue for hue in range(_OTHERS) if hue not in {one.hue for one in chosen.values()}]
    rings = {}
    for reason in sorted(set(sums) - set(chosen), key=lambda one: (-sums[one], one)):
        ring, side = _parts(reason)
        if ring not in rings:
            rings[ring] = left.pop(0) if left else _OTHERS
        chosen[reason] = Hatching(rings[ring], _SIDES.get(side, FORWARD))
    return chosen


def _parts(reason):
    """("input", "full") of "input full"; the side may be ""."""
    ring, _, side = reason.rpartition(" ")
    return (ring, side) if side in _SIDES else (reason, "")


def _known(reason):
    ring, side = _parts(reason)
    if side and ring in _RINGS:
        return Hatching(_RINGS[ring], _SIDES[side])
    if reason.startswith("barrier ") and reason[8:].isdigit():
        return Hatching(*_NAMED_BARRIER)
    return Hatching(*_PHRASES[reason]) if reason in _PHRASES else None


def rules():
    """What of_waits() chooses by, for pages that make recordings themselves."""
    return {"rings": _RINGS, "sides": _SIDES, "phrases": _PHRASES, "named_barrier": _NAMED_BARRIER,
            "others": _OTHERS, "patterns": PATTERNS}


def sums_of(models, ctas=None):
    """{reason: cycles} of the waits of clusters, or of these CTAs alone."""
    sums = {}
    for model in models:
        for cta in model.ctas:
            if ctas is not None and not any(cta is one for one in ctas):
                continue
            for segments in cta.warps.values():
                for segment in segments:
                    if segment.kind == "wait":
                        reason = model.reason_of(segment)
                        sums[reason] = sums.get(reason, 0) + segment.length(model.end)
    return sums


def variables(colours):
    """The colours as custom properties of CSS."""
    return " ".join(f"--{name}: {value};" for name, value in colours.items())
