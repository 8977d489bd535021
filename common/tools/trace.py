"""Reads the event log that the simulator writes (BW_SIM_EVENTS), for answers and figures.

The fields of events are described in common/simulator/README.md; an event's fields are attributes
here: `event.cycle`, `event.barrier`. A field that an event doesn't have is None.
"""

import json
from dataclasses import dataclass

from .errors import WorkbookError


class Event:
    """One event of a launch."""

    def __init__(self, fields):
        self.fields = fields

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.fields.get(name)

    def __repr__(self):
        return f"Event({self.fields})"

    def at(self, file, line=None):
        """Whether its place, or a call that led there, is in `file` (and in `line`)."""
        places = list(self.fields.get("stack") or ())
        places.append(f"{self.fields.get('file', '')}:{self.fields.get('line', '')}")
        wanted = file + ":" + ("" if line is None else str(line))
        return any(place == wanted if line is not None else place.startswith(wanted)
                   for place in places)


@dataclass(frozen=True)
class Launch:
    """A launch of a kernel: the line that began it, its events in order, and its last line."""

    begin: Event
    events: tuple
    end: Event = None

    @property
    def kernel(self):
        return self.begin.kernel

    @property
    def cycles(self):
        return self.end.cycles if self.end else None

    def of(self, *names, **fields):
        """The events with one of these names and all of these fields' values, in order."""
        return [event for event in self.events
                if (not names or event.event in names)
                and all(event.fields.get(key) == value for key, value in fields.items())]

    def first(self, *names, **fields):
        """The first of of(); an error without one."""
        found = self.of(*names, **fields)
        if not found:
            raise WorkbookError(f"The trace of {self.kernel} has no event {' or '.join(names)}"
                                f"{' with ' + str(fields) if fields else ''}.")
        return found[0]


class Trace:
    """All launches of a run. of() and first() look at the first launch, which mostly is the only
    one."""

    def __init__(self, launches, output=""):
        self.launches = launches
        self.output = output  # what the program printed on standard output

    @staticmethod
    def read(path, output=""):
        """The trace in a file. Throws WorkbookError for one that can't be read."""
        launches, begin, events, number = [], None, [], 0
        try:
            with open(path, encoding="utf-8") as file:
                for line in file:
                    number += 1
                    event = Event(json.loads(line))
                    if event.event == "launch":
                        if begin:
                            launches.append(Launch(begin, tuple(events)))
                        begin, events = event, []
                    elif event.event == "launch_end":
                        launches.append(Launch(begin, tuple(events), event))
                        begin, events = None, []
                    else:
                        events.append(event)
        except OSError as error:
            raise WorkbookError(f"The event log {path} can't be read: {error.strerror}.") from error
        except ValueError as error:
            raise WorkbookError(f"{path}:{number}: this is not an event: {error}.") from error
        if begin:
            launches.append(Launch(begin, tuple(events)))
        if not launches:
            raise WorkbookError(f"The event log {path} holds no launch.")
        return Trace(tuple(launches), output)

    @property
    def events(self):
        return self.launches[0].events

    def of(self, *names, **fields):
        return self.launches[0].of(*names, **fields)

    def first(self, *names, **fields):
        return self.launches[0].first(*names, **fields)
