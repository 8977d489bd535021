"""The arithmetic of the page about swizzles and descriptors (docs/site/operand_layout.js), compared
with common/device and the simulator's own decoding. Skipped without Node."""

import json
import random
import re
import shutil
import subprocess
import unittest

from support import ROOT

from tools import build

_NODE_PROGRAM = """
const layout = require(process.argv[1]);
const answers = JSON.parse(require('fs').readFileSync(0, 'utf8')).map((o) => {
  if (layout.problem(o)) return {problem: layout.problem(o)};
  const made = layout.make(o), steps = [];
  for (let step = 0; step < made.steps; ++step) {
    const k = step * 32 / o.elementBytes, perChunk = 16 / o.elementBytes, addresses = [];
    if (o.major === 'k')
      for (let row = 0; row < o.rows; ++row)
        for (let chunk = 0; chunk < 2; ++chunk) addresses.push(made.address(row, k + chunk * perChunk));
    else
      for (let column = k; column < k + 32 / o.elementBytes; ++column)
        for (let row = 0; row < o.rows; row += perChunk) addresses.push(made.address(row, column));
    steps.push({bits: layout.word(made.fields100(step)).toString(16),
                hopper: layout.word(made.fields90(step)).toString(16), addresses});
  }
  const seen = [];
  for (let row = 0; row < o.rows; ++row)
    for (let column = 0; column < o.columns; ++column) seen.push(made.address(row, column));
  const back = seen.every((address, index) => {
    const place = made.at(address), row = Math.floor(index / o.columns), column = index % o.columns;
    return o.major === 'k' ? place.line === row && place.byte === column * o.elementBytes
                           : place.line === column && place.byte === row * o.elementBytes;
  });
  const tile = [];
  for (let offset = 0; offset < 1024; offset += 16) tile.push(layout.swizzled(offset, o.swizzle));
  return {steps, tile, back, distinct: new Set(seen).size,
          lowest: Math.min(...seen), highest: Math.max(...seen),
          passes: layout.passes(seen.slice(0, 32), 4)};
});
process.stdout.write(JSON.stringify(answers));
"""


def layouts():
    """Many valid layouts, and some invalid ones."""
    pick = random.Random(20261122)
    found = []
    for element in (1, 2, 4):
        for swizzle in (0, 32, 64, 128):
            for major in ("k", "mn"):
                for _ in range(6):
                    wide = max(swizzle, 32) // element  # elements of a panel, and whole MMA steps
                    panel = max(swizzle, 16) // element
                    rows = 8 * pick.randint(1, 8)
                    if major == "mn":
                        rows = panel * pick.randint(1, min(4, 256 // panel))
                        rows += -rows % 8 if panel < 8 else 0
                    columns = (
                        wide * pick.randint(1, 3) if major == "k" else 32 // element * pick.randint(1, 5)
                    )
                    found.append(
                        {
                            "elementBytes": element,
                            "rows": rows,
                            "columns": columns,
                            "swizzle": swizzle,
                            "major": major,
                            "base": max(8 * swizzle, 16) * pick.randint(0, 40),
                        }
                    )
    return found


@unittest.skipUnless(shutil.which("node"), "no Node here")
class Layouts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wanted = layouts()
        cls.found = cls.ask(cls.wanted)

    @staticmethod
    def ask(wanted):
        result = subprocess.run(
            ["node", "-e", _NODE_PROGRAM, str(ROOT / "docs/site/operand_layout.js")],
            input=json.dumps(wanted),
            stdout=subprocess.PIPE,
            universal_newlines=True,
            check=True,
        )
        return json.loads(result.stdout)

    def test_scales_are_where_the_lab_reads_them_back(self):
        """The lanes that chapter 7's lab prints, which the text holds: rows in columns 0 to 3."""
        text = (ROOT / "chapters/07_block_scaled_gemm/README.md").read_text(encoding="utf-8")
        shown = text.partition("order    32 rows to a column")[2].partition("```")[0]
        lanes = re.findall(r"^lane +(\d+) +row +(\d+) +row +(\d+) +row +(\d+) +row +(\d+)$", shown, re.M)
        self.assertGreater(len(lanes), 5)
        asked = [[int(row), scale] for lane in lanes for row in lane[1:] for scale in range(4)]
        script = (
            "const l = require(process.argv[1]); const a = JSON.parse(require('fs').readFileSync(0));"
            "process.stdout.write(JSON.stringify(a.map(([r, s]) => l.scalePlace(r, s, 1))))"
        )
        result = subprocess.run(
            ["node", "-e", script, str(ROOT / "docs/site/operand_layout.js")],
            input=json.dumps(asked),
            stdout=subprocess.PIPE,
            universal_newlines=True,
            check=True,
        )
        places = iter(json.loads(result.stdout))
        for lane, *rows in lanes:
            for column in range(len(rows)):
                for scale in range(4):
                    place = next(places)
                    self.assertEqual(
                        (place["atom"], place["lane"], place["column"], place["id"]),
                        (0, int(lane) % 32, column, scale),
                    )
                    # A line of the atom is a lane: four words of four scales.
                    self.assertEqual(place["byte"], (int(lane) % 32 * 4 + column) * 4 + scale)

    def test_the_tensor_core_finds_every_chunk_where_the_page_says(self):
        program = build.program(ROOT, build.SIM, "operand_layouts")
        asked, lines = [], []
        for layout, answer in zip(self.wanted, self.found):
            self.assertNotIn("problem", answer, layout)
            for number, step in enumerate(answer["steps"]):
                per_step = 32 // layout["elementBytes"]
                asked.append((layout, answer, step, number))
                lines.append(
                    f"{layout['elementBytes']} {layout['rows']} {layout['columns']} "
                    f"{layout['swizzle']} {layout['major']} {layout['base']} {step['bits']} "
                    f"{number * per_step} {(number + 1) * per_step}"
                )
        self.assertGreater(len(lines), 400)
        result = subprocess.run(
            [str(program)],
            input="\n".join(lines),
            stdout=subprocess.PIPE,
            universal_newlines=True,
            check=True,
        )
        answers = result.stdout.splitlines()
        self.assertEqual(len(answers), len(asked))
        made_by_code = 0
        for (layout, answer, step, number), line in zip(asked, answers):
            with self.subTest(layout=layout, step=number):
                self.assertFalse(line.startswith("fault"), line)
                addresses, rest = line.split("tile ")
                tile, made = rest.split("made ")
                self.assertEqual(step["addresses"], list(map(int, addresses.split())))
                self.assertEqual(answer["tile"], list(map(int, tile.split())))
                blackwell, hopper = made.split()
                if number == 0 and blackwell != "-":
                    self.assertEqual(step["bits"], blackwell)
                    made_by_code += 1
                if number == 0 and hopper != "-":
                    self.assertEqual(step["hopper"], hopper)
        self.assertGreater(made_by_code, 40)

    def test_every_element_has_a_place_of_its_own(self):
        for layout, answer in zip(self.wanted, self.found):
            with self.subTest(layout=layout):
                elements = layout["rows"] * layout["columns"]
                self.assertEqual(answer["distinct"], elements)
                self.assertEqual(answer["lowest"], layout["base"])
                self.assertEqual(
                    answer["highest"], layout["base"] + (elements - 1) * layout["elementBytes"]
                )
                self.assertTrue(answer["back"])

    def test_bad_layouts_get_a_sentence(self):
        good = {
            "elementBytes": 1,
            "rows": 64,
            "columns": 128,
            "swizzle": 128,
            "major": "k",
            "base": 1024,
        }
        bad = (
            {"rows": 7},
            {"rows": 0},
            {"columns": 100},
            {"columns": 0},
            {"base": 1000},
            {"base": -1024},
            {"base": 230400, "rows": 256},
            {"swizzle": 16},
            {"elementBytes": 3},
            {"columns": 96},
            {"major": "x"},
        )
        for answer, change in zip(self.ask([{**good, **change} for change in bad]), bad):
            self.assertRegex(answer.get("problem", ""), r"^\S.* .*\.$", change)
        self.assertNotIn("problem", self.ask([good])[0])


if __name__ == "__main__":
    unittest.main()
