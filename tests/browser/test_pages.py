"""The pages that run the simulator, in Chromium: served from a folder, as any static host would.

    test_pages.py BUILD_FOLDER    (build/sim; the module is looked for in build/wasm next to it)
"""

import functools
import http.server
import shutil
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "common"), str(ROOT / "tests/workbook")]

import browser  # noqa: E402
from tools import browser as module  # noqa: E402
from tools import try_exercise  # noqa: E402
from tools.site import launches  # noqa: E402

BUILD = Path(sys.argv[1]) if __name__ == "__main__" else ROOT / "build/sim"
SECONDS = 60
SHELL = ('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>test</title>'
         '<link rel="icon" href="data:,"></head><body><main>{}</main></body></html>')


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Nothing."""


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        site = Path(cls.folder.name)
        for path in (ROOT / "docs/site").glob("simulator*.[jc]s*"):
            shutil.copyfile(path, site / path.name)
        for name in ("labs", "your_ptx"):
            shutil.copyfile(ROOT / f"docs/site/{name}.js", site / f"{name}.js")
            body = (ROOT / f"docs/site/{name}.html").read_text(encoding="utf-8")
            (site / f"{name}.html").write_text(SHELL.format(body), encoding="utf-8")
        if not (BUILD / "browser/labs.json").is_file():
            launches.write(ROOT, try_exercise.tools_of(ROOT), BUILD / "browser")
        assert module.copy_for_site(ROOT, site / "simulator")
        cls.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site)))
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.browser = browser.Browser()
        cls.page = browser.Page(cls.browser)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.server.shutdown()
        cls.folder.cleanup()

    def open(self, name):
        self.browser.events = []
        self.browser.call("Page.navigate", url="about:blank")
        self.browser.call("Page.navigate", url=f"http://127.0.0.1:{self.server.server_address[1]}/{name}")
        self.wait("document.readyState === 'complete' && location.protocol === 'http:'")
        self.wait_for_text("state", "ready")

    def wait(self, condition):
        deadline = time.monotonic() + SECONDS
        while not self.page.try_evaluate(condition):
            if time.monotonic() > deadline:
                self.fail(f"{condition} does not come; the state is {self.text('state')!r}")
            time.sleep(0.05)

    def wait_for_text(self, name, text):
        self.wait(f"document.getElementById('{name}').textContent.includes('{text}')")

    def text(self, name):
        return self.page.evaluate(f"document.getElementById('{name}').textContent")

    def click(self, name):
        self.page.evaluate(f"document.getElementById('{name}').click()")

    def run_and_wait(self):
        self.page.evaluate("document.getElementById('verdict').replaceChildren()")
        self.wait("!document.getElementById('run').disabled")
        self.click("run")
        self.wait("document.getElementById('verdict').textContent !== ''")

    def assert_no_errors(self):
        messages = [one for one in self.page.messages if not one.startswith("asks the network")]
        self.assertEqual(messages, [])

    def test_a_lab_runs_as_natively_and_hangs_without_an_arrival(self):
        self.open("labs.html#chapter-1/ring_of_one")
        self.run_and_wait()
        self.assertIn("as in the native simulator", self.text("verdict"))
        self.assertIn("No report", self.text("reports"))
        self.assertRegex(self.text("times"), r"waits for mbarrier initialised at ring_of_one.cu:\d+")
        self.assertGreater(self.page.evaluate("document.querySelectorAll('#timeline rect').length"), 20)
        arrivals = "[...document.querySelectorAll('#lines input')].filter((one) => " \
                   "one.parentElement.textContent.startsWith('mbarrier.arrive.shared'))"
        self.assertGreaterEqual(self.page.evaluate(f"{arrivals}.length"), 1)
        self.page.evaluate(f"{arrivals}.forEach((one) => one.click())")
        self.run_and_wait()
        self.assertIn("stops with a report", self.text("verdict"))
        self.assertIn("BW-H01", self.text("reports"))
        self.assertIn("ring_of_one.cu", self.text("reports"))
        self.assert_no_errors()

    def test_pasted_ptx_runs_and_an_endless_kernel_can_be_stopped(self):
        self.open("your_ptx.html")
        self.click("example")
        self.wait("!document.getElementById('launch').hidden")
        self.run_and_wait()
        self.assertIn("BW-H01", self.text("reports"))
        self.page.evaluate("document.getElementById('ptx').value = '.version 8.6\\n.target sm_100a\\n"
                           ".address_size 64\\n.visible .entry k() {\\nL: bra L;\\n}\\n'")
        self.click("read")
        self.wait("document.getElementById('kernel').textContent === 'k'")
        self.page.evaluate("document.getElementById('limit').value = '1000000000'")
        self.click("run")
        self.wait("!document.getElementById('stop').disabled")
        self.click("stop")
        self.wait_for_text("verdict", "Stopped")
        self.wait_for_text("state", "ready")
        self.page.evaluate("document.getElementById('limit').value = '100000'")
        self.run_and_wait()
        self.assertIn("stopped with a report", self.text("verdict"))
        self.page.evaluate("document.getElementById('ptx').value = 'no PTX at all'")
        self.click("read")
        self.wait_for_text("verdict", "refused")
        self.assertIn("PTX error", self.text("reports"))
        self.assert_no_errors()


if __name__ == "__main__":
    if not module.is_built(ROOT):
        print("SKIPPED: the module is not built; `./workbook setup --browser` builds it")
        sys.exit(77)
    if browser.find() is None:
        print("SKIPPED: Chromium is missing")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
