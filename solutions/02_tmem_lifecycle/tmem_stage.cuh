#pragma once
/// \file
/// One accumulator of the ring in tensor memory (contract, chapter 2), and the ring's shape
/// (OutputPipelineConfig, which the contract names in chapter 3).

#include <cstdint>

#include "solutions/02_tmem_lifecycle/tmem_address.cuh"

namespace bw {

/// Compile-time parameters of the pipeline between the MMA warp and the epilogue ("opc").
struct OutputPipelineConfig {
  int num_stages;         ///< accumulators in tensor memory
  int stage_stride_cols;  ///< columns from one accumulator to the next
  int cta_group;          ///< CTAs that compute one MMA together: 1 or 2
  /// Threads of a CTA that read an accumulator: 128, or 256 when two groups of four warps share
  /// its columns. Every arrive count of the epilogue follows from this.
  int epilogue_threads = 128;

  constexpr bool operator==(const OutputPipelineConfig&) const = default;
};

/// True when the accumulators fit into the 512 columns of tensor memory.
constexpr bool fits_tensor_memory(OutputPipelineConfig opc) {
  constexpr int kTmemColumns = 512;
  return opc.num_stages >= 1 && opc.stage_stride_cols >= 1 &&
         opc.num_stages * opc.stage_stride_cols <= kTmemColumns &&
         (opc.cta_group == 1 || opc.cta_group == 2);
}

/// Accumulator `index` of the ring that starts at TMEM address `base`.
template <OutputPipelineConfig opc>
struct TmemStage {
  static_assert(fits_tensor_memory(opc),
                "num_stages * stage_stride_cols must lie in 1 … 512, cta_group must be 1 or 2");

  uint32_t base;   ///< first column of the ring
  uint32_t index;  ///< the stage's number

  /// The stage whose first column has the TMEM address `offset`.
  static __device__ __forceinline__ TmemStage from_offset(uint32_t base, uint32_t offset) {
    return TmemStage{base, (offset - base) / opc.stage_stride_cols};
  }

  /// TMEM address of the first column: what tcgen05.mma takes as D.
  __device__ __forceinline__ uint32_t offset() const {
    return base + index * opc.stage_stride_cols;
  }
  /// The same, for loads and stores by the epilogue.
  __device__ __forceinline__ TmemAddress tensor() const { return TmemAddress{offset()}; }
};

}  // namespace bw
