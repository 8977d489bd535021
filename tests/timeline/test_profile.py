"""Profiles of kernels of which it is known what limits them, and of every chapter."""

import contextlib
import io
import json
import os
import re
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from support import BUILD, CHAPTERS, QUICK, ROOT, last, main, run

from tools.console import Console
from tools.errors import WorkbookError
from tools.setup import Tools
from tools.timeline import command, critical, metrics, profile, profile_command, statistics, summary
from tools.timeline.model import FULL, READING


class Limits(unittest.TestCase):
    """With constant times: what limits these kernels is known of them."""

    def limit_of(self, kind):
        _, models = last("bound_by", kind, BW_SIM_TIMING="simple")
        measured = profile.measure(models[0])
        return next(iter(measured.chain)), profile.limit(measured), measured

    def test_the_tensor_core(self):
        first, sentence, measured = self.limit_of("tensor-core")
        self.assertEqual(first[0], critical.TENSOR_CORE)
        self.assertTrue(sentence.startswith("The tensor core limits this run"), sentence)
        self.assertGreater(measured.tensor_busy[0], 0.8 * measured.cycles)

    def test_loads(self):
        first, sentence, _ = self.limit_of("loads")
        self.assertEqual(first[0], critical.LOADS)
        self.assertTrue(sentence.startswith("Copies into shared memory limit this run"), sentence)

    def test_rings_are_full_before_a_slow_reader_and_empty_before_a_slow_writer(self):
        filled = {}
        for kind in ("tensor-core", "loads"):
            _, models = last("bound_by", kind, BW_SIM_TIMING="simple")
            rings = {ring.ring: ring for ring in statistics.occupancies(models[0], (FULL, READING))}
            filled[kind] = rings["input"]
        self.assertEqual((filled["tensor-core"].stages, filled["loads"].stages), (4, 1))
        self.assertGreater(filled["tensor-core"].mean, 3)
        self.assertLess(filled["tensor-core"].empty, 0.1)
        self.assertGreater(filled["loads"].empty, 0.5)
        # Of a ring of one stage it is all or nothing.
        self.assertEqual(filled["loads"].mean, filled["loads"].full)
        self.assertAlmostEqual(filled["loads"].full + filled["loads"].empty, 1)

    def test_the_epilogue(self):
        first, sentence, _ = self.limit_of("epilogue")
        self.assertEqual(first, (critical.ROLE, "write"))
        self.assertTrue(sentence.startswith("The role write limits this run"), sentence)

    def test_barriers(self):
        first, sentence, _ = self.limit_of("barriers")
        self.assertEqual(first[0], critical.HAND_OVER)
        self.assertTrue(sentence.startswith("The barriers limit this run"), sentence)

    def test_a_run_that_never_ends(self):
        _, models = last("bound_by", "nothing")
        self.assertIn("did not end", profile.limit(profile.measure(models[0])))

    def test_bytes_are_those_of_the_copies(self):
        # 8 tiles of 4 stages of two operands of 16 KiB.
        _, _, measured = self.limit_of("loads")
        self.assertEqual(measured.bytes, {"global to shared memory": 8 * 4 * 2 * 128 * 128})

    def test_shares_are_whole(self):
        _, _, measured = self.limit_of("epilogue")
        for role in measured.roles:
            self.assertEqual(role.issuing + role.data + sum(role.waiting.values()), role.cycles)


class Stalls(unittest.TestCase):
    """Waits are counted under the reasons under which an H100 counts them."""

    # Nsight Compute 2025.3, 2026-11-22: share of the stalls in %. The program had 2000 rounds then,
    # bulk stores of 1 KiB, and MMAs with n = 32.
    H100 = {"wgmma_wait": ("barrier", 79), "mbarrier_wait": ("long_scoreboard", 47),
            "bulk_wait": ("long_scoreboard", 90), "cp_async_wait": ("long_scoreboard", 97),
            "named_barrier_wait": ("barrier", 75), "cluster_barrier_wait": ("barrier", 73),
            "sleep_wait": ("sleeping", 100)}

    def test_reasons(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "statistics.jsonl"
            _, ended = run("stall_reasons", BW_SIM_STATISTICS=str(path), BW_SIM_TIMING="model",
                           BW_SIM_MACHINE="h100")
            self.assertEqual(ended.returncode, 0, ended.stderr)
            records = statistics.read(path)
        self.assertEqual(len(records), len(self.H100))
        for record in records:
            name = record["kernel"].split("::")[-1]
            stalls = {re.search("stalled_(\\w+)_per", metric).group(1): value
                      for metric, value in metrics.values(record).items() if "stalled" in metric}
            reason, percent = self.H100[name]
            share = 100 * stalls[reason] / (1 + sum(stalls.values()))  # 1: the one that issues
            self.assertAlmostEqual(share, percent, delta=20, msg=f"{name} {stalls}")


class Calls(unittest.TestCase):
    """Calls the commands with the programs of the build."""

    def call(self, function, number, **arguments):
        arguments = SimpleNamespace(**dict(dict(
            chapter=str(number), rest=list(QUICK.get(number, ())), against=None, cluster=None,
            cycles=None, launch=None, output=None, open=False, timing=None, gpu=None, save=None,
            json=False), **arguments))
        tools = Tools("cmake", "ctest", None, dict(os.environ))
        output = io.StringIO()
        console = Console(io.StringIO())
        # The programs are built, and print into the test's own output.
        with mock.patch("tools.workspace.prepare", return_value=tools), \
                mock.patch("tools.build.program", lambda _r, _c, name: BUILD / "bin" / name), \
                contextlib.redirect_stdout(output):
            return function(ROOT, console, arguments), output.getvalue()


class Timelines(Calls):
    """`timeline NN` of every chapter that the simulator runs."""

    def test_timeline(self):
        for one in CHAPTERS:
            with self.subTest(chapter=one.number), tempfile.TemporaryDirectory() as folder:
                status, output = self.call(command.do_timeline, one.number, output=folder)
                self.assertEqual(status, 0)
                for ending in (".html", ".svg", ".perfetto.json"):
                    path = Path(folder) / (one.name + ending)
                    self.assertIn(str(path), output)
                    self.assertGreater(path.stat().st_size, 1000)
                self.assertEqual([path.name for path in Path(folder).glob("recording*")], [])

    def test_two_configurations(self):
        with tempfile.TemporaryDirectory() as folder:
            self.call(command.do_timeline, 3, output=folder, against="--m 128 --n 128 --k 1024")
            page = (Path(folder) / "03_warp_contexts.html").read_text(encoding="utf-8")
            self.assertIn('"label":"--m 128 --n 128 --k 1024"', page)

    def test_a_recording_is_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mine.rec"
            path.write_bytes(run("bound_by", "barriers")[0])
            status, output = self.call(command.do_timeline, path, output=folder, rest=[])
            self.assertEqual(status, 0)
            self.assertIn("token_kernel", (Path(folder) / "mine.html").read_text(encoding="utf-8"))
            with self.assertRaisesRegex(WorkbookError, "is a recording"):
                self.call(command.do_timeline, path, output=folder, rest=["--m", "1"])
            path.write_bytes(b"something else")
            with self.assertRaisesRegex(WorkbookError, "not a recording"):
                self.call(command.do_timeline, path, output=folder, rest=[])

    def test_json_is_as_documented_and_its_parts_are_all_of_a_roles_time(self):
        text = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
        part = text.split("\n## `./workbook timeline --json`\n")[1].split("\n## ")[0]
        documented = [re.findall(r"(?m)^\| `(\w+)` \|", table) for table in part.split("\nEach run")]
        with tempfile.TemporaryDirectory() as folder:
            status, output = self.call(command.do_timeline, 3, output=folder, json=True,
                                       against="--m 128 --n 128 --k 1024")
            data = json.loads(output)
            self.assertEqual((status, data["exit_status"], data["schema"]), (0, 0, summary.SCHEMA))
            self.assertTrue(all(Path(name).is_file() for name in data["files"].values()))
        self.assertEqual(list(data), documented[0])
        self.assertEqual([one["options"] for one in data["runs"]],
                         [list(QUICK[3]), ["--m", "128", "--n", "128", "--k", "1024"]])
        for one in data["runs"]:
            self.assertEqual(list(one), documented[1])
            for role in one["roles"]:
                self.assertEqual(role["busy"] + role["data"] + sum(role["waiting"].values()),
                                 role["cycles"], role)
            # The chain leads from the first cycle to the last one.
            self.assertEqual(sum(step["cycles"] for step in one["chain"]), one["cycles"])
            self.assertEqual(one["limit"]["share"], one["chain"][0]["cycles"] / one["cycles"])

    def test_what_can_not_be_done(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments, words in (
                    (dict(launch=7), "name one from 1 to 1"),
                    (dict(against="--m '128"), "quotation marks"),
                    (dict(cluster="x"), "--cluster x: this is not a range"),
                    (dict(cycles="5-4"), "--cycles 5-4: this is not a range"),
                    (dict(rest=["--help"]), "no kernel"),
                    (dict(chapter="no/such.rec"), "There is no file no/such.rec"),
                    (dict(cluster="7"), "nothing to draw")):
                with self.subTest(**arguments), self.assertRaisesRegex(WorkbookError, words):
                    self.call(command.do_timeline, 2, output=folder, **arguments)


class Profiles(Calls):
    """`profile NN` in the simulator."""

    def profile(self, number, **arguments):
        return self.call(profile_command.do_profile, number, **arguments)

    def json_of(self, number, **arguments):
        """What --json prints; the program's own lines go elsewhere."""
        status, output = self.profile(number, json=True, **arguments)
        self.assertEqual(status, 0)
        return json.loads(output)

    def test_every_chapter_has_all_rows_and_names_what_limits_it(self):
        for one in CHAPTERS:
            with self.subTest(chapter=one.number):
                status, output = self.profile(one.number)
                self.assertEqual(status, 0)
                found = re.findall(r"(?m)^.{16} *(\S+)  .*?(\w+__\S+)$", output)
                self.assertEqual([metric for _, metric in found],
                                 [row.metric for row in metrics.rows()])
                known = {metric: value for value, metric in found if value != "-"}
                self.assertGreater(float(known["sm__cycles_elapsed.max"]), 0)
                self.assertGreater(float(known["smsp__inst_executed.sum"]), 0)
                self.assertRegex(output, r"limits? this run")
                self.assertRegex(output, r"Of the units .* the busiest: [\d.]+ %")

    def test_parts_of_a_roles_time_are_all_of_it(self):
        for timing in ("simple", "model"):
            for number in (1, 3):
                found = self.json_of(number, timing=timing)
                self.assertEqual(found["statistics"]["timing"], timing)
                self.assertGreater(len(found["roles"]), 1)
                for role in found["roles"]:
                    parts = role["issued"] + sum(role["stalls"].values()) + sum(role["waits"].values())
                    self.assertEqual(parts, role["cycles"], role)

    def test_bytes_are_those_of_the_matrix(self):
        # 128 rows of 1024 floats, once.
        found = self.json_of(1, rest=["--rows", "128", "--stages", "2", "--runs", "1"])
        read = found["metrics"]["l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"]
        self.assertEqual(read, 128 * 1024 * 4)
        # The host has just written it: all of it is in the L2 cache.
        self.assertEqual(found["metrics"]["lts__t_sector_hit_rate.pct"], 100)
        self.assertEqual(found["metrics"]["dram__bytes_read.sum"], 0)
        self.assertEqual(found["shape"], {"rows": "128", "columns": "1024"})

    def test_bytes_by_path_are_printed(self):
        _, output = self.profile(1, rest=["--rows", "128", "--stages", "2", "--runs", "1"])
        self.assertRegex(output, r"(?m)^global to shared memory, tensor copies +524,288  in \d+$")
        self.assertRegex(output, r"(?m)^shared memory to threads +\d")

    def test_without_the_model_rows_that_need_it_are_left_open(self):
        _, output = self.profile(3, timing="simple")
        self.assertRegex(output, r"(?m)^tensor +-  ")
        self.assertRegex(output, r"(?m)^cycles +\d+  ")
        self.assertIn("need the timing model", output)

    def test_another_configuration_stands_beside_it(self):
        shape = ["--m", "256", "--n", "128", "--k", "512"]
        _, output = self.profile(3, rest=[*shape, "--accumulators", "1"],
                                 against=" ".join([*shape, "--accumulators", "2"]))
        one, other, ratio = map(float, re.search(
            r"(?m)^cycles +(\d+) +(\d+) +([\d.]+)  cycle", output).groups())
        self.assertAlmostEqual(ratio, other / one, delta=0.006)
        self.assertEqual(len(re.findall(r"(?m)^role ", output)), 2)
        self.assertIn("run 2     --m 256 --n 128 --k 512 --accumulators 2", output)

    def test_a_saved_profile_stands_beside_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "before.json"
            self.profile(2, save=str(path))
            _, output = self.profile(2, against=str(path))
            self.assertRegex(output, r"(?m)^cycles +(\d+) +\1 +1\.00  cycle")

    def test_what_can_not_be_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "before.json"
            self.profile(2, save=str(path))
            saved = json.loads(path.read_text(encoding="utf-8"))

            def put(name, **changes):
                changed = Path(folder) / name
                changed.write_text(json.dumps(dict(saved, **changes)), encoding="utf-8")
                return str(changed)

            other = put("other.json", program="03_warp_contexts")
            old = put("old.json", profile=0)
            counted = put("counted.json", statistics=dict(saved["statistics"], statistics=7))
            broken = Path(folder) / "broken"
            broken.write_text("{", encoding="utf-8")
            for arguments, words in (
                    (dict(against="--n 128"), "another shape: --n 128, and this one has --n 64"),
                    (dict(against=other), "a profile of 03_warp_contexts, not of 02_tmem"),
                    (dict(against=old), "saved by another version of the workbook .profile 0"),
                    (dict(against=counted), "statistics 7; this one has 1 and 1"),
                    (dict(against=str(broken)), "this is not a profile"),
                    (dict(against=str(Path(folder) / "none.json")), "there is no such file"),
                    (dict(against="--n '64"), "quotation marks"),
                    (dict(against=str(path), timing="simple"), "timing model, and this one has simple"),
                    (dict(launch=7), "name one from 1 to 1"),
                    (dict(rest=["--help"]), "no kernel"),
                    (dict(chapter="no/such.rec"), "There is no chapter 'no/such.rec'"),
                    (dict(save=str(Path(folder) / "none" / "s.json")), "can't be written")):
                with self.subTest(**arguments), self.assertRaisesRegex(WorkbookError, words):
                    self.profile(2, **arguments)

    def test_counts_are_those_of_an_h100(self):
        # profile.sh of chapter 1 with these options, 2026-11-22, Nsight Compute 2025.3.
        metric = self.json_of(1, gpu="h100", rest=["--stages", "4", "--runs", "1"])["metrics"]
        for name, counted in (("l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum", 4194304),
                              ("l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum", 0),
                              ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 0)):
            self.assertEqual(metric[name], counted, name)
        for name, counted in (("l1tex__m_l1tex2xbar_write_bytes_mem_lg_op_st.sum", 4352),
                              ("smsp__inst_executed.sum", 139672),
                              ("sm__warps_active.avg.pct_of_peak_sustained_active", 7.69)):
            self.assertAlmostEqual(metric[name], counted, delta=0.1 * counted, msg=name)

    def test_a_machine_is_chosen(self):
        found = self.json_of(1, gpu="h100", rest=["--rows", "128", "--stages", "1", "--runs", "1"])
        self.assertEqual(found["statistics"]["machine"], "h100")
        self.assertEqual(found["statistics"]["sms"], 132)


if __name__ == "__main__":
    main()
