"""The commands as a page: docs/commands.md is made from the table of the commands.

Nothing here depends on how this version of Python lays its help out.
"""

import argparse

from .command_table import COMMANDS, GROUPS
from .commandline import PROGRAM


def page():
    """The lines of the page below its introduction."""
    lines = []
    for title, commands in GROUPS:
        lines += ["", f"## {title[0].upper()}{title[1:]}", "", "| command | what it does |", "|---|---|"]
        lines += [f"| [`{one.name}`](#{one.name}) | {_cell(one.summary)} |" for one in commands]
        for one in commands:
            lines += _section(one)
    return lines


def options(name):
    """The options of a command, as in "--json"."""
    return {option for action in _actions(COMMANDS[name]) for option in action.option_strings}.union(
        ("-h", "--help"))


def _section(command):
    actions = _actions(command)
    lines = ["", f"### {command.name}", "", f"`{PROGRAM} {_usage(command, actions)}`", "",
             command.summary, ""]
    if actions:
        lines += ["| argument | meaning |", "|---|---|"]
        lines += [f"| `{_cell(_spelling(action))}` | {_cell(action.help)} |" for action in actions]
        lines.append("")
    reach = max((len(line) for line, why in command.examples if why), default=0)
    lines += ["```", *(f"{PROGRAM} {line.ljust(reach + 2) + why if why else line}"
                       for line, why in command.examples), "```"]
    more = [command.more] if command.more else []
    if command.rest:
        more.append(f"What follows `--` goes to {command.rest}.")
    return [*lines, "", " ".join(more)] if more else lines


def _actions(command):
    parser = argparse.ArgumentParser(add_help=False)
    if command.add_arguments:
        command.add_arguments(parser)
    return parser._actions


def _usage(command, actions):
    words = [command.name]
    for action in actions:
        word = _spelling(action) + ("..." if action.nargs == "*" else "")
        optional = action.option_strings or action.nargs in ("?", "*")
        words.append(f"[{word}]" if optional else word)
    return " ".join(words + (["[-- ...]"] if command.rest else []))


def _spelling(action):
    """How an argument is written: `NN`, `--seed S`."""
    metavar = action.metavar or action.dest.upper()
    if not action.option_strings:
        return metavar
    if action.nargs == 0:
        return action.option_strings[-1]
    return f"{action.option_strings[-1]} " + (f"[{metavar}]" if action.nargs == "?" else metavar)


def _cell(text):
    """A sentence in a table's cell, which ends without a full stop."""
    return " ".join(text.replace("%%", "%").replace("|", "\\|").split()).rstrip(".")
