"""The pages that run the simulator, in Firefox or in WebKitGTK, the engine closest to Safari's.

    test_other_browsers.py BUILD_FOLDER firefox|webkit    (build/sim)
"""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

import pages  # noqa: E402
import webdriver  # noqa: E402
from tools import browser as module  # noqa: E402

BUILD = Path(sys.argv[1]) if __name__ == "__main__" else ROOT / "build/sim"
BROWSERS = {"firefox": webdriver.Firefox, "webkit": webdriver.WebKit}
CHOSEN = BROWSERS[sys.argv[2]] if __name__ == "__main__" else None
# Errors of the page are kept where the test finds them.
_LISTEN = ("window.bwErrors === undefined && (window.bwErrors = [], "
           "window.addEventListener('error', (one) => bwErrors.push(one.message)), "
           "window.addEventListener('unhandledrejection', "
           "(one) => bwErrors.push(String(one.reason)))) && 0")


@unittest.skipUnless(CHOSEN, "no browser was chosen")
class Pages(pages.Scenarios, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = pages.Site(BUILD)
        cls.addClassCleanup(cls.site.close)
        cls.browser = CHOSEN()
        cls.addClassCleanup(cls.browser.close)

    def navigate(self, address):
        self.browser.navigate(address)
        if address != "about:blank":
            self.browser.evaluate(_LISTEN)

    def evaluate(self, expression):
        return self.browser.evaluate(expression)

    def assert_no_errors(self):
        self.assertEqual(self.browser.evaluate("window.bwErrors"), [])


if __name__ == "__main__":
    why = (CHOSEN.missing() if module.is_built(ROOT)
           else "the module is not built; `./workbook setup --browser` builds it")
    if why:
        print(f"SKIPPED: {why}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
