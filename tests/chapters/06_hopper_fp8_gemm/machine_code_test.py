"""The machine code of the Hopper GEMM: machine_code_test.py <program> <nvcc>.

Assembles the program's PTX and reads the disassembly: every kernel must multiply with the tensor
cores' FP8 instruction, load by TMA, spill no register, and must not be one whose wgmma ptxas had to
serialise. Those that stay for many tiles must store by TMA, too, and hand registers from the loading
to the multiplying warps. Their promotion's FMAs must alternate their operand reuse, so that warps
take turns: ptxas sees to it only in loops of a shape that it knows, and without it the kernel takes
10 % longer. And few of them may have product, scale and sum in registers of one bank (of two: even
and odd), since they take a clock longer: half of them there cost 4 %. Which registers ptxas takes can
change with code that is far away.

Every instruction of the math warps' K loop is executed at each K block by each warp, so their number is
bounded: of the loop, or, where it covers a lap of the ring, of one K block in it.

Kernels that divide tiles along K hand over partial sums by flags in global memory: each must hold a
store that releases and a load that acquires for the whole GPU, and no other kernel has either."""

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from compiled_code import (check_report, has_instruction, kernel_count, kernels_of,  # noqa: E402
                           machine_code, ptx_modules, toolkit)

ARCHITECTURE = "sm_90a"
IN_EVERY_KERNEL = ["QGMMA", "UTMALDG", "SYNCS", "WARPGROUP"]
IN_PERSISTENT_KERNELS = ["UTMASTG", "USETMAXREG"]
FOR_FEW_ROWS = "swap_ab_kernel"
IN_NO_KERNEL = ["LDL", "STL", "HMMA", "IMMA"]
# What the program's --queued launches before a GEMM to keep the GPU busy.
NO_GEMM = "other_work"

# sum = product * scale + sum, in place; the second operand may be kept for the next instruction.
PROMOTION = re.compile(r"FFMA (R\d+), R\d+(?:\.reuse)?, R\d+(\.reuse)?, \1\b")
LEAST_ALTERNATING = 0.75
OPERANDS = re.compile(r"FFMA R(\d+), R(\d+)(?:\.reuse)?, R(\d+)(?:\.reuse)?, R\1\b")
BANKS = 2
# A round of 32 columns has 16 FMAs: one pair more or less is 7 %, and no measured time. Where every
# FMA keeps its operand, which this is about, the share is near 0 there, too.
NARROW_MMA = re.compile(r"QGMMA\.64x32x32")
LEAST_ALTERNATING_OF_FEW = 0.5
# Where two products take turns, each has 64 FMAs in a row, and ptxas keeps an operand a little longer
# (0.69, and 2 % faster on an H100 than one product with 0.83).
LEAST_ALTERNATING_OF_TWO = 0.65
# Where B-scales may change after 16 columns, a run of FMAs with one pair of scales is eight long, and
# ptxas breaks the alternation at its end more often (0.72).
LEAST_ALTERNATING_OF_GROUPS = 0.7
GROUPS_MMA = re.compile(r"QGMMA\.64x144x32")
# Small tiles wait for memory.
WIDE_MMA = re.compile(r"QGMMA\.64x(96|128|144|192|256)x32")
MOST_IN_ONE_BANK = 0.3
# Where lanes hold B-scales, one K block of many loads the next ones, after a branch. If ptxas makes
# it into predicates instead, the warp waits for the load at once, and its addresses are computed in
# every K block: that cost 2 to 9 %. (Tiles of 128 x 256 have another way, and a lap of the ring has
# one such load, whatever its condition.)
PREDICATED_LOAD = re.compile(r"@!?P\d+ LDG\.E\.CONSTANT")
HOLDS_NO_SCALES = "GemmTraitsELi128ELi256E"
# The load of the next scales must go to the register where they are used. If ptxas copies them there,
# the warp waits for the load in the K block that asks for it, with three B-scales at every eighth.
SCALES_LOAD = re.compile(r"LDG\.E\.CONSTANT (R\d+),")
COPIED_WITHIN = 8  # instructions

# Instructions of a K block by tile, of the loop that covers a lap of the ring and of the one that
# covers a K block: what ptxas 13.0 makes, and 3 more. The promotion's FFMA are (columns of a
# warpgroup) / 2 of them, twice as many for tiles of 256 rows. A store of D would add hundreds.
MOST_IN_LAP = {"128x64": 68, "128x96": 90, "128x128": 103, "128x144": 150, "128x192": 142,
               "64x64": 52, "64x256": 102}
MOST_IN_LOOP = {"128x64": 114, "128x128": 146, "128x192": 190, "64x64": 98, "128x256": 219,
                "256x128": 226}
# nvcc 13.5 writes other PTX, of which ptxas makes 215 to 221 instructions of the loop for 128 x 256. Of
# the PTX that nvcc 13.0 writes, ptxas 13.5 makes 214, as ptxas 13.0 does.
OLDEST_RELEASE = (13, 0)
MOST_IN_LOOP_SINCE = {**MOST_IN_LOOP, "128x256": 224}
LEAST_IN_LAP = 4  # K blocks in a row
# The fields of GemmTraits in a kernel's mangled name.
FIELDS = ["tile_m", "tile_n", "mma_n", "warpgroups_along_n", "stages", "cluster_m", "cluster_n",
          "split_k", "output_slots", "output_group", "direct_output", "writes_behind", "stream_k",
          "fences_together", "swap_ab", "resident_ctas", "two_products", "grouped", "laps"]
INSTRUCTION_OR_LABEL = re.compile(r"^(\.L\w+):|/\*[0-9a-f]{4,}\*/\s+(.*?);", re.M)

# A store that releases follows a barrier; after a load that acquires, L1 is invalidated.
RELEASE = (r"MEMBAR\.\w+\.GPU\b", r"STG\.E\.STRONG\.GPU\b")
ACQUIRE = (r"LDG\.E\.STRONG\.GPU\b", r"CCTL\.IVALL\b")
MOST_BETWEEN = 3  # instructions


def holds_pair(code, pair):
    """Whether an instruction like pair[1] comes shortly after one like pair[0]."""
    instructions = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?);", code)
    for i, instruction in enumerate(instructions):
        if re.search(pair[0], instruction):
            behind = instructions[i + 1:i + 2 + MOST_BETWEEN]
            if any(re.search(pair[1], other) for other in behind):
                return True
    return False


def has_flags(name, code):
    """Whether a kernel hands over data by flags, which it must do by a release and an acquire."""
    releases, acquires = holds_pair(code, RELEASE), holds_pair(code, ACQUIRE)
    assert releases == acquires, (
        f"{name}: stores that release: {releases}, loads that acquire: {acquires}")
    strong = re.search(r"\b(LDG|STG)\S*\.STRONG\b", code)
    assert releases or not strong, f"{name} holds {strong.group(0)}, but no release and acquire"
    return releases


def count_dividing_configs(program):
    """Of the program's configurations those that divide tiles along K."""
    result = subprocess.run([str(program), "--list-configs"], stdout=subprocess.PIPE, check=True,
                            universal_newlines=True)
    return sum(name.endswith("_streamk") for name in result.stdout.split())


def copied_scales(code):
    """Copies of the data of a load of scales after the first MMA, right after the load."""
    instructions = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?);", code)
    first = next(i for i, text in enumerate(instructions) if "QGMMA" in text)
    found = []
    for i in range(first, len(instructions)):
        load = SCALES_LOAD.search(instructions[i])
        if load:
            copy = re.compile(r"MOV\S* R\d+, (RZ, RZ, )?" + load.group(1) + r"\b")
            found += filter(copy.search, instructions[i + 1:i + 1 + COPIED_WITHIN])
    return found


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


def share_in_one_bank(code):
    """Of the promotion's FMAs, the share of which all operands are in one bank."""
    found = [{int(register) % BANKS for register in match.groups()}
             for match in OPERANDS.finditer(code)]
    assert found, "no promotion found"
    return sum(len(banks) == 1 for banks in found) / len(found)


def instructions_of_k_block(code):
    """(of a K block in the loop that covers a lap, or None; of the loop that covers one K block).

    A K block's MMAs begin with one that starts a new sum. In a lap, such MMAs follow each other in
    straight code; a loop of one K block is the shortest piece from a label to a branch back to it
    that holds one."""
    instructions, labels, loops, starts = [], {}, [], []
    for label, text in INSTRUCTION_OR_LABEL.findall(code):
        if label:
            labels[label] = len(instructions)
            continue
        target = re.search(r"\bBRA\b.*`\((\.L\w+)\)", text)
        if target and target.group(1) in labels:
            loops.append((labels[target.group(1)], len(instructions)))
        if "QGMMA" in text and "RZ, !UPT" in text:
            starts.append(len(instructions))
        instructions.append(text)
    in_loops = [end - begin + 1 for begin, end in loops
                if any(begin <= start <= end for start in starts)]
    distances = sorted(b - a for a, b in zip(starts, starts[1:]))
    lap = distances[len(distances) // 2] if len(distances) >= LEAST_IN_LAP else None
    return lap, min(in_loops)


def traits_of(name):
    """A kernel's GemmTraits."""
    values = re.findall(r"L[ib](\d+)E", name[name.index("GemmTraits"):])
    assert len(values) == len(FIELDS), f"{name}: the fields of GemmTraits are not {FIELDS}"
    return dict(zip(FIELDS, map(int, values)))


def check_k_block(name, code, most_in_loop):
    """Fails where a K block takes more instructions than it did."""
    traits = traits_of(name)
    tile = f"{traits['tile_m']}x{traits['tile_n']}"
    lap, loop = instructions_of_k_block(code)
    assert (lap is None) == (traits["laps"] == 0), f"{name}: laps that are not {traits['laps']}"
    found, most = (lap, MOST_IN_LAP) if lap else (loop, most_in_loop)
    assert found <= most[tile], (
        f"{name}: {found} instructions of a K block {'in a lap' if lap else 'in a loop'}; "
        f"{most[tile]} are allowed")
    return f"{tile} {found}{' in a lap' if lap else ''}"


def check(program, nvcc):
    modules = ptx_modules(program)
    assert set(modules) == {ARCHITECTURE}, sorted(modules)
    is_oldest = toolkit.release_of(nvcc) == OLDEST_RELEASE
    most_in_loop = MOST_IN_LOOP if is_oldest else MOST_IN_LOOP_SINCE
    count = with_flags = 0
    k_blocks = set()
    for text in modules[ARCHITECTURE]:
        report, disassembly = machine_code(nvcc, ARCHITECTURE, text)
        check_report(program.name, report, kernel_count(text))
        kernels = kernels_of(disassembly)
        assert len(kernels) == kernel_count(text), sorted(kernels)
        for name, code in kernels.items():
            if NO_GEMM in name:
                continue
            is_persistent = FOR_FEW_ROWS not in name
            wanted = IN_EVERY_KERNEL + (IN_PERSISTENT_KERNELS if is_persistent else [])
            missing = [i for i in wanted if not has_instruction(code, i)]
            assert not missing, f"{name} lacks {missing}"
            unwanted = [i for i in IN_NO_KERNEL if has_instruction(code, i)]
            assert not unwanted, f"{name} holds {unwanted}"
            serialised = serialised_mmas(code)
            assert not serialised, f"{name} waits before it goes on with a sum: {serialised}"
            count += 1
            with_flags += has_flags(name, code)
            predicated = PREDICATED_LOAD.search(code)
            assert HOLDS_NO_SCALES in name or traits_of(name)["laps"] or not predicated, (
                f"{name} loads scales in a predicate: {predicated.group(0)}")
            copied = copied_scales(code)
            assert not copied, f"{name} waits for the load of the next scales: {copied}"
            if not is_persistent:
                continue
            k_blocks.add(check_k_block(name, code, most_in_loop))
            share = alternating_share(code)
            least = (LEAST_ALTERNATING_OF_FEW if NARROW_MMA.search(code) else
                     LEAST_ALTERNATING_OF_TWO if traits_of(name)["two_products"] else
                     LEAST_ALTERNATING_OF_GROUPS if GROUPS_MMA.search(code) else
                     LEAST_ALTERNATING)
            assert share >= least, (
                f"{name}: only {share:.0%} of neighbouring FMAs alternate their operand reuse")
            if WIDE_MMA.search(code):
                share = share_in_one_bank(code)
                assert share <= MOST_IN_ONE_BANK, (
                    f"{name}: {share:.0%} of the FMAs have all operands in one register bank")
    assert count > 0
    expected = count_dividing_configs(program)
    assert with_flags == expected > 0, (
        f"{with_flags} kernels release and acquire; {expected} configurations divide tiles")
    print(f"{count} kernels: as they should be; {with_flags} hand over partial sums")
    print("instructions of a K block and warp: " + ", ".join(sorted(k_blocks)))


if __name__ == "__main__":
    check(Path(sys.argv[1]), Path(sys.argv[2]))
