/// \file
/// Lab: one warpgroup with two products in turn. New compared with one_wgmma: each product is
/// promoted, and while that happens, the MMAs of the next one run. With `--products 1` they don't.

#include "solutions/06_hopper_fp8_gemm/labs/wgmma_lab.cuh"

namespace bw::hopper::lab {

/// A lap: as many products as its code is unrolled for. A longer one would not stay in an SM's
/// instruction cache, and would take as long as its instructions take to arrive.
constexpr uint32_t kProducts = 8;
constexpr uint32_t kTimedLaps = 4;
constexpr uint32_t kLaps = 1 + kTimedLaps;  ///< the first one fetches the instructions

/// `products`: that are in flight, 1 or 2.
template <int products>
__global__ __launch_bounds__(kWarpgroupThreads) void two_products(
    const __grid_constant__ WgmmaLabArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  __shared__ SharedMemBarrier loaded;
  auto* blocks = reinterpret_cast<KBlock<1>*>(dynamic_shared);
  load_blocks(blocks, kLabBlocks, loaded, args);

  const auto begin_block = [&](Fragment& product, uint32_t i) {
    const KBlock<1>& block = blocks[i % kLabBlocks];
    begin_product(product, wgmma_descriptor_low(ptx::shared_address(block.a)),
                  wgmma_descriptor_low(ptx::shared_address(block.b)));
  };
  const auto scale = [&](uint32_t i) { return args.scales[i % kLabBlocks]; };
  Fragment sum, even;
  [[maybe_unused]] Fragment odd;
  read_c(args, sum);
  int64_t begin = 0;
#pragma unroll 1
  for (uint32_t lap = 0; lap < kLaps; ++lap) {
    if (lap == kLaps - kTimedLaps) begin = clock64();
    if constexpr (products == 1) {
      for (uint32_t i = 0; i < kProducts; ++i) {
        begin_block(even, i);
        ptx::wgmma_wait_group<0>();
        promote(sum, even, scale(i));
      }
    } else {
      // >>> exercise 6.2 "Two products in flight"
      begin_block(even, 0);
#pragma unroll
      for (uint32_t i = 0; i + 2 < kProducts; i += 2) {
        begin_block(odd, i + 1);
        ptx::wgmma_wait_group<1>();
        promote(sum, even, scale(i));
        begin_block(even, i + 2);
        ptx::wgmma_wait_group<1>();
        promote(sum, odd, scale(i + 1));
      }
      begin_block(odd, kProducts - 1);
      ptx::wgmma_wait_group<1>();
      promote(sum, even, scale(kProducts - 2));
      ptx::wgmma_wait_group<0>();
      promote(sum, odd, scale(kProducts - 1));
      // <<< exercise 6.2
    }
  }
  write_d(args, sum, begin);
}

}  // namespace bw::hopper::lab

int main(int argc, char** argv) {
  using namespace bw::hopper::lab;
  int two = 1;
  bw::CommandLine command_line("A warpgroup that promotes one product during the next.");
  command_line.add("products", two, {"1", "2"}, "products in flight");
  return bw::run_main(command_line, "lab_06_two_products", argc, argv, [&] {
    return run_wgmma_lab({.kernel = two ? two_products<2> : two_products<1>,
                          .products = kLaps * kProducts,
                          .shared_bytes = kLabBlocks * sizeof(KBlock<1>),
                          .is_scaled = true});
  });
}
