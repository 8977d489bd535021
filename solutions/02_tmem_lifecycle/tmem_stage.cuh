#pragma once
/// \file
/// One accumulator of the ring in tensor memory (contract, chapter 2).

#include <cstdint>

#include "solutions/02_tmem_lifecycle/output_pipeline_config.cuh"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"

namespace bw {

/// Accumulator `index` of the ring that starts at TMEM address `base`.
template <OutputPipelineConfig opc>
struct TmemStage {
  static_assert(fits_tensor_memory(opc),
                "num_stages * stage_stride_cols must lie in 1 … 512, cta_group must be 1 or 2");

  uint32_t base;
  uint32_t index;

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
