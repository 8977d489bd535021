"""Becomes a program under limits, as another user, and with a file system of its own:

    python3 -I enter.py SPECIFICATION PROGRAM [ARGUMENT...]

SPECIFICATION is a JSON object: `limits` ({"AS": [soft, hard], ...}, names of RLIMIT_*), `user` (a
number, or null), `namespaces` (flags of unshare(2), or 0), `view` (null, or [kind, path, target or
""] rows: "link", "show", "write") and `folder`, in which the program starts. Whatever fails before
the program runs ends with the status REFUSED and one line on stderr that begins with REFUSAL.

It runs by itself, before anything of a stranger's is looked at, and reads no module of the workbook.
"""

import ctypes
import json
import os
import resource
import signal
import sys
import warnings  # noqa: F401  (os.execvp() imports it, when its file may be out of sight)

REFUSED, REFUSAL = 125, "confinement: "
NEW_MOUNTS, NEW_NAMES, NEW_IPC, NEW_PROCESSES, NEW_NETWORK = (
    0x20000, 0x04000000, 0x08000000, 0x20000000, 0x40000000)
_RDONLY, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 32, 4096, 16384, 1 << 18
_SET_PDEATHSIG, _SET_NO_NEW_PRIVS = 1, 38
# Where the view is put together: a folder that each Linux has and that holds no checkout.
_STAGE = "/sys"
_STAGE_OPTIONS = "size=64m,mode=755"
_DEVICES = ("null", "zero", "full", "random", "urandom")
_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4


def _call(what, function, *arguments):
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def _mount(source, target, kind, flags, data=None):
    _call(f"mount {target}", _libc.mount, os.fsencode(source), os.fsencode(target), kind,
          ctypes.c_ulong(flags), data)


def _bind(path, is_writable):
    target = _STAGE + path
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "ab"):
            pass
    _mount(path, target, None, _BIND | _REC)
    if not is_writable:
        _mount("none", target, None, _BIND | _REMOUNT | _RDONLY)


def _enter_view(rows):
    """Makes the file system of the rows, and nothing else, this process' own."""
    os.umask(0o022)
    _mount("none", "/", None, _REC | _PRIVATE)
    _mount("tmpfs", _STAGE, b"tmpfs", 0, _STAGE_OPTIONS.encode())
    for kind, path, target in rows:
        if kind == "link":
            os.makedirs(os.path.dirname(_STAGE + path), exist_ok=True)
            os.symlink(target, _STAGE + path)
        else:
            _bind(path, kind == "write")
    for name in _DEVICES:
        _bind(f"/dev/{name}", True)
    os.makedirs(_STAGE + "/tmp", exist_ok=True)
    os.chmod(_STAGE + "/tmp", 0o1777)
    os.makedirs(_STAGE + "/proc", exist_ok=True)
    _mount("proc", _STAGE + "/proc", b"proc", 0)
    os.chroot(_STAGE)
    os.chdir("/")


def _become(wanted, words):
    """The last steps; never returns."""
    os.chdir(wanted["folder"])
    for name, bounds in wanted["limits"].items():
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), tuple(bounds))
    if wanted["user"] is not None:
        os.setgroups([])
        os.setresgid(*[wanted["user"]] * 3)
        os.setresuid(*[wanted["user"]] * 3)
        # A change of user forgets this one.
        _call("prctl", _libc.prctl, _SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _call("prctl", _libc.prctl, _SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and its children would
        signal.signal(number, signal.SIG_DFL)
    os.execvp(words[0], words)


def _refuse(error):
    text = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    name = f" {error.filename}" if getattr(error, "filename", None) else ""
    os.write(2, f"{REFUSAL}{text}{name}\n".encode("utf-8", "replace"))
    os._exit(REFUSED)


def _in_a_child(work):
    """Runs `work`, which never returns, in a child that dies with us; returns its status, 128 + n for
    signal n."""
    child = os.fork()
    if child == 0:
        try:
            _call("prctl", _libc.prctl, _SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            work()
        except Exception as error:
            _refuse(error)
    while True:
        pid, status = os.wait()  # also of what the program left to the first process of a namespace
        if pid == child:
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def main(arguments):
    """Never returns."""
    wanted, words = json.loads(arguments[0]), arguments[1:]
    if wanted["namespaces"]:
        _call("unshare", _libc.unshare, wanted["namespaces"])
    if not wanted["namespaces"] & NEW_PROCESSES:
        _become(wanted, words)

    def inside():
        if wanted["view"] is not None:
            _enter_view(wanted["view"])
        # The first process of a namespace gets no signal that would end it: the program is the second.
        os._exit(_in_a_child(lambda: _become(wanted, words)))
    os._exit(_in_a_child(inside))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Exception as error:
        _refuse(error)
