"""The timeline's page in headless Chromium: no error, nothing overflows, keys and wheel work, and the
run of 512^3 opens in less than two seconds. Skipped without Chromium."""

import json
import os
import re
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

from support import ROOT, SQUARE_512, chapter, last, main

import browser
from tools.timeline import page, svg

WIDTHS = (400, 900, 1400)
OPENS_MS = 2000
FRAME_MS = 50  # of a zoom step, on a machine that does other things too


@unittest.skipUnless(browser.find(), "there is no Chromium")
class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = Path(cls._folder.name)
        square = last("05_blockwise_fp8_gemm", *SQUARE_512)
        stuck = last("bound_by", "nothing")
        cls.pages = {"square": cls.write("square", [("", *square)]),
                     "stuck": cls.write("stuck", [("", *stuck)]),
                     "two": cls.write("two", [("one", *chapter(3)), ("other", *chapter(4))])}
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls._folder.cleanup()

    @classmethod
    def write(cls, name, runs):
        path = cls.folder / f"{name}.html"
        page.write(path, f"Timeline <{name}> & more", runs, ROOT)
        return path

    def test_every_width_and_ground(self):
        for name, path in self.pages.items():
            for width in WIDTHS:
                for dark in (False, True):
                    with self.subTest(page=name, width=width, dark=dark):
                        shown = self.browser.open(path, width=width, dark=dark)
                        self.assertEqual(shown.messages, [])
                        self.assertLessEqual(
                            shown.evaluate("document.documentElement.scrollWidth"), width)
                        self.assertGreater(shown.evaluate("canvas.height"), 50)
                        self.assertEqual(shown.evaluate("document.title"),
                                         f"Timeline <{name}> & more")
                        if os.environ.get("BW_SCREENSHOTS"):
                            shown.screenshot(Path(os.environ["BW_SCREENSHOTS"])
                                             / f"{name}-{width}-{'dark' if dark else 'light'}.png")

    def test_it_opens_quickly(self):
        times = []
        for _ in range(3):
            shown = self.browser.open(self.pages["square"])
            times.append(float(shown.evaluate("document.documentElement.dataset.ready")))
        self.assertLess(min(times), OPENS_MS, times)

    def test_zooming_is_fluid(self):
        shown = self.browser.open(self.pages["square"])
        # Wheel events with a frame after each, as a hand makes them.
        times = json.loads(shown.evaluate("""(async () => {
          const frame = () => new Promise(requestAnimationFrame), times = [];
          for (let i = 0; i < 40; ++i) {
            const begin = performance.now();
            canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: i < 20 ? -120 : 120,
              clientX: 700, clientY: 300, cancelable: true}));
            await frame(); await frame();
            times.push(performance.now() - begin);
          }
          return JSON.stringify(times);
        })()"""))
        times.sort()
        self.assertLess(times[len(times) // 2], FRAME_MS, times)

    def test_keys_do_everything(self):
        shown = self.browser.open(self.pages["square"])
        ranges = lambda: [int(number.replace(",", "")) for number in  # noqa: E731
                          re.findall(r"[\d,]+", shown.evaluate("range.textContent"))]
        whole = ranges()
        shown.evaluate("canvas.focus()")
        self.key(shown, "+")
        self.assertLess(ranges()[1] - ranges()[0], whole[1] - whole[0])
        before = ranges()
        shown.press("ArrowRight")
        self.frame(shown)
        self.assertGreater(ranges()[0], before[0])
        self.key(shown, "0")
        self.assertEqual(ranges(), whole)
        shown.press("ArrowDown")
        self.assertFalse(shown.evaluate("tip.hidden"))
        first = shown.evaluate("tip.textContent")
        self.key(shown, ".")
        self.assertNotEqual(shown.evaluate("tip.textContent"), first)
        self.assertRegex(shown.evaluate("tip.textContent"), r"\.cuh:\d+")
        shown.press("Escape")
        self.assertTrue(shown.evaluate("tip.hidden"))
        reached = set()
        for _ in range(8):
            shown.press("Tab")
            reached.add(shown.evaluate("document.activeElement.id"))
        self.assertLessEqual({"cta", "in", "out", "all", "arrows", "canvas"}, reached)

    def test_another_cta_is_shown_by_choice(self):
        shown = self.browser.open(self.pages["square"])
        before = shown.evaluate("canvas.toDataURL()")
        shown.evaluate("cta.value = cta.options[1].value; cta.dispatchEvent(new Event('change'))")
        shown.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
        self.assertNotEqual(shown.evaluate("canvas.toDataURL()"), before)
        self.assertEqual(shown.messages, [])

    def test_pointing_names_the_line(self):
        shown = self.browser.open(self.pages["square"])
        text = shown.evaluate("""(() => {
          const box = canvas.getBoundingClientRect();
          canvas.dispatchEvent(new PointerEvent("pointermove",
            {clientX: box.left + 700, clientY: box.top + 34}));
          return tip.hidden ? "" : tip.textContent;
        })()""")
        self.assertRegex(text, r"epilogue, warp 0")
        self.assertRegex(text, r"\.cuh:\d+")

    def test_a_run_that_never_ends_says_so(self):
        shown = self.browser.open(self.pages["stuck"])
        self.assertIn("deadlock", shown.evaluate("notes.textContent"))
        shown.evaluate("canvas.focus()")
        for _ in range(2):
            shown.press("ArrowDown")
        for _ in range(4):
            self.key(shown, ".")
        self.assertIn("this never ended", shown.evaluate("tip.textContent"))

    @staticmethod
    def key(shown, text):
        event = f"new KeyboardEvent('keydown', {{key: {json.dumps(text)}}})"
        shown.evaluate(f"canvas.dispatchEvent({event})")
        Pages.frame(shown)

    @staticmethod
    def frame(shown):
        shown.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


class Pictures(unittest.TestCase):
    def test_an_svg_is_well_formed_and_says_what_it_shows(self):
        _, models = chapter(3)
        text = svg.draw(models[0], models[0].ctas[0], 'Three roles & "rings"')
        root = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(root.get("aria-label"), 'Three roles & "rings"')
        self.assertIn("prefers-color-scheme: dark", text)
        box = list(map(float, root.get("viewBox").split()))
        marks = re.findall(r"M([\d.]+) [\d.]+h([\d.]+)v", text)
        self.assertGreater(len(marks), 100)
        for x, width in marks:
            self.assertGreater(float(width), 0)
            self.assertLessEqual(float(x) + float(width), box[2] + 1)

    def test_a_page_needs_no_network(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.html"
            page.write(path, "Chapter 2", [("", *chapter(2))], ROOT)
            text = path.read_text(encoding="utf-8")
            self.assertNotRegex(text, r"\b(?:src|href)=|@import|url\(|https?://(?!www\.w3\.org)")
            self.assertNotIn("@", re.sub(r"<script.*", "", text, flags=re.S).replace("@media", ""))


if __name__ == "__main__":
    main()
