"""A timeline as an SVG for texts: it works on dark and light ground, and needs nothing else."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

from . import lanes, palette
from .model import ClusterModel, Cta

_WIDTH, _GUTTER, _RIGHT = 860, 168, 12
_HEIGHTS = {lanes.ROLE: 22, lanes.TENSOR_CORE: 22, lanes.COPIES: 7, lanes.RING: 11}
_WARP_HEIGHT = 9  # of a role of several
_GAP, _HEAD = 9, 24
_MOST_NAMED = 2  # waits that look alike
_LEAST_WIDTH = 0.6  # of a mark, so that it is seen
_LEAST_SHARE = 0.01  # of what a legend names
_STATES = (("empty", "stage empty"), ("filling", "being filled"), ("full", "full"),
           ("reading", "being read"))
_FILLED = ("run", "data", "copy", "mma", "full", "odd")
_STRIPES = {"rows": "M0 1 H6", "columns": "M1 0 V6"}


@dataclass(frozen=True)
class Panel:
    """A run of several in one picture: its heading, and the CTA that is shown of it."""

    label: str
    model: ClusterModel
    cta: Cta


def draw(model, cta, title, window=None, arrows=True, without=()):
    """The SVG of a CTA. `window`: (first, last) cycle; `without`: labels of lanes to leave out."""
    return draw_runs([Panel("", model, cta)], title, window, arrows, without)


def draw_runs(panels, title, window=None, arrows=True, without=(), headline=""):
    """The SVG of one CTA of each run, one below the other on the same scale. `headline`: a sentence
    above them."""
    begin, end = window or (min(panel.model.begin for panel in panels),
                            max(panel.model.end for panel in panels))
    picture = _Picture(begin, end, [_Drawn(panel, begin, end, without) for panel in panels])
    picture.body(headline, arrows)
    return picture.document(title)


class _Drawn:
    """The lanes of a panel that are shown, and where each is."""

    def __init__(self, panel, begin, end, without):
        self.label = panel.label
        self.lanes, self.hands = lanes.of_cta(panel.model, panel.cta)
        self.kept = [index for index, lane in enumerate(self.lanes) if lane.label not in without
                     and any(mark.end > begin and mark.begin < end for track in lane.tracks
                             for mark in track)]
        self.hands = [hand for hand in self.hands if begin <= hand.begin and hand.end <= end]
        self.tops = {}

    def marks(self, kind=None):
        """The marks of all shown lanes, or of those of a kind."""
        return [mark for index in self.kept for track in self.lanes[index].tracks for mark in track
                if kind is None or self.lanes[index].kind == kind]


class _Picture:
    def __init__(self, begin, end, drawn):
        self._drawn, self._begin, self._end = drawn, begin, end
        self._scale = (_WIDTH - _GUTTER - _RIGHT) / max(1, end - begin)
        self._parts, self._bottom = [], 0
        self._sums = self._waits()
        self._hatchings = palette.of_waits(self._sums)

    def _waits(self):
        """{reason: cycles} of the waits that are seen."""
        sums = {}
        for mark in (mark for drawn in self._drawn for mark in drawn.marks()):
            if mark.kind == "wait" and mark.end > self._begin and mark.begin < self._end:
                length = min(mark.end, self._end) - max(mark.begin, self._begin)
                sums[mark.reason] = sums.get(mark.reason, 0) + length
        return sums

    def _x(self, cycle):
        return round(_GUTTER + (cycle - self._begin) * self._scale, 1)

    def body(self, headline, arrows):
        y = 16
        if headline:
            self._text(6, y, headline, "title")
            y += 22
        y = self._legend(y) + 18
        axis_at = y
        y += 10
        for drawn in self._drawn:
            if drawn.label:
                self._text(6, y + 10, drawn.label, "title")
                y += _HEAD
            y = self._lanes(drawn, y)
        self._bottom = y
        if arrows:
            for drawn in self._drawn:
                self._hands(drawn)
        self._axis(axis_at)

    def _lanes(self, drawn, y):
        """Draws a panel's lanes from `y` on; returns where they end."""
        for index in drawn.kept:
            lane = drawn.lanes[index]
            several = len(lane.tracks) > 1
            height = _WARP_HEIGHT if lane.kind == lanes.ROLE and several else _HEIGHTS[lane.kind]
            if lane.kind == lanes.RING and not several:
                height = 14
            drawn.tops[index] = (y, height)
            self._label(lane, y, height * len(lane.tracks))
            for number, track in enumerate(lane.tracks):
                self._marks(track, y + number * height, height - 1.5)
            y += height * len(lane.tracks) + _GAP
        return y

    def _label(self, lane, y, height):
        middle = y + height / 2
        two = lane.detail and height >= 20
        self._text(6, middle + (-1 if two else 4), lane.label, "title")
        if two:
            self._text(6, middle + 11, lane.detail, "small")
        elif lane.detail:
            self._text(_GUTTER - 8, middle + 4, lane.detail, "small end")

    def _text(self, x, y, text, name=""):
        named = f' class="{name}"' if name else ""
        self._parts.append(f'<text x="{x:g}" y="{y:g}"{named}>{escape(text)}</text>')

    def _marks(self, track, y, height):
        """A track's marks: one path for those of a look, so that a long run stays a short file.

        Looks that take less time are drawn later, so that a neighbour does not hide a short mark."""
        looks = {}
        for mark in track:
            if mark.end <= self._begin or mark.begin >= self._end or mark.end <= mark.begin:
                continue
            left, right = self._x(max(mark.begin, self._begin)), self._x(min(mark.end, self._end))
            name = self._hatchings[mark.reason].css_class if mark.kind == "wait" else mark.kind
            looks.setdefault(name + (" never" if mark.endless else ""), []).append(
                (left, max(_LEAST_WIDTH, round(right - left, 1))))
        for name, bars in sorted(looks.items(), key=lambda look: -sum(width for _, width in look[1])):
            outline = " ".join(f"M{left:g} {y:g}h{width:g}v{height:g}h{-width:g}z"
                               for left, width in bars)
            self._parts.append(f'<path class="{name}" d="{outline}"/>')

    def _hands(self, drawn):
        for hand in drawn.hands:
            if hand.origin is None or not {hand.origin[0], hand.target[0]} <= set(drawn.tops):
                continue
            top, height = drawn.tops[hand.origin[0]]
            goal, goal_height = drawn.tops[hand.target[0]]
            x, y = self._x(hand.begin), top + (hand.origin[1] + 0.5) * height
            to_x, to_y = self._x(hand.end), goal + (hand.target[1] + 0.5) * goal_height
            bend = max(6, (to_x - x) / 2)
            self._parts.append(
                f'<path class="hand" d="M{x:g} {y:g} C{x + bend:g} {y:g} {to_x - bend:g} {to_y:g} '
                f'{to_x:g} {to_y:g}" marker-end="url(#arrow)"/>')

    def _legend(self, y):
        entries = [("run", "issues instructions")]
        kinds = {mark.kind for drawn in self._drawn for mark in drawn.marks()}
        if self._share_of_data() > _LEAST_SHARE:
            entries.append(("data", "waits for what it has loaded"))
        if "copy" in kinds:
            entries.append(("copy", "copy under way"))
        if "mma" in kinds:
            entries.append(("mma", "MMA"))
        if kinds & {"filling", "full", "reading"}:
            entries += _STATES
        if "phase" in kinds:
            entries += [("phase", "a lone barrier's even phase"), ("odd", "odd phase")]
        entries += self._legend_of_waits()
        x = 6
        for name, words in entries:
            width = 26 + 6.3 * len(words) + 16
            if x + width > _WIDTH:
                x, y = 6, y + 18
            self._parts.append(f'<rect class="{name}" x="{x:g}" y="{y - 9:g}" width="20" height="11"/>')
            self._text(x + 26, y, words, "small")
            x += width
        return y

    def _legend_of_waits(self):
        """Each hatching once; reasons that share one are told together."""
        by_class = {}
        for reason in sorted(self._sums, key=lambda one: (-self._sums[one], one)):
            by_class.setdefault(self._hatchings[reason].css_class, []).append(reason)
        return [(name, "waits for " + ", ".join(reasons) if len(reasons) <= _MOST_NAMED
                 else "other waits") for name, reasons in by_class.items()]

    def _share_of_data(self):
        lengths = {True: 0, False: 1}
        for mark in (mark for drawn in self._drawn for mark in drawn.marks(lanes.ROLE)):
            lengths[mark.kind == "data"] += mark.end - mark.begin
        return lengths[True] / sum(lengths.values())

    def _axis(self, at):
        span = self._end - self._begin
        step = next(size for size in (10 ** power * factor for power in range(12)
                                      for factor in (1, 2, 5)) if span / size <= 8)
        lines = []
        for cycle in range(-(-self._begin // step) * step, self._end + 1, step):
            x = self._x(cycle)
            lines.append(f'<path class="grid" d="M{x:g} {at + 4:g} V{self._bottom:g}"/>')
            anchor = " end" if x > _WIDTH - 60 else ""
            self._text(x + (0 if anchor else 2), at, f"{cycle:,}", "small" + anchor)
        self._parts = lines + self._parts
        self._text(6, at, "simulated cycles", "small")

    def document(self, title):
        height = round(self._bottom + 4)
        label = escape(title, {'"': "&quot;"})
        used = sorted(set(self._hatchings.values()), key=lambda one: one.css_class)
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'width="{_WIDTH}" height="{height}" role="img" aria-label="{label}">',
            f"<title>{escape(title)}</title>", "<style>",
            "text { font: 13px system-ui, sans-serif; } .small { font-size: 11px; } "
            ".title { font-weight: 600; } .end { text-anchor: end; }",
            "rect, svg > path { stroke-width: 0.6; } .grid { stroke-width: 1; fill: none; } "
            ".hand { fill: none; stroke-width: 0.9; } .never { stroke-width: 2; }",
            _rules(palette.LIGHT, used), "@media (prefers-color-scheme: dark) {",
            _rules(palette.DARK, used), "}", "</style>",
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" '
            'markerHeight="5" orient="auto"><path class="head" d="M0 0 L8 4 L0 8 z"/></marker>'
            f"{_patterns(used)}</defs>", *self._parts, "</svg>", ""])


def _patterns(used):
    """The hatchings of waits, and the stripes of a stage's states."""
    lines = {palette.FORWARD: "M1 0 V5", palette.BACKWARD: "M0 1 H5", palette.CROSSED: "M1 0 V5 M0 1 H5"}
    made = [f'<pattern id="h{one.css_class}" width="5" height="5" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)"><path d="{lines[one.direction]}" stroke-width="'
            f'{1.4 if one.direction == palette.CROSSED else 2}"/></pattern>' for one in used]
    made += [f'<pattern id="{state}" width="3" height="3" patternUnits="userSpaceOnUse">'
             f'<path d="{_STRIPES[pattern]}" stroke-width="1.5"/></pattern>'
             for state, pattern in palette.PATTERNS.items() if pattern in _STRIPES]
    return "".join(made)


def _rules(colours, used):
    """The colours of a palette."""
    text, quiet = colours["text"], colours["quiet"]
    rules = [f"text, .head {{ fill: {text}; }} .small {{ fill: {quiet}; }} "
             f".grid {{ stroke: {colours['grid']}; }} .hand {{ stroke: {colours['arrow']}; }}"]
    rules += [f".{name} {{ fill: {colours[name]}; }}" for name in _FILLED]
    for state, pattern in palette.PATTERNS.items():
        fill = f"url(#{state})" if pattern in _STRIPES else "none"
        rules.append(f".{state} {{ fill: {fill}; stroke: {colours[state]}; }} "
                     f"#{state} path {{ stroke: {colours[state]}; }}")
    for one in used:
        colour = colours[f"wait-{one.hue}"]
        rules.append(f".{one.css_class} {{ fill: url(#h{one.css_class}); stroke: {colour}; }} "
                     f"#h{one.css_class} path {{ stroke: {colour}; }}")
    rules.append(f".never {{ stroke: {colours['focus']}; }}")
    return "\n".join(rules)
