"""Loads PTX through the CUDA driver with ctypes alone, launches its kernel and checks the result."""

import ctypes
import sys
from ctypes import byref, c_float, c_int, c_size_t, c_uint64, c_void_p

COUNT, FACTOR, THREADS = 1000, 2.5, 128

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    """Calls a function of the driver; ends the program with its words where it fails."""
    error = getattr(cuda, name)(*arguments)
    if error != 0:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(error, byref(text))
        sys.exit(f"{name}: {text.value.decode()}")


def main(ptx_file):
    """Multiplies a vector by a number on the device."""
    device, context, module, kernel = c_int(), c_void_p(), c_void_p(), c_void_p()
    memory = c_uint64()
    call("cuInit", 0)
    call("cuDeviceGet", byref(device), 0)
    call("cuDevicePrimaryCtxRetain", byref(context), device)
    call("cuCtxSetCurrent", context)
    with open(ptx_file, "rb") as file:
        call("cuModuleLoadData", byref(module), file.read() + b"\0")
    call("cuModuleGetFunction", byref(kernel), module, b"scale")

    values = (c_float * COUNT)(*range(COUNT))
    size = c_size_t(ctypes.sizeof(values))
    call("cuMemAlloc_v2", byref(memory), size)
    call("cuMemcpyHtoD_v2", memory, values, size)
    arguments = [memory, c_int(COUNT), c_float(FACTOR)]
    pointers = (c_void_p * len(arguments))(*[ctypes.addressof(value) for value in arguments])
    blocks = (COUNT + THREADS - 1) // THREADS
    call("cuLaunchKernel", kernel, blocks, 1, 1, THREADS, 1, 1, 0, None, pointers, None)
    call("cuCtxSynchronize")
    call("cuMemcpyDtoH_v2", values, memory, size)
    call("cuMemFree_v2", memory)

    wrong = [i for i in range(COUNT) if values[i] != i * FACTOR]
    print(f"{COUNT} elements times {FACTOR}: {'wrong' if wrong else 'verified'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
