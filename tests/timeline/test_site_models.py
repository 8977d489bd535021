"""What the site's pages about the ring, tensor memory and the raster compute (docs/site/*_model.js),
compared with other computations, the simulator and the texts. Skipped without Node."""

import json
import random
import re
import shutil
import subprocess
import unittest
from collections import defaultdict

from support import BUILD, ROOT, last, main

_CALLS = """
const model = require(process.argv[1]);
const calls = JSON.parse(require('fs').readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(calls.map(([name, ...given]) => model[name](...given))));
"""


def ask(model, *calls):
    """What a model's functions return: calls are [name, arguments ...]."""
    script = ROOT / "docs" / "site" / f"{model}_model.js"
    result = subprocess.run(["node", "-e", _CALLS, str(script)], input=json.dumps(calls),
                            stdout=subprocess.PIPE, universal_newlines=True, check=True)
    return json.loads(result.stdout)


def output_in(text, command):
    """What a text shows as the output of a command."""
    return text.partition(f"$ {command}\n")[2].partition("```")[0]


def stepped(o, tiles):
    """A ring, cycle by cycle: [(requested, arrived, begun, released, ended)] of its tiles."""
    asked, came, begun, given, ended = [], [], [], [], []
    cycle, rest = 0, 0  # rest: cycles until the next request may be made
    working_since = None
    while len(ended) < tiles:
        if working_since is not None:
            if cycle == working_since + o["held"]:
                given.append(cycle)
            if cycle == working_since + o["work"]:
                ended.append(cycle)
                working_since = None
        in_use = len(asked) - len(given)
        if rest == 0 and in_use < o["stages"]:
            asked.append(cycle)
            came.append(cycle + o["latency"])
            rest = o["pace"]
        if working_since is None and len(begun) < len(came) and came[len(begun)] <= cycle:
            working_since = cycle
            begun.append(cycle)
        rest = max(0, rest - 1)
        cycle += 1
    return list(zip(asked, came, begun, given, ended))[:tiles]


@unittest.skipUnless(shutil.which("node"), "no Node here")
class Ring(unittest.TestCase):
    @staticmethod
    def settings():
        pick = random.Random(20261126)
        for _ in range(40):
            work = pick.randint(1, 60)
            yield {"stages": pick.randint(1, 6), "latency": pick.randint(1, 90),
                   "pace": pick.randint(1, 60), "work": work, "held": pick.randint(1, work)}

    def test_it_is_what_a_ring_does_cycle_by_cycle(self):
        wanted = list(self.settings())
        for o, found in zip(wanted, ask("ring", *(["run", o, 30] for o in wanted))):
            with self.subTest(ring=o):
                self.assertEqual([(tile["requested"], tile["arrived"], tile["begun"], tile["released"],
                                   tile["ended"]) for tile in found], stepped(o, 30))

    def test_the_long_run(self):
        wanted = list(self.settings())
        found = ask("ring", *([name, o] for o in wanted for name in ("steady", "averages", "enough")))
        for o, steady, mean, enough in zip(wanted, found[::3], found[1::3], found[2::3]):
            with self.subTest(ring=o):
                tiles = stepped(o, 40 * o["stages"])
                half = 20 * o["stages"]
                cycles = (tiles[-1][2] - tiles[half - 1][2]) / half
                self.assertAlmostEqual(steady["cycles"], cycles, delta=1e-6 + 60 / half)
                self.assertAlmostEqual(sum(mean[name] for name in ("empty", "filling", "full",
                                                                   "reading")), o["stages"])
                waited = sum(later[2] - earlier[4] for earlier, later in zip(tiles[half - 1:],
                                                                            tiles[half:])) / half
                self.assertAlmostEqual(mean["consumerWaits"], waited, delta=1e-6 + 60 / half)
                # With that many stages the slower side sets the pace, with one less it waits.
                slower = max(o["work"], o["pace"])
                self.assertLessEqual((o["latency"] + o["held"]) / enough, slower)
                if enough > 1:
                    self.assertGreater((o["latency"] + o["held"]) / (enough - 1), slower)

    def test_it_agrees_with_the_table_of_chapter_1(self):
        text = (ROOT / "chapters/01_mbarrier_pipeline/README.md").read_text(encoding="utf-8")
        shown = output_in(text, "./workbook run 1 -- --rows 1024 --columns 256")
        table = {int(stages): int(cycles) for stages, cycles
                 in re.findall(r"^ +(\d) +\d+ +(\d+) +[\d.]+x", shown, re.M)}
        self.assertEqual(len(table), 8)
        ring = {"latency": table[1] - table[8], "pace": 1, "work": table[8], "held": table[8]}
        found = ask("ring", *(["steady", {**ring, "stages": stages}] for stages in table))
        for (stages, cycles), steady in zip(table.items(), found):
            with self.subTest(stages=stages):
                self.assertAlmostEqual(steady["cycles"] / cycles, 1, delta=0.05)

    def test_it_agrees_with_recorded_runs(self):
        """Latency and work are taken from a run with one stage; waits and states are predicted."""
        program = ("01_mbarrier_pipeline", "--rows", "2048", "--columns", "128", "--runs", "1")
        ring = None
        for stages in (1, 2, 3, 4):
            _, models = last(*program, "--stages", str(stages))
            cta = models[0].ctas[0]
            states = defaultdict(int)
            for track in cta.stages:
                for begin, end, state, _ in track.states:
                    states[state] += end - begin
            span = cta.stages[0].states[-1][1] - cta.stages[0].states[0][0]
            tiles = len(cta.copies)
            if ring is None:
                latency = sum(copy.landed - copy.issued for copy in cta.copies) / tiles
                work = span / tiles - latency
                ring = {"latency": round(latency), "pace": 1, "work": round(work), "held": round(work)}
            mean = ask("ring", ["averages", {**ring, "stages": stages}])[0]
            with self.subTest(stages=stages):
                for state in ("filling", "full", "reading"):
                    self.assertAlmostEqual(mean[state], states[state] / span, delta=0.15 * stages)

    def test_the_texts_examples(self):
        whole = {"stages": 1, "pace": 1}
        found = ask("ring", ["enough", {**whole, "latency": 480, "work": 460, "held": 460}],
                    ["enough", {**whole, "latency": 700, "work": 300, "held": 300}])
        self.assertEqual(found, [3, 4])

    def test_bad_rings_get_a_sentence(self):
        good = {"stages": 2, "latency": 3, "pace": 4, "work": 5, "held": 5}
        bad = [{**good, name: value} for name in good for value in (0, 0.5, 9999)]
        bad.append({**good, "held": 6})
        for said in ask("ring", *(["problem", o] for o in bad)):
            self.assertRegex(said or "", r"^\S.* .*\.$")
        self.assertEqual(ask("ring", ["problem", good]), [None])


@unittest.skipUnless(shutil.which("node"), "no Node here")
class TensorMemory(unittest.TestCase):
    def test_plans_are_those_of_chapter_7s_lab(self):
        text = (ROOT / "chapters/07_block_scaled_gemm/README.md").read_text(encoding="utf-8")
        shown = output_in(text, "./workbook lab tmem_columns")
        rows = [(row[0], *map(int, row[1:])) for row
                in re.findall(r"^(\w+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$", shown, re.M)]
        self.assertEqual(len(rows), 15)
        for name, n, accumulators, set_columns, sets, shared, unused in rows:
            with self.subTest(format=name, n=n, accumulators=accumulators):
                plan, = ask("tmem", ["plan", name, n, n == 256 and accumulators == 2, 4])
                layout, columns = ask("tmem", ["layout", plan], ["setColumns", name, n])
                self.assertEqual(layout["refused"], [])
                self.assertEqual(layout["clashes"], [])
                self.assertEqual((plan["accumulators"], columns["all"], plan["sets"], layout["shared"],
                                  layout["unused"]), (accumulators, set_columns, sets, shared, unused))

    def test_it_refuses_with_the_simulators_sentences(self):
        reports = (ROOT / "docs/codes/X_tensor_memory.md").read_text(encoding="utf-8")
        reports += (ROOT / "docs/codes/D_mma.md").read_text(encoding="utf-8")
        plain = {"allocate": 512, "n": 128, "accumulators": 4, "format": "none", "sets": 0,
                 "overlap": False}
        # What the reports of the codes' examples have instead of this layout's numbers.
        there = {"columns 32-47 of": "columns 32-32 of", "tcgen05.mma is": "tcgen05.st is",
                 "M = 128, N = 12,": "M = 160, N = 32,"}
        for code, change in (("BW-X03", {"allocate": 48}), ("BW-D02", {"n": 12}),
                             ("BW-X01", {"allocate": 32, "n": 16, "accumulators": 3})):
            with self.subTest(code=code):
                (fault,) = ask("tmem", ["layout", {**plain, **change}])[0]["refused"]
                self.assertEqual(fault["code"], code)
                report = " ".join(reports.partition(f" {code}: ")[2].partition("```")[0].split())
                for part in (fault["what"], fault["rule"], fault["fix"]):
                    for mine, theirs in there.items():
                        part = part.replace(mine, theirs)
                    self.assertIn(part, report)

    def test_what_the_chapters_allocate_fits(self):
        for n, accumulators in ((64, 1), (128, 2), (128, 4)):
            plan = {"allocate": 512, "n": n, "accumulators": accumulators, "format": "none", "sets": 0,
                    "overlap": False}
            (layout,) = ask("tmem", ["layout", plan])
            self.assertEqual((layout["refused"], layout["unused"]), ([], 512 - n * accumulators))

    def test_scales_on_top_of_an_accumulator_clash(self):
        plan = {"allocate": 512, "n": 128, "accumulators": 4, "format": "mxfp8", "sets": 2,
                "overlap": False}
        (layout,) = ask("tmem", ["layout", plan])
        self.assertEqual([(one["index"], other["index"]) for one, other in layout["clashes"]],
                         [(3, 0), (3, 1)])

    def test_bad_numbers_get_a_sentence(self):
        good = {"allocate": 512, "n": 128, "accumulators": 2, "format": "none", "sets": 0,
                "overlap": False}
        bad = ({"allocate": 1.5}, {"format": "x"}, {"accumulators": 0}, {"sets": 9},
               {"overlap": True, "accumulators": 3})
        for said in ask("tmem", *(["problem", {**good, **change}] for change in bad)):
            self.assertRegex(said or "", r"^\S.* .*\.$")
        self.assertEqual(ask("tmem", ["problem", good]), [None])


@unittest.skipUnless(shutil.which("node"), "no Node here")
class Raster(unittest.TestCase):
    @staticmethod
    def of_cpp(*questions):
        """The numbers with which the C++ answers each question."""
        result = subprocess.run([str(BUILD / "bin" / "raster_places")], input="\n".join(questions),
                                stdout=subprocess.PIPE, universal_newlines=True, check=True)
        return [list(map(int, line.split())) for line in result.stdout.splitlines()]

    def test_the_order_is_the_kernels(self):
        shapes = ((16, 16), (24, 24), (4, 33), (9, 5), (7, 64), (1, 1), (33, 2))
        for (m, n), wanted in zip(shapes, self.of_cpp(*(f"raster {m} {n}" for m, n in shapes))):
            found = ask("raster", *(["piece", index, m, n, 8] for index in range(m * n)))
            with self.subTest(m=m, n=n):
                self.assertEqual([number for one in found for number in (one["m"], one["n"])], wanted)

    def test_clusters_are_where_the_simulator_puts_them(self):
        asked = [(machine, ctas) for machine in ("b200", "h100") for ctas in (1, 2, 4, 8, 16)]
        wanted = self.of_cpp(*(f"dealt {machine} {ctas}" for machine, ctas in asked))
        found = ask("raster", *(["dealt", machine, ctas] for machine, ctas in asked))
        filled = [(machine, ctas) for machine in ("b200", "h100") for ctas in (3, 40, 64, 132)]
        wanted += self.of_cpp(*(f"filled {machine} {ctas}" for machine, ctas in filled))
        found += ask("raster", *(["byGpc", machine, ctas] for machine, ctas in filled))
        for question, places, numbers in zip(asked + filled, found, wanted):
            with self.subTest(question=question):
                mine = [place[name] for place in places for name in ("sm", "gpc", "port")]
                # The simulator also has places of SMs that are left over in several GPCs.
                self.assertEqual(mine, numbers[:len(mine)])
        gpcs = {"b200": (20, 20, 18, 18, 18, 18, 18, 18), "h100": (18, 18, 18, 18, 18, 18, 16, 8)}
        for (machine, ctas), places in zip(asked, found):
            lone = 4 if machine == "h100" and ctas > 2 else 0  # pairs that hold no larger cluster
            self.assertEqual(len(places), sum((sms - 2 * (number < lone)) // ctas
                                              for number, sms in enumerate(gpcs[machine])))

    PLAIN = {"machine": "b200", "m": 16, "n": 16, "band": 8, "clusterM": 1, "clusterN": 1,
             "tileM": 128, "tileN": 128, "fills": False, "atWork": 48}

    def test_the_texts_example(self):
        for band, rows, columns in ((16, 16, 3), (8, 8, 6)):
            (found,) = ask("raster", ["traffic", {**self.PLAIN, "band": band}, 0])
            self.assertEqual((found["distinct"]["rows"], found["distinct"]["columns"]), (rows, columns))

    def test_rounds_are_those_that_the_lab_prints(self):
        for m, n in ((24, 24), (48, 48)):
            lab = str(BUILD / "bin" / "lab_05_static_scheduler")
            ended = subprocess.run([lab, "--m", str(m), "--n", str(n), "--show"], check=True,
                                   stdout=subprocess.PIPE, universal_newlines=True)
            printed = [tuple(map(int, one)) for one in re.findall(
                r"^round +\d+: (\d+) pieces in (\d+) rows and (\d+) columns", ended.stdout, re.M)]
            o = {**self.PLAIN, "m": m, "n": n, "atWork": 148}
            (count,) = ask("raster", ["rounds", o])
            found = ask("raster", *(["traffic", o, number] for number in range(count)))
            self.assertEqual([(len(one["clusters"]), one["distinct"]["rows"], one["distinct"]["columns"])
                              for one in found], printed)

    def test_bytes_are_those_of_the_distinct_tiles(self):
        narrow = {"machine": "h100", "fills": True, "m": 4, "n": 33, "tileN": 64, "atWork": 132}
        for change in ({}, narrow,
                       {"clusterM": 2, "tileN": 256, "m": 9, "n": 20, "atWork": 70}):
            o = {**self.PLAIN, **change}
            (found,) = ask("raster", ["traffic", o, 0])
            ports = defaultdict(set)
            for one in found["clusters"]:
                ports[one["port"]] |= {("A", one["m"]), ("B", one["n"])}
            size = {"A": o["clusterM"] * o["tileM"] * 128, "B": o["clusterN"] * o["tileN"] * 128}
            with self.subTest(change=change):
                self.assertEqual(found["together"], sum(size[kind] for tiles in ports.values()
                                                        for kind, _ in tiles))
                self.assertEqual(found["distinct"]["bytes"],
                                 sum(size[kind] for kind, _ in set().union(*ports.values())))
                self.assertEqual(found["alone"], len(found["clusters"]) * (size["A"] + size["B"]))
                self.assertGreaterEqual(found["arrive"], found["alone"])
                self.assertGreaterEqual(found["alone"], found["together"])
                self.assertGreaterEqual(found["together"], found["distinct"]["bytes"])

    def test_bad_launches_get_a_sentence(self):
        bad = ({"m": 0}, {"n": 65}, {"band": 0.5}, {"atWork": 149}, {"atWork": 0},
               {"fills": True, "clusterM": 2})
        for said in ask("raster", *(["problem", {**self.PLAIN, **change}] for change in bad)):
            self.assertRegex(said or "", r"^\S.* .*\.$")
        self.assertEqual(ask("raster", ["problem", self.PLAIN]), [None])


if __name__ == "__main__":
    main()
