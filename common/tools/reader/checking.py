"""From an exercise to its verdict: builds what the check runs, checks, remembers the outcome."""

from .. import api, build, prebuilt, workspace
from ..errors import WorkbookError
from . import progress as progress_file

PASSED, FAILED, NOT_DONE, BROKEN = "passed", "failed", "not_done", "broken"


class Session:
    """Checks of one command. What was built once is not built again."""

    def __init__(self, root, console):
        self._root, self._console = root, console
        self._tools = None
        self._built = set()

    def prepare(self, exercise):
        """Builds the programs that an exercise's check runs; returns the Tools."""
        targets = [name for name in api.targets(exercise) if name not in self._built]
        if targets or self._tools is None:
            self._tools = workspace.prepare(self._root, self._console, build.SIM, targets,
                                            f"Building what {exercise.id} runs")
            self._built.update(targets)
        return self._tools

    def check(self, exercise):
        """The Verdict; what passed is remembered with the lines that did."""
        tools = self.prepare(exercise)
        if prebuilt.is_used(self._root) and self._has_code(exercise):
            tools.toolkit.describe()  # a compiler that comes on demand comes before the check
        with self._console.step(f"Checking {exercise.id}") as step:
            verdict = api.check(self._root, exercise, tools, step.detail)
        self._remember(exercise, verdict)
        return verdict

    def _has_code(self, exercise):
        """Whether the reader has written lines that will be compiled."""
        try:
            return exercise.is_in_code and (api.reader_region(self._root, exercise)
                                            != api.starter_region(exercise))
        except WorkbookError:
            return False  # the verdict says what is wrong with the file

    def _remember(self, exercise, verdict):
        before = progress_file.load(self._root)
        if verdict.status == PASSED:
            progress_file.change(self._root, self._console, exercise.id,
                                 state=progress_file.PASSED, since=progress_file.today(),
                                 lines=api.fingerprint(self._root, exercise),
                                 remark=verdict.remark or None)
        elif before.state(exercise.id) == progress_file.PASSED:
            progress_file.change(self._root, self._console, exercise.id, state=None, since=None,
                                 lines=None, remark=None)
        elif before.note:
            self._console.say(before.note)


def still_passes(root, exercise, progress):
    """Whether an exercise has passed with its current lines."""
    return (progress.state(exercise.id) == progress_file.PASSED
            and progress.lines(exercise.id) == api.fingerprint(root, exercise))
