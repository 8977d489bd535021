"""Compares the timelines that pages make of recordings with those of `./workbook timeline`."""

import json
import subprocess
from pathlib import Path

from tools.timeline import builder, command, page, palette, recording, sources

ROOT = Path(__file__).resolve().parents[2]


class _Files(dict):
    """{path: text} of the repository's files that recordings name."""

    def add(self, launch):
        finder = sources.Sources(ROOT)
        for place in launch.places.values():
            for frame in (place.detail, *place.stack):
                path = finder.find(frame)
                if path not in self and (ROOT / path).is_file():
                    self[path] = (ROOT / path).read_text(encoding="utf-8")


def of_command(path, files):
    """{known, blocks} of a recording as the command writes them; `files` gets the sources."""
    launches = recording.read(path)
    launch = command.chosen(launches, None)
    files.add(launch)
    models = builder.build(launch, ROOT)
    head, blocks = page.run_data("", launch, models, ROOT)
    head["first_block"] = 0
    waits = palette.of_waits(palette.sums_of(models))
    known = {"title": "The run", "kinds": list(page.rules()["kinds"]), "patterns": palette.PATTERNS,
             "waits": {reason: [one.hue, one.direction] for reason, one in waits.items()},
             "runs": [head]}
    return json.loads(json.dumps({"known": known, "blocks": [json.loads(block) for block in blocks]}))


def differences(node, paths):
    """What differs, a sentence each, of the recordings' timelines."""
    files = _Files()
    wanted = [of_command(path, files) for path in paths]
    ended = subprocess.run([node, str(Path(__file__).with_name("timeline.js")), str(ROOT / "docs/site")],
                           input=json.dumps({"rules": page.rules(), "files": files,
                                             "recordings": [str(path) for path in paths]}),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                           check=False)
    if ended.returncode:
        return [ended.stderr]
    return [f"{path.name}: {where}" for path, one, other in zip(paths, wanted, json.loads(ended.stdout))
            for where in _different(one, other, "")][:20]


def _different(one, other, where):
    """The places where two JSON values differ."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from _different(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, (left, right) in enumerate(zip(one, other)):
            yield from _different(left, right, f"{where}[{at}]")
    elif one != other:
        yield f"{where} is {json.dumps(other)[:200]}, and the command's {json.dumps(one)[:200]}"
