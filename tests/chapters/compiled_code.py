"""What the compiler made of a chapter: compiled_code.py <program> <ptxas> <architectures>
<expectation>...

Takes the PTX out of the program. Fails unless it is there for each of the comma-separated
architectures (and no other), each <expectation> (a regular expression, or `not:` and one) holds in
every one of them, and ptxas makes machine code of it that neither spills registers nor uses local
memory."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

NO_LOCAL_MEMORY = re.compile(
    r"0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
FRAME = re.compile(r"\d+ bytes stack frame, \d+ bytes spill stores, \d+ bytes spill loads")


def ptx_modules(program):
    """The PTX of a program's kernels by architecture; it is there as text, uncompressed."""
    modules = {}
    for match in re.finditer(rb"\.version \d+\.\d+\n\.target (sm_\w+)[^\0]*", program.read_bytes()):
        text = match.group(0).decode()
        if ".entry" in text:
            modules.setdefault(match.group(1).decode(), []).append(text)
    return modules


def machine_code_report(ptxas, architecture, text):
    """What ptxas says of every kernel's registers and local memory."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernels.ptx"
        source.write_text(text)
        result = subprocess.run([ptxas, "-v", f"-arch={architecture}", str(source), "-o",
                                 str(Path(folder) / "kernels.cubin")], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, universal_newlines=True)
    assert result.returncode == 0, result.stdout
    return result.stdout


def check(program, ptxas, architectures, expectations):
    modules = ptx_modules(program)
    assert set(modules) == set(architectures), (
        f"{program.name} holds PTX for {sorted(modules)}, not for {sorted(architectures)}")
    for architecture, texts in modules.items():
        code = "\n".join(texts)
        for expectation in expectations:
            unwanted = expectation.startswith("not:")
            pattern = expectation[len("not:"):] if unwanted else expectation
            assert bool(re.search(pattern, code)) != unwanted, (
                f"the {architecture} code of {program.name} should "
                f"{'not ' if unwanted else ''}hold {pattern}")
        for text in texts:
            frames = FRAME.findall(machine_code_report(ptxas, architecture, text))
            kernels = len(re.findall(r"\.entry", text))
            assert len(frames) >= kernels, f"{kernels} kernels, but ptxas reported {frames}"
            for frame in frames:
                assert NO_LOCAL_MEMORY.fullmatch(frame), f"{program.name}, {architecture}: {frame}"
            print(f"{program.name}, {architecture}: {kernels} kernels, no local memory")


if __name__ == "__main__":
    check(Path(sys.argv[1]), sys.argv[2], sys.argv[3].split(","), sys.argv[4:])
