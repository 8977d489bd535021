"""What a check says."""

from dataclasses import asdict, dataclass, fields, is_dataclass, replace

from .harmless import harmless

# Of what is printed and written for programs (docs/verdicts.md): changes when a field goes or means
# something else.
SCHEMA = 1
PASSED, FAILED, NOT_DONE, BROKEN = "passed", "failed", "not_done", "broken"
# What a check bounds: `cycles` are simulated, `time` is the compiler's or the simulator's own.
LIMITS = ("time", "memory", "output", "cycles")


@dataclass(frozen=True)
class Place:
    """A line of the reader's."""

    path: str
    line: int
    text: str = ""


@dataclass(frozen=True)
class Answer:
    """A reader's answer to one question; `comment` says what is wrong with it, or the right one
    after all are right."""

    key: str
    given: str
    right: bool
    comment: str = ""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a check. `status`: PASSED; FAILED; NOT_DONE: the starter is unchanged, or a
    question is open; BROKEN: it could not be tried (does not compile, a mark is gone)."""

    id: str
    status: str
    expected: str
    found: str = ""
    explanation: str = ""   # of a wrong answer that is known
    wrong: str = ""         # its name
    guessed: bool = False   # explanation or remark belong to an answer that the reader's lines resemble
    remark: str = ""        # on an answer that passed although it does not do what the text asks for
    rule: str = ""
    where: str = ""         # "chapters/NN_name/README.md#section": where the rule is explained
    place: Place = None     # the reader's first line that matters
    report: tuple = ()      # the machine's or the compiler's words, cut to the reader's lines
    notes: tuple = ()
    figures: tuple = ()     # (name, value) of an improve exercise
    answers: tuple = ()
    code: str = ""          # of the simulator's report, "BW-B06": ./workbook explain says more
    limit: str = ""         # what it used up when it was stopped: LIMITS, or ""
    seconds: float = 0.0

    def __post_init__(self):
        # What a reader wrote, and what it made the compiler and the machine say, goes to terminals.
        for field in fields(self):
            object.__setattr__(self, field.name, _harmless(getattr(self, field.name)))

    @property
    def passed(self):
        return self.status == PASSED

    def to_dict(self):
        """For JSON."""
        return asdict(self)


def _harmless(value):
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, tuple):
        return tuple(map(_harmless, value))
    if is_dataclass(value):
        return replace(value, **{field.name: _harmless(getattr(value, field.name))
                                 for field in fields(value)})
    return value
