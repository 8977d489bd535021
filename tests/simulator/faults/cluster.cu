/// \file
/// CTAs of a cluster: remote arrivals and accesses, scopes, multicast, the end of a CTA.

#include "common/device/cluster.cuh"
#include "common/device/cluster_launch_control.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tma_load.cuh"
#include "tests/simulator/faults/fault_instructions.cuh"
#include "tests/simulator/faults/fault_kernel.cuh"

namespace bw::faults {

// fault 29: CUTLASS 3324. The arrival on the other CTA's barrier has CTA scope: it publishes
// nothing.
// expect BW-R06 at races, "rank 0", "rank 1"
__global__ void arrival_of_cta_scope(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32), ptx::fence_mbarrier_init();
  meet_cluster();
  if (ptx::cluster_cta_rank() == 0) {
    store_cluster(in_cta(&words[lane()], 1), args.in[lane()]);  // (1)
    ptx::mbarrier_arrive_remote(in_cta(&full, 1));
  } else {
    full.wait_cluster(0);
    args.out[lane()] = words[lane()];  // (2)
  }
  meet_cluster();
}

// fault 29: The arrival is released to the cluster, and the wait acquires at CTA scope.
// expect BW-R06 at races, "rank 0", "rank 1"
__global__ void wait_of_cta_scope(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32), ptx::fence_mbarrier_init();
  meet_cluster();
  if (ptx::cluster_cta_rank() == 0) {
    store_cluster(in_cta(&words[lane()], 1), args.in[lane()]);  // (1)
    ptx::mbarrier_arrive_cluster(in_cta(&full, 1));
  } else {
    full.wait(0);
    args.out[lane()] = words[lane()];  // (2)
  }
  meet_cluster();
}

// right 29: Release and acquire at cluster scope.
__global__ void hand_over_at_cluster_scope(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32), ptx::fence_mbarrier_init();
  meet_cluster();
  if (ptx::cluster_cta_rank() == 0) {
    store_cluster(in_cta(&words[lane()], 1), args.in[lane()]);
    ptx::mbarrier_arrive_cluster(in_cta(&full, 1));
  } else {
    full.wait_cluster(0);
    args.out[lane()] = words[lane()];
  }
  meet_cluster();
}

// fault 29: barrier.cluster.arrive.relaxed lets the other CTA go on, and publishes no store.
// expect BW-R07 at races, "rank 0", "rank 1"
__global__ void relaxed_cluster_arrival(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  meet_cluster();
  const uint32_t peer = ptx::cluster_cta_rank() ^ 1;
  store_cluster(in_cta(&words[lane()], peer), args.in[word() ^ 32]);  // (1)
  __syncwarp();
  ptx::cluster_arrive_relaxed();
  ptx::cluster_wait();
  args.out[word()] = words[lane()];  // (2)
  meet_cluster();
}

// right 29: A relaxed arrival after a release fence, an acquire fence after the wait.
__global__ void relaxed_cluster_arrival_with_fences(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  meet_cluster();
  const uint32_t peer = ptx::cluster_cta_rank() ^ 1;
  store_cluster(in_cta(&words[lane()], peer), args.in[word() ^ 32]);
  fence_acq_rel_cluster();
  __syncwarp();
  ptx::cluster_arrive_relaxed();
  ptx::cluster_wait();
  fence_acq_rel_cluster();
  args.out[word()] = words[lane()];
  meet_cluster();
}

// right 35: Behind fence.mbarrier_init a relaxed arrival at the cluster's barrier is enough.
__global__ void relaxed_arrival_for_inits(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32), ptx::fence_mbarrier_init();
  __syncwarp();
  ptx::cluster_arrive_relaxed();
  ptx::cluster_wait();
  if (ptx::cluster_cta_rank() == 0) {
    store_cluster(in_cta(&words[lane()], 1), args.in[lane()]);
    ptx::mbarrier_arrive_cluster(in_cta(&full, 1));
  } else {
    full.wait_cluster(0);
    args.out[lane()] = words[lane()];
  }
  meet_cluster();
}

// fault 35: FlashKDA 24. A relaxed meeting without the fence: the other CTA arrives on a barrier
// whose init nothing has published.
// expect BW-R08 at races, "rank 0", "rank 1"
__global__ void inits_without_their_fence(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32);  // (1)
  __syncwarp();
  ptx::cluster_arrive_relaxed();
  ptx::cluster_wait();
  if (ptx::cluster_cta_rank() == 0) {
    store_cluster(in_cta(&words[lane()], 1), args.in[lane()]);
    ptx::mbarrier_arrive_cluster(in_cta(&full, 1));  // (2)
  } else {
    full.wait_cluster(0);
    args.out[lane()] = words[lane()];
  }
  meet_cluster();
}

// fault 35: __syncthreads instead of a cluster barrier: the other CTA may not have initialised
// yet.
// expect BW-R08 at races, "rank 0", "rank 1"
__global__ void syncthreads_for_a_cluster(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier full;
  if (ptx::cluster_cta_rank() == 0) __nanosleep(500);
  if (thread() == 0) full.init(32), ptx::fence_mbarrier_init();  // (1)
  __syncthreads();
  if (ptx::cluster_cta_rank() == 0) {
    __nanosleep(1000);
    ptx::mbarrier_arrive_cluster(in_cta(&full, 1));  // (2)
  } else {
    full.wait_cluster(0);
  }
  args.out[word()] = args.in[word()];
  meet_cluster();
}

// fault: The neighbour's shared memory is read, and nothing says that it has written.
// expect BW-R16 at races, "rank 0", "rank 1"
__global__ void neighbour_read_too_early(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  words[lane()] = 0;
  meet_cluster();
  words[lane()] = args.in[word()];  // (1)
  const uint32_t peer = ptx::cluster_cta_rank() ^ 1;
  args.out[word() ^ 32] = load_cluster(in_cta(&words[lane()], peer));  // (2)
  meet_cluster();
}

// right: The neighbour's shared memory is read between two meetings of the cluster.
__global__ void neighbour_read_between_meetings(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  words[lane()] = args.in[word()];
  meet_cluster();
  const uint32_t peer = ptx::cluster_cta_rank() ^ 1;
  args.out[word() ^ 32] = load_cluster(in_cta(&words[lane()], peer));
  meet_cluster();
}

// fault 8: The CTA ends while its neighbour still reads from it.
// expect BW-M12 at contract, "rank 1"
__global__ void ends_under_its_reader(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  words[lane()] = args.in[word()];
  meet_cluster();
  if (ptx::cluster_cta_rank() == 0) {
    __nanosleep(2000);
    args.out[word() ^ 32] = load_cluster(in_cta(&words[lane()], 1));  // (1)
  }
}

// fault 8, 38: SGLang 32954. The CTA ends before its peer has arrived on its barrier.
// expect BW-B16 at contract, "rank 1"
__global__ void ends_before_an_arrival(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier done;
  if (thread() == 0) done.init(64), ptx::fence_mbarrier_init();
  meet_cluster();
  args.out[word()] = args.in[word()];
  if (ptx::cluster_cta_rank() == 0) {
    __nanosleep(2000);
    ptx::mbarrier_arrive_cluster(in_cta(&done, 1));  // (1)
  }
}

// right 38: Warps of a CTA that have nothing left to do may end before the cluster's last meeting.
__global__ void some_warps_end_early(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[64];
  words[thread()] = args.in[word()];
  meet_cluster();
  const uint32_t peer = ptx::cluster_cta_rank() ^ 1;
  args.out[word() ^ 64] = load_cluster(in_cta(&words[thread()], peer));
  if (warp() == 1) return;
  meet_cluster();
}

// fault 9: The peer's rank as rank + 1: the last CTA names one beyond the cluster.
// expect BW-M10 at contract, "cluster of 2"
__global__ void peer_is_rank_plus_one(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  meet_cluster();
  const uint32_t peer = ptx::cluster_cta_rank() + 1;
  store_cluster(in_cta(&words[lane()], peer), args.in[lane()]);  // (1)
  meet_cluster();
  args.out[word()] = words[lane()];
}

// fault 9: The pair's mask as rank and rank + 1: from the odd rank it names a CTA beyond the
// cluster.
// expect BW-K03 at contract, "rank 1"
__global__ void mask_of_rank_plus_one(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(1), ptx::fence_mbarrier_init();
  meet_cluster();
  const uint32_t rank = ptx::cluster_cta_rank();
  if (thread() == 0) full.arrive_and_expect_bytes(kBoxBytes);
  if (thread() == 0 && rank == 1) {
    multicast_box(box, args.in_map, full, 0,  // (1)
                  static_cast<uint16_t>(1u << rank | 1u << (rank + 1)));
  }
  full.wait_cluster(0);
  args.out[word()] = box[thread()];
  meet_cluster();
}

// fault 8: Multicast into a CTA whose readers have not released the stage: one CTA's have.
// expect BW-R16 at races, "rank 1", "tensor copy"
__global__ void multicast_without_all_releases(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full, empty;
  if (thread() == 0) full.init(1), empty.init(128), ptx::fence_mbarrier_init();
  meet_cluster();
  const uint32_t rank = ptx::cluster_cta_rank();
  for (uint32_t tile = 0; tile < 2; ++tile) {
    if (thread() == 0) {
      full.arrive_and_expect_bytes(kBoxBytes);
      if (rank == 0) {
        empty.wait(tile ^ 1);
        multicast_box(box, args.in_map, full, 4 * tile, 0b11);  // (2)
      }
    }
    full.wait_cluster(tile);
    if (rank == 1) args.out[128 * tile + thread()] = box[thread()];  // (1)
    ptx::fence_proxy_async_shared();
    if (rank == 0) empty.arrive();
  }
  meet_cluster();
}

// right: Multicast to both CTAs, released by the threads of both at cluster scope.
__global__ void multicast_with_all_releases(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full, empty;
  if (thread() == 0) full.init(1), empty.init(256), ptx::fence_mbarrier_init();
  meet_cluster();
  const uint32_t rank = ptx::cluster_cta_rank();
  for (uint32_t tile = 0; tile < 2; ++tile) {
    if (thread() == 0) {
      full.arrive_and_expect_bytes(kBoxBytes);
      if (rank == 0) {
        empty.wait_cluster(tile ^ 1);
        multicast_box(box, args.in_map, full, 4 * tile, 0b11);
      }
    }
    full.wait_cluster(tile);
    if (rank == 1) args.out[128 * tile + thread()] = box[thread()];
    ptx::fence_proxy_async_shared();
    ptx::mbarrier_arrive_cluster(in_cta(&empty, 0));
  }
  meet_cluster();
}

// right: A pair's copy signals the leader's barrier, which waits for the bytes of both.
__global__ void pair_copy_signals_the_leader(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full, told;
  if (thread() == 0) full.init(1), told.init(1), ptx::fence_mbarrier_init();
  meet_cluster();
  const uint32_t rank = ptx::cluster_cta_rank();
  if (thread() == 0) {
    if (rank == 0) full.arrive_and_expect_bytes(2 * kBoxBytes);
    ptx::tma_load_2d_pair(ptx::shared_address(box), &args.in_map,
                          ptx::leader_address(full.address()), 0, first_row());
    if (rank == 0) {
      full.wait_cluster(0);
      for (uint32_t cta = 0; cta < 2; ++cta) {
        ptx::mbarrier_arrive_cluster(in_cta(&told, cta));
      }
    }
  }
  told.wait_cluster(0);
  args.out[word()] = box[thread()];
  meet_cluster();
}

// fault: st.async's words are read after a wait for another phase than the one that they
// complete.
// expect BW-R04 at races, "rank 0", "rank 1"
__global__ void st_async_not_waited_for(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  words[lane()] = 0;
  if (thread() == 0) full.init(1), ptx::fence_mbarrier_init();
  meet_cluster();
  if (ptx::cluster_cta_rank() == 1 && thread() == 0) full.arrive_and_expect_bytes(128);
  if (ptx::cluster_cta_rank() == 0) {
    store_async_word(in_cta(&words[lane()], 1), args.in[lane()],  // (1)
                     in_cta(&full, 1));
  } else {
    full.wait_cluster(1);
    __nanosleep(2000);
    args.out[lane()] = words[lane()];  // (2)
    full.wait_cluster(0);
  }
  meet_cluster();
}

// right: st.async completes the bytes of the receiver's barrier; no fence is needed.
__global__ void st_async_waited_for(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(1), ptx::fence_mbarrier_init();
  meet_cluster();
  if (ptx::cluster_cta_rank() == 1 && thread() == 0) full.arrive_and_expect_bytes(128);
  if (ptx::cluster_cta_rank() == 0) {
    store_async_word(in_cta(&words[lane()], 1), args.in[lane()], in_cta(&full, 1));
  } else {
    full.wait_cluster(0);
    args.out[lane()] = words[lane()];
  }
  meet_cluster();
}

// fault 28: A bulk copy to the other CTA takes what the threads have written, unfenced.
// expect BW-R03 at races, "rank 0", "bulk copy"
__global__ void bulk_copy_of_unfenced_writes(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(1), ptx::fence_mbarrier_init();
  if (ptx::cluster_cta_rank() == 0) words[lane()] = args.in[lane()];  // (1)
  meet_cluster();
  if (ptx::cluster_cta_rank() == 0) {
    if (lane() == 0) bulk_to_cta(&words, &full, 1, sizeof words);  // (2)
  } else {
    if (lane() == 0) full.arrive_and_expect_bytes(sizeof words);
    full.wait_cluster(0);
    args.out[lane()] = words[lane()];
  }
  meet_cluster();
}

// right 28: The same after a fence of each writer; the receiver waits for the bytes.
__global__ void bulk_copy_of_fenced_writes(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(1), ptx::fence_mbarrier_init();
  if (ptx::cluster_cta_rank() == 0) words[lane()] = args.in[lane()];
  ptx::fence_proxy_async_shared();
  meet_cluster();
  if (ptx::cluster_cta_rank() == 0) {
    if (lane() == 0) bulk_to_cta(&words, &full, 1, sizeof words);
  } else {
    if (lane() == 0) full.arrive_and_expect_bytes(sizeof words);
    full.wait_cluster(0);
    args.out[lane()] = words[lane()];
  }
  meet_cluster();
}

// fault 25: The scheduler's ring counts a role that doesn't take its messages.
// expect BW-H01 at contract, "warp 0", "warp 1"
// setting BW_SIM_SMS=1
__global__ void role_without_messages(const __grid_constant__ FaultArguments args) {
  __shared__ ptx::LaunchControlResponse message;
  __shared__ SharedMemBarrier full, empty;
  if (thread() == 0) full.init(1), empty.init(64), ptx::fence_mbarrier_init();
  __syncthreads();
  args.out[word()] = args.in[word()];
  if (warp() == 2) return;
  for (uint32_t lap = 0;; ++lap) {
    if (thread() == 0) {
      empty.wait(lap % 2 ^ 1);  // (1)
      full.arrive_and_expect_bytes(sizeof message);
      ptx::launch_control_try_cancel<false>(ptx::shared_address(&message), full.address());
    }
    if (warp() == 0) continue;
    full.wait(lap % 2);  // (2)
    if (!ptx::launch_control_query(ptx::shared_address(&message)).is_canceled) break;
    ptx::fence_proxy_async_shared();
    empty.arrive();
  }
}

// fault 25: The answer is read before it was waited for.
// expect BW-R04 at races, "warp 1"
__global__ void answer_not_waited_for(const __grid_constant__ FaultArguments args) {
  __shared__ ptx::LaunchControlResponse message;
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(1), ptx::fence_mbarrier_init();
  __syncthreads();
  if (thread() == 0) {
    full.arrive_and_expect_bytes(sizeof message);
    ptx::launch_control_try_cancel<false>(ptx::shared_address(&message), full.address());  // (1)
  }
  __nanosleep(10000);
  if (warp() == 1) {
    args.out[lane()] = ptx::launch_control_query(ptx::shared_address(&message)).is_canceled;  // (2)
  }
  full.wait(0);
}

// fault 25: After an answer of "nothing left" another request is made.
// expect BW-Q02 at contract, "warp 0"
__global__ void request_after_the_last(const __grid_constant__ FaultArguments args) {
  __shared__ ptx::LaunchControlResponse message;
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(1), ptx::fence_mbarrier_init();
  __syncthreads();
  for (uint32_t request = 0; request < 2; ++request) {
    if (thread() == 0) {
      full.arrive_and_expect_bytes(sizeof message);
      ptx::launch_control_try_cancel<false>(ptx::shared_address(&message), full.address());  // (1)
    }
    full.wait(request);
    const bool more = ptx::launch_control_query(ptx::shared_address(&message)).is_canceled;
    args.out[thread()] = more ? 0 : args.in[thread()];
    ptx::fence_proxy_async_shared();
    __syncthreads();
  }
}

FaultTable cluster_kernels() {
  static const FaultKernel kKernels[] = {
      BW_FAULT(arrival_of_cta_scope, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(wait_of_cta_scope, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(hand_over_at_cluster_scope, .threads = 32, .ctas = 2, .cluster = 2, .words = 32),
      BW_FAULT(relaxed_cluster_arrival, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(relaxed_cluster_arrival_with_fences, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(relaxed_arrival_for_inits, .threads = 32, .ctas = 2, .cluster = 2, .words = 32),
      BW_FAULT(inits_without_their_fence, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(syncthreads_for_a_cluster, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(neighbour_read_too_early, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(neighbour_read_between_meetings, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(ends_under_its_reader, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(ends_before_an_arrival, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(some_warps_end_early, .ctas = 2, .cluster = 2),
      BW_FAULT(peer_is_rank_plus_one, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(mask_of_rank_plus_one, .threads = 128, .ctas = 2, .cluster = 2),
      BW_FAULT(multicast_without_all_releases, .threads = 128, .ctas = 2, .cluster = 2),
      BW_FAULT(multicast_with_all_releases, .threads = 128, .ctas = 2, .cluster = 2),
      BW_FAULT(pair_copy_signals_the_leader, .threads = 128, .ctas = 2, .cluster = 2),
      BW_FAULT(st_async_not_waited_for, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(st_async_waited_for, .threads = 32, .ctas = 2, .cluster = 2, .words = 32),
      BW_FAULT(bulk_copy_of_unfenced_writes, .threads = 32, .ctas = 2, .cluster = 2),
      BW_FAULT(bulk_copy_of_fenced_writes, .threads = 32, .ctas = 2, .cluster = 2, .words = 32),
      BW_FAULT(role_without_messages, .threads = 96, .ctas = 40),
      BW_FAULT(answer_not_waited_for),
      BW_FAULT(request_after_the_last),
  };
  return kKernels;
}

}  // namespace bw::faults
