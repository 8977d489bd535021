"""Inputs of a verdict other than the text that is checked: this checkout and its toolkit."""

import hashlib
import json
import os
from pathlib import Path

from .. import build
from ..errors import WorkbookError

_FOLDERS = ("common", "solutions")
_FILES = ("CMakeLists.txt", "CMakePresets.json", "workbook")
_DIGITS = 16


def of(root, toolkit):
    """Changes whenever a verdict could."""
    digest = hashlib.sha256(f"toolkit {toolkit.release}".encode())
    root = Path(root)
    for path in [*(root / name for name in _FILES), *_sources(root)]:
        try:
            data = path.read_bytes()
        except OSError:
            continue
        digest.update(f"\0{path.relative_to(root)}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()[:_DIGITS]


def _sources(root):
    for top in _FOLDERS:
        for folder, folders, names in os.walk(root / top):
            folders[:] = sorted(one for one in folders if one != "__pycache__")
            for name in sorted(names):
                if not name.startswith(".") and not name.endswith((".pyc", "~")):
                    yield Path(folder) / name


def _stamp(root):
    return build.SIM.folder(Path(root)) / "checks" / "built.json"


def built(root):
    """{program: version} of what was built for grading."""
    try:
        found = json.loads(_stamp(root).read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def note_built(root, programs, version):
    """Notes that these programs were built from this version."""
    stamp = _stamp(root)
    kept = {name: one for name, one in built(root).items() if one == version}
    kept.update({name: version for name in programs})
    temporary = stamp.with_name(f"{stamp.name}.{os.getpid()}")
    try:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        temporary.replace(stamp)
    except OSError as error:
        raise WorkbookError(f"{stamp} can't be written: {error.strerror}.") from error
