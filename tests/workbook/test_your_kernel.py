"""The examples of docs/your_kernel.md: its commands, and their output.

Arguments: the example, the build folder, and nvcc.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from support import ROOT

PAGE = ROOT / "docs" / "your_kernel.md"
FILES = ROOT / "docs" / "your_kernel"
FAILED = 1


def block(kind, example):
    """The text of the fenced block after `<!-- kind example -->`."""
    text = PAGE.read_text(encoding="utf-8")
    match = re.search(rf"<!-- {kind} {example} -->\n```\w+\n(.*?)```", text, re.S)
    if not match:
        sys.exit(f"{PAGE} has no block `{kind} {example}`")
    return match.group(1)


def environment(build, nvcc):
    """PATH with the build's nvcc, and a `workbook` that builds nothing."""
    return dict(os.environ, PATH=f"{Path(nvcc).parent}:{os.environ['PATH']}", CUDACXX=nvcc,
                PYTHONPATH=str(ROOT / "common"), BW_TEST_BUILD=str(build))


# `./workbook sim` without its first step, which would build what this test is a part of.
_WORKBOOK = """\
#!{python}
import os, sys
from pathlib import Path
from tools import build, elf, simulate
from tools.process import run_in_foreground
build.Configuration.folder = lambda self, root: Path(os.environ["BW_TEST_BUILD"])
assert sys.argv[1:3] == ["sim", "--"]
path = simulate.find_program(sys.argv[3])
program = elf.read(path)
simulate.check(program, path)
env = simulate.environment(Path("."), os.environ, program)
simulate.check_libraries(path, env)
sys.exit(run_in_foreground([str(path), *sys.argv[4:]], env=env))
"""


def run(example, build, nvcc):
    """Runs the commands of an example in a folder of its own; returns the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for file in FILES.iterdir():
            if file.is_file():
                shutil.copy(file, place)
        (place / "docs").mkdir()
        (place / "docs" / "your_kernel").symlink_to(FILES)
        (place / "build").mkdir()
        (place / "build" / "sim").symlink_to(build)
        workbook = place / "workbook"
        workbook.write_text(_WORKBOOK.format(python=sys.executable), encoding="utf-8")
        workbook.chmod(0o755)
        printed = ""
        for command in block("commands", example).splitlines():
            result = subprocess.run(command, shell=True, cwd=place, env=environment(build, nvcc),
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    universal_newlines=True, check=False)
            print(f"$ {command}\n{result.stdout}", end="")
            if result.returncode != 0:
                print(f"exit status {result.returncode}")
                return FAILED
            printed += result.stdout
    wanted = block("prints", example)
    if wanted in printed:
        return 0
    print(f"not printed:\n{wanted}")
    return FAILED


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:4]))
