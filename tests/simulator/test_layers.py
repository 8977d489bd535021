"""The simulator's layers: an include points to its own layer or to one below it, and opcodes are
spelled only where the records of the instruction forms are: in isa/ and units/. Units ask a port what
things cost."""

import re
import tempfile
import unittest
from pathlib import Path

SIMULATOR = Path(__file__).resolve().parents[2] / "common" / "simulator"
PREFIX = "common/simulator/"

# What each layer may include in addition to itself. Diagnosis and trace both observe the machine
# and do not know each other.
BELOW = {
    "base": set(),
    "isa": {"base"},
    "ptx": {"base", "isa"},
    "schedule": {"base", "isa", "ptx"},
    "clock": {"base", "isa", "schedule"},
    "machine": {"base", "isa", "ptx", "schedule", "clock"},
    "units": {"base", "isa", "ptx", "schedule", "clock", "machine"},
    "diagnosis": {"base", "isa", "ptx", "schedule", "clock", "machine", "units"},
    "trace": {"base", "isa", "ptx", "schedule", "clock", "machine", "units"},
    "session": {"base", "isa", "ptx", "schedule", "clock", "machine", "units", "diagnosis", "trace"},
    "browser": {"base", "isa", "ptx", "schedule", "clock", "machine", "units", "diagnosis", "trace",
                "session"},
    "cudart": {"base", "isa", "ptx", "schedule", "clock", "machine", "units", "diagnosis", "trace",
               "session"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def broken_includes(root):
    """file:line and the rule for every include of the tree under `root` that breaks a layer."""
    problems = []
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".hpp", ".cpp", ".inc", ".h", ".cuh", ".cu"):
            continue
        place = path.relative_to(root)
        layer = place.parts[0]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            match = INCLUDE.match(line)
            if match is None:
                continue
            included = match.group(1)
            where = f"{PREFIX}{place.as_posix()}:{number}"
            if not included.startswith(PREFIX):
                # A path relative to the file would escape the check.
                if (path.parent / included).exists():
                    problems.append(f"{where}: includes {included}; write the path from the "
                                    "repository's root")
                elif included.startswith(("common/", "tests/", "solutions/", "chapters/")):
                    problems.append(f"{where}: includes {included}, which is no part of the "
                                    "simulator")
                continue
            target = included[len(PREFIX):].split("/")[0]
            if layer not in BELOW or target not in BELOW:
                unknown = target if layer in BELOW else layer
                problems.append(f"{where}: {unknown} is no layer that the test knows")
            elif target != layer and target not in BELOW[layer]:
                below = ", ".join(sorted(BELOW[layer])) or "itself"
                problems.append(f"{where}: {layer}/ includes {included}, but may only know {below}")
    return problems


# A row of the table: .base = "ld", row("bra", ...), register_form("add", ...), k... = "wgmma.fence".
BASE = re.compile(r'(?:\.base = |string_view k\w+ = |\b(?:\w*row|\w*form|refused|hint|membar|mma|'
                  r'synchronisation)\(\s*)"([a-z][\w.:]*)"')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
OPCODE = re.compile(r"([a-z]\w*)((?:\.|::)\w+)*[.:]*")
# The layers that look at instructions: there even a bare mnemonic is an opcode.
READERS = ("ptx", "schedule", "machine", "diagnosis")


def mnemonics(root):
    """The first words of the opcodes: of the table's rows, and of what production kernels use."""
    used = (Path(__file__).parent / "ptx" / "instruction_forms.txt").read_text(encoding="utf-8")
    words = {line.split(".")[0] for line in used.splitlines() if line and line[0] != "#"}
    for path in (root / "units").rglob("*.cpp"):
        for base in BASE.findall(path.read_text(encoding="utf-8")):
            words.add(re.split("[.:]", base)[0])
    return words


def opcode_literals(root, words):
    """file:line and the literal for every string that is an opcode, or the beginning of one, outside
    of isa/ and units/. A noun that counted() puts into a sentence is not one."""
    found = []
    for path in sorted([*root.rglob("*.cpp"), *root.rglob("*.hpp")]):
        place = path.relative_to(root)
        if place.parts[0] in ("isa", "units"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            code = re.sub(r'counted\([^"]*"\w+"\)', "", re.sub(r"\s*///?.*$", "", line))
            for literal in LITERAL.findall(code):
                match = OPCODE.fullmatch(literal)
                if match is None or match.group(1) not in words:
                    continue
                if place.parts[0] in READERS or "." in literal:
                    found.append(f"{PREFIX}{place.as_posix()}:{number}: \"{literal}\"")
    return found


class OneHomeForOpcodes(unittest.TestCase):

    def test_only_records_and_handlers_spell_opcodes(self):
        found = opcode_literals(SIMULATOR, mnemonics(SIMULATOR))
        self.assertEqual(found, [], "ask the instruction's record (isa/instruction_form.hpp) instead "
                         "of its opcode:\n" + "\n".join(found))

    def test_the_mnemonics_are_those_of_the_table(self):
        words = mnemonics(SIMULATOR)
        self.assertGreater(len(words), 100)
        self.assertLessEqual({"add", "bra", "brx", "cp", "cvt", "elect", "fence", "ld", "mbarrier",
                              "mma", "mov", "prmt", "red", "st", "tcgen05", "wgmma", "wmma"}, words)

    def test_an_opcode_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for layer in ("isa", "machine", "trace"):
                (root / layer).mkdir()
            text = ('if (base == "bra") return;  // "ret"\nopcode.starts_with("mul.wide.");\n'
                    'say("the ld.global.u32 of");\ncounted(2, "barrier");\n')
            for layer in ("isa", "machine", "trace"):
                (root / layer / "a.cpp").write_text(text)
            found = opcode_literals(root, {"bra", "ret", "mul", "ld", "barrier"})
        self.assertEqual(found, ['common/simulator/machine/a.cpp:1: "bra"',
                                 'common/simulator/machine/a.cpp:2: "mul.wide."',
                                 'common/simulator/trace/a.cpp:2: "mul.wide."'])


# Units reach the tables only through the port: no unit reads their numbers.
TABLE = re.compile(r"\bTimingTable\b|timing_(?:table|numbers)|\btimes\(\)|[.>]table\b")


def looks_at_tables(root):
    """file:line of every place in units/ that names the timing model's tables."""
    return [f"{PREFIX}{path.relative_to(root).as_posix()}:{number}"
            for path in sorted((root / "units").rglob("*.?pp"))
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
            if TABLE.search(re.sub(r"//.*$", "", line))]


class OnePortForTimes(unittest.TestCase):

    def test_no_unit_looks_at_a_timing_table(self):
        found = looks_at_tables(SIMULATOR)
        self.assertEqual(found, [], "ask Costs (clock/cost_port.hpp) or the clock of the SM "
                         "(clock/cta_clock.hpp) instead:\n" + "\n".join(found))

    def test_one_that_does_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "units").mkdir()
            (Path(folder) / "units" / "a.cpp").write_text(
                "const auto* t = cluster.times();  // a table\n// TimingTable\n"
                "wait(cta.clock->table->x);\nlookup(table);\n")
            self.assertEqual(looks_at_tables(Path(folder)),
                             ["common/simulator/units/a.cpp:1", "common/simulator/units/a.cpp:3"])


class Layers(unittest.TestCase):

    def test_no_include_runs_up(self):
        problems = broken_includes(SIMULATOR)
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def test_every_layer_is_there(self):
        # A move can leave an empty folder in a checkout; it is not a layer.
        folders = {path.name for path in SIMULATOR.iterdir() if any(path.glob("**/*.hpp"))}
        self.assertEqual(folders, set(BELOW))

    def test_a_broken_include_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "machine").mkdir()
            (root / "diagnosis").mkdir()
            (root / "machine" / "a.cpp").write_text(
                '#include <vector>\n'
                '#include "common/simulator/base/error.hpp"\n'
                '#include "common/simulator/units/units.hpp"\n')
            (root / "machine" / "b.hpp").write_text("")
            (root / "machine" / "c.cpp").write_text('#include "b.hpp"\n')
            (root / "diagnosis" / "d.cpp").write_text(
                '#include "common/simulator/trace/json.hpp"\n')
            problems = broken_includes(root)
        self.assertEqual([problem.split(": ")[0] for problem in problems],
                         ["common/simulator/diagnosis/d.cpp:1", "common/simulator/machine/a.cpp:3",
                          "common/simulator/machine/c.cpp:1"])


if __name__ == "__main__":
    unittest.main()
