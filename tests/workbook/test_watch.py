"""watch: checks what was saved, keys, Ctrl-C; on a terminal and without one."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

from exercise_support import ExerciseTest, main
from support import environment

WAIT_SECONDS = 60


class Session:
    """`./workbook watch` on a terminal of its own."""

    def __init__(self, test, root, *arguments):
        self.test = test
        self.leader, follower = pty.openpty()
        self.before = termios.tcgetattr(self.leader)
        self.process = subprocess.Popen(
            [sys.executable, str(root / "workbook"), "watch", *arguments], stdin=follower,
            stdout=follower, stderr=follower, start_new_session=True,
            preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),  # our terminal
            env=environment(CUDA_HOME=test.toolkit, TERM="xterm", COLUMNS="100", EDITOR=None,
                            VISUAL=None, DISPLAY=None, WAYLAND_DISPLAY=None, TERM_PROGRAM=None))
        os.close(follower)
        self.text = ""
        test.addCleanup(self.close)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.leader)

    def read_until(self, words):
        """What was printed up to `words`; they are taken off."""
        deadline = time.monotonic() + WAIT_SECONDS
        while words not in self.text:
            self.test.assertLess(time.monotonic(), deadline, f"no {words!r} in:\n{self.text}")
            if select.select([self.leader], [], [], 0.1)[0]:
                self.text += os.read(self.leader, 4096).decode("utf-8", "replace")
        before, self.text = self.text.split(words, 1)
        return before

    def press(self, key):
        os.write(self.leader, key.encode())

    def wait(self):
        """The exit status, with everything that was still printed in `text`."""
        deadline = time.monotonic() + WAIT_SECONDS
        while self.process.poll() is None:
            self.test.assertLess(time.monotonic(), deadline, self.text)
            self.drain()
        self.drain()
        return self.process.returncode

    def drain(self):
        while select.select([self.leader], [], [], 0.1)[0]:
            try:
                self.text += os.read(self.leader, 4096).decode("utf-8", "replace")
            except OSError:
                return

    def is_as_before(self):
        return termios.tcgetattr(self.leader)[3] == self.before[3]


class Watch(ExerciseTest):
    def setUp(self):
        super().setUp()
        self.root = self.exercises()

    def start(self, *arguments):
        session = Session(self, self.root, *arguments)
        session.read_until("Checking 1.1")  # at once, before anything is built
        session.read_until(" quit")
        return session

    def checked(self):
        return (self.root / "checked").read_text(encoding="utf-8").split()

    def test_a_save_checks_what_changed_and_nothing_else(self):
        session = self.start()
        self.write_answer(first="    stage = stage + 1;")
        session.read_until("not right yet")
        session.read_until(" quit")
        self.write_answer(first="    stage = stage + 1;", second="    arrive();  // RIGHT")
        self.assertIn("in your file", session.read_until("The index wraps"))
        session.read_until(" quit")
        self.write_answer(first="    stage = 0;  // RIGHT", second="    arrive();  // RIGHT")
        session.read_until("The index wraps")
        self.assertEqual(self.checked(), ["1.1", "1.1", "1.2", "1.1"])
        session.press("q")
        self.assertEqual(session.wait(), 0, session.text)
        self.assertTrue(session.is_as_before())

    def test_a_file_that_is_replaced_on_save_is_seen_and_one_without_a_change_is_not(self):
        session = self.start()
        text = self.reader_file.read_text(encoding="utf-8")
        self.reader_file.write_text(text, encoding="utf-8")
        new = self.reader_file.with_suffix(".new")
        new.write_text(text.replace("// TODO", "// RIGHT", 1), encoding="utf-8")
        new.replace(self.reader_file)
        session.read_until("The index wraps")
        self.assertEqual(self.checked(), ["1.1", "1.1"])

    def test_keys(self):
        session = self.start()
        session.press("h")
        session.read_until("Which stage follows the last one?")
        session.press("l")
        session.read_until("0 of 3 exercises passed")
        session.press("d")
        session.read_until("would spoil it")
        session.press("t")
        session.read_until("has no program yet")
        session.press("n")
        session.read_until("1.2  Hand the stage over")
        session.press("r")
        session.read_until("Exercise 1.2 is not done yet")
        session.read_until(" quit")
        self.write_answer(second="    stage = stage + 1;")
        session.read_until("not right yet")
        session.read_until(" quit")
        session.press("r")
        session.read_until("with your lines in")
        session.read_until(" quit")
        session.press("q")
        self.assertEqual(session.wait(), 0, session.text)
        self.assertTrue(session.is_as_before())

    def test_a_mark_that_is_gone_is_said_and_the_watch_goes_on(self):
        session = self.start()
        text = self.reader_file.read_text(encoding="utf-8")
        self.reader_file.write_text(text.replace("// <<< exercise 1.1", ""), encoding="utf-8")
        session.read_until("a mark of exercise 1.1 is gone")
        session.read_until(" quit")
        self.write_answer(first="    // RIGHT")
        session.read_until("The index wraps")

    def test_q_ends_a_check_that_runs(self):
        session = self.start()
        self.write_answer(first="    // HANG")
        self.wait_for_file(self.root / "hanging")
        session.press("q")
        self.assertEqual(session.wait(), 0, session.text)
        self.assertTrue(session.is_as_before())

    def test_ctrl_c_while_it_waits_and_while_it_checks(self):
        for hanging in (False, True):
            with self.subTest(hanging=hanging):
                self.write_answer()
                session = self.start()
                if hanging:
                    self.write_answer(first="    // HANG")
                    self.wait_for_file(self.root / "hanging")
                os.killpg(session.process.pid, signal.SIGINT)
                self.assertEqual(session.wait(), 130, session.text)
                self.assertNotIn("Traceback", session.text)
                self.assertTrue(session.is_as_before())

    def test_without_a_terminal_it_checks_and_ends_by_a_signal(self):
        process = subprocess.Popen([sys.executable, str(self.root / "workbook"), "watch", "1.2"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, universal_newlines=True,
                                   start_new_session=True, env=environment(CUDA_HOME=self.toolkit))
        self.addCleanup(process.stdout.close)
        text = ""
        while "Waiting for the next save" not in text:
            line = process.stdout.readline()
            self.assertTrue(line, text)
            text += line
        self.assertIn("Checking 1.2", text)
        os.killpg(process.pid, signal.SIGINT)
        rest, _ = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 130, rest)
        self.assertNotIn("Traceback", rest)

    def test_an_exercise_that_does_not_exist(self):
        self.assert_clear_error(self.run_workbook(self.root, "watch", "1.9"), "no exercise '1.9'",
                                code=2)

    def wait_for_file(self, path):
        deadline = time.monotonic() + WAIT_SECONDS
        while not path.exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        path.unlink()


if __name__ == "__main__":
    main()
