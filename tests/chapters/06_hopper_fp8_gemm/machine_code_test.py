"""The machine code of the Hopper GEMM: machine_code_test.py <program> <nvcc>.

Assembles the program's PTX and reads the disassembly: every kernel must multiply with the tensor
cores' FP8 instruction, load and store by TMA, hand registers from the loading to the multiplying
warps, spill none, and must not be one whose wgmma ptxas had to serialise."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from compiled_code import (check_report, has_instruction, kernel_count, kernels_of,  # noqa: E402
                           machine_code, ptx_modules)

ARCHITECTURE = "sm_90a"
IN_EVERY_KERNEL = ["QGMMA", "UTMALDG", "UTMASTG", "USETMAXREG", "SYNCS", "WARPGROUP"]
IN_NO_KERNEL = ["LDL", "STL", "HMMA", "IMMA"]


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
            count += 1
    assert count > 0
    print(f"{count} kernels: as they should be")


if __name__ == "__main__":
    check(Path(sys.argv[1]), Path(sys.argv[2]))
