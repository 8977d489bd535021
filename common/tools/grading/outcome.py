"""What becomes of a check, whoever makes it: this machine's process pool, or Dask."""

from dataclasses import dataclass

from ..errors import WorkbookError

GOES_ON = "Run the same command again: it goes on where it stopped"


@dataclass(frozen=True)
class Outcome:
    """What became of a job: a verdict, or why there is none."""

    key: str
    verdict: dict = None
    error: str = ""


def sentence(error):
    """What an exception says, of whatever kind it is."""
    text = str(error).strip() or type(error).__name__
    return text if isinstance(error, WorkbookError) else f"{type(error).__name__}: {text}"
