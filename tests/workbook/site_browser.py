"""The site's pages in Chromium: no error, nothing that sticks out, keys, and what axe finds."""

import json
import unittest

import browser
from support import ROOT

from tools import build, private_env, wheels_for_tests
from tools.site import toys

OUTPUT = build.SIM.folder(ROOT) / "docs"
SITE = OUTPUT / "html"
WIDTHS = (390, 800, 1440)
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
    "search.html",
)


# What sticks out of the window and is in nothing that scrolls; [tag, class, right edge].
_OVERFLOWING = """(() => {
  const found = [], main = document.querySelector('main');
  for (const one of main.querySelectorAll('*')) {
    const box = one.getBoundingClientRect();
    if (box.width === 0 || box.right <= innerWidth + 1) continue;
    let parent = one, scrolls = false;
    while (parent && parent !== main && !scrolls) {
      const style = getComputedStyle(parent);
      scrolls = style.overflowX !== 'visible' || style.position === 'absolute';
      parent = parent.parentElement;
    }
    if (!scrolls) found.push([one.tagName, String(one.className), Math.round(box.right)]);
  }
  const whole = document.documentElement;
  if (whole.scrollWidth > innerWidth) found.push(['html', '', whole.scrollWidth]);
  return found.slice(0, 5);
})()"""
_WITHOUT_TEXT = """[...document.querySelectorAll('img:not([alt]), iframe:not([title]), '
  + '[role=img]:not([aria-label]):not([alt])')].map(one => one.outerHTML.slice(0, 120))"""
# axe's findings that count: [rule, element, what to mend].
_AXE = """axe.run(document, {resultTypes: ['violations']}).then((result) =>
  result.violations.filter((one) => ['serious', 'critical'].includes(one.impact)).flatMap((one) =>
    one.nodes.slice(0, 3).map((node) =>
      [one.id, node.html.slice(0, 160), (node.failureSummary || '').slice(0, 300)])))"""
_CONTROLS = "main a, main button, main select, main input, main [tabindex='0']"


@unittest.skipUnless(browser.find(), "no Chromium here")
class InABrowser(unittest.TestCase):
    """Every kind of page: no error, nothing that sticks out, text for every figure."""

    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def test_every_kind_of_page(self):
        for name in KINDS:
            self.assertTrue((SITE / name).is_file(), name)
            for number, width in enumerate(WIDTHS):
                # Opened in one of the two, then switched to the other.
                first = number % 2 == 1
                page = self.browser.open(SITE / name, width, first)
                for dark in (first, not first):
                    self.browser.recolour(dark)
                    with self.subTest(page=name, width=width, dark=dark):
                        self.assertEqual(page.messages, [])
                        self.assertEqual(page.evaluate(_OVERFLOWING), [])
                        self.assertEqual(page.evaluate(_WITHOUT_TEXT), [])

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

    def test_every_control_is_reached_by_tab(self):
        for name in ("docs/site/mbarrier.html", "docs/site/operands.html"):
            page = self.browser.open(SITE / name, 900)
            page.evaluate(
                "window.reached = new Set(); document.addEventListener('focusin', "
                "event => reached.add(event.target))"
            )
            wanted = page.evaluate(f"document.querySelectorAll({json.dumps(_CONTROLS)}).length")
            self.assertGreater(wanted, 8)
            for _ in range(wanted + 15):  # and the header
                page.press("Tab")
            self.assertEqual(
                page.evaluate(
                    f"[...document.querySelectorAll({json.dumps(_CONTROLS)})].filter(one => "
                    "!reached.has(one)).map(one => one.outerHTML.slice(0, 80))"
                ),
                [],
                name,
            )

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
                    page = chromium.open(SITE / name, width, dark)
                    page.evaluate(program + "; 0")
                    with self.subTest(page=name, width=width, dark=dark):
                        self.assertEqual(page.evaluate(_AXE), [])
