/// \file
/// The starting point: what a reader knows. One warp copies a tile, four warps sum it, and all five
/// meet at __syncthreads twice a tile: once because it is full, once because it is empty.

#include "solutions/01_mbarrier_pipeline/labs/column_sums_lab.cuh"

namespace bw {

__global__ void meet_at_syncthreads(const __grid_constant__ ColumnSumArguments args) {
  __shared__ MatrixTile tile;
  const int64_t begin = clock64();
  float sum = 0.0f;
  for (uint32_t t = 0; t < kLabTiles; ++t) {
    if (is_copy_warp()) PlainCopy::copy_rows(args, TileRegion::of(args, t), tile);
    __syncthreads();  // the tile is full
    if (!is_copy_warp()) sum = add_column(tile, sum);
    __syncthreads();  // the tile is empty
  }
  if (!is_copy_warp()) write_sum(args, sum, begin);
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("Column sums: all warps meet at __syncthreads for each tile.");
  return bw::run_main(command_line, "lab_01_syncthreads", argc, argv, [] {
    return bw::run_column_sums_lab({.kernel = bw::meet_at_syncthreads, .shared_bytes = 0});
  });
}
