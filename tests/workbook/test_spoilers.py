"""No text, no comment and no faulty file contains a solution; kept answers are told apart."""

import re
import unittest

from support import ROOT

from tools import api, regions

_FENCE = re.compile(r"^```cpp\n(.*?)^```", re.M | re.S)
_COMMENT = re.compile(r"//[/!]?<?(.*)")


def bare(text):
    """Code without comments and blanks."""
    return re.sub(r"\s+", "", regions.without_comments(text))


class Spoilers(unittest.TestCase):
    def setUp(self):
        self.written = [one for one in api.load_all(ROOT) if one.is_in_code]
        self.assertGreater(len(self.written), 20)

    def test_texts(self):
        pages = [path for folder in ("chapters", "docs", "solutions")
                 for path in (ROOT / folder).rglob("*.md")]
        texts = {path: path.read_text(encoding="utf-8") for path in pages}
        fenced = {path: bare("\n".join(_FENCE.findall(text))) for path, text in texts.items()}
        self.assertGreater(sum(map(bool, fenced.values())), 10)
        self.none_holds_a_solution(fenced)
        # Code in a line, or indented.
        self.none_holds_a_solution({path: re.sub(r"[\s`]+", "", text)
                                    for path, text in texts.items()})

    def test_comments(self):
        files = [path for folder in ("common/device", "solutions", "chapters")
                 for path in (ROOT / folder).rglob("*.cu*")]
        comments = {path: re.sub(r"\s+", "", "".join(
            _COMMENT.findall(path.read_text(encoding="utf-8")))) for path in files}
        self.assertGreater(sum(map(bool, comments.values())), 100)
        self.none_holds_a_solution(comments)

    def none_holds_a_solution(self, texts):
        """`texts`: path: text without blanks."""
        for exercise in self.written:
            solution = bare("\n".join(exercise.region.body))
            found = [path for path, text in texts.items() if solution in text]
            self.assertEqual(found, [], exercise.id)

    def test_faulty_files(self):
        files = sorted(ROOT.glob("chapters/*/bugs/*"))
        self.assertGreater(len(files), 10)
        for path in files:
            code = bare(path.read_text(encoding="utf-8"))
            found = [one.id for one in self.written if bare("\n".join(one.region.body)) in code]
            self.assertEqual(found, [], path)


class KeptAnswers(unittest.TestCase):
    LEAST = 12

    def test_there_are_enough_of_them(self):
        for exercise in (one for one in api.load_all(ROOT) if one.is_in_code):
            self.assertGreaterEqual(len(exercise.wrong) + len(exercise.remarks), self.LEAST,
                                    exercise.id)

    def test_each_is_recognised_by_its_own_pattern(self):
        """As far as the lines alone decide: a pattern that needs no output and comes earlier would take
        the answer for another one."""
        for exercise in (one for one in api.load_all(ROOT) if one.is_in_code):
            for known in (exercise.wrong, exercise.remarks):
                for number, one in enumerate(known):
                    code = regions.without_comments(one.answer)
                    fits = [other.name for other in known[:number + 1]
                            if (other is one or not other.output)
                            and re.search(other.code, code, re.M)]
                    self.assertEqual(fits, [one.name], exercise.id)


if __name__ == "__main__":
    unittest.main()
