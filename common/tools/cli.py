"""The command line of `./workbook`: arguments, errors, interruption, exit status.

The commands that build and measure, `list` and `hint` are parsed here, with the standard library
alone. The others of the reader's commands are parsed by reader/app.py, in the private environment.
"""

import argparse
import difflib
import errno
import os
import re
import signal
import sys

from . import chapters, commands, schedules
from .console import Console
from .errors import WorkbookError

INTERRUPTED = 130
TERMINATED = 143
MOST_WORKERS = 1024

_DESCRIPTION = """\
The Blackwell workbook: real sm_100a kernels to read, write and run, on a GPU if there is one that
fits, else in a simulator on this machine's CPU. Every command installs and builds what it needs."""

# The reader's commands that reader/app.py parses, and what each does in a sentence.
READER_COMMANDS = {
    "next": "Show the next exercise and open its file.",
    "check": "Check your answer to an exercise, or those of a chapter.",
    "watch": "Check whenever you save a file.",
    "diff": "Put the solution's lines beside yours.",
    "reset": "Start an exercise afresh; a copy of your lines is kept.",
    "skip": "Leave an exercise out for now.",
    "use": "Let `run` use your own code, or the solutions.",
}
# Their arguments, for those who ask before the private environment is there.
READER_USAGE = {
    "next": "[NN | NN.E] [--no-open]",
    "check": "[NN | NN.E | NN.E-NN.E]... [--json] [--again]",
    "watch": "[NN.E]",
    "diff": "[NN.E] [--spoil]",
    "reset": "NN.E",
    "skip": "[NN | NN.E | NN.E-NN.E]... [--undo]",
    "use": "mine | solutions",
}
_GROUPS = (
    ("work through the exercises", ("next", "watch", "check", "hint", "list", "diff", "skip", "reset",
                                    "use")),
    ("run and measure", ("run", "timeline", "profile", "sim", "test", "bench", "suite")),
    ("look it up", ("explain", "docs")),
    ("teach", ("grade",)),
    ("this machine", ("doctor", "setup")),
)

_EXAMPLES = {
    None: """\
examples:
  ./workbook next                  the next exercise
  ./workbook run 5                 the blockwise FP8 GEMM of chapter 5
  ./workbook test                  every test but the slow ones
  ./workbook doctor                what this machine has, and what runs where

`./workbook COMMAND --help` says more about a command.""",
    "list": """\
examples:
  ./workbook list                  progress by chapter; the exercises of the chapter you are in
  ./workbook list 3                the exercises of chapter 3
  ./workbook list --all            the exercises of every chapter
  ./workbook list --json           the same for programs""",
    "hint": """\
examples:
  ./workbook hint 1.2              one hint further each time: nudge, idea, almost the code
  ./workbook hint 1.2 --level 1    the first one again""",
    "setup": """\
examples:
  ./workbook setup                                install what is missing, build nothing
  BW_TOOLKIT_IGNORE_SYSTEM=1 ./workbook setup     use a CUDA Toolkit of this checkout's own

A compiler, CMake, Ninja and libraries come from the distribution's packages. Instead of a missing
or too old CUDA Toolkit, or of a missing disassembler, pinned wheels go into .workbook/; so do the
Python packages of the reader's commands.""",
    "run": """\
examples:
  ./workbook run 5
  ./workbook run 5 -- --m 512 --n 512 --k 1024 --beta 0.5 --seed 1
  ./workbook run 05_blockwise_fp8_gemm --sim -- --help
  BW_SIM_CHECKS=races ./workbook run 4     searches for races as well
  ./workbook run 1.4               exercise 1.4 as it stands, or with the fault that is to be found
  ./workbook run 5 --report out.json      what the simulator reports, for programs
  ./workbook run 4 --sim --schedules 50            under 50 seeds, up to the first that fails
  ./workbook run 4 --sim --seed 17                 that schedule again, to the same event
  ./workbook run 4 --sim --seed 17 --until 2000    and stop there, with what every role waits for
  ./workbook run 4 --sim --seed 17 --until-event 0.3.1250    before that event of a report or a log
  ./workbook run 4 --sim --explore -- --m 128 --n 128 --k 512    every order of its synchronisation

What follows `--` goes to the chapter's program, whose exit status is the command's. After
`./workbook use mine` the simulator runs your own lines of the exercises that you have passed.""",
    "sim": """\
examples:
  ./workbook sim -- ./program arguments
  BW_SIM_SEED=3 ./workbook sim -- ./program
  ./workbook sim -- python3 launch.py      a program that calls the driver through ctypes

The program is built with `nvcc -cudart shared` for sm_100a or sm_90a and keeps its PTX. It runs
unmodified; the command's exit status is its own, or 70 after a fault of a kernel. docs/your_kernel.md
has examples.""",
    "suite": """\
examples:
  ./workbook suite scor ~/ScoR
  ./workbook suite indigo ~/HiRace/indigo --seeds 3
  ./workbook suite sanitizer ~/compute-sanitizer-samples

Builds each program of the suite with nvcc, runs it in the simulator at the level `races` and compares
what is said with what the suite says. The exit status is 0 if all verdicts agree.""",
    "timeline": """\
examples:
  ./workbook timeline 5
  ./workbook timeline 5 -- --m 256 --n 256 --k 512
  ./workbook timeline 5 --against "--k 512 --config cta1_128x128_4x1" -- --k 512
  ./workbook timeline 3 --cycles 2000-4000
  BW_SIM_RECORDING=mine.rec ./workbook sim -- ./program; ./workbook timeline mine.rec

Writes a page that needs no network, a picture (SVG) and a trace for Perfetto into build/timeline/.
What follows `--` goes to the program. After `./workbook use mine` it is your own run.""",
    "profile": """\
examples:
  ./workbook profile 5
  ./workbook profile 5 -- --m 4096 --n 4096 --k 4096
  ./workbook profile 5 --sim -- --k 2048
  ./workbook profile 6 --against "--config 128x128_1x1" -- --config 128x256_2x1
  ./workbook profile 5 --save before.json; ./workbook profile 5 --against before.json

On a GPU that runs the chapter: its profile.sh, with Nsight Compute. Else, or with one of these
options, the simulator: the same rows, then who issues, who waits for what, how full the rings are,
and what limits the run. It runs with the timing model, unless --timing or BW_SIM_TIMING says otherwise.
What follows `--` goes to the program. docs/concepts/profile.md explains the rows.""",
    "test": """\
examples:
  ./workbook test                  every test but the slow ones
  ./workbook test 5                the tests of chapter 5
  ./workbook test --all            the slow ones too
  ./workbook test --sanitize       the simulator's under AddressSanitizer and UBSan
  ./workbook test --gpu            everything natively on a B200 or B300, and one report of it
  ./workbook test -- -R barrier    what follows `--` goes to ctest""",
    "bench": """\
examples:
  ./workbook bench simulator       the simulated GEMM against OpenBLAS on the same cores
  ./workbook bench checks          what BW_SIM_CHECKS=contract and races cost
  ./workbook bench plain           warp instructions a second of plain CUDA in the simulator
  ./workbook bench configs         chapter 5's choice of a configuration, in simulated cycles
  ./workbook bench timing          simulated times beside those of an H100, with the deviation
  ./workbook bench timing --validate -- chapter06 --rows
                                   the same for chapters, row by row
  ./workbook bench timing --record measured
                                   on a Hopper GPU: what --validate compares with, measured anew
  ./workbook bench grade           checks of a class a minute, on one worker, two and four
  ./workbook bench hopper          chapter 6's GEMM against cuBLASLt on a Hopper GPU
  ./workbook bench hopper --grid   the device time of 78 shapes, one token to a long prompt
  ./workbook bench hopper -- --shapes 8192x8192x8192 --config all

What follows `--` goes to the benchmark's program.""",
    "docs": """\
examples:
  ./workbook docs                  make the site; prints its first page's path
  ./workbook docs --open           and open it in a browser
  ./workbook docs --serve          and serve it on this machine, until Ctrl-C
  ./workbook docs --serve 8080     on another port (0: any that is free)

Chapters, concepts, glossary, instruction tables, contract and reference, with search, without a
network. Needs Doxygen, its theme and Graphviz, which the command installs as Debian's packages.""",
    "explain": """\
examples:
  ./workbook explain                      every code, by subject
  ./workbook explain BW-B06               what it means, why, an example, and what mends it
  ./workbook explain --json B06           the same for programs""",
    "grade": """\
examples:
  ./workbook grade handed_in                      every exercise of every folder in handed_in/
  ./workbook grade class.txt --exercises 1.1-2.4  the submissions that a list names, some exercises
  ./workbook grade handed_in --out results        where verdicts, table and pages go
  ./workbook grade handed_in --cluster tcp://10.0.0.1:8786
  ./workbook grade --join tcp://10.0.0.1:8786     this checkout's cores work for that scheduler

A submission is a folder that holds a reader's chapters/. What was graded is graded again only after
it, or this checkout, has changed; so Ctrl-C loses nothing. docs/teaching.md says more.""",
    "doctor": """\
examples:
  ./workbook doctor                exit status 1 if something is missing""",
}


class _Parser(argparse.ArgumentParser):
    """Names the nearest command where there is none of a name."""

    def error(self, message):
        if "invalid choice" in message and "COMMAND" in message:
            wanted = message.split("'")[1]
            near = difflib.get_close_matches(wanted, command_names(), 1)
            guess = f" Did you mean `{near[0]}`?" if near else ""
            message = f"there is no command '{wanted}'.{guess} ./workbook --help lists them."
        super().error(message)


def command_names():
    """Every command there is."""
    return [name for _, names in _GROUPS for name in names]


def _parser():
    parser = _Parser(
        prog="./workbook", usage="./workbook COMMAND ...", description=_DESCRIPTION,
        epilog=_EXAMPLES[None], formatter_class=argparse.RawDescriptionHelpFormatter)
    subparsers = parser.add_subparsers(prog="./workbook", dest="command", metavar="COMMAND",
                                       help=argparse.SUPPRESS)
    summaries = dict(READER_COMMANDS)

    def add(name, summary, action):
        summaries[name] = summary
        sub = subparsers.add_parser(name, description=summary, epilog=_EXAMPLES[name],
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
        sub.set_defaults(action=action)
        return sub

    listing = add("list", "Show your progress.", _from_listing("do_list"))
    listing.add_argument("chapter", metavar="NN", nargs="?", help="show this chapter's exercises")
    listing.add_argument("--all", action="store_true", help="show the exercises of every chapter")
    listing.add_argument("--json", action="store_true", help="print JSON")

    hint = add("hint", "Give a hint, one step further each time.", _from_listing("do_hint"))
    hint.add_argument("exercise", metavar="NN.E", nargs="?",
                      help="an exercise; the next one if you name none")
    hint.add_argument("--level", type=int, choices=(1, 2, 3),
                      help="1: a nudge, 2: the idea, 3: almost the code")

    setup = add("setup", "Install what is missing on this machine.", commands.do_setup)
    setup.add_argument("--grading", action="store_true",
                       help="also Dask, with which `grade` uses clusters and survives lost workers")

    run = add("run", "Build and run a chapter's program.", commands.do_run)
    run.add_argument("chapter", metavar="NN", help="a chapter: 5, 05 or 05_blockwise_fp8_gemm; or an "
                                                   "exercise: 1.4")
    where = run.add_mutually_exclusive_group()
    where.add_argument("--sim", dest="machine", action="store_const", const="sim",
                       help="run in the simulator even if there is a GPU")
    where.add_argument("--gpu", dest="machine", action="store_const", const="gpu",
                       help="run on the GPU, or say why that can't be")
    run.add_argument("--report", metavar="FILE", help="run in the simulator, and write what it reports "
                                                      "to FILE as JSON")
    run.add_argument("--schedules", metavar="N", type=_number(1, schedules.MOST_SCHEDULES),
                     help="run it in the simulator under N seeds, one after the other, and stop at the "
                          "first that fails")
    run.add_argument("--seed", metavar="S", type=_number(0, schedules.LARGEST_SEED),
                     help="the seed of the simulator's schedule (with --schedules: the first one)")
    run.add_argument("--until", metavar="CYCLE", type=_number(1, 2**60),
                     help="end each launch at this simulated cycle and say what every role does there")
    run.add_argument("--until-event", metavar="EVENT", type=_event,
                     help="stop before this event, LAUNCH.CLUSTER.NUMBER as reports of a seed and the "
                          "event log name it, and say what every role does there")
    run.add_argument("--explore", metavar="STATES", type=_number(1, schedules.MOST_STATES), nargs="?",
                     const=schedules.STATES,
                     help="also try every order of the synchronisation, up to so many states "
                          f"({schedules.STATES} if you name no number)")

    add("sim", "Run a CUDA program of your own in the simulator.", commands.do_sim)

    timeline = add("timeline", "Show who ran and who waited for what, in the simulator.",
                   commands.do_timeline)
    timeline.add_argument("chapter", metavar="NN", help="a chapter: 5, 05 or 05_blockwise_fp8_gemm; or "
                                                        "a file that BW_SIM_RECORDING has written")
    timeline.add_argument("--against", metavar="OPTIONS",
                          help="options of a second run, which is drawn below the first")
    timeline.add_argument("--cluster", metavar="A[-B]", help="record these clusters (default: the "
                                                             "first 64 CTAs')")
    timeline.add_argument("--cycles", metavar="A-B", help="record these cycles only")
    timeline.add_argument("--launch", metavar="N", type=int,
                          help="show the Nth launch of the program (default: the last)")
    timeline.add_argument("--output", metavar="FOLDER", help="where to write (default: build/timeline)")
    timeline.add_argument("--no-open", dest="open", action="store_false",
                          help="do not open the page in a browser")

    profile = add("profile", "Say what limits a chapter's program.", commands.do_profile)
    profile.add_argument("chapter", metavar="NN", help="a chapter: 5, 05 or 05_blockwise_fp8_gemm")
    profile.add_argument("--sim", dest="machine", action="store_const", const="sim",
                         help="in the simulator even if there is a GPU")
    profile.add_argument("--against", metavar="OPTIONS|FILE",
                         help="options of a second run of the same shape, or a profile that --save has "
                              "written: both, and their ratio")
    profile.add_argument("--launch", metavar="N", type=int,
                         help="show the Nth launch of the program (default: the last)")
    profile.add_argument("--timing", choices=("simple", "model"),
                         help="how simulated time passes (default: model)")
    profile.add_argument("--machine", metavar="NAME", dest="gpu",
                         help="the GPU to simulate: b200, h100, h200 (default: one that runs the "
                              "program's code)")
    profile.add_argument("--save", metavar="FILE", help="write the profile, for --against")
    profile.add_argument("--json", action="store_true",
                         help="print JSON; what the program prints goes to standard error")

    test = add("test", "Build everything and run the tests.", commands.do_test)
    test.add_argument("chapter", metavar="NN", nargs="?", help="only this chapter's tests")
    test.add_argument("--all", action="store_true", help="run the slow tests too")
    test.add_argument("--gpu", action="store_true",
                      help="run chapters, contract and conformance natively on a B200 or B300, compare "
                           "with the simulator, and write a report")
    test.add_argument("--sanitize", action="store_true",
                      help="run the simulator's tests, built with sanitizers, and no others")

    bench = add("bench", "Measure speed.", commands.do_bench)
    bench.add_argument("subject", choices=sorted([*commands.BENCHMARKS, commands.GRADING_BENCHMARK]),
                       help="what to measure")
    bench.add_argument("--grid", action="store_true",
                       help="with hopper: the whole grid of shapes, device time alone")

    bench.add_argument("--validate", action="store_true",
                       help="with timing: chapters 1 and 6, to which no constant was fitted")
    bench.add_argument("--record", metavar="FOLDER",
                       help="with timing, on a Hopper GPU: measure what --validate compares with, by "
                            "the same programs, and write it there")

    suite = add("suite", "Compare the race detector with a public suite of faulty kernels.",
                commands.do_suite)
    suite.add_argument("suite", choices=("indigo", "scor", "sanitizer"), help="which suite")
    suite.add_argument("folder", metavar="FOLDER", help="where it lies")
    suite.add_argument("--seeds", metavar="N", type=_positive, default=3,
                       help="schedules that each program is run with (default: 3)")
    suite.add_argument("--seconds", metavar="N", type=_positive, default=60,
                       help="the longest time of one run (default: 60)")
    suite.add_argument("--jobs", metavar="N", type=_positive, help="programs at a time")
    suite.add_argument("--only", metavar="PATTERN",
                       help="only programs whose names match this regular expression")

    grade = add("grade", "Grade a class: what others have handed in.", _from_grading)
    grade.add_argument("place", metavar="FOLDER|LIST", nargs="?",
                       help="a folder of submissions, or a text file with the path of one a line")
    grade.add_argument("--exercises", metavar="1.1-2.4", help="exercises, chapters and ranges of them, "
                       "separated by commas; all if you name none")
    grade.add_argument("--out", metavar="DIR", help="the folder for the results; FOLDER-grades if you "
                       "name none")
    grade.add_argument("--workers", metavar="N", type=_positive,
                       help="checks at a time; one a core if you name none")
    grade.add_argument("--cluster", metavar="ADDRESS",
                       help="let the workers of this Dask scheduler do it")
    grade.add_argument("--limits-alone", action="store_true",
                       help="as root, where no confinement works: let compilers of submissions read all "
                       "that root can read")
    instead = grade.add_mutually_exclusive_group()
    instead.add_argument("--join", metavar="ADDRESS", help="be N workers of this Dask scheduler")
    instead.add_argument("--build", action="store_true", help="only build what the checks run")

    explain = add("explain", "Say what a code of a report means.", _do_explain)
    explain.add_argument("code", metavar="CODE", nargs="?", help="as in BW-B06; all if you name none")
    explain.add_argument("--json", action="store_true", help="print JSON")

    docs = add("docs", "Make the documentation site.", _do_docs)
    shown = docs.add_mutually_exclusive_group()
    shown.add_argument("--open", action="store_true", help="open it in a browser")
    shown.add_argument("--serve", metavar="PORT", nargs="?", type=int, const=8000,
                       help="serve it on this machine (port 8000 if you name none)")

    add("doctor", "Say what this machine has and which chapters run where.", commands.do_doctor)

    for name in READER_COMMANDS:
        subparsers.add_parser(name)  # so that a mistyped name is compared with these too
    lines = []
    for title, names in _GROUPS:
        lines += [f"\n{title}:", *(f"  {name:<9}{summaries[name]}" for name in names)]
    parser.description += "\n" + "\n".join(lines)
    return parser


def _number(least, most):
    """A whole number within limits, as an argument."""
    def read(text):
        if not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is no number from {least} to {most}")
        return int(text)
    return read


def _event(text):
    """LAUNCH.CLUSTER.NUMBER, as an argument."""
    if not re.fullmatch(r"\d{1,19}\.\d{1,19}\.[1-9]\d{0,18}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no event; one reads LAUNCH.CLUSTER.NUMBER, as "
                                         "in 0.3.1250")
    return text


def _positive(text):
    number = int(text) if text.isdigit() else 0
    if not 1 <= number <= MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 to {MOST_WORKERS}")
    return number


def _from_grading(root, console, arguments):
    from .reader import environment
    environment.require_toml(root, console)
    from .grading import command
    return command.do_grade(root, console, arguments)


def _from_listing(name):
    """An action of reader/listing.py, which is imported only when it is used."""
    def action(root, console, arguments):
        from .reader import environment, listing
        environment.require_toml(root, console)
        return getattr(listing, name)(root, console, arguments)
    return action


def _do_explain(root, console, arguments):
    from . import explain  # imported only when it is used
    return explain.do_explain(root, console, arguments)


def _do_docs(root, console, arguments):
    from .site import command  # imported only when it is used
    return command.do_docs(root, console, arguments)


def _split(arguments):
    """(our arguments, those after the first '--')."""
    if "--" in arguments:
        at = arguments.index("--")
        return arguments[:at], arguments[at + 1:]
    return arguments, []


class _Terminated(BaseException):
    """SIGTERM or SIGHUP, raised where the main thread is, so that children are ended on the way
    out."""


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
    if arguments and arguments[0] in READER_COMMANDS:
        from .reader import environment
        if environment.is_missing(root) and not {"-h", "--help"}.isdisjoint(arguments):
            name = arguments[0]
            print(f"usage: ./workbook {name} {READER_USAGE[name]}\n\n{READER_COMMANDS[name]}")
            return 0
        return environment.run(root, console, arguments)
    ours, rest = _split(arguments)
    parser = _parser()
    parsed = parser.parse_args(ours)
    if not parsed.command:
        parser.print_help()
        print(f"\nchapters: {chapters.listing(root)}")
        return 0
    if rest and parsed.command not in ("run", "sim", "timeline", "profile", "test", "bench"):
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
