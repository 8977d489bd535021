#pragma once
/// \file
/// The accumulator ring with one accumulator per K block (contract, chapters 3 and 4: MmaKStage,
/// `OutputTilePipeline::per_k()`, `MmaWarpContext::per_k_stage()`).

#include "solutions/03_warp_contexts/mma_warp_context.cuh"
#include "solutions/03_warp_contexts/output_role_views.cuh"

namespace bw {

/// Scope of one K block of the MMA warp (all 32 lanes): blockwise scaling promotes every K block
/// by its own scales, so that each has an accumulator stage of its own, and is handed over as
/// chapter 3 hands over a whole tile.
///
///     enter: waits for accumulator-empty; `stage().tmem().offset()` is D of the MMAs
///     exit:  one elected lane commits to accumulator-full; all lanes step
template <OutputPipelineConfig opc>
class [[nodiscard]] MmaKStage : public OutputProducerStage<opc> {
 public:
  using OutputProducerStage<opc>::OutputProducerStage;
};

/// View of an OutputTilePipeline whose stages are signalled after every K block instead of after a
/// whole tile. `MmaWarpContext::per_k_stage` is its `produce`; epilogues that also take A-scales
/// from the input ring use `EpilogueWarpContext::per_k_stage` in place of `consume`.
template <OutputPipelineConfig opc>
class OutputKPipeline {
 public:
  /// The view of `output` by K blocks.
  __device__ __forceinline__ explicit OutputKPipeline(OutputTilePipeline<opc>& output)
      : output_(&output) {}

  /// MMA warp: waits for accumulator-empty; at the scope's end one lane commits to
  /// accumulator-full, and all lanes step.
  __device__ __forceinline__ MmaKStage<opc> produce() const { return MmaKStage<opc>(*output_); }

  /// Every epilogue thread: waits for accumulator-full; at the scope's end every thread arrives on
  /// accumulator-empty (unless it has released it), and steps.
  __device__ __forceinline__ OutputConsumerStage<opc> consume() const {
    return OutputConsumerStage<opc>(*output_);
  }

 private:
  OutputTilePipeline<opc>* output_;
};

template <OutputPipelineConfig opc>
__device__ __forceinline__ OutputKPipeline<opc> OutputTilePipeline<opc>::per_k() {
  return OutputKPipeline<opc>(*this);
}

template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
__device__ __forceinline__ MmaKStage<opc>
MmaWarpContext<opc, mma_threads, epilogue_threads>::per_k_stage() {
  return this->output_pipeline().per_k().produce();
}

}  // namespace bw
