"""The files of fuzz inputs: corpus_test.py <fuzz_lexer>. The script and the driver read them."""

import hashlib
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import corpus  # noqa: E402

DRIVER = ""
# Inputs of each target; a change of the corpus changes its number here too.
KEPT = {"fat_binary": 21, "lexer": 46, "machine": 489, "parser": 316, "pipeline": 55}
ALL_BYTES = bytes(range(256))


class Corpus(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="fuzz inputs ")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.file = self.folder / "x.inputs"

    def script(self, *words):
        return subprocess.run([sys.executable, "-B", str(FOLDER / "corpus.py"), *map(str, words)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              universal_newlines=True)

    def driver(self, *words):
        return subprocess.run([DRIVER, *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, universal_newlines=True)

    def test_the_kept_inputs_are_all_there(self):
        self.assertEqual({path.stem for path in (FOLDER / "corpus").iterdir()}, set(KEPT))
        for target, count in KEPT.items():
            path = FOLDER / "corpus" / f"{target}.inputs"
            found = corpus.parse(path.read_text(encoding="utf-8"), path)
            self.assertEqual((target, len(found), len(set(found.values()))), (target, count, count))

    def test_a_packed_folder_is_unpacked_as_it_was(self):
        before, after = self.folder / "before", self.folder / "after"
        before.mkdir()
        named = {"all_bytes": ALL_BYTES, "empty": b"", "quotes.ptx": b'"\\x41\\" \\n\n\t\r\0'}
        for name, data in named.items():
            (before / name).write_bytes(data)
        for data in (b"a", b"\\", b'"'):
            (before / hashlib.sha1(data).hexdigest()).write_bytes(data)
        self.assertEqual(self.script("pack", before, self.file).returncode, 0)
        self.assertEqual(self.script("unpack", self.file, after).returncode, 0)
        read = {path.name: path.read_bytes() for path in after.iterdir()}
        self.assertEqual(read, {path.name: path.read_bytes() for path in before.iterdir()})
        text = self.file.read_text(encoding="ascii")
        self.assertTrue(text.startswith("6 inputs"), text)
        self.assertIn('\n"a"\n', text)
        self.assertIn("\nall_bytes ", text)

    def test_the_driver_reads_the_bytes_that_were_packed(self):
        for data in (ALL_BYTES, b"", b'"\\x41\\" \\n\n\t\r\0', b"\\", b'"'):
            self.file.write_text(corpus.render({"only": data}), encoding="utf-8")
            saved = self.folder / "saved"
            ended = self.driver(self.file, "--save", saved)
            self.assertEqual(ended.returncode, 0, ended.stdout)
            self.assertIn("1 given and 0 made inputs", ended.stdout)
            self.assertEqual(saved.read_bytes(), data)

    def test_the_driver_runs_all_kept_inputs_in_the_order_of_the_unpacked_folder(self):
        kept, folder = FOLDER / "corpus/lexer.inputs", self.folder / "lexer"
        self.assertEqual(self.script("unpack", kept, folder).returncode, 0)
        for given in (kept, folder):
            self.assertIn(f"{KEPT['lexer']} given and", self.driver(given).stdout)
        inputs = list(corpus.parse(kept.read_text(encoding="utf-8"), kept).items())
        self.assertEqual([name for name, _ in inputs], sorted(path.name for path in folder.iterdir()))

    def test_a_damaged_file_is_refused_by_both(self):
        good = corpus.render({"only": b"a\n"})
        for bad, line in ((good.replace("1 input", "2 input"), 1), (good.replace("1 input", "input"), 1),
                          ("", 1), (good.rstrip("\n"), 1), (good.replace('\\n"', '\\q"'), 2),
                          (good.replace('\\n"', '\\x4"'), 2), (good.replace('\\n"', ""), 2),
                          (good.replace('"a', "a"), 2), (good.replace('\\n"', '\\xzz"'), 2)):
            with self.subTest(bad):
                self.file.write_text(bad, encoding="utf-8")
                for ended in (self.script("unpack", self.file, self.folder / "out"),
                              self.driver(self.file)):
                    self.assertIn(ended.returncode, (1, 2))
                    self.assertIn(f"x.inputs:{line}: ", ended.stdout)
                    self.assertNotIn("Traceback", ended.stdout)

    def test_what_the_script_can_not_do(self):
        for words in (("pack", self.folder / "no", self.file),
                      ("unpack", self.folder / "no.inputs", self.folder / "x")):
            ended = self.script(*words)
            self.assertEqual(ended.returncode, 1)
            self.assertRegex(ended.stdout, r"^error: .*no")
            self.assertNotIn("Traceback", ended.stdout)
        self.assertEqual(list(self.folder.iterdir()), [], "nothing is written")
        self.assertEqual(self.script("turn", "a", "b").returncode, 2)
        two = corpus.render({"only": b"a"}).replace("1 input", "2 input") + 'only "b"\n'
        self.file.write_text(two, encoding="utf-8")
        self.assertIn(":3: the input only is in the file already", self.script("unpack", self.file,
                                                                              self.folder / "x").stdout)


if __name__ == "__main__":
    DRIVER = sys.argv.pop(1)
    unittest.main()
