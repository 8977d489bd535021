"""The cause of a child process's end: the text that it worked on, or this machine.

A verdict on a text needs evidence that the text caused it. Without evidence the process
gets another try, and the solution's own text is run in the same way; what stays unclear is an error
of the grader.
"""

import os
import re
import shutil
import signal
import stat

from . import enter
from .errors import GraderError

LEAST_FREE_BYTES = 4 << 20
_MOST_CHARACTERS = 300
# Words of the system that no text which is compiled or simulated has any part in.
_OF_MACHINE = re.compile(
    r"No space left on device|Disk quota exceeded|Read-only file system|Input/output error|"
    r"Too many open files|Resource temporarily unavailable|Stale file handle|"
    r"error while loading shared libraries|Exec format error|Text file busy|"
    rf"^{enter.REFUSAL}.*", re.M)
_KILLED = re.compile(r"(?:due to|terminated with|signal) signal 9\b|^Killed$|: Killed\b", re.M)


def is_plain_file(path):
    """Whether there is a plain file: not what a process of another user may have put in its place."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def last_words(ended):
    """The last line of what a process printed, or how it ended."""
    lines = ended.errors.strip().splitlines() or ended.output.strip().splitlines()
    return lines[-1][-_MOST_CHARACTERS:] if lines else _how(ended.status)


def crashed(status):
    """The signal that ended a process, or its child, by a fault of its own; 0 if none did."""
    number = -status if status < 0 else status - 128
    return number if number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL,
                                signal.SIGFPE, signal.SIGSYS) else 0


def require_no_fault_of_machine(who, ended, folder):
    """Throws a GraderError where it is plain that this machine has ended a process. `who`: "The
    compiler"; `folder`: where it worked."""
    if ended.timed_out:
        raise GraderError(f"{who} did not come to an end in {ended.seconds:.0f} s, of which it computed "
                          f"for {ended.cpu_seconds:.0f} s only: this machine is too busy, or was "
                          "suspended. "
                          "Give it fewer workers, and run the command again.", details=ended.text)
    if ended.status in (-signal.SIGKILL, 128 + signal.SIGKILL) or _KILLED.search(ended.errors):
        raise GraderError(f"{who} was killed from outside, as a system does that has no memory "
                          "left. Free "
                          "some, or give it fewer workers, and run the command again.",
                          details=ended.text)
    words = _OF_MACHINE.search(ended.errors)
    if words:
        raise GraderError(f"{who} could not do its work: {words.group().strip()}.", details=ended.text)
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise GraderError(f"{folder} can't be used: {error.strerror}.", details=ended.text) from error
    if free < LEAST_FREE_BYTES:
        raise GraderError(f"There is no room left on the disk of {folder}. Free some space and run the "
                          "command again.", details=ended.text)


def _how(status):
    if status is not None and status < 0:
        return f"it was ended by signal {-status}"
    return f"it ended with status {status}"
