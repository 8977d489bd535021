"""What `./workbook` does with its arguments: help, dispatch, errors, interruption, exit status.

The exit status is 0, 1 if something failed, 2 if the command line can't be understood, 130 after
Ctrl-C, 143 after SIGTERM; `run`, `lab` and `sim` end with that of the program.
"""

import errno
import importlib
import json
import os
import signal
import sys

from . import chapters, code_links
from .command_table import COMMANDS, GROUPS
from .commandline import PROGRAM, UsageError, example_lines, help_of, nearest, parse, split
from .console import Console, wrapped
from .errors import WorkbookError

INTERRUPTED = 130
TERMINATED = 143

_DESCRIPTION = ("The Blackwell workbook: real sm_100a kernels to read, write and run, on a GPU if this "
                "machine has one that fits, else in a simulator on its CPU. Every command installs and "
                "builds what it needs.")
_FIRST = (("next", "the next exercise"),
          ("run 5", "the blockwise FP8 GEMM of chapter 5"),
          ("list", "your progress"),
          ("doctor", "what this machine has, and what runs where"),
          ("--help", "all commands"))
_COMMAND_WIDTH = 9


class _Terminated(BaseException):
    """SIGTERM or SIGHUP, raised where the main thread is, so that children are ended on the way
    out."""


def _raise_terminated(_number, _frame):
    raise _Terminated


def main(root, arguments):
    """Runs the command; returns its exit status."""
    _open_closed_streams()
    try:
        return _run_to_the_end(root, arguments)
    except BrokenPipeError:  # the reader of a pipe has gone (`| head`)
        return 1
    finally:
        _drop_what_cannot_be_written()


def _run_to_the_end(root, arguments):
    """Runs the command and says how it ended, if not well."""
    console = Console()
    ours, rest = split(arguments)
    as_json = "--json" in ours
    try:
        signal.signal(signal.SIGTERM, _raise_terminated)
        signal.signal(signal.SIGHUP, _raise_terminated)
        if console.live:
            code_links.tell_programs(os.environ)
        status = _run(root, console, ours, rest)
        sys.stdout.flush()
        return status
    except WorkbookError as error:
        return _fail(console, str(error), error.details, error.exit_code, as_json)
    except KeyboardInterrupt:
        console.say("Interrupted; whatever was running has been ended.")
        return INTERRUPTED
    except _Terminated:
        console.say("Ended by SIGTERM; whatever was running has been ended.")
        return TERMINATED
    except BrokenPipeError:
        raise
    except OSError as error:
        return _fail(console, _system_error(root, error), "", 1, as_json)


def _fail(console, message, details, status, as_json):
    """Says what went wrong, to people or to a program."""
    if as_json:
        print(json.dumps({"error": message, **({"details": details} if details else {})}, indent=1))
    else:
        if details:
            console.say(details)
        console.error(message)
    return status


def _open_closed_streams():
    """Opens the standard streams that a shell has closed (`>&-`): otherwise a file that is opened later
    would take their place, and what programs print would end there."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _drop_what_cannot_be_written():
    """Lets Python end without a word about output that has no place to go."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(root, console, ours, rest):
    if not ours:
        if rest:
            raise UsageError(f"`--` comes after a command: {PROGRAM} run 5 -- --help", _usage())
        print(orientation(root))
        return 0
    if ours[0] in ("-h", "--help"):
        print(overview(root))
        return 0
    command = COMMANDS.get(ours[0])
    if command is None:
        raise UsageError(f"There is no command '{ours[0]}'.{nearest(ours[0], COMMANDS)} "
                         f"{PROGRAM} --help lists them.", _usage())
    arguments = parse(command, ours[1:], rest)
    if arguments is None:
        print(help_of(command))
        return 0
    if command.reads_exercises:
        _require_toml(root, console)
    module, _, function = command.action.partition(":")
    return getattr(importlib.import_module(f"tools.{module}"), function)(root, console, arguments)


def _usage():
    return f"usage: {PROGRAM} COMMAND [arguments] [-- arguments of a program]"


def orientation(root):
    """What to type first."""
    return "\n".join([*wrapped(_DESCRIPTION), "", *example_lines(_FIRST), "",
                      *wrapped(f"chapters: {chapters.listing(root)}", "", "  ")])


def overview(root):
    """All commands."""
    lines = ["\n".join(wrapped(_usage())), "", *wrapped(_DESCRIPTION)]
    for title, commands in GROUPS:
        lines += ["", f"{title}:"]
        for command in commands:
            lines += wrapped(command.summary, f"  {command.name:<{_COMMAND_WIDTH}}",
                             " " * (_COMMAND_WIDTH + 2))
    lines += ["", "examples:", *example_lines(_FIRST[:-1]), "",
              *wrapped(f"`{PROGRAM} COMMAND --help` says more about a command."), "",
              *wrapped(f"chapters: {chapters.listing(root)}", "", "  ")]
    return "\n".join(lines)


def _require_toml(root, console):
    from . import toml_text
    if not toml_text.can_read():
        from . import workspace  # what installs packages is not imported for a list or a hint
        workspace.require_toml(root, console)


def _system_error(root, error):
    """A sentence for what the system refused: where, why, what to do."""
    from . import workspace
    place = error.filename if error.filename is not None else "a file"
    if error.errno == errno.EROFS or (error.errno in (errno.EACCES, errno.EPERM)
                                      and workspace.is_on_read_only_file_system(place)):
        return (f"{place} can't be written: it is on a read-only file system. Copy the checkout to a "
                f"file system that can be written to: `{workspace.how_to_copy(root)}`")
    if error.errno in (errno.EACCES, errno.EPERM):
        return (f"{place} can't be read or written ({error.strerror}). Give yourself the right to "
                f"write in {root}, or use a copy of the checkout in a folder of your own: "
                f"`{workspace.how_to_copy(root)}`")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (f"There is no room left to write {place} ({error.strerror}). Free some space and "
                "run the command again; it repeats what it could not finish.")
    return f"{place}: {error.strerror or error}."
