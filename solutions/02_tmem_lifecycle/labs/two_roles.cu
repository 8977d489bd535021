/// \file
/// New: two roles. A fifth warp owns tensor memory and the tensor core, four warps read D. Nobody
/// meets at __syncthreads any more: a named barrier hands the address over, the commit hands D
/// over, and the dealloc barrier hands the columns back.

#include "solutions/02_tmem_lifecycle/labs/mma_lab.cuh"
#include "solutions/02_tmem_lifecycle/labs/swizzled_operand.cuh"

namespace bw {

constexpr uint32_t kMmaWarp = kLabThreads / ptx::kWarpThreads;
constexpr uint32_t kAllThreads = kLabThreads + ptx::kWarpThreads;
using Tmem = TmemAllocation<1, kLabColumns>;
using TmemReady = WarpGroupBarrier<kAllThreads, 1>;
using Dealloc = TmemDeallocBarrier<1>;

struct Storage {
  OperandTile<kLabRows> a;
  OperandTile<kLabColumns> b;
  SharedMemBarrier loaded, done, dealloc;
  uint32_t tmem_address;
};

/// The fifth warp.
__device__ void load_and_multiply(const MmaLabArguments& args, Storage& shared) {
  const Tmem tmem = Tmem::allocate(&shared.tmem_address);
  TmemReady::arrive();
  if (ptx::elect_one()) {
    shared.loaded.arrive_and_expect_bytes(sizeof shared.a + sizeof shared.b);
    ptx::tma_load_2d(ptx::shared_address(&shared.a), &args.a_map, shared.loaded.address(), 0, 0);
    ptx::tma_load_2d(ptx::shared_address(&shared.b), &args.b_map, shared.loaded.address(), 0, 0);
    shared.loaded.wait(0);
    multiply_swizzled<1>(tmem.addr, shared.a.bytes, shared.b.bytes);
    ptx::tcgen05_commit<1>(shared.done.address());
  }
  __syncwarp();
  Dealloc{&shared.dealloc}.complete_dealloc(tmem);
}

/// Warps 0 to 3.
__device__ void read_d(const MmaLabArguments& args, Storage& shared, int64_t begin) {
  TmemReady::sync();
  const TmemAddress d{Tmem::from_shared(&shared.tmem_address).addr};
  shared.done.wait(0);
  ptx::tcgen05_fence_after_thread_sync();
  write_d(args, d, begin);
  Dealloc{&shared.dealloc}.signal_complete();
}

__global__ void two_roles(const __grid_constant__ MmaLabArguments args) {
  __shared__ Storage shared;
  const int64_t begin = clock64();
  if (threadIdx.x == 0) {
    shared.loaded.init(1);
    shared.done.init(1);
    Dealloc{&shared.dealloc}.init_barrier();
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x / ptx::kWarpThreads == kMmaWarp) return load_and_multiply(args, shared);
  read_d(args, shared, begin);
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("One warp multiplies, four read: no common barrier.");
  return bw::run_main(command_line, "lab_02_two_roles", argc, argv, [] {
    return bw::run_mma_lab({.kernel = bw::two_roles, .threads = bw::kAllThreads});
  });
}
