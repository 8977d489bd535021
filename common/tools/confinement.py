"""What a child process that works on a stranger's text may read, write and use up.

A reader's own check runs as they do (NONE). `./workbook grade` takes the strongest that this machine
has: bubblewrap, which shows the process nothing but the files that it needs, and no network; else
limits alone, as an unprivileged user where we are root.
"""

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from . import limited
from .errors import WorkbookError

MIB = 1 << 20
GIB = 1 << 30
# What the host compiler and the loader need of the system; the toolkit and the project come to it.
SYSTEM = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/include",
          "/etc/alternatives", "/etc/ld.so.cache")
ROOT_LINKS = ("/bin", "/lib", "/lib32", "/lib64")
NOBODY = 65534
# On a busy machine a process waits: the limit is its processor time, and the wall's is this many times
# that, so that a verdict doesn't depend on who else computes.
WALL_FACTOR = 10.0
# What ended a process that was over a limit, in its own words or its compiler driver's.
_OUT_OF_MEMORY = re.compile(r"out of memory|[Cc]annot allocate memory|bad_alloc|memory exhausted|"
                            r"raise BW_SIM_MEMORY_GB")
_OUT_OF_TIME = re.compile(r"CPU time limit exceeded|due to signal 24\b")
_OUT_OF_SPACE = re.compile(r"File size limit exceeded|due to signal 25\b|File too large")
_SIGKILL, _SIGXCPU, _SIGXFSZ = 9, 24, 25
# A process that ignores the end of its time is killed so much later.
KILL_SECONDS = 5


@dataclass(frozen=True)
class Bounds:
    """What one process may use up."""

    cpu_seconds: float
    memory_bytes: int = 4 * GIB   # address space
    file_bytes: int = 64 * MIB    # of each file that it writes


class _None:
    """No confinement: the process is the reader's own."""

    name, warning = "", ""
    confines = False

    def command(self, words, bounds, writable=None, readable=()):
        return list(words)

    def environment(self, env):
        return dict(env)

    def seconds(self, bounds):
        """How long it may take by the wall clock."""
        return bounds.cpu_seconds

    def exceeded(self, ended, bounds):
        """Which limit ended a process: "time", "memory", "output", or ""."""
        if ended.timed_out:
            return "time"
        return "output" if ended.printed_too_much else ""


NONE = _None()


class _Limits(_None):
    """Limits of time, memory and file sizes (prlimit), and an environment without secrets."""

    confines = True
    name = "limits of time, memory and file sizes"
    warning = ("bubblewrap is not usable here, and this is not root: the compiler of a submission "
               "can read "
               "what you can read. Install the package bubblewrap, or grade as a user of its own.")

    def command(self, words, bounds, writable=None, readable=()):
        seconds = max(1, round(bounds.cpu_seconds))
        return ["prlimit", f"--as={bounds.memory_bytes}", f"--fsize={bounds.file_bytes}", "--core=0",
                f"--cpu={seconds}:{seconds + KILL_SECONDS}", "--", *words]

    def environment(self, env):
        kept = {name: value for name, value in env.items()
                if name in ("PATH", "TMPDIR", "LD_LIBRARY_PATH") or name.startswith("BW_SIM_")}
        return {**kept, "LC_ALL": "C.UTF-8"}

    def seconds(self, bounds):
        return WALL_FACTOR * bounds.cpu_seconds

    def exceeded(self, ended, bounds):
        if super().exceeded(ended, bounds):
            return super().exceeded(ended, bounds)
        if ended.status == 0:
            return ""
        if ended.status in (-_SIGXCPU, 128 + _SIGXCPU) or _OUT_OF_TIME.search(ended.errors):
            return "time"
        if ended.status in (-_SIGXFSZ, 128 + _SIGXFSZ) or _OUT_OF_SPACE.search(ended.errors):
            return "output"
        # Whoever kills a process that keeps to its time is a kernel without memory.
        is_killed = ended.status in (-_SIGKILL, 128 + _SIGKILL)
        return "memory" if is_killed or _OUT_OF_MEMORY.search(ended.errors) else ""


class _OtherUser(_Limits):
    """The same as the user nobody, without a network where the kernel lets root leave it."""

    name = "an unprivileged user, and limits of time, memory and file sizes"
    warning = ("bubblewrap is not usable here: the compiler of a submission runs as the user "
               "nobody and can read "
               "what everybody can read. Install the package bubblewrap.")

    def __init__(self, without_network):
        self._before = ["unshare", "--net", "--"] if without_network else []

    def command(self, words, bounds, writable=None, readable=()):
        if writable is not None:
            for folder, _, names in os.walk(writable):
                os.chown(folder, NOBODY, NOBODY)
                for name in names:
                    os.chown(os.path.join(folder, name), NOBODY, NOBODY, follow_symlinks=False)
        drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs",
                "--pdeathsig=KILL", "--"]
        return [*self._before, *super().command([*drop, *words], bounds)]


class _Bubblewrap(_Limits):
    """A file system of what is needed alone, no network, no other processes, the same limits."""

    name = "bubblewrap: no network, and no files but the compiler's, the project's and its own"
    warning = ""

    def __init__(self, root, toolkit):
        self._root = Path(root)
        shown = [path for path in SYSTEM if os.path.exists(path)]
        nvcc = Path(toolkit.nvcc)
        for place in (nvcc.parent.parent, nvcc.resolve().parent.parent, _of_compiler()):
            if place and not any(_is_in(place, other) for other in shown):
                shown.append(str(place))
        self._fixed = ["bwrap", "--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev",
                       "--tmpfs", "/tmp"]
        for link in ROOT_LINKS:
            if os.path.islink(link):
                self._fixed += ["--symlink", os.readlink(link), link]
            elif os.path.isdir(link):
                shown.append(link)
        for path in shown:
            self._fixed += ["--ro-bind", path, path]

    def command(self, words, bounds, writable=None, readable=()):
        shown = list(self._fixed)
        for path in (self._root / "common", self._root / "solutions", *readable):
            shown += ["--ro-bind", str(path), str(path)]
        if writable is not None:
            shown += ["--bind", str(writable), str(writable)]
        return super().command([*shown, "--chdir", str(self._root), "--", *words], bounds)


def _is_in(path, folder):
    return Path(folder) == Path(path) or Path(folder) in Path(path).parents


def _of_compiler():
    """The folder that a g++ outside of the system's folders was installed to, or None."""
    found = shutil.which("g++")
    return Path(found).resolve().parent.parent if found and not found.startswith("/usr/") else None


def strongest(root, toolkit, without=()):
    """The strongest confinement that works here; `without` leaves some out ("bubblewrap", "user").

    Each is tried: it has to show the compiler and the project's headers.
    """
    if not shutil.which("prlimit"):
        raise WorkbookError("`prlimit` is missing, which bounds what a submission may use up. It "
                            "comes with "
                            "the package util-linux.")
    candidates = []
    if "bubblewrap" not in without and shutil.which("bwrap"):
        candidates.append(_Bubblewrap(root, toolkit))
    if "user" not in without and os.geteuid() == 0 and shutil.which("setpriv"):
        candidates += [_OtherUser(True), _OtherUser(False)]
    for one in candidates:
        if _works(one, root, toolkit):
            return one
    return _Limits()


def _works(confinement, root, toolkit):
    probe = Path(root) / "common" / "chapters.json"
    words = ["sh", "-c", 'test -r "$1" && "$2" --version', "sh", str(probe), str(toolkit.nvcc)]
    bounds = Bounds(20)
    try:
        ended = limited.run(confinement.command(words, bounds), 20.0, cwd=root,
                            env=confinement.environment(os.environ))
    except WorkbookError:
        return False
    return ended.status == 0


def main():
    """Prints which confinement this machine gets."""
    from . import toolkit as toolkits
    root = Path(__file__).resolve().parents[2]
    found, _ = toolkits.find(root)
    if not found:
        print("there is no CUDA compiler", file=sys.stderr)
        return 1
    one = strongest(root, found)
    print(one.name + (f"\nwarning: {one.warning}" if one.warning else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
