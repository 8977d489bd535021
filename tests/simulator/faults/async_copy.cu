/// \file
/// Copies that run by themselves (TMA, bulk, cp.async) against the threads' own accesses.

#include "common/device/bulk_copy.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/named_barrier.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/tma_store.cuh"
#include "tests/simulator/faults/fault_instructions.cuh"
#include "tests/simulator/faults/fault_kernel.cuh"

namespace bw::faults {

// fault 1: A stage is read by ordinary loads and released without fence.proxy.async; TMA
// overwrites it.
// expect BW-R03 at races, "warp [0-3]", "tensor"
__global__ void stage_released_without_fence(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full, empty;
  if (thread() == 0) {
    full.init(1), empty.init(128);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  for (uint32_t tile = 0; tile < 2; ++tile) {
    if (warp() == 4) {
      empty.wait(tile ^ 1);
      if (ptx::elect_one()) {
        full.arrive_and_expect_bytes(kBoxBytes);
        load_box(box, args.in_map, full, 4 * tile);  // (2)
      }
      __syncwarp();
    } else {
      full.wait(tile);
      args.out[128 * tile + thread()] = box[thread()];  // (1)
      empty.arrive();
    }
  }
}

// fault 1: The fence follows the arrival: it comes too late.
// expect BW-R03 at races, "warp [0-3]", "tensor"
__global__ void fence_behind_the_release(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full, empty;
  if (thread() == 0) {
    full.init(1), empty.init(128);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  for (uint32_t tile = 0; tile < 2; ++tile) {
    if (warp() == 4) {
      empty.wait(tile ^ 1);
      if (ptx::elect_one()) {
        full.arrive_and_expect_bytes(kBoxBytes);
        load_box(box, args.in_map, full, 4 * tile);  // (2)
      }
      __syncwarp();
    } else {
      full.wait(tile);
      args.out[128 * tile + thread()] = box[thread()];  // (1)
      empty.arrive();
      ptx::fence_proxy_async_shared();
    }
  }
}

// right 1: The readers fence, then arrive.
__global__ void stage_released_with_fence(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full, empty;
  if (thread() == 0) {
    full.init(1), empty.init(128);
    ptx::fence_mbarrier_init();
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
      ptx::fence_proxy_async_shared();
      empty.arrive();
    }
  }
}

// right 1: The producer fences after its wait instead of the readers.
__global__ void producer_fences(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full, empty;
  if (thread() == 0) {
    full.init(1), empty.init(128);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  for (uint32_t tile = 0; tile < 2; ++tile) {
    if (warp() == 4) {
      empty.wait(tile ^ 1);
      if (ptx::elect_one()) {
        ptx::fence_proxy_async_shared();
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

// fault 1: __syncthreads between the reads and the next copy, and no proxy fence.
// expect BW-R03 at races, "warp [0-3]", "tensor"
__global__ void syncthreads_is_no_proxy_fence(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  for (uint32_t tile = 0; tile < 2; ++tile) {
    if (thread() == 0) {
      full.arrive_and_expect_bytes(kBoxBytes);
      load_box(box, args.in_map, full, 4 * tile);  // (2)
    }
    full.wait(tile);
    args.out[128 * tile + thread()] = box[thread()];  // (1)
    __syncthreads();
  }
}

// fault 28: cuDNN front end 784. The threads write what TMA then stores, after a barrier,
// unfenced.
// expect BW-R03 at races, "warp [0-3]", "tensor"
__global__ void store_of_unfenced_writes(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  box[thread()] = args.in[word()];  // (1)
  __syncthreads();
  if (thread() == 0) {
    store_box(args.out_map, first_row(), box);  // (2)
    ptx::bulk_commit_group();
    ptx::bulk_wait_group<0>();
  }
}

// fault 28: PyTorch AO 4278. The issuing thread fences after the barrier: not the writers before
// it.
// expect BW-R03 at races, "warp [0-3]", "tensor"
__global__ void fence_of_one_writer(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  box[thread()] = args.in[word()];  // (1)
  if (thread() == 0) ptx::fence_proxy_async_shared();
  __syncthreads();
  if (thread() == 0) {
    store_box(args.out_map, first_row(), box);  // (2)
    ptx::bulk_commit_group();
    ptx::bulk_wait_group<0>();
  }
}

// right 28: Every writer fences, a barrier, one thread issues.
__global__ void store_of_fenced_writes(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  box[thread()] = args.in[word()];
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (thread() == 0) {
    store_box(args.out_map, first_row(), box);
    ptx::bulk_commit_group();
    ptx::bulk_wait_group<0>();
  }
}

// fault 28: The fence comes before the last write.
// expect BW-R03 at races, "warp [0-3]", "tensor"
__global__ void write_behind_the_fence(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  box[thread()] = 0;
  ptx::fence_proxy_async_shared();
  box[thread()] = args.in[word()];  // (1)
  __syncthreads();
  if (thread() == 0) {
    store_box(args.out_map, first_row(), box);  // (2)
    ptx::bulk_commit_group();
    ptx::bulk_wait_group<0>();
  }
}

// right 28: One fence for two stores: the second has an earlier one on its path.
__global__ void one_fence_for_two_stores(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t boxes[2][kBoxWords];
  boxes[0][thread()] = args.in[thread()];
  boxes[1][thread()] = args.in[128 + thread()];
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (thread() == 0) store_box(args.out_map, 0, boxes[0]);
  __syncthreads();
  if (thread() == 0) {
    store_box(args.out_map, 4, boxes[1]);
    ptx::bulk_commit_group();
    ptx::bulk_wait_group<0>();
  }
}

// right 28: What a copy has brought a copy takes away: no ordinary access, no fence.
__global__ void copy_in_copy_out(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() != 0) return;
  full.init(1);
  ptx::fence_mbarrier_init();
  full.arrive_and_expect_bytes(kBoxBytes);
  load_box(box, args.in_map, full, 0);
  full.wait(0);
  store_box(args.out_map, 0, box);
  ptx::bulk_commit_group();
  ptx::bulk_wait_group<0>();
}

// fault: What TMA brings is read before anybody has waited for it.
// expect BW-R04 at races, "warp [0-3]", "tensor"
__global__ void copy_not_waited_for(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  box[thread()] = 0;
  ptx::fence_proxy_async_shared();
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (thread() == 0) {
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(box, args.in_map, full, 0);  // (1)
  }
  __syncthreads();
  args.out[thread()] = box[thread()];  // (2)
  full.wait(0);
}

// fault: Only the issuing thread waits for the copy; nothing tells the other threads.
// expect BW-R04 at races, "warp [0-3]", "tensor"
__global__ void one_thread_waits_for_the_copy(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  box[thread()] = 0;
  ptx::fence_proxy_async_shared();
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (thread() == 0) {
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(box, args.in_map, full, 0);  // (1)
    full.wait(0);
  }
  if (warp() != 0) __nanosleep(2000);  // they come after the copy in time, but without an order
  args.out[thread()] = box[thread()];  // (2)
}

// right: One thread waits for the copy, and a barrier tells the others: no second wait is needed.
__global__ void one_thread_waits_and_tells(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(box, args.in_map, full, 0);
    full.wait(0);
  }
  __syncthreads();
  args.out[thread()] = box[thread()];
}

// fault: The threads wait for the other stage's barrier.
// expect BW-R04 at races, "warp [0-3]", "tensor"
__global__ void wait_for_the_wrong_stage(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t boxes[2][kBoxWords];
  __shared__ SharedMemBarrier full[2];
  boxes[1][thread()] = 0;
  ptx::fence_proxy_async_shared();
  if (thread() == 0) {
    full[0].init(1), full[1].init(1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (thread() == 0) {
    for (uint32_t i = 0; i < 2; ++i) {
      full[i].arrive_and_expect_bytes(kBoxBytes);
      load_box(boxes[i], args.in_map, full[i], 4 * i);  // (1)
    }
  }
  full[0].wait(0);
  args.out[thread()] = boxes[1][thread()];  // (2)
  full[1].wait(0);
}

// fault 36: DeepEP 657. The buffer is filled again without wait_group.read: TMA may still read it.
// expect BW-R05 at races, "warp [0-3]", "tensor"
__global__ void buffer_filled_under_the_store(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  for (uint32_t tile = 0; tile < 2; ++tile) {
    box[thread()] = args.in[128 * tile + thread()];  // (2)
    ptx::fence_proxy_async_shared();
    __syncthreads();
    if (thread() == 0) {
      store_box(args.out_map, 4 * tile, box);  // (1)
      ptx::bulk_commit_group();
    }
    __syncthreads();
  }
  if (thread() == 0) ptx::bulk_wait_group<0>();
}

// fault 10: Another thread waits for the bulk group than the one that committed it.
// expect BW-R05 at races, "warp [0-3]", "tensor"
__global__ void another_thread_waits_for_the_group(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  for (uint32_t tile = 0; tile < 2; ++tile) {
    box[thread()] = args.in[128 * tile + thread()];  // (2)
    ptx::fence_proxy_async_shared();
    __syncthreads();
    if (thread() == 0) {
      store_box(args.out_map, 4 * tile, box);  // (1)
      ptx::bulk_commit_group();
    }
    if (thread() == 32) ptx::bulk_wait_group_read<0>();
    __syncthreads();
  }
  if (thread() == 0) ptx::bulk_wait_group<0>();
}

// fault 10: The issuing thread waits, and no barrier tells the others before they write.
// expect BW-R05 at races, "warp [0-3]", "tensor"
__global__ void nobody_is_told_of_the_group(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  for (uint32_t tile = 0; tile < 2; ++tile) {
    box[thread()] = args.in[128 * tile + thread()];  // (2)
    ptx::fence_proxy_async_shared();
    __syncthreads();
    if (thread() == 0) {
      store_box(args.out_map, 4 * tile, box);  // (1)
      ptx::bulk_commit_group();
      ptx::bulk_wait_group_read<0>();
    }
  }
  if (thread() == 0) ptx::bulk_wait_group<0>();
}

// right 10: The same with a barrier after the wait.
__global__ void everybody_is_told_of_the_group(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  for (uint32_t tile = 0; tile < 2; ++tile) {
    box[thread()] = args.in[128 * tile + thread()];
    ptx::fence_proxy_async_shared();
    __syncthreads();
    if (thread() == 0) {
      store_box(args.out_map, 4 * tile, box);
      ptx::bulk_commit_group();
      ptx::bulk_wait_group_read<0>();
    }
    __syncthreads();
  }
  if (thread() == 0) ptx::bulk_wait_group<0>();
}

// fault 36: Two buffers, and one store may be under way; the wait allows two.
// expect BW-R05 at races, "warp [0-3]", "tensor"
__global__ void one_group_too_many_allowed(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t boxes[2][kBoxWords];
  for (uint32_t tile = 0; tile < 4; ++tile) {
    if (thread() == 0) ptx::bulk_wait_group_read<2>();
    __syncthreads();
    boxes[tile % 2][thread()] = args.in[128 * tile + thread()];  // (2)
    ptx::fence_proxy_async_shared();
    __syncthreads();
    if (thread() == 0) {
      store_box(args.out_map, 4 * tile, boxes[tile % 2]);  // (1)
      ptx::bulk_commit_group();
    }
  }
  if (thread() == 0) ptx::bulk_wait_group<0>();
}

// right 36: Two buffers, one store under way while the other is filled.
__global__ void two_buffers_one_store(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t boxes[2][kBoxWords];
  for (uint32_t tile = 0; tile < 4; ++tile) {
    if (thread() == 0) ptx::bulk_wait_group_read<1>();
    __syncthreads();
    boxes[tile % 2][thread()] = args.in[128 * tile + thread()];
    ptx::fence_proxy_async_shared();
    __syncthreads();
    if (thread() == 0) {
      store_box(args.out_map, 4 * tile, boxes[tile % 2]);
      ptx::bulk_commit_group();
    }
  }
  if (thread() == 0) ptx::bulk_wait_group<0>();
}

// fault 36: wait_group.read promises that the source was read, not that the data is in global
// memory.
// expect BW-R04 at races, "warp 0", "bulk"
__global__ void result_read_after_wait_read(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  box[thread()] = args.in[thread()];
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (thread() == 0) {
    ptx::bulk_store(args.scratch, ptx::shared_address(box), kBoxBytes);  // (1)
    ptx::bulk_commit_group();
    ptx::bulk_wait_group_read<0>();
    args.out[0] = args.scratch[0];  // (2)
    ptx::bulk_wait_group<0>();
  }
}

// right 36: wait_group without .read: what the copy has written is there for the waiting thread.
__global__ void result_read_after_wait(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  box[thread()] = args.in[thread()];
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (thread() == 0) {
    ptx::bulk_store(args.scratch, ptx::shared_address(box), kBoxBytes);
    ptx::bulk_commit_group();
    ptx::bulk_wait_group<0>();
    args.out[0] = args.scratch[0];
  }
}

// fault 8: The CTA ends while its bulk store still reads shared memory.
// expect BW-C05 at contract, "CTA rank 0"
__global__ void ends_under_its_store(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  box[thread()] = args.in[word()];
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (thread() == 0) {
    store_box(args.out_map, first_row(), box);  // (1)
    ptx::bulk_commit_group();
  }
}

// fault 8: The CTA ends while a copy into it is under way.
// expect BW-C05 at contract, "CTA rank 0"
__global__ void ends_under_its_load(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  args.out[word()] = args.in[word()];
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(box, args.in_map, full, 0);  // (1)
  }
}

// right 8: wait_group.read is enough before the end: only the source is in the CTA.
__global__ void ends_when_the_source_is_read(const __grid_constant__ FaultArguments args) {
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

// fault 28: What TMA shall store to shared memory's neighbour comes from global memory that the
// thread has just written, without a proxy fence of global memory.
// expect BW-R03 at races, "warp 0", "bulk"
__global__ void copy_of_unfenced_global_writes(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    for (uint32_t i = 0; i < 4; ++i) args.scratch[i] = args.in[i];  // (1)
    full.arrive_and_expect_bytes(16);
    ptx::bulk_load(ptx::shared_address(box), args.scratch, 16, full.address());  // (2)
  }
  __syncthreads();
  full.wait(0);
  if (thread() < 4) args.out[thread()] = box[thread()];
}

// right 28: The same after fence.proxy.async of global memory.
__global__ void copy_of_fenced_global_writes(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    for (uint32_t i = 0; i < 4; ++i) args.scratch[i] = args.in[i];
    fence_proxy_async_global();
    full.arrive_and_expect_bytes(16);
    ptx::bulk_load(ptx::shared_address(box), args.scratch, 16, full.address());
  }
  __syncthreads();
  full.wait(0);
  if (thread() < 4) args.out[thread()] = box[thread()];
}

// fault: cp.async's data is read without a wait for it.
// expect BW-R04 at races, "warp [01]", "cp.async"
__global__ void cp_async_not_waited_for(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(16) uint32_t words[64];
  words[thread()] = 0;
  __syncthreads();
  copy_async_word(&words[thread()], &args.in[thread()]);  // (1)
  copy_async_commit();
  args.out[thread()] = words[thread()];  // (2)
  copy_async_wait<0>();
}

// fault: Each thread waits for its own cp.async, and reads its neighbour's, without a barrier.
// expect BW-R04 at races, "warp [01]", "cp.async"
__global__ void cp_async_of_a_neighbour(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(16) uint32_t words[64];
  words[thread()] = 0;
  __syncthreads();
  copy_async_word(&words[thread()], &args.in[thread()]);  // (1)
  copy_async_commit();
  copy_async_wait<0>();
  args.out[thread() ^ 32] = words[thread() ^ 32];  // (2)
}

// right: Each thread waits for its own cp.async, then a barrier.
__global__ void cp_async_after_a_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(16) uint32_t words[64];
  copy_async_word(&words[thread()], &args.in[thread()]);
  copy_async_commit();
  copy_async_wait<0>();
  __syncthreads();
  args.out[thread() ^ 32] = words[thread() ^ 32];
}

// fault: Of two groups the wait allows one: the second one's data isn't there.
// expect BW-R04 at races, "warp [01]", "cp.async"
__global__ void cp_async_group_too_many(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(16) uint32_t words[2][64];
  words[1][thread()] = 0;
  __syncthreads();
  copy_async_word(&words[0][thread()], &args.in[thread()]);
  copy_async_commit();
  copy_async_word(&words[1][thread()], &args.in[64 + thread()]);  // (1)
  copy_async_commit();
  copy_async_wait<1>();
  args.out[thread()] = words[1][thread()];  // (2)
  copy_async_wait<0>();
}

// right: cp.async completed by cp.async.mbarrier.arrive.noinc, whose arrivals the count includes.
__global__ void cp_async_arrives_noinc(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(16) uint32_t words[64];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(64);
  __syncthreads();
  copy_async_word(&words[thread()], &args.in[thread()]);
  copy_async_arrive_noinc(full.address());
  full.wait(0);
  args.out[thread() ^ 32] = words[thread() ^ 32];
}

// right: Without .noinc the arrival counts itself; the thread's own arrival comes in addition.
__global__ void cp_async_arrives_besides(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(16) uint32_t words[64];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(64);
  __syncthreads();
  copy_async_word(&words[thread()], &args.in[thread()]);
  copy_async_arrive(full.address());
  full.arrive();
  full.wait(0);
  args.out[thread() ^ 32] = words[thread() ^ 32];
}

// Half of the threads copy a word, the others fill in zeros; `by_stores` says how.
template <bool by_stores>
__device__ __forceinline__ void copy_or_fill(const FaultArguments& args) {
  __shared__ alignas(16) uint32_t words[64];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(64);
  __syncthreads();
  const bool is_inside = lane() < 16;
  if (!by_stores || is_inside) {
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(ptx::shared_address(&words[thread()])),
        "l"(__cvta_generic_to_global(&args.in[thread()])), "r"(is_inside ? 4 : 0)
        : "memory");
  } else {
    words[thread()] = 0;  // zeros by a store
  }
  copy_async_arrive_noinc(full.address());
  full.wait(0);
  const uint32_t other = words[thread() ^ 32];  // the other warp's words
  args.out[thread()] = args.in[thread()] + (lane() < 16 ? other - args.in[thread() ^ 32] : other);
}

// fault 33: TIRx kernels 202. cp.async.mbarrier.arrive tells of its thread's copies; the zeros next
// to them are ordinary stores.
// expect BW-R07 at races, "warp [01]", "hands on its thread's copies"
// at "// zeros by a store" "// the other warp's words"
__global__ void zeros_by_stores(const __grid_constant__ FaultArguments args) {
  copy_or_fill<true>(args);
}

// right 33: cp.async fills the zeros itself, by a source size of 0.
__global__ void zeros_by_cp_async(const __grid_constant__ FaultArguments args) {
  copy_or_fill<false>(args);
}

// fault: An ordinary arrival doesn't wait for the thread's cp.async.
// expect BW-R04 at races, "warp [01]", "cp.async"
__global__ void cp_async_and_an_ordinary_arrival(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(16) uint32_t words[64];
  __shared__ SharedMemBarrier full;
  words[thread()] = 0;
  if (thread() == 0) full.init(64);
  __syncthreads();
  copy_async_word(&words[thread()], &args.in[thread()]);  // (1)
  copy_async_commit();
  full.arrive();
  full.wait(0);
  args.out[thread() ^ 32] = words[thread() ^ 32];  // (2)
  copy_async_wait<0>();
}

// fault 12: The box is at a multiple of 64 bytes, where TMA wants 128.
// expect BW-M01 at contract, "128"
__global__ void box_at_64_bytes(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t boxes[2 * kBoxWords];
  __shared__ SharedMemBarrier full;
  uint32_t* const box = boxes + 16;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(box, args.in_map, full, 0);  // (1)
  }
  __syncthreads();
  full.wait(0);
  args.out[thread()] = box[thread()];
}

// fault 32: DeepGEMM 343. The tensor map in global memory is changed while a copy still reads it.
// expect BW-T10 at contract, "under way", "the copy"
__global__ void map_changed_under_the_copy(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(box, *args.map, full, 0);        // (1)
    replace_address(args.map, args.scratch);  // (2)
  }
  __syncthreads();
  full.wait(0);
  args.out[thread()] = box[thread()];
}

// fault 32: CUTLASS 2162. The map is changed, and used without a fence of the tensormap proxy.
// expect BW-T10 at contract, "changed here"
__global__ void map_used_without_its_fence(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    replace_address(args.map, args.in);  // (1)
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(box, *args.map, full, 0);  // (2)
  }
  __syncthreads();
  full.wait(0);
  args.out[thread()] = box[thread()];
}

// fault 32: Another thread acquires the map than the one that copies, and nothing orders the two.
// expect BW-R15 at races, "tensor copy"
__global__ void map_acquired_by_another_thread(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    replace_address(args.map, args.in);  // (1)
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
  }
  __syncthreads();
  if (thread() == 32) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(args.map)
                 : "memory");
  }
  if (thread() == 0) {
    __nanosleep(2000);
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(box, *args.map, full, 0);  // (2)
  }
  __syncthreads();
  full.wait(0);
  args.out[thread()] = box[thread()];
}

// right 32: The same with release and acquire of the tensormap proxy.
__global__ void map_used_behind_its_fence(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    replace_address(args.map, args.in);
    asm volatile(
        "fence.proxy.tensormap::generic.release.gpu;\n\t"
        "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(args.map)
        : "memory");
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(box, *args.map, full, 0);
  }
  __syncthreads();
  full.wait(0);
  args.out[thread()] = box[thread()];
}

FaultTable async_copy_kernels() {
  static const FaultKernel kKernels[] = {
      BW_FAULT(stage_released_without_fence, .threads = 160),
      BW_FAULT(fence_behind_the_release, .threads = 160),
      BW_FAULT(stage_released_with_fence, .threads = 160, .words = 256),
      BW_FAULT(producer_fences, .threads = 160, .words = 256),
      BW_FAULT(syncthreads_is_no_proxy_fence, .threads = 128),
      BW_FAULT(store_of_unfenced_writes, .threads = 128),
      BW_FAULT(fence_of_one_writer, .threads = 128),
      BW_FAULT(store_of_fenced_writes, .threads = 128),
      BW_FAULT(write_behind_the_fence, .threads = 128),
      BW_FAULT(one_fence_for_two_stores, .threads = 128, .words = 256),
      BW_FAULT(copy_in_copy_out, .threads = 32, .words = 128),
      BW_FAULT(copy_not_waited_for, .threads = 128),
      BW_FAULT(one_thread_waits_for_the_copy, .threads = 128),
      BW_FAULT(one_thread_waits_and_tells, .threads = 128),
      BW_FAULT(wait_for_the_wrong_stage, .threads = 128),
      BW_FAULT(buffer_filled_under_the_store, .threads = 128),
      BW_FAULT(another_thread_waits_for_the_group, .threads = 128),
      BW_FAULT(nobody_is_told_of_the_group, .threads = 128),
      BW_FAULT(everybody_is_told_of_the_group, .threads = 128, .words = 256),
      BW_FAULT(one_group_too_many_allowed, .threads = 128),
      BW_FAULT(two_buffers_one_store, .threads = 128, .words = 512),
      BW_FAULT(result_read_after_wait_read, .threads = 128),
      BW_FAULT(result_read_after_wait, .threads = 128, .words = 1),
      BW_FAULT(ends_under_its_store, .threads = 128),
      BW_FAULT(ends_under_its_load, .threads = 128),
      BW_FAULT(ends_when_the_source_is_read, .threads = 128),
      BW_FAULT(copy_of_unfenced_global_writes),
      BW_FAULT(copy_of_fenced_global_writes, .words = 4),
      BW_FAULT(cp_async_not_waited_for),
      BW_FAULT(cp_async_of_a_neighbour),
      BW_FAULT(cp_async_after_a_barrier),
      BW_FAULT(cp_async_group_too_many),
      BW_FAULT(cp_async_arrives_noinc),
      BW_FAULT(cp_async_arrives_besides),
      BW_FAULT(zeros_by_stores),
      BW_FAULT(zeros_by_cp_async),
      BW_FAULT(cp_async_and_an_ordinary_arrival),
      BW_FAULT(box_at_64_bytes, .threads = 128),
      BW_FAULT(map_changed_under_the_copy, .threads = 128),
      BW_FAULT(map_used_without_its_fence, .threads = 128),
      BW_FAULT(map_acquired_by_another_thread, .threads = 128),
      BW_FAULT(map_used_behind_its_fence, .threads = 128),
  };
  return kKernels;
}

}  // namespace bw::faults
