"""README.md, AGENTS.md and llms.txt: each link leads somewhere, each command and option exists, and
assistants find every concept and code."""

import re
import unittest

from support import ROOT
from tools import command_page, command_table, links

TEXTS = ("README.md", "AGENTS.md", "llms.txt", ".devcontainer/Dockerfile")
_COMMAND = re.compile(r"\./workbook +([a-z]+)((?: +[^`\n#]*)?)")


def problems_of_commands(text):
    """A sentence for each command or option in a text that does not exist."""
    known, found = command_table.COMMANDS, []
    for name, rest in _COMMAND.findall(text):
        if name not in known:
            found.append(f"there is no command `{name}`")
            continue
        ours = re.split(r"(?:^| )-- ", rest)[0]
        found += [f"`{name}` has no option `{option}`"
                  for option in re.findall(r"(?<!\S)--[a-z-]+", ours)
                  if option not in command_page.options(name)]
    return found


class Commands(unittest.TestCase):
    def test_every_command_and_option_exists(self):
        for name in TEXTS:
            with self.subTest(name):
                text = (ROOT / name).read_text(encoding="utf-8")
                self.assertEqual(problems_of_commands(text), [])
        self.assertTrue(_COMMAND.search((ROOT / "AGENTS.md").read_text(encoding="utf-8")))

    def test_what_does_not_exist_is_noticed(self):
        self.assertEqual(problems_of_commands("`./workbook nxt` and `./workbook check 1.1 --jsn`"),
                         ["there is no command `nxt`", "`check` has no option `--jsn`"])
        self.assertEqual(problems_of_commands("`./workbook run 5 -- --m 512`"), [])

    def test_the_page_has_every_command(self):
        text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
        sections = set(re.findall(r"^### (\w+)$", text, re.M))
        self.assertEqual(sections, set(command_table.COMMANDS))


class ForAssistants(unittest.TestCase):
    def setUp(self):
        self.text = (ROOT / "llms.txt").read_text(encoding="utf-8")

    def test_links_lead_somewhere(self):
        for name in ("AGENTS.md", "llms.txt"):
            text = (ROOT / name).read_text(encoding="utf-8")
            self.assertEqual(links.broken_links(ROOT, name, text, {}), [])

    def test_it_has_the_form_of_llms_txt(self):
        """A heading, a summary, then sections that are lists of links with notes."""
        head, *sections = re.split(r"^## .*\n", self.text, flags=re.M)
        self.assertRegex(head, r"\A# .+\n\n> ")
        self.assertNotIn("](", head)
        self.assertGreater(len(sections), 3)
        for section in sections:
            lines = [line for line in section.split("\n") if line.startswith("-")]
            self.assertTrue(lines)
            for line in lines:
                self.assertRegex(line, r"^- \[[^\]]+\]\([^)]+\)(: .+)?$")

    def test_every_chapter_concept_and_code_is_linked(self):
        for folder, pattern in (("docs/concepts", "*.md"), ("docs/codes", "*.md"),
                                ("chapters", "*/README.md")):
            for path in (ROOT / folder).glob(pattern):
                name = path.relative_to(ROOT).as_posix()
                if name != "docs/concepts/README.md":
                    self.assertIn(f"]({name})", self.text)


if __name__ == "__main__":
    unittest.main()
