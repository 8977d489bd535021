"""`./workbook profile NN` in the simulator: runs a chapter's program and shows where its time went,
in the rows of profile.sh; next to another configuration, or next to a saved profile."""

import json
import os
import re
import shutil
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path

from .. import build, chapters, process, runs
from ..errors import WorkbookError
from . import builder, command, metrics, profile, recording, statistics
from .model import FULL, READING

# Of saved profiles: changes when a field goes away or means something else.
VERSION = 1
# Options that say what is computed, not how.
_SHAPE_OPTIONS = ("rows", "columns", "m", "n", "k", "groups")
_NARROWEST = 60
_LABEL_WIDTH, _VALUE_WIDTH, _UNIT_WIDTH = 16, 14, 7


def do_profile(root, console, arguments):
    """Prints the profile of the chapter's program in the simulator."""
    chapter = chapters.find_program(root, arguments.chapter)
    saved = _saved(arguments.against) if arguments.against is not None else None
    with command.program(root, console, chapter, "profile") as (tools, settings):
        run = _Runs(root, chapter.name, tools, settings, arguments)
        others = command.words(arguments.against) if arguments.against and saved is None else None
        # Before anything runs, which may take long.
        if saved is not None:
            _check_comparable(chapter.name, run.timing, saved)
            _check_shape(run.shape(arguments.rest), saved["shape"])
        elif others is not None:
            _check_shape(run.shape(arguments.rest), run.shape(others))
        found = [run.profile(arguments.rest)]
        if arguments.against is not None:
            found.append(run.profile(others or []) if saved is None else saved)
    if arguments.json:
        print(json.dumps(found[0] if len(found) == 1 else found, indent=1))
    else:
        print("\n" + "\n".join(lines(found)))
    if arguments.save:
        _save(Path(arguments.save), found[0], console)
    return found[0]["exit_status"] or (found[1]["exit_status"] if saved is None and found[1:] else 0)


class _Runs:
    """Profiles runs of one program."""

    def __init__(self, root, name, tools, settings, arguments):
        self._root, self._name, self._tools, self._settings = root, name, tools, dict(settings)
        self._path = str(build.program(root, build.SIM, name))
        self._launch, self._quiet = arguments.launch, arguments.json
        # The model unless something else was asked for: what a run waits for, it alone knows.
        self.timing = arguments.timing or os.environ.get("BW_SIM_TIMING") or "model"
        self._settings["BW_SIM_TIMING"] = self.timing
        machine = arguments.gpu or os.environ.get("BW_SIM_MACHINE")
        if machine:
            self._settings["BW_SIM_MACHINE"] = machine
        if "BW_SIM_SEED" in os.environ:
            self._settings["BW_SIM_SEED"] = os.environ["BW_SIM_SEED"]

    def profile(self, options):
        """The profile of a run with these options, as it is saved."""
        record, launches, model, status = self._record(options)
        chain = profile.critical.shares(profile.critical.walk(model))
        units = metrics.units(record)
        finished = record["status"] == "finished"
        share, sentence = profile.limits(chain if finished else {}, sharing(record, units))
        return {
            "profile": VERSION, "program": self._name, "options": list(options),
            "shape": self.shape(options), "exit_status": status, "launches": launches,
            "statistics": record, "metrics": metrics.values(record),
            "roles": [asdict(role) for role in statistics.by_role(record, model)],
            "rings": [asdict(ring) for ring in statistics.occupancies(model, (FULL, READING))],
            "units": [{"unit": unit, "busy_percent": busy} for unit, busy in units],
            "recorded_cluster": model.index,
            "chain": [{"kind": kind, "role": who, "cycles": cycles}
                      for (kind, who), cycles in chain.items()],
            "bottleneck": {"share": share, "sentence": sentence},
        }

    def _record(self, options):
        """(record, number of launches, model of the first cluster, exit status) of a run."""
        folder = self._root / "build" / "profile"
        folder.mkdir(parents=True, exist_ok=True)
        recorded, counted = (folder / f"{what}-{os.getpid()}.tmp"
                             for what in ("recording", "statistics"))
        env = runs.clean_environment(self._tools, BW_SIM_RECORDING=str(recorded),
                                     BW_SIM_RECORDING_CLUSTERS="0", BW_SIM_STATISTICS=str(counted),
                                     **self._settings)
        try:
            status = process.run_in_foreground([self._path, *options], env=env, cwd=self._root,
                                               stdout=sys.stderr if self._quiet else None)
            sys.stdout.flush()
            if not counted.is_file():
                raise WorkbookError(f"The program launched no kernel (exit status {status}), so there "
                                    "is nothing to show.", exit_code=status or 1)
            records, launches = statistics.read(counted), recording.read(recorded)
        finally:
            for path in (recorded, counted):
                if path.is_file():
                    path.unlink()
        launch = command.chosen(launches, self._launch)
        record = next(record for one, record in zip(launches, records) if one is launch)
        models = builder.build(launch, self._root)
        if not models:
            raise WorkbookError(" ".join(launch.notes()))
        return record, len(records), models[0], status

    def shape(self, options):
        """{option: value} of what the program computes, with the defaults that its --help names."""
        _, text = process.capture([self._path, "--help"], env=runs.clean_environment(self._tools))
        shape = dict(re.findall(r"^  --(\w+) <[^>]*>\n.*\(default ([^)]*)\)$", text, re.M))
        given = list(options)
        for index, option in enumerate(given):
            name, equals, value = option.partition("=")
            if name.startswith("--") and name[2:] in shape:
                following = given[index + 1] if index + 1 < len(given) else ""
                shape[name[2:]] = value if equals else following
        return {name: shape[name] for name in _SHAPE_OPTIONS if name in shape}


def sharing(record, units):
    """What profile.limits wants to know of how CTAs slow each other down."""
    alone = record.get("alone_cycles", 0)
    if not units or not alone or alone >= record["cycles"]:
        return None
    return 1 - alone / record["cycles"], *units[0]


# -- saved profiles --------------------------------------------------------------------------------
def _saved(text):
    """The profile in the file that --against names; None where it names options."""
    path = Path(text)
    if not path.is_file():
        if text.endswith(".json"):
            raise WorkbookError(f"--against {text}: there is no such file. Name a profile that --save "
                                "has written, or options of the program.", exit_code=2)
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        version = found["profile"]
    except (OSError, ValueError, KeyError, TypeError):
        raise WorkbookError(f"--against {text}: this is not a profile. Name a file that --save has "
                            "written, or options of the program.", exit_code=2) from None
    if version != VERSION or found["statistics"].get("statistics") != statistics.VERSION:
        raise WorkbookError(f"--against {text}: it was saved by another version of the workbook "
                            f"(profile {version}, statistics "
                            f"{found['statistics'].get('statistics')}; this one has {VERSION} and "
                            f"{statistics.VERSION}). Save it again.", exit_code=2)
    return found


def _save(path, found, console):
    try:
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise WorkbookError(f"--save {path}: it can't be written: {error.strerror}. Name a file in a "
                            "folder that exists and may be written to.", exit_code=2) from error
    console.say(f"Saved: {path}")


def _check_comparable(name, timing, saved):
    """Refuses a saved profile that can't be compared with a run of this program with this timing."""
    if saved["program"] != name:
        raise WorkbookError(f"--against is a profile of {saved['program']}, not of {name}. Compare runs "
                            "of one program.", exit_code=2)
    before = saved["statistics"]["timing"]
    if before != timing:
        raise WorkbookError(f"--against is a run with the timing {before}, and this one has {timing}: "
                            f"their cycles are not to be compared. --timing {before} makes them alike.",
                            exit_code=2)


def _check_shape(one, other):
    """Refuses runs that compute something else."""
    if one != other:
        raise WorkbookError(
            f"--against is a run of another shape: {_shape_text(other)}, and this one has "
            f"{_shape_text(one)}. Give both runs the same; --against names all options of the second "
            "run.", exit_code=2)


def _shape_text(shape):
    return " ".join(f"--{name} {value}" for name, value in shape.items()) or "no extents"


# -- what is printed -------------------------------------------------------------------------------
def _width():
    """Columns to fill; None if the output is not a terminal."""
    if not sys.stdout.isatty():
        return None
    return max(shutil.get_terminal_size().columns, _NARROWEST)


def lines(found):
    """One or two profiles for a terminal."""
    printed = []
    for number, one in enumerate(found, 1):
        if len(found) > 1:
            printed += [f"run {number}     {' '.join(one['options']) or 'default options'}"]
        printed += [*_head(one["statistics"], one["launches"]), ""]
    printed += _table(found)
    if any(one["statistics"]["timing"] == "simple" for one in found):
        printed.append("-: not counted; most of these rows need the timing model (--timing model).")
    for number, one in enumerate(found, 1):
        printed += ["", *([f"run {number}"] if len(found) > 1 else []), *_roles(one), *_rings(one),
                    *_bytes(one["statistics"]), "", *_sentences(one)]
    return [line.rstrip() for line in printed]


def _head(record, launches):
    shape = record["cluster_shape"]
    of_cluster = shape[0] * shape[1] * shape[2]
    threads = record["block"][0] * record["block"][1] * record["block"][2]
    clusters = f" in clusters of {of_cluster}" if of_cluster > 1 else ""
    which = f"{record['launch'] + 1} of {launches}: " if launches > 1 else ""
    ctas = record["clusters"] * of_cluster
    lines = [f"kernel    {record['kernel']}",
             f"machine   {record['machine']}, simulated: {record['sms']} SMs at "
             f"{record['clock_ghz']:g} GHz; timing: {record['timing']}",
             f"launch    {which}{ctas} CTA{'s' if ctas > 1 else ''} of {threads} threads{clusters}"]
    if record["status"] != "finished":
        lines.append(f"note      The launch did not finish ({record['status']}): only clusters that "
                     "have ended are counted.")
    return lines


def number_text(value):
    """As profile.sh prints it."""
    if value is None:
        return "-"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.2f}"


def _table(found):
    """The rows of profile.sh: a column for each run, then their ratio."""
    width = _width()
    heads = ["this run"] if len(found) == 1 else ["run 1", "run 2", "2 / 1"]
    lines = [f"{'':<{_LABEL_WIDTH}}" + "".join(f"{head:>{_VALUE_WIDTH}}" for head in heads)]
    for row in metrics.rows():
        values = [one["metrics"].get(row.metric) for one in found]
        cells = [number_text(value) for value in values]
        if len(found) == 2:
            known = None not in values and values[0]
            cells.append(f"{values[1] / values[0]:.2f}" if known else "-")
        unit = row.unit if any(value is not None for value in values) else ""
        line = (f"{row.label:<{_LABEL_WIDTH}}" + "".join(f"{cell:>{_VALUE_WIDTH}}" for cell in cells)
                + f"  {unit:<{_UNIT_WIDTH}}")
        named = line + row.metric
        lines.append(named if width is None or len(named) <= width else line)
    return lines


def _roles(one):
    modelled = one["statistics"]["timing"] == "model"
    columns = [("issuing", lambda role: role["issued"]),
               ("slot", lambda role: _stalls(role, "pipe", "issue")),
               ("fixed", lambda role: _stalls(role, "fixed")),
               ("shared", lambda role: _stalls(role, "shared", "shared_queue")),
               ("memory", lambda role: _stalls(role, "global", "global_queue")),
               ("waiting", lambda role: sum(role["waits"].values()))]
    if not modelled:  # an instruction has a constant cost, and data is all that is waited for
        columns = [("issuing", lambda role: role["issued"] + _stalls(role, "pipe", "issue", "fixed")),
                   ("data", lambda role: _stalls(role, "shared", "global")), columns[-1]]
    width = max([len(role["name"]) for role in one["roles"]] + [4]) + 2
    lines = [f"{'role':<{width}}{'warps':<7}" + "".join(f"{name:>9}" for name, _ in columns) + "  for"]
    indent = len(lines[0]) - len("for")
    for role in one["roles"]:
        line = (f"{role['name']:<{width}}{profile.list_of_warps(sorted(role['warps'])):<7}"
                + "".join(f"{profile.percent(of(role), role['cycles']):>9}" for _, of in columns))
        lines += _wrapped(line + "  ", _reasons(role), indent)
    return lines


def _stalls(role, *reasons):
    return sum(role["stalls"].get(reason, 0) for reason in reasons)


def _reasons(role):
    ordered = sorted(role["waits"].items(), key=lambda entry: -entry[1])
    return ", ".join(f"{what} {profile.percent(cycles, role['cycles'])}" for what, cycles in ordered
                     if cycles * 200 >= role["cycles"])


def _wrapped(line, text, indent):
    """`text` after `line`; on a narrow terminal below it."""
    width = _width()
    if width is None or len(line) + len(text) <= width:
        return [line + text]
    indent = indent if width - indent >= 30 else 4
    return [line, *(" " * indent + part for part in textwrap.wrap(text, width - indent))]


def _rings(one):
    if not one["rings"]:
        return []
    lines = ["", f"{'ring (of cluster ' + str(one['recorded_cluster']) + ')':<24}{'stages':>7}"
                 f"{'filled':>8}{'all filled':>12}{'none filled':>13}"]
    for ring in one["rings"]:
        lines.append(f"{ring['ring']:<24}{ring['stages']:>7}{ring['mean']:>8.1f}"
                     f"{profile.percent(ring['full'], 1):>12}{profile.percent(ring['empty'], 1):>13}")
    return lines


_UNITS = {"tensor": "tensor copies", "bulk": "bulk copies", "cp_async": "cp.async"}
_DIRECTIONS = {"load": "global to shared memory", "store": "shared to global memory",
               "reduce": "shared to global memory, added there",
               "shared": "shared memory to another CTA's"}


def _bytes(record):
    """Bytes by path, as far as the table has no row for them."""
    paths = [(f"{_DIRECTIONS[copy['direction']]}, {_UNITS[copy['unit']]}", copy["written_bytes"],
              f"in {copy['copies']:,}") for copy in record["copies"]]
    paths += [("tensor memory to threads", record["tensor_memory_read_bytes"], ""),
              ("threads to tensor memory", record["tensor_memory_written_bytes"], "")]
    threads = record.get("threads_shared_memory", {})
    paths += [("shared memory to threads", threads.get("read_bytes", 0), ""),
              ("threads to shared memory", threads.get("written_bytes", 0), "")]
    paths = [path for path in paths if path[1]]
    width = max([len(name) for name, _, _ in paths] + [4]) + 2
    lines = [f"{name:<{width}}{count:>16,}  {more}" for name, count, more in paths]
    return ["", f"{'path':<{width}}{'bytes':>16}", *lines] if lines else []


def _sentences(one):
    sentences = [one["bottleneck"]["sentence"]]
    if one["units"] and one["statistics"]["status"] == "finished":
        first = one["units"][0]
        sentences.append(f"Of the units {first['unit']} are the busiest: "
                         f"{profile.percent(first['busy_percent'], 100)} of what they can do."
                         if first["unit"].endswith(("cores", "slots")) else
                         f"Of the units {first['unit']} is the busiest: "
                         f"{profile.percent(first['busy_percent'], 100)} of what it can do.")
    width = _width()
    if width is None:
        return sentences
    return [line for sentence in sentences for line in textwrap.wrap(sentence, width)]
