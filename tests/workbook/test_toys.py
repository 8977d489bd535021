"""The pages that one can change (docs/site/*.html) in Chromium, framed as the site frames them: nothing
overflows, everything has a name and is reached by Tab, every preset says something, bad numbers get a
sentence. Skipped without Chromium."""

import re
import shutil
import tempfile
import unittest
from pathlib import Path

import browser
import page_checks
from support import ROOT

from tools.site import frame

SOURCE = ROOT / "docs" / "site"
# Those that need no recordings; the site's test opens the others.
TOYS = tuple(sorted(path.stem for path in SOURCE.glob("*.html")
                    if re.search(r"<h1>", path.read_text(encoding="utf-8"))
                    and "@RECORDINGS@" not in path.read_text(encoding="utf-8")))
_SHOWN = "document.querySelector('main').textContent"


@unittest.skipUnless(browser.find(), "no Chromium here")
class Toys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.site = Path(cls._folder.name)
        (cls.site / "docs/site").mkdir(parents=True)
        for path in [*SOURCE.glob("*.js"), *SOURCE.glob("*.css")]:
            shutil.copyfile(path, cls.site / "docs/site" / path.name)
        for name in TOYS:
            at = f"docs/site/{name}.html"
            body = (SOURCE / f"{name}.html").read_text(encoding="utf-8")
            style = '<link rel="stylesheet" href="interactive.css">'
            (cls.site / at).write_text(frame.page(name, body, at, (), extra_head=style),
                                       encoding="utf-8")
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls._folder.cleanup()

    def open(self, name, width=800, dark=False):
        return self.browser.open(self.site / f"docs/site/{name}.html", width, dark)

    def test_there_are_these(self):
        self.assertLessEqual({"operands", "ring", "tmem", "raster"}, set(TOYS))

    def test_every_width_and_ground(self):
        for name in TOYS:
            for width in page_checks.WIDTHS:
                page = self.open(name, width)
                for dark in (False, True):
                    self.browser.recolour(dark)
                    with self.subTest(page=name, width=width, dark=dark):
                        self.assertEqual(page.messages, [])
                        self.assertEqual(page_checks.overflowing(page), [])

    def test_everything_has_a_name(self):
        for name in TOYS:
            page = self.open(name)
            self.assertEqual(page_checks.nameless(page), [], name)
            self.assertEqual(page_checks.headings(page), [], name)

    def test_every_control_is_reached_by_tab(self):
        for name in TOYS:
            self.assertEqual(page_checks.unreached(self.open(name)), [], name)

    def test_every_preset_shows_something_else(self):
        for name in ("ring", "tmem", "raster"):
            page = self.open(name)
            count = page.evaluate("document.getElementById('preset').options.length")
            self.assertGreater(count, 5)
            seen = set()
            for index in range(count):
                page.evaluate(f"preset.selectedIndex = {index}; "
                              "preset.dispatchEvent(new Event('input', {bubbles: true}))")
                with self.subTest(page=name, preset=index):
                    shown = page.evaluate(_SHOWN)
                    self.assertNotRegex(shown, r"undefined|NaN|null|Infinity")
                    self.assertEqual(page.evaluate("problem.textContent"), "")
                    seen.add(page.evaluate("summary.textContent + picture.getAttribute('aria-label')"))
            self.assertEqual(len(seen), count, name)

    def typed(self, page, field, value):
        """What the page answers to a number in a field."""
        page.evaluate(f"document.getElementById('{field}').focus(); "
                      f"document.getElementById('{field}').select()")
        page.type(value)
        return page.evaluate("problem.textContent")

    def test_bad_numbers_get_a_sentence_and_hide_the_answer(self):
        for name, field, value in (("ring", "stages", "9"), ("ring", "held", "461"),
                                   ("tmem", "sets", "99"), ("raster", "m", "0"),
                                   ("raster", "at-work", "149")):
            page = self.open(name)
            with self.subTest(page=name, field=field):
                self.assertRegex(self.typed(page, field, value), r"^\S.* .*\.$")
                self.assertTrue(page.evaluate("shown.hidden"))

    def test_the_machines_refusal_is_shown_with_its_code(self):
        page = self.open("tmem")
        self.assertEqual(self.typed(page, "allocate", "48"), "")
        said = page.evaluate("refused.textContent")
        self.assertIn("BW-X03: allocates 48 columns. Rule: the number of columns is a power of two in "
                      "32...512.", said)
        self.assertTrue(page.evaluate("refused.querySelector('a').href.length > 0"))

    def test_the_arrow_keys_turn_a_knob(self):
        page = self.open("ring")
        before = page.evaluate("summary.textContent")
        page.evaluate("stages.focus()")
        page.press("ArrowUp")
        self.assertEqual(page.evaluate("stages.value"), "3")
        self.assertNotEqual(page.evaluate("summary.textContent"), before)
        page = self.open("raster")
        page.evaluate("document.getElementById('round').focus()")
        page.press("ArrowRight")
        self.assertIn("round 1 of 5", page.evaluate("count.textContent"))


if __name__ == "__main__":
    unittest.main()
