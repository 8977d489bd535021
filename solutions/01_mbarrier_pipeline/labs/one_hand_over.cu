/// \file
/// New: the copying warp says "full" to an mbarrier and goes on; only the summing warps wait.
/// Every tile has memory and a barrier of its own, so that each barrier is used once, in phase 0.

#include "solutions/01_mbarrier_pipeline/labs/column_sums_lab.cuh"

namespace bw {

struct Storage {
  MatrixTile tiles[kLabTiles];
  SharedMemBarrier full[kLabTiles];
};

__global__ void hand_over_once(const __grid_constant__ ColumnSumArguments args) {
  extern __shared__ __align__(128) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<Storage*>(dynamic_shared);
  if (threadIdx.x == 0) {
    for (auto& barrier : shared.full) barrier.init(ptx::kWarpThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (is_copy_warp()) {
    for (uint32_t t = 0; t < kLabTiles; ++t) {
      PlainCopy::copy_rows(args, TileRegion::of(args, t), shared.tiles[t]);
      shared.full[t].arrive();  // each of the 32 lanes, after its own stores
    }
    return;
  }
  const int64_t begin = clock64();
  float sum = 0.0f;
  for (uint32_t t = 0; t < kLabTiles; ++t) {
    constexpr uint32_t kFirstPhase = 0;
    shared.full[t].wait(kFirstPhase);
    sum = add_column(shared.tiles[t], sum);
  }
  write_sum(args, sum, begin);
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("Column sums: an mbarrier for each tile, used once.");
  return bw::run_main(command_line, "lab_01_one_hand_over", argc, argv, [] {
    return bw::run_column_sums_lab(
        {.kernel = bw::hand_over_once, .shared_bytes = sizeof(bw::Storage)});
  });
}
