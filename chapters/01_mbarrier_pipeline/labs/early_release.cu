/// \file
/// New: work on the tile that takes longer than reading it. A stage is given back when it has been
/// read, not when the work is done: the ring of one refills during the work.

#include "solutions/01_mbarrier_pipeline/labs/column_sums_lab.cuh"

namespace bw {

constexpr int kStages = 1;
constexpr float kWorkFactor = 0.75f;
using Pipeline = ProducerConsumerPipeline<kStages>;
using Storage = StreamStorage<kStages>;

/// What is summed in this lab: x · (1 + f + f² + …), by a chain of FMAs.
template <int work_steps>
struct Work {
  __device__ float operator()(float x) const {
    float y = x;
#pragma unroll
    for (int step = 0; step < work_steps; ++step) y = fmaf(y, kWorkFactor, x);
    return y;
  }

  /// The same in float64, on the host.
  static double in_float64(double x) {
    double y = x;
    for (int step = 0; step < work_steps; ++step) y = y * kWorkFactor + x;
    return y;
  }
};

/// A summing thread's loop.
template <int work_steps>
__device__ float sum_tiles(Pipeline pipeline, const Storage& shared) {
  constexpr Work<work_steps> work_on;
  float sum = 0.0f;
  for (uint32_t t = 0; t < kLabTiles; ++t) {
    // >>> exercise 1.9 "Give back early"
    // Right, but the stage is held until the work on its last row is done.
    auto stage = pipeline.acquire_consumer();
    const MatrixTile& tile = shared.tiles[stage.index()];
    for (int row = 0; row < kTileRows; ++row) {
      sum += work_on(tile.values[row][threadIdx.x]);
    }
    ptx::fence_proxy_async_shared();
    stage.release();
    // <<< exercise 1.9
  }
  return sum;
}

template <int work_steps>
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
  write_sum(args, sum_tiles<work_steps>(pipeline, shared), begin);
}

template <int work_steps>
ExitStatus run_lab() {
  // Each rounding is at most 2^-24 of the result and shrinks by the factor at every later step.
  constexpr double kChainError = 0x1p-24 / (1 - kWorkFactor);
  return run_column_sums_lab({.kernel = release_early<work_steps>,
                              .shared_bytes = sizeof(Storage),
                              .value = Work<work_steps>::in_float64,
                              .value_error = kChainError});
}

}  // namespace bw

int main(int argc, char** argv) {
  constexpr bw::ExitStatus (*kRunners[])() = {bw::run_lab<24>, bw::run_lab<12>};
  int work = 0;  // index of "long"
  bw::CommandLine command_line("Sums of work on a matrix: stages are released when read.");
  command_line.add("work", work, {"long", "short"},
                   "much longer than the copy of a tile, or half of that");
  return bw::run_main(command_line, "lab_01_early_release", argc, argv,
                      [&] { return kRunners[work](); });
}
