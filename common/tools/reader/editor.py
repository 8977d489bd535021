"""Opens a file at a line in the reader's editor."""

import os
import shlex
import shutil
from pathlib import Path

from ..process import run_in_foreground

# Editors that take the line in another way than `+LINE FILE`.
_COLON = {"hx", "helix", "subl", "zed"}  # FILE:LINE
_GOTO = {"code", "code-insiders", "codium", "cursor", "windsurf"}  # --goto FILE:LINE
_WINDOWS = _COLON - {"hx", "helix"} | _GOTO | {"gedit", "kate", "gvim", "gnome-text-editor"}


def find(env=None):
    """(words of the editor's command, note): no words without an editor, and the reason in `note`."""
    env = os.environ if env is None else env
    for name in ("VISUAL", "EDITOR"):
        if env.get(name, "").strip():
            try:
                words = shlex.split(env[name])
            except ValueError:
                return [], f"${name} can't be read: {env[name]}"
            if shutil.which(words[0], path=env.get("PATH")):
                return words, ""
            return [], f"${name} is '{env[name]}', but there is no program '{words[0]}'"
    in_window = env.get("TERM_PROGRAM") == "vscode" or env.get("DISPLAY") or env.get(
        "WAYLAND_DISPLAY")
    for name in ("code", "codium"):
        if in_window and shutil.which(name, path=env.get("PATH")):
            return [name], ""
    return [], "$EDITOR is not set"


def has_a_window(words):
    """Whether an editor opens a window of its own and leaves the terminal alone."""
    return Path(words[0]).name in _WINDOWS


def command(words, path, line):
    """The command that opens `path` at `line`."""
    name = Path(words[0]).name
    if name in _GOTO:
        return [*words, "--goto", f"{path}:{line}"]
    if name in _COLON:
        return [*words, f"{path}:{line}"]
    return [*words, f"+{line}", str(path)]


def open_at(words, path, line):
    """Runs the editor to its end (of one with a window: until it has opened it)."""
    return run_in_foreground(command(words, path, line))
