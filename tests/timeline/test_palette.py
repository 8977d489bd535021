"""The colours of timelines: their contrast, and that a wait looks the same in every chapter."""

import re
import unittest

from support import CHAPTERS, ROOT, chapter, main

import contrast
from tools.timeline import palette, svg

THEMES = {"light": palette.LIGHT, "dark": palette.DARK}


class Contrast(unittest.TestCase):
    def test_the_measure_is_wcags(self):
        self.assertAlmostEqual(contrast.ratio("#000", "#ffffff"), 21)
        self.assertAlmostEqual(contrast.ratio("#777777", "#ffffff"), 4.48, 2)  # the guide's example

    def test_texts_and_objects_are_seen_on_every_ground(self):
        for theme, colours in THEMES.items():
            grounds = {*contrast.GROUNDS[theme], *(colours[name] for name in palette.GROUNDS)}
            for name, colour in colours.items():
                if name in palette.GROUNDS + palette.DECORATION:
                    continue
                least = contrast.TEXT if name in palette.TEXTS else contrast.OBJECT
                for ground in grounds:
                    with self.subTest(theme=theme, name=name, ground=ground):
                        self.assertGreaterEqual(contrast.ratio(colour, ground), least)

    def test_the_themes_have_the_same_names(self):
        self.assertEqual(set(palette.LIGHT), set(palette.DARK))

    def test_the_sites_pictures_have_the_same_colours(self):
        style = (ROOT / "docs/site/interactive.css").read_text(encoding="utf-8")
        found = re.findall(r"(?<!-)--((?!bw-)[\w-]+): (#\w+);", style)
        self.assertEqual(len(found), 3 * 6)  # light, dark by the system, dark by choice
        for theme, part in (("light", found[:6]), ("dark", found[6:])):
            for name, colour in part:
                self.assertEqual(THEMES[theme][name], colour, (theme, name))

    def test_the_sites_grounds_are_the_same(self):
        style = (ROOT / "docs/site/colours.css").read_text(encoding="utf-8")
        grounds = re.findall(r"--bw-ground: (#\w+); --bw-raised: (#\w+);", style)
        light, dark = (tuple(colours[name] for name in palette.GROUNDS) for colours in THEMES.values())
        self.assertEqual(grounds, [light, dark, dark])

    def test_states_of_a_stage_differ_in_pattern(self):
        states = ("empty", "filling", "full", "reading")
        self.assertEqual(len({palette.PATTERNS.get(state, "solid") for state in states}), len(states))
        for colours in THEMES.values():
            self.assertNotEqual(colours["full"], colours["copy"])
            self.assertGreaterEqual(contrast.ratio(colours["full"], colours["copy"]), 1.3)

    def test_colours_of_waits_are_all_different(self):
        for colours in THEMES.values():
            hues = [colours[f"wait-{hue}"] for hue in range(palette.HUES)]
            self.assertEqual(len(set(hues)), len(hues))


class Waits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sums = {one.number: palette.sums_of(chapter(one.number)[1]) for one in CHAPTERS}

    def test_the_same_wait_looks_the_same_in_all_chapters(self):
        looks = {}
        for number, sums in self.sums.items():
            for reason, look in palette.of_waits(sums).items():
                with self.subTest(chapter=number, reason=reason):
                    self.assertEqual(looks.setdefault(reason, look), look)
        self.assertIn("input full", looks)
        self.assertEqual(looks["input full"].hue, looks["input empty"].hue)
        self.assertNotEqual(looks["input full"], looks["input empty"])

    def test_waits_of_a_chapter_look_different(self):
        for number, sums in self.sums.items():
            # Named barriers are of one kind, and are named together.
            reasons = [reason for reason in sums if not re.fullmatch(r"barrier \d+", reason)]
            looks = palette.of_waits({reason: sums[reason] for reason in reasons})
            with self.subTest(chapter=number):
                self.assertEqual(len(set(looks.values())), len(looks), looks)

    def test_a_readers_own_rings_take_the_colours_that_are_left(self):
        looks = palette.of_waits({"left full": 5, "left empty": 2, "right full": 9, "input full": 1})
        self.assertEqual(looks["input full"], palette.of_waits({"input full": 7})["input full"])
        self.assertEqual(looks["left full"].hue, looks["left empty"].hue)
        self.assertEqual(len({looks["left full"].hue, looks["right full"].hue,
                              looks["input full"].hue}), 3)
        many = palette.of_waits({f"ring{number} full": number for number in range(20)})
        self.assertEqual({look.hue for look in many.values()}, set(range(palette.HUES)))


class TwoRuns(unittest.TestCase):
    def test_an_svg_of_two_runs_has_both_with_one_legend(self):
        drawn = [chapter(3), chapter(4)]
        text = svg.draw_runs([svg.Panel(label, models[0], models[0].ctas[0])
                              for label, (_, models) in zip(("first <run>", "second run"), drawn)],
                             "Two", headline="Twice as long")
        for words in ("first &lt;run&gt;", "second run", "Twice as long"):
            self.assertEqual(text.count(f">{words}<"), 1)
        self.assertEqual(text.count(">epilogue<"), 2)
        self.assertEqual(text.count(">waits for input full<"), 1)
        single = svg.draw(drawn[1][1][0], drawn[1][1][0].ctas[0], "One")
        name = palette.of_waits({"input full": 1})["input full"].css_class
        self.assertIn(f'class="{name}"', text)
        self.assertIn(f'class="{name}"', single)


if __name__ == "__main__":
    main()
