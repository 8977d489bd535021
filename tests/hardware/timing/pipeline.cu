/// \file
/// What the warps of a pipeline do around their copies: fences, arrivals of all lanes, rounds of
/// full and empty barriers, copies that lanes ask for one by one, loads from shared memory while
/// copies write it, and registers that move between warpgroups.

#include <limits>
#include <string>

#include "common/device/bulk_copy.cuh"
#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/register_budget.cuh"
#include "common/device/shared_address.cuh"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/rounds.cuh"

namespace bw::timing {
namespace {

__device__ void wait(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

__global__ void proxy_fences(Span* spans) {
  time_rounds(spans, [](int) { ptx::fence_proxy_async_shared(); });
}

__global__ void cta_fences(Span* spans) {
  time_rounds(spans, [](int) { asm volatile("fence.acq_rel.cta;" ::: "memory"); });
}

/// The load's value is not needed before the fence.
__global__ void loads_and_proxy_fences(Span* spans, uint32_t* sink) {
  __shared__ uint32_t words[32];
  words[threadIdx.x] = 0;
  __syncwarp();
  const uint32_t address = ptx::shared_address(words) + threadIdx.x * sizeof(uint32_t);
  uint32_t sum = 0;
  time_rounds(spans, [&](int) {
    uint32_t x;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
    ptx::fence_proxy_async_shared();
    sum += x;
  });
  keep(sum, sink);
}

/// All lanes of all warps arrive, again and again, on a barrier that doesn't complete.
__global__ void arrivals_of_warps(Span* spans) {
  __shared__ uint64_t barrier;
  const uint32_t address = ptx::shared_address(&barrier);
  constexpr uint32_t kManyArrivals = (1 << 20) - 1;
  if (threadIdx.x == 0) ptx::mbarrier_init(address, kManyArrivals);
  __syncthreads();
  time_rounds(spans, [&](int) { ptx::mbarrier_arrive(address); });
}

/// One barrier that is complete already is waited for by whole warps.
__global__ void waits_of_warps(Span* spans) {
  __shared__ uint64_t barrier;
  const uint32_t address = ptx::shared_address(&barrier);
  if (threadIdx.x == 0) ptx::mbarrier_init(address, 1);
  __syncthreads();
  time_rounds(spans, [&](int) { wait(address, 1); });
}

/// One lane of a whole warp arrives; the others wait for it after the branch.
template <bool elected>
__global__ void arrivals_of_a_lane(Span* spans) {
  __shared__ uint64_t barrier;
  const uint32_t address = ptx::shared_address(&barrier);
  constexpr uint32_t kManyArrivals = 1 << 16;
  if (threadIdx.x == 0) ptx::mbarrier_init(address, kManyArrivals);
  __syncwarp();
  time_rounds(spans, [&](int) {
    if (elected ? ptx::elect_one() : threadIdx.x == 0) {
      ptx::mbarrier_arrive(address);
      ptx::fence_proxy_async_shared();  // so that it is a branch, not a predicate
      ptx::mbarrier_arrive(address);
    }
    __syncwarp();
  });
}

/// The same of all lanes, without a branch.
__global__ void pairs_of_arrivals(Span* spans) {
  __shared__ uint64_t barrier;
  const uint32_t address = ptx::shared_address(&barrier);
  constexpr uint32_t kManyArrivals = 1 << 16;
  if (threadIdx.x == 0) ptx::mbarrier_init(address, kManyArrivals);
  __syncwarp();
  time_rounds(spans, [&](int) {
    ptx::mbarrier_arrive(address);
    ptx::fence_proxy_async_shared();
    ptx::mbarrier_arrive(address);
    __syncwarp();
  });
}

constexpr uint32_t kConsumerWarps = 4;
constexpr uint32_t kConsumers = 32 * kConsumerWarps;
constexpr uint32_t kBarrierBytes = sizeof(uint64_t);

/// A ring of `stages` without data: a thread fills, the lanes of four warps free.
template <int stages, bool fences>
__global__ void rounds_of_a_ring(Span* spans) {
  __shared__ uint64_t full[stages], empty[stages];
  const uint32_t first_full = ptx::shared_address(full);
  const uint32_t first_empty = ptx::shared_address(empty);
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) {
      ptx::mbarrier_init(first_full + i * kBarrierBytes, 1);
      ptx::mbarrier_init(first_empty + i * kBarrierBytes, kConsumers);
    }
  }
  __syncthreads();
  static_assert((stages & (stages - 1)) == 0);
  if (threadIdx.x < kConsumers) {
    time_rounds(spans, [&](int i) {
      const uint32_t stage = i % stages, lap = i / stages;
      wait(first_full + stage * kBarrierBytes, lap & 1);
      if (fences) ptx::fence_proxy_async_shared();
      ptx::mbarrier_arrive(first_empty + stage * kBarrierBytes);
    });
  } else {
    time_rounds(spans, [&](int i) {
      if (threadIdx.x != kConsumers) return;
      const uint32_t stage = i % stages, lap = i / stages;
      wait(first_empty + stage * kBarrierBytes, (lap & 1) ^ 1);
      ptx::mbarrier_arrive(first_full + stage * kBarrierBytes);
    });
  }
}

constexpr uint32_t kRowBytes = 512;
constexpr uint32_t kCopies = 32;
constexpr uint32_t kTileBytes = kRowBytes * kCopies;

enum class Asks { lanes, one_thread, whole, elected };

/// A tile by rows or as a whole; one tile at a time: until it has been asked for, or is there.
template <Asks asks, bool until_there>
__global__ void tile_copies(Span* spans, const uint8_t* source) {
  extern __shared__ __align__(128) uint8_t tile[];
  __shared__ uint64_t barrier;
  const uint32_t address = ptx::shared_address(&barrier);
  const uint32_t destination = ptx::shared_address(tile);
  if (threadIdx.x == 0) ptx::mbarrier_init(address, 1);
  __syncwarp();
  const auto copy = [&](uint32_t first, uint32_t bytes) {
    ptx::bulk_load(destination + first, source + first, bytes, address);
  };
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int round = 0; round < 4; ++round) {
    if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(address, kTileBytes);
    __syncwarp();
    begin = cycle();
    if constexpr (asks == Asks::lanes) {
      copy(threadIdx.x * kRowBytes, kRowBytes);
    } else if constexpr (asks == Asks::one_thread) {
      if (threadIdx.x == 0)
        for (uint32_t i = 0; i < kCopies; ++i) copy(i * kRowBytes, kRowBytes);
    } else if constexpr (asks == Asks::whole) {
      if (threadIdx.x == 0) copy(0, kTileBytes);
    } else {
      if (ptx::elect_one()) copy(0, kTileBytes);
    }
    __syncwarp();
    if (!until_there) end = cycle();
    wait(address, round & 1);
    if (until_there) end = cycle();
  }
  write_span(spans, begin, end);
}

constexpr uint32_t kSlots = 8;
constexpr int kLoadRounds = 128;
constexpr uint32_t kLoadsPerRound = 8;
constexpr uint32_t kLoadedBytes = kConsumers * sizeof(uint32_t);  // by a load of all four warps

/// Four warps load from shared memory while a thread issues copies of 16 KB, eight in flight.
/// Both run for a fixed number of rounds: with copies, enough of them to outlast the loads.
template <bool reads>
__global__ void loads_beside_copies(Span* spans, const uint8_t* source, uint32_t copies,
                                    uint32_t* sink) {
  extern __shared__ __align__(128) uint8_t tiles[];
  __shared__ uint64_t full[kSlots];
  const uint32_t first_full = ptx::shared_address(full);
  const uint32_t destination = ptx::shared_address(tiles);
  const uint32_t address = destination + kSlots * kTileBytes + threadIdx.x * sizeof(uint32_t);
  if (threadIdx.x == 0)
    for (uint32_t i = 0; i < kSlots; ++i) ptx::mbarrier_init(first_full + i * kBarrierBytes, 1);
  if (threadIdx.x < kConsumers)
    for (uint32_t k = 0; k < kLoadsPerRound; ++k)
      asm volatile("st.shared.u32 [%0], %1;" ::"r"(address + k * kLoadedBytes), "r"(0) : "memory");
  __syncthreads();
  int64_t begin = cycle(), end = begin;
  uint32_t sum = 0;
  if (threadIdx.x < kConsumers) {
    if constexpr (reads) {
#pragma unroll 1
      for (int pass = 0; pass < kPasses; ++pass) {
        begin = cycle();
#pragma unroll 1
        for (int i = 0; i < kLoadRounds; ++i) {
          uint32_t x[kLoadsPerRound];
          // The sum is 0, which the compiler does not know: else it would hoist the loads.
          const uint32_t from = address + (sum & kLoadsPerRound * kLoadedBytes);
#pragma unroll
          for (uint32_t k = 0; k < kLoadsPerRound; ++k)
            asm volatile("ld.shared.u32 %0, [%1];"
                         : "=r"(x[k])
                         : "r"(from + k * kLoadedBytes)
                         : "memory");
#pragma unroll
          for (uint32_t k = 0; k < kLoadsPerRound; ++k) sum ^= x[k];
        }
        end = cycle();
      }
    }
  } else if (threadIdx.x == kConsumers && copies != 0) {
    uint32_t slot = 0, lap = 0;
    for (uint32_t i = 0; i < copies + kSlots; ++i) {
      const uint32_t barrier = first_full + slot * kBarrierBytes;
      if (lap != 0) wait(barrier, (lap - 1) & 1);
      if (i < copies) {
        ptx::mbarrier_arrive_expect_tx(barrier, kTileBytes);
        ptx::bulk_load(destination + slot * kTileBytes, source + slot * kTileBytes, kTileBytes,
                       barrier);
      }
      if (++slot == kSlots) {
        slot = 0;
        ++lap;
      }
    }
    end = cycle();
  }
  __syncwarp();
  write_span(spans, begin, end);
  keep(sum, sink);
}

constexpr int kStoresPerRound = 8;

/// Stores of rows of 16 bytes, `pitch_bytes` from lane to lane, to device memory.
__global__ void row_stores(Span* spans, uint8_t* destination, uint32_t pitch_bytes) {
  uint8_t* const place = destination + size_t{threadIdx.x} * pitch_bytes;
  time_rounds(spans, [&](int i) {
#pragma unroll
    for (int k = 0; k < kStoresPerRound; ++k)
      asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(place + k * 16), "r"(i)
                   : "memory");
  });
}

/// Three warpgroups; two take what the third gives.
__global__ void __launch_bounds__(384, 1) move_registers(Span* spans) {
  int64_t begin = cycle();
  if (threadIdx.x < 128) {
    ptx::decrease_registers<40>();
  } else {
    ptx::increase_registers<232>();
  }
  write_span(spans, begin, cycle());
}

/// Two CTAs of a cluster hand a word to each other by st.async; a round is two hand-overs.
__global__ void async_stores(Span* spans) {
  __shared__ uint64_t barrier;
  __shared__ uint32_t word;
  constexpr uint32_t kWordBytes = sizeof(word);
  const uint32_t own = ptx::shared_address(&barrier);
  const uint32_t rank = ptx::cluster_cta_rank();
  const uint32_t other = ptx::map_to_cta(own, 1 - rank);
  const uint32_t place = ptx::map_to_cta(ptx::shared_address(&word), 1 - rank);
  ptx::mbarrier_init(own, 1);
  ptx::fence_mbarrier_init();
  ptx::mbarrier_arrive_expect_tx(own, kWordBytes);
  ptx::cluster_arrive();
  ptx::cluster_wait();
  const auto send = [&](uint32_t value) {
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
            place),
        "r"(value), "r"(other)
        : "memory");
  };
  time_rounds(spans, [&](int i) {
    if (rank == 0) send(i);
    wait(own, i & 1);
    ptx::mbarrier_arrive_expect_tx(own, kWordBytes);
    if (rank == 1) send(i);
  });
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

constexpr uint32_t kDynamicBytes = kSlots * kTileBytes + 16 * 1024;

/// Cycles of one warp alone.
template <class Launch>
double cycles_of_warp(size_t warps, size_t warp, const Launch& launch) {
  const int launches = is_simulated() ? 1 : 7;
  DeviceBuffer<Span> spans(warps);
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < launches; ++i) {
    launch(spans.data());
    check_cuda(cudaGetLastError(), "launch a measurement");
    check_cuda(cudaDeviceSynchronize(), "finish a measurement");
    const Span span = spans.download()[warp];
    least = min_of(least, static_cast<double>(span.end - span.begin));
  }
  return least;
}

}  // namespace

void measure_pipeline(Results& results) {
  const auto add = [&](const char* name, const std::string& parameter, const char* unit,
                       double value) {
    results.add(std::string("pipeline.") + name, parameter, unit, value);
  };
  const auto add_rounds = [&](const char* name, const std::string& parameter, double cycles) {
    add(name, parameter, "cycles", cycles / kRounds);
  };
  uint32_t* const none = nullptr;
  add_rounds("proxy_fence", "", least_cycles(1, 1, [](Span* s) { proxy_fences<<<1, 32>>>(s); }));
  add_rounds("proxy_fence", "warps=4",
             least_cycles(1, 4, [](Span* s) { proxy_fences<<<1, 128>>>(s); }));
  add_rounds("cta_fence", "", least_cycles(1, 1, [](Span* s) { cta_fences<<<1, 32>>>(s); }));
  add_rounds("load_and_proxy_fence", "",
             least_cycles(1, 1, [&](Span* s) { loads_and_proxy_fences<<<1, 32>>>(s, none); }));
  add_rounds("arrive_twice", "all lanes",
             least_cycles(1, 1, [](Span* s) { pairs_of_arrivals<<<1, 32>>>(s); }));
  add_rounds("arrive_twice", "lane 0",
             least_cycles(1, 1, [](Span* s) { arrivals_of_a_lane<false><<<1, 32>>>(s); }));
  add_rounds("arrive_twice", "elected lane",
             least_cycles(1, 1, [](Span* s) { arrivals_of_a_lane<true><<<1, 32>>>(s); }));
  for (const uint32_t threads : {1u, 32u, 128u, 256u}) {
    const std::string parameter = "threads=" + std::to_string(threads);
    const uint32_t warps = (threads + 31) / 32;
    add_rounds("arrive", parameter,
               least_cycles(1, warps, [&](Span* s) { arrivals_of_warps<<<1, threads>>>(s); }));
    add_rounds("passing_wait", parameter,
               least_cycles(1, warps, [&](Span* s) { waits_of_warps<<<1, threads>>>(s); }));
  }
  constexpr uint32_t kRingThreads = kConsumers + 32, kRingWarps = kRingThreads / 32;
  add_rounds("ring", "stages=1", least_cycles(1, kRingWarps, [](Span* s) {
               rounds_of_a_ring<1, false><<<1, kRingThreads>>>(s);
             }));
  add_rounds("ring", "stages=4", least_cycles(1, kRingWarps, [](Span* s) {
               rounds_of_a_ring<4, false><<<1, kRingThreads>>>(s);
             }));
  add_rounds("ring_with_fences", "stages=1", least_cycles(1, kRingWarps, [](Span* s) {
               rounds_of_a_ring<1, true><<<1, kRingThreads>>>(s);
             }));
  add_rounds("ring_with_fences", "stages=4", least_cycles(1, kRingWarps, [](Span* s) {
               rounds_of_a_ring<4, true><<<1, kRingThreads>>>(s);
             }));

  DeviceBuffer<uint8_t> source(kSlots * kTileBytes);
  source.fill_bytes(0);
  const auto add_tile = [&](auto kernel, const char* name, const char* parameter) {
    allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kTileBytes);
    add(name, parameter, "cycles",
        least_cycles(1, 1, [&](Span* s) { kernel<<<1, 32, kTileBytes>>>(s, source.data()); }));
  };
  add_tile(tile_copies<Asks::lanes, false>, "ask_for_32_rows", "lanes");
  add_tile(tile_copies<Asks::one_thread, false>, "ask_for_32_rows", "one thread");
  add_tile(tile_copies<Asks::whole, false>, "ask_for_tile", "one thread");
  add_tile(tile_copies<Asks::lanes, true>, "bring_32_rows", "lanes");
  add_tile(tile_copies<Asks::one_thread, true>, "bring_32_rows", "one thread");
  add_tile(tile_copies<Asks::whole, true>, "bring_tile", "one thread");
  add_tile(tile_copies<Asks::elected, true>, "bring_tile", "elected");

  const auto alongside = [&](auto kernel, uint32_t copies, size_t warp) {
    allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kDynamicBytes);
    return cycles_of_warp(kRingWarps, warp, [&](Span* s) {
      kernel<<<1, kRingThreads, kDynamicBytes>>>(s, source.data(), copies, none);
    });
  };
  constexpr uint32_t kManyCopies = 512;
  add("copies_alone", "", "bytes/cycle",
      1.0 * kManyCopies * kTileBytes /
          alongside(loads_beside_copies<false>, kManyCopies, kConsumerWarps));
  for (const uint32_t copies : {0u, kManyCopies}) {
    const std::string parameter = copies == 0 ? "alone" : "beside copies";
    add("rounds_of_8_loads", parameter, "cycles",
        alongside(loads_beside_copies<true>, copies, 0) / kLoadRounds);
  }
  DeviceBuffer<uint8_t> destination(32 * 1024);
  for (const uint32_t pitch_bytes : {16u, 1024u}) {
    const double cycles = least_cycles(
        1, 1, [&](Span* s) { row_stores<<<1, 32>>>(s, destination.data(), pitch_bytes); });
    add("stores", "pitch=" + std::to_string(pitch_bytes), "cycles/instruction",
        cycles / (1.0 * kStoresPerRound * kRounds));
  }
  add_rounds("async_store_ping_pong_ctas", "",
             least_cycles(2, 1, [](Span* s) { launch_clusters(async_stores, 2, 2, 1, 0, s); }));
  add("move_registers", "", "cycles",
      least_cycles(1, 12, [](Span* s) { move_registers<<<1, 384>>>(s); }));
}

}  // namespace bw::timing
