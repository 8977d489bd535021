#pragma once
/// \file
/// The ring of stages between producers and consumers (contract, chapter 1).

#include <cstdint>

#include "common/device/exercise.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "solutions/01_mbarrier_pipeline/pipeline_contexts.cuh"

namespace bw {

/// A ring of `NumStages` stages, each guarded by two mbarriers in shared memory:
///
///     barriers:  full[0] … full[NumStages-1]   empty[0] … empty[NumStages-1]
///
/// The value itself lives in the registers of every thread that takes part; threads of one role
/// step together. Each side has a stage index and a lap counter; the parity it waits on is the
/// lowest bit of the lap. The producer's laps start at 1: a wait on parity 1 of a fresh barrier
/// passes at once, since every stage is empty in the beginning.
///
/// A parity can't tell phase p+1 from p-1. It needn't: a producer can't pass a stage that was
/// not released, so no thread gets two phases ahead.
template <int NumStages>
class ProducerConsumerPipeline {
  static_assert(NumStages >= 1, "a pipeline has at least one stage");

 public:
  static constexpr int kNumStages = NumStages;        ///< stages of the ring
  static constexpr int kNumBarriers = 2 * NumStages;  ///< mbarriers of the ring, full ones first

  using ProduceScope = ProduceContext<ProducerConsumerPipeline>;  ///< the producer's scope
  using ConsumeScope = ConsumeContext<ProducerConsumerPipeline>;  ///< the consumer's scope
  /// The scope of a consumer that signals itself.
  using ExplicitConsumeScope = ExplicitConsumeContext<ProducerConsumerPipeline>;

  /// `barriers`: `kNumBarriers` barriers in shared memory, full first.
  __device__ __forceinline__ explicit ProducerConsumerPipeline(SharedMemBarrier* barriers)
      : full_(barriers), empty_(barriers + NumStages) {}

  /// One thread of the CTA; `ptx::fence_mbarrier_init` and a CTA or cluster barrier follow.
  __device__ __forceinline__ void init_barriers(uint32_t producer_arrivals,
                                                uint32_t consumer_arrivals) {
#pragma unroll
    for (int stage = 0; stage < NumStages; ++stage) {
      full_[stage].init(producer_arrivals);
      empty_[stage].init(consumer_arrivals);
    }
  }
  /// The name that this member has in the pages of the taught system.
  __device__ __forceinline__ void init_mbars(uint32_t producer_arrivals,
                                             uint32_t consumer_arrivals) {
    init_barriers(producer_arrivals, consumer_arrivals);
  }

  /// Consumer: waits until the current stage is full.
  __device__ __forceinline__ void wait_producer() const {
    full_[consumer_stage_].wait(consumer_parity());
  }
  /// Producer: waits until the current stage is empty.
  __device__ __forceinline__ void wait_consumer() const {
    empty_[producer_stage_].wait(producer_parity());
  }
  /// Producer: the same where consumers of other CTAs of the cluster arrive on `empty`.
  __device__ __forceinline__ void wait_consumer_cluster() const {
    empty_[producer_stage_].wait_cluster(producer_parity());
  }
  /// Consumer: waits until the current stage is full, where producers of other CTAs of the cluster
  /// arrive on `full` or complete its bytes.
  __device__ __forceinline__ void wait_producer_cluster() const {
    full_[consumer_stage_].wait_cluster(consumer_parity());
  }
  /// Consumer: tests once, without blocking, whether the current stage is full.
  __device__ __forceinline__ bool try_wait_producer() const {
    return full_[consumer_stage_].try_wait(consumer_parity());
  }
  /// Consumer: the same where producers of other CTAs of the cluster complete `full`.
  __device__ __forceinline__ bool try_wait_producer_cluster() const {
    return full_[consumer_stage_].try_wait_cluster(consumer_parity());
  }
  /// Producer: tests once, without blocking, whether the current stage is empty.
  __device__ __forceinline__ bool try_wait_consumer() const {
    return empty_[producer_stage_].try_wait(producer_parity());
  }
  /// Producer: the same where consumers of other CTAs of the cluster arrive on `empty`.
  __device__ __forceinline__ bool try_wait_consumer_cluster() const {
    return empty_[producer_stage_].try_wait_cluster(producer_parity());
  }
  /// Consumer: waits unless an earlier `try_wait_producer` for this stage was true.
  __device__ __forceinline__ void wait_producer_if_needed(bool ready) const {
    if (!ready) wait_producer();
  }
  /// Producer: waits unless an earlier `try_wait_consumer` for this stage was true.
  __device__ __forceinline__ void wait_consumer_if_needed(bool ready) const {
    if (!ready) wait_consumer();
  }

  /// full[stage]: what the producer signals.
  __device__ __forceinline__ SharedMemBarrier* producer_mbar(uint32_t stage) const {
    return full_ + stage;
  }
  /// empty[stage]: what the consumer signals.
  __device__ __forceinline__ SharedMemBarrier* consumer_mbar(uint32_t stage) const {
    return empty_ + stage;
  }
  /// The producer's stage.
  __device__ __forceinline__ uint32_t producer_stage() const { return producer_stage_; }
  /// The consumer's stage.
  __device__ __forceinline__ uint32_t consumer_stage() const { return consumer_stage_; }

  /// Advances the producer's stage, and its lap on wrap. Never arrives.
  __device__ __forceinline__ void producer_step() { step(producer_stage_, producer_phase_); }
  /// Advances the consumer's stage, and its lap on wrap. Never arrives.
  __device__ __forceinline__ void consumer_step() { step(consumer_stage_, consumer_phase_); }

  /// Producer: waits for empty, arrives on full, steps.
  __device__ __forceinline__ void producer_signal_and_step() {
    wait_consumer();
    producer_mbar(producer_stage_)->arrive();
    producer_step();
  }
  /// Producer, at the kernel's end: waits until every stage has been released, so that no
  /// consumer's arrival (a commit is one) comes to the barriers of a CTA that has ended.
  __device__ __forceinline__ void producer_drain() {
#pragma unroll
    for (int stage = 0; stage < NumStages; ++stage) {
      wait_consumer();
      producer_step();
    }
  }
  /// Consumer: waits for full, arrives on empty, steps.
  __device__ __forceinline__ void consumer_signal_and_step() {
    wait_producer();
    consumer_mbar(consumer_stage_)->arrive();
    consumer_step();
  }

  /// Scope of the producer's current stage.
  __device__ __forceinline__ ProduceScope produce() { return ProduceScope(*this); }
  /// Scope of the consumer's current stage; every calling thread arrives at its end.
  __device__ __forceinline__ ConsumeScope consume() { return ConsumeScope(*this); }
  /// Scope of the consumer's current stage; the user arrives. Doesn't wait when it is `ready`.
  __device__ __forceinline__ ExplicitConsumeScope consume_explicit(bool ready = false) {
    return ExplicitConsumeScope(*this, ready);
  }
  /// Handle of the producer's current stage.
  __device__ __forceinline__ ProducerStage<ProducerConsumerPipeline> acquire_producer() {
    return ProducerStage<ProducerConsumerPipeline>(*this);
  }
  /// Handle of the consumer's current stage.
  __device__ __forceinline__ ConsumerStage<ProducerConsumerPipeline> acquire_consumer() {
    return ConsumerStage<ProducerConsumerPipeline>(*this);
  }

 private:
  __device__ __forceinline__ uint32_t producer_parity() const { return producer_phase_ & 1; }
  __device__ __forceinline__ uint32_t consumer_parity() const { return consumer_phase_ & 1; }

  static __device__ __forceinline__ void step(uint32_t& stage, uint32_t& phase) {
    // Right lines, not shown here: you write them in exercise 1.3.
    //
    //
    //
  }

  SharedMemBarrier* full_;
  SharedMemBarrier* empty_;
  uint32_t producer_stage_ = 0;
  uint32_t consumer_stage_ = 0;
  uint32_t producer_phase_ = 0;
  uint32_t consumer_phase_ = 0;
};

}  // namespace bw
