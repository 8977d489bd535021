"""The exception that ends `./workbook` with a sentence instead of a traceback."""


class WorkbookError(Exception):
    """An error the reader can act on: what was found, what is needed, what to do.

    `details` is printed as it is before the message (a compiler's output, say).
    """

    def __init__(self, message, details="", exit_code=1):
        super().__init__(message)
        self.details = details
        self.exit_code = exit_code
