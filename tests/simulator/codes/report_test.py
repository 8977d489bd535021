"""report_test.py <codes_examples>: how reports reach people and programs. On a terminal they have
colours and fit it, elsewhere neither; BW_SIM_REPORT names a file of JSON; warnings don't end a run."""

import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "common"))
from tools import codes  # noqa: E402

PROGRAM = ""
FAULT = 70


def run(code, form, **settings):
    env = {name: value for name, value in os.environ.items() if not name.startswith("BW_SIM_")}
    return subprocess.run([PROGRAM, code, form], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=60, env={**env, **settings}, check=False)


def run_on_terminal(code, columns, **settings):
    """What it writes on stderr, where that is a terminal."""
    main, other = pty.openpty()
    ioctl(other, TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen([PROGRAM, code, "faulty"], stdout=subprocess.DEVNULL, stderr=other,
                          env={**env, "TERM": "xterm", **settings}) as process:
        os.close(other)
        text = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:  # the other end has gone
                break
            if not part:
                break
            text += part
        process.wait()
    os.close(main)
    return text.decode().replace("\r\n", "\n")


class Terminal(unittest.TestCase):
    def test_colours_on_a_terminal_alone(self):
        self.assertIn("\x1b[1;31msimulator: contract violation BW-B06:\x1b[0m",
                      run_on_terminal("BW-B06", 200))
        for quiet in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", run_on_terminal("BW-B06", 200, **quiet))
        self.assertIn("\x1b", run_on_terminal("BW-B06", 200, NO_COLOR=""))
        self.assertNotIn("\x1b", run("BW-B06", "faulty").stderr)

    def test_lines_fit_the_terminal(self):
        narrow = run_on_terminal("BW-B06", 60, NO_COLOR="1")
        for line in narrow.splitlines():
            self.assertTrue(len(line) <= 60 or " " not in line.strip(), line)
        self.assertGreater(max(map(len, run("BW-B06", "faulty").stderr.splitlines())), 100)

    def test_the_line_of_source_and_a_caret(self):
        lines = run("BW-B06", "faulty").stderr.splitlines()
        at = next(i for i, line in enumerate(lines) if line.endswith("|   full.arrive();"))
        self.assertRegex(lines[at], r"^  5 \| ")
        self.assertRegex(lines[at + 1], r"^    \|   \^$")


class Files(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.file = Path(self._folder.name) / "report.json"

    def tearDown(self):
        self._folder.cleanup()

    def read(self):
        return json.loads(self.file.read_text(encoding="utf-8"))

    def test_a_fault(self):
        done = run("BW-B06", "faulty", BW_SIM_REPORT=str(self.file))
        self.assertEqual(done.returncode, FAULT)
        report = self.read()
        self.assertEqual((report["schema"], report["complete"], report["warnings"]), (1, True, []))
        (error,) = report["errors"]
        self.assertEqual((error["code"], error["severity"], error["kind"], error["count"]),
                         ("BW-B06", "error", "contract violation", 1))
        self.assertEqual(error["text"].splitlines()[0],
                         f"simulator: contract violation BW-B06: {error['what']}")
        place = error["places"][0]
        self.assertEqual((Path(place["file"]).name, place["line"], place["warp"], place["cta"]),
                         ("BW-B06.cu", 5, 0, [0, 0, 0]))
        self.assertTrue(place["opcode"].startswith("mbarrier.arrive"))
        self.assertIn("kernel", place["kernel"])

    def test_a_run_without_a_word(self):
        self.file.write_text("of the run before")
        done = run("BW-B06", "mended", BW_SIM_REPORT=str(self.file))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.read()["errors"], self.read()["warnings"]), ([], []))

    def test_a_warning(self):
        done = run("BW-B16", "faulty", BW_SIM_REPORT=str(self.file), BW_SIM_STRICTNESS="hardware",
                   BW_SIM_STATS="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall("^simulator: warning BW-B16: ", done.stderr, re.M)), 1)
        self.assertRegex(done.stderr, r"simulator: .* clusters, .*, BW-B16 1 time\n")
        (warning,) = self.read()["warnings"]
        self.assertEqual((warning["code"], warning["severity"], warning["count"]),
                         ("BW-B16", "warning", 1))
        self.assertEqual(self.read()["errors"], [])

    def test_a_file_that_can_not_be_written(self):
        plain = run("BW-B06", "faulty")
        for place in ("/no/such/folder/report.json", self._folder.name):
            done = run("BW-B06", "faulty", BW_SIM_REPORT=place)
            self.assertEqual(done.returncode, plain.returncode)
            head, _, rest = done.stderr.partition("\nsimulator: contract violation")
            self.assertIn("simulator: warning BW-S02: the file " + place, head)
            self.assertEqual("simulator: contract violation" + rest, plain.stderr)
            good = run("BW-B06", "mended", BW_SIM_REPORT=place)
            self.assertEqual(good.returncode, 0)
            self.assertIn("BW-S02", good.stderr)

    def test_a_link_stays_a_link(self):
        other = self.file.with_name("other.json")
        self.file.symlink_to(other)
        run("BW-B06", "faulty", BW_SIM_REPORT=str(self.file))
        self.assertTrue(self.file.is_symlink())
        self.assertEqual(self.read()["errors"][0]["code"], "BW-B06")


class OtherReleases(unittest.TestCase):
    """What a release of nvcc may change in a report, and what it may not."""

    PAGE = ("simulator: contract violation BW-X12: register %r5 is read",
            "  where: BW-X12.cu:9: `st.global.u32` in k, CTA (0,0,0), cycle 12", "  9 |   data[0] = 1;")
    OTHER = ("simulator: contract violation BW-X12: register %r17 is read before",
             "  where: BW-X12.cu:8: `st.global.b32` in k, CTA (0,0,0), cycle 13", "  8 |   data[0] =")

    def equal(self, page, other):
        return codes.without_choices_of_compiler(page) == codes.without_choices_of_compiler(other)

    def test_registers_lines_times_and_types_by_size(self):
        other = [line.replace(" before", "") for line in self.OTHER]
        self.assertTrue(self.equal(self.PAGE, other))

    def test_words_codes_and_opcodes_have_to_be_equal(self):
        self.assertFalse(self.equal(self.PAGE, self.OTHER))
        for old, new in (("BW-X12:", "BW-X13:"), ("st.global", "st.shared"), ("u32", "u64"),
                         ("(0,0,0)", "(1,0,0)")):
            self.assertFalse(self.equal(self.PAGE, [line.replace(old, new) for line in self.PAGE]), old)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
