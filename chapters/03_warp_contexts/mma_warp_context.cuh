#pragma once
/// \file
/// The MMA warp's life (contract, chapter 3).

#include <cstdint>

#include "common/device/exercise.cuh"
#include "solutions/03_warp_contexts/warp_context_types.cuh"

namespace bw {

template <OutputPipelineConfig opc>
class MmaKStage;  // chapter 4

/// Scope of the MMA warp: owns the tensor memory and the producer's side of the accumulator ring.
///
///     enter: tells the epilogue (Sync) that the TMEM address is in shared memory
///     exit:  waits until every epilogue thread has read its last accumulator, deallocates
///
/// All 32 lanes of the MMA warp construct and destroy it together.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
class [[nodiscard]] MmaWarpContext : public WarpContextParts<opc, mma_threads, epilogue_threads> {
  using Parts = WarpContextParts<opc, mma_threads, epilogue_threads>;

 public:
  using typename Parts::Dealloc;   ///< the barrier that ends the life of tensor memory
  using typename Parts::Pipeline;  ///< the ring below
  /// The barrier after which the address of tensor memory may be read.
  using typename Parts::Sync;
  using typename Parts::Tmem;  ///< the allocation of tensor memory

  /// Allocates tensor memory through the shared word `tmem_addr_storage`, builds the pipeline
  /// over `2 * opc.num_stages` barriers at `accum_barriers_ptr`, and enters.
  static __device__ __forceinline__ MmaWarpContext create(uint32_t* tmem_addr_storage,
                                                          SharedMemBarrier* accum_barriers_ptr,
                                                          SharedMemBarrier* dealloc_mbar,
                                                          uint16_t mma_complete_mask) {
    const Tmem tmem = Tmem::allocate(tmem_addr_storage);
    return MmaWarpContext(tmem, Parts::pipeline_over(accum_barriers_ptr, tmem, mma_complete_mask),
                          Dealloc{dealloc_mbar});
  }

  /// From ready-made parts; enters.
  __device__ __forceinline__ MmaWarpContext(const Tmem& tmem, const Pipeline& output_pipeline,
                                            const Dealloc& dealloc_barrier)
      : Parts(tmem, output_pipeline, dealloc_barrier) {
    Sync::arrive();
  }
  __device__ __forceinline__ ~MmaWarpContext() {
    // >>> exercise 3.4 "The end of tensor memory"
    // Free this->tmem(), which the epilogue may still be reading.
    BW_EXERCISE_NOT_DONE("3.4", "The end of tensor memory");
    // <<< exercise 3.4
  }

  /// Scope of one K block: waits for an empty accumulator; at its end the MMAs are committed.
  /// Defined in solutions/04_per_k_contexts/output_k_pipeline.cuh.
  __device__ MmaKStage<opc> per_k_stage();
};

}  // namespace bw
