/// \file
/// Lab: one load for several CTAs. A cluster of 2 × 2 CTAs streams tiles of A, which CTAs side by
/// side share, and of B, which CTAs one above the other share. Each CTA loads half of each and
/// multicasts it to those that share it; thread t multiplies row t of A with row t of B, which
/// stands in for the MMA.
///
/// New against cta_pair: the masks of ClusterLayout, and a stage that is free only when everybody
/// who got a part of it from this CTA has read it.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/swizzle.cuh"
#include "common/device/tma_load.cuh"
#include "common/host/comparison.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/lab_cycles.hpp"
#include "common/host/program.hpp"
#include "common/host/tensor_map.hpp"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/05_blockwise_fp8_gemm/cluster_layout.cuh"

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

constexpr int kStages = 2;
constexpr uint32_t kThreads = kTileRows + ptx::kWarpThreads;
constexpr int kReaderWarps = kTileRows / ptx::kWarpThreads;
constexpr int kSharers = 2 + 2 - 1;  ///< CTAs of the same row or column, this one counted once
using Layout = ClusterLayout</*CtaGroup=*/1, kClusterM, kClusterN>;
using Ring = ProducerConsumerPipeline<kStages>;

struct Shared {
  alignas(1024) uint8_t a[kStages][kTileBytes];
  alignas(1024) uint8_t b[kStages][kTileBytes];
  SharedMemBarrier barriers[Ring::kNumBarriers];
};

/// One lane: this CTA's part of a tile, `slices` of which make the tile, to all CTAs of `mask`.
template <bool multicast>
__device__ __forceinline__ void load_part(uint8_t* tile, const CUtensorMap& map, uint32_t full,
                                          int32_t column, int32_t row, uint32_t part,
                                          uint16_t mask) {
  constexpr int kPartRows = multicast ? kTileRows / 2 : kTileRows;
  const uint32_t first = multicast ? part * kPartRows : 0;
  const uint32_t address = ptx::shared_address(tile + first * kRowBytes);
  if constexpr (multicast) {
    ptx::tma_load_2d_multicast(address, &map, full, column, row + first, mask);
  } else {
    ptx::tma_load_2d(address, &map, full, column, row);
  }
}

template <bool multicast>
__device__ __forceinline__ void load(Ring& ring, Shared& shared, const Layout& place,
                                     const MulticastArguments& args) {
  for (uint32_t block = 0; block < args.blocks; ++block) {
    ring.wait_consumer_cluster();  // threads of other CTAs arrive on empty
    const uint32_t stage = ring.producer_stage(), full = ring.producer_mbar(stage)->address();
    if (ptx::elect_one()) {
      ring.producer_mbar(stage)->arrive_and_expect_bytes(2 * kTileBytes);
      load_part<multicast>(shared.a[stage], args.a, full, block * kRowBytes,
                           place.rank_m * kTileRows, place.rank_n, place.a_multicast_mask());
      load_part<multicast>(shared.b[stage], args.b, full, block * kRowBytes,
                           place.rank_n * kTileRows, place.rank_m, place.b_multicast_mask());
    }
    __syncwarp();
    ring.producer_step();
  }
}

/// Thread t: products of rows t, summed over all blocks.
template <bool multicast>
__device__ __forceinline__ void multiply(Ring& ring, Shared& shared, const Layout& place,
                                         const MulticastArguments& args) {
  const uint32_t lane = threadIdx.x % ptx::kWarpThreads;
  const uint32_t senders = multicast ? place.input_empty_mask() : 1u << place.rank;
  int32_t sum = 0;
  for (uint32_t block = 0; block < args.blocks; ++block) {
    auto stage = ring.consume_explicit();
    sum += dot_of_rows(shared.a[stage.index()], shared.b[stage.index()]);
    ptx::fence_proxy_async_shared();
    __syncwarp();
    if (lane < Layout::kSize && (senders >> lane & 1)) {
      ptx::mbarrier_arrive_cluster(ptx::map_to_cta(stage.mbar()->address(), lane));
    }
  }
  args.sums[place.rank * kTileRows + threadIdx.x] = sum;
}

template <bool multicast>
__global__ __launch_bounds__(kThreads) void multicast_kernel(
    const __grid_constant__ MulticastArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<Shared*>(dynamic_shared);
  const Layout place = Layout::here();
  Ring ring(shared.barriers);
  if (threadIdx.x == 0) {
    ring.init_barriers(1, kReaderWarps * (multicast ? kSharers : 1));
    ptx::fence_mbarrier_init();
  }
  cluster_sync<Layout::kSize>();  // nobody sends to barriers that aren't initialised
  if (threadIdx.x < kTileRows) {
    multiply<multicast>(ring, shared, place, args);
  } else {
    load<multicast>(ring, shared, place, args);
  }
  cluster_sync<Layout::kSize>();  // nobody exits while others send to it
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

int main(int argc, char** argv) {
  bw::lab::MulticastOptions options;
  bw::CommandLine command_line("Tiles for a cluster of 2 x 2 CTAs, verified exactly.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_05_multicast", argc, argv, [&] {
    using bw::lab::multicast_kernel;
    const bool multicast = options.multicast == 0;
    return bw::lab::run_multicast_lab(options,
                                      multicast ? multicast_kernel<true> : multicast_kernel<false>,
                                      bw::lab::kThreads, sizeof(bw::lab::Shared));
  });
}
