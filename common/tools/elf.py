"""Reads what an ELF program says about itself: what it links, and the fat binaries that it carries."""

import struct
from dataclasses import dataclass, field

_MAGIC = b"\x7fELF"
_CLASS_64, _LITTLE = 2, 1
_DYNAMIC_SECTION = 6
_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
_FAT_BINARY_MAGIC = 0xBA55ED50
_PTX, _MACHINE_CODE = 1, 2
_ARCHITECTURE_SPECIFIC, _FAMILY_SPECIFIC = 0x100000, 0x200000
# Where nvcc puts fat binaries: those of whole programs, and those of objects that are linked.
_FAT_BINARY_SECTIONS = (".nv_fatbin", "__nv_relfatbin")


@dataclass
class Program:
    """An ELF file: the libraries that it needs, its own search path, the images that it carries."""

    needed: list = field(default_factory=list)
    rpath: str = ""  # searched before LD_LIBRARY_PATH
    ptx: list = field(default_factory=list)  # "compute_100a", ...
    machine_code: list = field(default_factory=list)  # "sm_100a", ...
    carries_cuda: bool = False
    text: bytes = b""

    def holds(self, word):
        return word in self.text


def read(path):
    """The Program in a file, or None if it is not an ELF program for this kind of machine."""
    data = path.read_bytes()
    if data[:4] != _MAGIC or len(data) < 64 or data[4] != _CLASS_64 or data[5] != _LITTLE:
        return None
    try:
        return _read(data)
    except (struct.error, IndexError):
        return None


def _read(data):
    program = Program(text=data)
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    for section in sections:
        name = _string(data, sections[names][4] + section[0])
        kind, start, length, link = section[1], section[4], section[5], section[6]
        if kind == _DYNAMIC_SECTION:
            _read_dynamic(data, start, length, sections[link][4], program)
        elif name in _FAT_BINARY_SECTIONS:
            program.carries_cuda = True
            _read_fat_binaries(data[start:start + length], program)
    return program


def _string(data, at):
    return data[at:data.index(b"\0", at)].decode("utf-8", "replace")


def _read_dynamic(data, start, length, strings, program):
    runpath = False
    for at in range(start, start + length, 16):
        tag, value = struct.unpack_from("<qQ", data, at)
        if tag == _NEEDED:
            program.needed.append(_string(data, strings + value))
        elif tag == _RPATH:
            program.rpath = _string(data, strings + value)
        elif tag == _RUNPATH:
            runpath = True
    if runpath:
        program.rpath = ""  # the loader leaves the older entry aside


def _read_fat_binaries(section, program):
    """Fat binaries are contiguous and aligned; each has a header and its entries."""
    at = 0
    while at + 16 <= len(section):
        magic, = struct.unpack_from("<I", section, at)
        if magic != _FAT_BINARY_MAGIC:
            at += 8
            continue
        header, size = struct.unpack_from("<HQ", section, at + 6)
        entry, end = at + header, at + header + size
        while entry + 64 <= min(end, len(section)):
            kind, = struct.unpack_from("<H", section, entry)
            entry_header, payload = struct.unpack_from("<IQ", section, entry + 4)
            architecture, = struct.unpack_from("<I", section, entry + 28)
            flags, = struct.unpack_from("<Q", section, entry + 40)
            suffix = ("a" if flags & _ARCHITECTURE_SPECIFIC else
                      "f" if flags & _FAMILY_SPECIFIC else "")
            if kind == _PTX:
                program.ptx.append(f"compute_{architecture}{suffix}")
            elif kind == _MACHINE_CODE:
                program.machine_code.append(f"sm_{architecture}{suffix}")
            entry += entry_header + payload
        at = max(end, at + 8)
