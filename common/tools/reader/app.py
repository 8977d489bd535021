"""The arguments of the reader's commands, read by Typer. Runs in the private environment."""

from typing import List, Optional

import click
import typer

from .. import cli

_app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
                   context_settings={"help_option_names": ["-h", "--help"]},
                   help="The Blackwell workbook: the reader's commands.")
_state = {}  # root and console, for the commands below: Typer calls them with arguments only

_EXERCISES = typer.Argument(None, metavar="[NN|NN.E|NN.E-NN.E]...",
                            help="Exercises, chapters and ranges; the next exercise if you name none.")
_EXERCISE = typer.Argument(None, metavar="[NN.E]", help="An exercise; the next one if you name none.")


def _command(name, epilog):
    return _app.command(name, help=cli.READER_COMMANDS[name], epilog=epilog)


def main(root, console, arguments):
    """Runs one of cli.READER_COMMANDS; returns its exit status."""
    _state.update(root=root, console=console)
    try:
        return _app(args=arguments, prog_name="./workbook", standalone_mode=False) or 0
    except click.exceptions.Abort as error:
        raise KeyboardInterrupt from error
    except click.ClickException as error:
        error.show()
        return error.exit_code


def _do(action, *arguments):
    from . import actions  # after the arguments were found to be right: it brings Rich with it
    return getattr(actions, action)(_state["root"], _state["console"], *arguments)


@_command("next", "Opens the file in $VISUAL, $EDITOR or VS Code, if this is a terminal.")
def _next(wanted: Optional[str] = typer.Argument(None, metavar="[NN|NN.E]", help="An exercise, or a "
                                               "chapter; the next one if you name none."),
          open_file: bool = typer.Option(True, "--open/--no-open", help="Whether to open the "
                                         "exercise's file.")):
    return _do("show_next", wanted, open_file)


@_command("check", "Exit status: 0 if everything that was checked is right, else 1.")
def _check(words: Optional[List[str]] = _EXERCISES,
           as_json: bool = typer.Option(False, "--json", help="Print the verdicts as JSON."),
           again: bool = typer.Option(False, "--again", help="In a chapter, check those too that "
                                      "have passed and were not changed since.")):
    return _do("check", words, as_json, again)


@_command("watch", "Keys: n next, h hint, l list, r run, d diff, t timeline, q quit.")
def _watch(wanted: Optional[str] = _EXERCISE):
    return _do("watch", wanted)


@_command("diff", "Before you have passed an exercise, --spoil is needed.")
def _diff(wanted: Optional[str] = _EXERCISE,
          spoil: bool = typer.Option(False, "--spoil", help="Show the solution in any case.")):
    return _do("diff", wanted, spoil)


@_command("reset", "Only this exercise is put back; the rest of the file stays as it is.")
def _reset(wanted: str = typer.Argument(..., metavar="NN.E", help="An exercise.")):
    return _do("reset", wanted)


@_command("skip", "`next` comes back to it when the others are done.")
def _skip(words: Optional[List[str]] = _EXERCISES,
          undo: bool = typer.Option(False, "--undo", help="Don't leave it out any more.")):
    return _do("skip", words, undo)


@_command("use", "With `mine`, the simulator runs your lines of every exercise that you have passed.")
def _use(whose: str = typer.Argument(..., metavar="mine|solutions", help="Whose code `run` runs.")):
    if whose not in ("mine", "solutions"):
        raise click.UsageError(f"'{whose}' can't be used; say `use mine` or `use solutions`.")
    return _do("use", whose)
