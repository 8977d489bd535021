/// \file
/// Patterns of production kernels: what they do on purpose and hardware carries out, at the level
/// that accepts it, and what only looks like it.

#include <type_traits>

#include "common/device/bulk_copy.cuh"
#include "common/device/cluster.cuh"
#include "common/device/device_flag.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tcgen05_alloc.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tcgen05_load_store.cuh"
#include "common/device/tma_store.cuh"
#include "tests/simulator/faults/fault_instructions.cuh"
#include "tests/simulator/faults/fault_kernel.cuh"

namespace bw::faults {

/// Each thread writes its word of a box, fenced for the async proxy, and all meet.
__device__ __forceinline__ void fill_box(uint32_t* box, const FaultArguments& args) {
  box[thread()] = args.in[thread()];
  ptx::fence_proxy_async_shared();
  __syncthreads();
}

// right: All lanes of a warp execute one store of a box, as CUTLASS' epilogues do: ptxas makes it
// one UTMASTG.
__global__ void box_stored_by_a_warp(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  fill_box(box, args);
  if (warp() == 0) {
    store_box(args.out_map, 0, box);
    ptx::bulk_commit_group();
    ptx::bulk_wait_group<0>();
  }
}

// right: The same of contiguous bytes; the lanes of each half give operands of their own.
__global__ void bytes_stored_by_a_warp(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  fill_box(box, args);
  if (warp() == 0) {
    const uint32_t first = lane() < 16 ? 0 : kBoxWords / 2;
    ptx::bulk_store(args.out + first, ptx::shared_address(box + first), kBoxBytes / 2);
    ptx::bulk_commit_group();
    ptx::bulk_wait_group<0>();
  }
}

// fault: A store of a whole warp whose lanes write overlapping pieces: operands that differ are
// several stores.
// expect BW-R04 at races, "warp 0"
__global__ void overlapping_stores_of_a_warp(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  fill_box(box, args);
  if (warp() == 0) {
    const uint32_t first = lane() < 16 ? 0 : kBoxWords / 4;
    ptx::bulk_store(args.out + first, ptx::shared_address(box + first), kBoxBytes / 2);  // (1)
    ptx::bulk_commit_group();
    ptx::bulk_wait_group<0>();
  }
}

// fault: All lanes have stored; a lane that waits for the group alone reuses the source, and the
// others are not told.
// expect BW-R05 at races, "warp 1"
__global__ void box_stored_by_a_warp_and_reused(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  fill_box(box, args);
  if (warp() == 0) {
    store_box(args.out_map, 0, box);  // (1)
    ptx::bulk_commit_group();
    ptx::bulk_wait_group<0>();
  }
  if (warp() == 1) {
    __nanosleep(20000);
    box[thread()] = 0;  // (2)
  }
}

// fault: Loads are not merged: 32 lanes load the box 32 times, and the barrier gets 32 times its
// bytes.
// expect BW-R04 at races, "elect"
__global__ void box_loaded_by_a_warp(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    full.arrive_and_expect_bytes(32 * kBoxBytes);
  }
  __syncthreads();
  if (warp() == 0) load_box(box, args.in_map, full, 0);  // (1)
  full.wait(0);
  args.out[thread()] = box[thread()];
}

// right: tcgen05.alloc by a warp whose first lane has just fenced an mbarrier's init alone.
__global__ void allocation_after_one_lane_fenced(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier full;
  __shared__ uint32_t slot;
  if (warp() == 1) {
    if (ptx::elect_one()) {
      full.init(1);
      ptx::fence_mbarrier_init();
    }
    allocate(&slot);
  }
  __syncthreads();
  if (warp() == 1) free_columns(slot);
  args.out[thread()] = args.in[thread()];
}

/// __threadfence(), which is one of sequential consistency, or the weaker fence that is enough for
/// the writer.
template <class Word>
__device__ __forceinline__ void release_fence() {
  if constexpr (std::is_volatile_v<Word>)
    __threadfence();
  else
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/// The sum of all CTAs' partial sums by the CTA that comes last, as the CUDA programming guide has
/// it; `writer_fences` and `reader_fences`: what surrounds the ticket.
template <bool writer_fences, bool reader_fences, class Word = volatile uint32_t>
__device__ __forceinline__ void last_cta_sums(const FaultArguments& args) {
  __shared__ bool is_last;
  Word* const partial = args.scratch + 32;
  if (thread() == 0) {
    partial[blockIdx.x] = blockIdx.x;  // partial sum
    if (writer_fences) release_fence<Word>();
    const uint32_t ticket = atomicInc(args.scratch, gridDim.x);  // ticket
    if (reader_fences) __threadfence();
    is_last = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  if (thread() == 0) {
    uint32_t sum = 0;
    for (uint32_t cta = 0; cta < gridDim.x; ++cta) sum += partial[cta];  // sum
    args.scratch[0] = 0;                                                 // reset
    args.scratch[1] = sum;
  }
  for (uint32_t i = thread(); i < gridDim.x * blockDim.x; i += blockDim.x) args.out[i] = args.in[i];
}

// right: The last block's sum of the CUDA programming guide, with a fence by the writers alone.
// setting BW_SIM_STRICTNESS=hardware
__global__ void last_cta_of_the_guide(const __grid_constant__ FaultArguments args) {
  last_cta_sums<true, false>(args);
}

// right: The same with plain partial sums.
// setting BW_SIM_STRICTNESS=hardware
__global__ void last_cta_of_plain_sums(const __grid_constant__ FaultArguments args) {
  last_cta_sums<true, false, uint32_t>(args);
}

// fault: By the ISA's words the reader needs a fence of its own.
// expect BW-R07 at races, "the reader has none", "level: isa"
// at "// sum" "// partial sum"
__global__ void last_cta_of_plain_sums_by_the_letter(const __grid_constant__ FaultArguments args) {
  last_cta_sums<true, false, uint32_t>(args);
}

// right: Fences on both sides.
__global__ void last_cta_with_both_fences(const __grid_constant__ FaultArguments args) {
  last_cta_sums<true, true>(args);
}

// fault: Without the writer's fence hardware breaks it as well.
// expect BW-R07 at races, "warp 0"
// setting BW_SIM_STRICTNESS=hardware
// at "// sum" "// partial sum"
__global__ void last_cta_without_the_writers_fence(const __grid_constant__ FaultArguments args) {
  last_cta_sums<false, false>(args);
}

/// Some threads of two CTAs store `value` to one word of each memory.
__device__ __forceinline__ void raise_flags(const FaultArguments& args, uint32_t value) {
  __shared__ uint32_t changed;
  if (thread() == 0) changed = 0;
  __syncthreads();
  if (thread() % 3 == 1) changed = args.scratch[4] = value;  // stored by many
  __syncthreads();
  if (changed != 0) args.out[word()] = args.in[word()];
}

// right: Threads that store the same value: nothing depends on the one that comes last.
// setting BW_SIM_STRICTNESS=hardware
__global__ void same_value_by_many(const __grid_constant__ FaultArguments args) {
  raise_flags(args, 1);
}

// fault: Each stores another value.
// expect BW-R12 at races, "warp 0", "warp 1"
// setting BW_SIM_STRICTNESS=hardware
// at "// stored by many"
__global__ void other_values_by_many(const __grid_constant__ FaultArguments args) {
  raise_flags(args, 1 + thread());
}

/// A word to tensor memory and back; the load is used, and `waits` says whether it is waited for.
template <bool waits>
__device__ __forceinline__ void used_and_freed(const FaultArguments& args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  const uint32_t own = slot + (warp() * 32 << 16);
  uint32_t value[1] = {args.in[thread()]};
  ptx::tcgen05_st_32x32b(own, value);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_ld_32x32b(value, own);  // load
  if (waits) ptx::tcgen05_wait_ld(value);
  args.out[thread()] = value[0];  // use
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  if (warp() == 0) free_columns(slot);
}

// fault: A register of tcgen05.ld is used before tcgen05.wait::ld.
// expect BW-X12 at races, "tcgen05.wait::ld"
// at "// use"
__global__ void load_used_without_its_wait(const __grid_constant__ FaultArguments args) {
  used_and_freed<false>(args);
}

// right: With the wait.
__global__ void load_used_after_its_wait(const __grid_constant__ FaultArguments args) {
  used_and_freed<true>(args);
}

// fault: An X12 does not hide the race of other warps.
// expect BW-X12 at races, "a race as well \(BW-R01\)"
// at "// use"
__global__ void load_without_wait_and_a_race(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t shared;
  if (warp() >= 2) {
    __nanosleep(30000);
    if (lane() == 0) shared = warp();
  }
  used_and_freed<false>(args);
  if (thread() == 0) args.scratch[0] = shared;
}

// right: Each warp of an epilogue deallocates; hardware takes the later ones for none.
// setting BW_SIM_STRICTNESS=hardware
// setting BW_SIM_IGNORE=X07
__global__ void freed_by_each_warp(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t slot;
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  args.out[thread()] = args.in[thread()];
  const uint32_t address = slot;
  __syncthreads();
  ptx::tcgen05_dealloc<1>(address, kColumns);
}

/// The word that `reader` 0 reads first is read by all other warps later, and then overwritten.
__device__ __forceinline__ void read_by_many(uint32_t* place, const FaultArguments& args) {
  if (thread() == 0) *place = 1;
  __syncthreads();
  if (warp() == 0) {
    args.out[thread()] = *place;  // oldest read
    return;
  }
  __nanosleep(2000 + 100 * warp());
  args.out[thread()] = *place;
  barrier_sync(1, blockDim.x - 32);
  if (thread() == 32) *place = 2;  // write
}

// fault: The oldest of many reads is the one that races with the write.
// expect BW-R01 at races, "warp 0", "warp 1"
// at "// oldest read" "// write"
__global__ void oldest_of_many_reads(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t word;
  read_by_many(&word, args);
}

// fault: The same in global memory.
// expect BW-R12 at races, "warp 0", "warp 1"
// at "// oldest read" "// write"
__global__ void oldest_of_many_global_reads(const __grid_constant__ FaultArguments args) {
  read_by_many(args.scratch, args);
}

// fault: A copy is longer than its buffer and runs into the mbarrier after it.
// expect BW-B02 at races, "corrupted"
__global__ void copy_runs_into_its_barrier(const __grid_constant__ FaultArguments args) {
  struct alignas(128) Stage {
    uint32_t words[32];
    SharedMemBarrier full;
    uint64_t unused;
  };
  __shared__ Stage stage;
  constexpr uint32_t kBytes = sizeof(stage.words) + 16;
  if (thread() == 0) {
    stage.full.init(1);
    ptx::fence_mbarrier_init();
    stage.full.arrive_and_expect_bytes(kBytes);
    ptx::bulk_load(ptx::shared_address(stage.words), args.in, kBytes,  // (1)
                   stage.full.address());
  }
  __syncthreads();
  stage.full.wait(0);
  args.out[thread()] = stage.words[thread() % 32];
}

// fault: An mbarrier is invalidated while a remote arrival on it is on its way.
// expect BW-B01 at contract, "has been invalidated", "mbarrier.inval"
__global__ void invalidated_before_the_arrival(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier done;
  if (thread() == 0) {
    done.init(1);
    ptx::fence_mbarrier_init();
  }
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (ptx::cluster_cta_rank() == 0) {
    if (thread() == 0) {
      __nanosleep(3000);
      const uint32_t remote = in_cta(&done, 1);
      asm volatile(
          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote)  // (1)
          : "memory");
    }
  } else if (thread() == 0) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(done.address()) : "memory");
  }
  args.out[word()] = args.in[word()];
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

// fault: In a pair the copies of both CTAs signal the leader's barrier; the second gives its own.
// expect BW-H01 at contract, "same offset of CTA rank 1", "announces bytes that arrive"
__global__ void pair_signals_its_own_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
  }
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  const uint32_t rank = ptx::cluster_cta_rank();
  if (thread() == 0) {
    if (rank == 0) full.arrive_and_expect_bytes(2 * sizeof(words));
    ptx::bulk_load(ptx::shared_address(words), args.in + 32 * rank, sizeof(words), full.address());
  }
  __syncwarp();
  if (rank == 0) full.wait(0);  // (1)
  args.out[word()] = args.in[word()];
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

// fault: CTAs that run poll a flag of CTAs that get no SM before they end.
// expect BW-H02 at contract, "wait for an SM", "polls global memory"
// setting BW_SIM_SMS=1
__global__ void waits_for_ctas_without_an_sm(const __grid_constant__ FaultArguments args) {
  extern __shared__ uint32_t large[];
  const uint32_t half = gridDim.x / 2;
  if (blockIdx.x >= half) {
    if (thread() == 0) ptx::store_release_gpu(args.scratch + blockIdx.x - half, 1);
  } else if (thread() == 0) {
    while (ptx::load_acquire_gpu(args.scratch + blockIdx.x) == 0) {  // (1)
    }
  }
  large[thread()] = args.in[word()];
  args.out[word()] = large[thread()];
}

/// A box is loaded, read, and loaded again; `fences` says whether its readers execute a proxy
/// fence.
template <bool fences_init>
__device__ __forceinline__ void ring_of_one(const FaultArguments& args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full, empty;
  if (thread() == 0) {
    full.init(1), empty.init(128);
    if (fences_init) ptx::fence_mbarrier_init();
  }
  __syncthreads();
  for (uint32_t tile = 0; tile < 2; ++tile) {
    if (warp() == 4) {
      empty.wait(tile ^ 1);
      if (ptx::elect_one()) {
        full.arrive_and_expect_bytes(kBoxBytes);
        load_box(box, args.in_map, full, 4 * tile);
      }
      __syncwarp();
    } else {
      full.wait(tile);
      args.out[128 * tile + thread()] = box[thread()];
      empty.arrive();
    }
  }
}

// right: Proven kernels release a stage that threads have read by the mbarrier alone, without
// fence.proxy.async, and leave out fence.mbarrier_init: hardware carries both out.
// setting BW_SIM_STRICTNESS=hardware
// setting BW_SIM_IGNORE=R03,R08
__global__ void ring_without_the_letters_fences(const __grid_constant__ FaultArguments args) {
  ring_of_one<false>(args);
}

FaultTable production_kernels() {
  constexpr uint32_t kMostSharedBytes = 200 * 1024;
  static const FaultKernel kKernels[] = {
      BW_FAULT(box_stored_by_a_warp, .threads = 128),
      BW_FAULT(bytes_stored_by_a_warp, .threads = 128),
      BW_FAULT(overlapping_stores_of_a_warp, .threads = 128),
      BW_FAULT(box_stored_by_a_warp_and_reused, .threads = 128),
      BW_FAULT(box_loaded_by_a_warp, .threads = 128),
      BW_FAULT(allocation_after_one_lane_fenced),
      BW_FAULT(last_cta_of_the_guide, .ctas = 4),
      BW_FAULT(last_cta_of_plain_sums, .ctas = 4),
      BW_FAULT(last_cta_of_plain_sums_by_the_letter, .ctas = 4),
      BW_FAULT(last_cta_with_both_fences, .ctas = 4),
      BW_FAULT(last_cta_without_the_writers_fence, .ctas = 4),
      BW_FAULT(same_value_by_many, .ctas = 2),
      BW_FAULT(other_values_by_many, .ctas = 2),
      BW_FAULT(load_used_without_its_wait, .threads = 128),
      BW_FAULT(load_used_after_its_wait, .threads = 128),
      BW_FAULT(load_without_wait_and_a_race, .threads = 128),
      BW_FAULT(freed_by_each_warp, .threads = 128),
      BW_FAULT(oldest_of_many_reads, .threads = 1024),
      BW_FAULT(oldest_of_many_global_reads, .threads = 1024),
      BW_FAULT(copy_runs_into_its_barrier),
      BW_FAULT(invalidated_before_the_arrival, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(pair_signals_its_own_barrier, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(waits_for_ctas_without_an_sm, .threads = 32, .ctas = 4,
               .shared_bytes = kMostSharedBytes),
      BW_FAULT(ring_without_the_letters_fences, .threads = 160, .words = 256),
  };
  return kKernels;
}

}  // namespace bw::faults
