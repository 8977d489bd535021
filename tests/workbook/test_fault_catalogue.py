"""The reader of the catalogue of faults: what it makes of a case, and how it says what is wrong."""

import tempfile
import unittest
from pathlib import Path

import support
from tools import faults
from tools.errors import WorkbookError
from tools.site import generated

KERNEL = "// first\nvoid wait() {\n  fence();\n  arrive();\n}\n"
CASE = '''
[[case]]
name = "no_fence"
pitfalls = [1]
idea = "The fence
  is missing."
program = "lab"
expect = "BW-R03"
level = "races"
at = ["arrive();", "solutions/01_x/other.cuh: load"]
by = ["warp 4"]
patch = \'\'\'
--- a/solutions/01_x/ring.cuh
+++ b/solutions/01_x/ring.cuh
@@
-  fence();
   arrive();
\'\'\'
'''.replace('"The fence\n  is missing."', '"The fence is missing."')
SMALL = '''\
// fault 41: The scratch
// is written again.
// expect BW-R01 at races, "warp 0", "warp 1"
__global__ void again(const Arguments args) {
  scratch[0] = 1;  // (1)
  read(scratch);   // (2)
}

// right: It is not.
// setting BW_SIM_SMS=1
template <int n>
__global__ void not_again(const Arguments args) {}

// fault: Two launches.
// expect BW-R13 at races
// at "put here"
void launches(FaultRun& run) {}
// put here
'''


class Catalogue(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="faults ")
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name)
        self.put("solutions/01_x/ring.cuh", KERNEL)
        self.put("solutions/01_x/other.cuh", "\nload\n")

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def load(self, cases="", small=""):
        self.put(faults.FOLDER / "chapter_01.toml", cases)
        self.put(faults.FOLDER / "memory.cu", small)
        return faults.load_all(self.root)

    def refused(self, words, cases="", small=""):
        with self.assertRaises(WorkbookError) as caught:
            self.load(cases, small)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_a_patch(self):
        case, = self.load(CASE)
        self.assertEqual((case.name, case.code, case.level, case.chapter),
                         ("no_fence", "BW-R03", "races", "01"))
        self.assertEqual(case.places, (("ring.cuh", 3), ("other.cuh", 2)))
        self.assertNotIn("fence", case.replaced[0].text.split("\n", 1)[1])
        self.assertTrue(case.replaced[0].text.startswith('#line 1 "'))

    def test_a_change_says_what_a_patch_says(self):
        patched, = self.load(CASE)
        head = CASE[:CASE.index("patch = ")] + 'file = "solutions/01_x/ring.cuh"\n'
        changed, = self.load(head + "change = [['fence();', '']]\n")
        self.assertEqual(changed, patched)
        self.refused(("case no_fence:", "solutions/01_x/ring.cuh", "`fence(1);`", "0 times"),
                     head + "change = [['fence(1);', '']]\n")
        self.refused(("case no_fence:", "`change`", "missing"), head)

    def test_what_is_wrong_with_a_patch_is_said_with_its_place(self):
        where = "tests/simulator/faults/chapter_01.toml:3: case no_fence:"
        for change, words in (
                (("-  fence();", "-  fence(1);"), ("solutions/01_x/ring.cuh", "`fence(1);`")),
                (("ring.cuh\n@@", "gone.cuh\n@@"), ("gone.cuh", "does not exist")),
                (('at = ["arrive();"', 'at = ["depart();"'), ("0 lines", "depart();")),
                (("BW-R03", "R03"), ("R03", "BW-R01")),
                (('"races"', '"all"'), ("contract, races",)),
                (("program = ", "programm = "), ("`programm`",)),
                (('idea = "The fence is missing."\n', ""), ("`idea` is missing",))):
            self.refused((where, *words), CASE.replace(*change))

    def test_a_name_is_used_once(self):
        self.refused(("no_fence", "used twice"), CASE + CASE)

    def test_small_kernels(self):
        fault, right, launches = self.load(small=SMALL)
        self.assertEqual((fault.name, fault.idea, fault.pitfalls, fault.culprits),
                         ("again", "The scratch is written again.", (41,), ("warp 0", "warp 1")))
        self.assertEqual(fault.places, (("memory.cu", 5), ("memory.cu", 6)))
        self.assertTrue(right.is_right)
        self.assertEqual((right.name, right.settings), ("not_again", (("BW_SIM_SMS", "1"),)))
        self.assertEqual(launches.places, (("memory.cu", 18),))

    def test_what_is_wrong_with_a_small_kernel_is_said_with_its_place(self):
        where = "tests/simulator/faults/memory.cu:1:"
        for change, words in (
                (("// expect BW-R01 at races, \"warp 0\", \"warp 1\"\n", ""), ("expect CODE",)),
                (("// (1)", ""), ("// (1)",)),
                (("at races, ", "at night, "), ("night", "contract, races")),
                (("__global__ void again", "void again"), ("no kernel",))):
            small = SMALL.replace("// (2)", "") if "(1)" in change[0] else SMALL
            self.refused((where, *words), small=small.replace(*change))

    def test_the_page_of_the_catalogue(self):
        page = generated.fault_catalogue(self.load(small=SMALL))
        self.assertIn("These 2 kernels are faulty", page)
        self.assertIn("| BW-R01 | races | [a small kernel](../tests/simulator/faults/memory.cu#L1) |",
                      page)
        self.assertIn("[41](../docs/pitfalls.md#pitfall-41)", page)


class TheCatalogue(unittest.TestCase):
    def test_its_size(self):
        cases = faults.load_all(support.ROOT)
        broken = [case for case in cases if not case.is_right]
        self.assertGreaterEqual(len(broken), 80)
        self.assertGreaterEqual(len(cases) - len(broken), 40)
        self.assertEqual([case.name for case in cases if case.not_found], [])
        # Every pitfall that makes a wrong program appears there in two variants or more.
        pitfalls = [number for case in broken for number in case.pitfalls]
        self.assertEqual([number for number in set(pitfalls) if pitfalls.count(number) < 2], [])

    def test_a_fault_has_one_code(self):
        text = CASE.replace('"BW-R03"', '"BW-R03 or BW-R04"')
        with tempfile.TemporaryDirectory(prefix="faults ") as folder:
            path = Path(folder) / "tests/simulator/faults/chapter_01.toml"
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            with self.assertRaisesRegex(WorkbookError, "a code reads BW-R01"):
                faults.load_all(folder)


if __name__ == "__main__":
    support.skip_without_toml()
    unittest.main()
