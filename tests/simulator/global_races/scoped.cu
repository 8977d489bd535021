/// \file
/// Locks, flags, counters and barriers in global memory, by scope: between two warps of a CTA, or
/// between two CTAs that run at the same time.
#include <cooperative_groups.h>

#include <cuda/atomic>

#include <cstdint>

#include "tests/simulator/global_races/cases.hpp"

namespace bw::global_races {
namespace {

namespace cg = cooperative_groups;

enum class Scope { cta, gpu };

template <Scope scope>
__device__ void fence() {
  if constexpr (scope == Scope::cta) {
    __threadfence_block();
  } else {
    __threadfence();
  }
}

template <Scope scope>
__device__ int exchange(int* address, int value) {
  if constexpr (scope == Scope::cta) {
    return atomicExch_block(address, value);  // expect: message_flag_racy lock_scope_racy BW-R06
  } else {
    return atomicExch(address, value);
  }
}

template <Scope scope>
__device__ int compare_and_swap(int* address, int expected, int value) {
  if constexpr (scope == Scope::cta) {
    return atomicCAS_block(address, expected, value);  // expect: lock_scope_racy BW-R06
  } else {
    return atomicCAS(address, expected, value);
  }
}

/// The two sides are the first threads of two CTAs, or of two warps of one CTA.
enum class Between { warps, ctas };

template <Between between>
__device__ int side() {
  if constexpr (between == Between::ctas) {
    return threadIdx.x == 0 ? static_cast<int>(blockIdx.x) : -1;
  } else {
    return blockIdx.x == 0 && threadIdx.x % 32 == 0 ? static_cast<int>(threadIdx.x / 32) : -1;
  }
}

// A message: data, then a flag.
template <Between between, Scope scope>
__global__ void message(int* flag, int* data, int* result) {
  const int me = side<between>();
  if (me == 0) {
    data[0] = 1;
    fence<scope>();
    exchange<scope>(flag, 1);
  } else if (me == 1) {
    while (atomicAdd(flag, 0) == 0) {  // expect: message_flag_racy BW-R06
    }
    fence<scope>();
    result[0] = data[0];
  }
}

// The flag has the scope that it needs, the fences have not.
template <Scope scope>
__global__ void message_fenced(int* flag, int* data, int* result) {
  const int me = side<Between::ctas>();
  if (me == 0) {
    data[0] = 1;  // expect: message_fence_racy BW-R06
    fence<scope>();
    atomicExch(flag, 1);
  } else if (me == 1) {
    while (atomicAdd(flag, 0) == 0) {
    }
    fence<scope>();
    result[0] = data[0];  // expect: message_fence_racy BW-R06
  }
}

// Nothing orders the data before the flag, or the flag before the data.
template <bool by_writer, bool by_reader>
__global__ void message_half_fenced(int* flag, int* data, int* result) {
  const int me = side<Between::ctas>();
  if (me == 0) {
    data[0] = 1;  // expect: message_no_release_racy message_no_acquire_racy BW-R07
    if constexpr (by_writer) __threadfence();
    atomicExch(flag, 1);
  } else if (me == 1) {
    while (atomicAdd(flag, 0) == 0) {
    }
    if constexpr (by_reader) __threadfence();
    result[0] = data[0];  // expect: message_no_release_racy message_no_acquire_racy BW-R07
  }
}

// The same by st.release and ld.acquire, of a scope.
template <cuda::thread_scope scope>
__global__ void message_by_order(int* flag, int* data, int* result) {
  const int me = side<Between::ctas>();
  cuda::atomic_ref<int, scope> signal(*flag);
  if (me == 0) {
    data[0] = 1;
    signal.store(1, cuda::memory_order_release);  // expect: message_by_order_racy BW-R06
  } else if (me == 1) {
    while (signal.load(cuda::memory_order_acquire) == 0) {  // expect: message_by_order_racy BW-R06
    }
    result[0] = data[0];
  }
}

// Relaxed flags order nothing; fences on both sides do.
template <bool fenced>
__global__ void message_relaxed(int* flag, int* data, int* result) {
  const int me = side<Between::ctas>();
  cuda::atomic_ref<int, cuda::thread_scope_device> signal(*flag);
  if (me == 0) {
    data[0] = 1;  // expect: message_relaxed_racy BW-R07
    if constexpr (fenced)
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
    signal.store(1, cuda::memory_order_relaxed);
  } else if (me == 1) {
    while (signal.load(cuda::memory_order_relaxed) == 0) {
    }
    if constexpr (fenced)
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    result[0] = data[0];  // expect: message_relaxed_racy BW-R07
  }
}

// A volatile flag with fences, as older code has it.
template <bool fenced>
__global__ void message_volatile(int* flag, int* data, int* result) {
  const int me = side<Between::ctas>();
  if (me == 0) {
    data[0] = 1;  // expect: message_volatile_racy BW-R07
    if constexpr (fenced) __threadfence();
    *static_cast<volatile int*>(flag) = 1;
  } else if (me == 1) {
    while (*static_cast<volatile int*>(flag) == 0) {
    }
    if constexpr (fenced) __threadfence();
    result[0] = data[0];  // expect: message_volatile_racy BW-R07
  }
}

// A message through a third thread: each hop has the scope that it needs, or the first has not.
template <bool to_another_cta>
__global__ void message_by_way_of(int* flag, int* data, int* result) {
  if (threadIdx.x % 32 != 0) return;
  const int warp = static_cast<int>(threadIdx.x / 32);
  if (blockIdx.x == 0 && warp == 0) {
    data[0] = 1;  // expect: message_by_way_racy BW-R12
    __threadfence_block();
    atomicExch(&flag[0], 1);
  } else if (blockIdx.x == (to_another_cta ? 1 : 0) && warp == 1) {
    while (atomicAdd(&flag[0], 0) == 0) {
    }
    __threadfence();
    atomicExch(&flag[1], 1);
  } else if (blockIdx.x == 1 && warp == 0) {
    while (atomicAdd(&flag[1], 0) == 0) {
    }
    __threadfence();
    result[0] = data[0];  // expect: message_by_way_racy BW-R12
  }
}

// A lock around an update; both sides do the same.
template <Between between, Scope lock_scope, Scope fence_scope, bool at_entry = true,
          bool at_exit = true>
__device__ void locked_update(int* lock, int* data) {
  if (side<between>() < 0) return;
  while (compare_and_swap<lock_scope>(lock, 0, 1) != 0) {
  }
  if constexpr (at_entry) fence<fence_scope>();
  // expect: lock_fence_racy BW-R06; expect: lock_no_entry_racy lock_no_exit_racy BW-R07
  data[0] += 1;
  if constexpr (at_exit) fence<fence_scope>();
  exchange<lock_scope>(lock, 0);
}
template <Between between, Scope lock_scope, Scope fence_scope, bool at_entry = true,
          bool at_exit = true>
__global__ void locked(int* lock, int* data, int*) {
  locked_update<between, lock_scope, fence_scope, at_entry, at_exit>(lock, data);
}

// One side takes the lock, the other goes without.
template <bool both>
__global__ void lock_of_one(int* lock, int* data, int*) {
  const int me = side<Between::ctas>();
  if (me < 0) return;
  if (both || me == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    data[0] += 1;  // expect: lock_of_one_racy BW-R12
    __threadfence();
    atomicExch(lock, 0);
  } else {
    data[0] += 2;  // expect: lock_of_one_racy BW-R12
  }
}

// Two locks that both sides take for one datum: which of them, the CTA's number says.
template <bool one_lock>
__global__ void whose_lock(int* lock, int* data, int*) {
  const int me = side<Between::ctas>();
  if (me < 0) return;
  int* const mine = lock + (one_lock ? 0 : me);
  while (atomicCAS(mine, 0, 1) != 0) {
  }
  __threadfence();
  data[0] += 1;  // expect: whose_lock_racy BW-R12
  __threadfence();
  atomicExch(mine, 0);
}

// A counter of all CTAs.
template <Scope scope>
__global__ void count(int* counter, int*, int*) {
  if constexpr (scope == Scope::cta) {
    atomicAdd_block(counter, 1);  // expect: count_racy BW-R06
  } else {
    atomicAdd(counter, 1);
  }
}

// Scopes of a counter that one CTA uses may differ.
__global__ void count_mixed(int* counter, int*, int*) {
  if (blockIdx.x != 0) return;
  if (threadIdx.x < 32) {
    atomicAdd_block(counter, 1);
  } else {
    atomicAdd(counter, 1);
  }
}

// An atomic and a plain store of another CTA.
template <bool atomic>
__global__ void store_beside_atomic(int* counter, int*, int*) {
  const int me = side<Between::ctas>();
  if (me == 0) {
    atomicExch(counter, 1);  // expect: store_beside_atomic_racy BW-R12
  } else if (me == 1) {
    if constexpr (atomic) {
      atomicExch(counter, 2);
    } else {
      counter[0] = 2;  // expect: store_beside_atomic_racy BW-R12
    }
  }
}

// The last CTA to arrive sums what all have left.
template <bool released, bool acquired>
__global__ void last_cta(int* counter, int* data, int* result) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    data[blockIdx.x] = static_cast<int>(blockIdx.x) + 1;  // expect: last_cta_racy BW-R07
    if constexpr (released) __threadfence();
    is_last = atomicAdd(counter, 1) == static_cast<int>(gridDim.x) - 1;
    if constexpr (acquired) __threadfence();
  }
  __syncthreads();
  if (!is_last || threadIdx.x >= gridDim.x) return;
  atomicAdd(result, data[threadIdx.x]);  // expect: last_cta_racy BW-R07
}

// A barrier of the grid, made of a counter.
template <bool ordered>
__global__ void grid_barrier(int* counter, int* data, int* result) {
  const int me = static_cast<int>(blockIdx.x), ctas = static_cast<int>(gridDim.x);
  if (threadIdx.x == 0) data[me] = me;  // expect: grid_barrier_racy BW-R12
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<int, cuda::thread_scope_device> arrivals(*counter);
    constexpr auto kArrive = ordered ? cuda::memory_order_acq_rel : cuda::memory_order_relaxed;
    constexpr auto kLook = ordered ? cuda::memory_order_acquire : cuda::memory_order_relaxed;
    arrivals.fetch_add(1, kArrive);
    while (arrivals.load(kLook) != ctas) {
    }
  }
  __syncthreads();
  if (threadIdx.x == 32) result[me] = data[(me + 1) % ctas];  // expect: grid_barrier_racy BW-R12
}

// The barrier of a cooperative launch.
template <bool synchronised>
__global__ void cooperative(int*, int* data, int* result) {
  const int me = static_cast<int>(blockIdx.x), ctas = static_cast<int>(gridDim.x);
  if (threadIdx.x == 0) data[me] = me;  // expect: cooperative_racy BW-R12
  if constexpr (synchronised) cg::this_grid().sync();
  if (threadIdx.x == 32) result[me] = data[(me + 1) % ctas];  // expect: cooperative_racy BW-R12
}

// Each CTA waits for the one before it and hands a sum on (a chained scan).
template <bool ordered>
__global__ void chained_scan(int* flags, int* data, int* result) {
  if (threadIdx.x != 0) return;
  const int me = static_cast<int>(blockIdx.x);
  int before = 0;
  if (me > 0) {
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(flags[me - 1]);
    while (flag.load(ordered ? cuda::memory_order_acquire : cuda::memory_order_relaxed) == 0) {
    }
    before = data[me - 1];  // expect: chained_scan_racy BW-R07
  }
  data[me] = before + me + 1;  // expect: chained_scan_racy BW-R07
  cuda::atomic_ref<int, cuda::thread_scope_device> flag(flags[me]);
  flag.store(1, cuda::memory_order_release);
  result[me] = before;
}

// A work-stealing counter: the thread that draws a number may use its slot, which others fill by
// ticket. Within a CTA a block-wide scope is enough.
template <Scope scope, Between between>
__global__ void tickets(int* counter, int* data, int*) {
  if (side<between>() < 0) return;
  for (int draw = 0; draw < 2; ++draw) {
    int ticket;
    if constexpr (scope == Scope::cta) {
      ticket = atomicAdd_block(counter, 1);  // expect: tickets_racy BW-R06
    } else {
      ticket = atomicAdd(counter, 1);
    }
    data[ticket] += 1;  // expect: tickets_racy BW-R06
  }
}

using ScopedKernel = void (*)(int*, int*, int*);
constexpr int kThreads = 64, kNumbers = 16;

/// Runs two CTAs of two warps, which are resident together, on three arrays of zeros.
template <ScopedKernel kernel, bool is_cooperative = false>
void on_two_ctas() {
  const std::vector<int> zeros(kNumbers);
  DeviceBuffer<int> flags(zeros), data(zeros), results(zeros);
  int* pointers[] = {flags.data(), data.data(), results.data()};
  void* arguments[] = {&pointers[0], &pointers[1], &pointers[2]};
  constexpr int kCtas = 2;
  if constexpr (is_cooperative) {
    check_cuda(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(kCtas),
                                           dim3(kThreads), arguments, 0, nullptr),
               "launch");
  } else {
    kernel<<<kCtas, kThreads>>>(pointers[0], pointers[1], pointers[2]);
  }
  finish("a kernel of two CTAs");
}

}  // namespace

std::vector<Case> scoped_cases() {
  constexpr Between kWarps = Between::warps, kCtas = Between::ctas;
  constexpr Scope kCta = Scope::cta, kGpu = Scope::gpu;
  return {
      {"message_ctas", on_two_ctas<message<kCtas, kGpu>>},
      {"message_warps", on_two_ctas<message<kWarps, kCta>>},
      {"message_warps_gpu", on_two_ctas<message<kWarps, kGpu>>},
      {"message_flag_racy", on_two_ctas<message<kCtas, kCta>>},
      {"message_fenced", on_two_ctas<message_fenced<kGpu>>},
      {"message_fence_racy", on_two_ctas<message_fenced<kCta>>},
      {"message_both_fences", on_two_ctas<message_half_fenced<true, true>>},
      {"message_no_release_racy", on_two_ctas<message_half_fenced<false, true>>},
      {"message_no_acquire_racy", on_two_ctas<message_half_fenced<true, false>>},
      {"message_by_order", on_two_ctas<message_by_order<cuda::thread_scope_device>>},
      {"message_by_order_racy", on_two_ctas<message_by_order<cuda::thread_scope_block>>},
      {"message_relaxed", on_two_ctas<message_relaxed<true>>},
      {"message_relaxed_racy", on_two_ctas<message_relaxed<false>>},
      {"message_volatile", on_two_ctas<message_volatile<true>>},
      {"message_volatile_racy", on_two_ctas<message_volatile<false>>},
      {"message_by_way", on_two_ctas<message_by_way_of<false>>},
      {"message_by_way_racy", on_two_ctas<message_by_way_of<true>>},
      {"lock_ctas", on_two_ctas<locked<kCtas, kGpu, kGpu>>},
      {"lock_warps", on_two_ctas<locked<kWarps, kCta, kCta>>},
      {"lock_scope_racy", on_two_ctas<locked<kCtas, kCta, kCta>>},
      {"lock_fence_racy", on_two_ctas<locked<kCtas, kGpu, kCta>>},
      {"lock_no_entry_racy", on_two_ctas<locked<kCtas, kGpu, kGpu, false, true>>},
      {"lock_no_exit_racy", on_two_ctas<locked<kCtas, kGpu, kGpu, true, false>>},
      {"lock_of_both", on_two_ctas<lock_of_one<true>>},
      {"lock_of_one_racy", on_two_ctas<lock_of_one<false>>},
      {"whose_lock", on_two_ctas<whose_lock<true>>},
      {"whose_lock_racy", on_two_ctas<whose_lock<false>>},
      {"count", on_two_ctas<count<kGpu>>},
      {"count_racy", on_two_ctas<count<kCta>>},
      {"count_mixed", on_two_ctas<count_mixed>},
      {"store_beside_atomic", on_two_ctas<store_beside_atomic<true>>},
      {"store_beside_atomic_racy", on_two_ctas<store_beside_atomic<false>>},
      {"last_cta", on_two_ctas<last_cta<true, true>>},
      {"last_cta_racy", on_two_ctas<last_cta<false, true>>},
      {"grid_barrier", on_two_ctas<grid_barrier<true>>},
      {"grid_barrier_racy", on_two_ctas<grid_barrier<false>>},
      {"cooperative", on_two_ctas<cooperative<true>, true>},
      {"cooperative_racy", on_two_ctas<cooperative<false>, true>},
      {"chained_scan", on_two_ctas<chained_scan<true>>},
      {"chained_scan_racy", on_two_ctas<chained_scan<false>>},
      {"tickets", on_two_ctas<tickets<kGpu, kCtas>>},
      {"tickets_warps", on_two_ctas<tickets<kCta, kWarps>>},
      {"tickets_racy", on_two_ctas<tickets<kCta, kCtas>>},
  };
}

}  // namespace bw::global_races
