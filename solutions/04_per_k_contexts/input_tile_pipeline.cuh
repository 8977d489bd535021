#pragma once
/// \file
/// The ring of input tiles between the load warp, the MMA warp and the epilogue (contract,
/// chapter 4). Its two sides are chapter 1's scopes, with access to the payload.

#include <cstdint>

#include "common/device/scope_pointer.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/04_per_k_contexts/tile_payload.cuh"

namespace bw {

/// A K block's place in its stage, which holds a group of them.
struct KGroupPlace {
  uint32_t index = 0;   ///< 0: the group's first block; the stage has to be waited for
  bool is_last = true;  ///< the stage ends with it; the last group may be incomplete
};

/// The place of K block `k_block` of `k_blocks`.
template <int KGroupSize>
constexpr __host__ __device__ KGroupPlace place_in_group(uint32_t k_block, uint32_t k_blocks) {
  const uint32_t index = k_block % KGroupSize;
  return {index, index == KGroupSize - 1 || k_block + 1 == k_blocks};
}

template <class InputPipeline>
class InputProducer;
template <class InputPipeline>
class InputConsumer;

/// Stages of `KGroupSize` payloads each, filled by TMA. Full counts one arrival, with the bytes
/// expected; empty counts the MMA commits and one arrival per epilogue warp. With `CtaGroup` 2 the
/// copies of both CTAs of a pair complete the leader's full barriers, so that its MMA warp acquires
/// at cluster scope. With `SharesTiles` other CTAs of the cluster read what this one loads, and
/// arrive on its empty barriers, so that its load warp acquires at cluster scope.
template <TilePayload Payload, int NumGroupStages, int KGroupSize = 1, int CtaGroup = 1,
          bool SharesTiles = CtaGroup == 2>
struct InputTilePipeline {
  static_assert(KGroupSize >= 1, "a stage holds at least one K block");
  static_assert(CtaGroup == 1 || CtaGroup == 2, "cta_group is 1 or 2");
  using PayloadType = Payload;                                ///< what a stage holds
  using Pipeline = ProducerConsumerPipeline<NumGroupStages>;  ///< the ring below
  /// Stages, each with a full and an empty barrier.
  static constexpr int kNumGroupStages = NumGroupStages;
  static constexpr int kGroupSize = KGroupSize;                  ///< K blocks of a stage
  static constexpr int kNumTiles = NumGroupStages * KGroupSize;  ///< K blocks of all stages

  Pipeline pipeline;  ///< the ring of stages
  Payload payload;    ///< location of the tiles

  /// Index, among the payload's tiles, of tile `in_group` of stage `stage`.
  static constexpr __host__ __device__ uint32_t tile_index(uint32_t stage, uint32_t in_group) {
    return stage * KGroupSize + in_group;
  }

  /// MMA warp: tests once whether the current stage is full.
  __device__ __forceinline__ bool try_wait_full() const {
    if constexpr (CtaGroup == 1) return pipeline.try_wait_producer();
    return pipeline.try_wait_producer_cluster();
  }
  /// MMA warp: waits until the current stage is full, unless an earlier `try_wait_full` found it
  /// `ready`.
  __device__ __forceinline__ void wait_full_if_needed(bool ready) const {
    if (ready) return;
    if constexpr (CtaGroup == 1) {
      pipeline.wait_producer();
    } else {
      pipeline.wait_producer_cluster();
    }
  }

  /// Load warp: tests once whether the current stage is empty.
  __device__ __forceinline__ bool try_wait_empty() const {
    if constexpr (SharesTiles) return pipeline.try_wait_consumer_cluster();
    return pipeline.try_wait_consumer();
  }
  /// Load warp: waits until the current stage is empty.
  __device__ __forceinline__ void wait_empty() const {
    if constexpr (SharesTiles) {
      pipeline.wait_consumer_cluster();
    } else {
      pipeline.wait_consumer();
    }
  }

  /// The load warp's side.
  __device__ __forceinline__ InputProducer<InputTilePipeline> producer() {
    return InputProducer<InputTilePipeline>(*this);
  }
  /// The MMA warp's side.
  __device__ __forceinline__ InputConsumer<InputTilePipeline> consumer() {
    return InputConsumer<InputTilePipeline>(*this);
  }
};

/// Scope of one stage of either side. Enter: waits for the other side, unless an earlier
/// `try_acquire` found the stage `ready`. Exit: steps; what signals `barrier()` is the user's.
template <class InputPipeline, class Context>
class [[nodiscard]] InputStage {
 public:
  /// The scope of a stage of `input`; waits unless `ready`.
  __device__ __forceinline__ InputStage(InputPipeline& input, bool ready)
      : context_(input.pipeline, ready), input_(&input) {}

  /// Index of the stage's tile `in_group` among the payload's tiles.
  __device__ __forceinline__ uint32_t tile_index(uint32_t in_group = 0) const {
    return InputPipeline::tile_index(context_.index(), in_group);
  }
  /// Location of the tiles.
  __device__ __forceinline__ const typename InputPipeline::PayloadType& payload() const {
    return input_->payload;
  }
  /// What this side signals. The load warp: the full barrier, where TMA completes its bytes. The
  /// MMA warp: the empty barrier, where the lane that issued the MMAs commits them.
  __device__ __forceinline__ SharedMemBarrier* barrier() const { return context_.mbar(); }

 private:
  Context context_;
  InputPipeline* input_;
};

/// Scope of one stage of the load warp.
template <class InputPipeline>
class [[nodiscard]] InputProducerStage
    : public InputStage<InputPipeline, ProduceContext<typename InputPipeline::Pipeline>> {
 public:
  using InputStage<InputPipeline, ProduceContext<typename InputPipeline::Pipeline>>::InputStage;

  /// One lane (in cta_group 2: of the leader), once per stage: the arrival, with all the bytes
  /// that this stage's copies bring.
  __device__ __forceinline__ void expect_bytes(uint32_t bytes) const {
    this->barrier()->arrive_and_expect_bytes(bytes);
  }
};

/// Scope of one stage of the MMA warp.
template <class InputPipeline>
using InputConsumerStage =
    InputStage<InputPipeline, ExplicitConsumeContext<typename InputPipeline::Pipeline>>;

/// Scope of one K block of the MMA warp, which has an accumulator for each block and one stage for
/// a group of them. Enter: at the group's first block waits for the stage, unless an earlier
/// `try_acquire` found it `ready`. Exit: steps after the group's last block; the user signals
/// `barrier()` when it has issued that block's MMAs.
template <class InputPipeline>
class [[nodiscard]] InputConsumerBlock {
 public:
  /// Waits at the first block of a stage, unless `ready`.
  __device__ __forceinline__ InputConsumerBlock(InputPipeline& input, KGroupPlace place, bool ready)
      : input_(input), place_(place) {
    if (place.index == 0) input.wait_full_if_needed(ready);
  }
  InputConsumerBlock(InputConsumerBlock&&) = default;
  __device__ __forceinline__ ~InputConsumerBlock() {
    if (input_ && place_.is_last) input_->pipeline.consumer_step();
  }

  /// Index of the block's tile among the payload's tiles.
  __device__ __forceinline__ uint32_t tile_index() const {
    return InputPipeline::tile_index(input_->pipeline.consumer_stage(), place_.index);
  }
  /// Location of the tiles.
  __device__ __forceinline__ const typename InputPipeline::PayloadType& payload() const {
    return input_->payload;
  }
  /// empty of the group's stage.
  __device__ __forceinline__ SharedMemBarrier* barrier() const {
    return input_->pipeline.consumer_mbar(input_->pipeline.consumer_stage());
  }

 private:
  ScopePointer<InputPipeline> input_;
  KGroupPlace place_;
};

/// The load warp's view of the ring. The warp's lanes use it together.
template <class InputPipeline>
class InputProducer {
 public:
  using Stage = InputProducerStage<InputPipeline>;  ///< the scope that an acquisition gives
  /// The load warp's view of `input`.
  __device__ __forceinline__ explicit InputProducer(InputPipeline& input) : input_(&input) {}

  /// Waits until the next stage is empty.
  __device__ __forceinline__ Stage acquire() { return acquire_if_needed(false); }
  /// Look-ahead: true when `acquire_if_needed` won't wait.
  __device__ __forceinline__ bool try_acquire() const { return input_->try_wait_empty(); }
  /// As `acquire`, without a wait when `ready`.
  __device__ __forceinline__ Stage acquire_if_needed(bool ready) {
    if (!ready) input_->wait_empty();
    return Stage(*input_, /*ready=*/true);
  }

  /// At the kernel's end: waits until every stage is released, so that no MMA and no arrival
  /// of another CTA touches the shared memory of a CTA that has exited.
  __device__ __forceinline__ void drain() {
#pragma unroll
    for (int stage = 0; stage < InputPipeline::kNumGroupStages; ++stage) {
      input_->wait_empty();
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
  using Stage = InputConsumerStage<InputPipeline>;  ///< the scope that an acquisition gives
  /// A reader's view of `input`.
  __device__ __forceinline__ explicit InputConsumer(InputPipeline& input) : input_(&input) {}

  /// Waits until the next stage is full.
  __device__ __forceinline__ Stage acquire() { return acquire_if_needed(false); }
  /// Look-ahead: true when `acquire_if_needed` won't wait.
  __device__ __forceinline__ bool try_acquire() const { return input_->try_wait_full(); }
  /// As `acquire`, without a wait when `ready`.
  __device__ __forceinline__ Stage acquire_if_needed(bool ready) {
    input_->wait_full_if_needed(ready);
    return Stage(*input_, /*ready=*/true);
  }
  /// One K block of a stage: waits at the group's first one, without a wait when `ready`.
  __device__ __forceinline__ InputConsumerBlock<InputPipeline> acquire_block(KGroupPlace place,
                                                                             bool ready) {
    return InputConsumerBlock<InputPipeline>(*input_, place, ready);
  }

 private:
  InputPipeline* input_;
};

}  // namespace bw
