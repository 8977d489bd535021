"""The trace for Perfetto: slices, flows and counters hold together and agree with the profile."""

import json
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path

import trace_processor
from support import CHAPTERS, chapter, last, main

from tools.timeline import perfetto, profile

NS_PER_CYCLE = 1000  # one cycle is shown as a microsecond


def profiled_sums(models):
    """{(role, name of a slice): cycles}, by the profile's table."""
    sums = defaultdict(int)
    for model in models:
        for role in profile.measure(model).roles:
            sums[(role.name, "issues")] += role.issuing
            sums[(role.name, "waits for loaded data")] += role.data
            for reason, cycles in role.waiting.items():
                sums[(role.name, f"waits for {reason}")] += cycles
    return {key: cycles for key, cycles in sums.items() if cycles}


class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Each chapter's run, and one that never ends."""
        cls.runs = [(f"chapter {one.number}", *chapter(one.number)) for one in CHAPTERS]
        # With constant times its warps wait for each other before one waits forever.
        cls.runs.append(("deadlock", *last("bound_by", "nothing", BW_SIM_TIMING="simple")))
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.known = {}
        for label, launch, models in cls.runs:
            path = Path(cls.folder.name) / "trace.json"
            perfetto.write(path, [("", launch, models)])
            cls.known[label] = (models, json.loads(path.read_text())["traceEvents"])

    def each(self):
        for label, (models, events) in self.known.items():
            with self.subTest(run=label):
                yield label, models, events

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
            self.assertEqual(dict(sums), profiled_sums(models))

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

    @unittest.skipIf(trace_processor.missing(), trace_processor.missing())
    def test_perfettos_trace_processor_reads_it(self):
        path = Path(self.folder.name) / "all.json"
        perfetto.write(path, self.runs)  # all of them in one trace, as `--against` writes two
        with trace_processor.opened(path) as session:
            self.look_at(session)

    def look_at(self, session):
        def rows(query):
            return [tuple(vars(row).values()) for row in session.query(query)]

        def count(query):
            return rows(f"select count(*) n from {query}")[0][0]

        events = [event for _, events in self.known.values() for event in events]
        self.assertEqual(rows("select name, value from stats "
                              "where severity in ('error', 'data_loss') and value > 0"), [])
        self.assertEqual(count("slice"), sum(event["ph"] == "X" for event in events))
        self.assertEqual(count("slice where dur <= 0"), 0)
        self.assertEqual(count("flow"), sum(event["ph"] == "s" for event in events))
        # Each flow connects a slice with one that is still there later.
        self.assertEqual(count("flow join slice as source on flow.slice_out = source.id "
                               "join slice as target on flow.slice_in = target.id "
                               "where source.ts < target.ts + target.dur"), count("flow"))
        self.assertEqual(count("counter where value < 0"), 0)
        sums = defaultdict(lambda: defaultdict(int))
        for process, thread, name, nanoseconds in rows(
                "select process.name p, thread.name t, slice.name n, sum(slice.dur) d from slice "
                "join thread_track on slice.track_id = thread_track.id join thread using (utid) "
                "join process using (upid) where slice.category in ('run', 'wait', 'data') "
                "group by 1, 2, 3"):
            sums[process.split(":")[0]][(thread.split(", ")[0], name)] += nanoseconds
        for label, _, models in self.runs:
            with self.subTest(run=label):
                self.assertEqual(sums[label], {key: cycles * NS_PER_CYCLE for key, cycles
                                               in profiled_sums(models).items()})


if __name__ == "__main__":
    main()
