"""The fence around readers' lines: whatever regions.unbalanced() accepts holds no active directive.

g++ is the judge. It preprocesses what was accepted, and its own output once more, as nvcc's front end
does: a line of a file that may not be opened, a macro that may not be defined, a line that is skipped
or renumbered, or a pragma shows in the result.
"""

import itertools
import random
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import support
from tools import cpp_text, exercises, regions
from tools.errors import WorkbookError

SEED, CANDIDATES, MOST_IN_A_BATCH = 20250617, 6000, 200
INCLUDED = "THE_FILE_WAS_OPENED"
# In g++'s output: anything but what a region may hold, and the places that g++ itself notes down.
DIRECTIVE_LEFT = re.compile(r"^[ \t\f\v]*(?:#|%:)(?![ \t]*pragma[ \t]+unroll\b)"
                            r"(?! \d+ \"(?:text \d+|first\.cc|second\.cc|<[^\"]*>)\").*", re.M)
HASHES = ("#", "#", "#", "#", "%:", "%:", "??=", "%\\\n:", "%\\ \t\n:", "?\\\n?=", "%??/\n:",
          "\\u0023", "%/**/:", "%NOTHING:", "__CONCAT(%,:)", "__CONC\\\nAT(%,:)", "\uff03", "%\r:",
          "%\0:")
SPACES = ("", "", "", "", " ", "\t", "\f", "\v", "/**/", "/*\n*/", "/\\\n**\\\n/", "\\\n", "\\ \n",
          "??/\n", "\ufeff", "\0", "\u00a0", "NOTHING ", "// \\\n", ";", "\r", "\x1a")
DIRECTIVES = ('include "forbidden.h"', 'include "forbidden.h"', 'inc\\\nlude "forbidden.h"',
              'in\\ \nclude <forbidden.h>', 'inclu??/\nde "forbidden.h"',
              'include_next "forbidden.h"', 'import "forbidden.h"', "include FORBIDDEN",
              "define kept gone", "def\\\nine kept gone", "undef kept", "if 0",
              'line 7 "renumbered"', '7 "renumbered"', "error", 'pragma push_macro("kept")',
              "pragma pack(1)", "pragma GCC poison kept", "pragma unroll\\\n_not", 'ident "x"')
OPERATORS = ('_Pragma("GCC poison kept")', '_Pra\\\ngma("push_macro(\\"kept\\")")',
             '__has_include("forbidden.h")')
# Tokens that are easily read wrongly: after such a one a quote or a comment that is open to one reader
# is closed to another.
TOKENS = ("", "", "a", "'\"'", "\"'\"", "'\\''", "'\\\\'", "\"\\\\\"", "\"\\\"\"", "\"//\"",
          "\"/*\"", "/* // */", "// /*\n", "/* \" */", "// \\\n", "// ??/\n", "// \\ \n",
          "//\\\r\n", "R\"(\")\"", "R\"x(\n)x\"", "R\"(\\\n)\"", "R\"(\\)\"", "R\"x()\"x()x\"",
          "u8R\"(\")\"", "UR\"(\\)\"", "xR\"(\\\")\"", "R\"??/\n(\")", "R\"(??/)\"", "1'0", "1'\"'",
          "0x1'\"'", "a'\"'", "1e+'\"'", "$'\"'", "1$'\"'", "\u00e9'\"'", "'\"'_x", "\"\"_x'\"'",
          "0b1'1'\"'", ".5'5'\"'", "\"\\\n\"", "\"\\ \n\"", "\"??/\"\"", "'??/''", "/\\\n/ \"\n",
          "/\\\n* *\\\n/", "/??/\n* \" */", "/\\ \n/\n", "#pragma unroll 4\n", "<::", "?:",
          "NOTHING", "%", ":", "\"\"\"\"", "R\"\\\n(\"\\\n)\"", "u8'\"'", "L\"'\"", "\\")
OPENERS = ("\n", "\n", "/*\n", "\"", "'", "R\"(", "R\"(\n", "//", "/\\\n*\n", "// \\\n", "// \\ \n",
           "// ??/\n", "/??/\n*\n", "\"\\\n", "\"\\ \n", "\"??/\n", "R\"x(", "/* // */\n")
CLOSERS = ("", "", "\n", "\n//*/", "\n/**/", "*/", "\"", "'", ")\"", ")x\"", "\n//\"", "\n/*\"*/",
           "\n//)\"", "\n/*)\"*/", "\n//'", "\n*\\\n/", "\n/*)x\"*/", "\n\"//\"", "\\\n\"")
CHARACTERS = ("\\\n", "\\ \n", "??/\n", "\n", "\r", "\r\n", "\f", "\0", "\"", "'", "/", "*", "#",
              "%", ":", "R", "\\", "?", " ", "\ufeff")


def combinations():
    """Each token with each opener and each closer around the plainest directive."""
    for token, opener, closer in itertools.product(TOKENS, OPENERS, CLOSERS):
        yield f'{token}{opener}#include "forbidden.h"{closer}'


def candidates(number, seed):
    """Texts that hold a directive, hidden after, in or before what is easily read wrongly."""
    dice = random.Random(seed)
    for _ in range(number):
        directive = dice.choice(HASHES) + dice.choice(SPACES) + dice.choice(DIRECTIVES)
        if dice.random() < 0.1:
            directive = dice.choice(OPERATORS)
        text = (dice.choice(TOKENS) + dice.choice(("", "", " ", "\n")) + dice.choice(OPENERS)
                + dice.choice(SPACES) + directive + dice.choice(CLOSERS)
                + dice.choice(("", "", "\n" + dice.choice(TOKENS))))
        for _ in range(dice.choice((0, 0, 0, 1))):
            at = dice.randint(0, len(text))
            text = text[:at] + dice.choice(CHARACTERS) + text[at + dice.choice((0, 0, 1)):]
        yield text


class Judge:
    """g++'s preprocessor, and what it sees in texts."""

    def __init__(self, folder):
        self.folder = Path(folder)
        (self.folder / "forbidden.h").write_text(INCLUDED + "\n", encoding="utf-8")

    def problem(self, texts):
        """What shows that one of the texts holds an active directive, or ""."""
        source = ['#define kept kept_value\n#define NOTHING\n#define STRING(a) #a\n'
                  '#define __CONCAT(a, b) a##b\n#define FORBIDDEN "forbidden.h"']
        for number, text in enumerate(texts):
            source += [f'#line 1 "text {number}"', text, f"after_{number} kept __FILE__ __LINE__"]
        (self.folder / "first.cc").write_text("\n".join(source) + "\n", encoding="utf-8", newline="")
        once, said = self._preprocess("first.cc", "second.cc")
        twice, said_again = self._preprocess("second.cc", "third.cc")
        for name, output in (("first", once), ("second", twice)):
            if output is None:
                return f"the {name} pass failed: {said or said_again}"
            if INCLUDED in output:
                return f"the {name} pass opened the file"
            directive = DIRECTIVE_LEFT.search(output)
            if directive:
                return f"the {name} pass left `{directive.group()}`"
            for number, text in enumerate(texts):
                expected = f'after_{number} kept_value "text {number}" {text.count(chr(10)) + 2}\n'
                if expected not in output:
                    return f"the {name} pass does not end text {number} with `{expected.strip()}`"
        return ""

    def _preprocess(self, name, output):
        words = ["g++", "-std=c++20", "-trigraphs", "-E", "-nostdinc", "-w", "-I", ".", "-x", "c++"]
        ended = subprocess.run([*words, name, "-o", output], cwd=self.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if ended.returncode:
            return None, ended.stderr.decode("utf-8", "replace")[-500:]
        return (self.folder / output).read_text(encoding="utf-8"), ""


def is_accepted(candidate):
    """(the text as a compiler gets it, whether the check lets it pass)"""
    try:
        text = regions.text_of(candidate.encode("utf-8"), "f.cuh")
    except WorkbookError:
        return candidate, False
    return text, regions.unbalanced(text) is None


@unittest.skipUnless(shutil.which("g++"), "g++, which judges the texts, is not installed")
class Fence(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.judge = Judge(self.folder.name)

    def test_what_is_accepted_holds_no_directive(self):
        for texts in (combinations(), candidates(CANDIDATES, SEED)):
            accepted = [text for text, passes in map(is_accepted, texts) if passes]
            self.assertGreater(len(accepted), 300, "this says something about few texts only")
            self.judge_all(accepted)

    def judge_all(self, accepted):
        for first in range(0, len(accepted), MOST_IN_A_BATCH):
            batch = accepted[first:first + MOST_IN_A_BATCH]
            if self.judge.problem(batch):
                found = [(text, self.judge.problem([text])) for text in batch]
                self.fail(f"accepted, but active: {[one for one in found if one[1]][:5]!r}")

    def test_the_judge_sees_every_kind_of_directive(self):
        for text in ('#include "forbidden.h"', '%\\\n:include "forbidden.h"', "#include FORBIDDEN",
                     "#define kept 1", "#if 0", '#line 7 "renumbered"', "#error", "#pragma pack(1)",
                     "#undef kept", '_Pragma("x y")', '__CONCAT(%,:)include "forbidden.h"', "// \\",
                      "/*",
                     "R\"(", "STRING("):
            self.assertTrue(self.judge.problem([text]), text)
            self.assertFalse(is_accepted(text)[1], text)
        good = ['int a; // #include "forbidden.h"', "#pragma unroll 4", ""]
        self.assertEqual(self.judge.problem(good), "")

    def test_no_header_of_ours_leaves_a_macro_that_pastes(self):
        """It could put a directive together; the system's macros that do are refused by their names."""
        for folder in ("common/device", "common/host", "solutions"):
            for path in (support.ROOT / folder).rglob("*.*"):
                text = path.read_text(encoding="utf-8") if path.suffix in (".cu", ".cuh", ".hpp") else ""
                for name in re.findall(r"^#define (\w+)(?:.*\\\n)*.*##", text, re.M):
                    self.assertIn(f"#undef {name}\n", text, path)

    def test_no_exercise_is_refused(self):
        known = exercises.load_all(support.ROOT)
        texts = [text for exercise in known if exercise.is_in_code
                 for text in ("\n".join(exercise.region.body), "\n".join(exercise.region.starter),
                              *(wrong.answer.strip("\n") for wrong in exercise.wrong))]
        self.assertGreater(len(texts), 50)
        for text in texts:
            self.assertIsNone(regions.unbalanced(text), text)
        self.assertEqual(self.judge.problem(texts), "")


class Sentences(unittest.TestCase):
    def refused(self, text, line, *words):
        found = regions.unbalanced(text)
        self.assertIsNotNone(found, text)
        self.assertEqual(found[0], line, found)
        for word in words:
            self.assertIn(word, found[1])

    def test_they_name_the_line_and_what_is_not_allowed(self):
        self.refused('a;\n%\\\n:include "/etc/shadow"', 1, "`%:` is an old spelling of `#`")
        self.refused("a;\nb;\n#inc\\ \nlude <x>", 2, "`#include`", "`#pragma unroll`")
        self.refused("a;\n??=include <x>", 1, "`??=` is an old spelling of `#`")
        self.refused("#pragma once", 0, "`#pragma once`")
        self.refused("a;\n_Pragma(\"x\")", 1, "`_Pragma` is not allowed")
        self.refused("a = __has_include(<x>);", 0, "`__has_include`")
        self.refused("a;\nx = R\"(\n)\";", 1, "raw string")
        self.refused("a;\0", 0, "U+0000")
        self.refused("a;\n\r#b", 1, "U+000D")
        self.refused("a // ??/\nb;", 0, "`??/`")
        self.refused("a \\ b;", 0, "backslash")
        self.refused("a;\n\u00a0b;", 1, "U+00A0")

    def test_tokens_hold_all_of_the_text(self):
        for text in candidates(500, SEED + 1):
            at, line = 0, -1
            for token in cpp_text.tokens(text):
                self.assertRegex(text[at:token.start], r"\A(?:\\[ \t\v\f]*\n)*\Z", text)
                own = re.sub(r"\\[ \t\v\f]*\n", "", text[token.start:token.end])
                self.assertEqual(own, token.text, text)
                self.assertEqual(token.line, text.count("\n", 0, token.start))
                self.assertGreaterEqual(token.line, line)
                at, line = token.end, token.line

    def test_a_text_of_any_kind_takes_a_time_that_grows_with_its_length_alone(self):
        for part in ("R\"(\n", "R\"(", "/*", "\"", "1'", "%\\\n", "\\ \n", "\\ ", "((",
                     "#pragma unroll\n"):
            text = part * (200_000 // len(part))
            begin = time.process_time()
            regions.unbalanced(text)
            self.assertLess(time.process_time() - begin, 20, part)


if __name__ == "__main__":
    support.skip_without_toml()
    unittest.main()
