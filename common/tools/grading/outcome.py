"""What becomes of a check, whoever makes it: this machine's process pool, or Dask."""

from dataclasses import dataclass

from ..errors import WorkbookError
from ..harmless import harmless

GOES_ON = "Run the same command again: it goes on where it stopped"


@dataclass(frozen=True)
class Outcome:
    """The result of a job: a verdict, or the reason for its absence."""

    key: str
    verdict: dict = None
    error: str = ""


def sentence(error):
    """What an exception says, of whatever kind it is."""
    text = harmless(str(error).strip()) or type(error).__name__
    return text if isinstance(error, WorkbookError) else f"{type(error).__name__}: {text}"
