/// \file
/// New: no thread touches the operands. Two tensor copies bring them, swizzled on the way, and the
/// lane that multiplies waits for their bytes.

#include "solutions/02_tmem_lifecycle/labs/mma_lab.cuh"
#include "solutions/02_tmem_lifecycle/labs/swizzled_operand.cuh"

namespace bw {

using Tmem = TmemAllocation<1, kLabColumns>;

__global__ void loaded_by_tma(const __grid_constant__ MmaLabArguments args) {
  __shared__ OperandTile<kLabRows> a;
  __shared__ OperandTile<kLabColumns> b;
  __shared__ SharedMemBarrier loaded, done;
  __shared__ uint32_t tmem_address;
  const int64_t begin = clock64();
  const bool first_warp = threadIdx.x < ptx::kWarpThreads;
  if (first_warp) Tmem::allocate(&tmem_address);
  if (threadIdx.x == 0) {
    loaded.init(1);
    done.init(1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  const Tmem tmem = Tmem::from_shared(&tmem_address);
  if (first_warp && ptx::elect_one()) {
    loaded.arrive_and_expect_bytes(sizeof a + sizeof b);
    ptx::tma_load_2d(ptx::shared_address(&a), &args.a_map, loaded.address(), 0, 0);
    ptx::tma_load_2d(ptx::shared_address(&b), &args.b_map, loaded.address(), 0, 0);
    loaded.wait(0);
    multiply_swizzled<1>(tmem.addr, a.bytes, b.bytes);
    ptx::tcgen05_commit<1>(done.address());
  }
  done.wait(0);
  ptx::tcgen05_fence_after_thread_sync();
  write_d(args, TmemAddress{tmem.addr}, begin);

  meet_at_tensor_memory();
  if (first_warp) {
    tmem.release_lock();
    tmem.deallocate();
  }
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("Four MMAs on operands that tensor copies bring.");
  return bw::run_main(command_line, "lab_02_loaded_by_tma", argc, argv,
                      [] { return bw::run_mma_lab({.kernel = bw::loaded_by_tma}); });
}
