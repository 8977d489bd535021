"""The container's recipe, step by step in a bare Debian root; then what a reader does first, without a
network.

Slow: it installs packages and wheels and builds the simulator. Skipped (77) without root or debootstrap.
"""

import json
import re
import sys
import unittest

from bare_root import BareRoot, Image, Unavailable
from support import ROOT

SKIPPED = 77
FOLDER = ROOT / ".devcontainer"
# One of chapter 1's questions, with the right answers (exercise 1.1).
ANSWERS = {"fresh_parity_0": "b", "fresh_parity_1": "a", "pending_after_2": "1", "phase_after_3": "1",
           "passes_after_3": "0", "pending_after_3": "3", "passes_after_7": "1"}


def devcontainer():
    """devcontainer.json, whose comments are whole lines."""
    text = (FOLDER / "devcontainer.json").read_text(encoding="utf-8")
    return json.loads(re.sub(r"^\s*//[^\n]*\n", "", text, flags=re.M))


class Container(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.image = Image(FOLDER / "Dockerfile", ROOT)
        try:
            cls.root = BareRoot(cls.image.release)
        except Unavailable as error:
            raise unittest.SkipTest(str(error)) from error
        cls.addClassCleanup(cls.root.__exit__)
        cls.image.build(cls.root)

    def run_inside(self, command, expected=0, **settings):
        result = self.root.run(command, self.image.user, self.image.folder, network=False, **settings)
        self.assertEqual(result.returncode, expected, result.stdout)
        return result.stdout

    def test_next_shows_the_first_exercise(self):
        self.assertIn("1.1", self.run_inside("./workbook next"))

    def test_an_answer_is_checked(self):
        path = self.root.folder / self.image.folder.lstrip("/")
        answers = path / "chapters" / "01_mbarrier_pipeline" / "answers.toml"
        text = answers.read_text(encoding="utf-8")
        for key, value in ANSWERS.items():
            text = text.replace(f'{key} = ""', f'{key} = "{value}"', 1)
        answers.write_text(text, encoding="utf-8")
        verdict = json.loads(self.run_inside("./workbook check 1.1 --json 2>/dev/null"))
        self.assertTrue(verdict["passed"], verdict)

    def test_code_is_compiled_and_checked(self):
        verdict = json.loads(self.run_inside("./workbook check 1.3 --json 2>/dev/null", expected=1))
        self.assertEqual([one["status"] for one in verdict["verdicts"]], ["not_done"])
        printed = self.run_inside("./workbook run 1.5 --sim", expected=70)
        self.assertIn("BW-H01", printed)

    def test_the_program_of_chapter_1_is_built(self):
        printed = self.run_inside("./workbook run 1 --sim")
        self.assertIn("verified", printed)
        self.assertNotIn("Building", printed)
        self.assertIn("verified", self.run_inside("./workbook lab ring_of_two --sim"))

    def test_another_user_number_can_build(self):
        """Editors give the image's user the number of the one outside."""
        self.root.run(f"usermod --uid 4321 reader && chown -R 4321 /home/reader && "
                      f"find {self.image.folder} -mindepth 1 -maxdepth 1 ! -name build "
                      "! -name .workbook -exec chown -R 4321 {} + "
                      f"&& chown 4321 {self.image.folder}")
        self.assertIn("verified", self.run_inside("./workbook run 1 --sim && touch "
                                                  "solutions/01_mbarrier_pipeline/main.cu && "
                                                  "./workbook run 1 --sim"))


class Settings(unittest.TestCase):
    def test_the_volumes_lie_where_the_image_builds(self):
        """So that they begin with what the image holds."""
        image, settings = Image(FOLDER / "Dockerfile", ROOT), devcontainer()
        workdir = next(rest for name, rest in image.steps if name == "WORKDIR")
        self.assertEqual(settings["workspaceFolder"], workdir)
        self.assertIn(f"target={workdir},", settings["workspaceMount"])
        targets = [re.search(r"target=([^,]+)", mount).group(1) for mount in settings["mounts"]]
        self.assertEqual(targets, [f"{workdir}/build", f"{workdir}/.workbook"])
        self.assertEqual(settings["remoteUser"],
                         [rest for name, rest in image.steps if name == "USER"][-1])
        self.assertTrue((ROOT / settings["postCreateCommand"]).is_file())


if __name__ == "__main__":
    outcome = unittest.main(exit=False).result
    sys.exit(SKIPPED if outcome.skipped and outcome.wasSuccessful() else not outcome.wasSuccessful())
