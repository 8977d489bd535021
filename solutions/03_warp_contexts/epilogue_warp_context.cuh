#pragma once
/// \file
/// The epilogue warps' life (contract, chapter 3).

#include <cstdint>

#include "solutions/03_warp_contexts/warp_context_types.cuh"

namespace bw {

template <OutputPipelineConfig opc, int NumInputStages>
class EpilogueKContext;  // chapter 4
struct KGroupPlace;      // chapter 4

/// Scope of the epilogue's warps, four or two groups of four: the consumer's side of the
/// accumulator ring.
///
///     before create: Sync::wait(), or the TMEM address in shared memory is garbage
///     enter: nothing
///     exit:  every thread tells the MMA warp that it has read its last accumulator
///
/// All epilogue threads construct and destroy it together.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
class [[nodiscard]] EpilogueWarpContext
    : public WarpContextParts<opc, mma_threads, epilogue_threads> {
  using Parts = WarpContextParts<opc, mma_threads, epilogue_threads>;

 public:
  using typename Parts::Dealloc;   ///< the barrier that ends the life of tensor memory
  using typename Parts::Pipeline;  ///< the ring below
  /// The barrier after which the address of tensor memory may be read.
  using typename Parts::Sync;
  using typename Parts::Tmem;  ///< the allocation of tensor memory

  /// After `Sync::wait()`: reads the TMEM address from `tmem_addr_storage`, builds the pipeline
  /// over the same barriers as the MMA warp's, and enters.
  static __device__ __forceinline__ EpilogueWarpContext create(const uint32_t* tmem_addr_storage,
                                                               SharedMemBarrier* accum_barriers_ptr,
                                                               SharedMemBarrier* dealloc_mbar,
                                                               uint16_t mma_complete_mask) {
    const Tmem tmem = Tmem::from_shared(tmem_addr_storage);
    return EpilogueWarpContext(tmem,
                               Parts::pipeline_over(accum_barriers_ptr, tmem, mma_complete_mask),
                               Dealloc{dealloc_mbar});
  }

  /// From ready-made parts; enters.
  __device__ __forceinline__ EpilogueWarpContext(const Tmem& tmem, const Pipeline& output_pipeline,
                                                 const Dealloc& dealloc_barrier)
      : Parts(tmem, output_pipeline, dealloc_barrier) {}
  __device__ __forceinline__ ~EpilogueWarpContext() { this->dealloc_barrier().signal_complete(); }

  /// Scope of one K block: waits for its accumulator and its A-scales; at its end both are
  /// released. `input_pipeline` is an InputTilePipeline, whose consumer's side the threads step.
  /// Defined with EpilogueKContext, in solutions/04_per_k_contexts/epilogue_k_context.cuh.
  template <class InputPipeline>
  __device__ EpilogueKContext<opc, InputPipeline::kNumGroupStages> per_k_stage(
      InputPipeline& input_pipeline);
  /// The same for stages of several K blocks: `place` is this block's in its stage.
  template <class InputPipeline>
  __device__ EpilogueKContext<opc, InputPipeline::kNumGroupStages> per_k_stage(
      InputPipeline& input_pipeline, KGroupPlace place);
};

}  // namespace bw
