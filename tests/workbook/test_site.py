"""The documentation site: links, pages in a browser, bad input.

The site is made once, into the build folder. What a machine lacks (Doxygen, Chromium) skips the tests
that need it, with a word.
"""

import html
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import browser
from support import ROOT, CheckoutTest

from tools import build
from tools.console import Console
from tools.errors import WorkbookError
from tools.site import command, doxygen, finish, generated, make, pages, recordings
from tools.try_exercise import tools_of

OUTPUT = build.SIM.folder(ROOT) / "docs"
SITE = OUTPUT / "html"
WIDTHS = (400, 900, 1400)
SKIPPED = 77
# One page of each kind.
KINDS = (
    "index.html",
    "chapters.html",
    "chapters_01_mbarrier_pipeline.html",
    "chapters_05_blockwise_fp8_gemm.html",
    "docs_concepts.html",
    "docs_concepts_mbarrier.html",
    "docs_concepts_descriptors.html",
    "docs_glossary.html",
    "docs_symptoms.html",
    "docs_pitfalls.html",
    "generated_instructions.html",
    "generated_instructions_tensor_core_and_tensor_memory.html",
    "docs_contract.html",
    "generated_contract_TmemAllocation.html",
    "generated_reference.html",
    "swizzle_8cuh.html",
    "swizzle_8cuh_source.html",
    "classbw_1_1ProducerConsumerPipeline.html",
    "annotated.html",
    "files.html",
    "mbarrier.html",
    "operands.html",
    "timeline_chapter1.html",
    "timeline_chapter5.html",
    "solutions_02_tmem_lifecycle.html",
    "listing_solutions_05_blockwise_fp8_gemm_labs.html",
)


def missing():
    """Why the site can't be made here, or nothing."""
    absent = doxygen.missing()
    if absent:
        return "not installed: " + ", ".join(absent)
    unbuilt = [
        name for name in make.targets() if not build.program(ROOT, build.SIM, name).is_file()
    ]
    return "not built: " + ", ".join(unbuilt) if unbuilt else ""


class Links(unittest.TestCase):
    """Every link, image and script of every page leads somewhere."""

    def test_targets_and_anchors_exist(self):
        found, names = {}, {}
        for page in SITE.glob("*.html"):
            text = page.read_text(encoding="utf-8")
            names[page.name] = set(re.findall(r'\b(?:id|name)="([^"]+)"', text))
            found[page.name] = set(re.findall(r'\b(?:href|src|data)="([^"]*)"', text))
        self.assertGreater(len(found), 200)
        broken = []
        for page, targets in found.items():
            for target in targets:
                target = html.unescape(target)
                if re.match(r"(https?:|mailto:|javascript:|data:)", target) or target in ("", "#"):
                    continue
                name, _, anchor = target.partition("#")
                if name and not (SITE / name).is_file():
                    broken.append(f"{page}: {target}")
                elif anchor and (name or page) in names and anchor not in names[name or page]:
                    broken.append(f"{page}: {target}")
        self.assertEqual(broken[:20], [], f"{len(broken)} broken links")

    def test_texts_for_assistants_are_served(self):
        text = (SITE / "llms.txt").read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)]+)\)", text):
            self.assertTrue((SITE / target).is_file(), target)
        for page in (SITE / "docs" / "concepts").glob("*.md"):
            for target in re.findall(r"\]\(([\w./]+\.md)", page.read_text(encoding="utf-8")):
                self.assertTrue((page.parent / target).is_file(), f"{page.name}: {target}")

    def test_nothing_is_left_of_the_making(self):
        for page in SITE.glob("*.html"):
            text = page.read_text(encoding="utf-8")
            for mark in (pages.REPOSITORY, "@htmlonly", "@BODY@", "/making/"):
                self.assertNotIn(mark, text, page.name)

    def test_the_navigation_names_every_chapter_and_concept(self):
        tree = (SITE / "navtreedata.js").read_text(encoding="utf-8")
        for page in KINDS[1:5]:
            self.assertIn(
                page,
                tree
                + "".join(path.read_text(encoding="utf-8") for path in SITE.glob("navtree*.js")),
            )

    def test_search_finds_without_a_server(self):
        self.assertIn("searchdata", "".join(path.name for path in (SITE / "search").iterdir()))
        found = "".join(path.read_text(encoding="utf-8") for path in (SITE / "search").glob("*.js"))
        for word in ("ProducerConsumerPipeline", "Tensor memory", "Glossary"):
            self.assertIn(word, found)


# What sticks out of the window and is in nothing that scrolls; [tag, class, right edge].
_OVERFLOWING = """(() => {
  const found = [], main = document.querySelector('div.contents, main');
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
  const doc = document.querySelector('#doc-content');
  if (doc && doc.scrollWidth > doc.clientWidth + 1) found.push(['#doc-content', '', doc.scrollWidth]);
  const whole = document.documentElement;
  if (whole.scrollWidth > innerWidth) found.push(['html', '', whole.scrollWidth]);
  return found.slice(0, 5);
})()"""
_WITHOUT_TEXT = """[...document.querySelectorAll('img:not([alt]), iframe:not([title]), '
  + '[role=img]:not([aria-label]):not([alt])')].map(one => one.outerHTML.slice(0, 120))"""
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
        for name in ("docs_glossary.html", "mbarrier.html"):
            grounds = [
                self.browser.open(SITE / name, 900, dark).evaluate(
                    "getComputedStyle(document.body).backgroundColor"
                )
                for dark in (False, True)
            ]
            self.assertNotEqual(*grounds)

    def test_every_control_is_reached_by_tab(self):
        for name in ("mbarrier.html", "operands.html"):
            page = self.browser.open(SITE / name, 900)
            page.evaluate(
                "window.reached = new Set(); document.addEventListener('focusin', "
                "event => reached.add(event.target))"
            )
            wanted = page.evaluate(f"document.querySelectorAll({json.dumps(_CONTROLS)}).length")
            self.assertGreater(wanted, 8)
            for _ in range(wanted + 5):
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
        page = self.browser.open(SITE / "mbarrier.html", 900)
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
        page = self.browser.open(SITE / "mbarrier.html", 1400)
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
        page = self.browser.open(SITE / "operands.html", 900)
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


class Recordings(unittest.TestCase):
    """What is taken from an event log."""

    def test_steps_of_one_barrier(self):
        place = {
            "cluster": 0,
            "rank": 0,
            "warp": 4,
            "lanes": 1,
            "file": "a.cuh",
            "line": 3,
            "stack": [],
            "opcode": "mbarrier.arrive",
            "barrier_rank": 0,
            "barrier_offset": 64,
            "barrier": "shared+64",
            "barrier_init": "a.cuh:1",
            "phase": 0,
            "pending": 0,
            "expected": 1,
            "tx": 0,
        }
        log = [
            {"event": "launch", "kernel": "k"},
            {"event": "mbarrier_init", "cycle": 1, "count": 1, **place},
            {"event": "mbarrier_arrive", "cycle": 5, "count": 1, **place},
            {"event": "mbarrier_arrive", "cycle": 6, "count": 1, **{**place, "barrier_rank": 1}},
            {"event": "mbarrier_complete", "cycle": 5, **place},
            {"event": "launch", "kernel": "second"},
            {"event": "mbarrier_arrive", "cycle": 9, "count": 1, **place},
        ]
        run = recordings.Recorded("x", "X", "program", ())
        made = recordings.of_log(map(json.dumps, log), run, recordings._Sources(ROOT))
        self.assertEqual(
            [(step[1], step[2]) for step in made["steps"]],
            [("init", 1), ("arrive", 5), ("complete", 5)],
        )
        self.assertEqual(made["barriers"][0]["label"], "a.cuh:1")

    def test_a_run_without_barriers_is_refused(self):
        with self.assertRaises(WorkbookError):
            recordings.of_log(
                [json.dumps({"event": "launch", "kernel": "k"})],
                recordings.Recorded("x", "X", "program", ()),
                recordings._Sources(ROOT),
            )


class Pages(unittest.TestCase):
    """The texts as Doxygen gets them."""

    def rewritten(self, text, path="docs/x.md"):
        page = pages.Page(path, pages.label_of(path), "X", text)
        other = pages.Page("docs/pitfalls.md", "docs_pitfalls", "Pitfalls", "# Pitfalls\n")
        return pages.Rewriter(ROOT, [page, other]).rewrite(page)

    def test_links(self):
        text = self.rewritten(
            "# X\n\n[a](pitfalls.md#pitfall-3) [b](../common/device/swizzle.cuh#L9) "
            "[c](https://x.y/) [broken\nover two](pitfalls.md) `[d](no)`\n"
        )
        self.assertIn("[a](docs_pitfalls.html#docs_pitfalls--pitfall-3)", text)
        self.assertIn("[b](repository.invalid/common/device/swizzle.cuh#L9)", text)
        self.assertIn("[c](https://x.y/)", text)
        self.assertIn("[broken over two](docs_pitfalls.html)", text)
        self.assertIn("<code>[d](no)</code>", text)

    def test_the_caption_of_an_excerpt_leads_to_its_lines(self):
        text = self.rewritten("# X\n\n<!-- excerpt FILE NAME -->\n[`labs/a.cu`, lines 13 to 18]"
                              "(../solutions/01_mbarrier_pipeline/labs/syncthreads.cu#L13-L18)\n"
                              "```cpp\nx;\n```\n")
        self.assertRegex(text, r"\[.*labs/a\.cu.*, lines 13 to 18\]\(repository\.invalid/solutions/"
                         r"01_mbarrier_pipeline/labs/syncthreads\.cu#L13-L18\)\n```\{\.cpp\}\nx;")
        listings = finish._Listings(ROOT, None, {"a/x.cuh": "x_8cuh.html"})
        self.assertEqual(listings.page_of("a/x.cuh", "L13-L18"), "x_8cuh_source.html#l00013")
        self.assertEqual(listings.page_of("a/y.cu", "L13-L18"), "listing_a_y_cu.html#L13")

    def test_headings_have_githubs_names(self):
        text = self.rewritten("# X\n\n## A `b`, c\n\n## A `b`, c\n")
        self.assertIn("## A b, c {#docs_x--a-b-c}", text)
        self.assertIn("{#docs_x--a-b-c-1}", text)

    def test_code_is_left_alone(self):
        text = self.rewritten("# X\n\n```cpp\n[a](b) # no heading\n```\n")
        self.assertIn("[a](b) # no heading", text)

    def test_every_group_of_instructions_has_a_page(self):
        made = dict(generated.instructions(
            [["mbarrier", "mbarrier.init", "b64", "cluster", "mbarrier.init"]]))
        self.assertIn("`mbarrier.init`", made["generated/instructions_mbarrier.md"])

    def test_every_number_of_the_timing_model_has_its_source(self):
        page = generated.timing_numbers([
            ["b200", "l2_load_latency", "cycles", "an L2 hit", "301", "published", "a catalogue"],
            ["h100", "l2_load_latency", "cycles", "an L2 hit", "279", "measured", "latency.l2_load"]])
        self.assertIn("| an L2 hit (`l2_load_latency`) | cycles | 301 (published) | 279 (measured) |",
                      page)
        self.assertIn("## Where the numbers of h100 come from", page)
        self.assertIn("| `l2_load_latency` | measured | `latency.l2_load` |", page)


@unittest.skipIf(doxygen.missing(), "no Doxygen here")
class Undocumented(unittest.TestCase):
    """A type or a function without a comment is an error that names it."""

    def test_stops_the_making(self):
        with tempfile.TemporaryDirectory() as holder:
            root, work = Path(holder).resolve() / "root", Path(holder).resolve() / "work"
            for folder in (
                "common/device",
                "common/host",
                "common/simulator",
                "solutions",
                "docs/site",
                "tests/contract",
            ):
                (root / folder).mkdir(parents=True)
            (work / "pages").mkdir(parents=True)
            for name in ("Doxyfile", "workbook.css"):
                shutil.copy(ROOT / "docs/site" / name, root / "docs/site")
            (root / "docs/site/examples.dox").write_text("", encoding="utf-8")
            header = root / "common/device/x.cuh"
            text = ("#pragma once\n/// \\file\n/// A file.\n\n/// A type.\n"
                    "struct Thing {\n  Thing(int size);\n  int size() const;\n  int bytes;\n"
                    "%s  void grow(int by);\n};\n")
            header.write_text(text % "", encoding="utf-8")
            with self.assertRaises(WorkbookError) as raised:
                doxygen.run(root, work, [("X", "index.html", [])])
            self.assertEqual(len(raised.exception.details.splitlines()), 1)
            self.assertIn("common/device/x.cuh:10: warning: Member grow", raised.exception.details)
            header.write_text(text % "  /// Makes it larger.\n", encoding="utf-8")
            doxygen.run(root, work, [("X", "index.html", [])])

    def test_is_named(self):
        log = (f"{ROOT}/common/device/x.cuh:3: warning: Member y(int a) (function) of struct bw::X "
               "is not documented.\n")
        for folder in doxygen.DOCUMENTED:
            line = log.replace("common/device/", folder + "/")
            self.assertEqual(len(doxygen.problems(ROOT, line)), 1, folder)
        self.assertEqual(doxygen.problems(ROOT, log.replace("common/device/", "elsewhere/")), [])
        self.assertEqual(
            len(doxygen.problems(ROOT, "x.md:1: warning: unable to resolve reference\n")), 1
        )
        special = log.replace(
            "Member y(int a) (function)", "Member operator=(const X &)=delete (function)"
        )
        self.assertEqual(doxygen.problems(ROOT, special), [])
        for free in ("y (variable)", "X(int a) (function)", "y() const (function)"):
            line = log.replace("y(int a) (function)", free)
            self.assertEqual(doxygen.problems(ROOT, line), [], free)
        compound = log.replace("Member y(int a) (function) of struct bw::X", "Compound bw::X")
        self.assertEqual(len(doxygen.problems(ROOT, compound)), 1)


class Command(CheckoutTest):
    """`./workbook docs` where something is missing."""

    def test_without_doxygen_it_says_so(self):
        tools = self.folder / "tools"
        tools.mkdir()
        for name in ("python3", "sh", "env"):
            (tools / name).symlink_to(shutil.which(name))
        result = self.run_workbook(self.checkout(), "docs", PATH=str(tools))
        self.assertEqual(result.returncode, 1)
        self.assertIn("The site is made by Doxygen", result.stderr)
        self.assertIn("doxygen", result.stderr)

    def test_without_a_browser_the_path_is_printed(self):
        said = io.StringIO()
        with unittest.mock.patch.dict(os.environ):
            for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
                os.environ.pop(name, None)
            command._open(self.folder / "index.html", Console(said))
        self.assertIn("No browser was found", said.getvalue())

    def test_a_port_in_use_gets_a_sentence(self):
        with socket.socket() as taken:
            taken.bind((command.ADDRESS, 0))
            taken.listen()
            with self.assertRaisesRegex(WorkbookError, "--serve PORT"):
                command._serve(self.folder, taken.getsockname()[1], Console(io.StringIO()))


class Figures(unittest.TestCase):
    def test_are_as_they_are_drawn(self):
        script = ROOT / "docs/concepts/figures/draw.py"
        self.assertEqual(
            subprocess.run([sys.executable, "-B", str(script), "--check"], check=False).returncode,
            0,
        )


def main():
    why = missing()
    if why:
        print(f"The site is not made: {why}.")
        sys.exit(SKIPPED)
    try:
        make.make(ROOT, tools_of(ROOT), OUTPUT)
    except WorkbookError as error:
        print(f"{error.details or ''}\nerror: {error}")
        sys.exit(1)
    unittest.main()


if __name__ == "__main__":
    main()
