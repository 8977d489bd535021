"""The machine code of the GEMM: machine_code_test.py <program> <nvcc>.

Assembles the program's PTX and reads the disassembly: every kernel must multiply with the tensor
core's FP8 instruction, load and store by TMA, read tensor memory, wait for the grid before it, add
two columns in an instruction, and touch no local memory; ptxas must spill nothing and give no advice."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from compiled_code import (check_report, has_instruction, kernel_count, kernels_of,  # noqa: E402
                           machine_code, ptx_modules)

ARCHITECTURE = "sm_100a"
IN_EVERY_KERNEL = ["UTCQMMA", "UTMALDG", "UTMASTG", "LDTM", "ACQBULK", "PREEXIT", "UTCBAR"]
IN_NO_KERNEL = ["LDL", "STL"]
SHAPE = re.compile(r"Li(\d+)ELi(\d+)ELi(\d)ELi\d+ELi\d+ELNS_14Tile")  # mma_m, mma_n, cta_group
BY_NAME = {  # mangled template arguments of GemmTraits: mma_m, mma_n, cta_group, cluster_m, ...
    r"ELi2ELi\d+ELi\d+ELNS_14Tile": ["UTCQMMA.2CTA"],
    r"TileSchedulingE1": ["UGETNEXTWORKID"],
}


def thread_columns(name):
    """Columns of D that a thread of the epilogue has in the kernel called `name`."""
    mma_m, mma_n, cta_group = map(int, SHAPE.search(name).groups())
    rows = mma_m // cta_group
    groups = 2 if rows == 128 and mma_n > 192 else 1
    return mma_n // (groups * 128 // rows)


def count_of(code, instruction):
    """How often an instruction occurs in a disassembly."""
    return len(re.findall(rf"\b{instruction}\b", code))


def check(program, nvcc):
    count = 0
    for text in ptx_modules(program)[ARCHITECTURE]:
        report, disassembly = machine_code(nvcc, ARCHITECTURE, text)
        check_report(program.name, report, kernel_count(text))
        kernels = kernels_of(disassembly)
        assert len(kernels) == kernel_count(text), sorted(kernels)
        for name, code in kernels.items():
            wanted = list(IN_EVERY_KERNEL)
            for pattern, instructions in BY_NAME.items():
                if re.search(pattern, name):
                    wanted += instructions
            missing = [i for i in wanted if not has_instruction(code, i)]
            assert not missing, f"{name} lacks {missing}"
            unwanted = [i for i in IN_NO_KERNEL if has_instruction(code, i)]
            assert not unwanted, f"{name} holds {unwanted}"
            packed, columns = count_of(code, "FFMA2"), thread_columns(name)
            assert packed == columns // 2, f"{name}: {packed} FFMA2 for {columns} columns"
            count += 1
    assert count > 0
    print(f"{count} kernels: as they should be")


if __name__ == "__main__":
    check(Path(sys.argv[1]), Path(sys.argv[2]))
