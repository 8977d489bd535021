"""Reads the recordings that the simulator writes (BW_SIM_RECORDING).

The file holds the table of its own fields (common/simulator/trace/recording_file.hpp describes it),
so an event's fields have the names that the event log gives them.
"""

import json
import struct
from array import array
from dataclasses import dataclass, field

from ..errors import WorkbookError

MAGIC = b"BWREC001"
NONE = 0xFFFFFFFF
_ABSENT = -(1 << 63)
_ROW = struct.Struct("<QIIIIHHB3x")
_PART = struct.Struct("<4s4xQ")


class Event:
    """One event: `event` (its name), `cycle`, `rank`, `warp`, `lanes`, `instruction` and `barrier`
    (indices, or None), and `fields`, those of its kind."""

    __slots__ = ("event", "cycle", "rank", "warp", "lanes", "instruction", "barrier", "fields")

    def __getattr__(self, name):
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(f"{self.event} has no field {name}") from None

    def get(self, name, default=None):
        return self.fields.get(name, default)


@dataclass(frozen=True)
class Frame:
    """A line of the reader's sources. `path` as the compiler was given it."""

    path: str
    line: int
    function: str

    @property
    def file(self):
        return self.path.rsplit("/", 1)[-1]

    def __str__(self):
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Place:
    """Location of an instruction: its opcode, the place that reports name, the most telling line
    of the reader's, and the inlined calls, innermost first."""

    opcode: str
    place: Frame
    detail: Frame
    stack: tuple


def signalling_unit(opcode):
    """Which unit signals mbarriers for such an instruction: "mma", "copy", or "warp" at once.

    The one place where opcodes of a recording are compared.
    """
    if opcode.startswith("tcgen05.commit"):
        return "mma"
    return "copy" if "async.bulk" in opcode else "warp"


# What a recording may lack; `ends` by the launch's status.
NOTES = {
    "no_cluster": "None of the {total} clusters is in the requested window.",
    "one_cluster": "Only cluster {first} of {total} is recorded.",
    "some_clusters": "Only clusters {first} to {last} of {total} are recorded.",
    "some_cycles": "Only the cycles {first} to {last} are recorded.",
    "cut": "The recording is cut: there was no room for what happened after cycle {cycle}.",
    "ends": {"deadlock": "The launch ended in a deadlock: waits that end at the right edge never ended.",
             "fault": "The launch ended in a fault; this is what happened before.",
             "killed": "The program was ended from outside."},
    "end": "{end}",
    "stopped": "The launch was stopped ({status}).",
}


@dataclass
class Cluster:
    """What one cluster did, by cycle. `full_at`: from this cycle on there was no room."""

    index: int
    ctas: list
    barriers: list  # dictionaries, as the event log writes them; `init` is an instruction
    events: list
    full_at: int = None


@dataclass
class Launch:
    """A launch: `begin` and `end` as in the event log (`end` is None where the program was killed),
    the recorded clusters, and the places of instructions."""

    begin: dict
    parts: list = field(default_factory=list)  # of clusters, decoded on first use
    decoder: object = None
    places: dict = field(default_factory=dict)
    end: dict = None
    _clusters: list = None

    @property
    def clusters(self):
        if self._clusters is None:
            self._clusters = [_cluster(part, self.decoder) for part in self.parts]
        return self._clusters

    @property
    def kernel(self):
        return self.begin["kernel"]

    @property
    def cycles(self):
        return self.end["cycles"] if self.end else 0

    @property
    def status(self):
        return self.end["status"] if self.end else "killed"

    def notes(self):
        """Sentences about what is not in the recording."""
        said = []

        def say(name, **values):
            said.append(NOTES[name].format(**values))

        total, kept = self.begin["clusters"], self.begin["recorded_clusters"]
        if not kept:
            say("no_cluster", total=total)
        elif kept[1] - kept[0] + 1 < total:
            say("one_cluster" if kept[0] == kept[1] else "some_clusters", first=kept[0], last=kept[1],
                total=total)
        if "recorded_cycles" in self.begin:
            first, last = self.begin["recorded_cycles"]
            say("some_cycles", first=first, last=last)
        full = [cluster for cluster in self.clusters if cluster.full_at is not None]
        if full:
            say("cut", cycle=min(cluster.full_at for cluster in full))
        if self.status != "finished":
            end = NOTES["ends"].get(self.status)
            say("end" if end else "stopped", end=end, status=self.status)
        return said


class _Decoder:
    """Turns rows into events by the file's own table."""

    def __init__(self, table):
        self._kinds = [(kind["event"], [(name, kind_of, names) for name, kind_of, names
                                        in kind["fields"]]) for kind in table["kinds"]]
        self._spaces = table["spaces"]

    def events(self, rows, values, texts):
        found, kinds = [], self._kinds
        for cycle, instruction, lanes, first, barrier, rank, warp, kind in _ROW.iter_unpack(rows):
            event = Event()
            event.event, fields = kinds[kind]
            event.cycle, event.rank, event.warp, event.lanes = cycle, rank, warp, lanes
            event.instruction = None if instruction == NONE else instruction
            event.barrier = None if barrier == NONE else barrier
            event.fields = self._fields(fields, values, first, texts)
            found.append(event)
        return found

    def _fields(self, fields, values, at, texts):
        decoded = {}
        for name, kind, names in fields:
            value = values[at]
            at += 1
            if kind == "number":
                if value != _ABSENT:
                    decoded[name] = value
            elif kind == "name":
                decoded[name] = names[value]
            elif kind == "boolean":
                decoded[name] = bool(value)
            elif kind == "text":
                decoded[name] = texts[value]
            elif value != _ABSENT:
                width = {"ranges": 4, "signals": 3, "numbers": 1}[kind]
                items = [values[at + index * width:at + (index + 1) * width]
                         for index in range(value)]
                at += value * width
                decoded[name] = [self._item(kind, item) for item in items]
        return decoded

    def _item(self, kind, item):
        if kind == "numbers":
            return item[0]
        if kind == "signals":
            return {"rank": item[0], "offset": item[1], "bytes": item[2]}
        space = self._spaces[item[0]]
        if space == "shared":
            return {"space": space, "rank": item[1], "offset": item[2], "bytes": item[3]}
        return {"space": space, "address": item[2], "bytes": item[3]}


def _parts(content):
    """(tag, content) of each whole part."""
    at = len(MAGIC)
    while at + _PART.size <= len(content):
        tag, size = _PART.unpack_from(content, at)
        at += _PART.size
        if at + size > len(content):
            return  # the program was killed while it wrote
        yield tag.decode("ascii", "replace"), content[at:at + size]
        at += size


def _cluster(part, decoder):
    json_bytes, rows, values = struct.unpack_from("<QQQ", part)
    at = 24
    about = json.loads(part[at:at + json_bytes].decode("utf-8"))
    at += json_bytes
    row_bytes = rows * _ROW.size
    numbers = array("q")
    numbers.frombytes(part[at + row_bytes:at + row_bytes + 8 * values])
    return Cluster(about["cluster"], about["ctas"], about["barriers"],
                   decoder.events(part[at:at + row_bytes], numbers, about["texts"]),
                   about.get("full_at"))


def _places(table):
    frames = [Frame(path, line, function) for path, line, function in table["locations"]]
    return {int(index): Place(opcode, frames[place], frames[detail],
                              tuple(frames[number] for number in stack))
            for index, (opcode, place, detail, stack) in table["instructions"].items()}


def read(path):
    """[Launch] of a file, in order. Throws WorkbookError for one that can't be read."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise WorkbookError(f"The recording {path} can't be read: {error.strerror}.") from error
    if not content:
        raise WorkbookError("The program launched no kernel, so there is nothing to show.")
    if not content.startswith(MAGIC):
        raise WorkbookError(f"{path} is not a recording of the simulator (BW_SIM_RECORDING writes one).")
    launches, decoder = [], None
    for tag, part in _parts(content):
        if tag == "kind":
            decoder = _Decoder(json.loads(part.decode("utf-8")))
        elif tag == "lnch":
            launches.append(Launch(json.loads(part.decode("utf-8")), decoder=decoder))
        elif tag == "clst":
            launches[-1].parts.append(part)
        elif tag == "plac":
            launches[-1].places = _places(json.loads(part.decode("utf-8")))
        elif tag == "lend":
            launches[-1].end = json.loads(part.decode("utf-8"))
    if not launches:
        raise WorkbookError("The program launched no kernel, so there is nothing to show.")
    return launches
