"""Programmatic dependent launch, read from the PTX: dependency_wait_test.py <program>.

On every path through every kernel, the first access to global memory comes after
griddepcontrol.wait, and what needs no other grid's data (barriers, tensor memory, tensor maps)
before it. Without any one of its waits, a kernel must fail this check.

The simulator runs the grids of a stream one after the other, so a missing wait is not seen there."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from compiled_code import ptx_modules  # noqa: E402

PROGRAM = ""
WAIT = "griddepcontrol.wait"
LABEL = re.compile(r"^(\$\w+):")
BRANCH = re.compile(r"^(@!?%p\d+\s+)?bra(?:\.uni)?\s+(\$\w+)$")
END = re.compile(r"^(ret|exit|trap)$")
# Accesses to what another grid may write or read: by the thread's own instructions (one that names
# no space may mean global memory, so it counts) and by TMA.
THREAD_ACCESS = re.compile(r"^(?:@!?%p\d+\s+)?(?:ld|st|atom|red)\.(?!\S*(?:param|shared|local|const))")
BULK_ACCESS = re.compile(r"^(?:@!?%p\d+\s+)?cp\.(?:reduce\.)?async\b")
PROLOGUE = ("mbarrier.init", "tcgen05.alloc", "prefetch.tensormap")


class Block:
    """Instructions without a branch into them or out of them, but at the ends."""

    def __init__(self):
        self.instructions, self.successors, self.falls_through = [], [], True


def kernels(program):
    """Name and statements of each kernel."""
    for text in ptx_modules(program)["sm_100a"]:
        for part in re.split(r"^(?=(?:\.visible |\.weak )?\.entry )", text, flags=re.M)[1:]:
            name = re.search(r"\.entry (\w+)", part).group(1)
            body = re.sub(r"//.*", "", part[part.index("\n{"):])
            statements = []
            for line in body.splitlines():
                label = LABEL.match(line.strip())
                if label:
                    statements.append(label.group(0))
                    line = line.strip()[label.end():]
                statements += [s.strip(" \t{}") for s in line.split(";")]
            yield name, [s for s in statements if s]


def blocks_of(statements):
    """The kernel's blocks, the first one its entry."""
    blocks, by_label = [Block()], {}
    for statement in statements:
        label, branch = LABEL.match(statement), BRANCH.match(statement)
        assert "brx" not in statement, "tables of branches aren't followed"
        if label:
            blocks.append(Block())
            by_label[label.group(1)] = len(blocks) - 1
            continue
        blocks[-1].instructions.append(statement)
        if branch:
            blocks[-1].successors.append(branch.group(2))
            blocks[-1].falls_through = branch.group(1) is not None
            blocks.append(Block())
        elif END.match(statement):
            blocks[-1].falls_through = False
            blocks.append(Block())
    for i, block in enumerate(blocks):
        block.successors = [by_label[label] for label in block.successors]
        if block.falls_through and i + 1 < len(blocks):
            block.successors.append(i + 1)
    return blocks


def instructions_before_the_wait(statements):
    """Instructions that some path reaches without a griddepcontrol.wait before them."""
    blocks = blocks_of(statements)
    found, seen, pending = [], {0}, [0]
    while pending:
        block = blocks[pending.pop()]
        waits = [i for i, text in enumerate(block.instructions) if text == WAIT]
        found += block.instructions[:waits[0]] if waits else block.instructions
        for successor in [] if waits else block.successors:
            if successor not in seen:
                seen.add(successor)
                pending.append(successor)
    return found


def early_accesses(statements):
    return [text for text in instructions_before_the_wait(statements)
            if THREAD_ACCESS.match(text) or BULK_ACCESS.match(text)]


class DependencyWait(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernels = list(kernels(Path(PROGRAM)))
        assert cls.kernels

    def test_memory_is_touched_after_the_wait_only(self):
        for name, statements in self.kernels:
            with self.subTest(kernel=name):
                self.assertEqual(early_accesses(statements), [])

    def test_prologue_comes_before_the_wait(self):
        for name, statements in self.kernels:
            early = instructions_before_the_wait(statements)
            for opcode in PROLOGUE:
                with self.subTest(kernel=name, opcode=opcode):
                    self.assertTrue([text for text in early if opcode in text])

    def test_dependents_are_released_by_the_kernel(self):
        for name, statements in self.kernels:
            with self.subTest(kernel=name):
                self.assertIn("griddepcontrol.launch_dependents", " ".join(statements))

    def test_every_wait_is_needed(self):
        # Three roles touch global memory: the loads of A and B, the load of C, the epilogue.
        for name, statements in self.kernels:
            waits = [i for i, text in enumerate(statements) if text == WAIT]
            self.assertGreaterEqual(len(waits), 3, name)
            for wait in waits:
                with self.subTest(kernel=name, wait=wait):
                    mutant = statements[:wait] + statements[wait + 1:]
                    self.assertNotEqual(early_accesses(mutant), [])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
