#pragma once
/// \file
/// The ring of C tiles between the epilogue-load warp and the epilogue (contract, chapter 5).

#include <cstdint>

#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"

namespace bw {

/// ProducerConsumerPipeline with fixed roles: producer is the epilogue-load warp (one arrival,
/// with the bytes of one TMA transaction per stage), consumers are the epilogue threads (128; the
/// kernel says so when they are more).
/// A consumer reads C by ordinary loads and TMA overwrites it: fence the async proxy before the
/// arrival.
///
/// It can't be copied: a copy would be a second cursor over the same ring, and only one of the two
/// would move.
template <int NumStages>
struct EpiLoadPipeline {
  using Pipeline = ProducerConsumerPipeline<NumStages>;  ///< the ring below
  static constexpr int kNumStages = NumStages;           ///< stages of the ring
  /// Mbarriers of the ring, full ones first.
  static constexpr int kNumBarriers = Pipeline::kNumBarriers;
  /// Arrivals that fill a stage: the lane that announces the bytes.
  static constexpr uint32_t kProducerArrivals = 1;

  Pipeline pipeline;  ///< the ring itself, with both sides' stages

  /// `barriers`: `2 * NumStages` barriers in shared memory, full first.
  __device__ __forceinline__ explicit EpiLoadPipeline(SharedMemBarrier* barriers)
      : pipeline(barriers) {}
  EpiLoadPipeline(const EpiLoadPipeline&) = delete;
  EpiLoadPipeline& operator=(const EpiLoadPipeline&) = delete;

  /// One thread, before the kernel's first barrier.
  __device__ __forceinline__ void init_barriers(uint32_t producer_arv_count = kProducerArrivals,
                                                uint32_t consumer_arv_count = 128) {
    pipeline.init_barriers(producer_arv_count, consumer_arv_count);
  }

  /// Epilogue-load warp: scope of one stage (waits for empty; the user signals full by TMA).
  __device__ __forceinline__ auto produce() { return pipeline.produce(); }
  /// Waits for an empty stage; the handle steps.
  __device__ __forceinline__ auto acquire_producer() { return pipeline.acquire_producer(); }
  /// Waits until the producer's stage is empty.
  __device__ __forceinline__ void wait_consumer() const { pipeline.wait_consumer(); }
  /// full[producer_stage()]: where TMA completes the bytes of the stage that is being filled.
  __device__ __forceinline__ SharedMemBarrier* producer_mbar() const {
    return pipeline.producer_mbar(pipeline.producer_stage());
  }
  /// The producer's stage.
  __device__ __forceinline__ uint32_t producer_stage() const { return pipeline.producer_stage(); }
  /// Moves the producer on; signals nothing.
  __device__ __forceinline__ void producer_step() { pipeline.producer_step(); }

  /// Epilogue warps: scope of one stage (waits for full; every thread arrives at its end).
  __device__ __forceinline__ auto consume() { return pipeline.consume(); }
  /// The scope of a consumer that signals itself.
  __device__ __forceinline__ auto consume_explicit() { return pipeline.consume_explicit(); }
  /// Waits for a full stage; the handle says when it is released.
  __device__ __forceinline__ auto acquire_consumer() { return pipeline.acquire_consumer(); }
  /// Waits until the consumer's stage is full.
  __device__ __forceinline__ void wait_producer() const { pipeline.wait_producer(); }
  /// The consumer's stage.
  __device__ __forceinline__ uint32_t consumer_stage() const { return pipeline.consumer_stage(); }
  /// Moves the consumer on; signals nothing.
  __device__ __forceinline__ void consumer_step() { pipeline.consumer_step(); }
};

}  // namespace bw
