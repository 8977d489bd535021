"""Recordings of built programs for the tests of timelines. The first argument of a test's command is
the build folder."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))
sys.path.insert(0, str(ROOT / "tests" / "workbook"))

from tools.chapters import CHAPTERS
from tools.timeline import builder, recording

BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir() \
    else ROOT / "build" / "sim"
SQUARE_512 = ("--m", "512", "--n", "512", "--k", "512")
# Options with which a chapter's program is quick.
QUICK = {1: ("--rows", "128"), 3: ("--m", "256", "--n", "128", "--k", "512"),
         4: ("--m", "128", "--n", "256", "--k", "512"),
         5: ("--m", "512", "--n", "512", "--k", "256", "--config", "cta2_128x128_8x2"),
         6: ("--m", "256", "--n", "256", "--k", "512", "--launches", "1")}


def run(program, *options, **settings):
    """(bytes of the recording, process) of a program."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        env = {name: value for name, value in os.environ.items() if not name.startswith("BW_SIM_")}
        env.update(settings, BW_SIM_RECORDING=str(path))
        ended = subprocess.run([str(BUILD / "bin" / program), *options], env=env, timeout=120,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                               universal_newlines=True)
        return path.read_bytes() if path.is_file() else b"", ended


def read(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        path.write_bytes(content)
        return recording.read(path)


def launches(program, *options, **settings):
    return read(run(program, *options, **settings)[0])


def last(program, *options, **settings):
    """(Launch, [ClusterModel]) of a program's last launch."""
    launch = launches(program, *options, **settings)[-1]
    return launch, builder.build(launch, ROOT)


def chapter(number):
    """The same of a chapter's program, with options that make it quick."""
    name = next(one.name for one in CHAPTERS if one.number == number)
    return last(name, *QUICK.get(number, ()))


main = unittest.main
