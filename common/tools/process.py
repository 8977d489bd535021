"""Child processes: logged ones with progress, and programs that own the terminal.

Whatever ends the command (Ctrl-C, SIGTERM, an error) ends the children first.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from .errors import WorkbookError

# How long a child may take to end itself before the next, stronger signal.
GRACE_SECONDS = 5.0


def capture(command, env=None, timeout=20, stdin_text=None):
    """(exit status, output) of a short command; status 127 if it can't be started."""
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                input=stdin_text or "", timeout=timeout, env=env,
                                universal_newlines=True, errors="replace", check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return result.returncode, result.stdout


def run_logged(command, step, env=None, cwd=None, log_path=None):
    """Runs a command, shows its last line as the step's detail; returns (status, output).

    The child has a session of its own, which is ended as a whole when we are interrupted.
    """
    lines = []
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, env=env, cwd=cwd,
                                 universal_newlines=True, errors="replace",
                                 start_new_session=True)
    except OSError as error:
        raise WorkbookError(f"`{command[0]}` could not be started: {error.strerror}.") from error
    log = open(log_path, "w", encoding="utf-8") if log_path else None
    try:
        for line in child.stdout:
            lines.append(line)
            if log:
                log.write(line)
            if line.strip():
                step.detail(line)
        child.wait()
    except BaseException:
        with undisturbed():
            end_session(child)
        raise
    finally:
        child.stdout.close()
        if log:
            log.close()
    return child.returncode, "".join(lines)


def run_in_foreground(command, env=None, cwd=None, stdout=None):
    """Runs a program on our standard streams and returns its exit status (128+n for signal n).

    `stdout`: where its standard output goes instead of ours.

    It shares our process group, so the terminal's Ctrl-C reaches it directly; it gets time to end.
    """
    try:
        child = subprocess.Popen(command, env=env, cwd=cwd, stdout=stdout)
    except OSError as error:
        raise WorkbookError(f"`{command[0]}` could not be started: {error.strerror}.") from error
    try:
        child.wait()
    except BaseException:
        with undisturbed():
            _end_child(child)
        raise
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


@contextlib.contextmanager
def undisturbed():
    """Ignores further Ctrl-C while children are being ended, which takes seconds at most."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end_child(child):
    for stop in (lambda: child.send_signal(signal.SIGINT), child.terminate, child.kill):
        try:
            stop()
            child.wait(GRACE_SECONDS)
            return
        except subprocess.TimeoutExpired:
            continue


def end_session(child, signals=(signal.SIGINT, signal.SIGTERM, signal.SIGKILL)):
    """Ends everything in the child's session: Ninja gives each compiler a group of its own. The next of
    `signals` follows where one has not ended it."""
    for number in signals:
        deadline = time.monotonic() + GRACE_SECONDS
        is_sent = False
        while time.monotonic() < deadline:
            child.poll()
            members = _session_members(child.pid)
            if not members:
                child.wait()
                return
            if number == signal.SIGKILL:
                # All at once, again and again: those that make others faster than we find them, too.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, number)
            if not is_sent or number == signal.SIGKILL:
                for pid, _ in members:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
            is_sent = True
            time.sleep(0.02)


def session_cpu_seconds(session):
    """The processor time of a session's running processes, with that of children they have waited
    for."""
    return sum(ticks for _, ticks in _session_members(session)) / os.sysconf("SC_CLK_TCK")


def _session_members(session):
    """[(process, clock ticks)] of a session's running processes (those that only wait to be reaped don't
    count)."""
    members = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The command's name, in parentheses, may hold anything; the fields follow it.
            text = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            fields = text.rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            members.append((int(entry.name), sum(map(int, fields[11:15]))))
    return members
