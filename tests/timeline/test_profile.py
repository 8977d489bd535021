"""Profiles of kernels of which it is known what limits them, and of every chapter."""

import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from support import BUILD, CHAPTERS, QUICK, ROOT, last, main, run

from tools.console import Console
from tools.errors import WorkbookError
from tools.setup import Tools
from tools.timeline import command, critical, profile


class Limits(unittest.TestCase):
    def limit_of(self, kind):
        _, models = last("bound_by", kind)
        measured = profile.measure(models[0])
        return next(iter(measured.chain)), profile.limit(measured), measured

    def test_the_tensor_core(self):
        first, sentence, measured = self.limit_of("tensor-core")
        self.assertEqual(first[0], critical.TENSOR_CORE)
        self.assertTrue(sentence.startswith("The tensor core limits this run"), sentence)
        self.assertGreater(measured.tensor_busy[0], 0.8 * measured.cycles)

    def test_loads(self):
        first, sentence, _ = self.limit_of("loads")
        self.assertEqual(first[0], critical.LOADS)
        self.assertTrue(sentence.startswith("Copies into shared memory limit this run"), sentence)

    def test_the_epilogue(self):
        first, sentence, _ = self.limit_of("epilogue")
        self.assertEqual(first, (critical.ROLE, "write"))
        self.assertTrue(sentence.startswith("The role write limits this run"), sentence)

    def test_barriers(self):
        first, sentence, _ = self.limit_of("barriers")
        self.assertEqual(first[0], critical.HAND_OVER)
        self.assertTrue(sentence.startswith("The barriers limit this run"), sentence)

    def test_a_run_that_never_ends(self):
        _, models = last("bound_by", "nothing")
        self.assertIn("did not end", profile.limit(profile.measure(models[0])))

    def test_bytes_are_those_of_the_copies(self):
        # 8 tiles of 4 stages of two operands of 16 KiB.
        _, _, measured = self.limit_of("loads")
        self.assertEqual(measured.bytes, {"global to shared memory": 8 * 4 * 2 * 128 * 128})

    def test_shares_are_whole(self):
        _, _, measured = self.limit_of("epilogue")
        for role in measured.roles:
            self.assertEqual(role.issuing + role.data + sum(role.waiting.values()), role.cycles)


class Commands(unittest.TestCase):
    """`timeline NN` and `profile NN` of every chapter that the simulator runs."""

    def call(self, function, number, **arguments):
        arguments = SimpleNamespace(**dict(dict(
            chapter=str(number), rest=list(QUICK.get(number, ())), against=None, cluster=None,
            cycles=None, launch=None, output=None, open=False), **arguments))
        tools = Tools("cmake", "ctest", None, dict(os.environ))
        output = io.StringIO()
        console = Console(io.StringIO())
        # The programs are built, and print into the test's own output.
        with mock.patch("tools.commands.prepare", return_value=tools), \
                mock.patch("tools.build.program", lambda _r, _c, name: BUILD / "bin" / name), \
                contextlib.redirect_stdout(output):
            return function(ROOT, console, arguments), output.getvalue()

    def test_timeline(self):
        for one in CHAPTERS:
            with self.subTest(chapter=one.number), tempfile.TemporaryDirectory() as folder:
                status, output = self.call(command.do_timeline, one.number, output=folder)
                self.assertEqual(status, 0)
                for ending in (".html", ".svg", ".perfetto.json"):
                    path = Path(folder) / (one.name + ending)
                    self.assertIn(str(path), output)
                    self.assertGreater(path.stat().st_size, 1000)
                self.assertEqual([path.name for path in Path(folder).glob("recording*")], [])

    def test_profile(self):
        for one in CHAPTERS:
            with self.subTest(chapter=one.number):
                status, output = self.call(command.simulated_profile, one.number)
                self.assertEqual(status, 0)
                self.assertIn("issuing", output)
                self.assertRegex(output, r"limits? this run")

    def test_two_configurations(self):
        with tempfile.TemporaryDirectory() as folder:
            self.call(command.do_timeline, 3, output=folder, against="--m 128 --n 128 --k 1024")
            page = (Path(folder) / "03_warp_contexts.html").read_text(encoding="utf-8")
            self.assertIn('"label":"--m 128 --n 128 --k 1024"', page)

    def test_a_recording_is_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mine.rec"
            path.write_bytes(run("bound_by", "barriers")[0])
            status, output = self.call(command.do_timeline, path, output=folder, rest=[])
            self.assertEqual(status, 0)
            self.assertIn("token_kernel", (Path(folder) / "mine.html").read_text(encoding="utf-8"))
            with self.assertRaisesRegex(WorkbookError, "is a recording"):
                self.call(command.do_timeline, path, output=folder, rest=["--m", "1"])
            path.write_bytes(b"something else")
            with self.assertRaisesRegex(WorkbookError, "no recording"):
                self.call(command.do_timeline, path, output=folder, rest=[])

    def test_what_can_not_be_done(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments, words in (
                    (dict(launch=7), "name one from 1 to 1"),
                    (dict(against="--m '128"), "quotation marks"),
                    (dict(cluster="x"), "--cluster x: this is no range"),
                    (dict(cycles="5-4"), "--cycles 5-4: this is no range"),
                    (dict(rest=["--help"]), "no kernel"),
                    (dict(cluster="7"), "nothing to draw")):
                with self.subTest(**arguments), self.assertRaisesRegex(WorkbookError, words):
                    self.call(command.do_timeline, 2, output=folder, **arguments)


if __name__ == "__main__":
    main()
