"""ptxas' errors, of the real ptxas, name the line of the source that the PTX comes from."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import support  # noqa: F401  (puts common/ on the path)
from tools import ptx_errors, reports, toolkit

READER = Path("chapters/01_x/reader's file.cuh")
# The reader's line 7 calls a helper in line 2 of another file, whose asm comes first; line 9 is an asm
# statement of the reader's own.
PTX = """\
.version 8.6
.target sm_100a
.address_size 64
.visible .entry kernel(.param .u64 out)
{
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<3>;
	.loc	1 15 0
	ld.param.u64 	%rd1, [out];
	.loc	1 16 3
	.loc	2 7 5, function_name $L__info_string0, inlined_at 1 16 3
	.loc	3 2 73, function_name $L__info_string0, inlined_at 2 7 5
	// begin inline asm
	HELPER
	// end inline asm
	.loc	2 9 29, function_name $L__info_string0, inlined_at 1 16 3
	// begin inline asm
	{
	OWN
	}
	// end inline asm
	.loc	1 17 1
	ret;
}
	.file	1 "/r/solutions/01_x/file.cuh"
	.file	2 "/r/chapters/01_x/reader's file.cuh"
	.file	3 "/r/common/device/helper.cuh"
	.section	.debug_str
	{
$L__info_string0:
.b8 95
.b8 0
	}
"""
GOOD = "mov.u32 %r1, 1;"


class Ptxas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        found, _ = toolkit.find(support.ROOT)
        cls.ptxas = Path(found.nvcc).parent / "ptxas" if found else shutil.which("ptxas")
        if not cls.ptxas or not Path(cls.ptxas).is_file():
            raise unittest.SkipTest("there is no ptxas")

    def error(self, own=GOOD, helper=GOOD, architecture="compute_100a"):
        """The error that a reader gets for PTX with these instructions."""
        ptx = PTX.replace("HELPER", helper).replace("OWN", own)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a file, line 3; of PTX.ptx"
            path.write_text(ptx, encoding="utf-8")
            words = [str(self.ptxas), f"-arch={architecture}", str(path), "-o", os.devnull]
            ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   universal_newlines=True, check=False)
            said = ptx_errors.explained(ended.stdout, ptx, str(path))
        return reports.first_error(said, READER) if ended.returncode else None

    def test_the_ptx_of_these_tests_is_right(self):
        self.assertIsNone(self.error())

    def test_errors_in_the_readers_asm(self):
        for instruction, words in (("bogus.u32 %r1, 7;", "Not a name of any known instruction: 'bogus'"),
                                   ("add.f32 %r1, %rd1, %r1;", "Arguments mismatch for"),
                                   ("wgmma.fence.sync.aligned;", "not supported on .target 'sm_100a'"),
                                   ("add.s32.ftz %r1, %r1, %r1;", "Illegal modifier '.ftz'"),
                                   ("bar.sync 99;", "Barrier number '99' out of range"),
                                   ("mov.u32 %r1, %unknown;", "Unknown symbol '%unknown'"),
                                   ("mov.u32 %r1 %r2;", "syntax error"),
                                   (".include \"x\";", "Parsing error near '.include'"),
                                   (".incbin \"x\";", "Parsing error near '.incbin'")):
            with self.subTest(instruction):
                error = self.error(instruction)
                self.assertEqual(error.line, 9)
                self.assertIn(words, error.message)
                self.assertTrue(error.message.startswith("ptxas: "), error.message)
                self.assertEqual(error.lines[0].partition(": error: ")[0], f"{READER}(9)")
                self.assertEqual(error.lines[1].strip(), instruction)
                self.assertEqual(len(error.lines), 2)

    def test_an_error_in_a_helper_names_the_line_that_led_there(self):
        error = self.error(helper="bogus.u32 %r1, 7;")
        self.assertEqual(error.line, 7)
        self.assertIn("'bogus' (common/device/helper.cuh:2, which your line 7 leads to)", error.message)
        self.assertIn("inlined at line 7", error.lines[-1])
        self.assertEqual(self.error("bogus;", "bogus;").line, 9, "the reader's own line comes first")

    def test_an_error_without_a_line(self):
        error = self.error(".shared .b8 much[600000]; mov.u32 %r1, much;", architecture="sm_100a")
        self.assertIsNone(error.line)
        self.assertIn("ptxas: Entry function 'kernel' uses too much shared data (0x", error.message)

    def test_a_directive_in_asm_at_which_ptxas_crashes(self):
        for instruction in ('# 3 "x"', 'mov.u32 %r1, 1; #line 3 "/etc/passwd"', "#define x"):
            ptx = PTX.replace("HELPER", "// # is a comment\n\t/* #\n*/").replace("OWN", instruction)
            said = ptx_errors.explained("Segmentation fault\n", ptx, "x.ptx")
            error = reports.first_error(said, READER)
            self.assertEqual(error.line, 9)
            self.assertIn("`#` is not allowed in an asm statement", error.message)


class Words(unittest.TestCase):
    def test_what_is_not_about_the_ptx_stays(self):
        said = ("/r/f.cuh(3): error: no\n    x;\n    ^\n"
                "ptxas other.ptx, line 3; error   : a\nptxas x.ptx, line 999; error   : b\n"
                "ptxas fatal   : Ptx assembly aborted due to errors\n")
        self.assertEqual(ptx_errors.explained(said, PTX, "x.ptx"),
                         "\n".join(said.split("\n")[:-2]) + "\n")

    def test_a_line_that_comes_from_nowhere(self):
        said = ptx_errors.explained("ptxas x.ptx, line 2; error   : a\n", PTX, "x.ptx")
        error = reports.first_error(said, READER)
        self.assertEqual((error.line, error.message), (None, "ptxas: a (line 2 of the PTX)"))

    def test_calls_in_a_circle_end(self):
        lines = [".loc 1 1 1, function_name a, inlined_at 1 2 2",
                 ".loc 1 2 2, function_name a, inlined_at 1 1 1"]
        self.assertEqual(ptx_errors.source_places(lines, 2), [("?", 2), ("?", 1)])


if __name__ == "__main__":
    unittest.main()
