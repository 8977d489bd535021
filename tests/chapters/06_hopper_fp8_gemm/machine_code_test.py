"""The machine code of the Hopper GEMM: machine_code_test.py <program> <nvcc>.

Assembles the program's PTX and reads the disassembly: every kernel must multiply with the tensor
cores' FP8 instruction, load and store by TMA, hand registers from the loading to the multiplying
warps, spill none, and must not be one whose wgmma ptxas had to serialise. The promotion's FMAs must
alternate their operand reuse, so that warps take turns: ptxas sees to it only in loops of a shape
that it knows, and without it the kernel takes 10 % longer."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from compiled_code import (check_report, has_instruction, kernel_count, kernels_of,  # noqa: E402
                           machine_code, ptx_modules)

ARCHITECTURE = "sm_90a"
IN_EVERY_KERNEL = ["QGMMA", "UTMALDG", "UTMASTG", "USETMAXREG", "SYNCS", "WARPGROUP"]
IN_NO_KERNEL = ["LDL", "STL", "HMMA", "IMMA"]


# sum = product * scale + sum, in place; the second operand may be kept for the next instruction.
PROMOTION = re.compile(r"FFMA (R\d+), R\d+(?:\.reuse)?, R\d+(\.reuse)?, \1\b")
LEAST_ALTERNATING = 0.75


def serialised_mmas(code):
    """MMAs that go on with a sum, and wait before they do."""
    found = []
    waits = False
    for line in code.splitlines():
        if "WARPGROUP" in line:
            waits = True
        elif "QGMMA" in line:
            if waits and "RZ, !UPT" not in line:
                found.append(line.strip())
            waits = False
    return found


def alternating_share(code):
    """Of neighbouring FMAs of the promotion, the share of which one keeps its operand."""
    reuse = [match.group(2) is not None for match in PROMOTION.finditer(code)]
    assert len(reuse) > 1, "no promotion found"
    return sum(a != b for a, b in zip(reuse, reuse[1:])) / (len(reuse) - 1)


def check(program, nvcc):
    modules = ptx_modules(program)
    assert set(modules) == {ARCHITECTURE}, sorted(modules)
    count = 0
    for text in modules[ARCHITECTURE]:
        report, disassembly = machine_code(nvcc, ARCHITECTURE, text)
        check_report(program.name, report, kernel_count(text))
        kernels = kernels_of(disassembly)
        assert len(kernels) == kernel_count(text), sorted(kernels)
        for name, code in kernels.items():
            missing = [i for i in IN_EVERY_KERNEL if not has_instruction(code, i)]
            assert not missing, f"{name} lacks {missing}"
            unwanted = [i for i in IN_NO_KERNEL if has_instruction(code, i)]
            assert not unwanted, f"{name} holds {unwanted}"
            serialised = serialised_mmas(code)
            assert not serialised, f"{name} waits before it goes on with a sum: {serialised}"
            share = alternating_share(code)
            assert share >= LEAST_ALTERNATING, (
                f"{name}: only {share:.0%} of neighbouring FMAs alternate their operand reuse")
            count += 1
    assert count > 0
    print(f"{count} kernels: as they should be")


if __name__ == "__main__":
    check(Path(sys.argv[1]), Path(sys.argv[2]))
