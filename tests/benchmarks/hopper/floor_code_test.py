"""The machine code of the floor's wgmma loops: floor_code_test.py <program> <nvcc>.

ptxas drops an MMA whose sum is never read, and then the loop measures nothing. Every loop must hold
each MMA of its source, 4 K blocks of 4 MMAs, no more and no fewer, between one WARPGROUP.ARRIVE and
one wait; nothing may be spilled or serialised."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "chapters"))
from compiled_code import (check_report, kernel_count, kernels_of, machine_code,  # noqa: E402
                           ptx_modules)

ARCHITECTURE = "sm_90a"
LOOPS = ("mma_loop", "multiply_beside_tma")
MMAS_PER_STEP = 16  # kBlocksPerStep * kMmasPerBlock of floor_mma.cuh
LINE = re.compile(r"^(\.L_x_\d+):|/\*[0-9a-f]+\*/\s+(?:@!?U?P\d+\s+)?([A-Z][\w.]*)(.*)$", re.M)


def loop_of(code):
    """The instructions of the innermost loop that holds MMAs: from a label to a branch back to it."""
    lines = [(m.group(1), m.group(2), m.group(3) or "") for m in LINE.finditer(code)]
    places = {label: i for i, (label, _, _) in enumerate(lines) if label}
    for end, (_, instruction, operands) in enumerate(lines):
        if instruction != "BRA":
            continue
        begin = places.get(re.search(r"\.L_x_\d+", operands).group(0), end)
        body = [name for _, name, _ in lines[begin:end] if name]
        if begin < end and any(name.startswith("QGMMA") for name in body):
            return body
    return []


def check(program, nvcc):
    loops = 0
    for text in ptx_modules(program)[ARCHITECTURE]:
        if not any(loop in text for loop in LOOPS):
            continue
        report, disassembly = machine_code(nvcc, ARCHITECTURE, text)
        check_report(program.name, report, kernel_count(text))
        for name, code in kernels_of(disassembly).items():
            if not any(loop in name for loop in LOOPS):
                continue
            body = loop_of(code)
            count = sum(i.startswith("QGMMA") for i in body)
            assert count == MMAS_PER_STEP, f"{name}: {count} MMAs in the loop: {body}"
            assert len(re.findall(r"\bQGMMA\b", code)) == count, f"{name}: MMAs outside of the loop"
            waits = [i for i in body if i.startswith("WARPGROUP.DEPBAR")]
            assert len(waits) == 1 and body.count("WARPGROUP.ARRIVE") == 1, f"{name}: {body}"
            loops += 1
    assert loops > 0, f"{program.name} holds none of {LOOPS}"
    print(f"{loops} loops of {MMAS_PER_STEP} MMAs")


if __name__ == "__main__":
    check(Path(sys.argv[1]), Path(sys.argv[2]))
