"""The simulator as a WebAssembly module: what its build takes, and where it is. Pages run it."""

import json
import os
import shutil
from pathlib import Path

from . import build, packages
from .errors import WorkbookError
from .process import run_logged

# Debian's compiler for WebAssembly, and what runs a module outside of a browser: for the test.
PACKAGES = {"em++": "emscripten", "node": "nodejs"}
_DEBIAN_ROOT = "/usr/share/emscripten"
_TOOLCHAIN = "cmake/Modules/Platform/Emscripten.cmake"
MODULE = ("blackwell_simulator.js", "blackwell_simulator.wasm")


def folder(root):
    """Where the preset `wasm` puts the module."""
    return Path(root) / "build" / "wasm" / "bin"


def is_built(root):
    """Whether the module is there."""
    return all((folder(root) / name).is_file() for name in MODULE)


def emscripten_root():
    """Emscripten's folder, or None: EMSCRIPTEN_ROOT, Debian's, or that of em++ on PATH."""
    compiler = shutil.which("em++")
    places = [os.environ.get("EMSCRIPTEN_ROOT"), _DEBIAN_ROOT,
              os.path.dirname(os.path.realpath(compiler)) if compiler else None]
    return next((place for place in places if place and (Path(place) / _TOOLCHAIN).is_file()), None)


def describe(root):
    """A line for `./workbook doctor`: the module, or what it takes."""
    if is_built(root):
        return "the simulator's module for pages is built"
    if emscripten_root():
        return "Emscripten is there; `./workbook setup --browser` builds the simulator's module"
    return "no Emscripten; `./workbook setup --browser` installs it and builds the simulator's module"


def ensure(root, console, tools):
    """Installs Emscripten and node where they are missing, and builds the module."""
    missing = [package for command, package in PACKAGES.items() if not shutil.which(command)]
    if missing:
        packages.install(missing, console)
    place = emscripten_root()
    if place is None:
        raise WorkbookError(f"Emscripten has no {_TOOLCHAIN}. Set EMSCRIPTEN_ROOT to its folder, which "
                            "holds em++.")
    env = dict(tools.env, EMSCRIPTEN_ROOT=place)
    with console.step("Building the simulator for pages, which takes some minutes") as step:
        for command in ([tools.cmake, "--preset", "wasm"],
                        [tools.cmake, "--build", "--preset", "wasm"]):
            status, output = run_logged(command, step, env=env, cwd=root)
            if status != 0:
                raise WorkbookError("The simulator could not be built for WebAssembly; the last words "
                                    "are above. Nothing else in the workbook needs it.",
                                    details="\n".join(output.splitlines()[-15:]))


def recorded(root):
    """What labs.json says of the recorded runs, if pages can run them: the module and the launches are
    there. Otherwise None."""
    index = build.SIM.folder(Path(root)) / "browser/labs.json"
    if not is_built(root) or not index.is_file():
        return None
    return json.loads(index.read_text(encoding="utf-8"))


def copy_for_site(root, target):
    """Copies the module and the labs' launches into a folder of the site, as far as they were made."""
    launches = build.SIM.folder(Path(root)) / "browser"
    files = [folder(root) / name for name in MODULE]
    files += [launches / "timeline_page.txt", *launches.glob("*.json"), *launches.glob("*.gz")]
    target.mkdir(parents=True, exist_ok=True)
    for file in files:
        if file.is_file():
            shutil.copyfile(file, target / file.name)
