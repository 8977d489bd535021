"""Runs ./workbook in a fork of this Python, which saves half of what a short command costs: Python's own
start and the standard library. The command's own modules are read again, from its checkout."""

import atexit
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

# What a test's own Python has at its start, before the test changes it.
_PATH, _FILTERS = sys.path[1:], list(warnings.filters)
# Python looks at these variables only once, when it starts.
_READ_AT_THE_START = ("PYTHON", "LC_", "LANG")
_POLL_SECONDS = 0.002
_MOST_FILES = 1024


def can_run(env):
    """Whether a fork of this Python is what a new one would be in an environment."""
    def relevant(variables):
        return {name: value for name, value in variables.items() if name.startswith(_READ_AT_THE_START)}
    return relevant(env) == relevant(os.environ) and not os.environ.get("PYTHONPATH")


def run(script, arguments, env, seconds):
    """The CompletedProcess of a Python script, with its output as text and no input: of a fork, or of a
    Python of its own."""
    words = [str(script), *map(str, arguments)]
    if not can_run(env):
        return subprocess.run([sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, universal_newlines=True, timeout=seconds,
                              env=env, check=False)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _become(words, env, output.fileno(), errors.fileno())
        status = _wait(child, words, seconds)
        output.seek(0)
        errors.seek(0)
        texts = [file.read().decode("utf-8").replace("\r\n", "\n") for file in (output, errors)]
    return subprocess.CompletedProcess([sys.executable, *words], status, *texts)


def _wait(child, words, seconds):
    deadline, pause = time.monotonic() + seconds, _POLL_SECONDS
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise subprocess.TimeoutExpired(words, seconds)
        time.sleep(pause)
        pause = min(2 * pause, 10 * _POLL_SECONDS)


def _become(words, env, output, errors):
    """Goes on as the script; never returns."""
    status = 1
    try:
        with open(os.devnull, "rb") as nothing:
            for source, target in ((nothing.fileno(), 0), (output, 1), (errors, 2)):
                os.dup2(source, target)
        os.closerange(3, _MOST_FILES)
        _forget_the_test()
        os.environ.clear()
        os.environ.update(env)
        sys.argv, sys.path = words, [os.path.dirname(words[0]), *_PATH]
        status = _status_of(words[0])
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _forget_the_test():
    """Standard streams, modules, warnings and what is to happen at the end as a new Python has them."""
    atexit._clear()
    warnings.filters[:] = _FILTERS
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))  # -B is the test's own
    for name in list(sys.modules):
        if name == "tools" or name.startswith("tools."):
            del sys.modules[name]
    sys.stdin = sys.__stdin__ = _reopened(sys.__stdin__, 0, "r")
    sys.stdout = sys.__stdout__ = _reopened(sys.__stdout__, 1, "w")
    sys.stderr = sys.__stderr__ = _reopened(sys.__stderr__, 2, "w", buffering=1)


def _reopened(stream, descriptor, mode, buffering=-1):
    # Where the test was started with a closed stream, Python has none.
    return open(descriptor, mode, buffering, getattr(stream, "encoding", None),
                getattr(stream, "errors", None), closefd=False)


def _status_of(script):
    try:
        runpy.run_path(script, run_name="__main__")
        return 0
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    return 1
