#pragma once
/// \file
/// One K block as the epilogue sees it (contract, chapter 4).

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/exercise.cuh"
#include "common/device/fence.cuh"
#include "common/device/scope_pointer.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/03_warp_contexts/epilogue_warp_context.cuh"
#include "solutions/03_warp_contexts/output_tile_pipeline.cuh"
#include "solutions/04_per_k_contexts/input_tile_pipeline.cuh"

namespace bw {

/// What an epilogue thread works with during one K block: an accumulator in tensor memory and
/// the A-scales of an input stage.
template <OutputPipelineConfig opc, int NumInputStages>
struct EpilogueKStage {
  using InputPipelineType = ProducerConsumerPipeline<NumInputStages>;  ///< the input ring

  OutputStage<opc> output_stage;      ///< the accumulator
  uint32_t input_stage_index;         ///< of the stage that holds the scales
  InputPipelineType* input_pipeline;  ///< the input ring
  bool accumulator_released = false;  ///< whether the MMA warp has been told already
  bool ends_input_group = true;       ///< this K block is the last one of its input stage

  /// All 32 lanes of an epilogue warp, once, when they have read their A-scales: one arrival
  /// per warp on empty[input_stage_index]. TMA overwrites what was read by ordinary loads, so
  /// every lane fences the async proxy first. Where a stage holds several K blocks, the arrival
  /// is made at the last of them.
  __device__ __forceinline__ void arrive_input() const {
    __syncwarp();
    if (!ends_input_group) return;
    // Right lines, not shown here: you write them in exercise 4.1.
    __syncwarp();  // the warp's next loads from tensor memory are .aligned
  }

  /// Every epilogue thread, right after the `wait_load` of its last read: lets the MMA warp
  /// refill the accumulator while the arithmetic goes on. At most once; the context's exit does
  /// it otherwise.
  __device__ __forceinline__ void release_accumulator() {
    OutputTilePipeline<opc>::epilogue_arrive(output_stage);
    accumulator_released = true;
  }
};

/// Scope of one K block of the epilogue's threads.
///
///     enter: waits for the input stage (its A-scales were written by TMA: the wait that observes
///            the completion is what makes them visible to this thread) and for accumulator-full.
///            In cta_group 2 only the leader's barrier tells that the input stage is full, and
///            the peer can't wait on it: the leader's MMA warp has, and its commit passes it on
///     exit:  signals both pipelines: accumulator-empty unless `release_accumulator` did, and
///            steps of the input's and the output's consumer. The input's arrival is
///            `EpilogueKStage::arrive_input`, per warp.
///
/// Where an input stage holds several K blocks, it is waited for at the first and stepped over at
/// the last of them, as `place` says.
template <OutputPipelineConfig opc, int NumInputStages>
class [[nodiscard]] EpilogueKContext {
 public:
  /// What a K block's scope gives.
  using CombinedStageType = EpilogueKStage<opc, NumInputStages>;
  using InputPipelineType = ProducerConsumerPipeline<NumInputStages>;  ///< the input ring
  using OutputPipelineType = OutputTilePipeline<opc>;                  ///< the ring of accumulators
  using OutputStageType = OutputStage<opc>;                 ///< a stage of the ring of accumulators
  static constexpr int cta_group = opc.cta_group;           ///< of the ring of accumulators
  static constexpr int num_output_stages = opc.num_stages;  ///< accumulators of the ring

  /// Waits for what the K block needs.
  __device__ __forceinline__ EpilogueKContext(OutputPipelineType& output_pipeline,
                                              InputPipelineType& input_pipeline,
                                              KGroupPlace place = {})
      : output_pipeline_ptr_(output_pipeline),
        input_pipeline_ptr_(&input_pipeline),
        stage_{acquire(output_pipeline, input_pipeline, place), input_pipeline.consumer_stage(),
               &input_pipeline, /*accumulator_released=*/false, place.is_last} {}
  EpilogueKContext(EpilogueKContext&&) = default;
  __device__ __forceinline__ ~EpilogueKContext() {
    if (!output_pipeline_ptr_) return;
    // Right lines, not shown here: you write them in exercise 4.2.
    //
    //
  }

  /// The pipelines that the exit signals.
  __device__ __forceinline__ OutputPipelineType* output_pipeline_ptr() const {
    return &*output_pipeline_ptr_;
  }
  /// The input ring.
  __device__ __forceinline__ InputPipelineType* input_pipeline_ptr() const {
    return input_pipeline_ptr_;
  }
  /// Both stages of the K block.
  __device__ __forceinline__ CombinedStageType& stage() { return stage_; }
  /// The accumulator.
  __device__ __forceinline__ const OutputStageType& output_stage() const {
    return stage_.output_stage;
  }
  /// Of the stage that holds the scales.
  __device__ __forceinline__ uint32_t input_stage_index() const { return stage_.input_stage_index; }

 private:
  static __device__ __forceinline__ OutputStageType acquire(OutputPipelineType& output_pipeline,
                                                            InputPipelineType& input_pipeline,
                                                            KGroupPlace place) {
    if (cta_group == 1 && place.index == 0) input_pipeline.wait_producer();
    return output_pipeline.acquire_for_epilogue();
  }

  ScopePointer<OutputPipelineType> output_pipeline_ptr_;
  InputPipelineType* input_pipeline_ptr_;
  CombinedStageType stage_;
};

template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
template <class InputPipeline>
__device__ __forceinline__ EpilogueKContext<opc, InputPipeline::kNumGroupStages>
EpilogueWarpContext<opc, mma_threads, epilogue_threads>::per_k_stage(
    InputPipeline& input_pipeline) {
  static_assert(InputPipeline::kGroupSize == 1,
                "stages of several K blocks: say which of them this is (KGroupPlace)");
  return per_k_stage(input_pipeline, KGroupPlace{});
}

template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
template <class InputPipeline>
__device__ __forceinline__ EpilogueKContext<opc, InputPipeline::kNumGroupStages>
EpilogueWarpContext<opc, mma_threads, epilogue_threads>::per_k_stage(InputPipeline& input_pipeline,
                                                                     KGroupPlace place) {
  return EpilogueKContext<opc, InputPipeline::kNumGroupStages>(this->output_pipeline(),
                                                               input_pipeline.pipeline, place);
}

}  // namespace bw
