/// \file
/// New: the tensor core. Threads lay A and B out in shared memory without a swizzle, one thread
/// issues the MMA (--k 128: four of them), a commit says on an mbarrier when it is done.

#include "solutions/02_tmem_lifecycle/labs/mma_lab.cuh"
#include "solutions/02_tmem_lifecycle/labs/plain_operand.cuh"

namespace bw {

using Tmem = TmemAllocation<1, kLabColumns>;

/// One row of an operand from global memory to its place in the tile.
template <uint32_t k>
__device__ void put_row(const uint8_t* rows, uint8_t* tile, uint32_t row) {
  for (uint32_t byte = 0; byte < k; byte += kChunkBytes) {
    *reinterpret_cast<uint4*>(tile + PlainOperand<k>::offset(row, byte)) =
        *reinterpret_cast<const uint4*>(rows + row * k + byte);
  }
}

/// One lane: the MMAs along K, and the commit that arrives on `done` when they are complete.
template <uint32_t k>
__device__ void multiply(uint32_t d, const uint8_t* a, const uint8_t* b, SharedMemBarrier& done) {
  using Layout = PlainOperand<k>;
  constexpr uint32_t kInstruction = make_e4m3_instruction_descriptor<kLabRows, kLabColumns, 1>();
  constexpr uint32_t kCoresOfMma = kMmaBytes / Layout::kCoreRowBytes;
  const uint64_t a_descriptor = Layout::descriptor(ptx::shared_address(a));
  const uint64_t b_descriptor = Layout::descriptor(ptx::shared_address(b));
  for (uint32_t mma = 0; mma < k / kMmaBytes; ++mma) {
    const uint32_t bytes = mma * kCoresOfMma * Layout::kLeadingBytes;
    ptx::tcgen05_mma_f8f6f4<1>(d, advance_descriptor(a_descriptor, bytes),
                               advance_descriptor(b_descriptor, bytes), kInstruction,
                               /*accumulate=*/mma > 0);
  }
  ptx::tcgen05_commit<1>(done.address());
}

template <uint32_t k>
__global__ void one_mma(const __grid_constant__ MmaLabArguments args) {
  __shared__ alignas(128) uint8_t a[kLabRows * k];
  __shared__ alignas(128) uint8_t b[kLabColumns * k];
  __shared__ SharedMemBarrier done;
  __shared__ uint32_t tmem_address;
  const int64_t begin = clock64();
  const bool first_warp = threadIdx.x < ptx::kWarpThreads;
  if (first_warp) Tmem::allocate(&tmem_address);
  if (threadIdx.x == 0) {
    done.init(1);  // the commit
    ptx::fence_mbarrier_init();
  }
  put_row<k>(args.a, a, threadIdx.x);
  if (threadIdx.x < kLabColumns) put_row<k>(args.b, b, threadIdx.x);
  ptx::fence_proxy_async_shared();  // the tensor core reads by the async proxy
  __syncthreads();

  const Tmem tmem = Tmem::from_shared(&tmem_address);
  if (first_warp && ptx::elect_one()) multiply<k>(tmem.addr, a, b, done);
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
  int k = 0;
  bw::CommandLine command_line("One MMA, or four, on operands without a swizzle.");
  command_line.add("k", k, {"32", "128"}, "elements along K: one MMA takes 32");
  return bw::run_main(command_line, "lab_02_one_mma", argc, argv, [&] {
    return k == 0 ? bw::run_mma_lab({.kernel = bw::one_mma<32>, .k = 32})
                  : bw::run_mma_lab({.kernel = bw::one_mma<bw::kLabK>});
  });
}
