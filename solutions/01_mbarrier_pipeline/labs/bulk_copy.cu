/// \file
/// New: the copying warp moves no bytes any more. Each lane asks the copy engine for one row, and
/// `full` completes when the announced bytes have arrived. The ring is the chapter's type now.

#include "solutions/01_mbarrier_pipeline/labs/column_sums_lab.cuh"

namespace bw {

constexpr int kStages = 2;
using Pipeline = ProducerConsumerPipeline<kStages>;

/// The copying warp: one arrival a stage, by one lane, with the bytes of all 32 copies.
__device__ void copy_tiles(Pipeline pipeline, MatrixTile* tiles, const ColumnSumArguments& args) {
  constexpr uint32_t kRowBytes = kTileColumns * sizeof(float);
  const uint32_t row = threadIdx.x % ptx::kWarpThreads;
  for (uint32_t t = 0; t < kLabTiles; ++t) {
    auto stage = pipeline.produce();
    if (ptx::elect_one()) stage.mbar()->arrive_and_expect_bytes(sizeof(MatrixTile));
    __syncwarp();
    ptx::bulk_load(ptx::shared_address(tiles[stage.index()].values[row]),
                   TileRegion::of(args, t).first_of_row(args, row), kRowBytes,
                   stage.mbar()->address());
  }
}

__global__ void copy_rows_in_bulk(const __grid_constant__ ColumnSumArguments args) {
  __shared__ MatrixTile tiles[kStages];
  __shared__ SharedMemBarrier barriers[Pipeline::kNumBarriers];
  Pipeline pipeline(barriers);
  if (threadIdx.x == 0) {
    pipeline.init_barriers(1, StreamRoles::kConsumerThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (is_copy_warp()) return copy_tiles(pipeline, tiles, args);
  const int64_t begin = clock64();
  float sum = 0.0f;
  for (uint32_t t = 0; t < kLabTiles; ++t) {
    auto stage = pipeline.consume();
    sum = add_column(tiles[stage.index()], sum);
    ptx::fence_proxy_async_shared();  // the copy engine will overwrite what was read
  }
  write_sum(args, sum, begin);
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("Column sums: the copy engine brings rows.");
  return bw::run_main(command_line, "lab_01_bulk_copy", argc, argv, [] {
    return bw::run_column_sums_lab({.kernel = bw::copy_rows_in_bulk, .shared_bytes = 0});
  });
}
