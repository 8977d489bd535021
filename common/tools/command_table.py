"""Every command of ./workbook: what it is for, its arguments and examples. The one source of help."""

from . import schedules
from .commandline import Command, event, number, one_of

_MOST_WORKERS = number(1, 1024)
_CHAPTER = "a chapter: 5, 05 or 05_blockwise_fp8_gemm"
# The machines of common/simulator/isa/machine_description.cpp.
MACHINES = ("b200", "b300", "h100", "h200")
_LAUNCH = "show the Nth launch of the program (default: the last one that took any time)"


# --- the exercises --------------------------------------------------------------------------------

def _next(parser):
    parser.add_argument("wanted", metavar="NN.E", nargs="?",
                        help="an exercise, or a chapter; the one that follows if you name none")
    parser.add_argument("--no-open", dest="open", action="store_false",
                        help="do not open the file in an editor")


def _several(parser):
    parser.add_argument("wanted", metavar="NN.E", nargs="*",
                        help="exercises, chapters and ranges: 1.2, 3, 1.1-1.5; the next exercise if you "
                             "name none")


def _check(parser):
    _several(parser)
    parser.add_argument("--again", action="store_true",
                        help="also check what has passed and was not changed since")
    _json(parser)


def _skip(parser):
    _several(parser)
    parser.add_argument("--undo", action="store_true", help="take them up again")


def _one_exercise(parser):
    parser.add_argument("wanted", metavar="NN.E", nargs="?",
                        help="an exercise; the next one if you name none")


def _diff(parser):
    _one_exercise(parser)
    parser.add_argument("--spoil", action="store_true",
                        help="show the solution before you have passed")


def _hint(parser):
    parser.add_argument("exercise", metavar="NN.E", nargs="?",
                        help="an exercise; the next one if you name none")
    parser.add_argument("--level", metavar="N", type=number(1, 3),
                        help="1: a nudge, 2: the idea, 3: almost the code")


def _list(parser):
    parser.add_argument("chapter", metavar="NN", nargs="?", help="show this chapter's exercises")
    parser.add_argument("--all", action="store_true", help="show the exercises of every chapter")
    _json(parser)


def _json(parser, what="print JSON (docs/verdicts.md)"):
    parser.add_argument("--json", action="store_true", help=what)


_EXERCISES = (
    Command("next", "Show the next exercise and open its file.", "reader.command:do_next",
            (("next", "the exercise that follows"),
             ("next 3.1", "that exercise"),
             ("next 3", "the first exercise of chapter 3 that has not passed"),
             ("next --no-open", "its text alone")), _next, reads_exercises=True,
            more="The file opens in $VISUAL, $EDITOR or VS Code, if this is a terminal."),
    Command("watch", "Check whenever you save a file.", "reader.watch:do_watch",
            (("watch", "the next exercise, and every other one that you save"),
             ("watch 2.3", "begin with 2.3")), _one_exercise, reads_exercises=True,
            more="Keys: n next, h hint, l list, r run, d diff, t timeline, q quit."),
    Command("check", "Check your answers.", "reader.command:do_check",
            (("check", "the next exercise"),
             ("check 1.1 1.2", "these two"),
             ("check 1.1-1.5", "all from 1.1 to 1.5"),
             ("check 3", "chapter 3"),
             ("check 1.3 --json", "the verdict for programs")), _check, reads_exercises=True,
            more="The exit status is 0 if everything that was checked is right, else 1."),
    Command("hint", "Give a hint, one step further each time.", "reader.listing:do_hint",
            (("hint 1.2", "a nudge, then the idea, then almost the code"),
             ("hint 1.2 --level 1", "the first one again")), _hint, reads_exercises=True),
    Command("list", "Show your progress.", "reader.listing:do_list",
            (("list", "progress by chapter; the exercises of the chapter you are in"),
             ("list 3", "the exercises of chapter 3"),
             ("list --all", "the exercises of every chapter"),
             ("list --json", "the same for programs")), _list, reads_exercises=True),
    Command("diff", "Compare your lines with the solution's.", "reader.command:do_diff",
            (("diff 1.3", "once 1.3 has passed"),
             ("diff 1.3 --spoil", "in any case")), _diff, reads_exercises=True),
    Command("skip", "Leave exercises out for now.", "reader.command:do_skip",
            (("skip", "the next exercise"),
             ("skip 1", "chapter 1"),
             ("skip 2.1-2.4", "all from 2.1 to 2.4"),
             ("skip 1 --undo", "take chapter 1 up again")), _skip, reads_exercises=True,
            more="`next` comes back to them when the others are done."),
    Command("reset", "Start an exercise again; a copy of your lines is kept.", "reader.command:do_reset",
            (("reset 1.3", "the lines of 1.3 as they were at the beginning"),),
            lambda parser: parser.add_argument("wanted", metavar="NN.E", help="an exercise"),
            reads_exercises=True, more="The rest of the file stays as it is."),
    Command("use", "Choose whose code `run` runs.", "reader.command:do_use",
            (("use mine", "your lines of every exercise that has passed, in the simulator"),
             ("use solutions", "the solutions again")),
            lambda parser: parser.add_argument("whose", metavar="mine|solutions",
                                               type=one_of("mine", "solutions"),
                                               help="whose code `run` runs"), reads_exercises=True),
)


# --- run and measure ------------------------------------------------------------------------------

def _where(parser):
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--sim", dest="machine", action="store_const", const="sim",
                       help="run in the simulator even if there is a GPU")
    where.add_argument("--gpu", dest="machine", action="store_const", const="gpu",
                       help="run on the GPU, or say why that is impossible")


def _schedule(parser):
    parser.add_argument("--schedules", metavar="N", type=number(1, schedules.MOST_SCHEDULES),
                        help="run it in the simulator under N seeds, one after the other, and stop at "
                             "the first that fails")
    parser.add_argument("--seed", metavar="S", type=number(0, schedules.LARGEST_SEED),
                        help="the seed of the simulator's schedule (with --schedules: the first one)")
    parser.add_argument("--until", metavar="CYCLE", type=number(1, 2**60),
                        help="end each launch at this simulated cycle and say what every role does "
                             "there")
    parser.add_argument("--until-event", metavar="EVENT", type=event,
                        help="stop before this event, LAUNCH.CLUSTER.NUMBER as reports of a seed and "
                             "the event log name it, and say what every role does there")
    parser.add_argument("--explore", metavar="STATES", type=number(1, schedules.MOST_STATES), nargs="?",
                        const=schedules.STATES,
                        help="also try every order of the synchronisation, up to this many states "
                             f"({schedules.STATES} if you name no number)")
    parser.add_argument("--explore-lanes", action="store_true",
                        help="the same, where the lanes of a warp need not stay together")


def _run(parser):
    parser.add_argument("chapter", metavar="NN", help=f"{_CHAPTER}; or an exercise: 1.4")
    _where(parser)
    parser.add_argument("--report", metavar="FILE",
                        help="run in the simulator, and write what it reports to FILE as JSON")
    _schedule(parser)


def _lab(parser):
    parser.add_argument("lab", metavar="NAME", nargs="?",
                        help="a lab: one_mma, 2.one_mma or lab_02_one_mma; or a chapter, whose labs are "
                             "listed; all are listed if you name none")
    _where(parser)
    _schedule(parser)


def _timeline(parser):
    parser.add_argument("chapter", metavar="NN",
                        help=f"{_CHAPTER}; or a file that BW_SIM_RECORDING has written")
    parser.add_argument("--against", metavar="OPTIONS",
                        help="options of a second run, which is drawn below the first")
    parser.add_argument("--cluster", metavar="A[-B]",
                        help="record these clusters (default: the first 64 CTAs')")
    parser.add_argument("--cycles", metavar="A-B", help="record these cycles only")
    parser.add_argument("--launch", metavar="N", type=int, help=_LAUNCH)
    parser.add_argument("--output", metavar="FOLDER", help="where to write (default: build/timeline)")
    parser.add_argument("--no-open", dest="open", action="store_false",
                        help="do not open the page in a browser")
    _json(parser, "print JSON (docs/verdicts.md); what the program prints goes to standard error")


def _profile(parser):
    parser.add_argument("chapter", metavar="NN", help=_CHAPTER)
    parser.add_argument("--sim", dest="machine", action="store_const", const="sim",
                        help="in the simulator even if there is a GPU")
    parser.add_argument("--against", metavar="OPTIONS|FILE",
                        help="options of a second run of the same shape, or a profile that --save has "
                             "written: both, and their ratio")
    parser.add_argument("--launch", metavar="N", type=int, help=_LAUNCH)
    parser.add_argument("--timing", metavar="simple|model", type=one_of("simple", "model"),
                        help="how simulated time passes (default: model)")
    parser.add_argument("--machine", metavar="NAME", dest="gpu", type=one_of(*MACHINES),
                        help=f"the GPU to simulate: {', '.join(MACHINES)} (default: one that runs the "
                             "program's code)")
    parser.add_argument("--save", metavar="FILE", help="write the profile, for --against")
    _json(parser, "print JSON; what the program prints goes to standard error")


def _test(parser):
    parser.add_argument("chapter", metavar="NN", nargs="?", help="only this chapter's tests")
    parser.add_argument("--all", action="store_true", help="run the slow tests too")
    parser.add_argument("--gpu", action="store_true",
                        help="run chapters, contract and conformance natively on a B200 or B300, "
                             "compare with the simulator, and write a report")
    parser.add_argument("--sanitize", action="store_true",
                        help="run the simulator's tests, built with sanitizers, and no others")


def _bench(parser):
    from . import commands  # knows the programs; only this command needs it for its help
    subjects = sorted([*commands.BENCHMARKS, commands.GRADING_BENCHMARK])
    parser.add_argument("subject", metavar="SUBJECT", type=one_of(*subjects),
                        help=f"what to measure: {', '.join(subjects)}")
    parser.add_argument("--grid", action="store_true",
                        help="with hopper: the whole grid of shapes, device time alone")
    parser.add_argument("--validate", action="store_true",
                        help="with timing: chapters 1 and 6, to which no constant was fitted")
    parser.add_argument("--published", action="store_true",
                        help="with timing: two ladders of matrix products, simulated as an H100 and as "
                             "a B200, compared with measured and published times")
    parser.add_argument("--record", metavar="FOLDER",
                        help="with timing, on a Hopper GPU: measure what --validate compares with, by "
                             "the same programs, and write it there")


def _suite(parser):
    parser.add_argument("suite", metavar="NAME", type=one_of("indigo", "sanitizer", "scor"),
                        help="which suite: indigo, sanitizer, scor")
    parser.add_argument("folder", metavar="FOLDER", help="the suite's folder")
    parser.add_argument("--seeds", metavar="N", type=_MOST_WORKERS, default=3,
                        help="schedules that each program is run with (default: 3)")
    parser.add_argument("--seconds", metavar="N", type=_MOST_WORKERS, default=60,
                        help="the longest time of one run (default: 60)")
    parser.add_argument("--jobs", metavar="N", type=_MOST_WORKERS, help="programs at a time")
    parser.add_argument("--only", metavar="PATTERN",
                        help="only programs whose names match this regular expression")


_RUN = (
    Command("run", "Build and run a chapter's program.", "commands:do_run",
            (("run 5", ""),
             ("run 5 -- --m 512 --n 512 --k 1024 --beta 0.5 --seed 1", "with options of the program"),
             ("run 5 --sim -- --help", "which options it has"),
             ("run 1.4", "exercise 1.4 with your lines, or with the fault that is to be found"),
             ("run 5 --report out.json", "what the simulator reports, for programs"),
             ("run 4 --sim --schedules 50", "under 50 seeds, up to the first that fails"),
             ("run 4 --sim --seed 17", "that schedule again, to the same event"),
             ("run 4 --sim --seed 17 --until 2000", "and stop there, with what every role waits for"),
             ("run 4 --sim --seed 17 --until-event 0.3.1250",
              "before that event of a report or a log"),
             ("run 4 --sim --explore -- --m 128 --n 128 --k 512",
              "every order of its synchronisation")), _run, rest="the program",
            more="The exit status is the program's. BW_SIM_CHECKS=races searches for races as well. "
                 "After `./workbook use mine` the simulator runs your own lines of the exercises that "
                 "you have passed."),
    Command("lab", "Build and run a lab: a small program with one idea.", "labs:do_lab",
            (("lab", "all labs, with what is new in each"),
             ("lab 2", "those of chapter 2"),
             ("lab one_mma", ""),
             ("lab 5.c_ring -- --stages 1", "with options of the lab"),
             ("lab c_ring -- --help", "which options it has"),
             ("lab 4.early_release --sim --seed 17", "another schedule of the simulator")), _lab,
            rest="the lab"),
    Command("timeline", "Show who ran and who waited for what, in the simulator.",
            "timeline.command:do_timeline",
            (("timeline 5", ""),
             ("timeline 5 -- --m 256 --n 256 --k 512", "with options of the program"),
             ('timeline 5 --against "--k 512 --config cta1_128x128_4x1" -- --k 512', "two runs"),
             ("timeline 3 --cycles 2000-4000", "these cycles only"),
             ("timeline 5 --json", "files, roles, rings and what limits the run, for programs"),
             ("timeline mine.rec", "a recording of `sim` (BW_SIM_RECORDING=mine.rec)")), _timeline,
            rest="the program",
            more="Writes a page that needs no network, a picture (SVG) and a trace for Perfetto into "
                 "build/timeline/. After `./workbook use mine` it is your own run."),
    Command("profile", "Say what limits a chapter's program.", "commands:do_profile",
            (("profile 5", ""),
             ("profile 5 -- --m 4096 --n 4096 --k 4096", "with options of the program"),
             ("profile 5 --sim -- --k 2048", "in the simulator in any case"),
             ('profile 6 --against "--config 128x128_1x1" -- --config 128x256_2x1', "two runs"),
             ("profile 5 --save before.json", "keep it,"),
             ("profile 5 --against before.json", "and compare with it later")), _profile,
            rest="the program",
            more="On a GPU that runs the chapter: its profile.sh, with Nsight Compute. Otherwise, or "
                 "with one of these options, the simulator: the same rows, then which role issues, "
                 "what each waits for, how full the rings are, and what limits the run. It runs with "
                 "the timing model, unless --timing or BW_SIM_TIMING says otherwise. "
                 "docs/concepts/profile.md explains the rows."),
    Command("sim", "Run a CUDA program of your own in the simulator.", "commands:do_sim",
            (("sim -- ./program arguments", ""),
             ("sim -- python3 launch.py", "a program that calls the driver through ctypes")),
            rest="the program",
            more="The program is built with `nvcc -cudart shared` for sm_100a or sm_90a and keeps its "
                 "PTX. It runs unmodified; the exit status is its own, or 70 after a fault of a kernel. "
                 "BW_SIM_SEED=3 chooses another schedule. docs/your_kernel.md has examples."),
    Command("test", "Build everything and run the tests.", "commands:do_test",
            (("test", "every test but the slow ones"),
             ("test 5", "the tests of chapter 5"),
             ("test --all", "the slow ones too"),
             ("test --sanitize", "the simulator's under AddressSanitizer and UBSan"),
             ("test --gpu", "everything natively on a B200 or B300, and one report of it"),
             ("test -- -R barrier", "tests with this word in their names")), _test, rest="ctest"),
    Command("bench", "Measure speed.", "commands:do_bench",
            (("bench simulator", "the simulated GEMM against OpenBLAS on the same cores"),
             ("bench checks", "what BW_SIM_CHECKS=contract and races cost"),
             ("bench plain", "warp instructions a second of plain CUDA in the simulator"),
             ("bench configs", "chapter 5's choice of a configuration, in simulated cycles"),
             ("bench timing", "simulated times next to those of an H100, with the deviation"),
             ("bench timing --validate -- chapter06 --rows", "the same for chapters, row by row"),
             ("bench timing --published", "whether the model sees what each idea of a GEMM brings"),
             ("bench timing --record measured",
              "on a Hopper GPU: measure what --validate compares with"),
             ("bench grade", "checks of a class a minute, on one worker, two and four"),
             ("bench hopper", "chapter 6's GEMM against cuBLASLt on a Hopper GPU"),
             ("bench hopper --grid", "the device time of 78 shapes, one token to a long prompt"),
             ("bench hopper -- --shapes 8192x8192x8192 --config all", "")), _bench,
            rest="the benchmark's program"),
    Command("suite", "Compare the race detector with a public suite of faulty kernels.",
            "commands:do_suite",
            (("suite scor ~/ScoR", ""),
             ("suite indigo ~/HiRace/indigo --seeds 3", ""),
             ("suite sanitizer ~/compute-sanitizer-samples", "")), _suite,
            more="Builds each program of the suite with nvcc, runs it in the simulator at the level "
                 "`races` and compares what is said with what the suite says. The exit status is 0 if "
                 "all verdicts agree."),
)


# --- the others -----------------------------------------------------------------------------------

def _explain(parser):
    parser.add_argument("code", metavar="CODE", nargs="*",
                        help="as in BW-B06, or words of its title; all codes if you name none")
    _json(parser)


def _docs(parser):
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--open", action="store_true", help="open it in a browser")
    shown.add_argument("--serve", metavar="PORT", nargs="?", type=number(0, 65535), const=8000,
                       help="serve it on this machine (port 8000 if you name none)")


def _grade(parser):
    parser.add_argument("place", metavar="FOLDER|LIST", nargs="?",
                        help="a folder of submissions, or a text file with the path of one a line")
    parser.add_argument("--exercises", metavar="1.1-2.4",
                        help="exercises, chapters and ranges of them, separated by commas; all if you "
                             "name none")
    parser.add_argument("--out", metavar="DIR",
                        help="the folder for the results; FOLDER-grades if you name none")
    parser.add_argument("--workers", metavar="N", type=_MOST_WORKERS,
                        help="checks at a time; one a core if you name none")
    parser.add_argument("--cluster", metavar="ADDRESS",
                        help="let the workers of this Dask scheduler do it")
    parser.add_argument("--limits-alone", action="store_true",
                        help="as root, where no confinement works: let the compiler of a "
                             "submission read "
                             "all that root can read")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--join", metavar="ADDRESS", help="be N workers of this Dask scheduler")
    instead.add_argument("--build", action="store_true", help="only build what the checks run")


def _setup(parser):
    parser.add_argument("--grading", action="store_true",
                        help="also Dask, with which `grade` uses clusters and survives lost workers")
    parser.add_argument("--browser", action="store_true",
                        help="also Emscripten, with which the simulator becomes a module for pages, and "
                             "that module")


GROUPS = (
    ("work through the exercises", _EXERCISES),
    ("run and measure", _RUN),
    ("look it up", (
        Command("explain", "Say what a code of a report means.", "explain:do_explain",
                (("explain", "every code, by subject"),
                 ("explain BW-B06", "what it means, why, an example, and the fix"),
                 ("explain deadlock", "the code with this word, or a list of those that have it"),
                 ("explain --json B06", "the same for programs")), _explain),
        Command("docs", "Make the documentation site.", "site.command:do_docs",
                (("docs", "make the site; prints its first page's path"),
                 ("docs --open", "and open it in a browser"),
                 ("docs --serve", "and serve it on this machine, until Ctrl-C"),
                 ("docs --serve 8080", "on another port (0: any that is free)")), _docs,
                more="Chapters, concepts, glossary, instruction tables, contract and reference, with "
                     "search, without a network. Needs Doxygen, its theme and Graphviz, which the "
                     "command installs as Debian's packages, and Sphinx, which it puts into "
                     ".workbook/."),
    )),
    ("teach", (
        Command("grade", "Grade a class: what others have handed in.", "grading.command:do_grade",
                (("grade handed_in", "every exercise of every folder in handed_in/"),
                 ("grade class.txt --exercises 1.1-2.4",
                  "the submissions that a list names, some exercises"),
                 ("grade handed_in --out results", "where verdicts, table and pages go"),
                 ("grade handed_in --cluster tcp://10.0.0.1:8786", "on the workers of a cluster"),
                 ("grade --join tcp://10.0.0.1:8786",
                  "this checkout's cores work for that scheduler")), _grade, reads_exercises=True,
                more="A submission is a folder that holds a reader's chapters/. What was graded is "
                     "graded again only after it, or this checkout, has changed; so Ctrl-C loses "
                     "nothing. docs/teaching.md says more."),
    )),
    ("this machine", (
        Command("doctor", "Say what this machine has and which chapters run where.",
                "commands:do_doctor", (("doctor", "exit status 1 if something is missing"),)),
        Command("setup", "Install what is missing on this machine.", "commands:do_setup",
                (("setup", "install what is missing, build nothing"),
                 ("setup --grading", "also what `grade` likes to have"),
                 ("setup --browser", "also the simulator for web pages: Emscripten, and its module")),
                _setup,
                more="A compiler, CMake, Ninja and libraries come from the distribution's packages. "
                     "Instead of a missing or too old CUDA Toolkit, or of a missing disassembler, "
                     "pinned wheels go into .workbook/. BW_TOOLKIT_IGNORE_SYSTEM=1 ./workbook setup "
                     "installs a CUDA Toolkit of this checkout's own in any case, and "
                     "BW_TOOLKIT_ANY_RELEASE=1 lets every command use one that is too old."),
    )),
)
COMMANDS = {command.name: command for _, commands in GROUPS for command in commands}
