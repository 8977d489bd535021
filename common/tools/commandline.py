"""How a command line is read: one parser a command, its help, and errors that say what to type."""

import argparse
import difflib
import re
import shlex
from dataclasses import dataclass

from .console import columns, wrapped
from .errors import WorkbookError

PROGRAM = "./workbook"
# An example and its effect are side by side if the latter has at least this many columns.
_LEAST_EXPLANATION = 28
# How alike an option has to be to a mistyped one, from 0 to 1; options of programs resemble ours at
# random.
_ALIKE = 0.75


class UsageError(WorkbookError):
    """A command line that can't be understood; `details` is how the command is used."""

    def __init__(self, message, usage):
        super().__init__(message, details=usage, exit_code=2)


@dataclass(frozen=True)
class Command:
    """A command of ./workbook."""

    name: str
    summary: str
    action: str  # "module:function" in tools; it takes (root, console, arguments)
    examples: tuple  # (arguments of ./workbook, what they do)
    add_arguments: object = None  # adds them to a parser
    more: str = ""  # a paragraph below the examples
    rest: str = ""  # what takes the arguments after `--`; "" where nothing does
    reads_exercises: bool = False  # in TOML, which older Pythons take a package for


class _Parser(argparse.ArgumentParser):
    """Reads the arguments of one command; an error is raised instead of printed."""

    def __init__(self, command):
        super().__init__(prog=f"{PROGRAM} {command.name}", allow_abbrev=False,
                         formatter_class=lambda prog: argparse.HelpFormatter(
                             prog, max_help_position=min(24, columns() // 3), width=columns()))
        self.command = command
        if command.add_arguments:
            command.add_arguments(self)

    def usage_lines(self):
        """How the command is used."""
        words = self.format_usage().split()[1:]
        if self.command.rest:
            words.append("[--\xa0...]")  # stays in one line
        return "\n".join(wrapped(" ".join(words), "usage: ", "       ")).replace("\xa0", " ")

    def help_text(self):
        """Everything about the command, in columns() columns."""
        command = self.command
        options = self.format_help().partition("\n\n")[2].rstrip()
        parts = [self.usage_lines(), "\n".join(wrapped(command.summary)), options,
                 "examples:\n" + "\n".join(example_lines(command.examples))]
        if command.more:
            parts.append("\n".join(wrapped(command.more)))
        if command.rest:
            parts.append("\n".join(wrapped(f"What follows `--` goes to {command.rest}.")))
        return "\n\n".join(parts)

    def error(self, message):
        """Raises what argparse has found."""
        value_of = re.match(r"argument (?:[^:]*/)?(--[\w-]+)[^:]*: expected", message)
        if value_of:
            message = self._value_is_missing(value_of.group(1))
        elif "are required" in message:
            message = (f"`{self.command.name}` needs {message.rpartition(': ')[2]}: {PROGRAM} "
                       f"{self.command.examples[0][0]}")
        else:
            message = re.sub(r"^argument ([^:]+): ", r"\1: ", message)
        self.refuse(message)

    def refuse(self, message):
        """Raises an error with the command's usage."""
        raise UsageError(message if message.endswith((".", "?")) else message + ".",
                         self.usage_lines())

    def divide(self, words, first):
        """(the command's own arguments, what is meant for its program), if the latter begins with the
        word `first`: from there on, only options of the command's are its own."""
        at = words.index(first)
        own, meant, following = words[:at], [], iter(words[at:])
        for word in following:
            action = self._option_string_actions.get(word.partition("=")[0])
            if action is None:
                meant.append(word)
            else:
                takes_next = action.nargs is None and "=" not in word
                own += [word, *([next(following, "")] if takes_next else [])]
        required = next((action for action in self._actions
                         if action.required and not action.option_strings), None)
        if required and all(word.startswith("-") for word in own):
            own.insert(0, required.metavar)
        return own, meant

    def options(self):
        """The names of all options."""
        return sorted(self._option_string_actions)

    def _value_is_missing(self, option):
        action = self._option_string_actions[option]
        line = next((line for line, _ in self.command.examples if option in line.split()), None)
        example = f" For example: {PROGRAM} {line}" if line else ""
        return f"{option} needs a value, {action.metavar}: {action.help}.{example}"


def example_lines(examples, indent="  "):
    """Examples with their effects next to them; below them where the terminal is narrow."""
    lines = []
    reach = max((len(line) for line, why in examples if why), default=0)
    at = len(indent) + len(PROGRAM) + 1 + reach + 2
    for line, why in examples:
        shown = f"{indent}{PROGRAM} {line}"
        if not why:
            lines.append(shown)
        elif columns() - at >= _LEAST_EXPLANATION:
            lines += wrapped(why, shown.ljust(at), " " * at)
        else:
            lines += [shown, *wrapped(why, indent + "    ", indent + "    ")]
    return lines


def split(words):
    """(our arguments, those after the first `--`)."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1:]


def parse(command, words, rest):
    """The arguments of a command, or None where its help is wanted."""
    parser = _Parser(command)
    if not {"-h", "--help"}.isdisjoint(words):
        return None
    arguments, extra = parser.parse_known_intermixed_args(words)
    if extra:
        _refuse(parser, words, rest, extra)
    if rest and not command.rest:
        parser.refuse(f"`{command.name}` takes nothing after `--`")
    arguments.command, arguments.rest = command.name, rest
    return arguments


def help_of(command):
    """The help of a command."""
    return _Parser(command).help_text()


def nearest(word, known, alike=0.6):
    """ Did you mean ...?, or nothing."""
    near = difflib.get_close_matches(word, known, 1, alike)
    return f" Did you mean `{near[0]}`?" if near else ""


def _refuse(parser, words, rest, extra):
    """Says of arguments that the command doesn't know what they may have been meant for."""
    command = parser.command
    option = next((word for word in extra if word.startswith("-")), None)
    if option is None:
        message = f"`{command.name}` doesn't take {_quoted(extra)}."
    else:
        name = option.partition("=")[0]
        message = f"`{command.name}` has no option {name}.{nearest(name, parser.options(), _ALIKE)}"
    if command.rest:
        own, meant = parser.divide(words, min(extra, key=words.index))
        line = _quoted([PROGRAM, command.name, *own, "--", *meant, *rest])
        message += f" What is meant for {command.rest} follows `--`: {line}"
        raise UsageError(message, parser.usage_lines())
    parser.refuse(message)


def _quoted(words):
    return " ".join(map(shlex.quote, words))


# --- types of arguments ---------------------------------------------------------------------------

def number(least, most):
    """A whole number within limits."""
    def read(text):
        if not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number from {least} to {most}")
        return int(text)
    return read


def one_of(*choices):
    """One of some words."""
    def read(text):
        if text not in choices:
            raise argparse.ArgumentTypeError(f"'{text}' is not one of {', '.join(choices)}."
                                             + nearest(text, choices))
        return text
    return read


def event(text):
    """LAUNCH.CLUSTER.NUMBER."""
    if not re.fullmatch(r"\d{1,19}\.\d{1,19}\.[1-9]\d{0,18}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not an event; one reads LAUNCH.CLUSTER.NUMBER, "
                                         "as in 0.3.1250")
    return text
