#pragma once
/// \file
/// Shape of the accumulator ring in tensor memory (contract, chapter 3; chapter 2's TmemStage
/// is the first to need it).

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

}  // namespace bw
