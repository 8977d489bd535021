"""What a reader does in the pages that run the simulator, in any browser: Chromium, Firefox, WebKitGTK.

A test class takes Scenarios and says how a page is opened and how JavaScript is evaluated. The pages are
served from a folder by Python's own server, without special headers, as any static host would.
"""

import functools
import http.server
import json
import re
import shutil
import tempfile
import threading
import time
from pathlib import Path

from tools import browser as module
from tools import labs, try_exercise
from tools.reader import progress
from tools.site import launches, panels

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("labs", "your_ptx", "exercises")
CHAPTER = "chapters/one/index.html"  # a page with the panels of chapter 1's labs
SECONDS = 90
_SHELL = ('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>test</title>'
          '<link rel="icon" href="data:,"></head><body><main>{}</main></body></html>')


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Nothing."""


class Site:
    """The pages in a folder that is served; a context manager."""

    def __init__(self, build):
        self._folder = tempfile.TemporaryDirectory()
        site = Path(self._folder.name) / "docs/site"
        site.mkdir(parents=True)
        for path in [*(ROOT / "docs/site").glob("*.js"), *(ROOT / "docs/site").glob("*.css")]:
            shutil.copyfile(path, site / path.name)
        for name in NAMES:
            body = (ROOT / f"docs/site/{name}.html").read_text(encoding="utf-8")
            (site / f"{name}.html").write_text(_SHELL.format(body), encoding="utf-8")
        chapter = Path(self._folder.name) / CHAPTER
        chapter.parent.mkdir(parents=True)
        boxes = [panels.panel(ROOT, lab) for lab in labs.find_all(ROOT) if lab.chapter.number == 1]
        scripts = [f'<script defer src="../../docs/site/{name}"></script>' for name in panels.SCRIPTS]
        chapter.write_text(_SHELL.format("".join(boxes + scripts)), encoding="utf-8")
        if not (build / "browser/exercises.json").is_file():
            launches.write(ROOT, try_exercise.tools_of(ROOT), build / "browser")
        module.copy_for_site(ROOT, site / "simulator")
        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(_Quiet, directory=self._folder.name))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()


def module_text(body):
    """PTX of a kernel `k`."""
    return f".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k({body}\n"


def found(name):
    """JavaScript for an element by its id, or by a selector with brackets."""
    return f"document.querySelector({json.dumps(name if '[' in name else '#' + name)})"


class Scenarios:
    """Of a unittest.TestCase with `site`, navigate(address) and evaluate(expression)."""

    def open(self, name, state="state"):
        self.load(f"docs/site/{name}")
        self.wait_for_text(state, "ready")

    def load(self, path):
        self.navigate("about:blank")
        self.navigate(f"{self.site.address}/{path}")
        self.wait("document.readyState === 'complete' && location.protocol === 'http:'")

    def wait(self, condition):
        deadline = time.monotonic() + SECONDS
        while not self.evaluate(condition):
            if time.monotonic() > deadline:
                page = self.evaluate("document.body.innerText.slice(-2000)")
                self.fail(f"{condition} does not come; the page ends with {page!r}")
            time.sleep(0.05)

    def wait_for_text(self, name, text):
        self.wait(f"({found(name)}?.textContent || '').includes({json.dumps(text)})")

    def text(self, name):
        return self.evaluate(f"{found(name)}.textContent")

    def click(self, name):
        self.evaluate(f"{found(name)}.click()")

    def set(self, name, value):
        self.evaluate(f"{found(name)}.value = {json.dumps(value)}")

    def run_and_wait(self, place="verdict", button="run"):
        self.evaluate(f"{found(place)}.replaceChildren()")
        self.wait(f"!{found(button)}.disabled")
        self.click(button)
        self.wait(f"{found(place)}.textContent !== ''")

    def read_module(self, text):
        self.set("ptx", text)
        self.evaluate("document.getElementById('kernel').replaceChildren()")
        self.click("read")
        self.wait("document.getElementById('kernel').textContent === 'k'")

    def timeline(self, panel, expression):
        """A value from the frame that holds the timeline."""
        inner = f"document.querySelector('{panel} [data-part=timeline] iframe')"
        self.wait(f"{inner}?.contentDocument?.documentElement?.dataset.ready")
        return self.evaluate(f"(({expression})({inner}.contentDocument))")

    # -- labs -----------------------------------------------------------------------------------
    def test_a_lab_runs_as_natively_and_hangs_without_an_arrival(self):
        self.open("labs.html#chapter-1/ring_of_one", "#panel [data-part=state]")
        self.use_panel("#panel")

    def test_a_chapters_panel_runs_its_lab_when_it_is_opened(self):
        self.load(CHAPTER)
        loaded = "performance.getEntriesByType('resource').map((one) => one.name).filter((name) => " \
                 "/simulator\\/|worker/.test(name))"
        self.assertEqual(self.evaluate(loaded), [])
        self.evaluate("document.querySelector('#run-ring_of_one summary').click()")
        self.wait_for_text("#run-ring_of_one [data-part=state]", "ready")
        self.use_panel("#run-ring_of_one")
        self.evaluate("document.querySelector('#run-tensor_copy summary').click()")
        stages = "#run-tensor_copy [data-option=stages]"
        self.wait(f"{found(stages)} !== null")
        cycles, verdict = [], "#run-tensor_copy [data-part=verdict]"
        for count in ("1", "4"):
            self.set(stages, count)
            self.evaluate(f"{found(stages)}.dispatchEvent(new Event('change'))")
            self.run_and_wait(verdict, "#run-tensor_copy [data-part=run]")
            self.assertIn("as in the native simulator", self.text(verdict))
            shown = re.search(r": ([\d,]+) cycles", self.text(verdict)).group(1)
            cycles.append(int(shown.replace(",", "")))
        self.assertGreater(cycles[0], cycles[1])
        self.assert_no_errors()

    def use_panel(self, panel):
        """Runs a panel's lab, ring_of_one, as it is and without the readers' arrival, by one click."""
        verdict, reports = f"{panel} [data-part=verdict]", f"{panel} [data-part=reports]"
        self.run_and_wait(verdict, f"{panel} [data-part=run]")
        self.assertIn("as in the native simulator", self.text(verdict))
        self.assertIn("No report", self.text(reports))
        self.assertRegex(self.text(f"{panel} [data-part=times]"),
                         r"waits for mbarrier initialised at ring_of_one.cu:\d+")
        self.assertIn("longest chain",
                      self.timeline(panel, "(page) => page.getElementById('limit').textContent"))
        self.assertIn("issues instructions",
                      self.timeline(panel, "(page) => page.getElementById('legend').textContent"))
        arrival = f"{panel} [data-part=lines] button[aria-label*='mbarrier.arrive.shared']"
        self.run_and_wait(verdict, arrival)
        self.assertIn("stops with a report", self.text(verdict))
        self.assertIn("BW-H01", self.text(reports))
        self.assertIn("ring_of_one.cu", self.text(reports))
        self.assertIn("ended in a deadlock",
                      self.timeline(panel, "(page) => page.getElementById('notes').textContent"))
        self.assert_no_errors()

    # -- your PTX, and whatever is wrong with it -------------------------------------------------
    def test_an_endless_kernel_is_stopped_by_the_button_and_by_the_limit(self):
        self.open("your_ptx.html")
        self.click("example")
        self.wait("!document.getElementById('launch').hidden")
        self.run_and_wait()
        self.assertIn("BW-H01", self.text("reports"))
        self.read_module(module_text(") {\nL: bra L;\n}"))
        self.set("limit", "1000000000")
        self.click("run")
        self.wait("!document.getElementById('stop').disabled")
        self.click("stop")
        self.wait_for_text("verdict", "Stopped")
        self.wait_for_text("state", "ready")
        self.set("limit", "100000")
        self.run_and_wait()
        self.assertIn("stopped with a report", self.text("verdict"))
        self.assertIn("cycle", self.text("reports"))
        self.assert_no_errors()

    def test_a_module_that_does_not_parse_and_an_instruction_that_is_refused(self):
        self.open("your_ptx.html")
        self.set("ptx", "no PTX at all")
        self.click("read")
        self.wait_for_text("verdict", "refused")
        self.assertIn("PTX error", self.text("reports"))
        self.read_module(module_text(") { .reg .b32 %r<2>; frobnicate.b32 %r1, %r1; ret; }"))
        self.wait_for_text("reports", "frobnicate")
        self.assertTrue(self.evaluate("document.getElementById('run').disabled"))
        self.works_again()

    def test_memory_that_is_not_there(self):
        self.open("your_ptx.html")
        for size in ("9000000000", "3000000000", "2100000000"):
            self.read_module(module_text(".param .u64 p) { ret; }"))
            self.evaluate(f"document.querySelector('#parameters input').value = 'buffer {size}'")
            self.run_and_wait()
            self.assertIn(f"no memory left for a buffer of {size} bytes. Use smaller",
                          self.text("verdict"))
        self.read_module(module_text(".param .u64 p, .param .u64 q, .param .u64 r) { ret; }"))
        self.evaluate("document.querySelectorAll('#parameters input').forEach((one) => "
                      "{ one.value = 'buffer 900000000'; })")
        self.run_and_wait()
        self.assertIn("no memory left for a buffer of 900000000 bytes", self.text("verdict"))
        self.works_again()

    def works_again(self):
        """The page goes on: nothing before was the end of it."""
        self.read_module(module_text(") { ret; }"))
        self.run_and_wait()
        self.assertIn("k ends after", self.text("verdict"))
        self.assert_no_errors()

    # -- exercises ------------------------------------------------------------------------------
    def begin_exercise(self, name):
        """Opens an exercise in a browser that has kept nothing."""
        for _ in range(2):
            self.open(f"exercises.html#{name}")
            self.wait_for_text("title", name)
            self.evaluate("localStorage.clear()")

    def test_an_exercise_is_answered_checked_and_remembered(self):
        self.begin_exercise("1.5")
        self.click("hint")
        self.assertIn("Hint 1 of 3", self.text("hints"))
        row = ("[...document.querySelectorAll('#listing div')].find((one) => "
               "one.textContent.includes(%s))")
        self.evaluate(row % json.dumps("consumer_phase_ = 0") + ".click()")
        self.evaluate("document.querySelector('#answers input[value=b]').click()")
        self.click("check")
        self.assertIn("not right yet", self.text("verdict"))
        self.assertIn("The consumer's lap has to start at 0", self.text("verdict"))
        self.evaluate(row % json.dumps("producer_phase_ = 0") + ".click()")
        self.click("check")
        self.assertRegex(self.text("verdict"), r"^1\.5 .+: right")
        self.assertIn("1 of ", self.text("done"))
        self.run_and_wait("outcome")
        self.assertIn("stopped with a report", self.text("outcome"))
        self.assertIn("BW-H", self.text("reports"))
        self.open("exercises.html")
        self.wait_for_text("title", "1.5")
        kept = json.loads(self.evaluate("localStorage.getItem('bw-progress')"))
        entry = kept["exercises"]["1.5"]
        self.assertEqual((kept["at"], entry["state"], entry["hints"]), ("1.5", "passed", 1))
        self.assert_no_errors()

    def test_progress_is_carried_to_the_command_and_back(self):
        self.begin_exercise("1.1")
        self.click("hint")
        with tempfile.TemporaryDirectory() as folder:
            file = progress.path(Path(folder))
            file.parent.mkdir()
            file.write_text(json.dumps({"use": "mine", "at": "1.3", "exercises": {
                "1.3": {"state": "passed", "since": "2026-01-02", "lines": "ab"},
                "1.10": {"state": "skipped"}, "1.1": {"hints": 3}}}), encoding="utf-8")
            self.choose_file(file.read_text(encoding="utf-8"))
            self.wait_for_text("kept", "was added")
            self.assertIn("Hint 3 of 3", self.text("hints"))
            file.write_text(self.saved_file(), encoding="utf-8")
            known = progress.load(Path(folder))
        self.assertEqual((known.note, known.use, known.at), ("", "mine", "1.3"))
        self.assertEqual(known.exercises, {
            "1.1": {"hints": 3}, "1.10": {"state": "skipped"},
            "1.3": {"state": "passed", "since": "2026-01-02", "lines": "ab"}})
        self.choose_file("no progress")
        self.wait_for_text("kept", "This is not a file of progress")
        self.assertEqual(json.loads(self.saved_file())["at"], "1.3")
        self.assert_no_errors()

    def choose_file(self, text):
        """A reader opens a file with this text."""
        self.evaluate(f"""(() => {{
          const box = document.getElementById("open"), chosen = new DataTransfer();
          chosen.items.add(new File([{json.dumps(text)}], "progress.json"));
          box.files = chosen.files;
          box.dispatchEvent(new Event("change"));
        }})()""")

    def saved_file(self):
        """What a reader's click on Save would download."""
        self.evaluate("""(() => {
          window.bwSaved = undefined;
          const make = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
          URL.createObjectURL = (blob) => {
            blob.text().then((text) => { window.bwSaved = text; });
            return "#";
          };
          HTMLAnchorElement.prototype.click = () => {};
          document.getElementById("save").click();
          URL.createObjectURL = make;
          HTMLAnchorElement.prototype.click = click;
        })()""")
        self.wait("window.bwSaved !== undefined")
        return self.evaluate("window.bwSaved")
