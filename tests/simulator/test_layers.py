"""The simulator's layers: an include points to its own layer or to one below it."""

import re
import tempfile
import unittest
from pathlib import Path

SIMULATOR = Path(__file__).resolve().parents[2] / "common" / "simulator"
PREFIX = "common/simulator/"

# What each layer may include beside itself. Arrows go down; diagnosis and trace are both observers
# of the machine and don't know each other.
BELOW = {
    "base": set(),
    "ptx": {"base"},
    "machine": {"base", "ptx"},
    "units": {"base", "ptx", "machine"},
    "diagnosis": {"base", "ptx", "machine", "units"},
    "trace": {"base", "ptx", "machine", "units"},
    "cudart": {"base", "ptx", "machine", "units", "diagnosis", "trace"},
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


class Layers(unittest.TestCase):

    def test_no_include_runs_up(self):
        problems = broken_includes(SIMULATOR)
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def test_every_layer_is_there(self):
        # An empty folder is what a move leaves behind in somebody's checkout, no layer.
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
