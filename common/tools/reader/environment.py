"""Into the private environment, where the reader's commands find Typer, Rich and watchfiles."""

import importlib.util
import os
import sys

from .. import commands, private_env, setup
from ..errors import WorkbookError

_LIBRARIES = ("typer", "rich", "watchfiles")
# What works without the private environment, for the sentence that says it is missing.
_STILL = ("`list`, `hint`, `run`, `profile`, `test`, `bench`, `grade`, `doctor` and `setup` work "
          "without it.")


def is_missing(root):
    """Whether the reader's libraries are still to be installed."""
    return not private_env.is_running_in(root) and private_env.reader_python(root) is None


def run(root, console, arguments):
    """Runs a reader's command: here, if this is the private environment, else in its Python."""
    if not private_env.is_running_in(root):
        _become(root, console, arguments)
    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        # A Python that was upgraded under the environment, or packages that were removed from it.
        private_env.forget_reader(root)
        raise WorkbookError(f"The private environment in .workbook/venv is damaged: it lacks "
                            f"{', '.join(missing)}. `./workbook setup` installs it anew. {_STILL}")
    from . import app
    return app.main(root, console, arguments)


def require_toml(root, console):
    """Makes sure that TOML can be read: by this Python from 3.11 on, else in the environment."""
    if sys.version_info < (3, 11) and not private_env.is_running_in(root):
        _become(root, console, sys.argv[1:])


def _become(root, console, arguments):
    """Goes on as the environment's Python; installs it first where it is missing."""
    python = private_env.reader_python(root)
    if python is None:
        with commands.only_one(root, console):
            try:
                python = setup.ensure_reader(root, console)
            except WorkbookError as error:
                raise WorkbookError(f"`{arguments[0]}` needs Python packages that are not installed "
                                    f"yet (typer, rich, watchfiles). {error} {_STILL}",
                                    details=error.details) from error
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(str(python), [str(python), str(root / "workbook"), *arguments])
