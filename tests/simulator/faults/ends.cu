/// \file
/// What ends too early: CTAs under their readers, mbarriers under their arrivals, threads without a
/// wait for their stores, a pair's Tensor Memory. Most of these runs are lucky: what nothing orders
/// happens to come in time.

#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tcgen05_alloc.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "tests/simulator/faults/fault_instructions.cuh"
#include "tests/simulator/faults/fault_kernel.cuh"

namespace bw::faults {

// `meets`: the CTAs meet before the one that is read from ends.
template <bool meets>
__device__ __forceinline__ void read_from_neighbour(const FaultArguments& args) {
  __shared__ uint32_t words[32];
  words[lane()] = args.in[word() ^ 32];
  meet_cluster();
  if (ptx::cluster_cta_rank() == 1) {
    args.out[word() ^ 32] =
        load_cluster(in_cta(&words[lane()], 0)) - args.in[word()] + args.in[word() ^ 32];
    args.out[word()] = args.in[word()];
  } else {
    __nanosleep(20000);
  }
  if constexpr (meets) meet_cluster();
}

// fault 8: The CTA that is read from happens to end later than the read; nothing makes it.
// expect BW-R17 at races, "the end of CTA", "rank 1"
// at "load_cluster(in_cta(&words[lane()], 0)) - args.in"
__global__ void ends_late_by_luck(const __grid_constant__ FaultArguments args) {
  read_from_neighbour<false>(args);
}

// right 8: The CTAs of the cluster meet before the first of them ends.
__global__ void ends_behind_a_meeting(const __grid_constant__ FaultArguments args) {
  read_from_neighbour<true>(args);
}

// fault 38: The arrival on the other CTA's barrier happens to come before that CTA ends.
// expect BW-R17 at races, "rank 0", "the end of CTA"
__global__ void arrival_early_by_luck(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier done;
  if (thread() == 0) done.init(32), ptx::fence_mbarrier_init();
  meet_cluster();
  args.out[word()] = args.in[word()];
  if (ptx::cluster_cta_rank() == 0)
    ptx::mbarrier_arrive_cluster(in_cta(&done, 1));  // (1)
  else
    __nanosleep(20000);
}

// right 38: The CTA waits for the arrivals on its barrier before it ends.
__global__ void arrival_waited_for(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier done;
  if (thread() == 0) done.init(32), ptx::fence_mbarrier_init();
  meet_cluster();
  args.out[word()] = args.in[word()];
  if (ptx::cluster_cta_rank() == 0)
    ptx::mbarrier_arrive_cluster(in_cta(&done, 1));
  else
    done.wait_cluster(0);
}

// `waits`: for the arrival, before the barrier's memory is used for something else.
template <bool waits, bool invalidates>
__device__ __forceinline__ void use_barrier_for_data(const FaultArguments& args) {
  __shared__ SharedMemBarrier told;
  if (thread() == 0) told.init(1), ptx::fence_mbarrier_init();
  meet_cluster();
  args.out[word()] = args.in[word()];
  if (thread() == 0) {
    if (ptx::cluster_cta_rank() == 0) {
      ptx::mbarrier_arrive_cluster(in_cta(&told, 1));  // arrives on the other CTA's barrier
    } else {
      if constexpr (waits) {
        told.wait_cluster(0);
      } else {
        __nanosleep(20000);
      }
      if constexpr (invalidates) ptx::mbarrier_inval(told.address());  // ends the barrier
      *reinterpret_cast<volatile uint64_t*>(&told) = 77;               // writes over the barrier
    }
  }
  meet_cluster();
}

// fault 41: Triton 10409. mbarrier.inval, and nothing orders an arrival of the other CTA before it.
// expect BW-R18 at races, "rank 0", "rank 1"
// at "// arrives on the other CTA's barrier" "mbarrier_inval(told.address());"
__global__ void inval_under_an_arrival(const __grid_constant__ FaultArguments args) {
  use_barrier_for_data<false, true>(args);
}

// fault 41: The memory of a barrier is used again, without mbarrier.inval, while an arrival may be
// on its way.
// expect BW-R18 at races, "rank 0", "rank 1"
// at "// arrives on the other CTA's barrier" "// writes over the barrier"
__global__ void reuse_under_an_arrival(const __grid_constant__ FaultArguments args) {
  use_barrier_for_data<false, false>(args);
}

// right 41: The arrival is waited for, then the barrier ends.
__global__ void inval_behind_the_arrival(const __grid_constant__ FaultArguments args) {
  use_barrier_for_data<true, true>(args);
}

// What comes between the waits for a barrier and its end.
enum class Between { nothing, meeting, arrivals };

template <Between between, bool invalidates>
__device__ __forceinline__ void end_barrier_after_waits(const FaultArguments& args) {
  __shared__ SharedMemBarrier turn, done;
  if (thread() == 0) turn.init(1), done.init(64);
  __syncthreads();
  args.out[thread()] = args.in[thread()];
  if (thread() == 0) turn.arrive();
  turn.wait(0);  // every thread waits
  if constexpr (between == Between::meeting) __syncthreads();
  if constexpr (between == Between::arrivals) done.arrive();
  if (thread() != 0) return;
  if constexpr (between == Between::nothing) __nanosleep(20000);
  if constexpr (between == Between::arrivals) done.wait(0);
  if constexpr (invalidates) ptx::mbarrier_inval(turn.address());  // ends it
  *reinterpret_cast<volatile uint64_t*>(&turn) = 77;               // writes over it
}

// fault 41: mbarrier.inval while other threads may still wait for the barrier; here all of them
// have returned.
// expect BW-R18 at races, "the wait has read", "nothing shows that the wait has returned"
// at "// every thread waits" "// ends it"
__global__ void inval_under_a_wait(const __grid_constant__ FaultArguments args) {
  end_barrier_after_waits<Between::nothing, true>(args);
}

// fault 41: The memory of a barrier is used again, without mbarrier.inval, while other threads may
// still wait for it.
// expect BW-R18 at races, "the wait has read", "nothing shows that the wait has returned"
// at "// every thread waits" "// writes over it"
__global__ void reuse_under_a_wait(const __grid_constant__ FaultArguments args) {
  end_barrier_after_waits<Between::nothing, false>(args);
}

// right 41: All threads meet after their waits, then the barrier ends.
__global__ void inval_after_a_meeting(const __grid_constant__ FaultArguments args) {
  end_barrier_after_waits<Between::meeting, true>(args);
}

// right 41: Each thread arrives after its wait, and the one that ends the barrier waits for them.
__global__ void inval_after_arrivals(const __grid_constant__ FaultArguments args) {
  end_barrier_after_waits<Between::arrivals, true>(args);
}

// fault 8: The thread ends with a committed bulk store that it has never waited for; the CTA lives
// on long enough for the store, by luck.
// expect BW-C05 at contract, "without having waited for it"
__global__ void store_never_waited_for(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  box[thread()] = args.in[word()];
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (thread() == 0) {
    store_box(args.out_map, first_row(), box);  // (1)
    ptx::bulk_commit_group();
  }
  __nanosleep(20000);
}

// fault 8: Of two groups the wait allows one, and the thread ends.
// expect BW-C05 at contract, "without having waited for it"
__global__ void last_store_never_waited_for(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[2][kBoxWords];
  for (uint32_t half = 0; half < 2; ++half) box[half][thread()] = args.in[128 * half + thread()];
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (thread() == 0) {
    for (uint32_t half = 0; half < 2; ++half) {
      store_box(args.out_map, 4 * half, box[half]);  // (1)
      ptx::bulk_commit_group();
    }
    ptx::bulk_wait_group_read<1>();
  }
  __nanosleep(20000);
}

// right 8: A thread that has waited for its last group may end before its CTA.
__global__ void store_waited_for(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  box[thread()] = args.in[word()];
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (thread() == 0) {
    store_box(args.out_map, first_row(), box);
    ptx::bulk_commit_group();
    ptx::bulk_wait_group_read<0>();
  }
}

// `relays`: with which scope CTA 1 tells CTA 0 that its own half is there.
template <bool at_cluster_scope>
__device__ __forceinline__ void relay_full(const FaultArguments& args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full, both;
  if (thread() == 0) full.init(32), both.init(1), ptx::fence_mbarrier_init();
  meet_cluster();
  const uint32_t rank = ptx::cluster_cta_rank();
  if (rank == 1) {
    words[lane()] = args.in[lane()];  // half of the other CTA
    full.arrive();
    if (lane() == 0) {
      full.wait(0);
      if constexpr (at_cluster_scope)
        ptx::mbarrier_arrive_cluster(in_cta(&both, 0));
      else
        ptx::mbarrier_arrive_remote(in_cta(&both, 0));
    }
  } else {
    both.wait_cluster(0);
    args.out[lane()] = load_cluster(in_cta(&words[lane()], 1));  // reads the other half
  }
  meet_cluster();
}

// fault 29: "Full" is relayed from one CTA of a pair to the other by an arrival of CTA scope.
// expect BW-R06 at races, "rank 0", "rank 1"
// at "// half of the other CTA" "// reads the other half"
__global__ void full_relayed_at_cta_scope(const __grid_constant__ FaultArguments args) {
  relay_full<false>(args);
}

// right 29: The relay releases to the cluster.
__global__ void full_relayed_at_cluster_scope(const __grid_constant__ FaultArguments args) {
  relay_full<true>(args);
}

// `meets`: the pair meets between the allocations and the deallocations.
template <bool meets>
__device__ __forceinline__ void allocate_in_a_pair(const FaultArguments& args) {
  __shared__ uint32_t slot;
  meet_cluster();
  if (ptx::cluster_cta_rank() == 1) __nanosleep(5000);
  ptx::tcgen05_alloc<2>(ptx::shared_address(&slot), kColumns);  // allocates its half
  ptx::tcgen05_relinquish_alloc_permit<2>();
  __syncwarp();
  if constexpr (meets) meet_cluster();
  ptx::tcgen05_dealloc<2>(slot, kColumns);  // frees its half
  args.out[word()] = args.in[word()];
}

// fault 31: CUTLASS 3435. A CTA of a pair frees its half while the other one may not have
// allocated: the allocation of a pair does not synchronise its CTAs.
// expect BW-R10 at races, "rank 0", "rank 1"
// at "// allocates its half" "// frees its half"
__global__ void freed_before_the_peer_allocates(const __grid_constant__ FaultArguments args) {
  allocate_in_a_pair<false>(args);
}

// right 31: A cluster barrier between the allocations and the deallocations.
__global__ void freed_behind_both_allocations(const __grid_constant__ FaultArguments args) {
  allocate_in_a_pair<true>(args);
}

/// One thread initialises a barrier, then the warp allocates. The compiler leads lane 0 to the
/// allocation by another edge than the rest, past the comparison that it need not make again.
__device__ __forceinline__ void allocate_by_two_edges(const FaultArguments& args) {
  __shared__ SharedMemBarrier ready;
  __shared__ uint32_t slot;
  if (thread() == 0) ready.init(64), ptx::fence_mbarrier_init();
  if (warp() == 0) allocate(&slot);
  __syncthreads();
  ready.arrive();
  ready.wait(0);
  args.out[thread()] = args.in[thread()];
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  if (warp() == 0) free_columns(slot);
}

// right: By whichever edge, all lanes come to the allocation before any of them waits.
__global__ void allocation_by_two_edges(const __grid_constant__ FaultArguments args) {
  allocate_by_two_edges(args);
}

// right: Hardware brings the lanes together as well: they allocate once.
// setting BW_SIM_STRICTNESS=hardware
__global__ void allocation_by_two_edges_on_hardware(const __grid_constant__ FaultArguments args) {
  allocate_by_two_edges(args);
}

// right: A CTA that has handed on its words may end without waiting for the other one, which
// receives them.
__global__ void ends_after_its_arrival(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  meet_cluster();
  args.out[word()] = args.in[word()];
  if (ptx::cluster_cta_rank() == 0) {
    store_cluster(in_cta(&words[lane()], 1), args.in[word()]);
    ptx::cluster_arrive();
    return;
  }
  meet_cluster();
  args.out[word() - 32] = words[lane()];
}

FaultTable end_kernels() {
  static const FaultKernel kKernels[] = {
      BW_FAULT(ends_late_by_luck, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(ends_behind_a_meeting, .threads = 32, .ctas = 2, .cluster = 2, .words = 32),
      BW_FAULT(arrival_early_by_luck, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(arrival_waited_for, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(inval_under_an_arrival, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(reuse_under_an_arrival, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(inval_behind_the_arrival, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(inval_under_a_wait, .threads = 64),
      BW_FAULT(reuse_under_a_wait, .threads = 64),
      BW_FAULT(inval_after_a_meeting, .threads = 64),
      BW_FAULT(inval_after_arrivals, .threads = 64),
      BW_FAULT(store_never_waited_for, .threads = 128),
      BW_FAULT(last_store_never_waited_for, .threads = 128),
      BW_FAULT(store_waited_for, .threads = 128),
      BW_FAULT(full_relayed_at_cta_scope, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(full_relayed_at_cluster_scope, .threads = 32, .ctas = 2, .cluster = 2, .words = 32),
      BW_FAULT(freed_before_the_peer_allocates, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(freed_behind_both_allocations, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(allocation_by_two_edges),
      BW_FAULT(allocation_by_two_edges_on_hardware),
      BW_FAULT(ends_after_its_arrival, .threads = 32, .ctas = 2, .cluster = 2),
  };
  return kKernels;
}

}  // namespace bw::faults
