#pragma once
/// \file
/// What the small kernels of the catalogue share. A right kernel brings the words of `in` to the
/// same places of `out`, a thread each, on a way that looks suspicious; a faulty one tries to.

#include <cstdint>

#include "tests/simulator/faults/fault_tables.hpp"

namespace bw::faults {

/// A row of a table of kernels: its name is the kernel's.
#define BW_FAULT(entry, ...) \
  FaultKernel { .name = #entry, .kernel = bw::faults::entry __VA_OPT__(, ) __VA_ARGS__ }
/// The same of a function of the host that launches kernels itself.
#define BW_FAULT_HOST(entry, ...) \
  FaultKernel { .name = #entry, .host = bw::faults::entry __VA_OPT__(, ) __VA_ARGS__ }

/// Thread number in the CTA.
__device__ __forceinline__ uint32_t thread() { return threadIdx.x; }
/// Warp number in the CTA.
__device__ __forceinline__ uint32_t warp() { return threadIdx.x / 32; }
/// Lane number in the warp.
__device__ __forceinline__ uint32_t lane() { return threadIdx.x % 32; }
/// The calling thread's word of `in` and `out`.
__device__ __forceinline__ uint32_t word() { return blockIdx.x * blockDim.x + threadIdx.x; }
/// The row of the CTA's first word in the maps' matrices.
__device__ __forceinline__ int32_t first_row() { return blockIdx.x * blockDim.x / kRowWords; }

}  // namespace bw::faults
