/// \file
/// New: two roles made of one loop. Where all warps copied, waited and summed in turn, one warp
/// fills the ring of three stages and four empty it.

#include "solutions/01_mbarrier_pipeline/labs/column_sums_lab.cuh"

namespace bw {

constexpr int kStages = 3;
using Pipeline = ProducerConsumerPipeline<kStages>;
using Storage = StreamStorage<kStages>;

/// All warps: a thread's sum of its column; 0 in the copying warp.
__device__ float sum_band(Pipeline pipeline, Storage& shared, const ColumnSumArguments& args) {
  float sum = 0.0f;
  // >>> exercise 1.10 "Two roles from one loop"
  if (is_copy_warp()) {
    for (uint32_t t = 0; t < kLabTiles; ++t) {
      auto stage = pipeline.produce();
      TensorCopy::fill(args, TileRegion::of(args, t), shared.tiles[stage.index()], stage.mbar());
    }
  } else {
    for (uint32_t t = 0; t < kLabTiles; ++t) {
      auto stage = pipeline.consume();
      sum = add_column(shared.tiles[stage.index()], sum);
      ptx::fence_proxy_async_shared();
    }
  }
  // <<< exercise 1.10
  return sum;
}

__global__ void from_one_loop(const __grid_constant__ ColumnSumArguments args) {
  extern __shared__ __align__(128) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<Storage*>(dynamic_shared);
  Pipeline pipeline(shared.barriers);
  if (threadIdx.x == 0) {
    pipeline.init_barriers(TensorCopy::kProducerArrivals, StreamRoles::kConsumerThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  const int64_t begin = clock64();
  const float sum = sum_band(pipeline, shared, args);
  if (!is_copy_warp()) write_sum(args, sum, begin);
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("Column sums: two roles made of one loop.");
  return bw::run_main(command_line, "lab_01_from_one_loop", argc, argv, [] {
    return bw::run_column_sums_lab(
        {.kernel = bw::from_one_loop, .shared_bytes = sizeof(bw::Storage)});
  });
}
