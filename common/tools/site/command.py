"""`./workbook docs`: brings Doxygen and Sphinx, builds what the site runs, makes, opens, serves it."""

import functools
import http.server
import os
import shutil
import webbrowser

from .. import browser, build, packages, private_env, setup
from ..errors import WorkbookError
from ..workspace import prepare
from . import doxygen, launches, make

_OPENERS = ("xdg-open", "sensible-browser", "x-www-browser")
ADDRESS = "127.0.0.1"


def do_docs(root, console, arguments):
    """Makes the site in build/docs and says where it is."""
    _install(root, console)
    runs_labs = browser.is_built(root)
    targets = make.targets() + (launches.programs(root) if runs_labs else [])
    tools = prepare(root, console, build.SIM, targets, "Building what the site shows")
    if runs_labs:
        with console.step("Recording the labs for the pages that run them"):
            launches.write(root, tools, build.SIM.folder(root) / "browser")
    with console.step("Making the site"):
        first = make.make(root, tools, root / "build" / "docs")
    if arguments.serve is not None:
        return _serve(first.parent, arguments.serve, console)
    print(first)
    if arguments.open:
        _open(first, console)
    return 0


def ensure(root, console):
    """Installs what the site is made with; where it can't be had, its test is skipped."""
    try:
        _install(root, console)
    except WorkbookError as error:
        console.say(str(error))


def _install(root, console):
    try:
        absent = doxygen.missing()
        if not private_env.site_python(root) and not private_env.venv_module_works():
            absent = [*absent, setup.VENV_PACKAGE]
        if absent:
            packages.install(absent, console)
        if private_env.site_python(root) is None:
            private_env.install_site(root, console)
    except WorkbookError as error:
        raise WorkbookError("The site is made by Doxygen and Sphinx, and something is missing for that. "
                            "Nothing else in the workbook needs it: every text is readable as it is. "
                            f"{error}") from error


def _open(first, console):
    """Opens the page in a browser; without one, its path is on standard output already."""
    has_display = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    found = has_display and (os.environ.get("BROWSER") or any(map(shutil.which, _OPENERS)))
    if not found or not webbrowser.open(first.as_uri()):
        console.say("No browser was found here; the path above is the first page.")


def _serve(folder, port, console):
    """Serves the site to this machine alone until it is interrupted."""
    handler = functools.partial(_Quiet, directory=str(folder))
    try:
        server = http.server.ThreadingHTTPServer((ADDRESS, port), handler)
    except OSError as error:
        raise WorkbookError(f"Port {port} can't be used ({error.strerror}). Give another one: "
                            "--serve PORT, or --serve 0 for any that is free.") from error
    with server:
        print(f"http://{ADDRESS}:{server.server_address[1]}/", flush=True)
        console.say("Ctrl-C ends it.")
        server.serve_forever()
    return 0


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_arguments):
        """Says nothing of each file."""
