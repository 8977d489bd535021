"""No text and no earlier faulty file contains the solution of an exercise."""

import re
import unittest

from support import ROOT

from tools import api, regions

_FENCE = re.compile(r"^```cpp\n(.*?)^```", re.M | re.S)
_NUMBER = re.compile(r"(\d+)\.(\d+)_")


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
        texts = {path: bare("\n".join(_FENCE.findall(path.read_text(encoding="utf-8"))))
                 for path in pages}
        self.assertGreater(sum(map(bool, texts.values())), 10)
        for exercise in self.written:
            solution = bare("\n".join(exercise.region.body))
            found = [path for path, text in texts.items() if solution in text]
            self.assertEqual(found, [], exercise.id)

    def test_faulty_files_of_earlier_exercises(self):
        files = sorted(ROOT.glob("chapters/*/bugs/*"))
        self.assertGreater(len(files), 10)
        for path in files:
            number = tuple(map(int, _NUMBER.match(path.name).groups()))
            code = bare(path.read_text(encoding="utf-8"))
            found = [one.id for one in self.written
                     if one.number > number and bare("\n".join(one.region.body)) in code]
            self.assertEqual(found, [], path)


if __name__ == "__main__":
    unittest.main()
