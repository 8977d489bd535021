"""Reads TOML with Python's own module (3.11 and newer) or with tomli, its twin for older ones."""

import importlib
import sys
from pathlib import Path

from . import private_env
from .errors import WorkbookError


def _find():
    """The module, or None; tomli may be in the checkout's own environment."""
    places = private_env.site_packages(Path(__file__).resolve().parents[2])
    for name, path in (("tomllib", []), ("tomli", []), ("tomli", [str(one) for one in places])):
        sys.path += path
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
        finally:
            del sys.path[len(sys.path) - len(path):]
    return None


tomllib = _find()


def can_read():
    """Whether TOML can be read; looks again for a package that was installed since."""
    global tomllib  # one process, one module
    tomllib = tomllib or _find()
    return tomllib is not None


def parse(text, name, first_line=1):
    """The tables of a TOML text; an error names the file and the line.

    `first_line`: where the text begins in the file.
    """
    if not can_read():
        raise WorkbookError("Reading exercises takes Python 3.11 or newer, or the package tomli. "
                            "`./workbook setup` installs it into the checkout's own environment.")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise WorkbookError(f"{name}:{first_line}: lists or tables are nested too deeply.") from None
    except tomllib.TOMLDecodeError as error:
        line, reason = _place(str(error), text)
        raise WorkbookError(f"{name}:{first_line - 1 + line}: this is not TOML: {reason}.") from error
    except ValueError as error:  # a number of thousands of digits, an invalid date
        raise WorkbookError(f"{name}:{first_line}: a value below can't be read: {error}.") from error


def _place(message, text):
    """(line, message without its place)."""
    reason, separator, place = message.partition(" (at line ")
    if separator:
        return int(place.split(",")[0]), reason
    return text.count("\n") + 1, reason.replace(" (at end of document)", " at its end")
