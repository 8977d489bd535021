/// \file
/// wgmma (sm_90a): registers and operands of an MMA that runs by itself.

#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "tests/simulator/faults/fault_instructions.cuh"
#include "tests/simulator/faults/fault_kernel.cuh"

namespace bw::faults {

constexpr uint32_t kOperandBytes = 64 * 128;  ///< 64 rows of 128 bytes
constexpr uint32_t kOneE4m3 = 0x38383838;     ///< four times 1.0
constexpr int kRegisters = 4;                 ///< of an accumulator of 64 x 8

struct Operands {
  alignas(1024) uint32_t a[kOperandBytes / 4];
  alignas(1024) uint32_t b[kOperandBytes / 4];
};

__device__ __forceinline__ void fill(uint32_t* tile, uint32_t value) {
  for (uint32_t i = thread(); i < kOperandBytes / 4; i += 128) tile[i] = value;
}
__device__ __forceinline__ uint64_t descriptor(const uint32_t* tile) {
  return wgmma_descriptor(wgmma_descriptor_low(ptx::shared_address(tile)));
}
/// Every element of a product over 32 elements of K of ones by ones is 32.
__device__ __forceinline__ void write_if_right(const FaultArguments& args, float (&d)[kRegisters]) {
  if (d[0] == 32.0f && d[1] == 32.0f && d[2] == 32.0f && d[3] == 32.0f) {
    args.out[word()] = args.in[word()];
  }
}

// right 36: Fill, fence, meet, multiply, commit, wait.
__global__ void wgmma_in_order(const __grid_constant__ FaultArguments args) {
  __shared__ Operands operands;
  fill(operands.a, kOneE4m3);
  fill(operands.b, kOneE4m3);
  ptx::fence_proxy_async_shared();
  __syncthreads();
  float d[kRegisters] = {};
  ptx::wgmma_hold(d);
  ptx::wgmma_fence();
  ptx::wgmma_e4m3(d, descriptor(operands.a), descriptor(operands.b), false);
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  ptx::wgmma_hold(d);
  write_if_right(args, d);
}

// fault 28: The operands are written by the threads, with no proxy fence before the MMA.
// expect BW-R03 at races, "warp"
__global__ void wgmma_of_unfenced_writes(const __grid_constant__ FaultArguments args) {
  __shared__ Operands operands;
  for (uint32_t i = thread(); i < kOperandBytes / 4; i += 128) {
    operands.a[i] = kOneE4m3;  // (1)
  }
  fill(operands.b, kOneE4m3);
  __syncthreads();
  float d[kRegisters] = {};
  ptx::wgmma_hold(d);
  ptx::wgmma_fence();
  ptx::wgmma_e4m3(d, descriptor(operands.a), descriptor(operands.b), false);  // (2)
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  ptx::wgmma_hold(d);
  write_if_right(args, d);
}

// fault 36: DeepGEMM 448. The accumulator is read before wgmma.wait_group.
// expect BW-G04 at contract, "warp"
__global__ void accumulator_before_its_wait(const __grid_constant__ FaultArguments args) {
  __shared__ Operands operands;
  fill(operands.a, kOneE4m3);
  fill(operands.b, kOneE4m3);
  ptx::fence_proxy_async_shared();
  __syncthreads();
  float d[kRegisters] = {};
  ptx::wgmma_hold(d);
  ptx::wgmma_fence();
  ptx::wgmma_e4m3(d, descriptor(operands.a), descriptor(operands.b), false);  // (1)
  ptx::wgmma_commit_group();
  args.scratch[word()] = __float_as_uint(d[0]);  // (2)
  ptx::wgmma_wait_group<0>();
}

// fault 36: The wait allows the group whose accumulator is read.
// expect BW-G04 at contract, "warp"
__global__ void wait_allows_the_group(const __grid_constant__ FaultArguments args) {
  __shared__ Operands operands;
  fill(operands.a, kOneE4m3);
  fill(operands.b, kOneE4m3);
  ptx::fence_proxy_async_shared();
  __syncthreads();
  float d[kRegisters] = {};
  ptx::wgmma_hold(d);
  ptx::wgmma_fence();
  ptx::wgmma_e4m3(d, descriptor(operands.a), descriptor(operands.b), false);  // (1)
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<1>();
  args.scratch[word()] = __float_as_uint(d[0]);  // (2)
  ptx::wgmma_wait_group<0>();
}

// fault 36: The accumulator is set by the threads, with no wgmma.fence before the MMA.
// expect BW-G05 at contract, "warp"
__global__ void wgmma_without_its_fence(const __grid_constant__ FaultArguments args) {
  __shared__ Operands operands;
  fill(operands.a, kOneE4m3);
  fill(operands.b, kOneE4m3);
  ptx::fence_proxy_async_shared();
  __syncthreads();
  float d[kRegisters];
  for (float& value : d) value = __uint_as_float(args.scratch[word()]);
  ptx::wgmma_e4m3(d, descriptor(operands.a), descriptor(operands.b), true);  // (1)
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  write_if_right(args, d);
}

// fault 36: The operands are overwritten before the MMA has been waited for.
// expect BW-R05 at races, "warp"
__global__ void operand_overwritten_too_early(const __grid_constant__ FaultArguments args) {
  __shared__ Operands operands;
  fill(operands.a, kOneE4m3);
  fill(operands.b, kOneE4m3);
  ptx::fence_proxy_async_shared();
  __syncthreads();
  float d[kRegisters] = {};
  ptx::wgmma_hold(d);
  ptx::wgmma_fence();
  ptx::wgmma_e4m3(d, descriptor(operands.a), descriptor(operands.b), false);  // (1)
  ptx::wgmma_commit_group();
  operands.a[thread()] = 0;  // (2)
  ptx::wgmma_wait_group<0>();
  ptx::wgmma_hold(d);
  write_if_right(args, d);
}

// right 36: The operands are overwritten when all warps have waited and met.
__global__ void operand_overwritten_after_a_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ Operands operands;
  fill(operands.a, kOneE4m3);
  fill(operands.b, kOneE4m3);
  ptx::fence_proxy_async_shared();
  __syncthreads();
  float d[kRegisters] = {};
  ptx::wgmma_hold(d);
  ptx::wgmma_fence();
  ptx::wgmma_e4m3(d, descriptor(operands.a), descriptor(operands.b), false);
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  ptx::wgmma_hold(d);
  __syncthreads();
  fill(operands.a, 0);
  write_if_right(args, d);
}

// fault 36: wait_group for all groups, and the last MMA is in none: it was never committed.
// expect BW-G03 at contract, "warp"
__global__ void mma_in_no_group(const __grid_constant__ FaultArguments args) {
  __shared__ Operands operands;
  fill(operands.a, kOneE4m3);
  fill(operands.b, kOneE4m3);
  ptx::fence_proxy_async_shared();
  __syncthreads();
  float d[kRegisters] = {};
  ptx::wgmma_hold(d);
  ptx::wgmma_fence();
  ptx::wgmma_e4m3(d, descriptor(operands.a), descriptor(operands.b), false);  // (1)
  ptx::wgmma_wait_group<0>();
  ptx::wgmma_hold(d);
  write_if_right(args, d);
}

FaultTable hopper_kernels() {
  static const FaultKernel kKernels[] = {
      BW_FAULT(wgmma_in_order, .threads = 128),
      BW_FAULT(wgmma_of_unfenced_writes, .threads = 128),
      BW_FAULT(accumulator_before_its_wait, .threads = 128),
      BW_FAULT(wait_allows_the_group, .threads = 128),
      BW_FAULT(wgmma_without_its_fence, .threads = 128),
      BW_FAULT(operand_overwritten_too_early, .threads = 128),
      BW_FAULT(operand_overwritten_after_a_barrier, .threads = 128),
      BW_FAULT(mma_in_no_group, .threads = 128),
  };
  return kKernels;
}

}  // namespace bw::faults
