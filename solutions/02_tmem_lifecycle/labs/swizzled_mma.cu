/// \file
/// New: the 128-byte swizzle. Rows stay whole, 128 bytes each, and their 16-byte chunks change
/// places; the descriptor says so. K = 128 is one row: four MMAs.

#include "solutions/02_tmem_lifecycle/labs/mma_lab.cuh"
#include "solutions/02_tmem_lifecycle/labs/swizzled_operand.cuh"

namespace bw {

using Tmem = TmemAllocation<1, kLabColumns>;

/// One row of an operand from global memory to its place in the tile.
__device__ void put_row(const uint8_t* rows, uint8_t* tile, uint32_t row) {
  for (uint32_t byte = 0; byte < kLabK; byte += kChunkBytes) {
    const uint32_t offset = row * kLabK + byte;
    *reinterpret_cast<uint4*>(tile + swizzled_offset(Swizzle::k128B, offset)) =
        *reinterpret_cast<const uint4*>(rows + offset);
  }
}

__global__ void swizzled_mma(const __grid_constant__ MmaLabArguments args) {
  __shared__ OperandTile<kLabRows> a;
  __shared__ OperandTile<kLabColumns> b;
  __shared__ SharedMemBarrier done;
  __shared__ uint32_t tmem_address;
  const int64_t begin = clock64();
  const bool first_warp = threadIdx.x < ptx::kWarpThreads;
  if (first_warp) Tmem::allocate(&tmem_address);
  if (threadIdx.x == 0) {
    done.init(1);
    ptx::fence_mbarrier_init();
  }
  put_row(args.a, a.bytes, threadIdx.x);
  if (threadIdx.x < kLabColumns) put_row(args.b, b.bytes, threadIdx.x);
  ptx::fence_proxy_async_shared();
  __syncthreads();

  const Tmem tmem = Tmem::from_shared(&tmem_address);
  if (first_warp && ptx::elect_one()) {
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
  const bw::CommandLine command_line("Four MMAs on operands in the 128-byte swizzle.");
  return bw::run_main(command_line, "lab_02_swizzled_mma", argc, argv,
                      [] { return bw::run_mma_lab({.kernel = bw::swizzled_mma}); });
}
