"""What a process makes for itself in a folder and removes at its end, and what killed processes left.

A name tells whose it is: the machine's (folders may be shared between machines) and the process'.
"""

import functools
import os
import platform
import re
import shutil
import zlib
from pathlib import Path

_NAME = re.compile(r"(?:check|events)-(?P<machine>[0-9a-f]{8})-(?P<process>\d+)-")


def _machine():
    return f"{zlib.crc32(platform.node().encode()):08x}"


def prefix(kind):
    """How the name of this process' files of a kind ("check", "events") begins."""
    return f"{kind}-{_machine()}-{os.getpid()}-"


def remove(folder):
    """Removes what processes of this machine left in a folder that don't run any more."""
    for path in Path(folder).iterdir():
        match = _NAME.match(path.name)
        if not match or match["machine"] != _machine() or _runs(int(match["process"])):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


@functools.lru_cache(maxsize=None)
def remove_once(folder):
    """remove(), the first time that this process works in a folder."""
    try:
        remove(folder)
    except OSError:
        pass  # another process removes it too, or the folder is not there yet


def _runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # another user's
    return True
