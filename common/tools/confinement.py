"""The files and resources that a child process working on a stranger's text may use.

A reader's own check runs with the reader's rights (NONE). `./workbook grade` takes the strongest that
this machine has: bubblewrap, which shows the process only the files that it needs, and no
network; where we are root, the user nobody, with the same view where root may make one; else limits
alone, which root has to ask for.
"""

import json
import os
import re
import resource
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import build, enter, left_over, limited
from .errors import WorkbookError

MIB = 1 << 20
GIB = 1 << 30
# What the host compiler and the loader need of the system; the toolkit and the project come to it.
SYSTEM = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/include",
          "/etc/alternatives", "/etc/ld.so.cache")
ROOT_LINKS = ("/bin", "/lib", "/lib32", "/lib64")
NOBODY = 65534
# For the user NOBODY on the whole machine: the checks of all workers, and any other use of that user.
MOST_PROCESSES = 4096
# On a busy machine a process waits: the limit is its processor time, and the wall's is this many times
# that, so that a verdict doesn't depend on who else computes.
WALL_FACTOR = 10.0
# What strongest() can leave out: without BUBBLEWRAP and USER only limits remain.
# VIEW: the private file system of that user, which root can make.
BUBBLEWRAP, USER, VIEW = "bubblewrap", "user", "view"
# What ended a process that was over a limit, in its own words or its compiler driver's.
_OUT_OF_MEMORY = re.compile(r"out of memory|[Cc]annot allocate memory|bad_alloc|memory exhausted|"
                            r"raise BW_SIM_MEMORY_GB")
_OUT_OF_TIME = re.compile(r"CPU time limit exceeded|due to signal 24\b")
_OUT_OF_SPACE = re.compile(r"File size limit exceeded|due to signal 25\b|File too large")
_SIGKILL, _SIGXCPU, _SIGXFSZ = 9, 24, 25
# Seconds after its time limit at which a process that ignores the limit is killed.
KILL_SECONDS = 5
_PROBE_SECONDS = 60.0


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
        """The words that run `words`. `writable`: a folder of this check; `readable`: files in such a
        folder, and folders of the build."""
        return list(words)

    def environment(self, env):
        return dict(env)

    def seconds(self, bounds):
        """How long it may take by the wall clock."""
        return WALL_FACTOR * bounds.cpu_seconds

    def exceeded(self, ended, bounds):
        """Which limit ended a process: "time", "memory", "output", or ""."""
        # A process that waited for a processor, a disk or the end of a suspension has used up nothing.
        if ended.timed_out and ended.cpu_seconds >= bounds.cpu_seconds:
            return "time"
        return "output" if ended.printed_too_much else ""


NONE = _None()


class _Limits(_None):
    """Limits of time, memory and file sizes, and an environment without secrets."""

    confines = True
    name = "limits of time, memory and file sizes"

    def __init__(self, root):
        self._root = Path(root)
        if os.geteuid() == 0:
            self.warning = ("as you asked, submissions are compiled under limits alone, and as "
                            "root: the "
                            "compiler of a submission can read every file of this machine.")
        else:
            self.warning = ("bubblewrap is not usable here, and only root can become another user: the "
                            "compiler of a submission can read what you can read. Install the package "
                            "bubblewrap, or grade as a user of its own.")

    def command(self, words, bounds, writable=None, readable=()):
        return self._entered(words, bounds)

    def _entered(self, words, bounds, **changes):
        seconds = max(1, round(bounds.cpu_seconds))
        wanted = {"AS": bounds.memory_bytes, "FSIZE": bounds.file_bytes, "CORE": 0, "CPU": seconds}
        if "user" in changes:
            wanted["NPROC"] = MOST_PROCESSES
        limits = {}
        for name, soft in wanted.items():
            # A limit of our own that is lower stays.
            own = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
            hard = soft + KILL_SECONDS if name == "CPU" else soft
            limits[name] = [one if own == resource.RLIM_INFINITY else min(one, own)
                            for one in (soft, hard)]
        specification = {"limits": limits, "user": None, "namespaces": 0, "view": None,
                         "folder": str(self._root), **changes}
        return [sys.executable, "-I", "-S", enter.__file__, json.dumps(specification), *words]

    def environment(self, env):
        kept = {name: value for name, value in env.items()
                if name in ("PATH", "TMPDIR", "LD_LIBRARY_PATH") or name.startswith("BW_SIM_")}
        return {**kept, "LC_ALL": "C.UTF-8"}

    def exceeded(self, ended, bounds):
        if super().exceeded(ended, bounds):
            return super().exceeded(ended, bounds)
        if ended.status == 0 or ended.timed_out:
            return ""
        is_killed = ended.status in (-_SIGKILL, 128 + _SIGKILL)
        if ended.status in (-_SIGXCPU, 128 + _SIGXCPU) or _OUT_OF_TIME.search(ended.errors) or (
                is_killed and ended.cpu_seconds >= bounds.cpu_seconds):
            return "time"
        if ended.status in (-_SIGXFSZ, 128 + _SIGXFSZ) or _OUT_OF_SPACE.search(ended.errors):
            return "output"
        return "memory" if _OUT_OF_MEMORY.search(ended.errors) else ""


class _OtherUser(_Limits):
    """The same limits, as an unprivileged user (`nobody`)."""

    name = "an unprivileged user, and limits of time, memory and file sizes"

    def __init__(self, root):
        super().__init__(root)
        self.warning = ("bubblewrap is not usable here: the compiler of a submission runs as the user "
                        "nobody and can read what all users can read, and use the network. Install the "
                        "package bubblewrap.")

    def command(self, words, bounds, writable=None, readable=()):
        _hand_over(writable, readable)
        return self._entered(words, bounds, user=NOBODY)


class _OtherUserInView(_OtherUser):
    """That user with a file system of only the needed files, no network and no other processes,
    by namespaces that root makes."""

    name = "an unprivileged user: no network, and no files but the compiler's, the project's and its own"

    def __init__(self, root, toolkit):
        super().__init__(root)
        self.warning = ""
        self._view = _View(root, toolkit)

    def command(self, words, bounds, writable=None, readable=()):
        _hand_over(writable, readable)
        rows = [["link", path, target] for path, target in self._view.links]
        rows += [["show", path, ""] for path in self._view.paths(readable)]
        if writable is not None:
            rows.append(["write", str(writable), ""])
        flags = (enter.NEW_MOUNTS | enter.NEW_NETWORK | enter.NEW_PROCESSES | enter.NEW_IPC
                 | enter.NEW_NAMES)
        return self._entered(words, bounds, user=NOBODY, namespaces=flags, view=rows)


class _Bubblewrap(_Limits):
    """A file system of what is needed alone, no network, no other processes, the same limits."""

    name = "bubblewrap: no network, and no files but the compiler's, the project's and its own"

    def __init__(self, root, toolkit):
        super().__init__(root)
        self.warning = ""
        self._view = _View(root, toolkit)

    def command(self, words, bounds, writable=None, readable=()):
        before = ["bwrap", "--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev",
                  "--tmpfs", "/tmp"]
        for path, target in self._view.links:
            before += ["--symlink", target, path]
        for path in self._view.paths(readable):
            before += ["--ro-bind", path, path]
        if writable is not None:
            before += ["--bind", str(writable), str(writable)]
        return self._entered([*before, "--chdir", str(self._root), "--", *words], bounds)


class _View:
    """The part of the file system that a compiler and a program need."""

    def __init__(self, root, toolkit):
        self.links = []  # (path, target)
        self._shown = [path for path in SYSTEM if os.path.exists(path)]
        nvcc = Path(toolkit.nvcc)
        for place in (nvcc.parent.parent, nvcc.resolve().parent.parent, _of_compiler()):
            if place and not any(_is_in(place, other) for other in self._shown):
                self._shown.append(str(place))
        for link in ROOT_LINKS:
            if os.path.islink(link):
                self.links.append((link, os.readlink(link)))
            elif os.path.isdir(link):
                self._shown.append(link)
        self._shown += [str(Path(root) / name) for name in ("common", "solutions")]

    def paths(self, readable):
        """What is shown, with `readable` of one process."""
        return [*self._shown, *map(str, readable)]


def _hand_over(writable, readable):
    """Makes NOBODY the owner of the folder of a check and of the files in it: whoever made them,
    another process may have to read or replace them."""
    handed = []
    if writable is not None:
        for folder, _, names in os.walk(writable):
            handed += [folder, *(os.path.join(folder, name) for name in names)]
    for path in readable:
        if os.path.isfile(path):
            handed += [os.path.dirname(os.path.abspath(path)), path]
    for path in dict.fromkeys(handed):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def _is_in(path, folder):
    return Path(folder) == Path(path) or Path(folder) in Path(path).parents


def _of_compiler():
    """The folder that a g++ outside of the system's folders was installed to, or None."""
    found = shutil.which("g++")
    return Path(found).resolve().parent.parent if found and not found.startswith("/usr/") else None


def strongest(root, toolkit, without=()):
    """The strongest confinement that works here; `without` leaves some out (BUBBLEWRAP, USER, VIEW).

    Each is tried: the compiler has to run in it, with the project's headers and a folder to write
    to. Root gets limits alone only where `without` names the others.
    """
    candidates, reasons = [], [f"{one}: left out" for one in without if one]
    if BUBBLEWRAP not in without:
        if shutil.which("bwrap"):
            candidates.append((BUBBLEWRAP, _Bubblewrap(root, toolkit)))
        else:
            reasons.append("bubblewrap is not installed")
    is_root = os.geteuid() == 0
    if USER not in without and is_root:
        if VIEW not in without:
            candidates.append(("the user nobody with a file system of its own",
                               _OtherUserInView(root, toolkit)))
        candidates.append(("the user nobody", _OtherUser(root)))
    for name, one in candidates:
        reason = _why_not(one, root, toolkit)
        if not reason:
            return one
        reasons.append(f"{name}: {reason}")
    if is_root and not {BUBBLEWRAP, USER}.issubset(without):
        raise WorkbookError(
            "This is root, and a stranger's text is not compiled as root: no confinement works here ("
            f"{'; '.join(reasons)}). Put the checkout where every user can read it (as /opt is), "
            "install the package bubblewrap, or grade as an ordinary user. `--limits-alone` grades "
            "as it "
            "is; then the compiler of a submission can read every file of this machine.")
    return _Limits(root)


def _why_not(confinement, root, toolkit):
    """Why a confinement can't be used, or ""."""
    words = ["sh", "-c", 'cat "$1" "$2" > "$3" && "$4" --version', "sh",
             str(Path(root) / "common" / "chapters.json")]
    bounds = Bounds(_PROBE_SECONDS)
    place = build.SIM.folder(Path(root)) / "checks"
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=left_over.prefix("check"), dir=place) as folder:
            given = Path(folder) / "given"
            given.touch(mode=0o600)
            words += [str(given), str(Path(folder) / "made"), str(toolkit.nvcc)]
            command = confinement.command(words, bounds, writable=Path(folder), readable=[given])
            ended = limited.run(command, confinement.seconds(bounds), cwd=root,
                                env=confinement.environment(os.environ))
    except OSError as error:
        return f"{error.filename or place} can't be written: {error.strerror}"
    except WorkbookError as error:
        return str(error)
    if ended.status == 0:
        return ""
    return (ended.errors.strip().splitlines() or [f"it ended with status {ended.status}"])[-1]


def main():
    """Prints which confinement this machine gets."""
    from . import toolkit as toolkits
    root = Path(__file__).resolve().parents[2]
    found, _ = toolkits.find(root)
    if not found:
        print("there is no CUDA compiler", file=sys.stderr)
        return 1
    try:
        one = strongest(root, found)
    except WorkbookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(one.name + (f"\nwarning: {one.warning}" if one.warning else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
