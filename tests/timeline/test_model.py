"""What a recording is read as: roles, waits, rings."""

import re
import unittest
from pathlib import Path

from support import CHAPTERS, ROOT, chapter, last, main, read, run

from tools.errors import WorkbookError
from tools.site import recordings
from tools.timeline import critical
from tools.timeline.recording import signalling_unit
from tools.timeline.model import EMPTY, FILLING, FULL, READING, WAIT

# The warps of each role, by the name that the chapter's text and figure give it.
ROLES = {1: {"consumers": (0, 1, 2, 3), "producer": (4,)},
         2: {"epilogue": (0, 1, 2, 3), "MMA": (4,)},
         3: {"epilogue": (0, 1, 2, 3), "load": (4,), "MMA": (5,)},
         4: {"epilogue": (0, 1, 2, 3), "load": (4,), "MMA": (5,)},
         5: {"epilogue": (0, 1, 2, 3), "scheduler": (4,), "load": (5,), "MMA": (6,),
             "epilogue load": (7,)},
         6: {"load": (0,), "output": (1, 2), "idle": (3,), "math": (4, 5, 6, 7, 8, 9, 10, 11)}}
ROLES[7] = ROLES[5]
# The figure that shows a chapter's roles; chapter 7 has those of chapter 5.
FIGURES = {1: "ring", 2: "life", 3: "overview", 4: "overview", 5: "roles", 6: "kernel"}
RINGS = {1: {"pipeline": 8}, 3: {"input": 4, "accumulator": 2}, 4: {"input": 4, "accumulator": 4},
         5: {"input": 8, "accumulator": 4, "epi load": 2, "tile scheduler": 2},
         6: {"input": 12, "epi load": 2, "store": 2}}


class Opcodes(unittest.TestCase):
    def test_units_that_signal_mbarriers(self):
        for unit, opcodes in {
            "mma": ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64",),
            "copy": ("cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes",
                     "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
                     "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
                     ".add.u32"),
            "warp": ("cp.async.mbarrier.arrive.noinc.shared::cta.b64",
                     "mbarrier.arrive.shared::cta.b64", ""),
        }.items():
            for opcode in opcodes:
                with self.subTest(opcode=opcode):
                    self.assertEqual(signalling_unit(opcode), unit)

    def test_no_other_module_compares_opcodes(self):
        tools = Path(__file__).resolve().parents[2] / "common" / "tools"
        found = [f"{path.name}:{number}"
                 for path in tools.rglob("*.py") if path.name != "recording.py"
                 for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
                 if re.search(r"opcode.*\"[a-z]\w*\.[a-z]|\"[a-z]\w*\.[a-z][^\"]*\" in .*opcode", line)]
        self.assertEqual(found, [])


class Chapters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.known = {one.number: chapter(one.number) for one in CHAPTERS}

    def test_roles_have_the_names_of_the_texts(self):
        for number, (_, models) in self.known.items():
            with self.subTest(chapter=number):
                roles = {role.name: role.warps for role in models[0].ctas[0].roles}
                self.assertEqual(roles, ROLES[number])

    def test_figures_show_roles_of_these_names(self):
        for number, figure in FIGURES.items():
            name = next(one.name for one in CHAPTERS if one.number == number)
            path = ROOT / "chapters" / name / "figures" / f"{figure}.svg"
            shown = " ".join(re.findall(r">([^<>]+)</text>", path.read_text(encoding="utf-8")))
            for role in set(ROLES[number]) - {"idle"}:
                with self.subTest(chapter=number, role=role):
                    self.assertIn(role.rstrip("s"), shown)

    def test_the_page_about_mbarriers_has_the_same_names(self):
        roles = recordings.roles_of(self.known[1][1][0])
        self.assertEqual((roles["0,0"], roles["0,4"]), ("consumers", "producer"))

    def test_a_kernel_of_another_folder_keeps_its_functions_names(self):
        _, models = last("bound_by", "barriers")
        self.assertEqual({role.name for role in models[0].ctas[0].roles} & set(ROLES[5]), set())

    def test_rings_are_found_with_their_names(self):
        for number, wanted in RINGS.items():
            with self.subTest(chapter=number):
                rings = {ring.name: ring.stages for ring in self.known[number][1][0].rings
                         if ring.empty}
                self.assertEqual(rings, wanted)

    def test_a_warps_life_has_no_gap_and_no_overlap(self):
        for number, (launch, models) in self.known.items():
            for cluster in models:
                for cta in cluster.ctas:
                    for warp, segments in cta.warps.items():
                        with self.subTest(chapter=number, warp=warp):
                            for before, after in zip(segments, segments[1:]):
                                self.assertEqual(before.end, after.begin)
                            self.assertTrue(all(one.end > one.begin for one in segments))
                            self.assertLessEqual(segments[-1].end, launch.cycles)

    def test_instructions_are_all_there(self):
        # What the simulator counts, against what the segments hold.
        import re
        content, ended = run("02_tmem_lifecycle", BW_SIM_STATS="1")
        counted = int(re.search(r"(\d+) warp instructions", ended.stderr).group(1))
        from tools.timeline import builder
        models = builder.build(read(content)[-1])
        held = sum(part[2] for cta in models[0].ctas for segments in cta.warps.values()
                   for segment in segments for part in segment.parts)
        # Runs of no length are in no segment.
        instant = sum(event.instructions for event in models[0].events
                      if event.event == "run" and event.until == event.cycle)
        self.assertLessEqual(counted - held, instant)
        self.assertGreaterEqual(counted, held)

    def test_stages_go_round(self):
        following = {EMPTY: (FILLING,), FILLING: (FULL, READING, EMPTY), FULL: (READING, EMPTY),
                     READING: (EMPTY, FILLING)}
        for number in RINGS:
            for cta in self.known[number][1][0].ctas:
                for track in cta.stages:
                    if not track.ring.empty:
                        continue
                    with self.subTest(chapter=number, ring=track.ring.name, stage=track.stage):
                        for (_, end, state, _), (begin, _, then, _) in zip(track.states,
                                                                          track.states[1:]):
                            self.assertEqual(end, begin)
                            self.assertIn(then, following[state])

    def test_every_stage_of_chapter_3_is_filled_as_often_as_it_is_read(self):
        _, models = self.known[3]
        for cta in models[0].ctas:
            for track in cta.stages:
                states = [state for _, _, state, _ in track.states]
                if track.ring.name == "input":
                    self.assertEqual(states.count(FILLING), states.count(READING))

    def test_the_chain_is_as_long_as_the_run(self):
        for number, (_, models) in self.known.items():
            with self.subTest(chapter=number):
                for cluster in models:
                    steps = critical.walk(cluster)
                    ends = [cta.warps[warp][-1].end for cta in cluster.ctas for warp in cta.warps]
                    first = min(segments[0].begin for cta in cluster.ctas
                                for segments in cta.warps.values())
                    self.assertEqual(sum(step.end - step.begin for step in steps),
                                     max(ends) - first)
                    for later, earlier in zip(steps, steps[1:]):
                        self.assertEqual(later.begin, earlier.end)

    def test_waits_that_ended_by_an_event_know_what_ended_them(self):
        for number, (_, models) in self.known.items():
            with self.subTest(chapter=number):
                waits = [segment for cta in models[0].ctas for segments in cta.warps.values()
                         for segment in segments if segment.kind == WAIT
                         and segment.reason == "mbarrier"]
                known = [segment for segment in waits if segment.completion is not None]
                self.assertGreater(len(known), len(waits) // 2)
                for segment in known:
                    self.assertLessEqual(segment.begin, segment.completion.cycle)
                    self.assertLessEqual(segment.completion.cycle, segment.end)


class Bad(unittest.TestCase):
    def test_a_wait_that_never_ends_is_shown(self):
        launch, models = last("bound_by", "nothing")
        self.assertEqual(launch.status, "deadlock")
        self.assertIn("deadlock", " ".join(launch.notes()))
        segments = models[0].ctas[0].warps[1]
        self.assertIsNone(segments[-1].end)
        self.assertEqual(segments[-1].reason, "mbarrier")
        self.assertEqual(critical.walk(models[0]), [])

    def test_a_window_says_so(self):
        launch, models = last("04_per_k_contexts", BW_SIM_RECORDING_CLUSTERS="2",
                              BW_SIM_RECORDING_CYCLES="500-900")
        self.assertEqual([one.index for one in models], [2])
        notes = " ".join(launch.notes())
        self.assertIn("Only cluster 2 of", notes)
        self.assertIn("cycles 500 to 900", notes)
        for segments in models[0].ctas[0].warps.values():  # none of them is endless
            self.assertIsNotNone(segments[-1].end)

    def test_a_file_that_is_cut_off_is_read_up_to_there(self):
        content, _ = run("02_tmem_lifecycle")
        found = read(content[:-10])
        self.assertEqual(found[0].status, "killed")
        self.assertEqual(len(found[0].clusters), 1)

    def test_another_file_is_refused(self):
        with self.assertRaisesRegex(WorkbookError, "not a recording"):
            read(b"something else")
        with self.assertRaisesRegex(WorkbookError, "no kernel"):
            read(b"")


if __name__ == "__main__":
    main()
