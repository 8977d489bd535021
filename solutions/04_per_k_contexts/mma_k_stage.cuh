#pragma once
/// \file
/// One K block as the MMA warp sees it (contract, chapter 4).

#include "solutions/03_warp_contexts/mma_warp_context.cuh"

namespace bw {

/// Scope of one K block of the MMA warp (all 32 lanes): blockwise scaling promotes every K block
/// by its own scales, so that each has an accumulator stage of its own.
///
///     enter: waits for accumulator-empty
///     exit:  one elected lane commits to accumulator-full; all lanes step
template <OutputPipelineConfig opc>
class [[nodiscard]] MmaKStage {
 public:
  __device__ __forceinline__ explicit MmaKStage(OutputTilePipeline<opc>& output_pipeline)
      : output_pipeline_(&output_pipeline), stage_(output_pipeline.acquire_for_mma()) {}
  __device__ __forceinline__ MmaKStage(MmaKStage&& other)
      : output_pipeline_(other.output_pipeline_), stage_(other.stage_) {
    other.output_pipeline_ = nullptr;
  }
  MmaKStage& operator=(MmaKStage&&) = delete;
  __device__ __forceinline__ ~MmaKStage() {
    if (output_pipeline_ != nullptr) output_pipeline_->release_from_mma(stage_);
  }

  /// The accumulator; `stage().tmem().offset()` is D of the MMAs.
  __device__ __forceinline__ const OutputStage<opc>& stage() const { return stage_; }

 private:
  OutputTilePipeline<opc>* output_pipeline_;
  OutputStage<opc> stage_;
};

template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
__device__ __forceinline__ MmaKStage<opc>
MmaWarpContext<opc, mma_threads, epilogue_threads>::per_k_stage() {
  return MmaKStage<opc>(output_pipeline_);
}

}  // namespace bw
