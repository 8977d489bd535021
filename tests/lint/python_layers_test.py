"""The command's Python modules: an import points down or sideways, and no way leads back to its start.

Imports inside functions count as well: they hide a circle and don't break it.
"""

import ast
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "common" / "tools"

# From below: every module that is not named here, then these modules and folders. A module imports
# those of its own layer and of the layers below.
LAYERS = (("reader",), ("timeline",), ("site",), ("grading",), ("commands", "command_table", "cli"),
          ("command_page",), ("texts",))


def modules(folder):
    """{"tools.reader.view": path} of the package in a folder."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name, path, known):
    """{module: line} of what a module imports from its package."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[:len(package) - node.level + 1] if node.level else []
            base = ".".join([*base, *filter(None, [node.module])])
            names = [f"{base}.{alias.name}" for alias in node.names]
            names = [one if one in known else base for one in names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for one in names:
            if one in known and one != name and one.count("."):
                found.setdefault(one, node.lineno)
    return found


def arrows_up(graph):
    """A sentence for every import that points to a higher layer."""
    def layer(module):
        part = module.split(".")[1]
        return next((number for number, names in enumerate(LAYERS, 1) if part in names), 0)
    return [f"{module}:{line}: imports {target}, which is above it"
            for module, targets in graph.items() for target, line in targets.items()
            if layer(target) > layer(module)]


def circles(graph):
    """The shortest way from each module back to itself, each circle once."""
    found = {}
    for start in graph:
        ways, seen = [[start]], set()
        while ways:
            way = ways.pop(0)
            for target in graph[way[-1]]:
                if target == start:
                    found.setdefault(frozenset(way), " -> ".join([*way, start]))
                    ways = []
                    break
                if target not in seen:
                    seen.add(target)
                    ways.append([*way, target])
    return sorted(found.values())


def graph_of(folder):
    """{module: {imported module: line}}"""
    known = modules(folder)
    return {name: imports(name, path, known) for name, path in known.items() if name.count(".")}


class Layers(unittest.TestCase):
    def test_no_import_points_up(self):
        self.assertEqual(arrows_up(graph_of(TOOLS)), [])

    def test_there_is_no_circle(self):
        self.assertEqual(circles(graph_of(TOOLS)), [])

    def test_every_layer_is_there(self):
        names = {name.split(".")[1] for name in graph_of(TOOLS)}
        self.assertLessEqual({name for layer in LAYERS for name in layer}, names)

    def test_what_is_wrong_is_named(self):
        with tempfile.TemporaryDirectory() as holder:
            folder = Path(holder) / "tools"
            (folder / "reader").mkdir(parents=True)
            for name, text in (("__init__.py", ""), ("reader/__init__.py", ""),
                               ("build.py", "from .reader import view\n"),
                               ("errors.py", "import os\n"),
                               ("reader/view.py", "def f():\n    from ..checks import one\n"),
                               ("checks.py", "from . import errors\nfrom tools import build\n"),
                               ("cli.py", "from . import build, checks\n")):
                (folder / name).write_text(text, encoding="utf-8")
            graph = graph_of(folder)
        self.assertEqual(arrows_up(graph),
                         ["tools.build:1: imports tools.reader.view, which is above it"])
        self.assertEqual(circles(graph),
                         ["tools.build -> tools.reader.view -> tools.checks -> tools.build"])


if __name__ == "__main__":
    unittest.main()
