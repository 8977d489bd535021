#pragma once
/// \file
/// The accumulator ring between the MMA warp and the epilogue (contract, chapter 3).

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/exercise.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "solutions/02_tmem_lifecycle/tmem_stage.cuh"

namespace bw {

/// One accumulator in use: its index in the ring, its place, and the ring's barriers.
template <OutputPipelineConfig opc>
struct OutputStage {
  using Pipeline = ProducerConsumerPipeline<opc.num_stages>;  ///< the ring below

  uint32_t index;             ///< of the stage
  TmemStage<opc> tmem_stage;  ///< the columns
  Pipeline* pipeline;         ///< the ring that it belongs to

  /// Location of the accumulator: `tmem().offset()` is D of tcgen05.mma.
  __device__ __forceinline__ const TmemStage<opc>& tmem() const { return tmem_stage; }
};

template <OutputPipelineConfig opc>
class OutputProducer;
template <OutputPipelineConfig opc>
class OutputConsumer;
template <OutputPipelineConfig opc>
class OutputKPipeline;  // chapter 4

/// Accumulators in tensor memory, handed from the MMA warp (producer; full counts one commit) to
/// the epilogue (consumer; empty counts its threads · cta_group, in cta_group 2 on the leader).
template <OutputPipelineConfig opc>
struct OutputTilePipeline {
  using Pipeline = ProducerConsumerPipeline<opc.num_stages>;  ///< the ring below
  using Tmem = TmemAllocation<opc.cta_group>;                 ///< the allocation of tensor memory
  using Stage = OutputStage<opc>;                             ///< a stage of this ring
  static constexpr uint32_t kProducerArrivals = 1;            ///< arrivals that fill a stage
  /// Arrivals that empty a stage.
  static constexpr uint32_t kConsumerArrivals = opc.epilogue_threads * opc.cta_group;

  Pipeline pipeline;           ///< the ring that it belongs to
  Tmem tmem;                   ///< the allocation
  uint16_t mma_complete_mask;  ///< CTAs whose full barrier a commit signals (cta_group 2)

  /// One thread, before the kernel's first barrier.
  static __device__ __forceinline__ void init_barriers(SharedMemBarrier* barriers) {
    Pipeline(barriers).init_barriers(kProducerArrivals, kConsumerArrivals);
  }

  /// The MMA warp's side, as scopes of one tile. Defined in output_role_views.cuh.
  __device__ OutputProducer<opc> producer();
  /// The epilogue's side, as scopes of one tile. Defined in output_role_views.cuh.
  __device__ OutputConsumer<opc> consumer();
  /// Both sides as scopes of one K block. Defined in chapter 4's output_k_pipeline.cuh.
  __device__ OutputKPipeline<opc> per_k();

  /// Whole MMA warp: waits until the epilogue has read the next accumulator.
  __device__ __forceinline__ Stage acquire_for_mma() {
    if constexpr (opc.cta_group == 2) {
      pipeline.wait_consumer_cluster();  // the peer's epilogue arrives too
    } else {
      pipeline.wait_consumer();
    }
    ptx::tcgen05_fence_after_thread_sync();
    return stage_at(pipeline.producer_stage());
  }

  /// Whole MMA warp: one elected lane commits its MMAs to full[index], then all lanes step.
  __device__ __forceinline__ void release_from_mma(const Stage& stage) {
    // >>> exercise 3.3 "Hand an accumulator to the epilogue"
    if (ptx::elect_one()) mma_arrive(stage);
    pipeline.producer_step();
    // <<< exercise 3.3
  }

  /// Every epilogue thread: waits until the next accumulator is complete.
  __device__ __forceinline__ Stage acquire_for_epilogue() {
    if constexpr (opc.cta_group == 2) {
      pipeline.wait_producer_cluster();  // the leader's commit arrives in both CTAs
    } else {
      pipeline.wait_producer();
    }
    ptx::tcgen05_fence_after_thread_sync();
    return stage_at(pipeline.consumer_stage());
  }

  /// Epilogue threads: steps; says nothing to the MMA warp (`epilogue_arrive` does).
  __device__ __forceinline__ void release_from_epilogue() { pipeline.consumer_step(); }

  /// The lane that issued the MMAs: full[index] completes when they do.
  __device__ __forceinline__ void mma_arrive(const Stage& stage) const {
    const uint32_t full = pipeline.producer_mbar(stage.index)->address();
    if constexpr (opc.cta_group == 1) {
      ptx::tcgen05_commit<1>(full);
    } else {
      ptx::tcgen05_commit_multicast<2>(full, mma_complete_mask);
    }
  }

  /// Every epilogue thread, after the `wait_load` of its last read of the accumulator: one
  /// arrival on empty[index], in cta_group 2 on the leader's. It publishes nothing: the fence
  /// orders the reads of tensor memory, and the thread need not wait for anything else.
  static __device__ __forceinline__ void epilogue_arrive(const Stage& stage) {
    ptx::tcgen05_fence_before_thread_sync();
    stage.pipeline->consumer_mbar(stage.index)
        ->template arrive_on_leader_as_reader<opc.cta_group>();
  }

 private:
  __device__ __forceinline__ Stage stage_at(uint32_t index) {
    return Stage{index, TmemStage<opc>{tmem.addr, index}, &pipeline};
  }
};

}  // namespace bw
