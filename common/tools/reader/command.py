"""The reader's commands: from their arguments to actions.py."""

from . import actions


def do_next(root, console, arguments):
    """`next`."""
    return actions.show_next(root, console, arguments.wanted, arguments.open)


def do_check(root, console, arguments):
    """`check`."""
    return actions.check(root, console, arguments.wanted, arguments.json, arguments.again)


def do_diff(root, console, arguments):
    """`diff`."""
    return actions.diff(root, console, arguments.wanted, arguments.spoil)


def do_reset(root, console, arguments):
    """`reset`."""
    return actions.reset(root, console, arguments.wanted)


def do_skip(root, console, arguments):
    """`skip`."""
    return actions.skip(root, console, arguments.wanted, arguments.undo)


def do_use(root, console, arguments):
    """`use`."""
    return actions.use(root, console, arguments.whose)
