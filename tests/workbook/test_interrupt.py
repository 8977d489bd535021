"""Ctrl-C and SIGTERM: a clean message, the right status, no child left."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

from support import QUICK_VENV, CheckoutTest, environment, rewrite, write_script

WAIT_SECONDS = 60


class Interrupted(CheckoutTest):
    def start(self, root, words=("run", "5", "--sim"), **changes):
        """The command in a process group of its own, like a shell's foreground job."""
        changes.setdefault("CUDA_HOME", self.toolkit)
        process = subprocess.Popen([sys.executable, str(root / "workbook"), *words],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   universal_newlines=True, start_new_session=True,
                                   env=environment(**changes))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def wait_for(self, path):
        deadline = time.monotonic() + WAIT_SECONDS
        while not (path.exists() and path.read_text(encoding="utf-8").strip()):
            self.assertLess(time.monotonic(), deadline, f"{path.name} was never written")
            time.sleep(0.02)
        return int(path.read_text(encoding="utf-8"))

    def assert_gone(self, pid):
        deadline = time.monotonic() + WAIT_SECONDS
        while _is_alive(pid):
            self.assertLess(time.monotonic(), deadline, "the child is still running")
            time.sleep(0.02)

    def sleeping_program(self):
        """A program that writes its process id and sleeps."""
        root = self.checkout()
        self.program.write_text(
            "#include <cstdio>\n#include <unistd.h>\nint main() {\n"
            f"  if (FILE* f = std::fopen(\"{self.folder}/pid\", \"w\")) {{\n"
            "    std::fprintf(f, \"%d\\n\", getpid());\n    std::fclose(f);\n  }\n"
            "  sleep(100);\n}\n", encoding="utf-8")
        return root

    def sleeping_build(self, first=""):
        """A build step that does `first`, writes its process id and sleeps."""
        root = self.checkout()
        with open(root / "CMakeLists.txt", "a", encoding="utf-8") as lists:
            lists.write("add_custom_target(wait ALL COMMAND sh -c "
                        f"\"{first}echo $$ > {self.folder}/pid && exec sleep 100\" VERBATIM)\n"
                        "add_dependencies(05_blockwise_fp8_gemm wait)\n")
        return root

    def check(self, root, status, message, stop, **changes):
        process = self.start(root, **changes)
        child = self.wait_for(self.folder / "pid")
        stop(process.pid)
        _, errors = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, status, errors)
        self.assertIn(message, errors)
        self.assertNotIn("Traceback", errors)
        self.assert_gone(child)

    def test_ctrl_c_in_the_program(self):
        self.check(self.sleeping_program(), 130, "Interrupted", _ctrl_c)

    def test_ctrl_c_in_the_build(self):
        self.check(self.sleeping_build(), 130, "Interrupted", _ctrl_c)

    def test_ctrl_c_in_a_build_step_that_ignores_it(self):
        self.check(self.sleeping_build("trap '' INT; "), 130, "Interrupted", _ctrl_c)

    def test_ctrl_c_in_cmake_leaves_a_folder_that_the_next_command_mends(self):
        root = self.checkout()
        lists = root / "CMakeLists.txt"
        good = lists.read_text(encoding="utf-8")
        for state in ("no build folder yet", "one that was complete"):
            with self.subTest(state):
                lists.write_text(good + "execute_process(COMMAND sh -c \"echo $$ > "
                                 f"{self.folder}/pid && exec sleep 100\")\n", encoding="utf-8")
                self.check(root, 130, "Interrupted", _ctrl_c)
                (self.folder / "pid").unlink()
                lists.write_text(good, encoding="utf-8")
                result = self.run_workbook(root, "run", "5", "--sim")
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_ctrl_c_while_packages_are_installed(self):
        root = self.checkout()
        (root / "common" / "CMakeLists.txt").write_text(
            "bw_require_package(b TARGET b DEBIAN libb-dev HEADER no/such/b.h)\n", encoding="utf-8")
        tools = self.folder / "bin"
        write_script(tools / "apt-get", f"echo $$ > {self.folder}/pid\nexec sleep 100\n")
        write_script(tools / "sudo", "test $2 = true && exit 0\nshift 2\nexec env \"$@\"\n")
        self.check(root, 130, "Interrupted", _ctrl_c, PATH=f"{tools}:/usr/bin:/bin")
        self.assertFalse((root / "build").exists())

    def test_ctrl_c_while_wheels_are_fetched(self):
        root = self.checkout()
        with socket.create_server(("127.0.0.1", 0)) as index:
            index.settimeout(WAIT_SECONDS)
            url = f"http://127.0.0.1:{index.getsockname()[1]}/simple"
            process = self.start(root, ("setup",), BW_TOOLKIT_IGNORE_SYSTEM="1",
                                 PIP_INDEX_URL=url, PIP_NO_INDEX=None, PIP_CONFIG_FILE=os.devnull,
                                 PYTHONPATH=QUICK_VENV)
            connection, _ = index.accept()  # pip asks, and gets no answer
            _ctrl_c(process.pid)
            _, errors = process.communicate(timeout=WAIT_SECONDS)
            connection.close()
        self.assertEqual(process.returncode, 130, errors)
        self.assertNotIn("Traceback", errors)
        self.assertFalse((root / ".workbook" / "installed.json").exists())

    def test_ctrl_c_while_another_command_builds(self):
        root = self.checkout()
        (root / ".workbook").mkdir()
        with open(root / ".workbook" / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = self.start(root)
            self.assertIn("waiting for it", process.stderr.readline())
            _ctrl_c(process.pid)
            _, errors = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 130, errors)
        self.assertNotIn("Traceback", errors)

    def test_ctrl_c_in_the_first_moments(self):
        root = self.checkout()
        for wait_seconds in (0.02, 0.05, 0.1):
            process = self.start(root, ("doctor",))
            time.sleep(wait_seconds)
            _ctrl_c(process.pid)
            _, errors = process.communicate(timeout=WAIT_SECONDS)
            self.assertNotIn("workbook\", line", errors)  # a traceback of ours

    def test_ctrl_c_while_python_makes_a_class(self):
        root = self.checkout()
        rewrite(root / "common" / "tools" / "cli.py",
                "class Part:\n    def __set_name__(self, owner, name):\n"
                "        raise KeyboardInterrupt\nclass Whole:\n    part = Part()\n")
        result = self.run_workbook(root, "list")
        self.assertEqual((result.returncode, result.stderr), (130, ""))

    def test_sigterm_to_the_command_alone_ends_the_program_too(self):
        self.check(self.sleeping_program(), 143, "SIGTERM", _terminate)

    def test_sigterm_to_the_command_alone_ends_the_build_too(self):
        self.check(self.sleeping_build(), 143, "SIGTERM", _terminate)


def _ctrl_c(pid):
    """What a terminal does: the whole foreground process group gets SIGINT."""
    os.killpg(pid, signal.SIGINT)


def _terminate(pid):
    os.kill(pid, signal.SIGTERM)


def _is_alive(pid):
    """Whether a process runs (one that waits for its parent to notice its end does not)."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
