"""Reads TOML with Python's own module (3.11 and newer) or with tomli, its twin for older ones."""

from .errors import WorkbookError

try:
    import tomllib
except ImportError:
    try:
        import tomli as tomllib
    except ImportError:
        tomllib = None


def parse(text, name, first_line=1):
    """The tables of a TOML text; an error names the file and the line.

    `first_line`: where the text begins in the file.
    """
    if tomllib is None:
        raise WorkbookError("Reading exercises takes Python 3.11 or newer, or the package tomli. "
                            "`./workbook setup` installs it into the checkout's own environment.")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, reason = _place(str(error), text)
        raise WorkbookError(f"{name}:{first_line - 1 + line}: this is not TOML: {reason}.") from error


def _place(message, text):
    """(line, message without its place)."""
    reason, separator, place = message.partition(" (at line ")
    if separator:
        return int(place.split(",")[0]), reason
    return text.count("\n") + 1, reason.replace(" (at end of document)", " at its end")
