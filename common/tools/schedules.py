"""`./workbook run NN --schedules N`: a program's run under many seeds, and how to run one again."""

import re
import shlex

from .errors import WorkbookError
from .process import run_in_foreground, run_logged

MOST_SCHEDULES = 1_000_000
MOST_STATES = 1_000_000_000
STATES = 1_000_000  # that --explore looks at, unless it is given another number
LARGEST_SEED = 2**64 - 1
_EVENT = re.compile(r"BW_SIM_UNTIL_EVENT=(\d+\.\d+\.\d+)")


def settings(arguments):
    """The simulator's settings of the options of `run`: {} where none was given."""
    chosen = {}
    if arguments.seed is not None:
        chosen["BW_SIM_SEED"] = str(arguments.seed)
    if arguments.until is not None:
        chosen["BW_SIM_CYCLE_LIMIT"] = str(arguments.until)
    if arguments.until_event is not None:
        chosen["BW_SIM_UNTIL_EVENT"] = arguments.until_event
    if arguments.explore is not None or arguments.explore_lanes:
        chosen["BW_SIM_EXPLORE"] = str(arguments.explore or STATES)
    if arguments.explore_lanes:
        chosen["BW_SIM_EXPLORE_LANES"] = "1"
    return chosen


def require_simulator(arguments, on_gpu):
    """Refuses options that only a simulated run can follow."""
    given = [name for name, value in (("--schedules", arguments.schedules), ("--seed", arguments.seed),
                                      ("--until", arguments.until),
                                      ("--until-event", arguments.until_event),
                                      ("--explore", arguments.explore),
                                      ("--explore-lanes", arguments.explore_lanes or None))
             if value is not None]
    if given and on_gpu:
        raise WorkbookError(f"{given[0]} chooses among the simulator's schedules; a GPU has its own. "
                            "Add --sim.", exit_code=2)


def again(arguments, seed, event=None):
    """The command that runs one schedule again: to its end, or to an event."""
    what = arguments.lab if arguments.command == "lab" else arguments.chapter
    words = ["./workbook", arguments.command, what, "--sim", "--seed", str(seed)]
    if event is not None:
        words += ["--until-event", event]
    if arguments.explore is not None:
        words += ["--explore", str(arguments.explore)]
    if arguments.explore_lanes:
        words.append("--explore-lanes")
    if arguments.rest:
        words += ["--", *arguments.rest]
    return " ".join(map(shlex.quote, words))


def of_exercise(arguments):
    """The settings for an exercise's run, which checks itself under the seeds of its own."""
    if arguments.schedules is not None:
        raise WorkbookError("--schedules is for the programs of chapters; `./workbook check "
                            f"{arguments.chapter}` runs an exercise under the seeds it has. "
                            "--seed runs it under one.", exit_code=2)
    return settings(arguments)


def run(console, command, arguments, env, cwd=None):
    """Runs a command once, or under `arguments.schedules` seeds from the first on. The status is that
    of the first run that fails, whose output and command are shown, else 0."""
    env = dict(env, **settings(arguments))
    if arguments.schedules is None:
        return run_in_foreground(command, env=env, cwd=cwd)
    first, count = arguments.seed or 0, arguments.schedules
    status, output, seed = 0, "", first
    with console.step(f"Running {count} schedules") as step:
        for number in range(1, count + 1):
            seed = (first + number - 1) % (LARGEST_SEED + 1)
            step.detail(f"[{number}/{count}] seed {seed}")
            status, output = run_logged(command, _Quiet(), env=dict(env, BW_SIM_SEED=str(seed)),
                                        cwd=cwd)
            if status != 0:
                break
    if status == 0:
        console.say(f"{count} {'schedule' if count == 1 else 'schedules'}, seeds {first} to {seed}: "
                    "none fails.")
        return 0
    print(output, end="" if output.endswith("\n") else "\n", flush=True)
    console.say(f"Seed {seed} fails (exit status {status}), number {number} of {count}. Again: "
                + again(arguments, seed))
    event = _EVENT.search(output)
    if event:
        console.say("What every role did right before that: " + again(arguments, seed, event.group(1)))
    return status if status > 0 else 128 - status


class _Quiet:
    """A step whose program's lines are not shown."""

    def detail(self, _text):
        pass
