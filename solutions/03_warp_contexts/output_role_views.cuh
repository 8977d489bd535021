#pragma once
/// \file
/// The two sides of the accumulator ring as scopes of one output tile each (contract, chapter 3:
/// `OutputTilePipeline::producer()` and `consumer()`).

#include "common/device/scope_pointer.cuh"
#include "solutions/03_warp_contexts/output_tile_pipeline.cuh"

namespace bw {

/// Scope of one tile of the MMA warp (all 32 lanes).
///
///     enter: waits for accumulator-empty
///     exit:  one elected lane commits to accumulator-full; all lanes step
template <OutputPipelineConfig opc>
class [[nodiscard]] OutputProducerStage {
 public:
  /// Waits for an empty accumulator.
  __device__ __forceinline__ explicit OutputProducerStage(OutputTilePipeline<opc>& output)
      : output_(output), stage_(output.acquire_for_mma()) {}
  OutputProducerStage(OutputProducerStage&&) = default;
  __device__ __forceinline__ ~OutputProducerStage() {
    if (output_) output_->release_from_mma(stage_);
  }

  /// The stage.
  __device__ __forceinline__ const OutputStage<opc>& stage() const { return stage_; }
  /// Location of the accumulator: `tmem().offset()` is D of the MMAs.
  __device__ __forceinline__ const TmemStage<opc>& tmem() const { return stage_.tmem(); }

 private:
  ScopePointer<OutputTilePipeline<opc>> output_;
  OutputStage<opc> stage_;
};

/// Scope of one tile of the epilogue's threads.
///
///     enter: waits for accumulator-full
///     exit:  every thread arrives on accumulator-empty, unless `release_accumulator` did; steps
template <OutputPipelineConfig opc>
class [[nodiscard]] OutputConsumerStage {
 public:
  /// Waits for a full accumulator.
  __device__ __forceinline__ explicit OutputConsumerStage(OutputTilePipeline<opc>& output)
      : output_(output), stage_(output.acquire_for_epilogue()) {}
  OutputConsumerStage(OutputConsumerStage&&) = default;
  __device__ __forceinline__ ~OutputConsumerStage() {
    if (!output_) return;
    if (!released_) release_accumulator();
    output_->release_from_epilogue();
  }

  /// The stage.
  __device__ __forceinline__ const OutputStage<opc>& stage() const { return stage_; }
  /// Location of the accumulator: `tmem().tensor()` is the operand of the loads.
  __device__ __forceinline__ const TmemStage<opc>& tmem() const { return stage_.tmem(); }

  /// Every epilogue thread, right after the `wait_load` of its last read: lets the MMA warp
  /// refill the accumulator while the tile is being written. At most once.
  __device__ __forceinline__ void release_accumulator() {
    OutputTilePipeline<opc>::epilogue_arrive(stage_);
    released_ = true;
  }

 private:
  ScopePointer<OutputTilePipeline<opc>> output_;
  OutputStage<opc> stage_;
  bool released_ = false;
};

/// The MMA warp's view of the ring. The warp's lanes use it together.
template <OutputPipelineConfig opc>
class OutputProducer {
 public:
  /// The MMA warp's view of `output`.
  __device__ __forceinline__ explicit OutputProducer(OutputTilePipeline<opc>& output)
      : output_(&output) {}
  /// Waits until the next accumulator is empty.
  __device__ __forceinline__ OutputProducerStage<opc> acquire() const {
    return OutputProducerStage<opc>(*output_);
  }

 private:
  OutputTilePipeline<opc>* output_;
};

/// The epilogue's view of the ring. The epilogue's threads use it together.
template <OutputPipelineConfig opc>
class OutputConsumer {
 public:
  /// The epilogue's view of `output`.
  __device__ __forceinline__ explicit OutputConsumer(OutputTilePipeline<opc>& output)
      : output_(&output) {}
  /// Waits until the next accumulator is complete.
  __device__ __forceinline__ OutputConsumerStage<opc> acquire() const {
    return OutputConsumerStage<opc>(*output_);
  }

 private:
  OutputTilePipeline<opc>* output_;
};

template <OutputPipelineConfig opc>
__device__ __forceinline__ OutputProducer<opc> OutputTilePipeline<opc>::producer() {
  return OutputProducer<opc>(*this);
}

template <OutputPipelineConfig opc>
__device__ __forceinline__ OutputConsumer<opc> OutputTilePipeline<opc>::consumer() {
  return OutputConsumer<opc>(*this);
}

}  // namespace bw
