/// \file
/// Between CTAs: what those of a cluster send each other, when the CTAs of a launch begin, and what
/// passes from the end of one to the begin of the next on its SM.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/device/bulk_copy.cuh"
#include "common/device/cluster.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_store.cuh"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/rounds.cuh"
#include "tests/hardware/timing/sm_count.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kBarrierBytes = sizeof(uint64_t);
constexpr uint32_t kMostSenders = 2;

__device__ void wait(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

/// All threads of a CTA: writes its dynamic shared memory.
__device__ void clear(uint8_t* buffer, uint32_t bytes) {
  for (uint32_t i = threadIdx.x * 4; i < bytes; i += blockDim.x * 4)
    *reinterpret_cast<uint32_t*>(buffer + i) = 0;
}

/// A thread of each warp of two CTAs sends `bytes` to the other CTA by one bulk copy, and waits for
/// as many from there. `in_turn`: one CTA after the other, else both at once; then the other may be
/// a round ahead, and rounds have barriers in turn: what comes early counts at its own one.
template <bool in_turn>
__global__ void exchange(Span* spans, uint32_t bytes) {
  extern __shared__ __align__(128) uint8_t buffers[];
  __shared__ uint64_t barriers[kMostSenders][2];
  const uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const uint32_t rank = ptx::cluster_cta_rank();
  const uint32_t own = ptx::shared_address(barriers[warp]);
  const uint32_t source = ptx::shared_address(buffers) + warp * bytes;
  const uint32_t place = ptx::map_to_cta(source + warps * bytes, 1 - rank);
  const uint32_t other = ptx::map_to_cta(own, 1 - rank);
  if (threadIdx.x % 32 == 0) {
    ptx::mbarrier_init(own, 1);
    ptx::mbarrier_init(own + kBarrierBytes, 1);
  }
  ptx::fence_mbarrier_init();
  clear(buffers, 2 * warps * bytes);
  ptx::fence_proxy_async_shared();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (threadIdx.x % 32 == 0) {
    time_rounds(spans, [&](int i) {
      const uint32_t offset = (i & 1) * kBarrierBytes;
      const uint32_t parity = i >> 1 & 1;
      ptx::mbarrier_arrive_expect_tx(own + offset, bytes);
      if (in_turn && rank == 1) wait(own + offset, parity);
      ptx::bulk_copy_to_cta(place, source, bytes, other + offset);
      if (!in_turn || rank == 0) wait(own + offset, parity);
    });
  }
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

/// Each of 128 bytes: shifts of the bytes that are sent and of their destination.
struct Shifts {
  uint32_t source = 0;
  uint32_t place = 0;
};
constexpr uint32_t kLineBytes = 128;

/// Two CTAs that begin together: two threads of each send `bytes` to the other CTA at once, as at
/// the end of a tile whose K they share. Spans: from the copy's issue until the other CTA's is
/// there. The second round is measured.
__global__ void exchange_once(Span* spans, uint32_t bytes, const Shifts shifts) {
  extern __shared__ __align__(128) uint8_t buffers[];
  __shared__ uint64_t barriers[kMostSenders];
  constexpr uint32_t kSenderThreads = 128;
  const uint32_t sender = threadIdx.x / kSenderThreads;
  const uint32_t rank = ptx::cluster_cta_rank();
  const uint32_t own = ptx::shared_address(&barriers[sender]);
  const uint32_t buffer = ptx::shared_address(buffers) + sender * bytes;
  const uint32_t source = buffer + shifts.source;
  const uint32_t incoming = buffer + kMostSenders * bytes + kLineBytes + shifts.place;
  const uint32_t place = ptx::map_to_cta(incoming, 1 - rank);
  const uint32_t other = ptx::map_to_cta(own, 1 - rank);
  if (threadIdx.x % kSenderThreads == 0) ptx::mbarrier_init(own, 1);
  ptx::fence_mbarrier_init();
  clear(buffers, 2 * (kMostSenders * bytes + kLineBytes));
  ptx::fence_proxy_async_shared();
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (uint32_t round = 0; round < 2; ++round) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
    begin = cycle();
    if (threadIdx.x % kSenderThreads == 0) {
      ptx::mbarrier_arrive_expect_tx(own, bytes);
      ptx::bulk_copy_to_cta(place, source, bytes, other);
    }
    __syncwarp();
    wait(own, round & 1);
    end = cycle();
  }
  if (threadIdx.x % kSenderThreads == 0) spans[blockIdx.x * kMostSenders + sender] = {begin, end};
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

constexpr uint32_t kSliceBytes = 8192;

/// Each CTA stores a tile in slices of 8 KiB, all at once, by one thread's bulk copies: until they
/// have been read (`written` false), or written. The second round is measured.
template <bool written>
__global__ void store_tile(Span* spans, uint8_t* destination, uint32_t bytes) {
  extern __shared__ __align__(128) uint8_t buffers[];
  clear(buffers, bytes);
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x != 0) return;
  const uint32_t source = ptx::shared_address(buffers);
  uint8_t* const place = destination + size_t{blockIdx.x} * bytes;
  constexpr int64_t kPauseCycles = 20'000;  // until earlier writes are in L2
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    const int64_t pause = cycle();
    while (cycle() - pause < kPauseCycles) {
    }
    begin = cycle();
    for (uint32_t i = 0; i < bytes; i += kSliceBytes)
      ptx::bulk_store(place + i, source + i, kSliceBytes);
    ptx::bulk_commit_group();
    if constexpr (written) {
      ptx::bulk_wait_group<0>();
    } else {
      ptx::bulk_wait_group_read<0>();
    }
    end = cycle();
  }
  spans[blockIdx.x] = {begin, end};
}

enum class Access { loads, stores };
constexpr int kAccesses = 8;  ///< of a round, each 16 bytes of a thread
constexpr uint32_t kVectorBytes = 16;

/// Threads of one CTA of a pair, or of both, read or write the shared memory of the other.
template <Access access>
__global__ void remote_accesses(Span* spans, bool both, uint32_t* sink) {
  extern __shared__ __align__(128) uint8_t buffers[];
  const uint32_t rank = ptx::cluster_cta_rank();
  const uint32_t step = blockDim.x * kVectorBytes;
  const uint32_t place =
      ptx::map_to_cta(ptx::shared_address(buffers) + threadIdx.x * kVectorBytes, 1 - rank);
  uint32_t sum = 0;
  clear(buffers, kAccesses * step);
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (both || rank == 0) {
    time_rounds(spans, [&](int i) {
      if constexpr (access == Access::stores) {
#pragma unroll
        for (int k = 0; k < kAccesses; ++k) {
          const auto value = static_cast<float>(i);
          ptx::store_shared_cluster(place + k * step, make_float4(value, value, value, value));
        }
      } else {
        uint32_t x[kAccesses][4];
        // The sum is 0, which the compiler does not know: else it would hoist the loads.
        const uint32_t from = place + (sum & 1);
#pragma unroll
        for (int k = 0; k < kAccesses; ++k)
          asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                       : "=r"(x[k][0]), "=r"(x[k][1]), "=r"(x[k][2]), "=r"(x[k][3])
                       : "r"(from + k * step)
                       : "memory");
#pragma unroll
        for (int k = 0; k < kAccesses; ++k) sum |= x[k][0] | x[k][1] | x[k][2] | x[k][3];
      }
    });
  } else {
    write_span(spans, 0, 0);
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
  keep(sum, sink);
}

/// How a CTA lives: the first thread counts `cycles` and, in every fifth CTA, `extra` more; in the
/// second CTA of a cluster `extra_of_second` more. Then every thread stores `stores` times 16
/// bytes.
struct Life {
  int64_t cycles = 0;
  int64_t extra = 0;
  int64_t extra_of_second = 0;
  uint32_t stores = 0;
  uint4* destination = nullptr;
  int64_t* begins = nullptr;  ///< of each CTA
  int64_t* ends = nullptr;    ///< of each CTA: after all but the last write
  uint32_t* sms = nullptr;    ///< the SM of each CTA
  bool meets = false;         ///< whether the CTAs of a cluster wait for each other at the end
};

/// A CTA of such a life.
__global__ void __launch_bounds__(1024) live(const Life life) {
  const int64_t begin = cycle();
  if (threadIdx.x == 0 && life.begins != nullptr) life.begins[blockIdx.x] = begin;
  if (threadIdx.x == 0) {
    int64_t cycles = life.cycles + (blockIdx.x % 5 == 0 ? life.extra : 0);
    if (life.extra_of_second != 0 && ptx::cluster_cta_rank() == 1) cycles += life.extra_of_second;
    while (cycle() - begin < cycles) {
    }
  }
  __syncthreads();
  uint4* const place = life.destination + size_t{blockIdx.x} * life.stores * blockDim.x;
  for (uint32_t i = 0; i < life.stores; ++i)
    place[i * blockDim.x + threadIdx.x] = make_uint4(i, i, i, i);
  if (life.meets) {
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  }
  if (threadIdx.x == 0 && life.ends != nullptr) {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    life.sms[blockIdx.x] = sm;
    life.ends[blockIdx.x] = cycle();
  }
}

constexpr uint32_t kKib = 1024;

/// A launch of `live`.
struct Crowd {
  uint32_t threads = 384;
  uint32_t shared_kib = 200;
  uint32_t cluster = 1;

  [[nodiscard]] std::string name() const {
    return "threads=" + std::to_string(threads) + " shared=" + std::to_string(shared_kib) +
           " cluster=" + std::to_string(cluster);
  }
  void launch(uint32_t ctas, const Life& life, cudaStream_t stream) const {
    launch_clusters_on(stream, live, ctas, cluster, threads, shared_kib * kKib, life);
  }
};

/// How long after the first CTA of its GPC a CTA begins: the median of all, and the last one. (The
/// clocks of a GPC's SMs agree; those of two GPCs are far apart, or agree as well.)
void add_begins(Results& results, const Crowd& crowd, uint32_t ctas) {
  constexpr int64_t kFarApart = 100'000;
  const int launches = is_simulated() ? 1 : 7;
  DeviceBuffer<int64_t> begins(ctas);
  double median = std::numeric_limits<double>::max(), last = median;
  for (int i = 0; i < launches; ++i) {
    crowd.launch(ctas, {.cycles = 2000, .begins = begins.data()}, nullptr);
    check_cuda(cudaDeviceSynchronize(), "finish a measurement");
    std::vector<int64_t> all = begins.download();
    std::sort(all.begin(), all.end());
    std::vector<int64_t> after;
    int64_t first = all.front(), before = first;
    for (const int64_t one : all) {
      if (one - before > kFarApart) first = one;
      after.push_back(one - first);
      before = one;
    }
    std::sort(after.begin(), after.end());
    median = std::min(median, static_cast<double>(after[after.size() / 2]));
    last = std::min(last, static_cast<double>(after.back()));
  }
  const std::string parameter = crowd.name() + " ctas=" + std::to_string(ctas);
  results.add("cta_end.begin_behind_first_of_gpc_median", parameter, "cycles", median);
  results.add("cta_end.begin_behind_first_of_gpc_last", parameter, "cycles", last);
}

/// Microseconds between two events with one launch in between, after a launch that is long enough
/// for everything to be in the queue.
double microseconds_behind_others(const Crowd& crowd, uint32_t ctas, const Life& life) {
  constexpr int64_t kQueuedCycles = 100'000;
  const int launches = is_simulated() ? 1 : 15;
  EventTimer timer;
  std::vector<double> times;
  for (int i = 0; i < launches; ++i) {
    live<<<1, 32>>>(Life{.cycles = kQueuedCycles});
    timer.start(nullptr);
    crowd.launch(ctas, life, nullptr);
    times.push_back(timer.stop(nullptr) * 1e3);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void measure_exchanges(Results& results, uint32_t most_ctas) {
  for (const uint32_t ctas : {2u, most_ctas}) {
    for (const uint32_t warps : {1u, 2u}) {
      for (const uint32_t bytes : {1024u, 4096u, 16384u, 32768u}) {
        if (ctas != 2 && bytes < 16384) continue;
        const std::string parameter = "bytes=" + std::to_string(bytes) +
                                      " copies=" + std::to_string(warps) +
                                      " ctas=" + std::to_string(ctas);
        const uint32_t shared = 2 * warps * bytes;
        results.add("cta_end.exchange", parameter, "cycles",
                    least_cycles(ctas, warps, [&](Span* s) {
                      launch_clusters(exchange<false>, ctas, 2, 32 * warps, shared, s, bytes);
                    }) / kRounds);
        if (ctas != 2) continue;
        results.add("cta_end.send_in_turn", parameter, "cycles",
                    least_cycles(ctas, warps, [&](Span* s) {
                      launch_clusters(exchange<true>, ctas, 2, 32 * warps, shared, s, bytes);
                    }) / (2 * kRounds));
      }
    }
  }
}

/// What `exchange_once` gives for the sender whose copy comes first, and for the other one.
void add_exchange_once(Results& results, uint32_t ctas, uint32_t bytes, const Shifts& shifts) {
  const int launches = is_simulated() ? 1 : 7;
  DeviceBuffer<Span> spans(size_t{ctas} * kMostSenders);
  double first = std::numeric_limits<double>::max(), second = first;
  for (int i = 0; i < launches; ++i) {
    launch_clusters(exchange_once, ctas, 2, 256, 2 * (kMostSenders * bytes + kLineBytes),
                    spans.data(), bytes, shifts);
    check_cuda(cudaDeviceSynchronize(), "finish a measurement");
    const std::vector<Span> all = spans.download();
    std::vector<Span> firsts, seconds;
    for (size_t cta = 0; cta < ctas; ++cta) {
      Span one = all[cta * 2], two = all[cta * 2 + 1];
      if (one.end - one.begin > two.end - two.begin) std::swap(one, two);
      firsts.push_back(one);
      seconds.push_back(two);
    }
    first = std::min(first, median_cta_cycles(firsts, 1));
    second = std::min(second, median_cta_cycles(seconds, 1));
  }
  std::string parameter = "bytes=" + std::to_string(bytes) + " ctas=" + std::to_string(ctas);
  if (shifts.source != 0 || shifts.place != 0)
    parameter +=
        " source=+" + std::to_string(shifts.source) + " place=+" + std::to_string(shifts.place);
  results.add("cta_end.exchange_of_two_first", parameter, "cycles", first);
  results.add("cta_end.exchange_of_two_second", parameter, "cycles", second);
}

void measure_exchanges_once(Results& results, uint32_t most_ctas) {
  for (const uint32_t ctas : {2u, most_ctas})
    for (const uint32_t bytes : {4096u, 8192u, 16384u}) add_exchange_once(results, ctas, bytes, {});
  // Bulk copies ask for multiples of 16 bytes only.
  for (const uint32_t ctas : {2u, most_ctas})
    for (const uint32_t bytes : {8192u, 16384u})
      for (uint32_t place = 16; place < kLineBytes; place += 16)
        if (ctas != 2 || place % 64 == 16) add_exchange_once(results, ctas, bytes, {0, place});
  for (const Shifts& shifts : {Shifts{16, 16}, Shifts{80, 80}, Shifts{64, 0}, Shifts{16, 0}})
    add_exchange_once(results, most_ctas, 8192, shifts);
}

void measure_tile_stores(Results& results, uint32_t sms) {
  constexpr uint32_t kMostBytes = 65536;
  DeviceBuffer<uint8_t> destination(size_t{sms} * kMostBytes);
  for (const uint32_t ctas : {1u, sms}) {
    for (const uint32_t bytes : {8192u, 16384u, 32768u, kMostBytes}) {
      const std::string parameter =
          "bytes=" + std::to_string(bytes) + " sms=" + std::to_string(ctas);
      const auto time = [&](auto kernel) {
        return least_cycles(ctas, 1, [&](Span* s) {
          // A tile fills an SM: one CTA on each.
          launch_clusters(kernel, ctas, 1, 128, 200 * 1024, s, destination.data(), bytes);
        });
      };
      results.add("cta_end.tile_read", parameter, "cycles", time(store_tile<false>));
      results.add("cta_end.tile_written", parameter, "cycles", time(store_tile<true>));
    }
  }
}

void measure_remote_accesses(Results& results) {
  uint32_t* const none = nullptr;
  for (const bool both : {false, true}) {
    for (const uint32_t warps : {1u, 4u, 8u}) {
      const uint32_t shared = warps * 32 * kVectorBytes * kAccesses;
      const auto add = [&](const char* name, auto kernel) {
        const double cycles = least_cycles(2, warps, [&](Span* s) {
          launch_clusters(kernel, 2, 2, 32 * warps, shared, s, both, none);
        });
        results.add(std::string("cta_end.") + name,
                    "warps=" + std::to_string(warps) + (both ? " both" : ""), "bytes/cycle",
                    1.0 * kRounds * shared / cycles);
      };
      add("remote_loads", remote_accesses<Access::loads>);
      add("remote_stores", remote_accesses<Access::stores>);
    }
  }
}

void measure_next_ctas(Results& results, uint32_t sms) {
  constexpr uint32_t kWaves = 16;
  constexpr uint32_t kMostThreads = 1024, kMostStores = 16;
  DeviceBuffer<uint4> destination(size_t{kWaves} * sms * 384 * kMostStores);
  static_assert(kMostThreads >= 384);
  const auto add = [&](const char* name, const std::string& more, const Crowd& crowd,
                       uint32_t per_wave, const Life& life) {
    const auto time = [&](uint32_t waves) {
      return graph_microseconds(
          [&](cudaStream_t stream) { crowd.launch(waves * per_wave, life, stream); });
    };
    results.add(std::string("cta_end.") + name, crowd.name() + more, "us",
                (time(kWaves) - time(1)) / (kWaves - 1));
  };
  const Life plain{.cycles = 3000};
  for (const uint32_t threads : {32u, 128u, 384u, 1024u})
    add("next_cta_of_3000_cycles", "", {.threads = threads}, sms, plain);
  add("next_cta_of_3000_cycles", "", {.threads = 128, .shared_kib = 100}, 2 * sms, plain);
  add("next_cta_of_3000_cycles", "", {.threads = 384, .shared_kib = 100}, 2 * sms, plain);
  add("next_cta_of_3000_cycles", "", {.threads = 160, .shared_kib = 70}, 3 * sms, plain);
  for (const uint32_t cluster : {2u, 4u})
    add("next_cta_of_3000_cycles", "", {.cluster = cluster}, cluster == 2 ? sms : 120, plain);
  for (const uint32_t cluster : {1u, 2u}) {
    const Crowd crowd{.cluster = cluster};
    Life uneven = plain;
    uneven.extra = 3000;
    add("next_cta_of_3000_or_6000_cycles", "", crowd, sms, uneven);
    for (const uint32_t stores : {2u, kMostStores}) {
      Life storing = plain;
      storing.stores = stores;
      storing.destination = destination.data();
      add("next_cta_of_3000_cycles", " stores=" + std::to_string(stores), crowd, sms, storing);
    }
  }
  // As kernels of many small CTAs have them: four on an SM, also in clusters. (Of four CTAs 124
  // clusters are there at once.)
  const auto of_four = [&](uint32_t cluster) { return 4 * (cluster == 4 ? 124 : sms); };
  for (const uint32_t cluster : {1u, 2u, 4u}) {
    const Crowd crowd{.threads = 160, .shared_kib = 50, .cluster = cluster};
    Life meeting = plain;
    meeting.meets = true;
    for (const int64_t cycles : {500, 1000, 2000, 3000})
      add(("next_cta_of_" + std::to_string(cycles) + "_cycles").c_str(), "", crowd,
          of_four(cluster), {.cycles = cycles});
    add("next_cta_of_3000_cycles", " cluster_barrier", crowd, of_four(cluster), meeting);
    Life uneven = plain;
    uneven.extra = 3000;
    add("next_cta_of_3000_or_6000_cycles", "", crowd, of_four(cluster), uneven);
    uneven.meets = true;
    add("next_cta_of_3000_or_6000_cycles", " cluster_barrier", crowd, of_four(cluster), uneven);
  }
  Life second = plain;
  second.extra_of_second = 3000;
  add("next_cta_of_3000_and_6000_cycles", "", {.cluster = 2}, sms, second);
  Life meeting = plain;
  meeting.meets = true;
  add("next_cta_of_3000_cycles", " cluster_barrier", {.cluster = 2}, sms, meeting);
}

void measure_begins(Results& results, uint32_t sms) {
  for (const uint32_t threads : {32u, 128u, 384u, 1024u})
    add_begins(results, {.threads = threads, .shared_kib = 0}, sms);
  for (const uint32_t threads : {128u, 384u}) {
    add_begins(results, {.threads = threads}, sms);
    add_begins(results, {.threads = threads, .cluster = 2}, sms);
  }
  add_begins(results, {.threads = 160, .shared_kib = 70}, 3 * sms);
  add_begins(results, {.threads = 384, .cluster = 4}, 120);
  add_begins(results, {.threads = 384}, sms / 2);
}

void measure_launches(Results& results, uint32_t sms) {
  const Life life{.cycles = 4000};
  for (const uint32_t ctas : {1u, sms}) {
    for (const Crowd& crowd :
         {Crowd{.threads = 32, .shared_kib = 0}, Crowd{.threads = 384, .shared_kib = 0},
          Crowd{.threads = 384}, Crowd{.threads = 384, .cluster = 2}}) {
      const uint32_t rounded = std::max(ctas, crowd.cluster);
      const std::string parameter = crowd.name() + " ctas=" + std::to_string(rounded);
      results.add("cta_end.launch_behind_another", parameter, "us",
                  microseconds_behind_others(crowd, rounded, life));
      results.add(
          "cta_end.launch_alone", parameter, "us",
          graph_microseconds([&](cudaStream_t stream) { crowd.launch(rounded, life, stream); }));
      results.add("cta_end.launch_of_two", parameter, "us",
                  graph_microseconds([&](cudaStream_t stream) {
                    crowd.launch(rounded, life, stream);
                    crowd.launch(rounded, life, stream);
                  }));
    }
  }
}

}  // namespace

void measure_cta_end(Results& results) {
  const uint32_t sms = sm_count();
  measure_exchanges(results, sms);
  measure_exchanges_once(results, sms);
  measure_tile_stores(results, sms);
  measure_remote_accesses(results);
  measure_begins(results, sms);
  measure_next_ctas(results, sms);
  measure_launches(results, sms);
}

}  // namespace bw::timing
