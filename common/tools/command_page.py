"""The commands as a page: docs/commands.md is made from what the commands' parser knows.

Nothing here depends on how this version of Python lays its help out.
"""

import argparse
import re

from . import cli

# What commands take after `--`.
_AFTER_DASHES = {"sim": ["-- PROGRAM [ARGUMENTS]"], **dict.fromkeys(
    ("run", "timeline", "profile", "test", "bench"), ["[-- OPTIONS]"])}


def subcommands():
    """{name: its parser}."""
    action = next(one for one in cli._parser()._actions
                  if isinstance(one, argparse._SubParsersAction))
    return dict(action.choices)


def page():
    """The lines of the page below its introduction."""
    parsers, lines = subcommands(), []
    for title, names in cli._GROUPS:
        lines += ["", f"## {title[0].upper()}{title[1:]}", "", "| command | what it does |", "|---|---|"]
        lines += [f"| [`{name}`](#{name}) | {_cell(_summary(name, parsers[name]))} |" for name in names]
        for name in names:
            lines += _section(name, parsers[name])
    return lines


def _summary(name, parser):
    return cli.READER_COMMANDS.get(name) or parser.description


def _section(name, parser):
    lines = ["", f"### {name}", "", f"`./workbook {_usage(name, parser)}`", "",
             _summary(name, parser), ""]
    described = [(_spelling(action), action.help) for action in _arguments(parser) if action.help]
    if described:
        lines += ["| argument | meaning |", "|---|---|"]
        lines += [f"| `{_cell(spelling)}` | {_cell(text)} |" for spelling, text in described]
        lines.append("")
    examples, _, more = (parser.epilog or "").partition("\n\n")
    if examples:
        block = [line[2:] if line.startswith("  ") else line for line in examples.split("\n")[1:]]
        lines += ["```", *block, "```"]
        lines.append("")
    return [*lines, *more.strip().split("\n")] if more else lines[:-1]


def _arguments(parser):
    return [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]


def _usage(name, parser):
    if name in cli.READER_USAGE and not _arguments(parser):
        return f"{name} {cli.READER_USAGE[name]}"
    words = [name]
    for action in _arguments(parser):
        word = _spelling(action)
        words.append(word if action.required and action.nargs not in ("?", "*") else f"[{word}]")
    return " ".join(words + _AFTER_DASHES.get(name, []))


def _spelling(action):
    """How an argument is written: `NN`, `--seed S`."""
    metavar = action.metavar or (
        "|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    if not action.option_strings:
        return metavar
    if action.nargs == 0:
        return action.option_strings[-1]
    return f"{action.option_strings[-1]} " + (f"[{metavar}]" if action.nargs == "?" else metavar)


def _cell(text):
    """A sentence in a table's cell, which ends without a full stop."""
    return " ".join(text.replace("%%", "%").replace("|", "\\|").split()).rstrip(".")


def options(name):
    """The options of a command, as in "--json"."""
    parser = subcommands()[name]
    found = {option for action in _arguments(parser) for option in action.option_strings}
    return found.union(re.findall(r"--[a-z-]+", cli.READER_USAGE.get(name, "")), ("-h", "--help"))
