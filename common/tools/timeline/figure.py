"""Timelines in texts: an SVG of a program's run, as a mark asks for it (tools.texts)."""

import shlex
import tempfile
from pathlib import Path

from .. import exercises, runs
from ..errors import WorkbookError
from . import builder, recording, svg

_FORM = ('a timeline reads `FILE.svg "title" [cycles A-B] [cta N] [launch N] [without "lane"] -- '
         'PROGRAM OPTIONS`.')


def draw(root, tools, text):
    """(file, title, SVG) of a mark."""
    try:
        words = shlex.split(text)
        at = words.index("--")
        name, title, *rest = words[:at]
        chosen = {"without": []}
        for key, value in zip(rest[::2], rest[1::2]):
            if key == "without":
                chosen["without"].append(value)
            elif key == "cycles":
                first, last = map(int, value.split("-"))
                chosen["window"] = (first, last)
            elif key in ("cta", "launch"):
                chosen[key] = int(value)
            else:
                raise ValueError(key)
        program, *options = words[at + 1:]
        if len(rest) % 2:
            raise ValueError(rest[-1])
    except ValueError as error:
        raise WorkbookError(f"{_FORM} This one does not: {error}.") from error
    launch = recorded(root, tools, program, options, chosen.get("launch"))
    models = builder.build(launch, Path(root))
    ctas = [(one, cta) for one in models for cta in one.ctas]
    number = chosen.get("cta", 0)
    if number >= len(ctas):
        raise WorkbookError(f"cta {number}: only {len(ctas)} are recorded.")
    cluster, cta = ctas[number]
    return name, title, svg.draw(cluster, cta, title, chosen.get("window"),
                                 without=tuple(chosen["without"]))


def recorded(root, tools, program, options, number):
    """A launch of a run (the last one where no number is given); WorkbookError unless it verifies."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        run = exercises.Run(program, tuple(options))
        result = runs.execute(root, tools, run, 0, runs.SOLUTION_SECONDS, BW_SIM_RECORDING=str(path))
        if not result.verified:
            raise WorkbookError(f"{program} {' '.join(options)} does not verify.",
                                details=result.text)
        launches = recording.read(path)
    return launches[-1 if number is None else number - 1]
