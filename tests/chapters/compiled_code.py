"""What the compiler made of a chapter: compiled_code.py <program> <nvcc> <architectures>
<expectation>...

Takes the PTX out of the program. Fails unless it is there for each of the comma-separated
architectures (and no other), each <expectation> holds in every one of them, and ptxas makes machine
code of it that neither spills registers nor uses local memory. An expectation is a regular expression
that has to match the PTX, `not:` and one that must not, or `sass:` and an instruction of the machine
code. With the expectation `ptx-alone`, ptxas isn't asked: another test looks at its machine code. The
disassembler is the toolkit's, or what `./workbook setup` installed."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))
from tools import toolkit  # noqa: E402

PTX_ALONE = "ptx-alone"
NO_LOCAL_MEMORY = re.compile(
    r"0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
ADVICE = re.compile(r"^.*\(C7\d{3}\).*$", re.M)
FRAME = re.compile(r"\d+ bytes stack frame, \d+ bytes spill stores, \d+ bytes spill loads")


def ptx_modules(program):
    """The PTX of a program's kernels by architecture; it is there as text, uncompressed."""
    modules = {}
    for match in re.finditer(rb"\.version \d+\.\d+\n\.target (sm_\w+)[^\0]*", program.read_bytes()):
        text = match.group(0).decode()
        if ".entry" in text:
            modules.setdefault(match.group(1).decode(), []).append(text)
    return modules


def kernel_count(text):
    """The kernels of a PTX module."""
    return len(re.findall(r"\.entry", text))


def machine_code(nvcc, architecture, text, disassembles=True):
    """(what ptxas says of every kernel's registers and local memory, the disassembly) of PTX; "" for the
    disassembly where nothing is looked for in it."""
    nvdisasm = toolkit.find_nvdisasm(ROOT, nvcc)
    if disassembles and not nvdisasm:
        sys.exit(f"The CUDA Toolkit of {nvcc} has no nvdisasm, and none is on PATH. Install it, or "
                 "run `./workbook setup`, which puts one into this checkout.")
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "kernels.ptx", Path(folder) / "kernels.cubin"
        source.write_text(text)
        report = _output_of([nvcc.with_name("ptxas"), "-v", f"-arch={architecture}", source, "-o",
                             cubin])
        return report, _output_of([nvdisasm, "-c", cubin]) if disassembles else ""


def _output_of(command):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, universal_newlines=True)
    assert result.returncode == 0, result.stdout
    return result.stdout


def kernels_of(disassembly):
    """Instructions of each kernel, by its mangled name."""
    parts = re.split(r"^\.section\s+\.text\.(\S+?),.*$|^//-+ \.text\.(\S+) -+$", disassembly,
                     flags=re.M)
    kernels = {}
    for i in range(1, len(parts), 3):
        name = parts[i] or parts[i + 1]
        kernels[name] = kernels.get(name, "") + parts[i + 2]
    return {name: code for name, code in kernels.items() if "EXIT" in code}


def has_instruction(code, instruction):
    """Whether disassembled code holds an instruction: its name, or a beginning of it that ends
    before a dot."""
    return re.search(rf"\b{re.escape(instruction)}\b", code) is not None


def check_ptx(name, code, expectation):
    unwanted = expectation.startswith("not:")
    pattern = expectation[len("not:"):] if unwanted else expectation
    assert bool(re.search(pattern, code)) != unwanted, (
        f"the code of {name} should {'not ' if unwanted else ''}hold {pattern}")


def check_report(name, report, kernels):
    """Fails unless ptxas reported on this many kernels, none of them uses local memory, and it gave
    no advice: it serialises wgmma or ignores setmaxnreg without failing (C7508, C7510, ...)."""
    frames = FRAME.findall(report)
    assert len(frames) >= kernels, f"{kernels} kernels, but ptxas reported {frames}"
    for frame in frames:
        assert NO_LOCAL_MEMORY.fullmatch(frame), f"{name}: {frame}"
    advice = ADVICE.findall(report)
    assert not advice, name + ":\n" + "\n".join(advice)
    print(f"{name}: {kernels} kernels, no local memory")


def check(program, nvcc, architectures, expectations):
    asks_ptxas = PTX_ALONE not in expectations
    expectations = [e for e in expectations if e != PTX_ALONE]
    modules = ptx_modules(program)
    assert set(modules) == set(architectures), (
        f"{program.name} holds PTX for {sorted(modules)}, not for {sorted(architectures)}")
    instructions = [e[len("sass:"):] for e in expectations if e.startswith("sass:")]
    for architecture, texts in modules.items():
        name = f"{program.name}, {architecture}"
        for expectation in expectations:
            if not expectation.startswith("sass:"):
                check_ptx(name, "\n".join(texts), expectation)
        disassemblies = []
        for text in texts if asks_ptxas else ():
            report, disassembly = machine_code(nvcc, architecture, text, bool(instructions))
            disassemblies.append(disassembly)
            check_report(name, report, kernel_count(text))
        for instruction in instructions:
            assert has_instruction("\n".join(disassemblies), instruction), (
                f"the machine code of {name} should hold {instruction}")


if __name__ == "__main__":
    check(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].split(","), sys.argv[4:])
