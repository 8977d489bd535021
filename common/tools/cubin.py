"""Machine code inside a program: the parts that the simulator reads, and the others.

nvcc puts the machine code of each CUDA file next to its PTX as an ELF file, a cubin. The simulator
executes the PTX and reads the kernels' register counts of the machine code
(cudart/machine_code.cpp); a program of the wheel never meets a GPU.
"""

import struct

_MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little endian
_CUDA_MACHINE = 190          # e_machine of a cubin
_FILE_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_NO_BITS = 8                 # the type of a section without contents in the file
_UNREAD = (b".text.", b".debug_", b".nv_debug", b".rel", b".nv.merc", b".nv.capmerc")


def without_code(program):
    """The bytes of a program, with zeros where its cubins hold instructions and debug information.

    All offsets stay; zeros take no space in an archive.
    """
    program = bytearray(program)
    start = program.find(_MAGIC)
    while start >= 0:
        for offset, size in _unread_sections(program, start):
            program[start + offset:start + offset + size] = bytes(size)
        start = program.find(_MAGIC, start + len(_MAGIC))
    return bytes(program)


def _unread_sections(program, start):
    """(offset, size) of what nothing here reads in the ELF file at `start`, if that is a cubin."""
    if start + _FILE_HEADER.size > len(program):
        return
    header = _FILE_HEADER.unpack_from(program, start)
    machine, table, (entry_bytes, count, names) = header[2], header[6], header[11:14]
    if machine != _CUDA_MACHINE or entry_bytes != _SECTION_HEADER.size or names >= count:
        return
    if start + table + count * entry_bytes > len(program):
        return
    sections = [_SECTION_HEADER.unpack_from(program, start + table + number * entry_bytes)
                for number in range(count)]
    for name, kind, _, _, offset, size, *_ in sections:
        begin = start + sections[names][4] + name
        text = program[begin:program.find(b"\0", begin)]
        if kind != _NO_BITS and text.startswith(_UNREAD):
            yield offset, size
