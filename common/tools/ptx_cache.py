"""Keeps what the compiler made of a text: PTX, or its errors, by what it depends on."""

import hashlib
import os
import shutil
from pathlib import Path

from . import build
from .errors import WorkbookError

MOST_BYTES = 512 << 20
PRUNED_TO_BYTES = 384 << 20


def folder(root):
    """Where it is; it may be deleted at any time."""
    return build.SIM.folder(Path(root)) / "checks" / "ptx"


def key(words, root, files, replaced):
    """Of a compilation: its words, and the texts of the root's files that it reads, with those of
    `replaced` ({name: text}) in place of their own."""
    digest = hashlib.sha256("\0".join(words).encode())
    for name in sorted(files):
        data = (replaced[name].encode() if name in replaced else (Path(root) / name).read_bytes())
        digest.update(f"\0{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _place(root, identity, kind):
    return folder(root) / f"{identity}.{kind}"


def has(root, identity):
    """Whether there is PTX or errors."""
    return any(_place(root, identity, kind).is_file() for kind in ("ptx", "errors"))


def errors(root, identity):
    """The compiler's errors, or "" where it had none."""
    try:
        return _place(root, identity, "errors").read_text(encoding="utf-8")
    except OSError:
        return ""


def copy(root, identity, target):
    """Puts the PTX where the caller wants it; returns that path."""
    try:
        shutil.copyfile(_place(root, identity, "ptx"), target)
    except OSError as error:
        raise WorkbookError(f"{target} can't be written, or what was compiled for it is gone: "
                            f"{error.strerror}. Run the command again.") from error
    return target


def put(root, identity, ptx):
    """Keeps a PTX file, which is moved."""
    _put(root, identity, "ptx", lambda path: shutil.copyfile(ptx, path))


def put_errors(root, identity, text):
    """Keeps the compiler's words."""
    _put(root, identity, "errors", lambda path: path.write_text(text, encoding="utf-8"))


def _put(root, identity, kind, write):
    place = _place(root, identity, kind)
    temporary = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        temporary.replace(place)
    except OSError as error:
        temporary.unlink() if temporary.exists() else None
        raise WorkbookError(f"What was compiled can't be kept in {place.parent}: {error.strerror}. Free "
                            "some space and run the command again.") from error
    if identity.startswith("00"):  # one in 256
        prune(root)


def prune(root, most_bytes=MOST_BYTES, to_bytes=PRUNED_TO_BYTES):
    """Deletes the oldest files when there is too much."""
    found = []
    for path in folder(root).glob("*"):
        try:
            status = path.stat()
        except OSError:
            continue
        found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    if total <= most_bytes:
        return
    for _, size, path in sorted(found):
        if total <= to_bytes:
            return
        try:
            path.unlink()
            total -= size
        except OSError:
            continue
