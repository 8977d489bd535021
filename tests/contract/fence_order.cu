/// \file
/// Kernels that each are one member of the contract, for fence_order_test.py to read their PTX.
/// They are compiled, never run.
#include "solutions/03_warp_contexts/epilogue_warp_context.cuh"
#include "solutions/03_warp_contexts/mma_warp_context.cuh"
#include "solutions/04_per_k_contexts/epilogue_k_context.cuh"

namespace bw {

template <int CtaGroup>
constexpr OutputPipelineConfig kOutput{2, 64, CtaGroup};
constexpr int kInputStages = 2;

template <int CtaGroup>
__device__ OutputTilePipeline<kOutput<CtaGroup>> output_over(SharedMemBarrier* barriers) {
  return {ProducerConsumerPipeline<2>(barriers), TmemAllocation<CtaGroup>{0}, 1};
}

extern "C" __global__ void acquire_for_mma(SharedMemBarrier* barriers) {
  output_over<1>(barriers).acquire_for_mma();
}
extern "C" __global__ void acquire_for_mma_of_a_pair(SharedMemBarrier* barriers) {
  output_over<2>(barriers).acquire_for_mma();
}
extern "C" __global__ void acquire_for_epilogue(SharedMemBarrier* barriers) {
  output_over<1>(barriers).acquire_for_epilogue();
}
extern "C" __global__ void epilogue_arrive(SharedMemBarrier* barriers) {
  auto output = output_over<1>(barriers);
  output.epilogue_arrive({0, {0, 0}, &output.pipeline});
}
extern "C" __global__ void epilogue_arrive_of_a_pair(SharedMemBarrier* barriers) {
  auto output = output_over<2>(barriers);
  output.epilogue_arrive({0, {0, 0}, &output.pipeline});
}
extern "C" __global__ void arrive_input(SharedMemBarrier* barriers) {
  auto output = output_over<1>(barriers);
  ProducerConsumerPipeline<kInputStages> input(barriers);
  const EpilogueKStage<kOutput<1>, kInputStages> stage{{0, {0, 0}, &output.pipeline}, 0, &input};
  stage.arrive_input();
}
extern "C" __global__ void signal_complete(SharedMemBarrier* barriers) {
  TmemDeallocBarrier<1>{barriers}.signal_complete();
}
extern "C" __global__ void signal_complete_of_a_pair(SharedMemBarrier* barriers) {
  TmemDeallocBarrier<2>{barriers}.signal_complete();
}
extern "C" __global__ void complete_dealloc(SharedMemBarrier* barriers) {
  TmemDeallocBarrier<1>{barriers}.complete_dealloc(TmemAllocation<1>{0});
}

}  // namespace bw
