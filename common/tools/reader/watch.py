"""`watch`: checks an exercise whenever what the reader wrote for it was saved; one key a command."""

import contextlib
import os
import queue
import select
import shutil
import signal
import sys
import termios
import threading
import tty
from types import SimpleNamespace

from .. import api
from ..console import Console
from ..errors import WorkbookError
from ..process import run_in_foreground
from . import actions, checking, listing, selection
from . import progress as progress_file

_KEYS = ("next", "hint", "list", "run", "diff", "timeline", "quit")  # by their first letters
_KEY_WAIT_SECONDS = 0.2
_LOOK_SECONDS = 0.15  # between two looks at the reader's files
_SAVED, _KEY = "saved", "key"


def do_watch(root, console, arguments):
    """Checks on every save until q or Ctrl-C."""
    progress, exercises = progress_file.load(root), api.load_all(root)
    if progress.note:
        console.say(progress.note)
    first = (selection.exercise(exercises, arguments.wanted) if arguments.wanted
             else selection.current(exercises, progress))
    return Watch(root, console, exercises, first).run()


class Watch:
    """Waits for saves and keys, and acts on them one after the other."""

    def __init__(self, root, console, exercises, first):
        self._root, self._console = root, console
        self._exercises = {one.id: one for one in exercises}
        self._current = first
        self._session = checking.Session(root, console)
        self._events = queue.Queue()
        self._ending = threading.Event()
        self._checking = False
        self._quit = False
        self._seen = {}

    def run(self):
        """0 after q; Ctrl-C raises KeyboardInterrupt with everything put back."""
        folder = self._root / "chapters"
        if not folder.is_dir():
            raise WorkbookError(f"{folder} does not exist, so there is nothing to watch.")
        stamps = self._stamps()
        self._seen = {one.id: self._fingerprint(one) for one in self._exercises.values()}
        with self._threads(stamps), _one_key_at_a_time():
            try:
                self._check(self._current)
                self._wait()
            except KeyboardInterrupt:
                if not self._quit:
                    raise
        self._console.say("watch has ended; your progress is in "
                          f"{progress_file.path(self._root).relative_to(self._root)}.")
        return 0

    def _fingerprint(self, one):
        try:
            return api.fingerprint(self._root, one)
        except (WorkbookError, OSError):
            return None  # a mark is gone, or an editor is writing just now: the check says more

    @contextlib.contextmanager
    def _threads(self, stamps):
        threads = [threading.Thread(target=self._watch_files, args=(stamps,), daemon=True)]
        if sys.stdin.isatty():
            threads.append(threading.Thread(target=self._read_keys, daemon=True))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ending.set()
            for thread in threads:
                thread.join(2.0)

    def _stamps(self):
        """{path: what changes when the file is saved} of the files in which the reader writes."""
        stamps = {}
        for path in {api.reader_path(self._root, one) for one in self._exercises.values()}:
            try:
                status = path.stat()
                stamps[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
            except OSError:  # gone, or being replaced just now
                stamps[path] = None
        return stamps

    def _watch_files(self, known):
        """Tells of a save once two looks agree: an editor may write a file in several steps."""
        last = known
        while not self._ending.wait(_LOOK_SECONDS):
            now = self._stamps()
            if now == last and now != known:
                known = now
                self._events.put((_SAVED, None))
            last = now

    def _read_keys(self):
        while not self._ending.is_set():
            if not select.select([sys.stdin], [], [], _KEY_WAIT_SECONDS)[0]:
                continue
            key = os.read(sys.stdin.fileno(), 1).decode("ascii", "replace")
            if not key:  # the terminal is gone
                return
            if key == "q":
                self._quit = True
                if self._checking:  # the main thread ends what runs, as after Ctrl-C
                    os.kill(os.getpid(), signal.SIGINT)
            self._events.put((_KEY, key))

    def _wait(self):
        while not self._quit:
            kind, what = self._events.get()
            if kind == _KEY:
                self._press(what)
            else:
                self._check_changed()

    def _check_changed(self):
        """Checks what differs from when it was last looked at, the current exercise first."""
        changed = []
        for one in self._exercises.values():
            now = self._fingerprint(one)
            if now != self._seen[one.id]:
                self._seen[one.id] = now
                changed.append(one)
        changed.sort(key=lambda one: one.id != self._current.id)
        for one in changed:
            self._check(one)
            if self._quit:
                return

    def _check(self, one):
        self._current = one
        path, line = actions.place(self._root, one)
        self._console.say(f"\nChecking {one.id} {one.title} in your file {path}:{line} ...")
        self._checking = True
        try:
            verdict = self._session.check(one)
            actions.show_verdict(self._root, one, verdict)
            progress_file.go_to(self._root, self._console, one.id)
            if verdict.status == checking.PASSED:
                actions.show_what_follows(self._root, list(self._exercises.values()), one)
        except WorkbookError as error:
            if error.details:
                self._console.say(error.details)
            self._console.error(str(error))
        finally:
            self._checking = False
        self._say_keys()

    def _say_keys(self):
        if not sys.stdin.isatty():
            self._console.say("\nWaiting for the next save (Ctrl-C ends).")
            return
        keys = "  ".join(f"{name[0]} {name}" for name in _KEYS)
        prefix = f"watching {self._current.id}:  "
        if len(prefix + keys) >= shutil.get_terminal_size().columns:
            prefix = ""
        painted = "  ".join(f"{self._console.paint(name[0], 'bold')} {name}" for name in _KEYS)
        self._console.say(f"\n{prefix}{painted}")

    def _press(self, key):
        action = {"n": self._next, "h": self._hint, "l": self._list, "r": self._run_program,
                  "d": self._diff, "t": self._timeline}.get(key)
        if action is None:
            if key not in "q":
                self._say_keys()
            return
        self._console.say()
        try:
            action()
        except WorkbookError as error:
            self._console.error(str(error))
        self._say_keys()

    def _next(self):
        progress = progress_file.load(self._root)
        following = selection.following(list(self._exercises.values()), progress, self._current)
        if following is None:
            self._console.say("There is no other exercise left.")
            return
        self._current = following
        actions.show_task(self._root, following)
        actions.open_editor(self._root, self._console, following, only_windows=True)

    def _hint(self):
        listing.do_hint(self._root, self._console,
                        SimpleNamespace(exercise=self._current.id, level=None))

    def _list(self):
        progress = progress_file.load(self._root)
        print("\n".join(listing.listing(self._root, list(self._exercises.values()), progress,
                                        {self._current.chapter}, Console(sys.stdout))))

    def _diff(self):
        actions.diff(self._root, self._console, self._current.id, False)

    def _run_program(self):
        self._workbook("run", self._current.id)

    def _timeline(self):
        self._workbook("timeline", str(self._current.number[0]))

    def _workbook(self, *words):
        """Another command of ours, in the foreground; Ctrl-C ends it and not the watch."""
        sys.stdout.flush()
        with _as_before():
            try:
                run_in_foreground([sys.executable, str(self._root / "workbook"), *words])
            except KeyboardInterrupt:
                self._console.say("Interrupted.")


_terminal_before = None  # the terminal's settings, while keys are read one at a time


@contextlib.contextmanager
def _one_key_at_a_time():
    """Keys arrive at once and are not shown; the terminal is put back whatever happens."""
    global _terminal_before  # one terminal, one process
    if not sys.stdin.isatty():
        yield
        return
    _terminal_before = termios.tcgetattr(sys.stdin)
    # After Ctrl-Z and `fg` the terminal is as the shell had it.
    continued = signal.signal(signal.SIGCONT,
                              lambda *_: tty.setcbreak(sys.stdin, termios.TCSANOW))
    try:
        tty.setcbreak(sys.stdin, termios.TCSANOW)
        yield
    finally:
        signal.signal(signal.SIGCONT, continued)
        termios.tcsetattr(sys.stdin, termios.TCSANOW, _terminal_before)
        _terminal_before = None


@contextlib.contextmanager
def _as_before():
    """The terminal as it was, while another program uses it."""
    if _terminal_before is None:
        yield
        return
    termios.tcsetattr(sys.stdin, termios.TCSANOW, _terminal_before)
    try:
        yield
    finally:
        tty.setcbreak(sys.stdin, termios.TCSANOW)
