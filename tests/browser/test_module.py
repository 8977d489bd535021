"""The command's part in the simulator's module for pages: what it finds, installs, builds and copies."""

import contextlib
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

from tools import browser, setup  # noqa: E402
from tools.errors import WorkbookError  # noqa: E402


class Quiet:
    """A console that shows nothing."""

    @contextlib.contextmanager
    def step(self, _):
        yield self


class Module(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def toolchain(self):
        place = self.root / "emscripten"
        (place / browser._TOOLCHAIN).parent.mkdir(parents=True)
        (place / browser._TOOLCHAIN).write_text("", encoding="utf-8")
        return str(place)

    def build(self):
        browser.folder(self.root).mkdir(parents=True)
        for name in browser.MODULE:
            (browser.folder(self.root) / name).write_text(name, encoding="utf-8")

    def test_emscripten_is_found_where_the_environment_says(self):
        place = self.toolchain()
        with mock.patch.dict(os.environ, EMSCRIPTEN_ROOT=place):
            self.assertEqual(browser.emscripten_root(), place)
            self.assertIn("`./workbook setup --browser` builds", browser.describe(self.root))
        self.build()
        self.assertIn("is built", browser.describe(self.root))

    def test_what_is_missing_is_installed_and_a_failed_build_is_said(self):
        ran, installed = [], []

        def run_logged(command, step, env, cwd):
            del step
            ran.append((command[-2:], env["EMSCRIPTEN_ROOT"], cwd))
            return (1, "the compiler's last words") if command[1] == "--build" else (0, "")

        place = self.toolchain()
        tools = setup.Tools("cmake", "ctest", None, {})
        with mock.patch.dict(os.environ, EMSCRIPTEN_ROOT=place), \
                mock.patch.object(browser.shutil, "which", return_value=None), \
                mock.patch.object(browser.packages, "install",
                                  side_effect=lambda names, _: installed.extend(names)), \
                mock.patch.object(browser, "run_logged", side_effect=run_logged), \
                self.assertRaisesRegex(WorkbookError, "could not be built for WebAssembly") as caught:
            browser.ensure(self.root, Quiet(), tools)
        self.assertEqual(installed, ["emscripten", "nodejs"])
        self.assertEqual(ran, [(["--preset", "wasm"], place, self.root)] * 2)
        self.assertIn("last words", caught.exception.details)

    def test_an_emscripten_without_its_toolchain_is_refused(self):
        with mock.patch.dict(os.environ, EMSCRIPTEN_ROOT=""), \
                mock.patch.object(browser, "_DEBIAN_ROOT", str(self.root)), \
                mock.patch.object(browser.shutil, "which", return_value="/bin/true"), \
                self.assertRaisesRegex(WorkbookError, "Set EMSCRIPTEN_ROOT"):
            browser.ensure(self.root, Quiet(), setup.Tools("cmake", "ctest", None, {}))

    def test_the_site_gets_what_there_is(self):
        target = self.root / "site/simulator"
        browser.copy_for_site(self.root, target)
        self.assertEqual(list(target.iterdir()), [])
        launches = self.root / "build/sim/browser"
        launches.mkdir(parents=True)
        for name in ("timeline_page.txt", "a.launches.gz", "b.block.gz", "other.txt"):
            (launches / name).write_text("", encoding="utf-8")
        (launches / "labs.json").write_text('{"runs": []}', encoding="utf-8")
        self.assertIsNone(browser.recorded(self.root))
        self.build()
        self.assertEqual(browser.recorded(self.root), {"runs": []})
        browser.copy_for_site(self.root, target)
        self.assertEqual({path.name for path in target.iterdir()},
                         {*browser.MODULE, "labs.json", "timeline_page.txt", "a.launches.gz",
                          "b.block.gz"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
