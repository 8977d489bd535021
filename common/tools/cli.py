"""The command line of `./workbook`: arguments, errors, interruption, exit status."""

import argparse
import errno
import os
import signal
import sys

from . import chapters, commands
from .console import Console
from .errors import WorkbookError

INTERRUPTED = 130
TERMINATED = 143

_DESCRIPTION = """\
Run and test the Blackwell workbook: real sm_100a kernels, on a GPU if there is one that fits,
else in a simulator on this machine's CPU. `run` and `test` install and build what they need."""

_EXAMPLES = {
    None: """\
examples:
  ./workbook run 5                 the blockwise FP8 GEMM of chapter 5
  ./workbook test                  every test but the slow ones
  ./workbook doctor                what this machine has, and what runs where""",
    "setup": """\
examples:
  ./workbook setup                                install what is missing, build nothing
  BW_TOOLKIT_IGNORE_SYSTEM=1 ./workbook setup     use a CUDA Toolkit of this checkout's own

A compiler, CMake, Ninja and libraries come from the distribution's packages. Instead of a missing
or too old CUDA Toolkit, or of a missing disassembler, pinned wheels go into .workbook/.""",
    "run": """\
examples:
  ./workbook run 5
  ./workbook run 5 -- --m 512 --n 512 --k 1024 --beta 0.5 --seed 1
  ./workbook run 05_blockwise_fp8_gemm --sim -- --help

What follows `--` goes to the chapter's program, whose exit status is the command's.""",
    "test": """\
examples:
  ./workbook test                  every test but the slow ones
  ./workbook test 5                the tests of chapter 5
  ./workbook test --all            the slow ones too
  ./workbook test --sanitize       the simulator's under AddressSanitizer and UBSan
  ./workbook test -- -R barrier    what follows `--` goes to ctest""",
    "bench": """\
examples:
  ./workbook bench simulator       the simulated GEMM against OpenBLAS on the same cores
  ./workbook bench configs         chapter 5's choice of a configuration, in simulated cycles
  ./workbook bench hopper          chapter 6's GEMM against cuBLASLt on a Hopper GPU
  ./workbook bench hopper -- --shapes 8192x8192x8192 --config all

What follows `--` goes to the benchmark's program.""",
    "doctor": """\
examples:
  ./workbook doctor                exit status 1 if something is missing""",
}


def _parser():
    parser = argparse.ArgumentParser(
        prog="./workbook", description=_DESCRIPTION, epilog=_EXAMPLES[None],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")

    def add(name, summary, action):
        sub = subparsers.add_parser(name, help=summary, description=summary,
                                    epilog=_EXAMPLES[name],
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
        sub.set_defaults(action=action)
        return sub

    add("setup", "Install what is missing on this machine.", commands.do_setup)

    run = add("run", "Build and run a chapter's program.", commands.do_run)
    run.add_argument("chapter", metavar="NN", help="a chapter: 5, 05 or 05_blockwise_fp8_gemm")
    where = run.add_mutually_exclusive_group()
    where.add_argument("--sim", dest="machine", action="store_const", const="sim",
                       help="run in the simulator even if there is a GPU")
    where.add_argument("--gpu", dest="machine", action="store_const", const="gpu",
                       help="run on the GPU, or say why that can't be")

    test = add("test", "Build everything and run the tests.", commands.do_test)
    test.add_argument("chapter", metavar="NN", nargs="?", help="only this chapter's tests")
    test.add_argument("--all", action="store_true", help="run the slow tests too")
    test.add_argument("--sanitize", action="store_true",
                      help="run the simulator's tests, built with sanitizers, and no others")

    bench = add("bench", "Measure speed.", commands.do_bench)
    bench.add_argument("subject", choices=sorted(commands.BENCHMARKS), help="what to measure")

    add("doctor", "Say what this machine has and which chapters run where.", commands.do_doctor)
    return parser


def _split(arguments):
    """(our arguments, those after the first '--')."""
    if "--" in arguments:
        at = arguments.index("--")
        return arguments[:at], arguments[at + 1:]
    return arguments, []


class _Terminated(BaseException):
    """SIGTERM or SIGHUP, raised where the main thread is, so that children are ended on the way out."""


def _raise_terminated(_number, _frame):
    raise _Terminated


def main(root, arguments):
    """Runs the command; returns its exit status (0, 1, 2 for usage, 130 after Ctrl-C)."""
    console = Console()
    try:
        signal.signal(signal.SIGTERM, _raise_terminated)
        signal.signal(signal.SIGHUP, _raise_terminated)
        status = _run(root, console, arguments)
        sys.stdout.flush()
        return status
    except WorkbookError as error:
        if error.details:
            console.say(error.details)
        console.error(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        console.say("Interrupted; whatever was running has been ended.")
        return INTERRUPTED
    except _Terminated:
        console.say("Ended by SIGTERM; whatever was running has been ended.")
        return TERMINATED
    except BrokenPipeError:
        # The reader of a pipe has gone (`| head`); what Python flushes at its end has no place to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        console.error(_system_error(root, error))
        return 1


def _run(root, console, arguments):
    ours, rest = _split(arguments)
    parser = _parser()
    parsed = parser.parse_args(ours)
    if not parsed.command:
        parser.print_help()
        print(f"\nchapters: {chapters.listing(root)}")
        return 0
    if rest and parsed.command in ("setup", "doctor"):
        parser.error(f"{parsed.command} takes nothing after '--'")
    parsed.rest = rest
    return parsed.action(root, console, parsed)


def _system_error(root, error):
    """A sentence for what the system refused: where, why, what to do."""
    place = error.filename if error.filename is not None else "a file"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (f"{place} can't be read or written ({error.strerror}). Give yourself the right to "
                f"write in {root}, or use a copy of the checkout in a folder of your own.")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (f"There is no room left to write {place} ({error.strerror}). Free some space and "
                "run the command again; what is half done is done again.")
    return f"{place}: {error.strerror or error}."
