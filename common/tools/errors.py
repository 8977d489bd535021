"""The exceptions that end `./workbook` with a sentence instead of a traceback."""

from .harmless import harmless


class WorkbookError(Exception):
    """An error the reader can act on: what was found, what is needed, what to do.

    `details` is printed as it is before the message (a compiler's output, say).
    """

    def __init__(self, message, details="", exit_code=1):
        super().__init__(message)
        self.details = details
        self.exit_code = exit_code


class GraderError(WorkbookError):
    """A fault of this machine or of the set-up, which says nothing about an answer. It never becomes a
    verdict: the answer stays unchecked."""

    LEAD = "this is an error of the grader and says nothing about the answer. "

    def __init__(self, message, details="", exit_code=1):
        # Both may hold what a stranger's program has printed.
        super().__init__(self.LEAD + harmless(message), harmless(details), exit_code)
