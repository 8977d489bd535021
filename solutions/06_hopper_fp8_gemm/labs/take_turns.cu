/// \file
/// Lab: two warpgroups that take turns. New compared with two_products: a warpgroup has one
/// product, and while it promotes that, the other warpgroup's MMAs run. `--order` has two
/// alternatives.

#include "common/device/named_barrier.cuh"
#include "solutions/06_hopper_fp8_gemm/labs/wgmma_lab.cuh"

namespace bw::hopper::lab {

constexpr uint32_t kProducts = 32, kGroups = 2;
constexpr int kLabThreads = kGroups * kWarpgroupThreads;
constexpr int kFirstTurn = 1, kSecondTurn = 2;  ///< named barriers

/// A whole warpgroup: waits until the other one has given it the turn.
__device__ __forceinline__ void wait_for_turn(uint32_t group) {
  if (group == 0) {
    ptx::bar_sync<kFirstTurn, kLabThreads>();
  } else {
    ptx::bar_sync<kSecondTurn, kLabThreads>();
  }
}

/// A whole warpgroup: gives the turn to warpgroup `group`, the other one, and doesn't wait.
__device__ __forceinline__ void give_turn_to(uint32_t group) {
  if (group == 0) {
    ptx::bar_arrive<kFirstTurn, kLabThreads>();
  } else {
    ptx::bar_arrive<kSecondTurn, kLabThreads>();
  }
}

/// When a warpgroup may issue: together with the other one, any time, or when it has the turn.
enum class Order { kInStep, kFree, kTurns };

template <Order order>
__global__ __launch_bounds__(kLabThreads) void take_turns(
    const __grid_constant__ WgmmaLabArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  __shared__ SharedMemBarrier loaded;
  auto* blocks = reinterpret_cast<KBlock<kGroups>*>(dynamic_shared);
  load_blocks(blocks, kLabBlocks, loaded, args);

  const uint32_t group = threadIdx.x / kWarpgroupThreads;
  [[maybe_unused]] const uint32_t other = 1 - group;
  const auto begin_block = [&](Fragment& product, uint32_t i) {
    const KBlock<kGroups>& block = blocks[i % kLabBlocks];
    begin_product(product,
                  wgmma_descriptor_low(ptx::shared_address(block.a) + group * kGroupRows * kBlockK),
                  wgmma_descriptor_low(ptx::shared_address(block.b)));
  };
  const auto scale = [&](uint32_t i) { return args.scales[i % kLabBlocks]; };
  Fragment sum, product;
  read_c(args, sum);
  const int64_t begin = clock64();
  if constexpr (order == Order::kTurns) {
    // >>> exercise 6.3 "Two warpgroups take turns"
    if (group == 1) give_turn_to(other);
    for (uint32_t i = 0; i < kProducts; ++i) {
      wait_for_turn(group);
      begin_block(product, i);
      if (group == 0 || i + 1 < kProducts) give_turn_to(other);
      ptx::wgmma_wait_group<0>();
      promote(sum, product, scale(i));
    }
    // <<< exercise 6.3
  } else {
    for (uint32_t i = 0; i < kProducts; ++i) {
      begin_block(product, i);
      ptx::wgmma_wait_group<0>();
      promote(sum, product, scale(i));
      if constexpr (order == Order::kInStep) __syncthreads();
    }
  }
  write_d(args, sum, begin);
}

}  // namespace bw::hopper::lab

int main(int argc, char** argv) {
  using namespace bw::hopper::lab;
  int order = 2;
  bw::CommandLine command_line("Two warpgroups: one promotes while the other multiplies.");
  command_line.add("order", order, {"step", "free", "turns"},
                   "whether the warpgroups meet after each product, don't wait, or take turns");
  return bw::run_main(command_line, "lab_06_take_turns", argc, argv, [&] {
    constexpr void (*kKernels[])(WgmmaLabArguments) = {
        take_turns<Order::kInStep>, take_turns<Order::kFree>, take_turns<Order::kTurns>};
    return run_wgmma_lab({.kernel = kKernels[order],
                          .groups = kGroups,
                          .products = kProducts,
                          .shared_bytes = kLabBlocks * sizeof(KBlock<kGroups>),
                          .is_scaled = true});
  });
}
