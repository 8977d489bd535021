/// \file
/// New: two tiles in turn, each with its full and its empty barrier. While four warps sum one tile,
/// the copying warp fills the other. The lap now counts rounds of the ring, not tiles.

#include "solutions/01_mbarrier_pipeline/labs/column_sums_lab.cuh"

namespace bw {

constexpr uint32_t kStages = 2;

__global__ void ring_of_two(const __grid_constant__ ColumnSumArguments args) {
  __shared__ MatrixTile tiles[kStages];
  __shared__ SharedMemBarrier full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (auto& barrier : full) barrier.init(ptx::kWarpThreads);
    for (auto& barrier : empty) barrier.init(StreamRoles::kConsumerThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (is_copy_warp()) {
    for (uint32_t t = 0; t < kLabTiles; ++t) {
      const uint32_t stage = t % kStages, lap = t / kStages;
      empty[stage].wait((lap & 1) ^ 1);
      PlainCopy::copy_rows(args, TileRegion::of(args, t), tiles[stage]);
      full[stage].arrive();
    }
    return;
  }
  const int64_t begin = clock64();
  float sum = 0.0f;
  for (uint32_t t = 0; t < kLabTiles; ++t) {
    const uint32_t stage = t % kStages, lap = t / kStages;
    full[stage].wait(lap & 1);
    sum = add_column(tiles[stage], sum);
    empty[stage].arrive();
  }
  write_sum(args, sum, begin);
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("Column sums: a ring of two tiles.");
  return bw::run_main(command_line, "lab_01_ring_of_two", argc, argv, [] {
    return bw::run_column_sums_lab({.kernel = bw::ring_of_two, .shared_bytes = 0});
  });
}
