"""The checkout as a place to build in: one command at a time, a folder that can be written to, and
everything up to built targets."""

import contextlib
import fcntl
import os
import shlex
import tempfile
from pathlib import Path

from . import build, prebuilt, private_env, setup, toml_text
from .errors import WorkbookError

# nvcc loses include folders with one of the first five in their names, CMake splits its lists at the
# semicolon and reads the backslash as an escape, and the colon ends an entry of PATH.
UNUSABLE_IN_PATHS = "'\"$`,;\\:"


@contextlib.contextmanager
def only_one(root, console):
    """Keeps two commands in one checkout from installing or building at the same time."""
    _require_usable_path(root)
    _require_writable(root)
    private_env.folder(root).mkdir(exist_ok=True)
    with open(private_env.folder(root) / "lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.say("Another ./workbook is building in this checkout; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def prepare(root, console, configuration, targets=(), title="Building", everything=False,
            environment=None):
    """Everything up to built targets; returns the Tools.

    Programs that run in the simulator come with its library of observers, whose compilation takes a
    fifth of the simulator's. `environment`: that of the only run for which they are built; if it does
    not request the library, that is left out."""
    if targets and configuration.preset == build.SIM.preset and (
            environment is None or any(name in environment for name in build.REQUESTS)):
        targets = list(dict.fromkeys([*targets, build.OBSERVERS]))
    if prebuilt.is_used(root):
        return prebuilt.prepare(root, console, configuration, targets, only_one)
    with only_one(root, console):
        tools = setup.ensure(root, console, configuration.purposes, everything)
        build.configure(root, tools, console, configuration)
        build.build(root, tools, console, configuration, targets, title)
    return tools


def require_toml(root, console):
    """Makes sure that TOML can be read; Python 3.10 and older take a package for that, which is
    installed once."""
    if toml_text.can_read():
        return
    with only_one(root, console):
        setup.ensure_toml(root, console)


def is_on_read_only_file_system(path):
    """Whether no right could help to write there."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def how_to_copy(root):
    """The command that makes a copy of the checkout in a folder that can be written to."""
    # Git clones nothing that belongs to someone else.
    clones = (root / ".git").exists() and root.stat().st_uid == os.geteuid()
    homes = [Path(os.path.expanduser("~")), Path(tempfile.gettempdir())]
    target = next((home for home in homes if os.access(home, os.W_OK)), homes[0]) / root.name
    return f"{'git clone' if clones else 'cp -r'} {_shell(root)} {_shell(target)}"


def _require_usable_path(root):
    found = " ".join(sorted(set(UNUSABLE_IN_PATHS).intersection(str(root))))
    if found:
        raise WorkbookError(f"The checkout's path contains {found}, which the CUDA compiler or CMake "
                            f"can't handle: {root}. Spaces are fine; none of "
                            f"{' '.join(UNUSABLE_IN_PATHS)} is. Rename the folder, or move the "
                            "checkout elsewhere, and run the command again.")


def _require_writable(root):
    """Refuses a checkout in which nothing can be built, before anything is tried."""
    own = [private_env.folder(root), root / "build", *(root / "build").glob("*/")]
    for path in [root, *own]:
        if path.exists() and is_on_read_only_file_system(path):
            _refuse(path, "It is on a read-only file system. Copy the checkout to a file system that "
                          f"can be written to and run the command there: `{how_to_copy(root)}`")
    for path in [*own, private_env.folder(root) / "lock"]:
        if path.exists() and not os.access(path, os.W_OK):
            _refuse(path, f"It belongs to {_owner(path)}: "
                          f"`sudo chown -R $(id -un) {_shell(root)}` makes it yours. Or use a copy "
                          f"of the checkout: `{how_to_copy(root)}`")
    if not os.access(root, os.W_OK) and not all(path.exists() for path in own[:2]):
        _refuse(root, "Use a copy of the checkout in a folder of your own: "
                      f"`{how_to_copy(root)}` makes one")


def _refuse(path, remedy):
    raise WorkbookError(f"{path} can't be written to, and this command installs and builds in the "
                        f"checkout. {remedy}. Without writing, ./workbook list, hint, explain, doctor "
                        "and --help work.")


def _shell(path):
    return shlex.quote(str(path))


def _owner(path):
    try:
        return path.owner()
    except KeyError:  # a user id without a name
        return f"user {path.stat().st_uid}"
