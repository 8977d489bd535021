/// \file
/// Barriers: named ones by warps, an mbarrier within a thread, between warps and between CTAs, the
/// cluster's.

#include <string>

#include "common/device/cluster.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/rounds.cuh"

namespace bw::timing {
namespace {

__global__ void named_barrier(Span* spans) {
  time_rounds(spans, [](int) { __syncthreads(); });
}

__global__ void warp_barrier(Span* spans) {
  time_rounds(spans, [](int) { __syncwarp(); });
}

__device__ void wait(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

/// One thread arrives and waits for itself.
__global__ void own_mbarrier(Span* spans) {
  __shared__ uint64_t barrier;
  const uint32_t address = ptx::shared_address(&barrier);
  ptx::mbarrier_init(address, 1);
  time_rounds(spans, [&](int i) {
    ptx::mbarrier_arrive(address);
    wait(address, i & 1);
  });
}

/// One thread arrives again and again on a barrier that doesn't complete.
__global__ void arrivals(Span* spans) {
  __shared__ uint64_t barrier;
  const uint32_t address = ptx::shared_address(&barrier);
  constexpr uint32_t kManyArrivals = 1 << 16;
  ptx::mbarrier_init(address, kManyArrivals);
  time_rounds(spans, [&](int) { ptx::mbarrier_arrive(address); });
}

/// A barrier that is complete already is waited for.
__global__ void passing_waits(Span* spans) {
  __shared__ uint64_t barrier;
  const uint32_t address = ptx::shared_address(&barrier);
  ptx::mbarrier_init(address, 1);
  time_rounds(spans, [&](int) { wait(address, 1); });
}

/// Two warps hand on to each other: a round is two hand-overs.
__global__ void ping_pong_warps(Span* spans) {
  __shared__ uint64_t barriers[2];
  const uint32_t own = ptx::shared_address(&barriers[threadIdx.x / 32]);
  const uint32_t other = ptx::shared_address(&barriers[1 - threadIdx.x / 32]);
  if (threadIdx.x % 32 == 0) ptx::mbarrier_init(own, 1);
  __syncthreads();
  if (threadIdx.x % 32 != 0) return;
  const bool first = threadIdx.x == 0;
  time_rounds(spans, [&](int i) {
    if (first) ptx::mbarrier_arrive(other);
    wait(own, i & 1);
    if (!first) ptx::mbarrier_arrive(other);
  });
}

/// The same between two CTAs of a cluster, one thread each.
__global__ void ping_pong_ctas(Span* spans) {
  __shared__ uint64_t barrier;
  const uint32_t own = ptx::shared_address(&barrier);
  const uint32_t rank = ptx::cluster_cta_rank();
  const uint32_t other = ptx::map_to_cta(own, 1 - rank);
  ptx::mbarrier_init(own, 1);
  ptx::fence_mbarrier_init();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  time_rounds(spans, [&](int i) {
    if (rank == 0) ptx::mbarrier_arrive_cluster(other);
    while (!ptx::mbarrier_try_wait_parity_cluster(own, i & 1)) {
    }
    if (rank == 1) ptx::mbarrier_arrive_cluster(other);
  });
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

__global__ void cluster_barrier(Span* spans) {
  time_rounds(spans, [](int) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
  });
}

}  // namespace

void measure_barriers(Results& results) {
  const auto add = [&](const char* name, const std::string& parameter, double cycles) {
    results.add(std::string("barrier.") + name, parameter, "cycles", cycles / kRounds);
  };
  add("syncwarp", "", least_cycles(1, 1, [](Span* s) { warp_barrier<<<1, 32>>>(s); }));
  for (const uint32_t warps : {1u, 2u, 4u, 8u, 16u, 32u}) {
    add("syncthreads", "warps=" + std::to_string(warps),
        least_cycles(1, warps, [&](Span* s) { named_barrier<<<1, warps * 32>>>(s); }));
  }
  add("mbarrier_arrive", "", least_cycles(1, 1, [](Span* s) { arrivals<<<1, 1>>>(s); }));
  add("mbarrier_passing_wait", "", least_cycles(1, 1, [](Span* s) { passing_waits<<<1, 1>>>(s); }));
  add("mbarrier_arrive_and_wait", "",
      least_cycles(1, 1, [](Span* s) { own_mbarrier<<<1, 1>>>(s); }));
  add("mbarrier_ping_pong_warps", "",
      least_cycles(1, 2, [](Span* s) { ping_pong_warps<<<1, 64>>>(s); }));
  add("mbarrier_ping_pong_ctas", "",
      least_cycles(2, 1, [](Span* s) { launch_clusters(ping_pong_ctas, 2, 2, 1, 0, s); }));
  for (const uint32_t ctas : {2u, 4u, 8u}) {
    add("cluster", "ctas=" + std::to_string(ctas), least_cycles(ctas, 4, [&](Span* s) {
          launch_clusters(cluster_barrier, ctas, ctas, 128, 0, s);
        }));
  }
}

}  // namespace bw::timing
