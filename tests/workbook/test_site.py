"""The documentation site: links, search, pages in a browser, bad input.

The site is made once, into the build folder. What a machine lacks (Doxygen, Sphinx, Chromium, Node)
skips the tests that need it, with a word.
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
from urllib.parse import unquote

import contrast
from site_browser import OUTPUT, SITE, Accessibility, InABrowser  # noqa: F401 (tests)
from support import ROOT, CheckoutTest

from tools import browser, build, chapters, code_links, links, private_env
from tools.console import Console
from tools.errors import WorkbookError
from tools.site import book, command, doxygen, generated, make, pages, panels, recordings
from tools.try_exercise import tools_of

SKIPPED = 77
# What a reader looks for, and a page that has to be among the first three.
SEARCHES = {
    "parity": "docs/concepts/mbarrier",
    "deadlock": "docs/concepts/deadlock_report",
    "phase": "docs/concepts/mbarrier",
    "swizzle": "docs/concepts/descriptors",
    "BW-B06": "docs/codes/BW-B06",
    "hang": "docs/symptoms",
    "expect_tx": "docs/concepts/mbarrier",
    "TMEM": "docs/concepts/tmem",
    "commit": "docs/concepts/tmem",
    "NVFP4": "chapters/07_block_scaled_gemm/index",
    "multicast": "chapters/06_hopper_fp8_gemm/index",
    "proxy": "docs/concepts/proxies",
    "fence": "docs/concepts/proxies",
    "elect": "docs/glossary",
    "stage": "docs/concepts/mbarrier",
    "promotion": "chapters/04_per_k_contexts/index",
    "launch control": "chapters/05_blockwise_fp8_gemm/index",
    "register": "docs/concepts/warp_specialisation",
    "timeline": "docs/concepts/timeline",
    "wait::ld": "docs/concepts/tmem",
    "ProducerConsumerPipeline": "generated/contract_ProducerConsumerPipeline",
    "step through an mbarrier": "docs/site/mbarrier",
    "race": "docs/concepts/races",
    "epilogue": "chapters/05_blockwise_fp8_gemm/index",
    "accumulator": "docs/concepts/tmem",
    "bank conflict": "docs/concepts/descriptors",
    "BW-R03": "docs/codes/BW-R03",
    "cta_group": "chapters/02_tmem_lifecycle/index",
    "dealloc": "docs/concepts/tmem",
    "fence.proxy.async": "docs/concepts/proxies",
    "K-major": "docs/concepts/descriptors",
    "L2": "docs/site/raster",
    "profile": "docs/concepts/profile",
    "scale factor": "docs/concepts/block_scales",
    "seed": "docs/concepts/schedules",
    "setmaxnreg": "docs/concepts/warp_specialisation",
    "stuck": "docs/symptoms",
    "tensor map": "chapters/01_mbarrier_pipeline/index",
    "warpgroup": "chapters/06_hopper_fp8_gemm/index",
    "wrong result": "docs/symptoms",
}
# The site without the reference and without what runs labs, and what runs labs, at most.
MEGABYTES, MEGABYTES_OF_LABS = 20, 14


def missing():
    """Why the site can't be made here, or nothing."""
    absent = make.missing(ROOT)
    if absent:
        return "not installed: " + ", ".join(absent)
    unbuilt = [
        name for name in make.targets() if not build.program(ROOT, build.SIM, name).is_file()
    ]
    return "not built: " + ", ".join(unbuilt) if unbuilt else ""


def every_page():
    """(path in the site, text) of every page."""
    for page in sorted(SITE.rglob("*.html")):
        yield page.relative_to(SITE).as_posix(), page.read_text(encoding="utf-8")


def article(name):
    """The HTML of a page's text, without its navigation."""
    return article_of((SITE / name).read_text(encoding="utf-8"))


def article_of(text):
    """The same of the page's HTML."""
    return text[text.index("<article") : text.index("</article>")]


class Links(unittest.TestCase):
    """Every link, image and script of every page leads somewhere."""

    def test_targets_and_anchors_exist(self):
        found, names = {}, {}
        for name, text in every_page():
            names[name] = set(re.findall(r'\b(?:id|name)="([^"]+)"', text))
            found[name] = set(re.findall(r'\b(?:href|src|data|action)="([^"]*)"', text))
        self.assertGreater(len(found), 2000)
        broken = []
        for page, targets in found.items():
            for target in map(html.unescape, targets):
                if pages.is_external(target) or target in ("", "#"):
                    continue
                name, _, anchor = target.partition("#")
                name = os.path.normpath(os.path.join(os.path.dirname(page), unquote(
                    name.partition("?")[0]))) if name else page
                if not (SITE / name).is_file() or anchor and anchor not in names.get(name, (anchor,)):
                    broken.append(f"{page}: {target}")
        self.assertEqual(broken[:20], [], f"{len(broken)} broken links")

    def test_texts_for_assistants_are_served(self):
        text = (SITE / "llms.txt").read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)]+)\)", text):
            self.assertTrue((SITE / target).is_file(), target)
        for page in (SITE / "docs" / "concepts").glob("*.md"):
            for target in re.findall(r"\]\(([\w./]+\.md)", page.read_text(encoding="utf-8")):
                self.assertTrue((page.parent / target).is_file(), f"{page.name}: {target}")

    def test_the_names_of_headings_are_those_of_github(self):
        for name in ("docs/pitfalls", "docs/style", "chapters/01_mbarrier_pipeline/README"):
            page = (SITE / pages.name_of(name + ".md")).with_suffix(".html").read_text(encoding="utf-8")
            for anchor in links.anchors((ROOT / f"{name}.md").read_text(encoding="utf-8")):
                self.assertIn(f'id="{anchor}"', page, name)


class Frame(unittest.TestCase):
    """What every page has."""

    def test_header_heading_and_landmarks(self):
        wrong = []
        for name, text in every_page():
            counts = {part: len(re.findall(part, text)) for part in (
                r"<h1[ >]", r"<main[ >]", 'class="bw-header"', '<label for="bw-query">')}
            if set(counts.values()) != {1}:
                wrong.append((name, counts))
        self.assertEqual(wrong[:5], [], f"{len(wrong)} pages")

    def test_nothing_is_left_of_the_making(self):
        for name, text in every_page():
            for mark in ("@ROOT@", "@BODY@", "@BAR@", "@HEAD@", "/making/", "{toctree}"):
                self.assertNotIn(mark, text, name)

    def test_the_book_has_navigation(self):
        page = (SITE / "docs/concepts/timeline.html").read_text(encoding="utf-8")
        self.assertIn('<a class="reference internal" href="profile.html">', page)
        self.assertIn('class="bd-breadcrumbs"', page)
        self.assertIn('class="left-prev"', page)
        self.assertIn('class="right-next"', page)
        self.assertIn('id="pst-page-toc-nav', page)
        self.assertRegex(page, r'class="breadcrumb-item"><a href="index.html"')

    def test_it_is_small(self):
        size, of_labs = 0, 0
        for path in SITE.rglob("*"):
            place = path.relative_to(SITE)
            if place.as_posix().startswith(panels.FOLDER):
                of_labs += path.stat().st_size
            elif path.is_file() and place.parts[0] != pages.REFERENCE:
                size += path.stat().st_size
        self.assertLess(size / 1e6, MEGABYTES)
        self.assertLess(of_labs / 1e6, MEGABYTES_OF_LABS)


class Panels(unittest.TestCase):
    """Each lab that pages run has its panel in its chapter, after the text that leads to it."""

    def test_each_lab_has_one(self):
        recorded = browser.recorded(ROOT)
        if recorded is None:
            self.skipTest("the simulator's module for pages is not built")
        wanted = {(run["chapter"], run["lab"]) for run in recorded["runs"] if run["lab"]}
        self.assertGreater(len(wanted), 30)
        found = set()
        for chapter in chapters.CHAPTERS:
            text = article(f"chapters/{chapter.name}/index.html")
            for panel in re.finditer(
                    r'<details class="bw-lab" id="run-(\w+)" data-lab="(\d)/(\w+)">', text):
                self.assertEqual(panel.group(1), panel.group(3))
                self.assertRegex(text[:panel.start()], rf'href="[^"]*labs/{panel.group(1)}\.cu')
                self.assertNotIn((int(panel.group(2)), panel.group(3)), found)
                found.add((int(panel.group(2)), panel.group(3)))
        self.assertEqual(found, wanted)
        known = json.loads((SITE / panels.FOLDER / "labs.json").read_text(encoding="utf-8"))
        for run in known["runs"]:
            if run["source"]:
                self.assertTrue((SITE / known["pages"][run["source"]]).is_file(), run["source"])


class Rendering(unittest.TestCase):
    """What Markdown becomes."""

    def test_code_in_bold(self):
        for name, text in every_page():
            if "<article" not in text:
                continue
            prose = re.sub(r"<pre.*?</pre>|<code.*?</code>", "", article(name), flags=re.S)
            self.assertNotIn("**", prose, name)

    def test_a_span_of_code_has_no_blanks_around_it(self):
        for name in ("chapters/01_mbarrier_pipeline/index.html", "docs/symptoms.html"):
            text = html.unescape(re.sub(r"<[^>]+>", "", article(name)))
            source = (ROOT / name.replace("index.html", "README.md").replace(".html", ".md")).read_text(
                encoding="utf-8")
            for code in re.findall(r"\(`(\w+)`\)", source):
                self.assertIn(f"({code})", text, name)

    def test_code_is_highlighted(self):
        self.assertIn('<div class="highlight-cuda', article("docs/codes/BW-B06.html"))
        self.assertIn('<span class="k', article("chapters/01_mbarrier_pipeline/index.html"))

    def test_codes_of_reports_lead_to_their_pages(self):
        report = article("chapters/01_mbarrier_pipeline/index.html")
        self.assertIn('href="../../docs/codes/BW-H01.html">BW-H01</a>: no thread can run', report)
        for name, text in every_page():
            if "<article" in text:
                rest = re.sub(r"<(a|h\d)\b.*?</\1>", "", article_of(text), flags=re.S)
                named = {code for code in code_links.CODE.findall(rest)
                         if (SITE / f"docs/codes/{code}.html").is_file()}
                self.assertLessEqual(named, {Path(name).stem}, name)

    def test_the_book_and_the_reference_lead_to_each_other(self):
        page = "reference/classbw_1_1ProducerConsumerPipeline.html"
        self.assertIn(f'href="../../{page}"', article("chapters/01_mbarrier_pipeline/index.html"))
        back = (SITE / "reference/in_the_book.js").read_text(encoding="utf-8")
        found = json.loads(back.partition("= ")[2].rstrip(";\n"))[page.partition("/")[2]]
        self.assertIn(["Chapter 1: the mbarrier pipeline",
                       "chapters/01_mbarrier_pipeline/index.html"], found)


@unittest.skipUnless(shutil.which("node"), "no Node here")
class Search(unittest.TestCase):
    """The search, with its own index and scores."""

    def test_a_readers_words(self):
        result = subprocess.run(
            ["node", str(Path(__file__).with_name("site_search.js")), str(SITE), *SEARCHES],
            stdout=subprocess.PIPE, universal_newlines=True, check=True)
        found = json.loads(result.stdout)
        self.assertEqual({word: found[word] for word, page in SEARCHES.items()
                          if page not in found[word]}, {})


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


class Book(unittest.TestCase):
    """Sphinx over a text of our own."""

    def made(self, text, work):
        book.run(ROOT, Path(work), [pages.Page("README.md", text)], {}, {}, {})
        return (Path(work) / "book/index.html").read_text(encoding="utf-8")

    def test_formulas_need_no_script(self):
        with tempfile.TemporaryDirectory() as work:
            text = self.made("# X\n\n```math\n\\frac{a}{b}\n```\n", work)
            self.assertRegex(article_of(text), r"<math[^>]*>.*<mfrac>.*<mi>a</mi>.*<mi>b</mi>.*</mfrac>")
            self.assertNotIn("mathjax", text.lower())

    def test_a_text_that_is_wrong_is_an_error(self):
        with tempfile.TemporaryDirectory() as work:
            with self.assertRaises(WorkbookError) as raised:
                self.made("# X\n\n```{nothing}\n```\n", work)
            self.assertIn("index.md:3: WARNING", raised.exception.details)


class Colours(unittest.TestCase):
    """docs/site/colours.css."""

    def test_contrast(self):
        text = (ROOT / "docs/site/colours.css").read_text(encoding="utf-8")
        blocks = [dict(re.findall(r"--bw-([\w-]+): (#\w{6})", block))
                  for block in re.findall(r"{([^{}]*--bw-ground:[^{}]*)}", text)]
        self.assertEqual(len(blocks), 3)
        self.assertEqual(blocks[1], blocks[2])  # by the system's setting, by the reader's
        for colours in blocks[:2]:
            grounds = [name for name in colours if name.endswith(("ground", "raised"))]
            self.assertEqual(len(grounds), 6)
            for name in ("ink", "soft", "accent", "good", "warn", "bad"):
                for ground in grounds:
                    self.assertGreaterEqual(contrast.ratio(colours[name], colours[ground]),
                                            contrast.TEXT, (name, ground))
            for ground in ("ground", "raised"):
                self.assertGreaterEqual(contrast.ratio(colours["edge"], colours[ground]),
                                        contrast.OBJECT, ground)


class Packages(unittest.TestCase):
    """The pins of the private environment."""

    def test_lists_agree(self):
        pins = [dict(line.split("==") for line in path.read_text(encoding="utf-8").splitlines()
                     if "==" in line)
                for path in (private_env.GRADING_REQUIREMENTS, private_env.SITE_REQUIREMENTS)]
        for name in set(pins[0]) & set(pins[1]):
            self.assertEqual(pins[0][name], pins[1][name], name)


class Places(unittest.TestCase):
    """Where links lead."""

    def setUp(self):
        self.places = pages.Places(["README.md", "docs/pitfalls.md", "chapters/01_x/README.md",
                                    "docs/codes/R_races.md"],
                                   {"common/device/swizzle.cuh": "swizzle_8cuh.html"})

    def leads(self, target):
        return self.places.of("docs/concepts/x.md", target)

    def test_of_texts(self):
        self.assertEqual(self.leads("../pitfalls.md#Pitfall-3"), "docs/pitfalls.html#pitfall-3")
        self.assertEqual(self.leads("../../README.md"), "index.html")
        self.assertEqual(self.leads("../../chapters/01_x"), "chapters/01_x/index.html")
        self.assertEqual(self.leads("../codes/R_races.md#bw-r14"), "docs/codes/BW-R14.html")
        self.assertEqual(self.leads("../codes/R_races.md"), "docs/codes/R_races.html")
        self.assertEqual(self.leads("../site/mbarrier.html"), "docs/site/mbarrier.html")

    def test_of_files(self):
        header = "../../common/device/swizzle.cuh"
        self.assertEqual(self.leads(header), "reference/swizzle_8cuh.html")
        self.assertEqual(self.leads(f"{header}#L13-L18"), "reference/swizzle_8cuh_source.html#l00013")
        self.assertEqual(self.leads("../../tests/y.cu#L13-L18"), "files/tests/y.cu.html#L13")
        self.assertEqual(self.leads("../../tests/"), "files/tests.html")

    def test_out_of_the_site(self):
        for target in ("https://x.y/", "#here", "mailto:x@y"):
            self.assertIsNone(self.leads(target))

    def test_texts_for_excerpts_have_no_marks(self):
        text = "# A `b`\n\n<!-- x\ny -->\n[c](d) **e**\n## I J\n```cpp\nf;\n```\n| g | h |\n|---|---|\n"
        self.assertEqual(pages.sections(pages.Page("x.md", text)),
                         [["a-b", "A b c e"], ["i-j", "I J f; g h"]])
        self.assertEqual(pages.readable("a **b**: *c*, (`d * e`)"), "a b: c, (d * e)")

    def test_targets_are_not_taken_from_code(self):
        self.assertEqual(pages.link_targets("[a](b) `[c](d)`\n```\n[e](f)\n```\n[broken\nover](g)\n"),
                         ["b", "g"])


class GeneratedPages(unittest.TestCase):
    """Pages that the build writes."""

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
            for name in ("Doxyfile", "workbook.css", "reference_header.html", "reference_footer.html"):
                shutil.copy(ROOT / "docs/site" / name, root / "docs/site")
            (root / "docs/site/examples.dox").write_text("", encoding="utf-8")
            header = root / "common/device/x.cuh"
            text = ("#pragma once\n/// \\file\n/// A file.\n\n/// A type.\n"
                    "struct Thing {\n  Thing(int size);\n  int size() const;\n  int bytes;\n"
                    "%s  void grow(int by);\n};\n")
            header.write_text(text % "", encoding="utf-8")
            with self.assertRaises(WorkbookError) as raised:
                doxygen.run(root, work)
            self.assertEqual(len(raised.exception.details.splitlines()), 1)
            self.assertIn("common/device/x.cuh:10: warning: Member grow", raised.exception.details)
            header.write_text(text % "  /// Makes it larger.\n", encoding="utf-8")
            doxygen.run(root, work)
            self.assertEqual(doxygen.documented(root, work), {"common/device/x.cuh": "x_8cuh.html"})

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
        self.assertIn("The site is made by Doxygen and Sphinx", result.stderr)
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
