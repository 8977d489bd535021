"""BW_SIM_LAUNCHES: what a lab does with the device, as the file has it.

    test_launches.py BUILD_FOLDER
"""

import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

from tools.site import launches, shared_blocks  # noqa: E402

BUILD = Path(sys.argv[1]) if __name__ == "__main__" else ROOT / "build/sim"
LAB = "lab_02_one_mma"
POISON = 0xcb  # of allocated memory (machine/device_memory.cpp)


def fnv1a(content):
    """FNV-1a of 64 bits, as its authors give it."""
    value = 0xcbf29ce484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return f"{value:016x}"


def run(path, program=LAB, **settings):
    env = {name: value for name, value in os.environ.items() if not name.startswith("BW_SIM_")}
    env.update(settings, BW_SIM_LAUNCHES=str(path))
    return subprocess.run([str(BUILD / "bin" / program)], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False)


class Launches(unittest.TestCase):
    def record(self, **settings):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "launches"
            ended = run(path, **settings)
            parts = launches.parts(path.read_bytes())
        steps = [json.loads(part) for tag, part in parts if tag == b"step"]
        return ended, steps, [part for tag, part in parts if tag == b"data"]

    def test_a_lab_is_written_as_it_was_run(self):
        ended, steps, blocks = self.record(BW_SIM_STATS="1")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(steps[0]["do"], "begin")
        self.assertEqual((steps[0]["version"], steps[0]["machine"]), (1, "b200"))
        modules = [step for step in steps if step["do"] == "module"]
        self.assertTrue(modules)
        for module in modules:
            self.assertIn(b".version", blocks[module["text"]])
        launch = next(step for step in steps if step["do"] == "launch")
        self.assertIn(f".entry {launch['kernel']}(", blocks[modules[launch["module"]]["text"]].decode())
        self.assertIn(launch["kernel"], modules[launch["module"]]["registers"])
        end = next(step for step in steps if step["do"] == "end")
        printed = re.search(r"(\d+) clusters, (\d+) cycles, (\d+) warp instructions", ended.stderr)
        self.assertEqual([str(end[what]) for what in ("clusters", "cycles", "instructions")],
                         list(printed.groups()))
        self.assertFalse([step for step in steps if step["do"] in ("report", "give_up")])

    def test_the_hashes_are_those_of_what_the_host_wrote(self):
        _, steps, blocks = self.record()
        memory = {}
        for step in steps:
            if step["do"] == "allocate":
                memory[step["address"]] = bytearray([POISON] * step["bytes"])
            elif step["do"] == "write":
                start = max(one for one in memory if one <= step["address"])
                data = blocks[step["data"]]
                offset = step["address"] - start
                memory[start][offset:offset + len(data)] = data
            elif step["do"] == "end":
                break
        unchanged = [one for one in step["memory"] if one["address"] in memory
                     and fnv1a(memory[one["address"]]) == one["hash"]]
        changed = [one for one in step["memory"] if one["address"] in memory and one not in unchanged]
        self.assertGreaterEqual(len(unchanged), 2)  # A and B
        self.assertGreaterEqual(len(changed), 1)  # D

    def test_settings_and_reports_are_in_it(self):
        ended, steps, _ = self.record(BW_SIM_CYCLE_LIMIT="100", BW_SIM_SEED="7")
        self.assertNotEqual(ended.returncode, 0)
        self.assertEqual(steps[0]["settings"], {"BW_SIM_CYCLE_LIMIT": "100", "BW_SIM_SEED": "7"})
        reports = [step["report"] for step in steps if step["do"] == "report"]
        self.assertEqual(len(reports), 1)
        self.assertIn(reports[0]["code"], ended.stderr)
        self.assertFalse([step for step in steps if step["do"] == "end"])

    def test_the_event_log_can_be_of_some_clusters(self):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "events"
            settings = {"BW_SIM_EVENTS": str(log), "BW_SIM_EVENT_CLUSTERS": "1-2"}
            ended = run("", program="lab_03_persistent_tiles", **settings)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
            wrong = run("", **dict(settings, BW_SIM_EVENT_CLUSTERS="2-1"))
        self.assertEqual({one["cluster"] for one in events if "warp" in one}, {1, 2})
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn('BW_SIM_EVENT_CLUSTERS is "2-1", which is not a range', wrong.stderr)

    def test_a_file_that_cannot_be_written_is_refused(self):
        ended = run("/no/such/folder/launches")
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("the file that BW_SIM_LAUNCHES names can't be written", ended.stderr)
        self.assertNotIn("verified", ended.stdout)

    def test_blocks_are_stored_once_and_similar_ones_as_differences(self):
        numbers = random.Random(1)
        base = bytes(numbers.randrange(256) for _ in range(8192))
        near = bytes((byte + numbers.randrange(2)) % 256 for byte in base) + bytes(range(100))
        other = bytes(numbers.randrange(256) for _ in range(9000))
        blocks = shared_blocks.Blocks()
        names = [blocks.add(block) for block in (near, base, other, base, b"short " * 300)]
        self.assertEqual(names[1], names[3])
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            (folder / ("0" * 16 + shared_blocks.SUFFIX)).write_bytes(b"of an earlier recording")
            blocks.write(folder)
            parents = json.loads((folder / shared_blocks.INDEX).read_text(encoding="utf-8"))
            files = {path.name.split(".")[0]: path.read_bytes() for path in folder.glob("*.gz")}
        self.assertEqual(set(files), set(names))
        self.assertEqual(parents, {names[0]: names[1]})
        difference = gzip.decompress(files[names[0]])
        self.assertEqual([(a + b) % 256 for a, b in zip(difference, base)], list(near[:8192]))
        self.assertEqual(difference[8192:], near[8192:])
        self.assertEqual([gzip.decompress(files[name]) for name in names[1:3]], [base, other])
        self.assertLess(len(files[names[0]]), len(files[names[1]]) / 4)

    def test_a_damaged_file_is_refused(self):
        cut_off = launches.MAGIC + b"data\0\0\0\0" + (5).to_bytes(8, "little") + b"four"
        for content in (b"", b"something else", launches.MAGIC + b"step", cut_off):
            with self.assertRaisesRegex(launches.WorkbookError, "file of launches"):
                launches.parts(content)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
