#pragma once
/// \file
/// The ring of input tiles between the load warp, the MMA warp and the epilogue (contract,
/// chapter 4).

#include <cstdint>

#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/04_per_k_contexts/tile_payload.cuh"

namespace bw {

template <class InputPipeline>
class InputProducer;
template <class InputPipeline>
class InputConsumer;

/// Stages of `KGroupSize` payloads each, filled by TMA. Full counts one arrival, with the bytes
/// expected; empty counts the MMA commits and one arrival per epilogue warp.
template <TilePayload Payload, int NumGroupStages, int KGroupSize = 1>
struct InputTilePipeline {
  static_assert(KGroupSize >= 1, "a stage holds at least one K block");
  using PayloadType = Payload;
  using Pipeline = ProducerConsumerPipeline<NumGroupStages>;
  static constexpr int kNumGroupStages = NumGroupStages;
  static constexpr int kGroupSize = KGroupSize;
  static constexpr int kNumTiles = NumGroupStages * KGroupSize;

  Pipeline pipeline;
  Payload payload;

  /// The load warp's side.
  __device__ __forceinline__ InputProducer<InputTilePipeline> producer() {
    return InputProducer<InputTilePipeline>(*this);
  }
  /// The MMA warp's side.
  __device__ __forceinline__ InputConsumer<InputTilePipeline> consumer() {
    return InputConsumer<InputTilePipeline>(*this);
  }
};

/// Scope of one stage of the load warp. Enter: waits until it is empty. Exit: steps.
template <class InputPipeline>
class [[nodiscard]] InputProducerStage {
 public:
  /// `ready`: the answer of an earlier `try_acquire` for this stage.
  __device__ __forceinline__ InputProducerStage(InputPipeline& input, bool ready) : input_(&input) {
    input.pipeline.wait_consumer_if_needed(ready);
  }
  __device__ __forceinline__ InputProducerStage(InputProducerStage&& other) : input_(other.input_) {
    other.input_ = nullptr;
  }
  InputProducerStage& operator=(InputProducerStage&&) = delete;
  __device__ __forceinline__ ~InputProducerStage() {
    if (input_ != nullptr) input_->pipeline.producer_step();
  }

  /// Index of the stage's tile `in_group` among the payload's tiles.
  __device__ __forceinline__ uint32_t tile_index(uint32_t in_group = 0) const {
    return input_->pipeline.producer_stage() * InputPipeline::kGroupSize + in_group;
  }
  __device__ __forceinline__ const typename InputPipeline::PayloadType& payload() const {
    return input_->payload;
  }
  /// The full barrier: TMA completes its bytes here.
  __device__ __forceinline__ SharedMemBarrier* barrier() const {
    return input_->pipeline.producer_mbar(input_->pipeline.producer_stage());
  }
  /// One lane (in cta_group 2: of the leader), once per stage: the arrival, with all the bytes
  /// that this stage's copies bring.
  __device__ __forceinline__ void expect_bytes(uint32_t bytes) const {
    barrier()->arrive_and_expect_bytes(bytes);
  }

 private:
  InputPipeline* input_;
};

/// Scope of one stage of the MMA warp. Enter: waits until it is full. Exit: steps; the commit of
/// the MMAs to `barrier()` is what releases the stage.
template <class InputPipeline>
class [[nodiscard]] InputConsumerStage {
 public:
  /// `ready`: the answer of an earlier `try_acquire` for this stage.
  __device__ __forceinline__ InputConsumerStage(InputPipeline& input, bool ready) : input_(&input) {
    input.pipeline.wait_producer_if_needed(ready);
  }
  __device__ __forceinline__ InputConsumerStage(InputConsumerStage&& other) : input_(other.input_) {
    other.input_ = nullptr;
  }
  InputConsumerStage& operator=(InputConsumerStage&&) = delete;
  __device__ __forceinline__ ~InputConsumerStage() {
    if (input_ != nullptr) input_->pipeline.consumer_step();
  }

  /// Index of the stage's tile `in_group` among the payload's tiles.
  __device__ __forceinline__ uint32_t tile_index(uint32_t in_group = 0) const {
    return input_->pipeline.consumer_stage() * InputPipeline::kGroupSize + in_group;
  }
  __device__ __forceinline__ const typename InputPipeline::PayloadType& payload() const {
    return input_->payload;
  }
  /// The empty barrier: the lane that issued the MMAs commits them here.
  __device__ __forceinline__ SharedMemBarrier* barrier() const {
    return input_->pipeline.consumer_mbar(input_->pipeline.consumer_stage());
  }

 private:
  InputPipeline* input_;
};

/// The load warp's view of the ring. The warp's lanes use it together.
template <class InputPipeline>
class InputProducer {
 public:
  using Stage = InputProducerStage<InputPipeline>;
  __device__ __forceinline__ explicit InputProducer(InputPipeline& input) : input_(&input) {}

  /// Waits until the next stage is empty.
  __device__ __forceinline__ Stage acquire() { return Stage(*input_, false); }
  /// Look-ahead: true when `acquire_if_needed` won't wait.
  __device__ __forceinline__ bool try_acquire() const {
    return input_->pipeline.try_wait_consumer();
  }
  /// As `acquire`, without a wait when `ready`.
  __device__ __forceinline__ Stage acquire_if_needed(bool ready) { return Stage(*input_, ready); }

  /// At the kernel's end: waits until every stage is released, so that no MMA and no arrival
  /// of another CTA touches the shared memory of a CTA that has exited.
  __device__ __forceinline__ void drain() {
#pragma unroll
    for (int stage = 0; stage < InputPipeline::kNumGroupStages; ++stage) {
      input_->pipeline.wait_consumer();
      input_->pipeline.producer_step();
    }
  }

 private:
  InputPipeline* input_;
};

/// The MMA warp's view of the ring. The warp's lanes use it together.
template <class InputPipeline>
class InputConsumer {
 public:
  using Stage = InputConsumerStage<InputPipeline>;
  __device__ __forceinline__ explicit InputConsumer(InputPipeline& input) : input_(&input) {}

  /// Waits until the next stage is full.
  __device__ __forceinline__ Stage acquire() { return Stage(*input_, false); }
  /// Look-ahead: true when `acquire_if_needed` won't wait.
  __device__ __forceinline__ bool try_acquire() const {
    return input_->pipeline.try_wait_producer();
  }
  /// As `acquire`, without a wait when `ready`.
  __device__ __forceinline__ Stage acquire_if_needed(bool ready) { return Stage(*input_, ready); }

 private:
  InputPipeline* input_;
};

}  // namespace bw
