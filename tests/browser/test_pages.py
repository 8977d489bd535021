"""The pages that run the simulator, in Chromium.

    test_pages.py BUILD_FOLDER    (build/sim; the module is looked for in build/wasm next to it)
"""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "common"), str(ROOT / "tests/workbook")]

import browser  # noqa: E402
import pages  # noqa: E402
from tools import browser as module  # noqa: E402

BUILD = Path(sys.argv[1]) if __name__ == "__main__" else ROOT / "build/sim"


class Pages(pages.Scenarios, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = pages.Site(BUILD)
        cls.browser = browser.Browser()
        cls.page = browser.Page(cls.browser)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.site.close()

    def navigate(self, address):
        if address == "about:blank":
            self.browser.events = []
        self.browser.call("Page.navigate", url=address)

    def evaluate(self, expression):
        return self.page.try_evaluate(expression)

    def assert_no_errors(self):
        messages = [one for one in self.page.messages if not one.startswith("asks the network")]
        self.assertEqual(messages, [])


if __name__ == "__main__":
    if not module.is_built(ROOT):
        print("SKIPPED: the module is not built; `./workbook setup --browser` builds it")
        sys.exit(77)
    if browser.find() is None:
        print("SKIPPED: Chromium is missing")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
