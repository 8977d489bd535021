"""Child processes that may misbehave: bounded in time and in what they print."""

import os
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass

from .errors import WorkbookError
from .process import end_session, session_cpu_seconds, undisturbed

MOST_BYTES = 4 << 20
_PART = 1 << 16
# How often is looked at the processor time of a process that runs for long, and for the end of one that
# has closed its output.
_LOOK_SECONDS = 0.5


@dataclass
class Ended:
    """How a child ended; `status` is negative for a signal, as in subprocess."""

    status: int
    output: str
    errors: str
    seconds: float
    timed_out: bool = False
    printed_too_much: bool = False
    cpu_seconds: float = 0.0  # of it and its children

    @property
    def text(self):
        return self.output + self.errors


class _Child:
    def __init__(self, index, command, env, cwd):
        self.index, self.started = index, time.monotonic()
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                            env=env, cwd=cwd, start_new_session=True)
        except OSError as error:
            raise WorkbookError(f"`{command[0]}` could not be started: {error.strerror}.") from error
        self.parts = {self.process.stdout: [], self.process.stderr: []}
        self.bytes = 0
        self.cpu_seconds = 0.0
        self.open = 2
        self.is_late = self.printed_too_much = False
        self._looked = self.started

    def has_ended(self):
        """Whether it ended by itself; then its processor time is known."""
        if self.process.returncode is None:
            try:
                pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            except ChildProcessError:  # it was waited for elsewhere
                return self.process.poll() is not None
            if pid == 0:
                return False
            self.process.returncode = (-os.WTERMSIG(status) if os.WIFSIGNALED(status)
                                       else os.WEXITSTATUS(status))
            self.cpu_seconds = usage.ru_utime + usage.ru_stime
        return True

    def look(self, seconds, cpu_seconds):
        """Notes whether it takes too long: `seconds` by the clock, or `cpu_seconds` of both clocks."""
        now = time.monotonic()
        elapsed = now - self.started
        if elapsed >= seconds:
            self.is_late = True
        elif cpu_seconds and elapsed >= cpu_seconds and now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            self.is_late = session_cpu_seconds(self.process.pid) >= cpu_seconds

    def end(self):
        """Ends it; nothing of it is worth a grace period."""
        self.cpu_seconds = max(self.cpu_seconds, session_cpu_seconds(self.process.pid))
        end_session(self.process, (signal.SIGKILL,))

    def ended(self):
        texts = [b"".join(parts).decode("utf-8", "replace") for parts in self.parts.values()]
        return Ended(self.process.returncode, *texts, time.monotonic() - self.started, self.is_late,
                     self.printed_too_much, self.cpu_seconds)

    def close(self):
        for stream in self.parts:
            stream.close()


def run_all(commands, seconds, env=None, cwd=None, parallel=1, most_bytes=MOST_BYTES, cpu_seconds=None):
    """Runs commands, `parallel` at a time; returns an Ended for each.

    One that takes `seconds` by the clock, or `cpu_seconds` of processor time and by the clock, is
    killed, and so is one that prints more than `most_bytes`. Whatever interrupts us (Ctrl-C) ends
    all of them first.
    """
    results, waiting = [None] * len(commands), list(enumerate(commands))
    running, selector = [], selectors.DefaultSelector()
    try:
        while waiting or running:
            while waiting and len(running) < parallel:
                index, command = waiting.pop(0)
                child = _Child(index, command, env, cwd)
                running.append(child)
                for stream in child.parts:
                    os.set_blocking(stream.fileno(), False)
                    selector.register(stream, selectors.EVENT_READ, child)
            for key, _ in selector.select(_pause(running, seconds)):
                _read(key.fileobj, key.data, selector)
            for child in list(running):
                child.printed_too_much = child.bytes > most_bytes
                if not child.printed_too_much and not (child.open == 0 and child.has_ended()):
                    child.look(seconds, cpu_seconds)
                    if not child.is_late:
                        continue
                if child.is_late or child.printed_too_much:
                    child.end()
                _forget(child, selector)
                running.remove(child)
                results[child.index] = child.ended()
    except BaseException:
        with undisturbed():
            for child in running:
                child.end()
                child.close()
        raise
    finally:
        selector.close()
    return results


def run(command, seconds, **options):
    """run_all() for one command."""
    return run_all([command], seconds, **options)[0]


def _pause(running, seconds):
    """Seconds until the next look, unless a process prints."""
    if any(child.open == 0 for child in running):
        return 0.005  # its output is closed: it is about to end
    oldest = min(child.started for child in running)
    return min(_LOOK_SECONDS, max(0.0, oldest + seconds - time.monotonic()))


def _read(stream, child, selector):
    try:
        part = os.read(stream.fileno(), _PART)
    except BlockingIOError:
        return
    if part:
        child.parts[stream].append(part)
        child.bytes += len(part)
    else:
        selector.unregister(stream)
        child.open -= 1


def _forget(child, selector):
    for stream in child.parts:
        try:
            selector.unregister(stream)
        except KeyError:
            pass
    child.close()
