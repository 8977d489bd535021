#pragma once
/// \file
/// The lab on multicast: arguments, arithmetic of one row, host's side.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/device/swizzle.cuh"
#include "common/host/comparison.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/lab_cycles.hpp"
#include "common/host/program.hpp"
#include "common/host/tensor_map.hpp"

namespace bw::lab {

constexpr int kClusterM = 2;                            ///< CTAs of the cluster along M
constexpr int kClusterN = 2;                            ///< CTAs of the cluster along N
constexpr int kTileRows = 128;                          ///< of a tile
constexpr int kRowBytes = 128;                          ///< of a row of a tile
constexpr uint32_t kTileBytes = kTileRows * kRowBytes;  ///< of a tile

/// Kernel arguments. A and B hold signed bytes.
struct MulticastArguments {
  CUtensorMap a;    ///< [256, 128 · blocks], box 128 bytes × (rows of a part), swizzle 128B
  CUtensorMap b;    ///< the same
  int32_t* sums;    ///< [4 CTAs, 128]
  uint32_t blocks;  ///< K blocks
};

/// Product of the calling thread's rows of two tiles.
__device__ __forceinline__ int32_t dot_of_rows(const uint8_t* a, const uint8_t* b) {
  int32_t sum = 0;
#pragma unroll
  for (uint32_t byte = 0; byte < kRowBytes; byte += 4) {
    const uint32_t offset = swizzled_offset(Swizzle::k128B, threadIdx.x * kRowBytes + byte);
    sum = __dp4a(*reinterpret_cast<const int32_t*>(a + offset),
                 *reinterpret_cast<const int32_t*>(b + offset), sum);
  }
  return sum;
}

/// The lab's options.
struct MulticastOptions {
  int64_t blocks = 32;  ///< K blocks
  int multicast = 0;    ///< 0: on, 1: off

  /// Adds the options to a command line.
  void add_to(CommandLine& command_line) {
    command_line.add("blocks", blocks, "tiles of A and B that each CTA takes, 128 bytes wide");
    command_line.add("multicast", multicast, {"on", "off"},
                     "on: each CTA loads half a tile for both; off: each loads its own");
  }
};

/// Runs `kernel` in one cluster, verifies its sums exactly, prints the bytes and the cycles.
inline ExitStatus run_multicast_lab(const MulticastOptions& options,
                                    void (*kernel)(MulticastArguments), uint32_t threads,
                                    uint32_t shared_bytes) {
  constexpr int64_t kMostBlocks = 4096;
  require(options.blocks >= 1 && options.blocks <= kMostBlocks, "--blocks ", options.blocks,
          ": give 1 to ", kMostBlocks, ".");
  require_blackwell();
  print_machine();
  const int64_t rows = 2 * kTileRows, columns = options.blocks * kRowBytes;
  std::vector<int8_t> a(rows * columns), b(rows * columns);
  constexpr uint32_t kStep = 2654435761u;  // spreads the index over all bits
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<int8_t>(static_cast<uint32_t>(i) * kStep >> 24);
    b[i] = static_cast<int8_t>((static_cast<uint32_t>(i) + 7) * kStep >> 16);
  }
  const DeviceBuffer<int8_t> a_on_device(a), b_on_device(b);
  constexpr int kCtas = kClusterM * kClusterN;
  DeviceBuffer<int32_t> sums(kCtas * kTileRows);
  constexpr int kPoisonByte = 0x7f;
  sums.fill_bytes(kPoisonByte);
  const bool multicast = options.multicast == 0;
  const auto map = [&](const char* name, const int8_t* data) {
    return make_tensor_map(
        {name, data, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, static_cast<uint64_t>(columns),
         static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), kRowBytes,
         static_cast<uint32_t>(multicast ? kTileRows / 2 : kTileRows), CU_TENSOR_MAP_SWIZZLE_128B});
  };
  MulticastArguments arguments{map("A", a_on_device.data()), map("B", b_on_device.data()),
                               sums.data(), static_cast<uint32_t>(options.blocks)};

  const void* const function = reinterpret_cast<const void*>(kernel);
  allow_dynamic_shared_memory(function, shared_bytes);
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = kClusterM;
  cluster.val.clusterDim.y = kClusterN;
  cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(kClusterM, kClusterN, 1);
  configuration.blockDim = dim3(threads, 1, 1);
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.attrs = &cluster;
  configuration.numAttrs = 1;
  void* parameters[] = {&arguments};
  EventTimer timer;
  timer.start(nullptr);
  check_cuda(cudaLaunchKernelExC(&configuration, function, parameters), "launch the kernel");
  const float milliseconds = timer.stop(nullptr);

  const int64_t tiles = 2 * options.blocks * kCtas;
  constexpr int64_t kKib = 1024;
  std::printf("tiles    %lld KiB read from L2, %lld KiB written to shared memory\n",
              static_cast<long long>(tiles * kTileBytes / (multicast ? 2 : 1) / kKib),
              static_cast<long long>(tiles * kTileBytes / kKib));
  print_cycles(milliseconds);
  const std::vector<int32_t> found = sums.download();
  const auto expected = [&](int64_t i) {
    const int64_t rank = i / kTileRows, thread = i % kTileRows;
    const int8_t* a_row = a.data() + (rank % kClusterM * kTileRows + thread) * columns;
    const int8_t* b_row = b.data() + (rank / kClusterM * kTileRows + thread) * columns;
    double sum = 0;
    for (int64_t k = 0; k < columns; ++k) sum += a_row[k] * b_row[k];
    return sum;
  };
  return print_verdict(compare_elements(
                           kCtas, kTileRows, [&](int64_t i) { return found[i]; }, expected,
                           [](int64_t) { return 0.0; }),
                       "sums");
}

}  // namespace bw::lab
