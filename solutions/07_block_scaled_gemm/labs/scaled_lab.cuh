#pragma once
/// \file
/// What the MMA labs of chapter 7 share: one tile of 128 × 128 whose operands' rows are 128 bytes
/// long, its operands in a block-scaled format, and the check against float64.

#include <cuda.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/device/block_format.cuh"
#include "common/device/block_scaled_descriptor.cuh"
#include "common/device/bulk_copy.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/scale_atom.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_copy.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tcgen05_mma_block_scale.cuh"
#include "common/device/tma_load.cuh"
#include "common/host/block_scaled_problem.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/program.hpp"
#include "common/host/random_normal.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "solutions/07_block_scaled_gemm/operand_bytes_map.hpp"

namespace bw {

constexpr int kLabTile = 128;          ///< rows of A and of B: M and N
constexpr uint32_t kLabThreads = 128;  ///< that read D, one row each

/// Elements of one operand: normal random numbers whose magnitude changes from block to block by up
/// to 2^5, so that each block needs its own scale.
inline BlockScaledMatrix make_lab_operand(BlockFormat format, int64_t rows, int64_t k,
                                          uint64_t stream) {
  constexpr uint64_t kSeed = 1;
  const RandomNormal normal(kSeed, stream), magnitude(kSeed, stream + 2);
  const auto source = [&](int64_t row, int64_t column) {
    const int64_t block = row * k + column / scale_block(format);
    const int exponent = static_cast<int>(std::fabs(magnitude(block)) * 2);
    return std::ldexp(normal(row * k + column), exponent);
  };
  return quantise_block_scaled(format, rows, k, source);
}

/// The labs' problem: `k_blocks` rows of 128 bytes along K, M and N are `rows`.
inline BlockScaledProblem make_lab_problem(BlockFormat format, int64_t k_blocks = 1,
                                           int64_t rows = kLabTile) {
  const int64_t k = k_blocks * block_k(format);
  return {.m = rows,
          .n = rows,
          .k = k,
          .beta = 0,
          .fill = Fill::kNormal,
          .a = make_lab_operand(format, rows, k, 0),
          .b = make_lab_operand(format, rows, k, 1),
          .c = {}};
}

/// A map of a dense operand's bytes in boxes of 128 rows × 128 bytes.
inline CUtensorMap lab_operand_map(const char* name, const void* data, int64_t row_bytes,
                                   int64_t rows = kLabTile) {
  return operand_bytes_map(name, data, rows, row_bytes, /*stride=*/row_bytes, kLabTile);
}

/// Compares D with float64.
template <class Output>
Comparison compare_lab(const BlockScaledProblem& problem, const std::vector<Output>& d) {
  return compare_with_reference(d, problem.n, block_scaled_reference(problem));
}

/// Prints how a variant that is expected to be wrong fares; it's an error if it is right.
inline void show_wrong(const char* variant, const Comparison& comparison) {
  require(!comparison.verified(), "The variant '", variant,
          "' has verified, though this lab shows that it is wrong.");
  std::printf("wrong    %s: %lld of %lld elements, relative rms %.3g\n", variant,
              static_cast<long long>(comparison.bad_elements),
              static_cast<long long>(comparison.elements), comparison.relative_rms_error);
}

/// Prints the cycles of a kernel that measured itself.
inline void print_own_cycles(const DeviceBuffer<uint64_t>& cycles) {
  std::printf("cycles   %llu\n", static_cast<unsigned long long>(cycles.download().front()));
}

/// A device buffer of floats that are all NaN.
inline DeviceBuffer<float> poisoned_floats(size_t size) {
  constexpr int kPoisonByte = 0xff;
  DeviceBuffer<float> buffer(size);
  buffer.fill_bytes(kPoisonByte);
  return buffer;
}

/// All threads of the CTA: a __syncthreads that orders tensor memory as well.
__device__ __forceinline__ void meet_at_tensor_memory() {
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
}

}  // namespace bw
