/// \file
/// Launches: an empty kernel's time, CTAs that follow one another on an SM, and the steps that a
/// kernel's time makes when its CTAs no longer fit in one wave.

#include <algorithm>
#include <array>
#include <string>

#include "common/device/bulk_copy.cuh"
#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_store.cuh"
#include "common/host/device_attribute.hpp"
#include "common/host/device_buffer.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"

namespace bw::timing {
namespace {

/// The first thread of each CTA lasts so many cycles of the SM; the others' registers stay taken.
__global__ void spin(int64_t cycles) {
  if (threadIdx.x != 0) return;
  const int64_t begin = cycle();
  while (cycle() - begin < cycles) {
  }
}

/// The same with many parameters.
struct Parameters {
  std::array<uint64_t, 200> words;
};
__global__ void spin_with_parameters(const __grid_constant__ Parameters parameters) {
  if (threadIdx.x == 0 && parameters.words[threadIdx.x] != 0) __nanosleep(1);
}

/// Each CTA writes what is in its shared memory, in pieces, and doesn't wait for it; or nothing.
__global__ void store_at_the_end(uint8_t* memory, uint32_t bytes) {
  extern __shared__ __align__(128) uint8_t shared[];
  constexpr uint32_t kPiece = 8192;
  for (uint32_t i = threadIdx.x; i < kPiece / sizeof(uint4); i += blockDim.x) {
    reinterpret_cast<uint4*>(shared)[i] = make_uint4(i, i, i, i);
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x != 0) return;
  constexpr int64_t kCycles = 2000;
  const int64_t begin = cycle();
  while (cycle() - begin < kCycles) {
  }
  for (uint32_t done = 0; done < bytes; done += kPiece) {
    ptx::bulk_store(memory + size_t{blockIdx.x} * bytes + done, ptx::shared_address(shared),
                    kPiece);
  }
  ptx::bulk_commit_group();
  ptx::bulk_wait_group_read<0>();
}

/// The same by all threads.
__global__ void store_by_threads(uint4* memory, uint32_t vectors) {
  constexpr int64_t kCycles = 2000;
  const int64_t begin = cycle();
  while (cycle() - begin < kCycles) {
  }
  for (uint32_t i = threadIdx.x; i < vectors; i += blockDim.x) {
    memory[size_t{blockIdx.x} * vectors + i] = make_uint4(i, i, i, i);
  }
}

}  // namespace

void wake_up() {
  if (is_simulated()) return;
  constexpr int kLaunches = 200;
  constexpr int64_t kCycles = 2'000'000;  // about a millisecond
  for (int i = 0; i < kLaunches; ++i) spin<<<1, 32>>>(kCycles);
  check_cuda(cudaDeviceSynchronize(), "wait until the clock is up");
}

void measure_launch(Results& results) {
  const auto sms = static_cast<uint32_t>(device_attribute(cudaDevAttrMultiProcessorCount));
  constexpr int64_t kSpinCycles = 20'000;
  results.add("launch.empty", "", "us",
              graph_microseconds([](cudaStream_t stream) { spin<<<1, 32, 0, stream>>>(0); }));
  results.add("launch.empty_pair", "", "us", graph_microseconds([](cudaStream_t stream) {
                spin<<<1, 32, 0, stream>>>(0);
                spin<<<1, 32, 0, stream>>>(0);
              }));
  // CTAs of 1024 threads: two an SM at once.
  for (const uint32_t ctas : {1u, sms, 2 * sms, 2 * sms + 1, 4 * sms, 4 * sms + 1}) {
    results.add("launch.waves_of_20000_cycles", "ctas=" + std::to_string(ctas), "us",
                graph_microseconds(
                    [&](cudaStream_t stream) { spin<<<ctas, 1024, 0, stream>>>(kSpinCycles); }));
  }
  // One CTA after the other: with all shared memory taken, one is on an SM at a time.
  constexpr uint32_t kAllShared = 200 * 1024;
  constexpr uint32_t kPerSm = 8;
  check_cuda(cudaFuncSetAttribute(reinterpret_cast<const void*>(spin),
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, kAllShared),
             "take all shared memory");
  const auto chained = [&](uint32_t per_sm) {
    return graph_microseconds(
        [&](cudaStream_t stream) { spin<<<per_sm * sms, 128, kAllShared, stream>>>(kSpinCycles); });
  };
  results.add("launch.next_cta_of_20000_cycles", "", "us",
              (chained(kPerSm) - chained(1)) / (kPerSm - 1));
  // What a launch of all SMs takes beside its threads' work.
  const auto empty = [&](uint32_t ctas, uint32_t cluster_ctas, uint32_t threads, uint32_t shared) {
    results.add("launch.empty_ctas",
                "ctas=" + std::to_string(ctas) + " cluster=" + std::to_string(cluster_ctas) +
                    " threads=" + std::to_string(threads) + " shared=" + std::to_string(shared),
                "us", graph_microseconds([&](cudaStream_t stream) {
                  launch_clusters_in(stream, spin, ctas, cluster_ctas, threads, shared, 0);
                }));
  };
  empty(sms, 1, 32, 0);
  empty(sms, 1, 384, 0);
  empty(1, 1, 32, kAllShared);
  empty(sms, 1, 384, kAllShared);
  empty(sms, 2, 384, kAllShared);
  results.add("launch.empty_1600_bytes_of_parameters", "", "us",
              graph_microseconds([](cudaStream_t stream) {
                spin_with_parameters<<<1, 32, 0, stream>>>(Parameters{});
              }));
  results.add("launch.empty_pair_without_and_with_shared_memory", "", "us",
              graph_microseconds([&](cudaStream_t stream) {
                spin<<<sms, 128, 0, stream>>>(0);
                spin<<<sms, 128, kAllShared, stream>>>(0);
              }));
  results.add("launch.empty_pair_with_shared_memory", "", "us",
              graph_microseconds([&](cudaStream_t stream) {
                spin<<<sms, 128, kAllShared, stream>>>(0);
                spin<<<sms, 128, kAllShared, stream>>>(0);
              }));
  constexpr uint32_t kMostStored = 64 * 1024;
  DeviceBuffer<uint8_t> memory(size_t{sms} * kMostStored);
  for (const uint32_t bytes : {0u, 16u * 1024, 32u * 1024, kMostStored}) {
    results.add("launch.bulk_stores_at_the_end", "bytes=" + std::to_string(bytes), "us",
                graph_microseconds([&](cudaStream_t stream) {
                  store_at_the_end<<<sms, 32, 8192, stream>>>(memory.data(), bytes);
                }));
    results.add("launch.stores_at_the_end", "bytes=" + std::to_string(bytes), "us",
                graph_microseconds([&](cudaStream_t stream) {
                  store_by_threads<<<sms, 256, 0, stream>>>(
                      reinterpret_cast<uint4*>(memory.data()),
                      bytes / static_cast<uint32_t>(sizeof(uint4)));
                }));
  }
}

}  // namespace bw::timing
