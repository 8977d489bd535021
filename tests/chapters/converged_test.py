"""Where one lane has acted alone, its warp comes together before an instruction that is `.aligned`:
converged_test.py <program>...

The simulator brings lanes together as soon as their paths meet; the PTX ISA promises that of no
instruction but those that wait for the others. So this reads the programs' PTX: from each branch that
some lanes of a warp take and others don't (on `elect.sync`, on the lane's number, or on that of one
thread) every path to an `.aligned` instruction must hold a `bar.warp.sync` of the whole warp or a
barrier of the CTA.

It also takes one `bar.warp.sync` after the other out of each kernel until one is missed, which has to
happen in some kernel."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from compiled_code import ptx_modules  # noqa: E402

WARP_LANES = 32
LANES, THREADS = "differs from lane to lane", "number of the thread"
INSTRUCTION = re.compile(r"(?:@(!?)([%\w$]+)\s+)?([a-z][\w.:]*)\s*(.*)", re.S)
BRACE = re.compile(r"[{}]")
LABEL_OR_BRACE = re.compile(r"([{}])|((?:^|(?<=\s))[$\w]+:(?!:))")
REGISTER = re.compile(r"%?[A-Za-z_$][\w$]*")
WHOLE_WARP = ("-1", "0xffffffff", "4294967295")


class Instruction:
    """One instruction of a kernel; names in it are unique, whatever scope they were declared in."""

    def __init__(self, text, line):
        match = INSTRUCTION.match(text)
        self.guard, self.opcode, self.line = match.group(2), match.group(3), line
        self.operands = [operand.strip() for operand in match.group(4).split(",")]
        self.results = [name for name in REGISTER.findall(self.operands[0]) if name != "_"]
        self.sources = REGISTER.findall(",".join(self.operands[1:]))
        self.text = text
        self.base = self.opcode.split(".")[0]
        self.brings_together = self.is_barrier() or self.is_syncwarp()
        self.is_aligned = "aligned" in self.opcode.split(".") and not self.is_barrier()

    def is_barrier(self):
        """A __syncthreads(), whose threads nvcc and ptxas bring together, or a named barrier."""
        return self.opcode.startswith(("bar.sync", "bar.red", "barrier.sync", "barrier.red",
                                       "bar.cta.sync", "barrier.cta.sync"))

    def is_syncwarp(self):
        return self.opcode == "bar.warp.sync" and self.operands[0] in WHOLE_WARP


def statements(body):
    """(line, statement) of a kernel's body: braces, labels and what ends with a semicolon."""
    line = 0
    for text in re.split(r"(?<=[;{}\n])", re.sub(r"//[^\n]*", "", body)):
        # Half of the lines say only where the next instruction comes from.
        parts = () if text.startswith("\t.loc") else LABEL_OR_BRACE.split(text)
        for part in parts:
            if part and part.strip():
                yield line, part.strip()
        line += text.count("\n")


def joined(parts):
    """Statements that go over several lines."""
    pending, first = "", 0
    for line, part in parts:
        if not pending:
            first = line
        if not pending and (part in "{}" or part.endswith(":")):
            yield line, part
            continue
        if not pending and part.startswith(".") and not part.startswith(".reg"):
            if part.endswith(";") or part.startswith((".loc", ".file", ".pragma")):
                continue
        pending = (pending + " " + part).strip()
        if pending.endswith(";"):
            yield first, pending[:-1].strip()
            pending = ""


def read(body):
    """(instructions, index by label) of a kernel."""
    code, labels, scopes, number = [], {}, [{}], 0

    def named(text):
        def rename(match):
            for scope in reversed(scopes):
                if match.group(0) in scope:
                    return scope[match.group(0)]
            return match.group(0)
        return REGISTER.sub(rename, text)

    parts = list(joined(statements(body)))
    for i, (line, part) in enumerate(parts):
        if part == "{":
            number += 1
            scope, depth = {}, 0
            # A label may be used before its line: the scope's own ones are collected first.
            for _, later in parts[i + 1:]:
                depth += (later == "{") - (later == "}")
                if depth < 0:
                    break
                if depth == 0 and later.endswith(":"):
                    scope[later[:-1]] = f"{later[:-1]}__{number}"
            scopes.append(scope)
        elif part == "}":
            if len(scopes) > 1:
                scopes.pop()
        elif part.endswith(":"):
            labels[named(part[:-1])] = len(code)
        elif part.startswith(".reg"):
            if len(scopes) > 2:  # beyond the kernel's own
                for name in re.sub(r"^\.reg\s+\.\w+", "", part).split(","):
                    scopes[-1][name.strip()] = f"{name.strip()}__{number}"
        elif INSTRUCTION.match(part):
            guard, opcode, operands = INSTRUCTION.match(part).group(2, 3, 4)
            before = part[:part.index(opcode)] if guard else ""
            code.append(Instruction(f"{named(before)}{opcode} {named(operands)}", line))
    return code, labels


def number(text):
    try:
        return int(text.rstrip("U"), 0)
    except ValueError:
        return None


def kind_of(instruction, kinds):
    """What the result of an instruction is for the lanes of a warp."""
    opcode, base, sources = instruction.opcode, instruction.base, instruction.operands[1:]
    if base == "elect" or "%laneid" in sources:
        return LANES
    if "%tid.x" in sources:
        return THREADS
    found = {kinds.get(name) for name in instruction.sources}
    if base in ("shfl", "vote", "redux", "ld", "mbarrier", "atom"):
        return None
    constant = number(sources[-1]) if sources else None
    if THREADS in found and LANES not in found and constant is not None:
        if base in ("shr", "div") and constant >= (5 if base == "shr" else WARP_LANES):
            return None
        if base == "and":
            return None if constant % WARP_LANES == 0 else LANES
        comparison = opcode.split(".")[1]
        if base == "setp" and comparison in ("lt", "ge") and constant % WARP_LANES == 0:
            return None
        if base == "setp" and comparison in ("gt", "le") and (constant + 1) % WARP_LANES == 0:
            return None
        return LANES if base == "setp" else THREADS
    if base == "setp" and THREADS in found:
        return LANES
    return LANES if LANES in found else THREADS if THREADS in found else None


def divergent(code):
    """Registers whose value some lanes alone have."""
    kinds, changed = {}, True
    while changed:
        changed = False
        for instruction in code:
            kind = kind_of(instruction, kinds)
            if kind is None:
                continue
            for name in instruction.results:
                if kinds.get(name) not in (LANES, kind):
                    kinds[name] = kind
                    changed = True
    return {name for name, kind in kinds.items() if kind == LANES}


def violations(code, labels, apart, without=None):
    """The `.aligned` instructions that a part of a warp may come to. `apart`: the registers that
    divergent() names; `without`: an instruction that is taken out."""
    seen, pending, found = set(), [(0, None)], {}
    while pending:
        index, origin = pending.pop()
        if index >= len(code) or (index, origin is not None) in seen:
            continue
        seen.add((index, origin is not None))
        instruction = code[index]
        if instruction is not without:
            if origin is not None and instruction.is_aligned:
                found[index] = (instruction, origin)
            if instruction.brings_together and instruction.guard is None:
                origin = None
        base = instruction.base
        if base in ("bra", "ret", "exit", "trap"):
            after = origin
            if base == "bra" and instruction.guard in apart:
                after = instruction
            if base == "bra":
                pending.append((labels[instruction.operands[0]], after))
            if instruction.guard is not None:
                pending.append((index + 1, after))
        else:
            pending.append((index + 1, origin))
    return list(found.values())


def kernels(text):
    """(name, body) of the kernels of a PTX module."""
    for match in re.finditer(r"\.entry\s+(\w+)", text):
        begin = text.index("{", text.index(")", match.end()) if text[match.end()] == "("
                           else match.end())
        depth, end = 0, begin
        for brace in BRACE.finditer(text, begin):
            depth += 1 if brace.group() == "{" else -1
            end = brace.end()
            if depth == 0:
                break
        yield match.group(1), text[begin:end]


def check(program):
    count, missed = 0, 0
    for texts in ptx_modules(program).values():
        for name, body in (kernel for text in texts for kernel in kernels(text)):
            code, labels = read(body)
            apart = divergent(code)
            count += 1
            for instruction, branch in violations(code, labels, apart):
                sys.exit(f"{program.name}, kernel {name}: `{instruction.text}` (line "
                         f"{instruction.line} of its body) may be reached by some lanes of a warp: "
                         f"they part at `{branch.text}` (line {branch.line}). Put a __syncwarp() "
                         "between them.")
            missed += any(violations(code, labels, apart, without=instruction)
                          for instruction in code if instruction.is_syncwarp())
    assert count, f"{program.name} holds no kernel"
    print(f"{program.name}: {count} kernels, of which {missed} need one of their bar.warp.sync")
    return missed


if __name__ == "__main__":
    total = sum(check(Path(name)) for name in sys.argv[1:])
    assert total, "no program needs a bar.warp.sync: the test sees nothing"
