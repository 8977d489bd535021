#pragma once
/// \file
/// The epilogue warps' life (contract, chapter 3).

#include <cstdint>

#include "solutions/03_warp_contexts/warp_context_types.cuh"

namespace bw {

template <OutputPipelineConfig opc, int NumInputStages>
class EpilogueKContext;  // chapter 4

/// Scope of the epilogue's warps (four, or two groups of four): the consumer's side of the accumulator ring.
///
///     before create: Sync::wait(), or the TMEM address in shared memory is garbage
///     enter: nothing
///     exit:  every thread tells the MMA warp that it has read its last accumulator
///
/// All epilogue threads construct and destroy it together.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
class [[nodiscard]] EpilogueWarpContext {
 public:
  using Types = WarpContextTypes<opc, mma_threads, epilogue_threads>;
  using Tmem = typename Types::Tmem;
  using Pipeline = typename Types::Pipeline;
  using Dealloc = typename Types::Dealloc;
  using Sync = typename Types::Sync;

  /// After `Sync::wait()`: reads the TMEM address from `tmem_addr_storage`, builds the pipeline
  /// over the same barriers as the MMA warp's, and enters.
  static __device__ __forceinline__ EpilogueWarpContext create(const uint32_t* tmem_addr_storage,
                                                               SharedMemBarrier* accum_barriers_ptr,
                                                               SharedMemBarrier* dealloc_mbar,
                                                               uint16_t mma_complete_mask) {
    const Tmem tmem = Tmem::from_shared(tmem_addr_storage);
    return EpilogueWarpContext(
        tmem, Pipeline{typename Pipeline::Pipeline(accum_barriers_ptr), tmem, mma_complete_mask},
        Dealloc{dealloc_mbar});
  }

  /// From ready-made parts; enters.
  __device__ __forceinline__ EpilogueWarpContext(const Tmem& tmem, const Pipeline& output_pipeline,
                                                 const Dealloc& dealloc_barrier)
      : tmem_(tmem), output_pipeline_(output_pipeline), dealloc_barrier_(dealloc_barrier) {}
  EpilogueWarpContext(const EpilogueWarpContext&) = delete;
  EpilogueWarpContext& operator=(const EpilogueWarpContext&) = delete;
  __device__ __forceinline__ ~EpilogueWarpContext() { dealloc_barrier_.signal_complete(); }

  __device__ __forceinline__ const Tmem& tmem() const { return tmem_; }
  __device__ __forceinline__ Pipeline& output_pipeline() { return output_pipeline_; }
  __device__ __forceinline__ const Dealloc& dealloc_barrier() const { return dealloc_barrier_; }

  /// Scope of one K block: waits for its accumulator and its A-scales; at its end both are
  /// released. `input_pipeline` is an InputTilePipeline, whose consumer's side the threads step.
  /// Defined with EpilogueKContext, in solutions/04_per_k_contexts/epilogue_k_context.cuh.
  template <class InputPipeline>
  __device__ EpilogueKContext<opc, InputPipeline::kNumGroupStages> per_k_stage(
      InputPipeline& input_pipeline);

 private:
  Tmem tmem_;
  Pipeline output_pipeline_;
  Dealloc dealloc_barrier_;
};

}  // namespace bw
