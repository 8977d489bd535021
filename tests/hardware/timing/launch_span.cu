/// \file
/// Duration of a launch in addition to the span of its CTAs: the time between two events, less the
/// time from the first CTA's begin to the last one's end. The launch is queued after other work.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/device/bulk_copy.cuh"
#include "common/device/fence.cuh"
#include "common/device/register_budget.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_store.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/host/dynamic_shared_memory.hpp"
#include "common/host/event_timer.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/global_time.cuh"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/mma_block.cuh"
#include "tests/hardware/timing/sm_count.hpp"

namespace bw::timing {
namespace {

constexpr int kMmaN = 128;

/// Kernel arguments that fill their place.
template <uint32_t bytes>
struct Ballast {
  std::array<uint32_t, bytes / 4> words;
};

struct Period {
  uint64_t begin = 0;  ///< in nanoseconds
  uint64_t end = 0;
};

/// What CTAs do until they end.
struct Stay {
  Period* periods = nullptr;    ///< of each CTA
  uint32_t nanoseconds = 2000;  ///< at least
  bool reads = false;           ///< all arguments
  uint32_t stores = 0;          ///< of 16 bytes, of each thread, right before it ends
  uint32_t bulk_bytes = 0;      ///< that its first thread's bulk copy stores right before it ends
  bool is_written = false;      ///< waits until they are written, else until they have been read
  uint4* destination = nullptr;
  uint32_t* sink = nullptr;  ///< null, which the compiler does not know
};

/// Stays there. `gives`: with the registers of 168 for each thread, of which it gives some back.
template <uint32_t bytes, bool gives>
__global__ void __launch_bounds__(384, 1)
    stay(const __grid_constant__ Ballast<bytes> ballast, const Stay what) {
  const uint64_t begin = nanoseconds();
  const uint64_t end = begin + what.nanoseconds;
  if constexpr (gives) ptx::decrease_registers<40>();
  // Early, so that nothing is on its way to the memory at the end.
  if (threadIdx.x == 0) what.periods[blockIdx.x] = {begin, end};
  if (what.reads) {
    uint32_t sum = 0;
    constexpr uint32_t kStep = 16;  // words: 64 bytes
#pragma unroll 1
    for (uint32_t i = 0; i < bytes / 4; i += kStep) sum += ballast.words[i];
    keep(sum, what.sink);
  }
  extern __shared__ __align__(128) uint8_t raw[];
  for (uint32_t i = threadIdx.x; i < what.bulk_bytes / sizeof(uint4); i += blockDim.x)
    reinterpret_cast<uint4*>(raw)[i] = make_uint4(i, i, i, i);
  ptx::fence_proxy_async_shared();
  if (threadIdx.x == 0) {
    while (nanoseconds() < end) {
    }
  }
  __syncthreads();
#pragma unroll 1
  for (uint32_t i = 0; i < what.stores; ++i)
    what.destination[(size_t{blockIdx.x} * what.stores + i) * blockDim.x + threadIdx.x] =
        make_uint4(i, i, i, i);
  if (what.bulk_bytes == 0 || threadIdx.x != 0) return;
  constexpr uint32_t kPieceBytes = 8192;
  for (uint32_t at = 0; at < what.bulk_bytes; at += kPieceBytes)
    ptx::bulk_store(
        reinterpret_cast<uint8_t*>(what.destination) + size_t{blockIdx.x} * what.bulk_bytes + at,
        ptx::shared_address(raw) + at, kPieceBytes);
  ptx::bulk_commit_group();
  if (what.is_written) {
    ptx::bulk_wait_group<0>();
  } else {
    ptx::bulk_wait_group_read<0>();
  }
}

/// Two warpgroups multiply `blocks` blocks; with `periods` each CTA writes its begin and end.
__global__ void __launch_bounds__(256)
    multiply_blocks(Period* periods, uint32_t blocks, float one, float* sink) {
  extern __shared__ uint8_t raw[];
  const uint64_t begin = nanoseconds();
  const uint32_t base =
      (ptx::shared_address(raw) + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
  constexpr uint32_t kWords = (2 * kMmaRows + kMmaN) * kMmaRowBytes / 4;
  for (uint32_t i = threadIdx.x; i < kWords; i += blockDim.x)
    reinterpret_cast<uint32_t*>(raw)[i] = (i * 0x9e3779b1u) & 0xf7f7f7f7u;
  ptx::fence_proxy_async_shared();
  __syncthreads();
  float d[kMmaN / 2];
#pragma unroll
  for (int i = 0; i < kMmaN / 2; ++i) d[i] = static_cast<float>(i) * one;
  const uint64_t b = wgmma_descriptor(wgmma_descriptor_low(base));
  const uint64_t a = wgmma_descriptor(wgmma_descriptor_low(
      base + kMmaN * kMmaRowBytes + threadIdx.x / 128 * kMmaRows * kMmaRowBytes));
#pragma unroll 1
  for (uint32_t i = 0; i < blocks; ++i) {
    ptx::wgmma_hold(d);
    multiply_and_wait<kMmasPerBlock>(d, a, b, /*chained=*/false);
  }
  __syncthreads();
  if (threadIdx.x == 0 && periods != nullptr) periods[blockIdx.x] = {begin, nanoseconds()};
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kMmaN / 2; ++i) sum += d[i];
  if (sink != nullptr) *sink = sum;
}

/// More code than an SM keeps of other kernels.
__global__ void execute_much_code(int rounds, float factor, float* sink) {
  constexpr int kInstructions = 48 * 1024 / 16;  // of 16 bytes: 48 KiB
  constexpr int kChains = 8;
  float sums[kChains] = {};
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kInstructions; ++i)
      sums[i % kChains] = fmaf(sums[i % kChains], factor, factor);
  }
  float sum = 0;
  for (const float one : sums) sum += one;
  if (sink != nullptr) *sink = sum;
}

/// Adds for some 60 microseconds.
__global__ void add_for_long(uint32_t rounds, float one, float* sink) {
  float sum = one;
#pragma unroll 1
  for (uint32_t i = 0; i < rounds; ++i) sum = fmaf(sum, one, one);
  if (sink != nullptr) *sink = sum;
}

enum class Before { adds, adds_with_shared, multiplies, much_code };

struct Case {
  uint32_t ctas = 132;
  uint32_t threads = 128;
  uint32_t shared_kib = 0;
  uint32_t cluster = 0;  ///< CTAs; 0: a launch without clusters
  Before before = Before::adds;
  bool reads = false;
  uint32_t stores = 0;
  uint32_t bulk_kib = 0;
  bool is_written = false;
  bool multiplies = false;  ///< the launch itself, instead of staying

  [[nodiscard]] std::string name() const {
    return "ctas=" + std::to_string(ctas) + " threads=" + std::to_string(threads) +
           " shared=" + std::to_string(shared_kib) +
           (cluster == 0 ? "" : " cluster=" + std::to_string(cluster)) +
           (before == Before::adds               ? ""
            : before == Before::adds_with_shared ? " before=shared"
            : before == Before::much_code        ? " before=code"
                                                 : " before=mma") +
           (stores == 0 ? "" : " stores=" + std::to_string(stores)) +
           (bulk_kib == 0 ? "" : " bulk=" + std::to_string(bulk_kib)) +
           (is_written ? " written" : "");
  }
};

constexpr uint32_t kMostShared = 227 * 1024;
constexpr uint32_t kMostCtas = 1000;
constexpr uint32_t kMostStores = 8;

void put_before(Before before, uint32_t sms) {
  const bool simulated = is_simulated();
  if (before == Before::multiplies) {
    allow_dynamic_shared_memory(reinterpret_cast<const void*>(multiply_blocks), kMostShared);
    multiply_blocks<<<sms, 256, kMostShared>>>(nullptr, simulated ? 4 : 200, 1.0f, nullptr);
  } else if (before == Before::much_code) {
    execute_much_code<<<sms, 32>>>(simulated ? 1 : 20, 1.0f, nullptr);
  } else {
    const uint32_t shared = before == Before::adds_with_shared ? kMostShared : 0;
    allow_dynamic_shared_memory(reinterpret_cast<const void*>(add_for_long), kMostShared);
    add_for_long<<<sms, 256, shared>>>(simulated ? 100 : 30'000, 1.0f, nullptr);
  }
  check_cuda(cudaGetLastError(), "launch other work");
}

/// Microseconds in addition to the span.
template <class Launch>
double beside_span(const Case& one, uint32_t sms, Launch&& launch) {
  const int repeats = is_simulated() ? 1 : 25;
  DeviceBuffer<Period> periods(one.ctas);
  EventTimer timer;
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    put_before(one.before, sms);
    timer.start(nullptr);
    launch(periods.data());
    const double all = timer.stop(nullptr) * 1e3;
    uint64_t first = ~uint64_t{0}, last = 0;
    for (const Period& period : periods.download()) {
      first = std::min(first, period.begin);
      last = std::max(last, period.end);
    }
    times.push_back(all - static_cast<double>(last - first) / 1e3);
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

template <uint32_t bytes, bool gives>
void add(Results& results, uint32_t sms, uint4* destination, const Case& one) {
  const auto launch = [&](Period* periods) {
    Stay what{.periods = periods,
              .reads = one.reads,
              .stores = one.stores,
              .bulk_bytes = one.bulk_kib * 1024,
              .is_written = one.is_written,
              .destination = destination};
    const auto kernel = stay<bytes, gives>;
    const uint32_t shared = one.shared_kib * 1024;
    const Ballast<bytes> ballast{};
    if (one.cluster != 0) {
      launch_clusters(kernel, one.ctas, one.cluster, one.threads, shared, ballast, what);
      return;
    }
    if (shared != 0) allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), shared);
    kernel<<<one.ctas, one.threads, shared>>>(ballast, what);
    check_cuda(cudaGetLastError(), "launch a measurement");
  };
  results.add("launch_span.beside",
              one.name() + " arguments=" + std::to_string(bytes) + (one.reads ? " read" : "") +
                  (gives ? " setmaxnreg" : ""),
              "us", beside_span(one, sms, launch));
}

void add_multiplying(Results& results, uint32_t sms, const Case& one, uint32_t blocks) {
  results.add(
      "launch_span.beside_mma", one.name() + " blocks=" + std::to_string(blocks), "us",
      beside_span(one, sms, [&](Period* periods) {
        allow_dynamic_shared_memory(reinterpret_cast<const void*>(multiply_blocks), kMostShared);
        multiply_blocks<<<one.ctas, 256, one.shared_kib * 1024>>>(periods, blocks, 1.0f, nullptr);
        check_cuda(cudaGetLastError(), "launch a measurement");
      }));
}

}  // namespace

void measure_launch_span(Results& results) {
  const uint32_t sms = sm_count();
  DeviceBuffer<uint4> destination(size_t{kMostCtas} * 384 * kMostStores);
  uint4* const to = destination.data();
  constexpr uint32_t kLittle = 64;
  for (const uint32_t ctas : {1u, sms, 2 * sms, 4 * sms, kMostCtas})
    add<kLittle, false>(results, sms, to, {.ctas = ctas});
  add<128, false>(results, sms, to, {});
  add<256, false>(results, sms, to, {});
  add<512, false>(results, sms, to, {});
  add<768, false>(results, sms, to, {});
  add<1024, false>(results, sms, to, {});
  add<2048, false>(results, sms, to, {});
  add<4000, false>(results, sms, to, {});
  add<1024, false>(results, sms, to, {.reads = true});
  for (const uint32_t shared : {100u, 227u}) {
    for (const Before before : {Before::adds, Before::adds_with_shared, Before::multiplies})
      add<kLittle, false>(results, sms, to, {.shared_kib = shared, .before = before});
  }
  add<kLittle, false>(results, sms, to, {.threads = 384});
  add<kLittle, true>(results, sms, to, {.threads = 384});
  for (const uint32_t cluster : {1u, 2u, 4u}) {
    add<kLittle, false>(results, sms, to, {.cluster = cluster});
    add<kLittle, false>(
        results, sms, to,
        {.ctas = cluster == 4 ? 120 : sms, .threads = 384, .shared_kib = 227, .cluster = cluster});
  }
  for (const uint32_t ctas : {1u, sms}) {
    for (const uint32_t stores : {1u, 2u, kMostStores})
      add<kLittle, false>(results, sms, to, {.ctas = ctas, .threads = 384, .stores = stores});
    for (const bool is_written : {false, true})
      for (const uint32_t bulk : {8u, 32u, 64u})
        add<kLittle, false>(
            results, sms, to,
            {.ctas = ctas, .shared_kib = 100, .bulk_kib = bulk, .is_written = is_written});
  }
  const Case gemm{
      .ctas = sms, .threads = 384, .shared_kib = 227, .cluster = 2, .before = Before::much_code};
  add<1024, true>(results, sms, to, gemm);
  add<2048, true>(results, sms, to, gemm);
  for (const uint32_t stores : {1u, 2u}) {
    Case storing = gemm;
    storing.stores = stores;
    add<1024, true>(results, sms, to, storing);
  }
  Case copying = gemm;
  copying.bulk_kib = 32;
  add<1024, true>(results, sms, to, copying);
  for (const uint32_t blocks : {4u, 16u}) {
    for (const Before before : {Before::adds, Before::multiplies, Before::much_code})
      add_multiplying(results, sms, {.threads = 256, .shared_kib = 227, .before = before}, blocks);
  }
}

}  // namespace bw::timing
