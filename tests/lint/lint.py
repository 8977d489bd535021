"""The linters over the tree: lint.py <tool> <build folder> [<pattern>...].

Tools: clang-format, clang-tidy, ruff, shellcheck. Exit status: 0 nothing found, 1 something found (the
tool says what), 77 the tool isn't there in the version that the tree is kept clean with: `./workbook
setup` installs all but clang-tidy into the checkout. The patterns (clang-tidy alone) name the files to
look at, from the root of the tree.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77

# Findings differ between versions, so that a tree is clean for one; None: any version will do.
MAJOR_VERSION = {"clang-format": 14, "clang-tidy": 14, "ruff": None, "shellcheck": None}
CPP = (".cpp", ".hpp", ".cu", ".cuh")
# What GCC knows and clang doesn't.
TIDY_OPTIONS = ["--quiet", "--extra-arg=-Wno-unknown-warning-option",
                "--extra-arg=-Wno-unused-command-line-argument"]


def find_tool(name):
    """The path of a linter: the checkout's own, else the machine's; None without either."""
    wanted = MAJOR_VERSION[name]
    places = [ROOT / ".workbook" / "venv" / "bin" / name, shutil.which(name)]
    if wanted:
        places.append(shutil.which(f"{name}-{wanted}"))
    for place in filter(None, places):
        if (os.access(str(place), os.X_OK) and wanted in (None, major_version(place))
                and (name != "clang-tidy" or has_headers(place))):
            return str(place)
    return None


def has_headers(tool):
    """Whether clang's own stddef.h and intrinsics came with it: Python's package has none."""
    return any(Path(tool).resolve().parent.parent.glob("lib/clang/*/include"))


def major_version(tool):
    text = subprocess.run([str(tool), "--version"], stdout=subprocess.PIPE, check=False,
                          universal_newlines=True).stdout
    match = re.search(r"version (\d+)", text)
    return int(match.group(1)) if match else None


def sources(suffixes):
    """The tree's files with these suffixes, without what a build, an installation or the generator of
    the readers' files made."""
    found = []
    generated = {str(ROOT / "build"), str(ROOT / "chapters")}
    for folder, folders, names in os.walk(str(ROOT)):
        folders[:] = sorted(name for name in folders if name != "__pycache__"
                            and not name.startswith(".")
                            and os.path.join(folder, name) not in generated)
        found += [os.path.join(folder, name) for name in sorted(names) if name.endswith(suffixes)]
    return found


def scripts():
    """Shell scripts: by suffix, or by their first line."""
    found = sources((".sh",))
    for path in [ROOT / ".ci" / "run", *ROOT.glob("*")]:
        if path.is_file() and not path.suffix:
            first = path.read_bytes()[:40].splitlines()[:1]
            if first and re.match(rb"#!.*\b(ba)?sh$", first[0]):
                found.append(str(path))
    return found


def host_files(build, patterns):
    """The host's source files of the build that match one of the patterns."""
    wanted = {str(path) for pattern in patterns for path in ROOT.glob(pattern)}
    return sorted({command["file"] for command in compilations(build)
                   if command["file"].endswith(".cpp") and command["file"] in wanted})


def compilations(build):
    """The build's compilation database, with an entry for each file of a group compiled as one."""
    found = []
    for command in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = Path(command["file"])
        if path.parent.name != "Unity":
            found.append(command)
            continue
        for member in re.findall(r'^#include "(.*)"$', path.read_text(encoding="utf-8"), re.M):
            found.append({**command, "file": member,
                          "command": command["command"].replace(str(path), member)})
    return found


def run(command):
    done = subprocess.run(command, cwd=str(ROOT), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, universal_newlines=True)
    return done.returncode, done.stdout


def commands_for_clang(build):
    """The build's compilation database without GCC's precompiled headers, which clang can't read."""
    commands = compilations(build)
    for command in commands:
        command["command"] = re.sub(r"-include \S*cmake_pch\.hxx|-Winvalid-pch|-fpch-preprocess", "",
                                    command["command"])
    return json.dumps(commands)


def run_tidy(tool, build, files):
    """clang-tidy over the files, as many at a time as there are cores."""
    with tempfile.TemporaryDirectory(prefix="tidy-") as folder:
        (Path(folder) / "compile_commands.json").write_text(commands_for_clang(build),
                                                            encoding="utf-8")
        options = [*TIDY_OPTIONS, "-p", folder]
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            results = list(pool.map(lambda path: run([tool, *options, path]), files))
    return max(status for status, _ in results), "".join(text for status, text in results if status)


def main(name, build, patterns):
    tool = find_tool(name)
    if tool is None:
        version = f" {MAJOR_VERSION[name]}" if MAJOR_VERSION[name] else ""
        advice = ("install the distribution's package of that name" if name == "clang-tidy"
                  else "./workbook setup installs it")
        print(f"{name}{version} was not found; {advice}.")
        return SKIPPED
    if name == "clang-tidy":
        files = host_files(build, patterns)
        if not files:
            print(f"No file of the build in {build} matches {' '.join(patterns)}.")
            return 1
        status, text = run_tidy(tool, build, files)
    elif name == "clang-format":
        status, text = run([tool, "--dry-run", "-Werror", *sources(CPP)])
    elif name == "ruff":
        status, text = run([tool, "check", "--no-cache", "--output-format", "concise", ".",
                            "workbook"])
    else:
        status, text = run([tool, "--shell", "bash", *scripts()])
    print(text, end="")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
