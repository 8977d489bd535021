#pragma once
/// \file
/// Scopes and handles over one stage of a ProducerConsumerPipeline (contract, chapter 1). Each
/// belongs to the threads that made it, is moved, never copied, and ends exactly once.

#include <cstdint>

#include "common/device/exercise.cuh"
#include "common/device/scope_pointer.cuh"
#include "common/device/shared_mem_barrier.cuh"

namespace bw {

/// Builds without NDEBUG stop the kernel when a stage is dropped without its release.
#ifdef NDEBUG
constexpr bool kChecksReleases = false;
#else
constexpr bool kChecksReleases = true;
#endif

/// Stops the kernel: a ProducerStage or ConsumerStage went out of scope unreleased.
__device__ __forceinline__ void require_released(bool released) {
  if constexpr (kChecksReleases) {
    if (!released) __trap();
  }
}

/// Producer's scope. Enter: waits for `empty` of the stage, unless an earlier try_wait_consumer
/// found it `ready`. Exit: steps, signals nothing; the user signals `mbar()` (expected bytes and
/// TMA, tcgen05.commit, or an arrive).
template <class Pipeline>
class [[nodiscard]] ProduceContext {
 public:
  /// Waits for an empty stage, unless `ready` says that it is.
  __device__ __forceinline__ explicit ProduceContext(Pipeline& pipeline, bool ready = false)
      : pipeline_(pipeline) {
    pipeline.wait_consumer_if_needed(ready);
  }
  ProduceContext(ProduceContext&&) = default;
  __device__ __forceinline__ ~ProduceContext() {
    if (pipeline_) pipeline_->producer_step();
  }

  /// The stage's number.
  __device__ __forceinline__ uint32_t index() const { return pipeline_->producer_stage(); }
  /// full[index()]
  __device__ __forceinline__ SharedMemBarrier* mbar() const {
    return pipeline_->producer_mbar(index());
  }

 private:
  ScopePointer<Pipeline> pipeline_;
};

/// Consumer's scope that signals nothing. Enter: waits for `full`, unless an earlier
/// try_wait_producer found the stage `ready`. Exit: steps only; the user arrives on `mbar()` (one
/// lane of a warp, the leader only, or tcgen05.commit).
template <class Pipeline>
class [[nodiscard]] ExplicitConsumeContext {
 public:
  /// Waits for a full stage, unless `ready` says that it is.
  __device__ __forceinline__ explicit ExplicitConsumeContext(Pipeline& pipeline, bool ready = false)
      : pipeline_(pipeline) {
    pipeline.wait_producer_if_needed(ready);
  }
  ExplicitConsumeContext(ExplicitConsumeContext&&) = default;
  __device__ __forceinline__ ~ExplicitConsumeContext() {
    if (pipeline_) pipeline_->consumer_step();
  }

  /// The stage's number.
  __device__ __forceinline__ uint32_t index() const { return pipeline_->consumer_stage(); }
  /// empty[index()]
  __device__ __forceinline__ SharedMemBarrier* mbar() const {
    return pipeline_->consumer_mbar(index());
  }

 private:
  ScopePointer<Pipeline> pipeline_;
};

/// Consumer's scope. Enter: waits for `full` of the stage. Exit: every calling thread arrives on
/// `empty`, then steps: `empty` counts threads.
template <class Pipeline>
class [[nodiscard]] ConsumeContext {
 public:
  /// Waits for a full stage.
  __device__ __forceinline__ explicit ConsumeContext(Pipeline& pipeline) : pipeline_(pipeline) {
    pipeline.wait_producer();
  }
  ConsumeContext(ConsumeContext&&) = default;
  __device__ __forceinline__ ~ConsumeContext() {
    if (!pipeline_) return;
    // >>> exercise 1.4 "Give the stage back"
    pipeline_->consumer_mbar(index())->arrive();
    pipeline_->consumer_step();
    // <<< exercise 1.4
  }

  /// The stage's number.
  __device__ __forceinline__ uint32_t index() const { return pipeline_->consumer_stage(); }

 private:
  ScopePointer<Pipeline> pipeline_;
};

/// Producer's handle for code in which a scope doesn't fit. Made after `empty` was waited for;
/// `release()` exactly once.
template <class Pipeline>
class [[nodiscard]] ProducerStage {
 public:
  /// Waits for an empty stage.
  __device__ __forceinline__ explicit ProducerStage(Pipeline& pipeline) : pipeline_(pipeline) {
    pipeline.wait_consumer();
  }
  ProducerStage(ProducerStage&&) = default;
  __device__ __forceinline__ ~ProducerStage() { require_released(!pipeline_); }

  /// The stage's number.
  __device__ __forceinline__ uint32_t index() const { return pipeline_->producer_stage(); }
  /// full[index()]
  __device__ __forceinline__ SharedMemBarrier* mbar() const {
    return pipeline_->producer_mbar(index());
  }
  /// Steps; signals nothing.
  __device__ __forceinline__ void release() {
    pipeline_->producer_step();
    pipeline_.clear();
  }

 private:
  ScopePointer<Pipeline> pipeline_;
};

/// Consumer's handle. Made after `full` was waited for; ends exactly once, by `release()` or
/// `release_without_signal()`.
template <class Pipeline>
class [[nodiscard]] ConsumerStage {
 public:
  /// Waits for a full stage.
  __device__ __forceinline__ explicit ConsumerStage(Pipeline& pipeline) : pipeline_(pipeline) {
    pipeline.wait_producer();
  }
  ConsumerStage(ConsumerStage&&) = default;
  __device__ __forceinline__ ~ConsumerStage() { require_released(!pipeline_); }

  /// The stage's number.
  __device__ __forceinline__ uint32_t index() const { return pipeline_->consumer_stage(); }
  /// empty[index()]
  __device__ __forceinline__ SharedMemBarrier* mbar() const {
    return pipeline_->consumer_mbar(index());
  }
  /// One arrival of the calling thread on empty[index()].
  __device__ __forceinline__ void arrive() { mbar()->arrive(); }
  /// Arrives, then steps.
  __device__ __forceinline__ void release() {
    arrive();
    release_without_signal();
  }
  /// Steps; whoever signals `empty` does so otherwise.
  __device__ __forceinline__ void release_without_signal() {
    pipeline_->consumer_step();
    pipeline_.clear();
  }

 private:
  ScopePointer<Pipeline> pipeline_;
};

}  // namespace bw
