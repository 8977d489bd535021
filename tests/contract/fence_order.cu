/// \file
/// Kernels that each are one member of the contract, for fence_order_test.py to read their PTX.
/// They are compiled, never run.
#include "common/device/scale_block.cuh"
#include "solutions/03_warp_contexts/epilogue_warp_context.cuh"
#include "solutions/03_warp_contexts/mma_warp_context.cuh"
#include "solutions/04_per_k_contexts/epilogue_k_context.cuh"
#include "solutions/04_per_k_contexts/input_tile_pipeline.cuh"
#include "solutions/05_blockwise_fp8_gemm/clc_tile_scheduler.cuh"

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
extern "C" __global__ void acquire_for_epilogue_of_a_pair(SharedMemBarrier* barriers) {
  output_over<2>(barriers).acquire_for_epilogue();
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

using Payload = BlockwiseFp8TilePayload<128, 128>;
template <int CtaGroup>
__device__ InputTilePipeline<Payload, kInputStages, 1, CtaGroup> input_over(
    SharedMemBarrier* barriers) {
  return {ProducerConsumerPipeline<kInputStages>(barriers), Payload{}};
}
extern "C" __global__ void wait_for_input(SharedMemBarrier* barriers) {
  input_over<1>(barriers).wait_full_if_needed(false);
}
extern "C" __global__ void wait_for_input_of_a_pair(SharedMemBarrier* barriers) {
  input_over<2>(barriers).wait_full_if_needed(false);
}
extern "C" __global__ void try_input_of_a_pair(SharedMemBarrier* barriers, bool* ready) {
  *ready = input_over<2>(barriers).try_wait_full();
}

// What launch control tells: the slots of other CTAs are read, then written by a request of theirs.
template <int cluster_size>
using Scheduler = ClcTileScheduler<2, 128, cluster_size, cluster_size>;
extern "C" __global__ void take_answer(SharedMemBarrier* barriers,
                                       ptx::LaunchControlResponse* slots, TileRaster raster,
                                       WorkTile* tile) {
  Scheduler<1> scheduler(barriers, slots, raster);
  scheduler.next(*tile);
  scheduler.next(*tile);
}
extern "C" __global__ void take_answer_in_a_cluster(SharedMemBarrier* barriers,
                                                    ptx::LaunchControlResponse* slots,
                                                    TileRaster raster, WorkTile* tile) {
  Scheduler<2> scheduler(barriers, slots, raster);
  scheduler.next(*tile);
  scheduler.next(*tile);
}
extern "C" __global__ void ask_for_a_cluster(SharedMemBarrier* barriers,
                                             ptx::LaunchControlResponse* slots, TileRaster raster) {
  Scheduler<2>(barriers, slots, raster).publish_all();
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
