/// \file
/// Threads of one CTA that share memory: barriers, warps, flags, atomics.

#include "common/device/elect.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/named_barrier.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "tests/simulator/faults/fault_instructions.cuh"
#include "tests/simulator/faults/fault_kernel.cuh"

namespace bw::faults {

// fault 41: A warp reads what the other warp has written, with nothing in between.
// expect BW-R01 at races, "warp 0", "warp 1"
__global__ void no_barrier_between_warps(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[64];
  words[thread()] = 0;
  __syncthreads();
  words[thread()] = args.in[word()];        // (1)
  args.out[word()] = words[thread() ^ 32];  // (2)
}

// fault 41: CUTLASS 3597. The scratch of one phase is written for the next while a slow warp reads
// it.
// expect BW-R01 at races, "warp 0", "warp 1"
__global__ void scratch_used_again(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t scratch[64];
  for (uint32_t phase = 0; phase < 2; ++phase) {
    scratch[thread()] = args.in[word()];  // (1)
    __syncthreads();
    args.out[word() ^ 32] = scratch[thread() ^ 32];  // (2)
  }
}

// right 41: The same with a second barrier in each phase.
__global__ void scratch_used_again_after_a_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t scratch[64];
  for (uint32_t phase = 0; phase < 2; ++phase) {
    scratch[thread()] = args.in[word()];
    __syncthreads();
    args.out[word() ^ 32] = scratch[thread() ^ 32];
    __syncthreads();
  }
}

// right 41: Two buffers in turn need one barrier a phase: the next but one follows it.
__global__ void two_scratches_in_turn(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t scratch[2][64];
  for (uint32_t phase = 0; phase < 6; ++phase) {
    scratch[phase % 2][thread()] = args.in[word()];
    __syncthreads();
    args.out[word() ^ 32] = scratch[phase % 2][thread() ^ 32];
  }
}

// fault 41: Of two buffers in turn the same one is used twice: the phase is counted in threes.
// expect BW-R01 at races, "warp 0", "warp 1"
__global__ void two_scratches_out_of_turn(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t scratch[2][64];
  for (uint32_t phase = 0; phase < 6; ++phase) {
    scratch[phase % 3 / 2][thread()] = args.in[word()];  // (1)
    __syncthreads();
    args.out[word() ^ 32] = scratch[phase % 3 / 2][thread() ^ 32];  // (2)
  }
}

// fault 33: Lanes exchange words through shared memory as if a warp ran in step.
// expect BW-R02 at races, "warp 0"
__global__ void lanes_in_step(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  words[lane()] = args.in[word()];           // (1)
  args.out[word() ^ 1] = words[lane() ^ 1];  // (2)
}

// right 33: The same with __syncwarp.
__global__ void lanes_behind_syncwarp(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  words[lane()] = args.in[word()];
  __syncwarp();
  args.out[word() ^ 1] = words[lane() ^ 1];
}

// right 33: A shuffle of all lanes is in between: it makes the lanes wait for each other.
__global__ void lanes_after_a_ballot(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  words[lane()] = args.in[word()];
  const bool all = __all_sync(0xffffffff, lane() < 32);
  asm volatile("" ::: "memory");
  if (all) args.out[word() ^ 1] = words[lane() ^ 1];
}

// fault 33: __syncwarp of the lower half; the lanes of the upper half read as well.
// expect BW-R02 at races, "warp 0"
__global__ void half_a_syncwarp(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  words[lane()] = args.in[word()];  // (1)
  if (lane() < 16) __syncwarp(0xffff);
  args.out[word() ^ 16] = words[lane() ^ 16];  // (2)
}

// fault 33: cuDNN front end 426. One lane arrives for the writes of 32, without __syncwarp.
// expect BW-R02 at races, "warp 0", "warp 1"
__global__ void one_lane_arrives_for_all(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(1);
  __syncthreads();
  if (warp() == 0) {
    words[lane()] = args.in[lane()];  // (1)
    if (lane() == 0) full.arrive();
  } else {
    full.wait(0);
    args.out[lane()] = words[lane()];  // (2)
  }
}

// right 33: The same with __syncwarp before the arrival: the lane releases what it has seen.
__global__ void one_lane_arrives_behind_syncwarp(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(1);
  __syncthreads();
  if (warp() == 0) {
    words[lane()] = args.in[lane()];
    __syncwarp();
    if (lane() == 0) full.arrive();
  } else {
    full.wait(0);
    args.out[lane()] = words[lane()];
  }
}

// fault 33: One lane waits for the phase and the other 31 read.
// expect BW-R02 at races, "warp 0", "warp 1"
__global__ void one_lane_waits_for_all(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32);
  __syncthreads();
  if (warp() == 0) {
    words[lane()] = args.in[lane()];  // (1)
    full.arrive();
  } else {
    if (lane() == 0) full.wait(0);
    args.out[lane()] = words[lane()];  // (2)
  }
}

// right 33: One lane waits, and __syncwarp hands on what it has acquired.
__global__ void one_lane_waits_before_syncwarp(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32);
  __syncthreads();
  if (warp() == 0) {
    words[lane()] = args.in[lane()];
    full.arrive();
  } else {
    if (lane() == 0) full.wait(0);
    __syncwarp();
    args.out[lane()] = words[lane()];
  }
}

// fault: mbarrier.arrive.relaxed counts, and publishes nothing.
// expect BW-R07 at races, "warp 0", "warp 1"
__global__ void relaxed_arrival(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32);
  __syncthreads();
  if (warp() == 0) {
    words[lane()] = args.in[lane()];  // (1)
    arrive_relaxed(full.address());
  } else {
    full.wait(0);
    args.out[lane()] = words[lane()];  // (2)
  }
}

// fault: mbarrier.try_wait.relaxed sees the phase, and acquires nothing.
// expect BW-R07 at races, "warp 0", "warp 1"
__global__ void relaxed_wait(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32);
  __syncthreads();
  if (warp() == 0) {
    words[lane()] = args.in[lane()];  // (1)
    full.arrive();
  } else {
    wait_relaxed(full.address(), 0);
    args.out[lane()] = words[lane()];  // (2)
  }
}

// right: A relaxed arrival after a release fence, a relaxed wait before an acquire fence.
__global__ void relaxed_with_fences(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32);
  __syncthreads();
  if (warp() == 0) {
    words[lane()] = args.in[lane()];
    fence_acq_rel_cta();
    arrive_relaxed(full.address());
  } else {
    wait_relaxed(full.address(), 0);
    fence_acq_rel_cta();
    args.out[lane()] = words[lane()];
  }
}

// fault 30: The reader announces itself at a named barrier instead of waiting there.
// expect BW-R01 at races, "warp 0", "warp 1"
__global__ void reader_arrives_only(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  if (warp() == 0) words[lane()] = 0;
  __syncthreads();
  if (warp() == 0) {
    words[lane()] = args.in[lane()];  // (1)
    ptx::bar_sync<1, 64>();
  } else {
    ptx::bar_arrive<1, 64>();
    args.out[lane()] = words[lane()];  // (2)
  }
}

// right 30: The writer needn't wait at the barrier: it arrives, the reader waits.
__global__ void writer_arrives_only(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  if (warp() == 0) {
    words[lane()] = args.in[lane()];
    ptx::bar_arrive<1, 64>();
  } else {
    ptx::bar_sync<1, 64>();
    args.out[lane()] = words[lane()];
  }
}

// fault 30: A third warp reads after a barrier that it takes no part in.
// expect BW-R01 at races, "warp 0", "warp 2"
__global__ void reader_takes_no_part(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[32];
  if (warp() == 0) words[lane()] = 0;
  __syncthreads();
  if (warp() == 0) words[lane()] = args.in[lane()];  // (1)
  if (warp() < 2) ptx::bar_sync<1, 64>();
  if (warp() == 2) args.out[lane()] = words[lane()];  // (2)
}

// fault 11: Barrier 0 for two of three warps, while the third waits in __syncthreads.
// expect BW-N03 at contract, "barrier 0"
__global__ void barrier_zero_for_two_warps(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[96];
  words[thread()] = args.in[thread()];
  if (warp() < 2) {
    __nanosleep(1000);
    barrier_sync(0, 64);  // (1)
    args.out[thread()] = words[thread() ^ 32];
  }
  __syncthreads();  // (2)
}

// fault 11, 14: A role of one warp uses barrier 0 to meet itself: it meets the others'
// __syncthreads, whose meeting then lacks it.
// expect BW-R01 at races, "warp 0", "warp 1"
__global__ void syncthreads_in_a_role(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[64];
  words[thread()] = args.in[thread()];
  if (warp() == 0) {
    __syncthreads();
    words[thread()] += 1;  // (1)
  }
  __syncthreads();
  args.out[thread()] = words[thread() ^ 32];  // (2)
}

// fault 11, 14: A __syncthreads in a role's branch, while the other role waits for that role's
// arrival.
// expect BW-H01 at contract, "warp 0", "warp 1", "barrier 0"
__global__ void syncthreads_before_an_arrival(const __grid_constant__ FaultArguments args) {
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(32);
  __syncthreads();
  if (warp() == 0) {
    __syncthreads();  // (1)
    full.arrive();
  } else {
    full.wait(0);  // (2)
  }
  args.out[thread()] = args.in[thread()];
}

// fault 37: flashinfer 4533. Two pairs of warps meet at the same named barrier at the same time.
// expect BW-N06 at contract, "barrier 1", "previous phase"
__global__ void one_barrier_for_two_pairs(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[128];
  words[thread()] = args.in[thread()];
  __syncthreads();
  if (warp() == 0) __nanosleep(400);
  if (warp() < 2) {
    ptx::bar_sync<1, 64>();  // (1)
  } else {
    ptx::bar_sync<1, 64>();  // (2)
  }
  args.out[thread() ^ 32] = words[thread() ^ 32];
}

// fault 37: The same, but the second pair has met at another barrier since: that orders it after
// nothing of the first pair, which no rule of a single instruction can tell.
// expect BW-N06 at races, "barrier 1"
__global__ void one_barrier_for_two_pairs_that_meet(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[128];
  words[thread()] = args.in[thread()];
  if (warp() < 2) {
    ptx::bar_sync<1, 64>();  // (1)
  } else {
    __nanosleep(2000);
    ptx::bar_sync<2, 64>();
    ptx::bar_sync<1, 64>();  // (2)
  }
  args.out[thread() ^ 32] = words[thread() ^ 32];
}

// fault 37: The warps of one role run ahead into the barrier's next use: counts that differ meet.
// expect BW-N03 at contract, "barrier 1"
__global__ void one_barrier_for_two_purposes(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[128];
  words[thread()] = args.in[thread()];
  if (warp() == 2) {
    ptx::bar_sync<1, 96>();  // (1)
  } else {
    __nanosleep(500);
    ptx::bar_sync<1, 64>();  // (2)
    ptx::bar_sync<1, 96>();
  }
  args.out[thread() ^ 32] = words[thread() ^ 32];
}

// right 37: One named barrier for two purposes one after the other: it is empty in between.
__global__ void one_barrier_one_after_the_other(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[96];
  words[thread()] = args.in[thread()];
  if (warp() < 2) ptx::bar_sync<1, 64>();
  __syncthreads();
  if (warp() > 0) ptx::bar_sync<1, 64>();
  args.out[thread()] = words[thread()];
}

// right 37: Barriers 1 and 2 for two pairs of warps at the same time.
__global__ void two_barriers_for_two_pairs(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[128];
  words[thread()] = args.in[thread()];
  if (warp() == 0) __nanosleep(400);
  if (warp() < 2) {
    ptx::bar_sync<1, 64>();
  } else {
    ptx::bar_sync<2, 64>();
  }
  args.out[thread() ^ 32] = words[thread() ^ 32];
}

// fault: A flag in shared memory, written and read as volatile, hands over without any fence.
// expect BW-R07 at races, "warp 0", "warp 1"
__global__ void volatile_flag(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t value;
  __shared__ uint32_t flag;
  if (thread() == 0) value = flag = 0;
  __syncthreads();
  if (thread() == 0) {
    value = args.in[0];  // (1)
    *static_cast<volatile uint32_t*>(&flag) = 1;
  }
  if (thread() == 32) {
    while (*static_cast<volatile uint32_t*>(&flag) == 0) {
    }
    args.out[0] = value;  // (2)
  }
}

// right: The same flag with a fence after the value and one before its use.
__global__ void volatile_flag_with_fences(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t value;
  __shared__ uint32_t flag;
  if (thread() == 0) flag = 0;
  __syncthreads();
  if (thread() == 0) {
    value = args.in[0];
    __threadfence_block();
    *static_cast<volatile uint32_t*>(&flag) = 1;
  }
  if (thread() == 32) {
    while (*static_cast<volatile uint32_t*>(&flag) == 0) {
    }
    __threadfence_block();
    args.out[0] = value;
  }
}

// right: All threads add to one word by atomics, a barrier, one thread reads it.
__global__ void atomics_and_a_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t sum;
  if (thread() == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1);
  __syncthreads();
  if (sum == 64) args.out[thread()] = args.in[thread()];
}

// fault: The word that others still add to is read by an ordinary load.
// expect BW-R01 at races, "warp 0", "warp 1"
__global__ void atomics_and_no_barrier(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t sum;
  if (thread() == 0) sum = 0;
  __syncthreads();
  if (warp() == 0) atomicAdd(&sum, 1);    // (1)
  if (thread() == 32) args.out[0] = sum;  // (2)
}

// fault: A counter goes up by an ordinary addition of two warps.
// expect BW-R01 at races, "warp 0", "warp 1"
__global__ void counter_without_atomics(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t count;
  if (thread() == 0) count = 0;
  __syncthreads();
  if (lane() == 0) count += 1;  // (1)
  __syncthreads();
  if (count == 2) args.out[thread()] = args.in[thread()];
}

// right: Neighbouring bytes belong to different threads: no word is shared.
__global__ void bytes_of_one_word(const __grid_constant__ FaultArguments args) {
  __shared__ uint8_t bytes[64];
  bytes[thread()] = static_cast<uint8_t>(args.in[word()]);
  bytes[thread()] += 1;
  args.out[word()] = args.in[word()] + static_cast<uint8_t>(bytes[thread()] - 1) -
                     static_cast<uint8_t>(args.in[word()]);
}

// right: Every lane writes the same word of its own warp; one per warp reads its own back.
__global__ void each_warp_its_own_row(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t rows[2][32];
  rows[warp()][lane()] = args.in[word()];
  __syncwarp();
  args.out[word() ^ 3] = rows[warp()][lane() ^ 3];
}

// fault 41: Shared memory is read that nothing has written.
// expect BW-M13 at contract, "warp 1"
__global__ void word_that_nobody_wrote(const __grid_constant__ FaultArguments args) {
  __shared__ uint32_t words[64];
  if (warp() == 0) words[thread()] = args.in[thread()];
  __syncthreads();
  args.out[thread()] = words[thread()];  // (1)
}

FaultTable shared_memory_kernels() {
  static const FaultKernel kKernels[] = {
      BW_FAULT(no_barrier_between_warps),
      BW_FAULT(scratch_used_again),
      BW_FAULT(scratch_used_again_after_a_barrier),
      BW_FAULT(two_scratches_in_turn),
      BW_FAULT(two_scratches_out_of_turn),
      BW_FAULT(lanes_in_step, .threads = 32),
      BW_FAULT(lanes_behind_syncwarp, .threads = 32),
      BW_FAULT(lanes_after_a_ballot, .threads = 32),
      BW_FAULT(half_a_syncwarp, .threads = 32),
      BW_FAULT(one_lane_arrives_for_all),
      BW_FAULT(one_lane_arrives_behind_syncwarp, .words = 32),
      BW_FAULT(one_lane_waits_for_all),
      BW_FAULT(one_lane_waits_before_syncwarp, .words = 32),
      BW_FAULT(relaxed_arrival),
      BW_FAULT(relaxed_wait),
      BW_FAULT(relaxed_with_fences, .words = 32),
      BW_FAULT(reader_arrives_only),
      BW_FAULT(writer_arrives_only, .words = 32),
      BW_FAULT(reader_takes_no_part, .threads = 96),
      BW_FAULT(barrier_zero_for_two_warps, .threads = 96),
      BW_FAULT(syncthreads_in_a_role),
      BW_FAULT(syncthreads_before_an_arrival),
      BW_FAULT(one_barrier_for_two_pairs, .threads = 128),
      BW_FAULT(one_barrier_for_two_pairs_that_meet, .threads = 128),
      BW_FAULT(one_barrier_for_two_purposes, .threads = 96),
      BW_FAULT(one_barrier_one_after_the_other, .threads = 96),
      BW_FAULT(two_barriers_for_two_pairs, .threads = 128),
      BW_FAULT(volatile_flag),
      BW_FAULT(volatile_flag_with_fences, .words = 1),
      BW_FAULT(atomics_and_a_barrier),
      BW_FAULT(atomics_and_no_barrier),
      BW_FAULT(counter_without_atomics),
      BW_FAULT(bytes_of_one_word),
      BW_FAULT(each_warp_its_own_row),
      BW_FAULT(word_that_nobody_wrote),
  };
  return kKernels;
}

}  // namespace bw::faults
