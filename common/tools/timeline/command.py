"""`./workbook timeline`: runs a program in the simulator, records it, and shows the recording."""

import contextlib
import json
import os
import re
import shlex
import shutil
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path

from .. import build, chapters, runs, workspace
from ..console import wrapped
from ..errors import WorkbookError
from ..process import run_in_foreground
from . import around, builder, comparison, page, perfetto, profile, recording, summary, svg

_STOPPED = "The program ended with status {}; the timeline shows what happened before."


def do_timeline(root, console, arguments):
    """Writes build/timeline/NN.html, .svg and .perfetto.json of the chapter's program, or of a
    recording."""
    if Path(arguments.chapter).is_file():
        return _draw_file(root, console, arguments)
    if re.search(r"[./]", arguments.chapter):
        raise WorkbookError(f"There is no file {arguments.chapter}. Name a recording that "
                            "BW_SIM_RECORDING has written, or a chapter: "
                            f"{chapters.listing(root)}.", exit_code=2)
    chapter, window = chapters.find_program(root, arguments.chapter), _window(arguments)
    with program(root, console, chapter, "timeline") as (tools, settings):
        settings = dict(settings, **window)
        made, status = [], 0
        folder = _folder(root, arguments)
        configurations = [arguments.rest]
        if arguments.against is not None:
            configurations.append(words(arguments.against))
        for options in configurations:
            launches, ended, reports = _record(root, chapter.name, options, tools, settings, folder,
                                               arguments.json)
            status = status or ended
            launch = chosen(launches, arguments.launch)
            made.append(_Made(comparison.label(options), options, launch,
                              builder.build(launch, root), reports))
    _write(root, console, made, f"Chapter {chapter.number}: {chapter.title}", folder / chapter.name,
           arguments, status)
    return status


def _draw_file(root, console, arguments):
    """The timeline of a file that BW_SIM_RECORDING has written."""
    if arguments.rest or arguments.against is not None or arguments.cluster or arguments.cycles:
        raise WorkbookError(f"{arguments.chapter} is a recording: it can't be given options, another "
                            "configuration or a window any more.", exit_code=2)
    path = Path(arguments.chapter)
    launch = chosen(recording.read(path), arguments.launch)
    _write(root, console, [_Made("", [], launch, builder.build(launch, root))], launch.kernel,
           _folder(root, arguments) / path.stem, arguments, 0)
    return 0


def _folder(root, arguments):
    folder = Path(arguments.output) if arguments.output else root / "build" / "timeline"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True)
class _Made:
    """A run, what is drawn of it, and what the simulator reported."""

    label: str
    options: list
    launch: recording.Launch
    models: list
    reports: tuple = ()


def _write(root, console, made, title, base, arguments, status):
    """Writes what shows the runs `made` to `base` and its endings, and says what it is."""
    for one in made:
        if not one.models:
            raise WorkbookError(f"{' '.join(one.launch.notes())} There is nothing to draw.")
    html, picture, trace = (base.with_name(base.name + ending)
                            for ending in (".html", ".svg", ".perfetto.json"))
    drawn = [(one.label, one.launch, one.models) for one in made]
    around_it = _around(root, made, base.parent)
    page.write(html, title, drawn, root, around=around_it)
    picture.write_text(
        svg.draw_runs([svg.Panel(f"{one.label}: {one.launch.cycles:,} cycles" if len(made) > 1 else "",
                                 one.models[0], one.models[0].ctas[0]) for one in made],
                      title, headline=around_it.headline), encoding="utf-8")
    perfetto.write(trace, drawn)
    if arguments.json:
        print(json.dumps({"schema": summary.SCHEMA, "title": title, "exit_status": status,
                          "files": {"timeline": str(html), "picture": str(picture),
                                    "trace": str(trace)},
                          "headline": around_it.headline, "warnings": list(around_it.warnings),
                          "runs": [summary.of(one.options, one.launch, one.models) for one in made]},
                         indent=1))
        return
    for sentence in filter(None, (around_it.headline, *around_it.warnings)):
        console.say("\n".join(wrapped(sentence)))
    for one in made:
        which = f"{one.label}: " if len(made) > 1 else ""
        for sentence in (profile.limit(profile.measure(one.models[0])), *one.launch.notes()):
            console.say("\n".join(wrapped(which + sentence)))
    if status:
        console.say("\n".join(wrapped(_STOPPED.format(status))))
    print(f"timeline  {html}")
    print(f"picture   {picture}")
    print(f"trace     {trace}  (for https://ui.perfetto.dev)")
    if arguments.open and sys.stdout.isatty():
        _open(html, console)


def _around(root, made, folder):
    """What the page says around the picture of the runs `made`."""
    compared = [(one.options, one.launch) for one in made]
    reports = {report.code: report for one in made for report in one.reports}
    return around.Around(
        comparison.headline(*compared) if len(made) > 1 else "",
        tuple(comparison.warnings(made[0].options, made[1].options)) if len(made) > 1 else (),
        tuple(reports.values()), around.guide(root, folder))


@contextlib.contextmanager
def program(root, console, chapter, what):
    """(tools, settings) while the chapter's program is ready, with the reader's lines if wanted."""
    from ..reader import progress
    own = progress.load(root).use == progress.MINE
    if own:
        workspace.require_toml(root, console)
        from ..reader import own_code
    tools = workspace.prepare(root, console, build.SIM, [chapter.name],
                              f"Building chapter {chapter.number}")
    head = console.paint(f"Chapter {chapter.number}: {chapter.title}", "bold")
    if not own:
        console.say(f"{head}, {what} in the simulator")
        yield tools, {}
        return
    with own_code.composed(root, console, chapter.name, tools) as (settings, phrase):
        console.say(f"{head}, {what} in the simulator, {phrase}")
        yield tools, settings


def _window(arguments):
    """The simulator's settings for what to record."""
    window = {}
    for option, value, setting in (("--cluster", arguments.cluster, "BW_SIM_RECORDING_CLUSTERS"),
                                   ("--cycles", arguments.cycles, "BW_SIM_RECORDING_CYCLES")):
        if value is None:
            continue
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", value)
        if not match or int(match.group(1)) > int(match.group(2) or match.group(1)):
            raise WorkbookError(f"{option} {value}: this is not a range. Write the first and the last "
                                "number, 3-5, or one number.", exit_code=2)
        window[setting] = value
    return window


def words(text):
    """The words of an option's value, as a shell would split them."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise WorkbookError(f"--against \"{text}\" can't be split into words: {error}. Close the "
                            "quotation marks.", exit_code=2) from error


def _record(root, name, options, tools, settings, folder, quiet):
    """([Launch], exit status, [Report]) of a run; its files are removed. `quiet`: what the program
    prints goes to standard error."""
    path = folder / f"recording-{os.getpid()}.bin"
    said = folder / f"recording-{os.getpid()}.json"
    env = runs.clean_environment(tools, BW_SIM_RECORDING=str(path), BW_SIM_REPORT=str(said), **settings)
    if "BW_SIM_SEED" in os.environ:
        env["BW_SIM_SEED"] = os.environ["BW_SIM_SEED"]
    try:
        status = run_in_foreground([str(build.program(root, build.SIM, name)), *options], env=env,
                                   cwd=root, stdout=sys.stderr if quiet else None)
        sys.stdout.flush()
        if not path.is_file():
            raise WorkbookError(f"The program launched no kernel (exit status {status}), so there is "
                                "nothing to show.", exit_code=status or 1)
        return recording.read(path), status, around.reports(said, root, folder)
    finally:
        for file in (path, said):
            if file.is_file():
                file.unlink()


def chosen(launches, number):
    """A launch by its number from 1; where none is given, the last one that took any time (the
    empty one that follows a lab's kernel doesn't)."""
    if number is None:
        return next((launch for launch in reversed(launches) if launch.cycles), launches[-1])
    if not 1 <= number <= len(launches):
        raise WorkbookError(f"--launch {number}: the program launched {len(launches)} kernel"
                            f"{'s' if len(launches) > 1 else ''}; name one from 1 to "
                            f"{len(launches)}.", exit_code=2)
    return launches[number - 1]


def _open(path, console):
    """Opens a file in a browser, if this machine has a screen."""
    has_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not has_screen and not shutil.which("wslview"):
        return
    try:
        if not webbrowser.open(path.resolve().as_uri()):
            console.say("No browser could be opened; open the file yourself.")
    except webbrowser.Error as error:
        console.say(f"No browser could be opened ({error}); open the file yourself.")
