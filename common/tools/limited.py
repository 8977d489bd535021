"""Child processes that may misbehave: bounded in time and in what they print."""

import os
import selectors
import subprocess
import time
from dataclasses import dataclass

from .errors import WorkbookError
from .process import end_session, undisturbed

MOST_BYTES = 4 << 20
_PART = 1 << 16


@dataclass
class Ended:
    """How a child ended; `status` is negative for a signal, as in subprocess."""

    status: int
    output: str
    errors: str
    seconds: float
    timed_out: bool = False
    printed_too_much: bool = False

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
            raise WorkbookError(f"`{command[0]}` could not be started: {error.strerror}."
                                ) from error
        self.parts = {self.process.stdout: [], self.process.stderr: []}
        self.bytes = 0
        self.open = 2

    def ended(self, timed_out=False, too_much=False):
        texts = [b"".join(parts).decode("utf-8", "replace") for parts in self.parts.values()]
        return Ended(self.process.returncode, *texts, time.monotonic() - self.started, timed_out,
                     too_much)

    def close(self):
        for stream in self.parts:
            stream.close()


def run_all(commands, seconds, env=None, cwd=None, parallel=1, most_bytes=MOST_BYTES):
    """Runs commands, `parallel` at a time, each for at most so long; returns an Ended for each.

    Whatever interrupts us (Ctrl-C) ends all of them first.
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
            oldest = min(child.started for child in running)
            for key, _ in selector.select(max(0.0, oldest + seconds - time.monotonic())):
                _read(key.fileobj, key.data, selector)
            for child in list(running):
                late = time.monotonic() - child.started >= seconds
                too_much = child.bytes > most_bytes
                if child.open == 0 and not late:
                    try:
                        child.process.wait(max(0.0, child.started + seconds - time.monotonic()))
                    except subprocess.TimeoutExpired:
                        late = True
                elif not late and not too_much:
                    continue
                if late or too_much:
                    end_session(child.process)
                _forget(child, selector)
                running.remove(child)
                results[child.index] = child.ended(late, too_much)
    except BaseException:
        with undisturbed():
            for child in running:
                end_session(child.process)
                child.close()
        raise
    finally:
        selector.close()
    return results


def run(command, seconds, **options):
    """run_all() for one command."""
    return run_all([command], seconds, **options)[0]


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
