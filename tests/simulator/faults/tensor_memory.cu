/// \file
/// Tensor memory: allocation, the warps' quarters, loads and stores that run by themselves. (Faults
/// around MMAs are patches of the solutions.)

#include "common/device/cluster.cuh"
#include "common/device/device_flag.cuh"
#include "common/device/tcgen05_alloc.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tcgen05_load_store.cuh"
#include "tests/simulator/faults/fault_instructions.cuh"
#include "tests/simulator/faults/fault_kernel.cuh"

namespace bw::faults {

/// The warp's quarter of the lanes, from `address` on.
__device__ __forceinline__ uint32_t own_quarter(uint32_t address) {
  return address + (warp() % 4 * 32 << 16);
}
/// All threads meet, and tensor memory is ordered as well.
__device__ __forceinline__ void meet() {
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
}

// right: A word a thread to tensor memory and back, with each wait.
__global__ void round_trip(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot);
  uint32_t value[1] = {args.in[thread()]};
  ptx::tcgen05_st_32x32b(own, value);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_ld_32x32b(value, own);
  ptx::tcgen05_wait_ld(value);
  args.out[thread()] = value[0];
  meet();
  if (warp() == 0) free_columns(slot);
}

// fault 4, 30: TIRx kernels 7, CUTLASS 2835. A barrier before the allocation, none after it.
// expect BW-R11 at races, "warp [1-3]", "warp 0"
__global__ void address_without_a_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  __syncthreads();
  if (warp() == 0) {
    allocate(&slot);  // (1)
  } else {
    __nanosleep(3000);
  }
  const uint32_t own = own_quarter(slot);  // (2)
  uint32_t value[1] = {args.in[thread()]};
  ptx::tcgen05_st_32x32b(own, value);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_ld_32x32b(value, own);
  ptx::tcgen05_wait_ld(value);
  args.out[thread()] = value[0];
  meet();
  if (warp() == 0) free_columns(slot);
}

// fault 30: FBGEMM 5022. A flag in shared memory tells of the address, without release and
// acquire.
// expect BW-R11 at races, "warp [1-3]", "warp 0"
__global__ void address_after_a_volatile_flag(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot, flag;
  if (thread() == 0) flag = 0;
  __syncthreads();
  if (warp() == 0) {
    allocate(&slot);  // (1)
    __syncwarp();
    if (lane() == 0) *static_cast<volatile uint32_t*>(&flag) = 1;
  }
  while (*static_cast<volatile uint32_t*>(&flag) == 0) {
  }
  __syncwarp();
  const uint32_t own = own_quarter(slot);  // (2)
  uint32_t value[1] = {args.in[thread()]};
  ptx::tcgen05_st_32x32b(own, value);
  ptx::tcgen05_wait_st();
  args.out[thread()] = value[0];
  meet();
  if (warp() == 0) free_columns(slot);
}

// fault 17: The register of a load is used before tcgen05.wait::ld.
// expect BW-X12 at contract, "warp"
__global__ void register_before_its_wait(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot);
  uint32_t value[1] = {args.in[thread()]};
  ptx::tcgen05_st_32x32b(own, value);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_ld_32x32b(value, own);  // (1)
  args.out[thread()] = value[0];       // (2)
  ptx::tcgen05_wait_ld(value);
  meet();
  if (warp() == 0) free_columns(slot);
}

// fault 17: Two loads, and the wait is between them.
// expect BW-X12 at contract, "warp"
__global__ void wait_before_the_second_load(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot);
  uint32_t value[2] = {args.in[thread()], args.in[128 + thread()]};
  ptx::tcgen05_st_32x32b(own, value);
  ptx::tcgen05_wait_st();
  uint32_t first[1], second[1];
  ptx::tcgen05_ld_32x32b(first, own);
  ptx::tcgen05_wait_ld(first);
  ptx::tcgen05_ld_32x32b(second, own + 1);  // (1)
  args.out[thread()] = first[0];
  args.out[128 + thread()] = second[0];  // (2)
  ptx::tcgen05_wait_ld(second);
  meet();
  if (warp() == 0) free_columns(slot);
}

// right 17: Two loads and one wait, which covers both.
__global__ void one_wait_for_two_loads(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot);
  uint32_t value[2] = {args.in[thread()], args.in[128 + thread()]};
  ptx::tcgen05_st_32x32b(own, value);
  ptx::tcgen05_wait_st();
  uint32_t both[2];
  uint32_t(&first)[1] = reinterpret_cast<uint32_t(&)[1]>(both[0]);
  uint32_t(&second)[1] = reinterpret_cast<uint32_t(&)[1]>(both[1]);
  ptx::tcgen05_ld_32x32b(first, own);
  ptx::tcgen05_ld_32x32b(second, own + 1);
  ptx::tcgen05_wait_ld(both);
  args.out[thread()] = both[0];
  args.out[128 + thread()] = both[1];
  meet();
  if (warp() == 0) free_columns(slot);
}

// fault 2: A store is handed to the other group of warps after __syncthreads, without wait::st.
// expect BW-R10 at races, "warp [0-3]", "warp [4-7]"
__global__ void store_not_waited_for(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot);
  uint32_t value[1] = {args.in[thread() % 128]};
  if (warp() < 4) ptx::tcgen05_st_32x32b(own, value);  // (1)
  meet();
  if (warp() >= 4) {
    ptx::tcgen05_ld_32x32b(value, own);  // (2)
    ptx::tcgen05_wait_ld(value);
    args.out[thread() % 128] = value[0];
  }
  meet();
  if (warp() == 0) free_columns(slot);
}

// fault 2: The hand-over has its wait::st and __syncthreads, and no tcgen05 fence.
// expect BW-R09 at races, "warp [0-3]", "warp [4-7]"
__global__ void no_tcgen05_fences(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot);
  uint32_t value[1] = {args.in[thread() % 128]};
  if (warp() < 4) {
    ptx::tcgen05_st_32x32b(own, value);  // (1)
    ptx::tcgen05_wait_st();
  }
  __syncthreads();
  if (warp() >= 4) {
    ptx::tcgen05_ld_32x32b(value, own);  // (2)
    ptx::tcgen05_wait_ld(value);
    args.out[thread() % 128] = value[0];
  }
  meet();
  if (warp() == 0) free_columns(slot);
}

// fault 2: Only the reading side has its fence.
// expect BW-R09 at races, "warp [0-3]", "warp [4-7]"
__global__ void no_fence_before_the_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot);
  uint32_t value[1] = {args.in[thread() % 128]};
  if (warp() < 4) {
    ptx::tcgen05_st_32x32b(own, value);  // (1)
    ptx::tcgen05_wait_st();
  }
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  if (warp() >= 4) {
    ptx::tcgen05_ld_32x32b(value, own);  // (2)
    ptx::tcgen05_wait_ld(value);
    args.out[thread() % 128] = value[0];
  }
  meet();
  if (warp() == 0) free_columns(slot);
}

// fault 2: Only the writing side has its fence.
// expect BW-R09 at races, "warp [0-3]", "warp [4-7]"
__global__ void no_fence_after_the_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot);
  uint32_t value[1] = {args.in[thread() % 128]};
  if (warp() < 4) {
    ptx::tcgen05_st_32x32b(own, value);  // (1)
    ptx::tcgen05_wait_st();
  }
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  if (warp() >= 4) {
    ptx::tcgen05_ld_32x32b(value, own);  // (2)
    ptx::tcgen05_wait_ld(value);
    args.out[thread() % 128] = value[0];
  }
  meet();
  if (warp() == 0) free_columns(slot);
}

// right 2: Both fences around __syncthreads.
__global__ void both_tcgen05_fences(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot);
  uint32_t value[1] = {args.in[thread() % 128]};
  if (warp() < 4) {
    ptx::tcgen05_st_32x32b(own, value);
    ptx::tcgen05_wait_st();
  }
  meet();
  if (warp() >= 4) {
    ptx::tcgen05_ld_32x32b(value, own);
    ptx::tcgen05_wait_ld(value);
    args.out[thread() % 128] = value[0];
  }
  meet();
  if (warp() == 0) free_columns(slot);
}

// right 2: Two warps of one quarter read the same columns at the same time.
__global__ void two_readers_of_one_quarter(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot);
  uint32_t value[1] = {args.in[thread() % 128]};
  if (warp() < 4) {
    ptx::tcgen05_st_32x32b(own, value);
    ptx::tcgen05_wait_st();
  }
  meet();
  ptx::tcgen05_ld_32x32b(value, own);
  ptx::tcgen05_wait_ld(value);
  if (warp() >= 4) args.out[thread() % 128] = value[0];
  meet();
  if (warp() == 0) free_columns(slot);
}

// right: Warps of one quarter share its lanes, each with columns of its own: nothing orders them.
__global__ void columns_of_their_own(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot) + warp() / 4;
  uint32_t value[1] = {args.in[thread()]};
  ptx::tcgen05_st_32x32b(own, value);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_ld_32x32b(value, own);
  ptx::tcgen05_wait_ld(value);
  args.out[thread()] = value[0];
  meet();
  if (warp() == 0) free_columns(slot);
}

// fault: Two warps of one quarter store to the same column, and nothing orders them.
// expect BW-R10 at races, "warp [0-3]", "warp [4-7]"
__global__ void two_writers_of_one_column(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot);
  uint32_t value[1] = {args.in[thread()]};
  ptx::tcgen05_st_32x32b(own, value);  // (1)
  ptx::tcgen05_wait_st();
  meet();
  if (warp() == 0) free_columns(slot);
  args.out[thread()] = value[0];
}

// fault 3: The address lacks the warp's quarter of the lanes.
// expect BW-X10 at contract, "warp [1-3]"
__global__ void quarter_left_out(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  uint32_t value[1] = {args.in[thread()]};
  ptx::tcgen05_st_32x32b(slot, value);  // (1)
  ptx::tcgen05_wait_st();
  args.out[thread()] = value[0];
  meet();
  if (warp() == 0) free_columns(slot);
}

// fault 3: The quarter is that of the warp's number in the kernel, where it should be of warp % 4.
// expect BW-X10 at contract, "warp [0-4]"
__global__ void quarter_of_the_wrong_warp(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  uint32_t value[1] = {args.in[thread()]};
  if (warp() > 0) {
    ptx::tcgen05_st_32x32b(slot + ((warp() - 1) * 32 << 16), value);  // (1)
    ptx::tcgen05_wait_st();
  }
  args.out[thread()] = value[0];
  meet();
  if (warp() == 0) free_columns(slot);
}

// right 3: Of eight warps the second four address the quarters of warp % 4.
__global__ void quarters_of_eight_warps(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  uint32_t value[1] = {args.in[thread()]};
  if (warp() >= 4) {
    ptx::tcgen05_st_32x32b(slot + ((warp() - 4) * 32 << 16), value);
    ptx::tcgen05_wait_st();
  }
  args.out[thread()] = value[0];
  meet();
  if (warp() == 0) free_columns(slot);
}

// fault: Columns are read that nothing has written.
// expect BW-X02 at contract, "warp"
__global__ void column_that_nobody_wrote(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  uint32_t value[1];
  ptx::tcgen05_ld_32x32b(value, own_quarter(slot));  // (1)
  ptx::tcgen05_wait_ld(value);
  args.out[thread()] = value[0];
  meet();
  if (warp() == 0) free_columns(slot);
}

// fault 19: The columns are never given back.
// expect BW-X09 at contract, "warp 0"
__global__ void columns_leak(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);  // (1)
  __syncthreads();
  args.out[thread()] = args.in[thread()];
}

// fault 19: The columns are given back before all warps have read.
// expect BW-X01 at contract, "warp [1-3]"
__global__ void freed_before_the_last_read(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t own = own_quarter(slot);
  uint32_t value[1] = {args.in[thread()]};
  ptx::tcgen05_st_32x32b(own, value);
  ptx::tcgen05_wait_st();
  meet();
  if (warp() == 0) free_columns(slot);
  __nanosleep(2000);
  if (warp() != 0) {
    ptx::tcgen05_ld_32x32b(value, own);  // (1)
    ptx::tcgen05_wait_ld(value);
  }
  args.out[thread()] = value[0];
}

// fault 19: The columns are given back while other warps may still read them: nothing orders it.
// expect BW-R10 at races, "warp 0", "warp [1-3]"
__global__ void freed_without_order(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t address = slot, own = own_quarter(address);
  uint32_t value[1] = {args.in[thread()]};
  ptx::tcgen05_st_32x32b(own, value);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_ld_32x32b(value, own);  // (1)
  ptx::tcgen05_wait_ld(value);
  args.out[thread()] = value[0];
  if (warp() == 0) {
    __nanosleep(5000);
    ptx::tcgen05_relinquish_alloc_permit<1>();
    ptx::tcgen05_dealloc<1>(address, kColumns);  // (2)
  }
}

// fault 19: Allocation after the permit was given up.
// expect BW-X05 at contract, "warp 0"
__global__ void allocation_after_relinquish(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slots[2];
  if (warp() == 0) {
    allocate(&slots[0]);
    ptx::tcgen05_relinquish_alloc_permit<1>();
    allocate(&slots[1]);  // (1)
    ptx::tcgen05_dealloc<1>(slots[0], kColumns);
    ptx::tcgen05_dealloc<1>(slots[1], kColumns);
  }
  args.out[thread()] = args.in[thread()];
}

// fault 19: A number of columns that is not a power of two.
// expect BW-X03 at contract, "warp 0"
__global__ void columns_of_48(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) {
    allocate(&slot, args.scratch[0] + 48);  // (1)
    free_columns(slot, args.scratch[0] + 48);
  }
  args.out[thread()] = args.in[thread()];
}

// fault 19: Fewer columns are given back than were allocated.
// expect BW-X07 at contract, "warp 0"
__global__ void half_of_the_columns_freed(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) {
    allocate(&slot, 64);
    __syncwarp();
    free_columns(slot, 32);  // (1)
  }
  args.out[thread()] = args.in[thread()];
}

// fault 19: The columns are given back twice, by the warp and by its neighbour.
// expect BW-X07 at contract, "warp [01]"
__global__ void freed_twice(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  const uint32_t address = slot;
  if (warp() < 2) ptx::tcgen05_dealloc<1>(address, kColumns);  // (1)
  args.out[thread()] = args.in[thread()];
}

// fault 43: The second allocation is larger than the first.
// expect BW-X04 at contract, "warp 0"
__global__ void allocations_grow(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slots[2];
  if (warp() == 0) {
    allocate(&slots[0], 32);
    allocate(&slots[1], 64);  // (1)
    __syncwarp();
    ptx::tcgen05_relinquish_alloc_permit<1>();
    ptx::tcgen05_dealloc<1>(slots[0], 32);
    ptx::tcgen05_dealloc<1>(slots[1], 64);
  }
  args.out[thread()] = args.in[thread()];
}

// fault 43: It grows even after the first one was given back.
// expect BW-X04 at contract, "warp 0"
__global__ void allocations_grow_one_after_the_other(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) {
    for (uint32_t columns = 32; columns <= 64; columns *= 2) {
      allocate(&slot, columns);  // (1)
      __syncwarp();
      const uint32_t address = slot;
      __syncwarp();
      ptx::tcgen05_dealloc<1>(address, columns);
    }
    ptx::tcgen05_relinquish_alloc_permit<1>();
  }
  args.out[thread()] = args.in[thread()];
}

// right 43: Allocations that shrink.
__global__ void allocations_shrink(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slots[2];
  if (warp() == 0) {
    allocate(&slots[0], 64);
    allocate(&slots[1], 32);
    __syncwarp();
    ptx::tcgen05_relinquish_alloc_permit<1>();
    ptx::tcgen05_dealloc<1>(slots[0], 64);
    ptx::tcgen05_dealloc<1>(slots[1], 32);
  }
  args.out[thread()] = args.in[thread()];
}

// fault 14: The allocation is in a branch that half of the warp takes.
// expect BW-W01 at contract, "warp 0"
__global__ void allocation_by_half_a_warp(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (thread() < 16) {
    allocate(&slot);  // (1)
    free_columns(slot);
  }
  args.out[thread()] = args.in[thread()];
}

// right 44: Two CTAs on one SM whose columns don't fit together: the second waits for the first's
// end.
// setting BW_SIM_SMS=1
__global__ void second_cta_waits_for_columns(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) {
    allocate(&slot, 512);
    __syncwarp();
    __nanosleep(1000);
    free_columns(slot, 512);
  }
  args.out[word()] = args.in[word()];
}

// fault 44: The first CTA keeps its columns until the second one has told it something, which
// waits for columns.
// expect BW-H03 at contract, "warp 0"
// setting BW_SIM_SMS=1
__global__ void columns_held_for_the_second_cta(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) {
    allocate(&slot, 512);
    __syncwarp();
    const uint32_t order = lane() == 0 ? atomicAdd(args.scratch, 1) : 0;
    if (lane() == 0 && order == 0) {
      while (ptx::load_acquire_gpu(args.scratch) < 2) {  // (1)
      }
    }
    __syncwarp();
    free_columns(slot, 512);
  }
  args.out[word()] = args.in[word()];
}

// fault 44: Two warps of a CTA allocate all columns each, and the first keeps them until both have
// met.
// expect BW-H01 at contract, "warp 0", "warp 1", "tcgen05.alloc"
__global__ void columns_held_by_the_own_cta(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slots[2];
  if (warp() == 1) __nanosleep(500);
  allocate(&slots[warp()], 512);  // (1)
  __syncthreads();                // (2)
  ptx::tcgen05_dealloc<1>(slots[warp()], 512);
  args.out[word()] = args.in[word()];
}

// fault 31: A pair's columns are allocated by one CTA; the other has taken another path.
// expect BW-H01 at contract, "rank 0"
__global__ void pair_allocated_by_one(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  const bool allocates = ptx::cluster_cta_rank() == 0;
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (warp() == 0 && allocates) {
    ptx::tcgen05_alloc<2>(ptx::shared_address(&slot), kColumns);  // (1)
    ptx::tcgen05_dealloc<2>(slot, kColumns);
  }
  args.out[word()] = args.in[word()];
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

// fault 31: The CTAs of a pair ask for different numbers of columns.
// expect BW-X06 at contract, "peer"
__global__ void pair_of_different_sizes(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  const uint32_t columns = kColumns << ptx::cluster_cta_rank();
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (warp() == 0) {
    ptx::tcgen05_alloc<2>(ptx::shared_address(&slot), columns);  // (1)
    ptx::tcgen05_dealloc<2>(slot, columns);
  }
  args.out[word()] = args.in[word()];
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

FaultTable tensor_memory_kernels() {
  static const FaultKernel kKernels[] = {
      BW_FAULT(round_trip, .threads = 128),
      BW_FAULT(address_without_a_barrier, .threads = 128),
      BW_FAULT(address_after_a_volatile_flag, .threads = 128),
      BW_FAULT(register_before_its_wait, .threads = 128),
      BW_FAULT(wait_before_the_second_load, .threads = 128),
      BW_FAULT(one_wait_for_two_loads, .threads = 128, .words = 256),
      BW_FAULT(store_not_waited_for, .threads = 256),
      BW_FAULT(no_tcgen05_fences, .threads = 256),
      BW_FAULT(no_fence_before_the_barrier, .threads = 256),
      BW_FAULT(no_fence_after_the_barrier, .threads = 256),
      BW_FAULT(both_tcgen05_fences, .threads = 256, .words = 128),
      BW_FAULT(two_readers_of_one_quarter, .threads = 256, .words = 128),
      BW_FAULT(columns_of_their_own, .threads = 256),
      BW_FAULT(two_writers_of_one_column, .threads = 256),
      BW_FAULT(quarter_left_out, .threads = 128),
      BW_FAULT(quarter_of_the_wrong_warp, .threads = 160),
      BW_FAULT(quarters_of_eight_warps, .threads = 256),
      BW_FAULT(column_that_nobody_wrote, .threads = 128),
      BW_FAULT(columns_leak, .threads = 128),
      BW_FAULT(freed_before_the_last_read, .threads = 128),
      BW_FAULT(freed_without_order, .threads = 128),
      BW_FAULT(allocation_after_relinquish),
      BW_FAULT(columns_of_48),
      BW_FAULT(half_of_the_columns_freed),
      BW_FAULT(freed_twice),
      BW_FAULT(allocations_grow),
      BW_FAULT(allocations_grow_one_after_the_other),
      BW_FAULT(allocations_shrink),
      BW_FAULT(allocation_by_half_a_warp),
      BW_FAULT(second_cta_waits_for_columns, .ctas = 2),
      BW_FAULT(columns_held_for_the_second_cta, .ctas = 2),
      BW_FAULT(columns_held_by_the_own_cta),
      BW_FAULT(pair_allocated_by_one, .ctas = 2, .cluster = 2),
      BW_FAULT(pair_of_different_sizes, .ctas = 2, .cluster = 2),
  };
  return kKernels;
}

}  // namespace bw::faults
