/// \file
/// New: a summing warp asks for the next tile before it sums this one. If it is there already, the
/// wait at the loop's top is left out.

#include "solutions/01_mbarrier_pipeline/labs/column_sums_lab.cuh"

namespace bw {

/// A summing thread's loop.
template <int num_stages>
__device__ float sum_tiles(ProducerConsumerPipeline<num_stages> pipeline,
                           const StreamStorage<num_stages>& shared) {
  float sum = 0.0f;
  bool ready = false;
  for (uint32_t t = 0; t < kLabTiles; ++t) {
    pipeline.wait_producer_if_needed(ready);
    const uint32_t stage = pipeline.consumer_stage();
    ready = t + 1 < kLabTiles && pipeline.try_wait_producer();
    pipeline.consumer_step();
    sum = add_column(shared.tiles[stage], sum);
    ptx::fence_proxy_async_shared();
    pipeline.consumer_mbar(stage)->arrive();
  }
  return sum;
}

template <int num_stages>
__global__ void look_ahead(const __grid_constant__ ColumnSumArguments args) {
  extern __shared__ __align__(128) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<StreamStorage<num_stages>*>(dynamic_shared);
  ProducerConsumerPipeline<num_stages> pipeline(shared.barriers);
  if (threadIdx.x == 0) {
    pipeline.init_barriers(TensorCopy::kProducerArrivals, StreamRoles::kConsumerThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (is_copy_warp()) return produce_tiles<TensorCopy>(pipeline, shared, args, kLabTiles);
  const int64_t begin = clock64();
  write_sum(args, sum_tiles(pipeline, shared), begin);
}

template <int num_stages>
ExitStatus run_lab() {
  return run_column_sums_lab(
      {.kernel = look_ahead<num_stages>, .shared_bytes = sizeof(StreamStorage<num_stages>)});
}

}  // namespace bw

int main(int argc, char** argv) {
  constexpr bw::ExitStatus (*kRunners[])() = {bw::run_lab<2>, bw::run_lab<4>};
  int stages = 1;  // index of "4"
  bw::CommandLine command_line("Column sums: each tile is asked for one tile ahead.");
  command_line.add("stages", stages, {"2", "4"}, "stages of the ring");
  return bw::run_main(command_line, "lab_01_look_ahead", argc, argv,
                      [&] { return kRunners[stages](); });
}
