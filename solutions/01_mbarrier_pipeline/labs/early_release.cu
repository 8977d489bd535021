/// \file
/// New: work on the tile that takes longer than reading it. A stage is given back when it has been
/// read, not when the work is done: the ring of one refills during the work.

#include "solutions/01_mbarrier_pipeline/labs/column_sums_lab.cuh"

namespace bw {

constexpr int kStages = 1;
constexpr int kWorkSteps = 24;
constexpr float kWorkFactor = 0.75f;
using Pipeline = ProducerConsumerPipeline<kStages>;
using Storage = StreamStorage<kStages>;

/// What is summed in this lab: x · (1 + f + f² + …), by a chain of FMAs.
__device__ float work_on(float x) {
  float y = x;
#pragma unroll
  for (int step = 0; step < kWorkSteps; ++step) y = fmaf(y, kWorkFactor, x);
  return y;
}

/// The same in float64, on the host.
double work_in_float64(double x) {
  double y = x;
  for (int step = 0; step < kWorkSteps; ++step) y = y * kWorkFactor + x;
  return y;
}

/// A summing thread's loop.
__device__ float sum_tiles(Pipeline pipeline, const Storage& shared) {
  float sum = 0.0f;
  for (uint32_t t = 0; t < kLabTiles; ++t) {
    // >>> exercise 1.9 "Give back early"
    auto stage = pipeline.acquire_consumer();
    const MatrixTile& tile = shared.tiles[stage.index()];
    float values[kTileRows];
#pragma unroll
    for (int row = 0; row < kTileRows; ++row) values[row] = tile.values[row][threadIdx.x];
    ptx::fence_proxy_async_shared();
    stage.release();
#pragma unroll
    for (const float value : values) sum += work_on(value);
    // <<< exercise 1.9
  }
  return sum;
}

__global__ void release_early(const __grid_constant__ ColumnSumArguments args) {
  extern __shared__ __align__(128) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<Storage*>(dynamic_shared);
  Pipeline pipeline(shared.barriers);
  if (threadIdx.x == 0) {
    pipeline.init_barriers(TensorCopy::kProducerArrivals, StreamRoles::kConsumerThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (is_copy_warp()) {
    return produce_tiles<TensorCopy>(pipeline, shared, args, kLabTiles);
  }
  const int64_t begin = clock64();
  write_sum(args, sum_tiles(pipeline, shared), begin);
}

}  // namespace bw

int main(int argc, char** argv) {
  // Each rounding is at most 2^-24 of the result and shrinks by the factor at every later step.
  constexpr double kChainError = 0x1p-24 / (1 - bw::kWorkFactor);
  const bw::CommandLine command_line("Sums of work on a matrix: stages are released when read.");
  return bw::run_main(command_line, "lab_01_early_release", argc, argv, [] {
    return bw::run_column_sums_lab({.kernel = bw::release_early,
                                    .shared_bytes = sizeof(bw::Storage),
                                    .value = bw::work_in_float64,
                                    .value_error = kChainError});
  });
}
