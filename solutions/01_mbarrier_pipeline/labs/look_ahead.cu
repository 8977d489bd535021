/// \file
/// New: a summing warp asks for the next tile before it sums this one. If it is there already, the
/// wait at the loop's top is left out.

#include "solutions/01_mbarrier_pipeline/labs/column_sums_lab.cuh"

namespace {

constexpr int kStages = 4;
using Pipeline = bw::ProducerConsumerPipeline<kStages>;
using Storage = bw::StreamStorage<kStages>;

/// A summing thread's loop. The step comes before the question: it names the next stage.
__device__ float sum_tiles(Pipeline pipeline, const Storage& shared) {
  float sum = 0.0f;
  bool ready = false;
  for (uint32_t t = 0; t < bw::kLabTiles; ++t) {
    pipeline.wait_producer_if_needed(ready);
    const uint32_t stage = pipeline.consumer_stage();
    pipeline.consumer_step();
    ready = t + 1 < bw::kLabTiles && pipeline.try_wait_producer();
    sum = bw::add_column(shared.tiles[stage], sum);
    bw::ptx::fence_proxy_async_shared();
    pipeline.consumer_mbar(stage)->arrive();
  }
  return sum;
}

__global__ void look_ahead(const __grid_constant__ bw::ColumnSumArguments args) {
  extern __shared__ __align__(128) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<Storage*>(dynamic_shared);
  Pipeline pipeline(shared.barriers);
  if (threadIdx.x == 0) {
    pipeline.init_barriers(bw::TensorCopy::kProducerArrivals, bw::StreamRoles::kConsumerThreads);
    bw::ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (bw::is_copy_warp()) {
    return bw::produce_tiles<bw::TensorCopy>(pipeline, shared, args, bw::kLabTiles);
  }
  const int64_t begin = clock64();
  bw::write_sum(args, sum_tiles(pipeline, shared), begin);
}

}  // namespace

int main(int argc, char** argv) {
  const bw::CommandLine command_line("Column sums: each tile is asked for one tile ahead.");
  return bw::run_main(command_line, "lab_01_look_ahead", argc, argv, [] {
    return bw::run_column_sums_lab({.kernel = look_ahead, .shared_bytes = sizeof(Storage)});
  });
}
