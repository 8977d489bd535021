/// \file
/// Phases, counts and bytes of mbarriers; life of the object.

#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tma_load.cuh"
#include "tests/simulator/faults/fault_instructions.cuh"
#include "tests/simulator/faults/fault_kernel.cuh"

namespace bw::faults {

// fault 13: The producer starts with parity 0: it waits for a phase that only its own data would
// end.
// expect BW-H01 at contract, "warp 0", "warp 1", "parity 0"
__global__ void producer_starts_at_zero(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full, empty;
  if (thread() == 0) full.init(32), empty.init(32);
  __syncthreads();
  if (warp() == 0) {
    empty.wait(0);  // (1)
    words[lane()] = args.in[lane()];
    full.arrive();
  } else {
    full.wait(0);  // (2)
    args.out[lane()] = words[lane()];
    empty.arrive();
  }
}

// fault 13: The consumer starts with parity 1, which a fresh barrier passes: it reads what isn't
// there.
// expect BW-R01 at races, "warp 0", "warp 1"
__global__ void consumer_starts_at_one(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32);
  words[lane()] = 0;
  __syncthreads();
  if (warp() == 0) {
    words[lane()] = args.in[lane()];  // (1)
    full.arrive();
  } else {
    full.wait(1);
    args.out[lane()] = words[lane()];  // (2)
  }
}

// fault 14: The count says 32 lanes, and one arrives.
// expect BW-H01 at contract, "warp 1", "pending 31 of 32"
__global__ void fewer_arrivals_than_counted(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32);
  __syncthreads();
  if (warp() == 0) {
    words[lane()] = args.in[lane()];
    __syncwarp();
    if (lane() == 0) full.arrive();  // (2)
  } else {
    full.wait(0);  // (1)
    args.out[lane()] = words[lane()];
  }
}

// fault 14: The count says one, and 32 lanes arrive.
// expect BW-B06 at contract, "warp 0"
__global__ void more_arrivals_than_counted(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(1);
  __syncthreads();
  if (warp() == 0) {
    words[lane()] = args.in[lane()];
    full.arrive();  // (1)
  } else {
    full.wait(0);
    args.out[lane()] = words[lane()];
  }
}

// fault 14: The guard of the initialisation names a thread that this kernel doesn't have.
// expect BW-B01 at contract, "warp 0"
__global__ void initialised_by_nobody(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier full;
  if (thread() == 128) full.init(32);
  __syncthreads();
  if (warp() == 0) full.arrive();  // (1)
  args.out[thread()] = args.in[thread()];
}

// fault 14: Initialised inside of the branch that the other warp doesn't take, with no barrier
// afterwards.
// expect BW-R08 at races, "warp 0", "warp 1"
__global__ void no_barrier_after_init(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (warp() == 0) {
    if (lane() == 0) full.init(32);  // (1)
    words[lane()] = args.in[lane()];
    __syncwarp();
    full.arrive();
  } else {
    __nanosleep(1000);
    full.wait(0);  // (2)
    args.out[lane()] = words[lane()];
  }
}

// right 35: fence.mbarrier_init isn't needed for threads of the same CTA: __syncthreads orders the
// init.
__global__ void init_without_fence_in_one_cta(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32);
  __syncthreads();
  if (warp() == 0) {
    words[lane()] = args.in[lane()];
    full.arrive();
  } else {
    full.wait(0);
    args.out[lane()] = words[lane()];
  }
}

// fault 35: FlashKDA 24. The copy engine signals a barrier whose init nothing has published to it.
// expect BW-R08 at races, "warp 0"
__global__ void copy_signals_unpublished_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);  // (1)
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(box, args.in_map, full, 0);  // (2)
  }
  __syncthreads();
  full.wait(0);
  args.out[thread()] = box[thread()];
}

// right 35: fence.mbarrier_init is enough: a proxy fence is not needed between init and copy.
__global__ void copy_signals_published_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(box, args.in_map, full, 0);
  }
  __syncthreads();
  full.wait(0);
  args.out[thread()] = box[thread()];
}

// fault 5: expect_tx for each of two copies, and the barrier counts one arrival.
// expect BW-B06 at contract, "warp 0"
__global__ void expect_for_each_copy(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t boxes[2][kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    for (int32_t i = 0; i < 2; ++i) {
      full.arrive_and_expect_bytes(kBoxBytes);  // (1)
      load_box(boxes[i], args.in_map, full, 4 * i);
    }
  }
  __syncthreads();
  full.wait(0);
  args.out[thread()] = boxes[0][thread()];
}

// fault 5: Two copies, and the bytes of one are announced: the phase ends too early, then a second
// ends.
// expect BW-R04 at races, "warp 0", "tensor copy"
__global__ void expect_for_one_of_two_copies(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t boxes[2][kBoxWords];
  __shared__ SharedMemBarrier full;
  boxes[0][thread()] = boxes[1][thread()] = 0;
  ptx::fence_proxy_async_shared();
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (thread() == 0) {
    full.arrive_and_expect_bytes(kBoxBytes);
    for (int32_t i = 0; i < 2; ++i) {
      load_box(boxes[i], args.in_map, full, 4 * i);  // (1)
    }
  }
  full.wait(0);
  for (uint32_t i = 0; i < 2; ++i) {
    args.out[128 * i + thread()] = boxes[i][thread()];  // (2)
  }
  __syncthreads();
  __nanosleep(5000);
}

// fault 34: mirage 705. More bytes are announced than the box brings.
// expect BW-H01 at contract, "tx-count 512"
__global__ void more_bytes_than_come(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    full.arrive_and_expect_bytes(2 * kBoxBytes);  // (2)
    load_box(box, args.in_map, full, 0);
  }
  __syncthreads();
  full.wait(0);  // (1)
  args.out[thread()] = box[thread()];
}

// fault 34: tilelang 2644. At the matrix's end only the rows that are there are announced; the
// zero fill counts as well.
// expect BW-H01 at contract, "tx-count -256"
__global__ void clamped_box(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    full.arrive_and_expect_bytes(kBoxBytes / 2);  // (2)
    load_box(box, args.in_map, full, kWords / kRowWords - 2);
  }
  __syncthreads();
  full.wait(0);  // (1)
  args.out[thread()] = box[thread()];
}

// right 34: The box reaches beyond the matrix; all of its bytes are announced.
__global__ void box_beyond_the_matrix(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(box, args.in_map, full, -2);
  }
  __syncthreads();
  full.wait(0);
  if (thread() < 64) args.out[thread()] = box[64 + thread()];
}

// right 5: Two copies share one barrier, with the sum of their bytes.
__global__ void two_copies_share_a_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t boxes[2][kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    full.arrive_and_expect_bytes(2 * kBoxBytes);
    load_box(boxes[0], args.in_map, full, 0);
    load_box(boxes[1], args.in_map, full, 4);
  }
  __syncthreads();
  full.wait(0);
  args.out[thread()] = boxes[0][thread()];
  args.out[128 + thread()] = boxes[1][thread()];
}

// right 5: Two threads, each with its copy and its arrival, on a barrier that counts two.
__global__ void two_announcers(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t boxes[2][kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(2);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (lane() == 0 && warp() < 2) {
    full.arrive_and_expect_bytes(kBoxBytes);
    load_box(boxes[warp()], args.in_map, full, 4 * warp());
  }
  full.wait(0);
  args.out[thread()] = boxes[0][thread()];
  args.out[128 + thread()] = boxes[1][thread()];
}

// right 5: The copy starts before its bytes are announced: the tx-count is negative for a while.
__global__ void copy_before_expect(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    load_box(box, args.in_map, full, 0);
    __nanosleep(3000);
    full.arrive_and_expect_bytes(kBoxBytes);
  }
  __syncthreads();
  full.wait(0);
  args.out[thread()] = box[thread()];
}

// right 5: The bytes are announced by expect_tx alone, which is not an arrival; the arrival comes
// later.
__global__ void expect_without_arrival(const __grid_constant__ FaultArguments args) {
  __shared__ alignas(128) uint32_t box[kBoxWords];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) {
    full.init(1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_expect_tx(full.address(), kBoxBytes);
    load_box(box, args.in_map, full, 0);
    full.arrive();
  }
  __syncthreads();
  full.wait(0);
  args.out[thread()] = box[thread()];
}

// fault 6: The consumer goes to the next stage without an arrival: stepping signals nothing.
// expect BW-H01 at contract, "warp 0", "warp 1"
__global__ void step_without_arrival(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[2][32];
  __shared__ SharedMemBarrier full[2], empty[2];
  if (thread() == 0) {
    for (int i = 0; i < 2; ++i) full[i].init(32), empty[i].init(32);
  }
  __syncthreads();
  for (uint32_t i = 0; i < 4; ++i) {
    if (warp() == 0) {
      empty[i % 2].wait(i / 2 % 2 ^ 1);  // (1)
      words[i % 2][lane()] = args.in[32 * i + lane()];
      full[i % 2].arrive();
    } else {
      full[i % 2].wait(i / 2 % 2);  // (2)
      args.out[32 * i + lane()] = words[i % 2][lane()];
    }
  }
}

// right 6: The same ring with the arrival.
__global__ void ring_of_two_stages(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[2][32];
  __shared__ SharedMemBarrier full[2], empty[2];
  if (thread() == 0) {
    for (int i = 0; i < 2; ++i) full[i].init(32), empty[i].init(32);
  }
  __syncthreads();
  for (uint32_t i = 0; i < 4; ++i) {
    if (warp() == 0) {
      empty[i % 2].wait(i / 2 % 2 ^ 1);
      words[i % 2][lane()] = args.in[32 * i + lane()];
      full[i % 2].arrive();
    } else {
      full[i % 2].wait(i / 2 % 2);
      args.out[32 * i + lane()] = words[i % 2][lane()];
      empty[i % 2].arrive();
    }
  }
}

// fault 7: The producer doesn't wait for empty stages and overtakes the consumer by a lap.
// expect BW-R01 at races, "warp 0", "warp 1"
__global__ void producer_never_waits(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[2][32];
  __shared__ SharedMemBarrier full[2];
  if (thread() == 0) {
    for (int i = 0; i < 2; ++i) full[i].init(32);
  }
  __syncthreads();
  for (uint32_t i = 0; i < 4; ++i) {
    if (warp() == 0) {
      words[i % 2][lane()] = args.in[32 * i + lane()];  // (1)
      full[i % 2].arrive();
      while (!full[i % 2].try_wait(i / 2 % 2)) {
      }
    } else {
      full[i % 2].wait(i / 2 % 2);
      args.out[32 * i + lane()] = words[i % 2][lane()];  // (2)
    }
  }
}

// fault 7, 27: One order barrier, and the announcer is two phases ahead: the waiter's phase is
// gone.
// expect BW-H01 at contract, "warp 1"
__global__ void announcer_two_phases_ahead(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier order;
  if (thread() == 0) order.init(1);
  __syncthreads();
  if (thread() == 0) {
    for (uint32_t phase = 0; phase < 2; ++phase) {
      order.arrive();
      order.wait(phase);
    }
  }
  if (thread() == 32) {
    __nanosleep(5000);
    order.wait(0);  // (1)
  }
  args.out[thread()] = args.in[thread()];
}

// fault 40: TIRx kernels 42. A waiter that lags by a whole lap of parities: two uses share a
// barrier.
// expect BW-H01 at contract, "warp 1"
__global__ void lagging_waiter(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier barrier;
  if (thread() == 0) barrier.init(1);
  __syncthreads();
  for (uint32_t phase = 0; phase < 4; ++phase) {
    if (thread() == 0) {
      barrier.arrive();
      barrier.wait(phase % 2);
    }
    if (thread() == 32 && phase % 2 == 0) {
      __nanosleep(4000);
      barrier.wait(0);  // (1)
    }
  }
  args.out[thread()] = args.in[thread()];
}

// fault 39: CUTLASS 2172. A warp waits for the order although no tile is left that would announce
// it.
// expect BW-H01 at contract, "warp 1"
__global__ void order_without_a_tile(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier order;
  if (thread() == 0) order.init(1);
  __syncthreads();
  const uint32_t tiles = args.scratch[0];
  if (thread() == 0 && tiles > 0) order.arrive();
  if (warp() == 1) order.wait(0);  // (1)
  args.out[thread()] = args.in[thread()];
}

// fault 15: The producer takes one step less than the consumer.
// expect BW-H01 at contract, "warp 1", "has exited"
__global__ void loops_of_different_length(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full, empty;
  if (thread() == 0) full.init(32), empty.init(32);
  __syncthreads();
  if (warp() == 0) {
    for (uint32_t i = 0; i < 3; ++i) {
      empty.wait(i % 2 ^ 1);
      words[lane()] = args.in[32 * i + lane()];
      full.arrive();
    }
    return;
  }
  for (uint32_t i = 0; i < 4; ++i) {
    full.wait(i % 2);  // (1)
    args.out[32 * i + lane()] = words[lane()];
    empty.arrive();
  }
}

// fault: The barrier is initialised again for its next use, while it is alive.
// expect BW-B04 at contract, "warp 0"
__global__ void initialised_again(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier barrier;
  for (uint32_t use = 0; use < 2; ++use) {
    if (thread() == 0) barrier.init(64);  // (1)
    __syncthreads();
    barrier.arrive();
    barrier.wait(0);
    __syncthreads();
  }
  args.out[thread()] = args.in[thread()];
}

// right: The same with mbarrier.inval between the uses.
__global__ void initialised_after_inval(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier barrier;
  for (uint32_t use = 0; use < 2; ++use) {
    if (thread() == 0) barrier.init(64);
    __syncthreads();
    barrier.arrive();
    barrier.wait(0);
    __syncthreads();
    if (thread() == 0) ptx::mbarrier_inval(barrier.address());
    __syncthreads();
  }
  args.out[thread()] = args.in[thread()];
}

// fault 41: The scratch of a reduction overlaps a live barrier.
// expect BW-B02 at contract, "warp [01]"
__global__ void scratch_over_a_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ union {
    SharedMemBarrier barrier;
    uint32_t words[64];
  } shared;
  if (thread() == 0) shared.barrier.init(64);
  __syncthreads();
  shared.barrier.arrive();
  shared.barrier.wait(0);
  __syncthreads();
  shared.words[thread()] = args.in[thread()];
  __syncthreads();
  args.out[thread()] = shared.words[thread() ^ 1];
  __syncthreads();
  shared.barrier.arrive();  // (1)
  shared.barrier.wait(1);
}

// right 7: A look ahead that finds nothing costs nothing: the answer is used, and waited for if it
// is no.
__global__ void look_ahead(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[2][32];
  __shared__ SharedMemBarrier full[2], empty[2];
  if (thread() == 0) {
    for (int i = 0; i < 2; ++i) full[i].init(32), empty[i].init(32);
  }
  __syncthreads();
  bool ready = false;
  for (uint32_t i = 0; i < 4; ++i) {
    if (warp() == 0) {
      empty[i % 2].wait(i / 2 % 2 ^ 1);
      words[i % 2][lane()] = args.in[32 * i + lane()];
      full[i % 2].arrive();
    } else {
      if (!ready) full[i % 2].wait(i / 2 % 2);
      const uint32_t next = i + 1;
      ready = full[next % 2].try_wait(next / 2 % 2);
      args.out[32 * i + lane()] = words[i % 2][lane()];
      empty[i % 2].arrive();
    }
  }
}

// fault 7: The look ahead is asked for and its answer ignored.
// expect BW-R01 at races, "warp 0", "warp 1"
__global__ void look_ahead_ignored(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32);
  words[lane()] = 0;
  __syncthreads();
  if (warp() == 0) {
    __nanosleep(2000);
    words[lane()] = args.in[lane()];  // (1)
    full.arrive();
  } else {
    static_cast<void>(full.try_wait(0));
    args.out[lane()] = words[lane()];  // (2)
  }
}

FaultTable mbarrier_kernels() {
  static const FaultKernel kKernels[] = {
      BW_FAULT(producer_starts_at_zero),
      BW_FAULT(consumer_starts_at_one),
      BW_FAULT(fewer_arrivals_than_counted),
      BW_FAULT(more_arrivals_than_counted),
      BW_FAULT(initialised_by_nobody),
      BW_FAULT(no_barrier_after_init),
      BW_FAULT(init_without_fence_in_one_cta, .words = 32),
      BW_FAULT(copy_signals_unpublished_barrier, .threads = 128),
      BW_FAULT(copy_signals_published_barrier, .threads = 128),
      BW_FAULT(expect_for_each_copy, .threads = 128),
      BW_FAULT(expect_for_one_of_two_copies, .threads = 128),
      BW_FAULT(more_bytes_than_come, .threads = 128),
      BW_FAULT(clamped_box, .threads = 128),
      BW_FAULT(box_beyond_the_matrix, .threads = 128, .words = 64),
      BW_FAULT(two_copies_share_a_barrier, .threads = 128, .words = 256),
      BW_FAULT(two_announcers, .threads = 128, .words = 256),
      BW_FAULT(copy_before_expect, .threads = 128),
      BW_FAULT(expect_without_arrival, .threads = 128),
      BW_FAULT(step_without_arrival),
      BW_FAULT(ring_of_two_stages, .words = 128),
      BW_FAULT(producer_never_waits),
      BW_FAULT(announcer_two_phases_ahead),
      BW_FAULT(lagging_waiter),
      BW_FAULT(order_without_a_tile),
      BW_FAULT(loops_of_different_length),
      BW_FAULT(initialised_again),
      BW_FAULT(initialised_after_inval),
      BW_FAULT(scratch_over_a_barrier),
      BW_FAULT(look_ahead, .words = 128),
      BW_FAULT(look_ahead_ignored),
  };
  return kKernels;
}

}  // namespace bw::faults
