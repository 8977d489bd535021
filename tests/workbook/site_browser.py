"""The site's pages in Chromium: no error, nothing that overflows, keys, and what axe finds."""

import time
import unittest

import browser
import page_checks
from support import ROOT

from tools import build, private_env, wheels_for_tests
from tools.site import toys

OUTPUT = build.SIM.folder(ROOT) / "docs"
SITE = OUTPUT / "html"
# One page of each kind.
KINDS = (
    "index.html",
    "chapters/index.html",
    "chapters/01_mbarrier_pipeline/index.html",
    "chapters/05_blockwise_fp8_gemm/index.html",
    "chapters/06_hopper_fp8_gemm/lab_notebook.html",
    "docs/concepts/index.html",
    "docs/concepts/mbarrier.html",
    "docs/concepts/descriptors.html",
    "docs/glossary.html",
    "docs/symptoms.html",
    "docs/pitfalls.html",
    "docs/commands.html",
    "docs/codes/index.html",
    "docs/codes/BW-B06.html",
    "docs/contract.html",
    "generated/instructions_tensor_core_and_tensor_memory.html",
    "generated/contract_TmemAllocation.html",
    "generated/try_it.html",
    "generated/reference.html",
    "reference/swizzle_8cuh.html",
    "reference/swizzle_8cuh_source.html",
    "reference/classbw_1_1ProducerConsumerPipeline.html",
    "reference/annotated.html",
    "reference/files.html",
    *(toy.path for toy in [*toys.load(ROOT), *toys.timelines()]),
    "files/solutions/05_blockwise_fp8_gemm/labs.html",
    "files/common/simulator/isa/legal_forms.txt.html",
    "search.html?q=stuck",
)
# The search's own heading after its last result, and the first excerpts.
_HAS_SEARCHED = ("document.querySelector('#search-results h2')?.textContent === 'Search Results' && "
                 "document.querySelectorAll('.search li .context').length > 2")
# One of each that has controls of its own, for the keyboard.
BY_KEYBOARD = (
    "chapters/01_mbarrier_pipeline/index.html",
    "docs/codes/BW-B06.html",
    "generated/try_it.html",
    "reference/classbw_1_1ProducerConsumerPipeline.html",
    "reference/files.html",
    *(toy.path for toy in [*toys.load(ROOT), *toys.timelines()]),
    "files/solutions/05_blockwise_fp8_gemm/labs.html",
    "search.html?q=stuck",
)


def opened(chromium, name, width, dark=False):
    """A page of the site; one of the search with what it has found."""
    page = chromium.open(SITE / name, width, dark)
    if "?q=" in name:
        wait_for_results(page)
    return page


def wait_for_results(page):
    """Waits until the search has listed everything that it has found."""
    deadline = time.monotonic() + 60
    while not page.try_evaluate(_HAS_SEARCHED):
        if time.monotonic() > deadline:
            raise TimeoutError("the search does not end")
        time.sleep(0.05)


@unittest.skipUnless(browser.find(), "no Chromium here")
class InABrowser(unittest.TestCase):
    """Every kind of page: no error, nothing that overflows, a name for everything, all by keyboard."""

    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def open(self, name, width=900, dark=False):
        return opened(self.browser, name, width, dark)

    def test_every_kind_of_page(self):
        for name in KINDS:
            for number, width in enumerate(page_checks.WIDTHS):
                # Opened in one of the two, then switched to the other.
                first = number % 2 == 1
                page = self.open(name, width, first)
                for dark in (first, not first):
                    self.browser.recolour(dark)
                    with self.subTest(page=name, width=width, dark=dark):
                        self.assertEqual(page.messages, [])
                        self.assertEqual(page_checks.overflowing(page), [])
                        self.assertEqual(page_checks.nameless(page), [])
                        self.assertEqual(page_checks.headings(page), [])

    def test_every_control_is_reached_by_tab(self):
        for name in BY_KEYBOARD:
            for width in (390, 1440):
                with self.subTest(page=name, width=width):
                    self.assertEqual(page_checks.unreached(self.open(name, width)), [])

    def test_a_page_opened_as_a_file_says_why_nothing_runs(self):
        names = [name for name in ("docs/site/labs.html", "docs/site/exercises.html")
                 if (SITE / name).is_file()]
        if not names:
            self.skipTest("this site was made without the simulator's module")
        empty = ("[...document.querySelectorAll('.controls select')]"
                 ".filter((one) => one.options.length === 0 && one.checkVisibility()).length")
        for name in names:
            with self.subTest(page=name):
                page = self.open(name)
                self.assertIn("./workbook docs --serve", page.evaluate("document.body.innerText"))
                self.assertEqual(page.evaluate(empty), 0)

    def test_the_navigation_of_a_narrow_page_opens_by_keyboard(self):
        page = self.open("docs/concepts/mbarrier.html", 390)
        for button, dialog in (("primary", "pst-primary-sidebar-modal"),
                               ("secondary", "pst-secondary-sidebar-modal")):
            page.evaluate(f"document.querySelector('.bw-toggles .{button}-toggle').focus()")
            page.press("Enter")
            inside = f"document.getElementById('{dialog}').contains(document.activeElement)"
            page.press("Tab")
            self.assertTrue(page.evaluate(f"document.getElementById('{dialog}').open"), button)
            self.assertTrue(page.evaluate(inside), button)
            page.press("Escape")
            self.assertFalse(page.evaluate(f"document.getElementById('{dialog}').open"), button)

    def test_dark_and_light_differ(self):
        for name in ("docs/glossary.html", "docs/site/mbarrier.html", "reference/files.html"):
            grounds = [
                self.browser.open(SITE / name, 900, dark).evaluate(
                    "getComputedStyle(document.body).backgroundColor"
                )
                for dark in (False, True)
            ]
            self.assertNotEqual(*grounds)

    def test_figures_keep_their_own_colours_on_dark_ground(self):
        page = self.browser.open(SITE / "chapters/04_per_k_contexts/index.html", 900, True)
        style = "getComputedStyle(document.querySelector('img[src$=\"timeline.svg\"]'))"
        self.assertEqual(page.evaluate(f"[{style}.filter, {style}.backgroundColor]"),
                         ["none", "rgba(0, 0, 0, 0)"])

    def test_a_search_by_keyboard_shows_excerpts(self):
        page = self.browser.open(SITE / "reference/swizzle_8cuh.html", 900)
        page.press("/")
        page.type("parity")
        page.press("Enter")
        wait_for_results(page)
        first = page.evaluate("document.querySelector('.search li').textContent")
        self.assertIn("The lowest bit of a phase's number", first)
        self.assertEqual(page.messages, [])

    def test_the_choice_of_dark_holds_on_other_pages(self):
        page = self.browser.open(SITE / "reference/swizzle_8cuh.html", 900)
        theme = "document.documentElement.dataset.theme"
        self.assertEqual(page.evaluate(theme), "light")
        try:
            page.evaluate("document.querySelector('.bw-theme').click()")
            for name in ("docs/glossary.html", "docs/site/mbarrier.html"):
                self.assertEqual(self.browser.open(SITE / name, 900).evaluate(theme), "dark", name)
        finally:
            page.evaluate("localStorage.clear()")

    def test_keys_step_through_a_recording(self):
        page = self.browser.open(SITE / "docs/site/mbarrier.html", 900)
        steps = page.evaluate("document.querySelectorAll('#steps tbody tr').length")
        self.assertGreater(steps, 20)
        texts = set()
        for _ in range(steps - 1):
            page.press("ArrowRight")
            texts.add(page.evaluate("document.getElementById('now').textContent"))
        self.assertEqual(
            page.evaluate("document.getElementById('count').textContent").split(",")[0],
            f"step {steps} of {steps}",
        )
        self.assertGreater(len(texts), 10)
        for text in texts:
            self.assertNotRegex(text, r"undefined|NaN|null")
        page.press("Home")
        page.press("c")
        self.assertIn("is complete", page.evaluate("document.getElementById('now').textContent"))

    def test_every_barrier_of_every_recording(self):
        page = self.browser.open(SITE / "docs/site/mbarrier.html", 1400)
        found = page.evaluate("""(() => {
          const run = document.getElementById('run'), wrong = [];
          const barrier = document.getElementById('barrier');
          let count = 0;
          for (let r = 0; r < run.options.length; ++r) {
            run.selectedIndex = r; run.dispatchEvent(new Event('change'));
            for (let b = 0; b < barrier.options.length; ++b) {
              barrier.selectedIndex = b; barrier.dispatchEvent(new Event('change'));
              ++count;
              document.getElementById('to-last').click();
              const text = document.querySelector('main').textContent;
              if (/undefined|NaN|null/.test(text)) wrong.push([r, b]);
            }
          }
          return {count, wrong};
        })()""")
        self.assertGreater(found["count"], 20)
        self.assertEqual(found["wrong"], [])

    def test_the_explorer_refuses_what_there_is_not(self):
        page = self.browser.open(SITE / "docs/site/operands.html", 900)
        self.assertEqual(
            page.evaluate("document.getElementById('word100').textContent"), self._descriptor(1024)
        )
        page.evaluate(
            "document.getElementById('base').focus(); document.getElementById('base').select()"
        )
        page.type("1040")
        self.assertIn(
            "repeats every 1024 bytes",
            page.evaluate("document.getElementById('problem').textContent"),
        )
        self.assertTrue(page.evaluate("document.getElementById('shown').hidden"))

    @staticmethod
    def _descriptor(base):
        """128-byte swizzle, K-major, sm_100, by the PTX ISA's fields."""
        return f"0x{base >> 4 | 1 << 16 | 1024 >> 4 << 32 | 1 << 46 | 2 << 61:016x}"


def axe():
    """axe-core's program, or nothing."""
    if not wheels_for_tests.are_installed(ROOT, wheels_for_tests.ACCESSIBILITY):
        return None
    return next((path for site in private_env.site_packages(ROOT)
                 for path in site.glob("axe_playwright_python/axe.min.js")), None)


@unittest.skipUnless(browser.find() and axe(), "no Chromium or no axe-core here")
class Accessibility(unittest.TestCase):
    """axe finds nothing serious on any kind of page, light and dark, wide and narrow."""

    def test_every_kind_of_page(self):
        program = axe().read_text(encoding="utf-8")
        with browser.Browser() as chromium:
            for name in KINDS:
                for width, dark in ((1440, False), (1440, True), (390, False)):
                    page = opened(chromium, name, width, dark)
                    with self.subTest(page=name, width=width, dark=dark):
                        self.assertEqual(page_checks.inaccessible(page, program), [])
