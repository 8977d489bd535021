"""`blackwell-workbook FOLDER` writes the workbook into a new folder, in which `./workbook` works."""

import argparse
import os
import shutil
import sys
import tarfile
import tempfile
from importlib import metadata
from pathlib import Path

ARCHIVE = Path(__file__).resolve().parent / "workbook.tar.xz"
# What nvcc can't take in a path; `./workbook` refuses a folder with one of them.
UNUSABLE_IN_PATHS = "'\"$`,;\\:"


def main(arguments=None):
    """Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="blackwell-workbook", description="Write the Blackwell workbook into a new folder.")
    parser.add_argument("folder", metavar="FOLDER", help="a folder that does not exist or is empty")
    parser.add_argument("--version", action="version",
                        version=f"%(prog)s {metadata.version('blackwell-workbook')}")
    folder = Path(os.path.abspath(parser.parse_args(arguments).folder))
    problem = _problem(folder)
    if problem:
        print(f"blackwell-workbook: error: {problem}", file=sys.stderr)
        return 1
    try:
        _write(folder)
    except OSError as error:
        print(f"blackwell-workbook: error: {error.filename or folder} can't be written "
              f"({error.strerror}). Nothing was changed; name a folder on a disk with room, in which "
              "you may write.", file=sys.stderr)
        return 1
    except tarfile.CompressionError:
        print(f"blackwell-workbook: error: {sys.executable} was built without the module lzma, which "
              "unpacks the workbook. Nothing was changed; install the wheel with another Python.",
              file=sys.stderr)
        return 1
    print(f"The workbook is in {folder}. Go there and begin: ./workbook next")
    return 0


def _problem(folder):
    """Why nothing can be written there, or ""."""
    unusable = " ".join(sorted(set(UNUSABLE_IN_PATHS).intersection(str(folder))))
    if unusable:
        return (f"the path {folder} holds {unusable}, which the CUDA compiler can't take. Name another "
                "one.")
    if folder.exists() and not folder.is_dir():
        return f"{folder} is a file. Name a folder that does not exist or is empty."
    if folder.is_dir() and any(folder.iterdir()):
        return (f"{folder} is not empty, and nothing in it is overwritten. Name a new folder; what you "
                "have done is in its chapters/ and can be copied from an older one.")
    return ""


def _write(folder):
    """Whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=str(folder.parent)))
    try:
        with tarfile.open(str(ARCHIVE), "r:xz") as archive:
            # Older Pythons have no filters; the archive is the wheel's own.
            safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            archive.extractall(str(temporary), **safely)
        new = temporary / "workbook"
        if folder.is_dir():
            folder.rmdir()
        new.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
