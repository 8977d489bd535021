"""The commands as a page: docs/commands.md is made from the table of commands.

Nothing here depends on how this version of Python lays its help out.
"""

from . import commandline
from .command_table import COMMANDS, GROUPS


def page():
    """The lines of the page below its introduction."""
    lines = []
    for title, commands in GROUPS:
        lines += ["", f"## {title[0].upper()}{title[1:]}", "", "| command | what it does |", "|---|---|"]
        lines += [f"| [`{one.name}`](#{one.name}) | {_cell(one.summary)} |" for one in commands]
        for one in commands:
            lines += _section(one)
    return lines


def _section(command):
    arguments = commandline.arguments(command)
    words = [command.name, *(spelling if required else f"[{spelling}]"
                             for spelling, _, required in arguments)]
    if command.rest:
        words.append("[-- ...]")
    lines = ["", f"### {command.name}", "", f"`{commandline.PROGRAM} {' '.join(words)}`", "",
             command.summary, ""]
    if arguments:
        lines += ["| argument | meaning |", "|---|---|"]
        lines += [f"| `{_cell(spelling)}` | {_cell(text)} |" for spelling, text, _ in arguments]
        lines.append("")
    width = max(len(line) for line, _ in command.examples)
    lines += ["```", *(f"{commandline.PROGRAM} {line.ljust(width if why else 0)}"
                       + (f"   {why}" if why else "") for line, why in command.examples), "```"]
    if command.more:
        lines += ["", command.more]
    if command.rest:
        lines += ["", f"What follows `--` goes to {command.rest}."]
    return lines


def _cell(text):
    """A sentence in a table's cell, which ends without a full stop."""
    return " ".join(text.replace("%%", "%").replace("|", "\\|").split()).rstrip(".")


def options(name):
    """The options of a command, as in "--json"."""
    return {word for spelling, _, _ in commandline.arguments(COMMANDS[name])
            for word in spelling.split() if word.startswith("--")} | {"-h", "--help"}
