#include "tests/simulator/portable_fp8_accumulation.hpp"

// The same source under another name, with the vectors of 64-bit Arm and of any x86-64 processor.
#define BW_VECTOR_BYTES 16
#define multiply_fp8 multiply_fp8_portable
#include "common/simulator/units/tensor_core/hopper_fp8_accumulation.cpp"
