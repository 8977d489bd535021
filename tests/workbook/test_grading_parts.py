"""The parts of `./workbook grade`: what a stranger's compiler can reach, what is read of a submission,
what is kept on disk, and that the documents name what there is."""

import dataclasses
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest
import uuid
from dataclasses import replace
from pathlib import Path
from unittest import mock

import support
from tools import (api, check, confinement, device_code, left_over, limited, private_env, ptx_cache,
                   regions, runs, wheels_for_tests)
from tools.errors import GraderError, WorkbookError
from tools.grading import command, figures, plan, report, store, submissions, version, worker
from tools.try_exercise import tools_of
from tools.verdict import BROKEN, LIMITS, NOT_DONE, PASSED, Answer, Place, Verdict

ROOT = support.ROOT
SECRET = "a line that nobody may read"
# Features that strongest() leaves out to arrive at each confinement.
LEFT_OUT = {"bubblewrap": (), "view": ("bubblewrap",), "user": ("bubblewrap", "view"),
            "limits": ("bubblewrap", "user")}
KINDS = {"bubblewrap": confinement._Bubblewrap, "view": confinement._OtherUserInView,
         "user": confinement._OtherUser, "limits": confinement._Limits}
# Those that show a process nothing but what it needs.
CLOSED = ("bubblewrap", "view")


class FolderTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="grading_parts_")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)


class LeftOver(FolderTest):
    """What killed processes leave is removed, and nothing else."""

    def test_only_what_nobody_uses_any_more(self):
        begin = ("import sys, tempfile\nfrom tools import left_over\n"
                 "open(sys.argv[1] + '/' + left_over.prefix('events') + 'log.jsonl', 'w').close()\n"
                 "print(tempfile.mkdtemp(prefix=left_over.prefix('check'), dir=sys.argv[1]))\n"
                 "sys.stdout.flush()\nsys.stdin.read()\n")
        process = subprocess.Popen([sys.executable, "-c", begin, str(self.folder)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   universal_newlines=True,
                                   env=support.environment(PYTHONPATH=str(ROOT / "common")))
        with process:
            theirs = Path(process.stdout.readline().strip())
            (theirs / "a_file").touch()
            own = self.folder / (left_over.prefix("check") + "x")
            elsewhere = self.folder / f"check-00000000-{process.pid}-x"
            for folder in (own, elsewhere, self.folder / "ptx"):
                folder.mkdir()
            left_over.remove(self.folder)
            self.assertTrue(theirs.is_dir(), "its process runs")
            process.kill()
        left_over.remove(self.folder)
        self.assertEqual({path.name for path in self.folder.iterdir()},
                         {own.name, elsewhere.name, "ptx"})


class Confined(FolderTest):
    """Each confinement that this machine has, tried with programs that want more."""

    @classmethod
    def setUpClass(cls):
        cls.tools = tools_of(ROOT)

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.work = self.folder / "work"
        self.work.mkdir()

    def confined(self, name):
        try:
            one = confinement.strongest(ROOT, self.tools.toolkit, LEFT_OUT[name])
        except WorkbookError as error:
            self.skipTest(f"{name} can't be used here: {error}")
        if type(one) is not KINDS[name]:
            self.skipTest(f"{name} can't be used here")
        return one

    def each(self, names):
        """Those of the confinements that can be used here, each in a subtest of its own."""
        for name in names:
            with self.subTest(name):
                yield self.confined(name)

    def run_in(self, one, script, seconds=20, **bounds):
        bounds = confinement.Bounds(seconds, **bounds)
        ended = limited.run(one.command(["bash", "-c", script], bounds, writable=self.work), 60.0,
                            env=one.environment({**os.environ, "SECRET": SECRET}), cwd=ROOT)
        return ended, one.exceeded(ended, bounds)

    def test_a_closed_one_shows_what_is_needed_and_no_network(self):
        outside = self.folder / "outside"
        outside.write_text(SECRET, encoding="utf-8")
        outside.chmod(0o644)
        for one in self.each(CLOSED):
            self.assertEqual(one.warning, "")
            home, hidden = Path.home(), [outside, "/etc/passwd", ROOT / "README.md", ROOT / "tests"]
            if home in ROOT.parents:  # then the folder that leads to the checkout is all that it shows
                ended, _ = self.run_in(one, f"ls -A '{home}'")
                self.assertEqual(ended.output, f"{ROOT.relative_to(home).parts[0]}\n")
            else:
                hidden.append(home)
            for path in hidden:
                ended, _ = self.run_in(one, f"cat '{path}' || ls '{path}'")
                self.assertNotEqual(ended.status, 0, path)
                self.assertEqual(ended.output, "")
            ended, _ = self.run_in(one, "echo $SECRET; env")
            self.assertNotIn(SECRET, ended.output)
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                listener.listen()
                ended, _ = self.run_in(one, f"echo x > /dev/tcp/127.0.0.1/{listener.getsockname()[1]}")
                self.assertNotEqual(ended.status, 0)
            self.assertNotEqual(self.run_in(one, f"touch '{ROOT}/common/x'")[0].status, 0)
            self.assertEqual(self.run_in(one, f"head -1 common/chapters.json; touch "
                                              f"'{self.work}/x'")[0].status, 0)
            self.assertTrue((self.work / "x").exists())
            (self.work / "x").unlink()
            ended, _ = self.run_in(one, "ls /proc | grep -c '^[0-9]'")
            self.assertLess(int(ended.output), 10)  # no processes but its own

    def test_another_user(self):
        outside = self.folder / "outside"
        outside.write_text(SECRET, encoding="utf-8")
        outside.chmod(0o600)
        for one in self.each(("view", "user")):
            self.assertNotIn(SECRET, self.run_in(one, f"cat '{outside}'")[0].output)
            ended, _ = self.run_in(one, f"id -u; touch '{self.work}/x'")
            self.assertEqual(ended.output.strip(), "65534")
            self.assertTrue((self.work / "x").exists())
            (self.work / "x").unlink()
        self.assertIn("nobody", self.confined("user").warning)

    def test_limits_alone_say_what_is_true(self):
        one = self.confined("limits")
        is_root = os.geteuid() == 0
        self.assertEqual("as root" in one.warning, is_root)
        self.assertEqual("only root can become another user" in one.warning, not is_root)

    def test_root_gets_limits_alone_only_when_it_asks(self):
        """A checkout below a folder that the user nobody can't enter, as a container's default home
        is."""
        if os.geteuid() != 0:
            self.skipTest("this is not root")
        closed = self.folder / "closed"
        root = closed / "checkout"
        (root / "solutions").mkdir(parents=True)
        (root / "common").mkdir()
        (root / "common" / "chapters.json").write_text("{}", encoding="utf-8")
        closed.chmod(0o700)
        toolkit = self.tools.toolkit
        with self.assertRaisesRegex(WorkbookError, "This is root.*Permission denied.*--limits-alone"):
            confinement.strongest(root, toolkit, ("bubblewrap", "view"))
        self.confined("view")
        one = confinement.strongest(root, toolkit, ("bubblewrap",))
        self.assertIs(type(one), confinement._OtherUserInView)

    def test_a_check_in_each(self):
        """Of a text that is compiled, and of what was compiled before, whoever did."""
        exercise = api.find(api.load_all(ROOT), "1.4")
        exercise = replace(exercise, runs=(exercise.runs[0],))
        common = f"// {uuid.uuid4()}"
        for number, one in enumerate(self.each(KINDS)):
            tools = replace(self.tools, confinement=one, cores=1)
            for comment in (f"// {uuid.uuid4()}", common):
                verdict = check.check_answer(ROOT, exercise, tools, (comment, *exercise.region.body))
                self.assertEqual(verdict.status, PASSED, (number, verdict))

    def test_time_memory_and_files_are_bounded(self):
        for name in LEFT_OUT:
            with self.subTest(name):
                one = self.confined(name)
                self.assertEqual(self.run_in(one, "while :; do :; done", 1)[1], "time")
                hog = "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}"
                ended, _ = self.run_in(one, hog, memory_bytes=120 << 20)
                self.assertNotEqual(ended.output.strip(), "200000000")
                write = f"head -c 9000000 /dev/zero > '{self.work}/big'"
                ended, limit = self.run_in(one, write, file_bytes=1 << 20)
                self.assertEqual(limit, "output", ended.errors)
                self.assertLessEqual((self.work / "big").stat().st_size, 1 << 20)

    def test_processes_end_with_the_check(self):
        mark = self.work / "alive"
        for one in self.each(CLOSED):
            self.run_in(one, f"(exec >&- 2>&-; while sleep 0.1; do date > '{mark}'; done) & sleep 0.3")
            if mark.exists():
                mark.unlink()
            subprocess.run(["sleep", "0.5"], check=True)
            self.assertFalse(mark.exists(), "a process has survived its check")

    def compiled(self, one, body):
        """What the confined compiler makes of a region; nothing looks at the text before."""
        exercise = api.find(api.load_all(ROOT), "1.4")
        tools = replace(self.tools, confinement=one, cores=1)
        own = regions.ReaderRegion(tuple(body), 1)
        replaced = [check.composed_file(ROOT, [(exercise, own)])]
        runs.folder(ROOT).mkdir(parents=True, exist_ok=True)
        with check._work_folder(ROOT) as folder:
            return device_code.compile_to_ptx(ROOT, tools, ["lab_01_bulk_copy"], replaced,
                                              folder)["lab_01_bulk_copy"]

    def test_what_gets_past_the_first_look_finds_nothing(self):
        for one in self.each(CLOSED):
            compiled = self.compiled(one, [f"// {uuid.uuid4()}", '#include "/etc/passwd"'])
            self.assertEqual(compiled.files, ())
            self.assertIn("No such file", compiled.errors)
            self.assertNotIn("root:", compiled.errors)

    def test_a_macro_that_grows_without_end(self):
        names = [f"BOMB_{number}" for number in range(12)]
        lines = ["#define BOMB_0 x x x x x x x x x x x x x x x x", *(
            f"#define {name} " + f"{before} " * 16 for before, name in zip(names, names[1:])), names[-1]]
        with mock.patch.object(device_code, "COMPILE_SECONDS", 2):  # it shows nothing more in a minute
            compiled = self.compiled(confinement.strongest(ROOT, self.tools.toolkit, LEFT_OUT["limits"]),
                                     lines)
        self.assertEqual(compiled.files, ())
        self.assertIn(compiled.limit, LIMITS)


class Submissions(FolderTest):
    def handed_in(self, *parts, text="x"):
        path = self.folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def test_where_the_chapters_may_be(self):
        self.handed_in("a", "chapters", "01_mbarrier_pipeline", "f.cuh")
        self.handed_in("b", "01_mbarrier_pipeline", "f.cuh")
        self.handed_in("c", "inner", "more", "chapters", "01_mbarrier_pipeline", "f.cuh")
        self.handed_in("d", "HEAD")
        (self.folder / "d" / "objects").mkdir()
        (self.folder / "d" / "refs").mkdir()
        self.handed_in("e.txt")
        found, notes = submissions.find(self.folder)
        by_name = {one.name: one for one in found}
        for name in "abc":
            self.assertEqual(by_name[name].read("chapters/01_mbarrier_pipeline/f.cuh"), b"x")
            with self.assertRaises(submissions.Missing):
                by_name[name].read("chapters/01_mbarrier_pipeline/g.cuh")
        self.assertEqual(by_name["d"].alert, submissions.BARE)
        self.assertIn("e.txt", notes[0])

    def test_a_list_may_name_the_chapters_themselves(self):
        for name in ("a", "b"):
            self.handed_in(name, "work", "chapters", "01_mbarrier_pipeline", "f.cuh")
        listed = self.handed_in("list", text="a/work/chapters\n\n# "
                                             "no\nb/work/chapters\nb/work/../work/chapters\n")
        found, notes = submissions.find(listed)
        self.assertEqual([one.name for one in found], ["work", "work (2)"])
        self.assertEqual(found[1].read("chapters/01_mbarrier_pipeline/f.cuh"), b"x")
        self.assertEqual(len(notes), 1)

    def test_a_file_that_is_read_while_it_grows(self):
        path = self.handed_in("a", "chapters", "01_mbarrier_pipeline", "f.cuh")
        found, _ = submissions.find(self.folder)
        path.write_bytes(b"x" * (submissions.MOST_FILE_BYTES + 1))
        with self.assertRaisesRegex(submissions.Refused, "at most"):
            found[0].read("chapters/01_mbarrier_pipeline/f.cuh")

    def test_names(self):
        self.assertEqual(submissions.printable("\x1b[0m\u202e\udcffü 日"), "\\x1b[0m\\u202e\\xffü 日")


class Plans(FolderTest):
    @classmethod
    def setUpClass(cls):
        cls.known = api.load_all(ROOT)

    def cell(self, one, text):
        target = self.folder / "a" / one.reader_file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        found, _ = submissions.find(self.folder)
        return plan.cells(ROOT, "v", [one], found[0])[0]

    def test_the_key_is_of_the_answer_and_the_version(self):
        one = api.find(self.known, "1.4")
        text = (ROOT / "solutions" / one.chapter / one.file).read_text(encoding="utf-8")
        text = regions.with_bodies(text, "f", {one.id: ("mine();",)})
        first = self.cell(one, text)
        self.assertEqual(first.job.lines, ("mine();",))
        self.assertEqual(first.key, self.cell(one, text + "// behind everything\n").key)
        self.assertNotEqual(self.cell(one, text + "// x\n").notes, ())
        self.assertNotEqual(first.key, self.cell(one, text.replace("mine();", "mine( );")).key)
        found, _ = submissions.find(self.folder)
        self.assertNotEqual(first.key, plan.cells(ROOT, "w", [one], found[0])[0].key)

    def test_what_needs_no_machine(self):
        one = api.find(self.known, "1.4")
        self.assertEqual(self.cell(one, "").verdict.status, BROKEN)
        (self.folder / "a" / one.reader_file).unlink()
        found, _ = submissions.find(self.folder)
        self.assertEqual(plan.cells(ROOT, "v", [one], found[0])[0].verdict.status, NOT_DONE)

    def test_selections(self):
        def chosen(text):
            return [one.id for one in command._chosen(self.known, text)]
        self.assertEqual(chosen("1.8-2.2,1.2"), ["1.2", "1.8", "1.9", "1.10", "2.1", "2.2"])
        self.assertEqual(chosen("2"), [one.id for one in self.known if one.number[0] == 2])
        self.assertEqual(len(chosen("1-7")), len(self.known))
        self.assertEqual(chosen(None), [one.id for one in self.known])

    def test_the_version_is_of_the_sources(self):
        class Toolkit:
            release = "13.0"
        for name in ("common/a.py", "solutions/b.cuh", "workbook", "docs/c.md",
                     "common/__pycache__/a.pyc"):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("1", encoding="utf-8")
        before = version.of(self.folder, Toolkit)
        for name, changes in (("docs/c.md", False), ("common/__pycache__/a.pyc", False),
                              ("common/a.py", True)):
            (self.folder / name).write_text("2", encoding="utf-8")
            self.assertEqual(version.of(self.folder, Toolkit) != before, changes, name)


class Stores(FolderTest):
    VERDICT = Verdict("1.1", "passed", "e").to_dict()

    def cell(self, name, key="k"):
        return plan.Cell(name, "1.1", key)

    def test_lines_that_are_torn_or_foreign(self):
        with store.Store(self.folder) as kept:
            kept.add([self.cell("a"), self.cell("b")], self.VERDICT, "v")
        path = self.folder / store.VERDICTS
        whole = path.read_bytes()
        for more in (b'{"schema": 1', b"no json\n" + whole, b"\x00\xff\n", b'{"schema": 2}\n', b"[]\n",
                     b"3\n"):
            path.write_bytes(whole + more)
            with store.Store(self.folder) as kept:
                self.assertTrue(kept.has(self.cell("b")))
                self.assertEqual(path.read_bytes(), whole, more)
                kept.add([self.cell("c")], self.VERDICT, "v")
            self.assertEqual(path.read_bytes().count(b"\n"), 3)

    def test_a_new_answer_replaces_the_old_one(self):
        with store.Store(self.folder) as kept:
            kept.add([self.cell("a")], self.VERDICT, "v")
            self.assertFalse(kept.has(self.cell("a", "other")))
            kept.add([self.cell("a", "other")], dict(self.VERDICT, status="failed"), "v")
            kept.finish([self.cell("a", "other")])
        lines = (self.folder / store.VERDICTS).read_text(encoding="utf-8").splitlines()
        self.assertEqual([json.loads(line)["status"] for line in lines], ["failed"])

    def test_no_room(self):
        if not Path("/dev/full").exists():
            self.skipTest("there is no /dev/full")
        with store.Store(self.folder) as kept:
            kept._stream.close()
            kept._stream = kept._stack.enter_context(open("/dev/full", "ab", buffering=0))
            with self.assertRaisesRegex(WorkbookError, "No space left"):
                kept.add([self.cell("a")], self.VERDICT, "v")
            self.assertFalse(kept.has(self.cell("a")))


class Caches(FolderTest):
    def test_ptx_comes_back_and_takes_a_fraction_of_its_space(self):
        ptx = self.folder / "kernel.ptx"
        ptx.write_bytes(b"\tmov.b32 %r1, %r2;\n" * 1000)
        ptx_cache.put(self.folder, "ab", ptx)
        kept, = ptx_cache.folder(self.folder).iterdir()
        self.assertLess(kept.stat().st_size, ptx.stat().st_size / 5)
        copied = ptx_cache.copy(self.folder, "ab", self.folder / "copy.ptx")
        self.assertEqual(copied.read_bytes(), ptx.read_bytes())

    def test_the_oldest_go_first(self):
        place = ptx_cache.folder(self.folder)
        place.mkdir(parents=True)
        for number in range(10):
            path = place / f"{number}.ptx"
            path.write_bytes(b"x" * 100)
            os.utime(path, (number, number))
        ptx_cache.prune(self.folder, 2000, 500)
        self.assertEqual(len(list(place.iterdir())), 10)
        ptx_cache.prune(self.folder, 900, 500)
        self.assertEqual(sorted(path.stem for path in place.iterdir()), list("56789"))


class Reports(FolderTest):
    def test_texts_of_strangers_are_texts(self):
        exercise = api.load_all(ROOT)[0]
        bad = "<script>alert('x')</script>\x1b\u202e"
        verdict = Verdict(exercise.id, "failed", "e", found=bad, explanation=bad, wrong="w").to_dict()
        cell = plan.Cell("<b>&", exercise.id, "k")
        one = submissions.Submission("<b>&", self.folder, ("x",))
        with store.Store(self.folder / "out") as kept:
            kept.add([cell], verdict, "v")
            klass = figures.of([exercise], [one], [cell], kept.line, [])
        report.write(self.folder / "out", klass, "v", confinement.NONE, [])
        for path in (self.folder / "out").rglob("*.html"):
            text = path.read_text(encoding="utf-8")
            self.assertNotIn("<script", text)
            self.assertNotIn("\x1b", text)
            self.assertNotIn("<b>", text)
            self.assertIn("&lt;script&gt;", text)

    def test_what_a_terminal_would_obey_is_in_no_verdict(self):
        bad = "\x1b]0;title\x07\x1b[31m\x9b31m\u202e\x00\r"
        place, answer = Place("p", 1, bad), Answer("key", bad, False, bad)
        verdict = Verdict("1.1", "failed", "e", found=bad, place=place, report=(bad,), answers=(answer,),
                          figures=(("a", bad),), notes=(bad,))
        with store.Store(self.folder / "out") as kept:
            kept.add([plan.Cell("a", "1.1", "k")], verdict.to_dict(), "v")
        error = GraderError(bad, details=bad)
        line = json.loads((self.folder / "out" / store.VERDICTS).read_text(encoding="utf-8"))
        for text in (json.dumps(line, ensure_ascii=False), str(error), error.details,
                     json.dumps(verdict.to_dict(), ensure_ascii=False)):
            # JSON writes a control character as \\u00..
            self.assertNotRegex(text, r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]|(?<!\\)\\u00")
            self.assertIn("x1b", text)

    def test_a_page_to_hand_back_is_about_one_reader(self):
        exercise = api.load_all(ROOT)[0]
        names = ("anna", "ben", "carla")
        cells = [plan.Cell(name, exercise.id, "k", handed_in="the same") for name in names]
        handed_in = [submissions.Submission(name, self.folder, ("x",)) for name in names]
        with store.Store(self.folder / "out") as kept:
            kept.add(cells, Verdict(exercise.id, "failed", "e", found="f").to_dict(), "v")
            klass = figures.of([exercise], handed_in, cells, kept.line, [])
        report.write(self.folder / "out", klass, "v", confinement.NONE, [])
        self.assertIn("The same answers as ben, carla",
                      (self.folder / "out" / report.PAGE).read_text(encoding="utf-8"))
        for number, name in enumerate(names, 1):
            page = self.folder / "out" / report.PAGES / f"{number:03d}_{name}.html"
            text = page.read_text(encoding="utf-8")
            for other in names:
                self.assertEqual(other in text, other == name)
            self.assertNotIn(report.PAGE, text)
            self.assertNotIn("href", text)


class Documents(unittest.TestCase):
    """docs/verdicts.md names exactly what there is."""

    def fields(self, heading):
        text = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
        part = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
        return set(re.findall(r"^\| `(\w+)` \|", part, re.M)), text

    def test_the_fields_of_a_verdict(self):
        named, text = self.fields("One verdict")
        self.assertEqual(named, {field.name for field in dataclasses.fields(Verdict)})
        self.assertIn(f"schema {plan.SCHEMA}", text)
        for limit in LIMITS:
            self.assertIn(f"`{limit}`", text)

    def test_the_fields_of_what_check_prints(self):
        from tools.reader import actions
        named, _ = self.fields("`./workbook check --json`")
        self.assertEqual(named, set(actions._as_data(ROOT, [], [])))

    def test_the_fields_of_a_line(self):
        named, _ = self.fields("`verdicts.jsonl`")
        line = store._entry(plan.Cell("a", "1.1", "k"), Verdict("1.1", "passed", "e").to_dict(), "v")
        self.assertEqual(named, set(line) - {field.name for field in dataclasses.fields(Verdict)})

    def test_the_pins_of_dask_are_complete(self):
        """Each package that the installed ones ask for is pinned, as --no-deps needs it."""
        python = private_env.grading_python(ROOT)
        if python is None:
            self.skipTest("Dask is not installed (./workbook setup --grading)")
        result = subprocess.run([str(python), "-m", "pip", "check"], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, universal_newlines=True, check=False)
        unused = tuple(f" requires {name}, which is not installed."
                       for wheels in wheels_for_tests.ALL for name in wheels.unused)
        found = [line for line in result.stdout.splitlines() if not line.endswith(unused)]
        self.assertIn(found, ([], ["No broken requirements found."]), result.stdout)


class Workers(unittest.TestCase):
    def test_another_version_is_refused(self):
        own = worker.prepare()[0]
        self.assertIn("is of version", worker.refusal("other", []))
        self.assertIn("has not built no_such_program", worker.refusal(own, ["no_such_program"]))
        with self.assertRaises(worker.AnotherVersion):
            worker.run(plan.Job("k", "1.4", ("x",), 1), "other")

    def test_the_verdict_is_the_readers_own(self):
        """The same text gets the same verdict from `check` and from `grade`."""
        own, tools, exercises = worker.prepare()
        one = exercises["1.4"]
        for lines in (("no_such_name = 1;",), ("pipeline_->consumer_step();",), one.region.body,
                      one.region.starter):
            given = regions.ReaderRegion(tuple(lines), 90)
            theirs = check.check_answer(ROOT, one, tools_of(ROOT), given).to_dict()
            ours = worker.run(plan.Job("k", one.id, tuple(lines), 90), own)
            for verdict in (theirs, ours):
                verdict.pop("seconds")
            self.assertEqual(json.loads(json.dumps(theirs).replace(f"{ROOT}/", "")),
                             json.loads(json.dumps(ours)))


if __name__ == "__main__":
    support.skip_without_toml()
    support.grade_anywhere()
    unittest.main()
