"""Tables of what each step of a chapter bought: simulated cycles, what share of them the work needs
at least, and what limits each run."""

import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from .. import exercises, runs
from ..errors import WorkbookError
from . import builder, command, critical, metrics, profile_command, recording, roles, statistics

# Units of an SM whose busy cycles can be the least that the work takes: the name in a mark, and the
# key in a launch's statistics.
_UNITS = {"tensor": "tensor_cycles", "copies": "loading_cycles"}
_FORM = ('a table of cycles reads `[of [1/2] UNIT] PROGRAM "label" OPTIONS; ...`, with the unit '
         f"{' or '.join(_UNITS)}.")
_KINDS = {critical.TENSOR_CORE: "the tensor core", critical.LOADS: "copies into shared memory",
          critical.STORES: "copies out of shared memory", critical.HAND_OVER: "hand-overs",
          critical.OTHER: "waits that no barrier tells of"}


@dataclass(frozen=True)
class Step:
    """A row: the cycles, the busy cycles of the unit in each SM, and what limits the run."""

    label: str
    cycles: float
    busy: float
    limit: str


def table(root, tools, text):
    """The rows of the table that a mark asks for."""
    unit, share, parts = _parsed(text)
    steps = [_measured(root, tools, label, program, options, unit)
             for program, label, options in parts]
    return rows([replace(step, busy=share * step.busy) for step in steps], bool(unit))


def rows(steps, with_least=False):
    """The table's lines. The least that the work takes is what the unit is busy, or, in a run that
    does not use it, what it is busy in the step that needs it least."""
    least = min((step.busy for step in steps if step.busy), default=0)
    heads = ["step", "simulated cycles", "compared with the step before",
             *["of what is possible"] * with_least, "limited by"]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 2) + "---|"]
    before = None
    for step in steps:
        cells = [step.label, f"{step.cycles:,.0f}", f"{step.cycles / before:.2f} x" if before else ""]
        if with_least:
            cells.append(f"{100 * (step.busy or least) / step.cycles:.0f} %")
        lines.append("| " + " | ".join([*cells, step.limit]) + " |")
        before = step.cycles
    return lines


def _parsed(text):
    """(the unit's key or "", the share of its work that is measured, [(program, label, options)]) of a
    mark."""
    unit, share, match = "", 1.0, re.match(r"of (?:([1-9]\d*)/([1-9]\d*) )?(\w+) +", text)
    if match:
        unit = _UNITS.get(match.group(3), "")
        share = int(match.group(1) or 1) / int(match.group(2) or 1)
        text = text[match.end():]
    parts = [re.match(r'(\S+)\s+"([^"]+)"\s*(.*)$', part)
             for part in re.split(r";\s*(?=\S+\s+\")", text)]
    if not all(parts) or bool(match) != bool(unit):
        raise WorkbookError(_FORM)
    return unit, share, [(part.group(1), part.group(2), tuple(part.group(3).split()))
                         for part in parts]


def _measured(root, tools, label, program, options, unit):
    """The Step of one run."""
    with tempfile.TemporaryDirectory() as folder:
        recorded, counted = Path(folder) / "recording", Path(folder) / "statistics"
        result = runs.execute(root, tools, exercises.Run(program, options), 0, runs.SOLUTION_SECONDS,
                              BW_SIM_RECORDING=str(recorded), BW_SIM_RECORDING_CLUSTERS="0",
                              BW_SIM_STATISTICS=str(counted))
        if not result.verified:
            raise WorkbookError(f"{program} {' '.join(options)} does not verify.",
                                details=result.text)
        launches, records = recording.read(recorded), statistics.read(counted)
    launch = command.chosen(launches, None)
    record = records[launches.index(launch)]
    model = builder.build(launch, Path(root))[0]
    # A lab that measures a part of its kernel measures from its beginning.
    end = model.begin + min(result.kernel_cycles, record["cycles"])
    chain = critical.shares(until(critical.walk(model), end))
    busy = record["used"][unit] / min(record["ctas"], record["sms"]) if unit else 0
    return Step(label, result.kernel_cycles, busy, limit_of(chain, record))


def until(steps, end):
    """The steps of a chain before a cycle."""
    return [replace(step, end=min(step.end, end)) for step in steps if step.begin < end]


def limit_of(chain, record):
    """What limits a launch, and its share: of the longest chain of steps that wait for each other, or
    of the launch, if CTAs slow each other down by more."""
    sharing = profile_command.sharing(record, metrics.units(record))
    (kind, role), cycles = next(iter(chain.items()))
    slowed, unit = sharing[:2] if sharing else (0.0, "")
    share = (1 - slowed) * cycles / sum(chain.values())
    if slowed > share:
        return f"{unit}, {100 * slowed:.0f} %"
    return f"{_KINDS.get(kind) or _who(role)}, {100 * share:.0f} %"


def _who(role):
    return f"the {role} role" if role in roles.OF_TEXTS else f"`{role}`"
