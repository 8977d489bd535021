"""The rows of a profile, its rings and its sentence, from counts that are put in by hand."""

import unittest
from types import SimpleNamespace

from support import main

from tools.timeline import critical, metrics, profile, profile_command, statistics
from tools.timeline.model import EMPTY, FILLING, FULL, READING, Ring, StageTrack


def record(**changes):
    """Two CTAs on two SMs for 1000 cycles: a warp each, which issues 100 times."""
    found = {
        "statistics": 1, "timing": "model", "status": "finished", "cycles": 1000, "nanoseconds": 500,
        "alone_cycles": 1000, "clock_ghz": 2.0, "sms": 4, "clusters": 2, "cluster_shape": [1, 1, 1],
        "resident_clusters": 4, "ctas_per_sm": 1, "ctas": 2, "cta_cycles": 2000,
        "warps": [{"rank": 0, "warp": 0, "warps": 2, "cycles": 2000, "instructions": 300,
                   "issued": 200,
                   "stalls": {"fixed": 400, "pipe": 20, "issue": 0, "shared": 80, "global": 100,
                              "shared_queue": 40, "global_queue": 60},
                   "waits": [{"for": "mbarrier", "barrier": 0, "times": 2, "cycles": 700},
                             {"for": "named_barrier", "id": 1, "times": 2, "cycles": 400}]}],
        "barriers": [{"barrier_rank": 0, "barrier_offset": 16, "barrier": "full",
                      "barrier_init": "kernel.cu:7"}],
        "copies": [{"unit": "bulk", "direction": "load", "copies": 2, "bytes": 512,
                    "written_bytes": 1024},
                   {"unit": "cp_async", "direction": "load", "copies": 2, "bytes": 64,
                    "written_bytes": 64}],
        "threads_shared_memory": {"read_bytes": 0, "written_bytes": 0, "passes": 400,
                                  "conflict_passes": 31},
        "l1": {"hit_bytes": 96, "miss_bytes": 32},
        "l2": {"tma_load": {"hit_bytes": 128, "miss_bytes": 384},
               "tma_store": {"hit_bytes": 0, "miss_bytes": 0},
               "thread_load": {"hit_bytes": 0, "miss_bytes": 64},
               "thread_store": {"hit_bytes": 64, "miss_bytes": 0}},
        "memory": {"read_bytes": 448, "written_bytes": 52},
        "used": {"issue_slots": 220, "shared_memory_cycles": 1000, "tensor_cycles": 1600,
                 "l2_read_bytes": 640, "l2_written_bytes": 64, "hbm_bytes": 448},
        "capacity_per_cycle": {"issue_slots": 4, "l2_read_bytes": 2, "l2_written_bytes": 1,
                               "hbm_bytes": 1},
    }
    found.update(changes)
    return found


def stalled(reason):
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


class Rows(unittest.TestCase):
    def test_by_hand(self):
        values = metrics.values(record())
        for metric, value in (
                ("gpu__time_duration.sum", 500),
                ("sm__cycles_elapsed.max", 1000),
                ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", 40),
                ("smsp__issue_active.avg.pct_of_peak_sustained_active", 100 * 200 / (4 * 2000)),
                ("sm__warps_active.avg.pct_of_peak_sustained_active", 100 / 64),
                ("smsp__inst_executed.sum", 200),
                (stalled("wait"), 2), (stalled("math_pipe_throttle"), 0.1),
                (stalled("not_selected"), 0), (stalled("short_scoreboard"), 0.4),
                (stalled("long_scoreboard"), 4), (stalled("mio_throttle"), 0.2),
                (stalled("lg_throttle"), 0.3), (stalled("barrier"), 2),
                ("l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed", 10),
                ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 31),
                ("l1tex__t_sector_hit_rate.pct", 75),
                ("l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum", 1024),
                ("l1tex__m_xbar2l1tex_read_bytes_mem_lg_op_ld.sum", 64),
                ("l1tex__m_l1tex2xbar_write_bytes_mem_lg_op_st.sum", 64),
                ("lts__throughput.avg.pct_of_peak_sustained_elapsed", 32),
                ("lts__t_sector_hit_rate.pct", 30),
                ("lts__t_sectors_op_read.sum", 18), ("lts__t_sectors_op_write.sum", 2),
                ("dram__throughput.avg.pct_of_peak_sustained_elapsed", 50),
                ("dram__bytes_read.sum", 448), ("dram__bytes_write.sum", 52)):
            self.assertAlmostEqual(values[metric], value, msg=metric)

    def test_l2_with_a_bandwidth_for_each_direction(self):
        found = record()
        for part, (read, written) in (("used", (640, 900)), ("capacity_per_cycle", (2, 1))):
            found[part].update(l2_read_bytes=read, l2_written_bytes=written)
        values = metrics.values(found)
        self.assertAlmostEqual(values["lts__throughput.avg.pct_of_peak_sustained_elapsed"], 90)

    def test_ctas_of_one_sm_share_its_cycles(self):
        values = metrics.values(record(sms=1))
        self.assertAlmostEqual(values["smsp__issue_active.avg.pct_of_peak_sustained_active"], 5)
        self.assertAlmostEqual(values["sm__warps_active.avg.pct_of_peak_sustained_active"],
                               100 * 2 / 64)

    def test_every_row_that_is_counted_is_in_the_table(self):
        names = {row.metric for row in metrics.rows()}
        self.assertEqual(set(metrics.values(record())) - names, set())
        self.assertEqual(len(names), len(metrics.rows()))

    def test_units(self):
        units = {row.metric: row.unit for row in metrics.rows()}
        self.assertEqual(units["lts__t_sector_hit_rate.pct"], "%")
        self.assertEqual(units["gpu__time_duration.sum"], "ns")
        self.assertEqual(units["dram__bytes_read.sum"], "byte")
        self.assertEqual(units[stalled("wait")], "inst")

    def test_the_busiest_unit(self):
        # Two of four SMs have a CTA.
        self.assertEqual([(unit, round(busy)) for unit, busy in metrics.units(record())],
                         [("the tensor cores", 80), ("the SMs' shared memory", 50),
                          ("the memory's bandwidth", 50), ("the L2 cache's bandwidth", 32),
                          ("the schedulers' issue slots", 3)])
        self.assertEqual(metrics.units(record(timing="simple")), [])


class Rings(unittest.TestCase):
    def occupancy(self, *tracks):
        ring = Ring("input", (0, 8)[:len(tracks)], (16, 24)[:len(tracks)])
        cta = SimpleNamespace(stages=[StageTrack(ring, stage, states)
                                      for stage, states in enumerate(tracks)])
        lone = Ring("done", (32,), ())
        model = SimpleNamespace(rings=[ring, lone], ctas=[cta])
        return statistics.occupancies(model, (FULL, READING))

    def test_two_stages_by_hand(self):
        # 0: empty to 10, filling to 20, full to 30, read to 50; 1: filling to 30, full to 40, empty.
        (found,) = self.occupancy(
            [(0, 10, EMPTY, 0), (10, 20, FILLING, 0), (20, 30, FULL, 0), (30, 50, READING, 0)],
            [(0, 30, FILLING, 0), (30, 40, FULL, 0), (40, 50, EMPTY, 0)])
        self.assertEqual((found.ring, found.stages), ("input", 2))
        self.assertAlmostEqual(found.mean, (30 + 10) / 50)
        self.assertAlmostEqual(found.full, 10 / 50)
        self.assertAlmostEqual(found.empty, 20 / 50)

    def test_a_stage_that_is_given_back_and_filled_at_once_stays_filled(self):
        (found,) = self.occupancy([(0, 10, FULL, 0), (10, 20, READING, 0), (20, 40, FULL, 1)])
        self.assertEqual((found.mean, found.full, found.empty), (1, 1, 0))


class Roles(unittest.TestCase):
    def test_waits_have_the_rings_names(self):
        ring = Ring("input", (16,), (24,))
        barriers = [{"barrier_rank": 0, "barrier_offset": 16, "barrier": "full"}]
        role = SimpleNamespace(name="load", warps=(0,))
        model = SimpleNamespace(
            ctas=[SimpleNamespace(rank=0, roles=[role])], barriers=barriers, rings=[ring],
            barrier_family=lambda index: "input full",
            wait_phrase=lambda kind, number: f"{kind} {number}")
        (found,) = statistics.by_role(record(), model)
        self.assertEqual((found.name, found.warps, found.count), ("load", [0], 2))
        self.assertEqual(found.waits, {"input full": 700, "named_barrier 1": 400})
        model.barriers = []
        (found,) = statistics.by_role(record(), model)
        self.assertIn("full (kernel.cu:7)", found.waits)


class Printed(unittest.TestCase):
    def test_a_launch_that_did_not_finish(self):
        stuck = record(status="deadlock", kernel="k", machine="b200", block=[64, 1, 1], launch=1,
                       warps=[], ctas=0, cta_cycles=0, alone_cycles=0,
                       tensor_memory_read_bytes=0, tensor_memory_written_bytes=0)
        _, sentence = profile.limits({})
        found = {"statistics": stuck, "launches": 3, "options": [], "metrics": metrics.values(stuck),
                 "roles": [], "rings": [], "units": [], "bottleneck": {"sentence": sentence}}
        text = "\n".join(profile_command.lines([found]))
        self.assertIn("did not finish (deadlock)", text)
        self.assertIn("launch    2 of 3: 2 CTAs of 64 threads", text)
        self.assertIn("The run did not end", text)


class Sentences(unittest.TestCase):
    CHAIN = {(critical.TENSOR_CORE, ""): 600, (critical.LOADS, ""): 400}

    def test_the_chain(self):
        share, sentence = profile.limits(self.CHAIN)
        self.assertAlmostEqual(share, 0.6)
        self.assertTrue(sentence.startswith("The tensor core limits this run: 60 %"), sentence)
        self.assertIn("copies into shared memory (40 %)", sentence)

    def test_sharing_that_takes_less(self):
        share, sentence = profile.limits(self.CHAIN, (0.25, "the memory's bandwidth", 80))
        self.assertAlmostEqual(share, 0.45)
        self.assertTrue(sentence.startswith("The tensor core limits"), sentence)
        self.assertIn("CTAs wait in 25 % of the time", sentence)

    def test_sharing_that_takes_more(self):
        share, sentence = profile.limits(self.CHAIN, (0.5, "the memory's bandwidth", 93))
        self.assertAlmostEqual(share, 0.5)
        self.assertTrue(sentence.startswith("The memory's bandwidth limits this run: in 50 %"),
                        sentence)
        self.assertIn("93 %", sentence)
        _, sentence = profile.limits(self.CHAIN, (0.5, "the tensor cores", 93))
        self.assertTrue(sentence.startswith("The tensor cores limit this run"), sentence)

    def test_no_end(self):
        self.assertEqual(profile.limits({})[0], None)


if __name__ == "__main__":
    main()
