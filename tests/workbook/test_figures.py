"""Every figure of the texts can be read: the contrast of its texts and shapes, on light and dark ground.

The colours are taken from each SVG itself: attributes, and rules for tags and classes, with those for
dark ground. A text is compared with the shape below it, a shape with the page.
"""

import re
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import contrast

ROOT = Path(__file__).resolve().parents[2]
FIGURES = sorted(path for folder in ("chapters", "docs") for path in (ROOT / folder).rglob("*.svg"))
_SHAPES = ("rect", "path", "line", "circle", "ellipse", "polygon", "polyline")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_DARK = re.compile(r"@media[^{]*prefers-color-scheme:\s*dark[^{]*\{((?:[^{}]*\{[^{}]*\})*)\s*\}")
# Round values of an axis; the numbers are next to them.
_DECORATION = {"grid"}
_NAMED = {"white": "#ffffff", "black": "#000000"}


class Figure:
    """An SVG's elements with their colours in a theme."""

    def __init__(self, path, theme):
        self.root = ElementTree.parse(path).getroot()
        text = "".join(element.text or "" for element in self.root.iter() if _tag(element) == "style")
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        dark = "".join(_DARK.findall(text))
        rules = _RULE.findall(_DARK.sub("", text)) + (_RULE.findall(dark) if theme == "dark" else [])
        self._rules = [(selector.strip(), _declarations(body)) for heads, body in rules
                       for selector in heads.split(",")]
        self.has_dark_colours = bool(dark)

    def drawn(self):
        """(element, {property: value}) in the order in which they are drawn."""
        yield from self._below(self.root, {"fill": "#000000", "stroke": "none"})

    def ground(self, theme):
        """The colours on which the page may show the figure, or that of its own ground."""
        for element, style in self.drawn():
            if element.get("width") == element.get("height") == "100%" and _is_colour(style["fill"]):
                return (style["fill"],)
        return contrast.GROUNDS[theme]

    def _below(self, element, inherited):
        style = {**inherited, **self._own(element)}
        if _tag(element) in ("defs", "style", "title", "desc", "marker", "pattern"):
            return
        if _tag(element) in (*_SHAPES, "text", "tspan"):
            yield element, style
        for child in element:
            yield from self._below(child, style)

    def _own(self, element):
        classes = element.get("class", "").split()
        found = {name: element.get(name) for name in ("fill", "stroke", "opacity", "fill-opacity",
                                                      "stroke-opacity") if element.get(name)}
        for wanted in ((_tag(element),), [f".{name}" for name in classes],
                       [f"{_tag(element)}.{name}" for name in classes]):
            for selector, declared in self._rules:
                if selector in wanted:
                    found.update(declared)
        found.update(_declarations(element.get("style", "")))
        return found


def _tag(element):
    return element.tag.rsplit("}", 1)[-1]


def _declarations(body):
    pairs = (part.split(":", 1) for part in body.split(";") if ":" in part)
    return {name.strip(): _NAMED.get(value.strip(), value.strip()) for name, value in pairs}


def _box(element):
    """(left, top, right, bottom) of a rect; None of anything else."""
    if _tag(element) != "rect" or "%" in element.get("width", ""):
        return None
    x, y, width, height = (float(element.get(name, "0"))
                           for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def _is_colour(value):
    return value is not None and value.startswith("#")


def _seen(style, name, ground):
    """A colour as it is seen through its opacity on a ground; "" for none or a pattern."""
    if not _is_colour(style.get(name)):
        return ""
    share = float(style.get(f"{name}-opacity", 1))
    mixed = [share * one + (1 - share) * other
             for one, other in zip(contrast.rgb(style[name]), contrast.rgb(ground))]
    return "#" + "".join(f"{round(255 * part):02x}" for part in mixed)


def faults(path, theme):
    """What is too faint in a figure, as sentences."""
    figure = Figure(path, theme)
    grounds = figure.ground(theme)
    if theme == "dark" and not figure.has_dark_colours and grounds == contrast.GROUNDS[theme]:
        return ["it has no colours for dark ground"]
    return sorted({fault for ground in grounds for fault in _faults_on(figure, ground)})


def _faults_on(figure, ground):
    boxes, found = [], []
    for element, style in figure.drawn():
        if _tag(element) in ("text", "tspan"):
            if not "".join(element.itertext()).strip() or element.get("x") is None:
                continue
            x, y = float(element.get("x")), float(element.get("y")) - 4
            below = [fill for (left, top, right, bottom), fill in boxes
                     if left <= x <= right and top <= y <= bottom]
            seen = contrast.ratio(style["fill"], below[-1] if below else ground)
            if seen < contrast.TEXT:
                found.append(f"text {''.join(element.itertext())!r}: {seen:.2f}")
            continue
        if set(element.get("class", "").split()) & _DECORATION:
            continue
        colours = [colour for name in ("fill", "stroke") for colour in (_seen(style, name, ground),)
                   if colour]
        if _box(element) and _seen(style, "fill", ground):
            boxes.append((_box(element), _seen(style, "fill", ground)))
        best = max((contrast.ratio(colour, ground) for colour in colours), default=contrast.OBJECT)
        if best < contrast.OBJECT and colours != [ground]:
            found.append(f"{_tag(element)} {element.get('class', '')} {' '.join(colours)}: {best:.2f}")
    return found


class Contrast(unittest.TestCase):
    def test_every_figure_on_both_grounds(self):
        self.assertGreater(len(FIGURES), 50)
        for path in FIGURES:
            for theme in contrast.GROUNDS:
                with self.subTest(figure=str(path.relative_to(ROOT)), theme=theme):
                    self.assertEqual(faults(path, theme), [])


if __name__ == "__main__":
    unittest.main()
