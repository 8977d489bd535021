"""The machine code of the GEMM: machine_code_test.py <program> <nvcc>.

Assembles the program's PTX and reads the disassembly: every kernel must multiply with the tensor
core's FP8 instruction, load and store by TMA, read tensor memory, wait for the grid before it, and
touch no local memory. The disassembler is the toolkit's, or what `./workbook setup` installed."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / "chapters"), str(ROOT / "common")]
from compiled_code import ptx_modules  # noqa: E402
from tools import toolkit  # noqa: E402

ARCHITECTURE = "sm_100a"
IN_EVERY_KERNEL = ["UTCQMMA", "UTMALDG", "UTMASTG", "LDTM", "ACQBULK", "PREEXIT", "UTCBAR"]
IN_NO_KERNEL = ["LDL", "STL"]
BY_NAME = {  # mangled template arguments of GemmTraits: mma_m, mma_n, cta_group, cluster_m, ...
    r"ELi2ELi\d+ELi\d+ELNS_14Tile": ["UTCQMMA.2CTA"],
    r"TileSchedulingE1": ["UGETNEXTWORKID"],
}


def disassemble(ptxas, nvdisasm, text):
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "kernels.ptx", Path(folder) / "kernels.cubin"
        source.write_text(text)
        subprocess.run([ptxas, f"-arch={ARCHITECTURE}", str(source), "-o", str(cubin)], check=True)
        return subprocess.run([nvdisasm, "-c", str(cubin)], check=True, stdout=subprocess.PIPE,
                              universal_newlines=True).stdout


def kernels_of(disassembly):
    """Instructions of each kernel, by its mangled name."""
    parts = re.split(r"^\.section\s+\.text\.(\S+?),.*$|^//-+ \.text\.(\S+) -+$", disassembly,
                     flags=re.M)
    kernels = {}
    for i in range(1, len(parts), 3):
        name = parts[i] or parts[i + 1]
        kernels[name] = kernels.get(name, "") + parts[i + 2]
    return {name: code for name, code in kernels.items() if "EXIT" in code}


def has(code, instruction):
    return re.search(rf"\b{re.escape(instruction)}\b", code) is not None


def check(program, ptxas, nvdisasm):
    count = 0
    for text in ptx_modules(program)[ARCHITECTURE]:
        kernels = kernels_of(disassemble(ptxas, nvdisasm, text))
        assert len(kernels) == len(re.findall(r"\.entry", text)), sorted(kernels)
        for name, code in kernels.items():
            wanted = list(IN_EVERY_KERNEL)
            for pattern, instructions in BY_NAME.items():
                if re.search(pattern, name):
                    wanted += instructions
            missing = [i for i in wanted if not has(code, i)]
            assert not missing, f"{name} lacks {missing}"
            unwanted = [i for i in IN_NO_KERNEL if has(code, i)]
            assert not unwanted, f"{name} holds {unwanted}"
            count += 1
    assert count > 0
    print(f"{count} kernels: as they should be")


if __name__ == "__main__":
    compiler = Path(sys.argv[2])
    disassembler = toolkit.find_nvdisasm(ROOT, compiler)
    if not disassembler:
        sys.exit(f"The CUDA Toolkit of {compiler} has no nvdisasm, and none is on PATH. Install it, "
                 "or run `./workbook setup`, which puts one into this checkout.")
    check(Path(sys.argv[1]), compiler.with_name("ptxas"), disassembler)
