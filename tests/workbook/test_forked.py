"""A script in a fork of the test's Python, compared with the same script in a Python of its own."""

import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import forked
import support

# Each ends in another way.
_ENDS = ("", "sys.exit(3)", "sys.exit('a sentence')", "raise SystemExit", "1 / 0",
         "os.kill(os.getpid(), signal.SIGKILL)", "os.execvp('sh', ['sh', '-c', 'echo $OWN; exit 7'])",
         "subprocess.run(['cat'], check=True)")
_SCRIPT = """\
import atexit, os, signal, subprocess, sys, threading, warnings
atexit.register(print, "at the end")
print(sys.argv, sys.path[0], sys.path[1:].count(sys.path[0]), __name__, os.environ.get("OWN"),
      sys.dont_write_bytecode, input if sys.stdin.read() else "no input")
print([(stream.encoding, stream.errors, stream.isatty(), stream.fileno())
       for stream in (sys.stdin, sys.stdout, sys.stderr)])
print(sorted(name for name in sys.modules if name.split(".")[0] == "tools"), len(threading.enumerate()))
print("an error: \\udcff \u00e4", file=sys.stderr)
warnings.warn("one that is shown", UserWarning)
warnings.warn("one that is not", ResourceWarning)
print(sorted(int(name) for name in os.listdir("/proc/self/fd"))[:3])
sys.stdout.flush()
"""


class Forked(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="forked_")
        self.addCleanup(holder.cleanup)
        self.script = Path(holder.name) / "script"

    def run_both(self, text, *words, **changes):
        self.script.write_text(text, encoding="utf-8")
        env = support.environment(**changes)
        own = subprocess.run([sys.executable, str(self.script), *words], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, universal_newlines=True,
                             timeout=support.SECONDS, env=env, check=False)
        self.assertTrue(forked.can_run(env))
        return own, forked.run(self.script, words, env, support.SECONDS)

    def test_it_does_what_a_python_of_its_own_does(self):
        from tools import errors  # noqa: F401  (a module of the test's, which the script does not see)
        with warnings.catch_warnings():
            warnings.simplefilter("always")  # as unittest sets it
            for end in _ENDS:
                with self.subTest(end):
                    own, fork = self.run_both(_SCRIPT + end + "\n", "a word", "--b", OWN="mine")
                    self.assertEqual((fork.returncode, fork.stdout), (own.returncode, own.stdout))
                    # What a traceback says of the frames above the script differs.
                    for result in (own, fork):
                        result.stderr = [line for line in result.stderr.splitlines()
                                         if not line.startswith("  ")]
                    self.assertEqual(fork.stderr, own.stderr)

    def test_the_test_goes_on_as_before(self):
        before = dict(os.environ), list(sys.path), sys.argv[:], sys.stdout
        self.run_both("import os, sys\nos.environ['X'] = 'y'\nos.chdir('/')\nsys.path.clear()\n")
        self.assertEqual((dict(os.environ), list(sys.path), sys.argv[:], sys.stdout), before)

    def test_one_that_has_no_end_is_ended(self):
        self.script.write_text("while True: pass\n", encoding="utf-8")
        with self.assertRaises(subprocess.TimeoutExpired):
            forked.run(self.script, (), support.environment(), 0.2)

    def test_what_python_reads_at_its_start_takes_a_python_of_its_own(self):
        for name in ("PYTHONPATH", "PYTHONUTF8", "LC_ALL", "LANG"):
            self.assertFalse(forked.can_run(support.environment(**{name: "other"})), name)


if __name__ == "__main__":
    # Where the reader has set one of these, scripts get a Python of their own. The fork is tested from a
    # Python that was started without them.
    if [name for name in ("PYTHONPATH", "PYTHONIOENCODING") if os.environ.pop(name, None)]:
        os.execv(sys.executable, [sys.executable, "-B", *sys.argv])
    unittest.main()
