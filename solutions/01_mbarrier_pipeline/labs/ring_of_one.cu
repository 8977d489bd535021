/// \file
/// New: one tile of memory for all tiles, so that its barriers go through a phase per lap. A second
/// barrier, `empty`, tells the copying warp when the tile may be overwritten.

#include "solutions/01_mbarrier_pipeline/labs/column_sums_lab.cuh"

namespace bw {

__global__ void ring_of_one(const __grid_constant__ ColumnSumArguments args) {
  __shared__ MatrixTile tile;
  __shared__ SharedMemBarrier full, empty;
  if (threadIdx.x == 0) {
    full.init(ptx::kWarpThreads);
    empty.init(StreamRoles::kConsumerThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (is_copy_warp()) {
    for (uint32_t lap = 0; lap < kLabTiles; ++lap) {
      empty.wait((lap & 1) ^ 1);  // lap 0 waits on parity 1: a fresh barrier lets it pass
      PlainCopy::copy_rows(args, TileRegion::of(args, lap), tile);
      full.arrive();
    }
    return;
  }
  const int64_t begin = clock64();
  float sum = 0.0f;
  for (uint32_t lap = 0; lap < kLabTiles; ++lap) {
    full.wait(lap & 1);
    sum = add_column(tile, sum);
    empty.arrive();
  }
  write_sum(args, sum, begin);
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("Column sums: one tile, a full and an empty barrier.");
  return bw::run_main(command_line, "lab_01_ring_of_one", argc, argv, [] {
    return bw::run_column_sums_lab({.kernel = bw::ring_of_one, .shared_bytes = 0});
  });
}
