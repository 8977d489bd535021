"""`./workbook grade` on a small class: the expected verdicts of every student, on any number of
workers, and whatever happens in between. Some need Dask (`./workbook setup --grading`).

    test_grade.py Verdicts | VerdictsByDask | Disturbed | DisturbedByDask | Cluster | BadInput
"""

import csv
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import class_maker
import exercise_support
import support
from tools import api, private_env
from tools.try_exercise import tools_of

ROOT = support.ROOT
DRIVER = Path(__file__).with_name("grade_driver.py")
EXERCISES = "1.4-1.6"
WAIT_SECONDS = 300
POLL_SECONDS = 0.05
# What the checks of the class run.
PROGRAMS = ("01_mbarrier_pipeline", "lab_01_bulk_copy", "lab_01_tensor_copy")
# Seconds that a check takes where a test must intervene.
PAUSE_SECONDS = 0.5


def make_class(folder, small):
    """A dozen and some submissions, or a few of them; returns what each has to get."""
    known = api.load_all(ROOT)
    exercises = [api.find(known, one) for one in ("1.4", "1.5", "1.6")]
    maker = class_maker.Maker(ROOT, folder, exercises, tools_of(ROOT))
    folder.mkdir()
    maker.right("right")
    maker.right("twin")
    maker.submission("as_it_came", {})
    maker.empty("empty")
    for number in range(2 if small else 3):
        maker.wrong(f"wrong_{number}", number)
    if small:
        return maker.expected
    maker.with_lines("syntax_error", class_maker.SYNTAX_ERROR, class_maker.BROKEN)
    maker.without_mark("without_mark")
    for name in ("include_in_other_letters", "much_memory", "many_bytes", "link_to_a_file",
                 "ten_gigabytes", "pipe", "link_instead_of_a_folder", "nested_tables", "odd_name",
                 "formula"):
        maker.hostile(name)
    return maker.expected


class GradeTest(unittest.TestCase):
    """A class, made once; results go to a folder of each test."""

    small = False

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="grade_test_")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = Path(holder.name)
        cls.handed_in = cls.folder / "class"
        cls.expected = cls.make_class()
        cls.dask = private_env.grading_python(ROOT)

    @classmethod
    def make_class(cls):
        """Writes the class; returns what each has to get."""
        return make_class(cls.handed_in, cls.small)

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="grade_results_", dir=self.folder)
        self.addCleanup(holder.cleanup)
        self.out = Path(holder.name) / "out"
        self.log = Path(holder.name) / "log"

    def words(self, *words, seconds=0, dask=True, place=None):
        """The command, with checks that pause and note who made them."""
        if dask and self.dask is None:
            self.skipTest("Dask is not installed (./workbook setup --grading)")
        return [str(self.dask) if dask else sys.executable, "-B", str(DRIVER),
                *([] if dask else ["--without-dask"]), str(self.log), str(seconds),
                str(place or self.handed_in), "--exercises", EXERCISES, "--out", str(self.out), *words]

    def start(self, *words, **options):
        changes = {name: options.pop(name) for name in list(options) if name.isupper()}
        process = subprocess.Popen(self.words(*words, **options), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   universal_newlines=True, start_new_session=True,
                                   env=support.environment(**changes))
        self.addCleanup(_end, process)
        return process

    def grade(self, *words, status=0, **options):
        """Runs the command to its end; returns what it said. Options in capitals: of the environment."""
        process = self.start(*words, **options)
        said, _ = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, status, said)
        self.assertNotIn("Traceback", said)
        return said

    def lines(self, out=None):
        """{(submission, exercise): line of verdicts.jsonl}; each appears once."""
        found = {}
        for text in ((out or self.out) / "verdicts.jsonl").read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            key = (line["submission"], line["id"])
            self.assertNotIn(key, found, "a verdict stands there twice")
            found[key] = line
        return found

    def without_times(self):
        return {key: {name: value for name, value in line.items() if name != "seconds"}
                for key, line in self.lines().items()}

    def assert_expected(self, out=None):
        """Every student has the expected verdicts, and no others."""
        got = {}
        for (name, exercise), line in self.lines(out).items():
            got.setdefault(name, {})[exercise] = [line["status"], line["wrong"]]
        self.assertEqual(got, self.expected)

    def checks(self):
        """[(process, key)] of the checks that were begun, in order."""
        if not self.log.exists():
            return []
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [(int(line.split()[0]), line.split()[1]) for line in lines if len(line.split()) == 2]

    def wait_for(self, condition, process=None):
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), deadline, "it never happened")
            if process is not None and process.poll() is not None:
                self.fail(process.stdout.read())
            time.sleep(POLL_SECONDS)

    def some_verdicts_of_checks(self):
        """Whether checks have ended, and others have not."""
        path = self.out / "verdicts.jsonl"
        if not path.exists():
            return False
        keys = {json.loads(line)["key"] for line in path.read_text(encoding="utf-8").splitlines(True)
                if line.endswith("\n")}
        return len(keys & {key for _, key in self.checks()}) >= 3


def _end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()


def _is_alive(pid):
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        return text.rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Verdicts(GradeTest):
    def test_the_process_pool(self):
        said = self.grade("--workers", "2", dask=False)
        self.assertIn("Dask is not installed", said)
        self.assert_expected()
        self.look_at_the_report()
        # What two readers wrote alike was checked once.
        keys = [key for _, key in self.checks()]
        self.assertEqual(len(keys), len(set(keys)))

    def look_at_the_report(self):
        page = (self.out / "report.html").read_text(encoding="utf-8")
        for word in ("ten_gigabytes", "is a symbolic "
                                      "link", "10,737,418,240 bytes", "is not a plain file",
                     "\\x1b[31mred", "took too much memory", "The same answers as twin"):
            self.assertIn(word, page)
        self.assertNotRegex(page, r"[\x00-\x08\x1b\u202e]|<script|(src|href)=\"(https?:)?//|url\(")
        for name in self.expected:
            self.assertIn(f">{name}</a>", page)
        pages = list((self.out / "submissions").glob("*.html"))
        self.assertEqual(len(pages), len(self.expected))
        for one in pages:
            self.assertIn(f'href="submissions/{one.name}#1.4"', page)
        with open(self.out / "table.csv", encoding="utf-8", newline="") as file:
            rows = {row["submission"]: row for row in csv.DictReader(file)}
        self.assertEqual(rows["right"]["passed"], "3")
        self.assertEqual(rows["wrong_0"]["1.4"], "failed")
        self.assertIn("'=cmd()", rows)

    def test_only_what_changed_is_graded_again(self):
        handed_in = self.out.with_name("changing")
        for name in ("right", "wrong_0"):
            shutil.copytree(self.handed_in / name, handed_in / name)
        self.grade(place=handed_in, dask=False)
        before = len(self.checks())
        self.assertGreater(before, 0)
        self.assertIn("Nothing has changed", self.grade(place=handed_in, dask=False))
        self.assertEqual(len(self.checks()), before)
        answers = handed_in / "right" / "chapters" / "01_mbarrier_pipeline" / "answers.toml"
        text = answers.read_text(encoding="utf-8")
        answers.write_text(text.replace('line = "', 'line = "9'), encoding="utf-8")
        self.grade(place=handed_in, dask=False)
        self.assertEqual(len(self.checks()), before + 1)
        self.assertEqual(self.lines()[("right", "1.5")]["status"], "failed")
        self.assertEqual(self.lines()[("right", "1.6")]["status"], "passed")
        shutil.rmtree(handed_in / "wrong_0")  # ... and who has left is gone from the results
        self.grade(place=handed_in, dask=False)
        self.assertEqual({name for name, _ in self.lines()}, {"right"})
        self.assertEqual(len(self.checks()), before + 1)

    def test_the_disk_is_full(self):
        # A file system of its own, so small that the verdicts don't fit; then it grows.
        script = ('mkdir -p "$0" && mount -t tmpfs -o size=32k tmpfs "$0" || exit 77\n'
                  '"$@"; echo "first status $?"\n'
                  'mount -o remount,size=64M "$0" && "$@"; echo "second status $?"\n'
                  'cp -r "$0" "$0.kept"\n')
        before = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        result = subprocess.run([*before, "sh", "-c", script, str(self.out), *self.words(dask=False)],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT_SECONDS,
                                universal_newlines=True, check=False, env=support.environment())
        if result.returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.assertIn("first status 1", result.stdout)
        self.assertIn("No space left on device", result.stdout)
        self.assertIn("second status 0", result.stdout)
        self.assertNotIn("Traceback", result.stdout)
        self.assert_expected(Path(f"{self.out}.kept"))


class VerdictsByDask(GradeTest):
    def test_any_number_of_workers_gives_the_same(self):
        seen = []
        for workers in ("1", "3"):
            self.out = self.out.with_name(f"out{workers}")
            self.grade("--workers", workers)
            self.assert_expected()
            seen.append(self.without_times())
        self.assertEqual(seen[0], seen[1])
        # ... and any order of the submissions, by a list; one is named twice.
        names = sorted(os.listdir(self.handed_in), key=lambda name: name[::-1])
        listed = self.out.with_name("class.txt")
        lines = [f"{self.handed_in / name}\n" for name in [*names, names[0]]
                 if not (self.handed_in / name).is_symlink()]
        listed.write_text("# a list\n" + "".join(lines), encoding="utf-8")
        self.out = self.out.with_name("listed")
        self.grade("--workers", "2", place=listed, dask=False)
        one = dict(seen[0])
        for exercise in ("1.4", "1.5", "1.6"):
            one.pop(("link_instead_of_a_folder", exercise))
        self.assertEqual(self.without_times(), one)
        self.assertIn("is the same folder as", (self.out / "report.html").read_text(encoding="utf-8"))


class InterruptTest(GradeTest):
    small = True

    def interrupt(self, dask):
        process = self.start("--workers", "2", seconds=PAUSE_SECONDS, dask=dask)
        self.wait_for(self.some_verdicts_of_checks, process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        said, _ = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("Interrupted", said)
        self.assertNotIn("Traceback", said)
        self.assertTrue((self.out / "report.html").is_file())
        kept = {line["key"] for line in self.lines().values()}
        begun = [key for _, key in self.checks()]
        self.assertLess(len(self.lines()), sum(map(len, self.expected.values())))
        for pid in {pid for pid, _ in self.checks()}:
            self.wait_for(lambda pid=pid: not _is_alive(pid))
        # A line that was cut off in the middle, as a crash leaves it.
        with open(self.out / "verdicts.jsonl", "a", encoding="utf-8") as file:
            file.write('{"schema": 1, "submission": "right", "id"')
        self.grade("--workers", "2", dask=dask)
        self.assert_expected()
        again = [key for _, key in self.checks()][len(begun):]
        self.assertFalse(kept.intersection(again), "what was known was checked again")


class DisturbedByDask(InterruptTest):
    def test_ctrl_c_and_resume(self):
        self.interrupt(dask=True)

    def test_a_worker_is_killed(self):
        process = self.start("--workers", "2", seconds=PAUSE_SECONDS)
        self.wait_for(self.some_verdicts_of_checks, process)
        os.kill(self.checks()[-1][0], signal.SIGKILL)
        said, _ = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 0, said)
        self.assert_expected()


class Disturbed(InterruptTest):
    def test_ctrl_c_and_resume_in_the_process_pool(self):
        self.interrupt(dask=False)

    def test_a_process_of_the_pool_is_killed(self):
        process = self.start("--workers", "2", seconds=PAUSE_SECONDS, dask=False)
        self.wait_for(self.some_verdicts_of_checks, process)
        os.kill(self.checks()[-1][0], signal.SIGKILL)
        said, _ = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 1, said)
        self.assertIn("Run the same command again", said)
        self.assertNotIn("Traceback", said)
        self.grade("--workers", "2", dask=False)
        self.assert_expected()

    def test_the_command_itself_is_killed(self):
        process = self.start("--workers", "2", seconds=PAUSE_SECONDS, dask=False)
        self.wait_for(self.some_verdicts_of_checks, process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=WAIT_SECONDS)
        self.grade("--workers", "2", dask=False)
        self.assert_expected()


class Cluster(GradeTest):
    """An existing scheduler with workers, on the loopback. What becomes of each kind of reader doesn't
    depend on that, so the class is a small one."""

    small = True

    def setUp(self):
        super().setUp()
        if self.dask is None:
            self.skipTest("Dask is not installed (./workbook setup --grading)")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.logs = []

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def dask_process(self, module, *words, **changes):
        log = open(self.folder / f"{module}.{time.monotonic_ns()}.log", "w+", encoding="utf-8")
        self.logs.append(Path(log.name))
        self.addCleanup(log.close)
        process = subprocess.Popen([str(self.dask), "-B", "-m", f"distributed.cli.{module}", *words],
                                   stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                   start_new_session=True, cwd=self.folder,
                                   env=support.environment(**changes))
        self.addCleanup(_end, process)
        return process

    def scheduler(self):
        process = self.dask_process("dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port),
                                    "--no-dashboard", "--no-show")
        self.wait_for(self.listens)
        return process

    def worker(self, root):
        """A worker process whose checkout is `root`. Nothing restarts it, so it is a process of its own,
        without a nanny, which would be a second one; those of VerdictsByDask have one."""
        paths = [str(Path(root) / "common"), str(DRIVER.parent)] if root else []
        return self.dask_process("dask_worker", self.address, "--nthreads", "1", "--no-dashboard",
                                 "--no-nanny", "--local-directory", str(self.folder / "scratch"),
                                 PYTHONPATH=os.pathsep.join(paths), BW_TEST_GRADE_LOG=str(self.log),
                                 BW_TEST_GRADE_SECONDS=str(PAUSE_SECONDS / 5))

    def another_checkout(self, name):
        """A folder with the same sources and the same programs; its build says that it is there."""
        root = self.folder / name
        if root.exists():
            return root
        for part in ("common", "solutions"):
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
        for part in ("CMakeLists.txt", "CMakePresets.json", "workbook"):
            shutil.copy(ROOT / part, root / part)
        build = root / "build" / "sim"
        (build / "bin").mkdir(parents=True)
        for part in ("build.ninja", "compile_commands.json"):
            text = (ROOT / "build" / "sim" / part).read_text(encoding="utf-8")
            (build / part).write_text(text.replace(str(ROOT), str(root)), encoding="utf-8")
        for united in (ROOT / "build" / "sim" / "solutions").glob("*/*.cu"):  # by bw_unite_cuda()
            copy = root / united.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(united, copy)
        for program in PROGRAMS:
            shutil.copy2(ROOT / "build" / "sim" / "bin" / program, build / "bin" / program)
        shutil.copytree(ROOT / "build" / "sim" / "lib", build / "lib", symlinks=True)
        (build / "checks").mkdir()
        return root

    def note_built(self, root):
        from tools.grading import version, worker
        version.note_built(root, PROGRAMS, worker.prepare()[0])

    def test_two_workers_with_folders_of_their_own(self):
        self.scheduler()
        second = self.another_checkout("second")
        self.note_built(second)
        self.worker(ROOT)
        self.worker(second)
        self.wait_for_workers(2)
        self.grade("--cluster", self.address)
        self.assert_expected()
        self.assertEqual(len({pid for pid, _ in self.checks()}), 2, "one of them did nothing")
        page = (self.out / "verdicts.jsonl").read_text(encoding="utf-8")
        self.assertNotIn(str(second), page)
        self.assertNotIn(str(ROOT), page)

    def test_the_scheduler_is_restarted(self):
        scheduler = self.scheduler()
        worker = self.worker(ROOT)
        process = self.start("--cluster", self.address, seconds=PAUSE_SECONDS)
        self.wait_for(self.some_verdicts_of_checks, process)
        _end(scheduler)
        said, _ = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 1, said)
        self.assertIn("has gone", said)
        self.assertNotIn("Traceback", said)
        _end(worker)
        self.scheduler()
        self.worker(ROOT)
        self.grade("--cluster", self.address)
        self.assert_expected()

    def test_a_worker_of_another_version_is_refused(self):
        self.scheduler()
        other = self.another_checkout("other")
        with open(other / "common" / "device" / "exercise.cuh", "a", encoding="utf-8") as file:
            file.write("// changed\n")
        self.worker(other)
        self.worker(None)
        self.wait_for_workers(2)
        said = self.grade("--cluster", self.address, status=1)
        self.assertIn("is of version", said)
        self.assertIn("no checkout on its path", said)
        self.assertIn("No worker of the scheduler has this checkout's version", said)
        self.worker(ROOT)
        self.wait_for_workers(3)
        said = self.grade("--cluster", self.address)
        self.assertIn("is not used", said)
        self.assert_expected()

    def wait_for_workers(self, count):
        """Waits until the scheduler has that many: each says so in its own log."""
        self.wait_for(lambda: sum("Registered to" in log.read_text(encoding="utf-8")
                                  for log in self.logs) >= count)

    def test_no_scheduler(self):
        said = self.grade("--cluster", self.address, status=1, BW_TEST_CONNECT_SECONDS="1")
        self.assertIn(f"No Dask scheduler can be reached at {self.address}", said)
        said = self.grade("--cluster", "nonsense", status=2)
        self.assertIn("--cluster nonsense is not an address", said)

    def test_a_scheduler_of_another_version(self):
        code = ("import sys\n"
                "from distributed import versions\n"
                "from distributed.cli.dask_scheduler import main\n"
                "real = versions._version_cached\n"
                "versions._version_cached = lambda name: '2020.1.0' if name == 'distributed' else "
                "real(name)\n"
                f"sys.argv = ['x', '--host', '127.0.0.1', '--port', '{self.port}', "
                "'--no-dashboard', '--no-show']\n"
                "main()\n")
        process = subprocess.Popen([str(self.dask), "-c", code], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True, cwd=self.folder)
        self.addCleanup(_end, process)
        self.wait_for(self.listens)
        said = self.grade("--cluster", self.address, status=1)
        self.assertIn("has distributed 2020.1.0", said)
        self.assertIn("have to be the same", said)


class BadInput(GradeTest):
    small = True

    def refused(self, *words, place=None, status=1):
        return self.grade(*words, place=place, status=status, dask=False)

    def test_places(self):
        empty = self.out.with_name("nobody")
        empty.mkdir()
        self.assertIn("holds no submission", self.refused(place=empty))
        (empty / "photos").mkdir()
        self.assertIn("found there: photos", self.refused(place=empty))
        self.assertIn("can't be read: No such file", self.refused(place=empty / "nowhere"))
        listed = empty / "list.txt"
        listed.write_text("no/such/folder\n", encoding="utf-8")
        self.assertIn("list.txt:1: no/such/folder", self.refused(place=listed))
        listed.write_bytes(b"\xff\xfe")
        self.assertIn("not UTF-8 text", self.refused(place=listed))

    def test_exercises(self):
        words = self.words(dask=False)
        at = words.index("--exercises") + 1
        for wanted, said, status in (("9.1", "There is no exercise "
                                             "'9.1'", 1), ("1.77", "has 1.1 to 1.", 1),
                                     ("2.1-1.1", "There is no exercise '2.1-1.1'", 1),
                                     ("x", "can't be read at "
                                           "'x'", 2), ("1.4,", "can't be read at ''", 2)):
            words[at] = wanted
            result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                    universal_newlines=True, timeout=WAIT_SECONDS)
            self.assertEqual(result.returncode, status, result.stdout)
            self.assertIn(said, result.stdout)
            self.assertNotIn("Traceback", result.stdout)
            self.assertFalse(self.out.exists())

    def test_results_that_cannot_be_written(self):
        self.out.write_text("a file", encoding="utf-8")
        self.assertIn("can't be written", self.refused())
        self.out.unlink()
        (self.out / "verdicts.jsonl").mkdir(parents=True)
        self.assertIn("can't be written", self.refused())

    def test_two_commands_at_once(self):
        process = self.start("--workers", "1", seconds=PAUSE_SECONDS, dask=False)
        self.wait_for(self.checks, process)
        self.assertIn("Another `./workbook grade` writes into", self.refused())
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=WAIT_SECONDS)

    def test_a_number_of_workers_that_is_none(self):
        for wanted in ("0", "-1", "x", "5000"):
            self.assertIn("is not a number from 1 to", self.refused("--workers", wanted, status=2))


if __name__ == "__main__":
    support.skip_without_toml()
    support.grade_anywhere()
    exercise_support.main()
