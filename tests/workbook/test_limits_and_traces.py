"""Children that misbehave end in time; event logs are read."""

import os
import time
import unittest
from pathlib import Path

import support
from tools import limited, runs
from tools.errors import WorkbookError
from tools.trace import Trace


class Limits(unittest.TestCase):
    def run_all(self, *scripts, **options):
        return limited.run_all([["sh", "-c", script] for script in scripts],
                               options.pop("seconds", 20), **options)

    def test_results_are_in_order_and_streams_apart(self):
        ended = self.run_all("sleep 0.2; echo a", "echo b >&2; exit 3", parallel=2)
        self.assertEqual([(one.status, one.output, one.errors) for one in ended],
                         [(0, "a\n", ""), (3, "", "b\n")])

    def test_one_that_goes_on_is_ended_with_its_children(self):
        begin = time.monotonic()
        ended, = self.run_all("sleep 300 & echo $!; wait", seconds=0.5)
        self.assertTrue(ended.timed_out)
        self.assertLess(time.monotonic() - begin, 10)
        self.assertFalse(self.lives(int(ended.output)))

    def test_one_that_prints_without_end_is_ended(self):
        ended, = self.run_all("yes", most_bytes=100_000)
        self.assertTrue(ended.printed_too_much)
        self.assertLess(len(ended.output), 1_000_000)

    def test_more_output_than_a_pipe_holds(self):
        ended, = self.run_all("head -c 500000 /dev/zero | tr '\\0' x")
        self.assertEqual(len(ended.output), 500_000)

    def test_one_that_closes_its_streams_and_goes_on(self):
        ended, = self.run_all("exec >&- 2>&-; sleep 300", seconds=0.5)
        self.assertTrue(ended.timed_out)

    def test_a_program_that_does_not_exist(self):
        with self.assertRaisesRegex(WorkbookError, "could not be started"):
            limited.run(["/no/such/program"], 5)

    @staticmethod
    def lives(pid):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return "Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]


class Cycles(unittest.TestCase):
    def result(self, output, *launches):
        return runs.Result(0, output, "", 0.1, sum(launches), (), launch_cycles=launches)

    def test_a_budget_compares_what_the_simulator_counted(self):
        for output in ("", "cycles   1\n", "metric cycles 1\n"):
            self.assertEqual(self.result(output, 1300, 1250).measured_cycles, 1250)
            self.assertEqual(self.result(output, 5, 1100, 0).measured_cycles, 1100, output)
            self.assertEqual(self.result(output).measured_cycles, 0)

    def test_the_kernel_that_a_lab_times(self):
        self.assertEqual(self.result("cycles   1200\n", 1300, 1250).kernel_cycles, 1200,
                         "by the SM's clock")
        self.assertEqual(self.result("cycles   1200\n", 5, 1100, 0).kernel_cycles, 1100,
                         "by events, beside an empty one")
        self.assertEqual(self.result("nothing\n", 30, 40).kernel_cycles, 70)

    def test_what_does_not_verify(self):
        self.assertTrue(self.result("").verified)
        self.assertFalse(runs.Result(1, "", "", 0.1, 0, ()).verified)
        self.assertFalse(runs.Result(0, "", "", 0.1, 0, (), timed_out=True).verified)


class Traces(unittest.TestCase):
    def read(self, text):
        with support.tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "events.jsonl"
            path.write_text(text, encoding="utf-8")
            return Trace.read(path, "out")

    def test_launches_and_events(self):
        trace = self.read('{"event": "launch", "kernel": "a"}\n'
                          '{"event": "mbarrier_wait", "parity": 1, "file": "f.cuh", "line": 3}\n'
                          '{"event": "mbarrier_wait", "parity": 0, "file": "g.cuh", "line": 9, '
                          '"stack": ["f.cuh:4", "g.cuh:9"]}\n'
                          '{"event": "launch_end", "cycles": 12}\n'
                          '{"event": "launch", "kernel": "b"}\n')
        self.assertEqual([launch.kernel for launch in trace.launches], ["a", "b"])
        self.assertEqual(trace.launches[0].cycles, 12)
        self.assertIsNone(trace.launches[1].end)
        self.assertEqual([wait.parity for wait in trace.of("mbarrier_wait")], [1, 0])
        self.assertEqual(trace.of("mbarrier_wait", parity=0)[0].line, 9)
        self.assertIsNone(trace.first("mbarrier_wait").warp)
        self.assertEqual([wait.at("f.cuh") for wait in trace.events], [True, True])
        self.assertEqual([wait.at("f.cuh", 4) for wait in trace.events], [False, True])
        with self.assertRaisesRegex(WorkbookError, "no event tmem_alloc"):
            trace.first("tmem_alloc")

    def test_a_log_that_can_not_be_read(self):
        with self.assertRaisesRegex(WorkbookError, "holds no launch"):
            self.read("")
        with self.assertRaisesRegex(WorkbookError, "events.jsonl:1: this is not an event"):
            self.read("{\n")
        with self.assertRaisesRegex(WorkbookError, "can't be read"):
            Trace.read("/no/such/log")


if __name__ == "__main__":
    unittest.main()
