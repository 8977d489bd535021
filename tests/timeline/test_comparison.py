"""What a timeline says around the picture: two runs compared, reports, and where to read on."""

import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from support import ROOT, last, main, run

from tools.timeline import around, comparison, page


def launch(cycles, status="finished"):
    return SimpleNamespace(cycles=cycles, status=status)


class Compared(unittest.TestCase):
    def test_the_headline_has_the_ratio(self):
        said = comparison.headline((["--k", "512"], launch(2000)), ([], launch(1500)))
        self.assertEqual(said, "0.75 x the cycles: 1,500 with default options, 2,000 with --k 512.")

    def test_a_run_that_did_not_end_has_no_ratio(self):
        said = comparison.headline(([], launch(2000)), (["--k", "1"], launch(9, "deadlock")))
        self.assertEqual(said, "No ratio: --k 1 did not run to its end.")

    def test_options_that_the_second_run_lacks_are_named(self):
        (said,) = comparison.warnings(["--m", "128", "--k=64", "--mine"], ["--accumulators", "1"])
        self.assertIn("in more than --accumulators:", said)
        self.assertIn("default of --m, --k and --mine.", said)
        self.assertIn('--against "--accumulators 1 --m 128 --k 64 --mine".', said)

    def test_options_that_both_have_are_no_surprise(self):
        self.assertEqual(comparison.warnings(["--k", "64"], ["--k", "128", "--m", "1"]), [])
        self.assertEqual(comparison.warnings([], ["--m", "1"]), [])

    def test_the_defaults_against_options(self):
        (said,) = comparison.warnings(["--m", "128"], [])
        self.assertIn("in options that --against does not name: the second one has its own default "
                      "of --m.", said)


class Addresses(unittest.TestCase):
    def test_a_reports_code_leads_to_its_page(self):
        with tempfile.TemporaryDirectory() as holder:
            folder = Path(holder).resolve()
            said = folder / "report.json"
            run("bound_by", "nothing", BW_SIM_REPORT=str(said))
            (report,) = around.reports(said, ROOT, folder)
            self.assertEqual(report.code, "BW-H01")
            self.assertTrue((folder / report.address).resolve().is_file())
            path = folder / "page.html"
            made = around.Around(reports=(report,), guide=around.guide(ROOT, folder))
            page.write(path, "Stuck", [("", *last("bound_by", "nothing"))], ROOT, around=made)
            text = path.read_text(encoding="utf-8")
            self.assertIn(f'<a href="{report.address}">BW-H01</a>', text)
            self.assertRegex(text, r'<a href="[^"]*docs/concepts/timeline\.(md|html)">How to read this')

    def test_the_site_comes_first(self):
        with tempfile.TemporaryDirectory() as holder:
            root = Path(holder)
            for name in ("build/docs/html/docs/concepts/timeline.html", "docs/concepts/timeline.md"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("", encoding="utf-8")
            self.assertEqual(around.guide(root, root / "build" / "timeline"),
                             "../docs/html/docs/concepts/timeline.html")
            (root / "build/docs/html/docs/concepts/timeline.html").unlink()
            self.assertEqual(around.guide(root, root / "build" / "timeline"),
                             "../../docs/concepts/timeline.md")

    def test_no_report_is_no_report(self):
        self.assertEqual(around.reports("/does/not/exist", ROOT, ROOT), [])


if __name__ == "__main__":
    main()
