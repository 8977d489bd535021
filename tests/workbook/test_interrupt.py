"""Ctrl-C and SIGTERM: a clean message, the right status, no child left."""

import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from support import CheckoutTest, environment

WAIT_SECONDS = 60


class Interrupted(CheckoutTest):
    def start(self, root):
        """The command in a process group of its own, like a shell's foreground job."""
        process = subprocess.Popen([sys.executable, str(root / "workbook"), "run", "5", "--sim"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   universal_newlines=True, start_new_session=True,
                                   env=environment(CUDA_HOME=self.toolkit))
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

    def check(self, root, status, message, stop):
        process = self.start(root)
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
