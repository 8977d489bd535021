/// \file
/// Lab: one product by wgmma. A warpgroup begins with C in its registers, adds A · Bᵀ by one wgmma
/// (`--k 32`) or four (`--k 128`), and waits for them.

#include "solutions/06_hopper_fp8_gemm/labs/wgmma_lab.cuh"

namespace bw::hopper::lab {

/// `columns`: of A and B, 32 for each wgmma.
template <uint32_t columns>
__global__ __launch_bounds__(kWarpgroupThreads) void one_wgmma(
    const __grid_constant__ WgmmaLabArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  __shared__ SharedMemBarrier loaded;
  auto* block = reinterpret_cast<KBlock<1>*>(dynamic_shared);
  load_blocks(block, 1, loaded, args);

  const uint32_t a = wgmma_descriptor_low(ptx::shared_address(block->a));
  const uint32_t b = wgmma_descriptor_low(ptx::shared_address(block->b));
  Fragment sum;
  read_c(args, sum);
  const int64_t begin = clock64();
  ptx::wgmma_hold(sum);
  // >>> exercise 6.1 "One product by wgmma"
  // Add A * B^T to `sum`: columns / kMmaK times ptx::wgmma_e4m3, and what has to come
  // before the first of them and after the last.
  BW_EXERCISE_NOT_DONE("6.1", "One product by wgmma");
  // <<< exercise 6.1
  ptx::wgmma_hold(sum);
  write_d(args, sum, begin);
}

}  // namespace bw::hopper::lab

int main(int argc, char** argv) {
  using namespace bw::hopper::lab;
  int four = 0;
  bw::CommandLine command_line("Products of 64 x 128 by wgmma, added to C.");
  command_line.add("k", four, {"32", "128"}, "columns of A and B: for one wgmma, or for four");
  return bw::run_main(command_line, "lab_06_one_wgmma", argc, argv, [&] {
    return run_wgmma_lab({.kernel = four ? one_wgmma<kBlockK> : one_wgmma<kMmaK>,
                          .shared_bytes = sizeof(KBlock<1>),
                          .k = four ? kBlockK : kMmaK});
  });
}
