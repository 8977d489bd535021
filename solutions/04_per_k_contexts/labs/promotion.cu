/// \file
/// Lab: why every K block is promoted. The tensor core adds the products of codes; the scales come
/// afterwards. If the K blocks have scales of their own, a sum over all of them can't be scaled any
/// more: once with one accumulator for the whole of K, once with a sum in registers to which every
/// K block is added with its own scales.
///
/// New compared with chapter 3: the epilogue has work in every K block, not only at the end.

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "solutions/03_warp_contexts/k_block_mma.cuh"
#include "solutions/04_per_k_contexts/labs/lab_run.hpp"

namespace bw {

constexpr int kTile = 128;            ///< rows of A, of B, and bytes of K
constexpr uint32_t kThreads = kTile;  ///< thread t takes row t

struct alignas(1024) PromotionStorage {
  uint8_t a[kTile * kTile];
  uint8_t b[kTile * kTile];
  SharedMemBarrier loaded, multiplied;
  uint32_t tmem_address;
};

/// One thread: loads K block `k_block`, multiplies it, waits until the product is there.
__device__ void multiply_block(const BlockwiseTileArguments& args, PromotionStorage& shared,
                               uint32_t d_tmem, uint32_t k_block, bool accumulate) {
  const uint32_t parity = k_block & 1, loaded = shared.loaded.address();
  const int32_t k = k_block * kTile;
  shared.loaded.arrive_and_expect_bytes(sizeof(shared.a) + sizeof(shared.b));
  ptx::tma_load_2d(ptx::shared_address(shared.a), &args.a, loaded, k, blockIdx.x * kTile);
  ptx::tma_load_2d(ptx::shared_address(shared.b), &args.b, loaded, k, /*y=*/0);
  shared.loaded.wait(parity);
  multiply_k_block<kTile, kTile, 1>(d_tmem, shared.a, shared.b, accumulate);
  ptx::tcgen05_commit<1>(shared.multiplied.address());
  shared.multiplied.wait(parity);
}

/// All threads: a barrier on both sides of which they use tensor memory.
__device__ void meet() {
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
}

/// One CTA per 128 rows of D, which has at most 128 columns. With `promote`, every K block is
/// scaled and added by itself; without, the sum over all of them is scaled by the first block's
/// scales.
template <bool promote>
__global__ __launch_bounds__(kThreads) void promotion_kernel(
    const __grid_constant__ BlockwiseTileArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<PromotionStorage*>(dynamic_shared);
  const bool first_warp = threadIdx.x < ptx::kWarpThreads;
  if (first_warp) {
    if (ptx::elect_one()) {
      shared.loaded.init(1);
      shared.multiplied.init(1);
      ptx::fence_mbarrier_init();
    }
    __syncwarp();
    TmemAllocation<1>::allocate(&shared.tmem_address);
  }
  __syncthreads();
  const auto tmem = TmemAllocation<1>::from_shared(&shared.tmem_address);
  const uint32_t row = blockIdx.x * kTile + threadIdx.x;

  float sum[kTile] = {};
  for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
    if (first_warp) {
      if (ptx::elect_one()) {
        multiply_block(args, shared, tmem.addr, k_block, /*accumulate=*/!promote && k_block > 0);
      }
      __syncwarp();
    }
    meet();  // the product is there
    if (promote || k_block + 1 == args.k_blocks) {
      const uint32_t scale_block = promote ? k_block : 0;
      const float a_scale = row < args.d.rows ? args.a_scale_rows.at(row, scale_block) : 0.0f;
      const float scale = a_scale * args.b_scales.pair_at<kTile>(/*column=*/0, scale_block).first;
      float part[kTile];
      TmemAddress{tmem.addr}.load_32x32b(part);
      TmemAddress::wait_load(part);
#pragma unroll
      for (int i = 0; i < kTile; ++i) sum[i] = fmaf(part[i], scale, sum[i]);
    }
    meet();  // the product is read: the next may overwrite it
  }
  write_output_row<kTile>(args.d, row, /*column=*/0, sum);
  if (first_warp) {
    tmem.release_lock();
    tmem.deallocate();
  }
}

}  // namespace bw

int main(int argc, char** argv) {
  using bw::kTile;
  constexpr bw::CtaTile kCta{.rows = kTile, .columns = kTile, .b_rows = kTile};
  constexpr uint32_t kBytes = sizeof(bw::PromotionStorage);
  bw::LabOptions options;
  bw::CommandLine command_line("One accumulator for the whole of K, or one promoted sum.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_04_promotion", argc, argv, [&] {
    bw::require(options.n <= kTile, "--n ", options.n,
                ": this lab has one column of tiles; give"
                " at most 128.");
    const bw::BlockwiseProblem problem = bw::begin_lab(options, "one thread multiplies");
    bw::show_wrong(
        "one sum over K, the first block's scales",
        bw::compare_lab(problem, bw::run_blockwise_tiles(problem, {bw::promotion_kernel<false>,
                                                                   bw::kThreads, kBytes, kCta})));
    return bw::run_lab(problem, {bw::promotion_kernel<true>, bw::kThreads, kBytes, kCta});
  });
}
