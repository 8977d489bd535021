"""What the build needs from the distribution, whether it is there, and how it gets there."""

import os
import re
import shutil
from dataclasses import dataclass

from .errors import WorkbookError
from .process import capture, run_logged

MINIMUM_CMAKE = (3, 24)
MINIMUM_GXX = 11
# Freshly started machines often run an update of their own, which holds the lock for a while.
APT = ("apt-get", "-o", "DPkg::Lock::Timeout=180")


# What a build may be for, as the FOR of bw_require_package() names it.
SIMULATOR, TESTS, SIMULATOR_BENCH = "simulator", "tests", "simulator_bench"


@dataclass(frozen=True)
class Library:
    """A library as a CMakeLists.txt asks for it with bw_require_package()."""

    name: str
    header: str
    debian: str
    purpose: str = ""  # what alone needs it; empty: every build
    linked: str = ""  # the name that the linker finds it by; empty for headers alone

    def is_for(self, purposes):
        return not self.purpose or self.purpose in purposes


def libraries(root):
    """The libraries that the build files name: they are the one list of what is needed."""
    found = {}
    for folder in ("common", "tests", "solutions", "chapters"):
        for path in sorted([*(root / folder).glob("**/CMakeLists.txt"),
                            *(root / folder).glob("**/*.cmake")]):
            text = re.sub(r"#[^\n]*", "", path.read_text(encoding="utf-8"))
            for call in re.findall(r"^\s*bw_require_package\(\s*(\w[^)]*)\)", text, re.M):
                library = _parse(call.split())
                if library:
                    found[library.name] = library
    return [found[name] for name in sorted(found)]


def _parse(words):
    def after(keyword):
        return words[words.index(keyword) + 1] if keyword in words[:-1] else None

    if after("HEADER") is None or after("DEBIAN") is None:
        return None
    return Library(words[0], after("HEADER"), after("DEBIAN"), after("FOR") or "",
                   after("LIBRARY") or "")


def version_of(command):
    """The first dotted number in `command --version` as a tuple, or None."""
    if not shutil.which(command):
        return None
    status, text = capture([command, "--version"])
    match = re.search(r"(\d+)\.(\d+)", text)
    return (int(match.group(1)), int(match.group(2))) if status == 0 and match else None


def gxx_version():
    """The major version of g++, or None."""
    if not shutil.which("g++"):
        return None
    status, text = capture(["g++", "-dumpversion"])
    return int(text.split(".")[0]) if status == 0 and text.strip()[:1].isdigit() else None


def missing_libraries(wanted):
    """The libraries of `wanted` that a program can't be built with: no header, or nothing to link.

    Both count: netlib's cblas.h, for one, comes without OpenBLAS.
    """
    absent = set(_missing_headers(wanted))
    linked = [library for library in wanted if library.linked and library not in absent]
    if not _links(linked):
        absent.update(library for library in linked if not _links([library]))
    return [library for library in wanted if library in absent]


def _links(wanted):
    """Whether the linker finds all of these libraries."""
    if not wanted:
        return True
    command = ["g++", "-shared", "-nostdlib", "-o", os.devnull]
    return capture(command + [f"-l{library.linked}" for library in wanted])[0] == 0


def _missing_headers(wanted):
    """The libraries of `wanted` whose header g++ does not find (one run of the preprocessor)."""
    source = "".join(
        f"#if !__has_include(<{library.header}>)\nbw_missing {index}\n#endif\n"
        for index, library in enumerate(wanted))
    status, text = capture(["g++", "-E", "-P", "-x", "c++", "-std=c++17", "-"], stdin_text=source)
    if status != 0:
        return list(wanted)
    return [wanted[int(index)] for index in re.findall(r"^bw_missing (\d+)", text, re.M)]


def missing_packages(root, purposes=(SIMULATOR, TESTS)):
    """The Debian packages that would bring what a build misses, in a stable order."""
    packages = []
    if gxx_version() is None:
        packages.append("g++")
    if not shutil.which("cmake"):
        packages.append("cmake")
    if not shutil.which("ninja"):
        packages.append("ninja-build")
    wanted = [library for library in libraries(root) if library.is_for(purposes)]
    missing = wanted if "g++" in packages else missing_libraries(wanted)
    packages += [library.debian for library in missing]
    return packages


def install(packages, console):
    """Installs Debian packages, as root or with sudo that asks no password; else says how."""
    by_hand = "sudo apt-get update && sudo apt-get install " + " ".join(packages)
    if not shutil.which("apt-get"):
        raise WorkbookError("Needed but missing: " + ", ".join(packages) + " (as Debian and "
                            "Ubuntu call them). This machine has no apt-get, so please install "
                            "them with its own package manager and run the command again.")
    prefix = _privilege()
    if prefix is None:
        raise WorkbookError("Needed but missing: " + ", ".join(packages) + ". Installing them "
                            "takes root, or sudo without a password. Please run this and then "
                            f"the command again:\n  {by_hand}")
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    if prefix:
        prefix = [*prefix, "DEBIAN_FRONTEND=noninteractive"]
    with console.step("Installing " + " ".join(packages)) as step:
        # Fresh machines have no package lists, old ones lists that point nowhere.
        run_logged([*prefix, *APT, "update"], step, env=env)
        command = [*prefix, *APT, "install", "--yes", "--no-install-recommends", *packages]
        status, output = run_logged(command, step, env=env)
        if status != 0 and "dpkg --configure -a" in output:  # an earlier one was interrupted
            run_logged([*prefix, "dpkg", "--configure", "-a"], step, env=env)
            status, output = run_logged(command, step, env=env)
        if status != 0:
            raise WorkbookError(f"apt-get could not install {' '.join(packages)}; its last words "
                                "are above. Once that is mended, run the command again, or "
                                f"install them yourself:\n  {by_hand}",
                                details="\n".join(output.splitlines()[-15:]))


def _privilege():
    """The words before a command that runs it as root, or None if that is impossible."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and capture(["sudo", "-n", "true"])[0] == 0:
        return ["sudo", "-n"]
    return None
