"""The timeline as one HTML file that needs no network."""

import html
import json
from pathlib import Path

from . import builder, critical, lanes, lives, palette, profile, recording, roles
from .around import Around
from .model import COPY_PATHS, LOADED_DATA, RUN, WAIT_PHRASES
from .sources import Sources

DATA = "@DATA@"
_FOLDER = Path(__file__).resolve().parent
_KINDS = ("run", "wait", "data", "copy", "mma", "empty", "filling", "full", "reading", "phase",
          "odd")


class _Table:
    """Texts that are told once and referred to by number."""

    def __init__(self):
        self.items, self._numbers = [], {}

    def number(self, item):
        key = json.dumps(item)
        if key not in self._numbers:
            self._numbers[key] = len(self.items)
            self.items.append(item)
        return self._numbers[key]


class _Places:
    """Places of instructions, as the page shows them."""

    def __init__(self, launch, sources):
        self._launch, self._sources, self._known = launch, sources, {}
        self.table = _Table()

    def number(self, instruction):
        if instruction is None or instruction not in self._launch.places:
            return -1
        if instruction not in self._known:
            place = self._launch.places[instruction]
            stack = [f"{frame}{' in ' + frame.function if frame.function else ''}"
                     for frame in place.stack if frame != place.detail]
            self._known[instruction] = self.table.number(
                [f"{place.detail}{' in ' + place.detail.function if place.detail.function else ''}",
                 self._sources.line(place.detail), place.opcode, stack])
        return self._known[instruction]


def _cta_data(model, cta, places, texts):
    """A CTA's lanes as numbers: [begin, length, kind, text, place, reason, endless, parts]."""
    drawn, arrows = lanes.of_cta(model, cta)
    data = []
    for lane in drawn:
        tracks = []
        for track in lane.tracks:
            marks = []
            for mark in track:
                row = [mark.begin, mark.end - mark.begin, _KINDS.index(mark.kind),
                       texts.number(mark.text), places.number(mark.instruction),
                       texts.number(mark.reason) if mark.reason else -1]
                if mark.endless:
                    row.append(1)
                if mark.kind == RUN:
                    row.append([[begin - mark.begin, end - begin, count, places.number(instruction)]
                                for begin, end, count, instruction in mark.source.parts])
                marks.append(row)
            tracks.append(marks)
        data.append({"kind": lane.kind, "label": lane.label, "detail": lane.detail,
                     "names": lane.names, "tracks": tracks})
    hands = [[*(arrow.origin or (-1, arrow.rank if arrow.rank is not None else -1)), arrow.begin,
              *arrow.target, arrow.end, texts.number(arrow.reason)] for arrow in arrows]
    return {"lanes": data, "arrows": hands}


def run_data(label, launch, models, root):
    """(head, [texts of CTAs]): what the page knows of one run. A CTA's text is parsed when it is
    shown."""
    sources = Sources(root)
    places, texts, ctas, blocks = _Places(launch, sources), _Table(), [], []
    profiles = []
    for model in models:
        measured = profile.measure(model)
        profiles.append({"cluster": model.index, "limit": profile.limit(measured),
                         "table": profile.table(measured)})
        for cta in model.ctas:
            ctas.append({"cluster": model.index, "rank": cta.rank, "index": cta.index,
                         "begin": model.begin, "end": model.end, "profile": len(profiles) - 1})
            blocks.append(json.dumps(_cta_data(model, cta, places, texts), separators=(",", ":")))
    head = {"label": label, "kernel": launch.kernel, "cycles": launch.cycles,
            "status": launch.status, "notes": launch.notes(), "ctas": ctas,
            "places": places.table.items, "texts": texts.items, "profiles": profiles}
    return head, blocks


def write(path, title, runs, root=None, head="", bar="", around=None):
    """Writes the page of runs [(label, launch, models)], one under the other. `head`, `bar`: HTML for
    the end of <head> and the beginning of <body>, the frame of a site; `around`: an Around."""
    heads, blocks = [], []
    for label, launch, models in runs:
        about, texts = run_data(label, launch, models, root)
        about["first_block"] = len(blocks)
        heads.append(about)
        blocks += texts
    hatchings = palette.of_waits(palette.sums_of([model for _, _, models in runs for model in models]))
    known = {"title": title, "kinds": _KINDS, "patterns": palette.PATTERNS,
             "waits": {reason: [one.hue, one.direction] for reason, one in hatchings.items()},
             "runs": heads}
    data = [_script("runs", json.dumps(known, separators=(",", ":")))]
    data += [_script(f"cta-{number}", text) for number, text in enumerate(blocks)]
    text = template(title, head, bar, around).replace(DATA, "\n".join(data))
    path.write_text(text, encoding="utf-8")


def rules():
    """The tables, numbers and words by which pages make the same of a recording
    (docs/site/timeline_data.js)."""
    return {"kinds": _KINDS, "palette": palette.rules(), "roles": roles.functions(),
            "margin": builder.MARGIN, "warpgroup": builder.WARPGROUP, "stuck": builder.STUCK,
            "longest_retry": lives.LONGEST_RETRY, "inner_waits": lives.INNER_WAITS,
            "naming_share": roles.NAMING_SHARE, "set_up": roles.SET_UP.pattern,
            "workbook": roles.WORKBOOK.pattern, "synchronising": critical.SYNCHRONISING,
            "longest_synchronisation": critical.LONGEST_SYNCHRONISATION,
            "words": {"data": LOADED_DATA, "waits": WAIT_PHRASES, "notes": recording.NOTES,
                      "limits": profile.words_of_limits(), "paths": COPY_PATHS,
                      "copies": lanes.COPY_LANES}}


def template(title, head="", bar="", around=None):
    """The page with DATA in place of its data."""
    text = (_FOLDER / "page.html").read_text(encoding="utf-8")
    style = (_FOLDER / "page.css").read_text(encoding="utf-8")
    style = style.replace("@LIGHT@", palette.variables(palette.LIGHT))
    parts = {"@TITLE@": html.escape(title), "@HEAD@": head, "@BAR@": bar,
             "@STYLE@": style.replace("@DARK@", palette.variables(palette.DARK)),
             "@AROUND@": "\n".join(_around(around or Around())),
             "@SCRIPT@": (_FOLDER / "page.js").read_text(encoding="utf-8")}
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text


def _around(around):
    """The sentences above the picture, as HTML."""
    if around.headline:
        yield f'<p id="headline">{html.escape(around.headline)}</p>'
    for sentence in around.warnings:
        yield f'<p class="warning">{html.escape(sentence)}</p>'
    for report in around.reports:
        code = _link(report.address, report.code)
        yield f'<p class="warning">The simulator reported {code}: {html.escape(report.title)}.</p>'
    if around.guide:
        yield f"<p>{_link(around.guide, 'How to read this')}</p>"


def _link(address, words):
    if not address:
        return html.escape(words)
    return f'<a href="{html.escape(address)}">{html.escape(words)}</a>'


def _script(name, text):
    # "</" would end the element.
    return f'<script type="application/json" id="{name}">' + text.replace("</", "<\\/") + "</script>"
