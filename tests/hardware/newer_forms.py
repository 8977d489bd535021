#!/usr/bin/env python3
"""Instruction forms of PTX 9.2 to 9.5 that Hopper has: the simulator and a GPU on the same inputs.

    newer_forms.py MODULE --library LIBCUDA --compare RESULTS
    newer_forms.py MODULE --write RESULTS

MODULE is newer_forms.ptx, which the simulator loads as it is, or what ptxas of CUDA Toolkit 13.5 or
newer makes of it for sm_90a: a driver for an older release compiles no PTX of this version, and loads
machine code. Without --library the machine's own libcuda.so.1 is taken. RESULTS holds, for each kernel,
what it leaves in 4096 words of memory that held FILL, except the bytes that the PTX ISA leaves open.
"""

import argparse
import ctypes
import hashlib
import random
import struct
import sys
from pathlib import Path

WORDS = 4096
FILL = 0x01020304
SEED = 39
# Kernel: CTAs.
KERNELS = {"carry_less_products": 1, "phase_types_of_layout_0": 1, "phase_types_of_layout_1": 1,
           "relaxed_copies": 1, "relaxed_reductions": 1, "relaxed_copies_between_ctas": 2}
# Bytes that the ISA leaves open: 5 at the beginning and 7 at the end of the 64 that .ignore_oob copied,
# where they are stored.
OPEN = {"relaxed_copies": [*range(256, 261), *range(313, 320), *range(4352, 4357), *range(4409, 4416)]}


class Driver:
    """The driver's functions, with errors as exceptions."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def __call__(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise SystemExit(f"{name} gives error {status}.")

    def open(self):
        """A context on device 0, and the device's name."""
        device, context, name = ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(100)
        self("cuInit", 0)
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDeviceGetName", name, 100, device)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)
        return name.value.decode()

    def buffer(self, words):
        """Device memory with these words."""
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4 * len(words)))
        self("cuMemcpyHtoD_v2", address, struct.pack(f"<{len(words)}I", *words),
             ctypes.c_size_t(4 * len(words)))
        return address

    def run(self, module, name, ctas):
        """The bytes that a kernel leaves."""
        function, numbers = ctypes.c_void_p(), random.Random(SEED)
        self("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        # No infinities or NaN among the words as floats: their sums are compared bit by bit.
        given = self.buffer([numbers.getrandbits(32) & 0xbfffffff for _ in range(WORDS)])
        out = self.buffer([FILL] * WORDS)
        parameters = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.byref(one), ctypes.c_void_p)
                                             for one in (out, given)))
        self("cuLaunchKernel", function, ctas, 1, 1, 32, 1, 1, 0, None, parameters, None)
        self("cuCtxSynchronize")
        result = ctypes.create_string_buffer(4 * WORDS)
        self("cuMemcpyDtoH_v2", result, out, ctypes.c_size_t(4 * WORDS))
        return bytearray(result.raw)


def lines_of(driver, path):
    """A line for each kernel: its name, a hash of all bytes, and its first words."""
    module = ctypes.c_void_p()
    driver("cuModuleLoadData", ctypes.byref(module), path.read_bytes() + b"\0")
    for name, ctas in KERNELS.items():
        left = driver.run(module, name, ctas)
        for byte in OPEN.get(name, ()):
            left[byte] = 0
        words = struct.unpack("<64I", left[:256])
        yield f"{name} {hashlib.sha256(left).hexdigest()[:32]} " + " ".join(f"{one:x}" for one in words)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", type=Path)
    parser.add_argument("--library", default="libcuda.so.1")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", type=Path, metavar="RESULTS")
    action.add_argument("--compare", type=Path, metavar="RESULTS")
    options = parser.parse_args(arguments)
    driver = Driver(options.library)
    device = driver.open()
    found = list(lines_of(driver, options.module))
    if options.write:
        options.write.write_text("\n".join([f"# {device}", *found]) + "\n", encoding="utf-8")
        print(f"{len(found)} kernels written.")
        return 0
    kept = [line for line in options.compare.read_text(encoding="utf-8").splitlines()
            if not line.startswith("#")]
    wrong = [f"{mine}\n  differs from\n{other}" for mine, other in zip(found, kept) if mine != other]
    print("\n".join([*wrong, f"{len(found) - len(wrong)} of {len(kept)} kernels agree."]))
    return 1 if wrong or len(found) != len(kept) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
