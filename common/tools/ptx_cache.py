"""Keeps what the compiler made of a text: PTX, or its errors, by what it depends on."""

import contextlib
import hashlib
import os
import zlib
from pathlib import Path

from . import build
from .errors import GraderError

# Compressed, PTX takes a seventh of its space.
MOST_BYTES = 96 << 20
PRUNED_TO_BYTES = 64 << 20


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


def _read(root, identity, kind):
    """The bytes that were kept, or None where there are none or a full disk or a crash has cut them
    off."""
    try:
        digest, _, data = _place(root, identity, kind).read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise GraderError(f"What was compiled can't be read: {error.filename}: {error.strerror}. "
                          "Delete the "
                          "folder, or give yourself the right to read it.") from error
    if digest.decode("ascii", "replace") != hashlib.sha256(data).hexdigest():
        return None
    try:
        return zlib.decompress(data)
    except zlib.error:  # of a version that did not compress
        return None


def has(root, identity):
    """Whether there is PTX or errors."""
    return any(_read(root, identity, kind) is not None for kind in ("ptx", "errors"))


def errors(root, identity):
    """The compiler's errors, or "" where it had none."""
    return (_read(root, identity, "errors") or b"").decode("utf-8", "replace")


def copy(root, identity, target):
    """Puts the PTX where the caller wants it; returns that path."""
    data = _read(root, identity, "ptx")
    if data is None:
        raise GraderError(f"What was compiled for {target.name} is gone. Run the command again.")
    try:
        target.write_bytes(data)
    except OSError as error:
        raise GraderError(f"{target} can't be written: {error.strerror}. Run the command again "
                          "when that "
                          "is mended.") from error
    return target


def put(root, identity, ptx):
    """Keeps the text of a PTX file."""
    _put(root, identity, "ptx", ptx.read_bytes())


def put_errors(root, identity, text):
    """Keeps the compiler's words."""
    _put(root, identity, "errors", text.encode("utf-8", "replace"))


def _put(root, identity, kind, data):
    place = _place(root, identity, kind)
    data = zlib.compress(data, 1)
    temporary = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
        temporary.replace(place)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise GraderError(f"What was compiled can't be kept in {place.parent}: {error.strerror}. Free "
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
