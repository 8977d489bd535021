"""A timeline as an SVG for texts: it works on dark and light ground, and needs nothing else."""

from xml.sax.saxutils import escape

from . import lanes

_WIDTH, _GUTTER, _RIGHT = 860, 168, 12
_HEIGHTS = {lanes.ROLE: 22, lanes.TENSOR_CORE: 22, lanes.COPIES: 7, lanes.RING: 11}
_WARP_HEIGHT = 9  # of a role of several
_GAP = 9
_MOST_WAITS = 6
_LEAST_SHARE = 0.01  # of what a legend names
_LIGHT = {"ground": "#ffffff", "text": "#1f2328", "quiet": "#57606a", "line": "#d0d7de",
          "run": "#4c6f9f", "data": "#c9ced6", "copy": "#2f8f83", "mma": "#3c8f3c",
          "empty": "#eef1f4", "filling": "#9fd3cb", "full": "#2f8f83", "reading": "#86c486",
          "phase": "#c7bfe3", "odd": "#9384c9", "end": "#d1242f",
          "w0": "#d97706", "w1": "#7c4fd0", "w2": "#c2417c", "w3": "#0f83b8", "w4": "#7d7a18",
          "w5": "#6b7280"}
_DARK = {"ground": "#0d1117", "text": "#e6edf3", "quiet": "#9aa4ae", "line": "#30363d",
         "run": "#7ea6dc", "data": "#4a525c", "copy": "#4fbcae", "mma": "#6fc46f",
         "empty": "#1c2128", "filling": "#1f5f57", "full": "#4fbcae", "reading": "#3f8a3f",
         "phase": "#4a4170", "odd": "#8577bb", "end": "#ff7b72",
         "w0": "#f0a33c", "w1": "#b394f4", "w2": "#f083b2", "w3": "#4db8e8", "w4": "#c8c44a",
         "w5": "#a3abb5"}
_STATES = (("filling", "stage being filled"), ("full", "full"), ("reading", "being read"))


def draw(model, cta, title, window=None, arrows=True, without=()):
    """The SVG of a CTA. `window`: (first, last) cycle; `without`: labels of lanes to leave out."""
    drawn, hands = lanes.of_cta(model, cta)
    begin, end = window or (model.begin, model.end)
    kept = [index for index, lane in enumerate(drawn) if lane.label not in without
            and any(mark.end > begin and mark.begin < end for track in lane.tracks
                    for mark in track)]
    picture = _Picture(drawn, kept, begin, end)
    picture.body()
    if arrows:
        picture.hands([hand for hand in hands if begin <= hand.begin and hand.end <= end])
    return picture.document(title)


class _Picture:
    def __init__(self, drawn, kept, begin, end):
        self._lanes, self._kept, self._begin, self._end = drawn, kept, begin, end
        self._scale = (_WIDTH - _GUTTER - _RIGHT) / max(1, end - begin)
        self._parts, self._tops = [], {}
        self._colours = self._choose_colours()

    def _choose_colours(self):
        sums = {}
        for index in self._kept:
            for track in self._lanes[index].tracks:
                for mark in track:
                    if mark.kind == "wait" and mark.end > self._begin and mark.begin < self._end:
                        length = min(mark.end, self._end) - max(mark.begin, self._begin)
                        sums[mark.reason] = sums.get(mark.reason, 0) + length
        order = sorted(sums, key=lambda reason: (-sums[reason], reason))
        return {reason: min(number, _MOST_WAITS - 1) for number, reason in enumerate(order)}

    def _x(self, cycle):
        return round(_GUTTER + (cycle - self._begin) * self._scale, 1)

    def body(self):
        y = self._legend(16) + 18
        self._axis_at = y
        y += 10
        for index in self._kept:
            lane = self._lanes[index]
            several = len(lane.tracks) > 1
            height = _WARP_HEIGHT if lane.kind == lanes.ROLE and several else _HEIGHTS[lane.kind]
            if lane.kind == lanes.RING and not several:
                height = 14
            self._tops[index] = (y, height)
            self._label(lane, y, height * len(lane.tracks))
            for number, track in enumerate(lane.tracks):
                for mark in track:
                    self._mark(mark, y + number * height, height - 1.5)
            y += height * len(lane.tracks) + _GAP
        self._bottom = y
        self._axis()

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

    def _mark(self, mark, y, height):
        if mark.end <= self._begin or mark.begin >= self._end or mark.end <= mark.begin:
            return
        left, right = self._x(max(mark.begin, self._begin)), self._x(min(mark.end, self._end))
        width = max(0.6, round(right - left, 1))
        name = f"w{self._colours[mark.reason]}" if mark.kind == "wait" else mark.kind
        ending = " never" if mark.endless else ""
        self._parts.append(f'<rect class="{name}{ending}" x="{left:g}" y="{y:g}" width="{width:g}" '
                           f'height="{height:g}"/>')

    def hands(self, hands):
        for hand in hands:
            if hand.origin is None or not {hand.origin[0], hand.target[0]} <= set(self._tops):
                continue
            top, height = self._tops[hand.origin[0]]
            goal, goal_height = self._tops[hand.target[0]]
            x, y = self._x(hand.begin), top + (hand.origin[1] + 0.5) * height
            to_x, to_y = self._x(hand.end), goal + (hand.target[1] + 0.5) * goal_height
            bend = max(6, (to_x - x) / 2)
            self._parts.append(
                f'<path class="hand" d="M{x:g} {y:g} C{x + bend:g} {y:g} {to_x - bend:g} {to_y:g} '
                f'{to_x:g} {to_y:g}" marker-end="url(#arrow)"/>')

    def _legend(self, y):
        entries = [("run", "issues instructions")]
        kinds = {mark.kind for index in self._kept for track in self._lanes[index].tracks
                 for mark in track}
        if self._share_of_data() > _LEAST_SHARE:
            entries.append(("data", "waits for what it has loaded"))
        if "copy" in kinds:
            entries.append(("copy", "copy under way"))
        if "mma" in kinds:
            entries.append(("mma", "MMA"))
        if kinds & {"filling", "full", "reading"}:
            entries += _STATES
        entries += [(f"w{number}", f"waits for {reason}") for reason, number in
                    self._colours.items() if number < _MOST_WAITS - 1]
        if _MOST_WAITS - 1 in self._colours.values():
            entries.append((f"w{_MOST_WAITS - 1}", "other waits"))
        x = 6
        for name, words in entries:
            width = 26 + 6.3 * len(words) + 16
            if x + width > _WIDTH:
                x, y = 6, y + 18
            self._parts.append(f'<rect class="{name}" x="{x:g}" y="{y - 9:g}" width="20" height="11"/>')
            self._text(x + 26, y, words, "small")
            x += width
        return y

    def _share_of_data(self):
        lengths = {True: 0, False: 1}
        for index in self._kept:
            if self._lanes[index].kind == lanes.ROLE:
                for mark in (mark for track in self._lanes[index].tracks for mark in track):
                    lengths[mark.kind == "data"] += mark.end - mark.begin
        return lengths[True] / sum(lengths.values())

    def _axis(self):
        span = self._end - self._begin
        step = next(size for size in (10 ** power * factor for power in range(12)
                                      for factor in (1, 2, 5)) if span / size <= 8)
        lines = []
        for cycle in range(-(-self._begin // step) * step, self._end + 1, step):
            x = self._x(cycle)
            lines.append(f'<path class="grid" d="M{x:g} {self._axis_at + 4:g} V{self._bottom:g}"/>')
            anchor = " end" if x > _WIDTH - 60 else ""
            self._text(x + (0 if anchor else 2), self._axis_at, f"{cycle:,}", "small" + anchor)
        self._parts = lines + self._parts
        self._text(6, self._axis_at, "simulated cycles", "small")

    def document(self, title):
        height = round(self._bottom + 4)

        patterns = "".join(
            f'<pattern id="h{number}" width="5" height="5" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)"><path d="M1 0 V5" stroke-width="2"/></pattern>'
            for number in range(_MOST_WAITS))
        label = escape(title, {'"': "&quot;"})
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'width="{_WIDTH}" height="{height}" role="img" aria-label="{label}">',
            f"<title>{escape(title)}</title>", "<style>",
            "text { font: 13px system-ui, sans-serif; } .small { font-size: 11px; } "
            ".title { font-weight: 600; } .end { text-anchor: end; }",
            "rect { stroke-width: 0.6; } .grid { stroke-width: 1; fill: none; } "
            ".hand { fill: none; stroke-width: 0.9; stroke-opacity: 0.75; } .never { stroke-width: 2; }",
            _rules(_LIGHT), "@media (prefers-color-scheme: dark) {", _rules(_DARK), "}", "</style>",
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" '
            'markerHeight="5" orient="auto"><path class="head" d="M0 0 L8 4 L0 8 z"/></marker>'
            f"{patterns}</defs>", *self._parts, "</svg>", ""])


def _rules(palette):
    """The colours of a palette."""
    text, quiet, line = palette["text"], palette["quiet"], palette["line"]
    rules = [f"text, .head {{ fill: {text}; }} .small {{ fill: {quiet}; }} .grid {{ stroke: {line}; }}",
             f".hand {{ stroke: {text}; }} .never {{ stroke: {palette['end']}; }}"]
    rules += [f".{name} {{ fill: {palette[name]}; }}" for name in
              ("run", "data", "copy", "mma", "empty", "filling", "full", "reading", "phase", "odd")]
    for number in range(_MOST_WAITS):
        colour = palette[f"w{number}"]
        rules.append(f".w{number} {{ fill: url(#h{number}); stroke: {colour}; }} "
                     f"#h{number} path {{ stroke: {colour}; }}")
    return "\n".join(rules)
