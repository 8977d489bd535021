"""The trace for Perfetto: slices, flows and counters hold together and agree with the profile."""

import json
import os
import shutil
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path

from support import SIMULATED, chapter, main

from tools.timeline import perfetto, profile


def trace_processor():
    """The trace processor's program, or None: BW_TRACE_PROCESSOR, or on PATH."""
    return os.environ.get("BW_TRACE_PROCESSOR") or shutil.which("trace_processor_shell") \
        or shutil.which("trace_processor")


class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.known = {}
        for one in SIMULATED:
            launch, models = chapter(one.number)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "trace.json"
                perfetto.write(path, [("", launch, models)])
                cls.known[one.number] = (models, json.loads(path.read_text())["traceEvents"])

    def each(self):
        for number, (models, events) in self.known.items():
            with self.subTest(chapter=number):
                yield number, models, events

    def test_no_slice_is_negative_or_overlaps_another(self):
        for _, _, events in self.each():
            threads = defaultdict(list)
            for event in events:
                if event["ph"] == "X":
                    self.assertGreater(event["dur"], 0)
                    threads[(event["pid"], event["tid"])].append((event["ts"], event["dur"]))
            self.assertTrue(threads)
            for slices in threads.values():
                slices.sort()
                for (begin, length), (following, _) in zip(slices, slices[1:]):
                    self.assertLessEqual(begin + length, following)

    def test_every_flow_connects_two_slices_forwards(self):
        for number, _, events in self.each():
            slices, ends = defaultdict(list), defaultdict(dict)
            for event in events:
                if event["ph"] == "X":
                    slices[(event["pid"], event["tid"])].append((event["ts"],
                                                                 event["ts"] + event["dur"]))
                elif event["ph"] in "sf":
                    self.assertNotIn(event["ph"], ends[event["id"]])
                    ends[event["id"]][event["ph"]] = event
            self.assertTrue(ends)
            for flow in ends.values():
                self.assertEqual(set(flow), {"s", "f"})
                self.assertLess(flow["s"]["ts"], flow["f"]["ts"])
                for event in flow.values():
                    around = [one for one in slices[(event["pid"], event["tid"])]
                              if one[0] <= event["ts"] < one[1]]
                    self.assertEqual(len(around), 1, (number, event))

    def test_sums_agree_with_the_profile(self):
        for _, models, events in self.each():
            threads, sums = {}, defaultdict(int)
            for event in events:
                if event["ph"] == "M" and event["name"] == "thread_name":
                    threads[(event["pid"], event["tid"])] = event["args"]["name"]
            for event in events:
                if event["ph"] == "X" and event["cat"] in ("run", "wait", "data"):
                    role = threads[(event["pid"], event["tid"])].split(", ")[0]
                    sums[(role, event["name"])] += event["dur"]
            wanted = defaultdict(int)
            for model in models:
                for role in profile.measure(model).roles:
                    wanted[(role.name, "issues")] += role.issuing
                    wanted[(role.name, "waits for loaded data")] += role.data
                    for reason, cycles in role.waiting.items():
                        wanted[(role.name, f"waits for {reason}")] += cycles
            self.assertEqual(dict(sums), {key: cycles for key, cycles in wanted.items() if cycles})

    def test_counters_never_fall_below_zero_and_end_there(self):
        for _, _, events in self.each():
            values = defaultdict(list)
            for event in events:
                if event["ph"] == "C":
                    values[(event["pid"], event["name"])].append(event["args"]["value"])
            for (_, name), found in values.items():
                self.assertGreaterEqual(min(found), 0)
                if name == "bytes in flight":
                    self.assertEqual(found[-1], 0)

    @unittest.skipUnless(trace_processor(), "Perfetto's trace processor is not installed")
    def test_the_trace_processor_reads_it(self):
        try:
            from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
        except ImportError:
            self.skipTest("the Python package perfetto is not installed")
        for _, _, events in self.each():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "trace.json"
                path.write_text(json.dumps({"traceEvents": events}))
                with TraceProcessor(trace=str(path), config=TraceProcessorConfig(
                        bin_path=trace_processor())) as processor:
                    def count(query, processor=processor):
                        return next(iter(processor.query(query))).n
                    slices = sum(event["ph"] == "X" for event in events)
                    flows = sum(event["ph"] == "s" for event in events)
                    self.assertEqual(count("select count(*) n from slice"), slices)
                    self.assertEqual(count("select count(*) n from slice where dur < 0"), 0)
                    self.assertEqual(count("select count(*) n from flow"), flows)
                    self.assertEqual(count("select coalesce(sum(value), 0) n from stats "
                                           "where severity = 'error'"), 0)


if __name__ == "__main__":
    main()
