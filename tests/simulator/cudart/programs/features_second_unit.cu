/// \file
/// A second translation unit: its own fat binary, kernel and variable.
#include "features.cuh"

__device__ int second_unit_value = 40;

__global__ void second_unit_kernel(int* out) { *out = second_unit_value + 2; }

void launch_second_unit(int* out) { second_unit_kernel<<<1, 1>>>(out); }

void set_second_unit_value(int value) {
  cudaMemcpyToSymbol(second_unit_value, &value, sizeof value);
}
