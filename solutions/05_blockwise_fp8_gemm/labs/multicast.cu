/// \file
/// Lab: one load for several CTAs. A cluster of 2 × 2 CTAs (or 4 × 2) streams tiles of A, which
/// CTAs side by side share, and of B, which CTAs one above the other share. Each CTA loads its
/// slice of each and multicasts it to those that share it; thread t multiplies row t of A with row
/// t of B, in place of the MMA.
///
/// New compared with cta_pair: the masks of ClusterLayout, and a stage that is free only when every
/// CTA that got a part of it from this CTA has read it.

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

constexpr int kTileRows = 128;                          ///< of a tile
constexpr int kRowBytes = 128;                          ///< of a row of a tile
constexpr uint32_t kTileBytes = kTileRows * kRowBytes;  ///< of a tile

/// Kernel arguments. A and B hold signed bytes.
struct MulticastArguments {
  CUtensorMap a;    ///< [128 · cluster_m, 128 · blocks], box 128 bytes × a slice, swizzle 128B
  CUtensorMap b;    ///< the same, with cluster_n
  int32_t* sums;    ///< [CTAs, 128]
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
using Ring = ProducerConsumerPipeline<kStages>;

struct Shared {
  alignas(1024) uint8_t a[kStages][kTileBytes];
  alignas(1024) uint8_t b[kStages][kTileBytes];
  SharedMemBarrier barriers[Ring::kNumBarriers];
};

/// A cluster of cluster_m × cluster_n CTAs, which share their tiles or don't.
template <int cluster_m, int cluster_n, bool multicast>
struct Cluster {
  static constexpr int kM = cluster_m;  ///< CTAs along M
  static constexpr int kN = cluster_n;  ///< CTAs along N
  using Layout = ClusterLayout</*CtaGroup=*/1, cluster_m, cluster_n>;
  static constexpr bool kMulticast = multicast;  ///< whether tiles are shared
  /// CTAs of the same row or column, this one counted once.
  static constexpr int kSharers = multicast ? cluster_m + cluster_n - 1 : 1;
  static constexpr int kASlices = multicast ? cluster_n : 1;  ///< that make a tile of A
  static constexpr int kBSlices = multicast ? cluster_m : 1;  ///< that make a tile of B
};

/// One lane: this CTA's part of a tile, `slices` of which make the tile, to all CTAs of `mask`.
template <int slices>
__device__ __forceinline__ void load_part(uint8_t* tile, const CUtensorMap& map, uint32_t full,
                                          int32_t column, int32_t row, uint32_t part,
                                          uint16_t mask) {
  constexpr int kPartRows = kTileRows / slices;
  const uint32_t first = slices > 1 ? part * kPartRows : 0;
  const uint32_t address = ptx::shared_address(tile + first * kRowBytes);
  if constexpr (slices > 1) {
    ptx::tma_load_2d_multicast(address, &map, full, column, row + first, mask);
  } else {
    ptx::tma_load_2d(address, &map, full, column, row);
  }
}

template <class Cluster>
__device__ __forceinline__ void load(Ring& ring, Shared& shared,
                                     const typename Cluster::Layout& place,
                                     const MulticastArguments& args) {
  for (uint32_t block = 0; block < args.blocks; ++block) {
    ring.wait_consumer_cluster();  // threads of other CTAs arrive on empty
    const uint32_t stage = ring.producer_stage(), full = ring.producer_mbar(stage)->address();
    if (ptx::elect_one()) {
      ring.producer_mbar(stage)->arrive_and_expect_bytes(2 * kTileBytes);
      load_part<Cluster::kASlices>(shared.a[stage], args.a, full, block * kRowBytes,
                                   place.rank_m * kTileRows, place.rank_n,
                                   place.a_multicast_mask());
      load_part<Cluster::kBSlices>(shared.b[stage], args.b, full, block * kRowBytes,
                                   place.rank_n * kTileRows, place.rank_m,
                                   place.b_multicast_mask());
    }
    __syncwarp();
    ring.producer_step();
  }
}

/// Thread t: products of rows t, summed over all blocks.
template <class Cluster>
__device__ __forceinline__ void multiply(Ring& ring, Shared& shared,
                                         const typename Cluster::Layout& place,
                                         const MulticastArguments& args) {
  const uint32_t lane = threadIdx.x % ptx::kWarpThreads;
  const uint32_t senders = Cluster::kMulticast ? place.input_empty_mask() : 1u << place.rank;
  int32_t sum = 0;
  for (uint32_t block = 0; block < args.blocks; ++block) {
    auto stage = ring.consume_explicit();
    sum += dot_of_rows(shared.a[stage.index()], shared.b[stage.index()]);
    ptx::fence_proxy_async_shared();
    __syncwarp();
    if (lane < Cluster::Layout::kSize && (senders >> lane & 1)) {
      ptx::mbarrier_arrive_cluster(ptx::map_to_cta(stage.mbar()->address(), lane));
    }
  }
  args.sums[place.rank * kTileRows + threadIdx.x] = sum;
}

template <class Cluster>
__global__ __launch_bounds__(kThreads) void multicast_kernel(
    const __grid_constant__ MulticastArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<Shared*>(dynamic_shared);
  using Layout = typename Cluster::Layout;
  const Layout place = Layout::here();
  Ring ring(shared.barriers);
  if (threadIdx.x == 0) {
    ring.init_barriers(1, kReaderWarps * Cluster::kSharers);
    ptx::fence_mbarrier_init();
  }
  cluster_sync<Layout::kSize>();  // no CTA sends to barriers that aren't initialised
  if (threadIdx.x < kTileRows) {
    multiply<Cluster>(ring, shared, place, args);
  } else {
    load<Cluster>(ring, shared, place, args);
  }
  cluster_sync<Layout::kSize>();  // no CTA exits while others send to it
}

/// The lab's options.
struct MulticastOptions {
  int64_t blocks = 32;  ///< K blocks
  int multicast = 0;    ///< 0: on, 1: off
  int cluster = 0;      ///< 0: 2 × 2 CTAs, 1: 4 × 2

  /// Adds the options to a command line.
  void add_to(CommandLine& command_line) {
    command_line.add("blocks", blocks, "tiles of A and B that each CTA takes, 128 bytes wide");
    command_line.add("multicast", multicast, {"on", "off"},
                     "on: each CTA loads a slice of a tile for all; off: each loads its own");
    command_line.add("cluster", cluster, {"2x2", "4x2"}, "CTAs along M and N");
  }
};

/// Runs one cluster, verifies its sums exactly, prints the bytes and the cycles.
template <class Cluster>
ExitStatus run_multicast_lab(const MulticastOptions& options) {
  constexpr int64_t kMostBlocks = 4096;
  require(options.blocks >= 1 && options.blocks <= kMostBlocks, "--blocks ", options.blocks,
          ": give 1 to ", kMostBlocks, ".");
  require_blackwell();
  print_machine();
  const int64_t columns = options.blocks * kRowBytes;
  std::vector<int8_t> a(Cluster::kM * kTileRows * columns), b(Cluster::kN * kTileRows * columns);
  constexpr uint32_t kStep = 2654435761u;  // spreads the index over all bits
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<int8_t>(static_cast<uint32_t>(i) * kStep >> 24);
  }
  for (size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<int8_t>((static_cast<uint32_t>(i) + 7) * kStep >> 16);
  }
  const DeviceBuffer<int8_t> a_on_device(a), b_on_device(b);
  constexpr int kCtas = Cluster::kM * Cluster::kN;
  DeviceBuffer<int32_t> sums(kCtas * kTileRows);
  constexpr int kPoisonByte = 0x7f;
  sums.fill_bytes(kPoisonByte);
  const auto map = [&](const char* name, const std::vector<int8_t>& matrix, const int8_t* data,
                       int slices) {
    return make_tensor_map(
        {name, data, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, static_cast<uint64_t>(columns),
         static_cast<uint64_t>(matrix.size() / columns), static_cast<uint64_t>(columns), kRowBytes,
         static_cast<uint32_t>(kTileRows / slices), CU_TENSOR_MAP_SWIZZLE_128B});
  };
  MulticastArguments arguments{map("A", a, a_on_device.data(), Cluster::kASlices),
                               map("B", b, b_on_device.data(), Cluster::kBSlices), sums.data(),
                               static_cast<uint32_t>(options.blocks)};

  const void* const function = reinterpret_cast<const void*>(multicast_kernel<Cluster>);
  allow_dynamic_shared_memory(function, sizeof(Shared));
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = Cluster::kM;
  cluster.val.clusterDim.y = Cluster::kN;
  cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(Cluster::kM, Cluster::kN, 1);
  configuration.blockDim = dim3(kThreads, 1, 1);
  configuration.dynamicSmemBytes = sizeof(Shared);
  configuration.attrs = &cluster;
  configuration.numAttrs = 1;
  void* parameters[] = {&arguments};
  EventTimer timer;
  timer.start(nullptr);
  check_cuda(cudaLaunchKernelExC(&configuration, function, parameters), "launch the kernel");
  const float milliseconds = timer.stop(nullptr);

  // Each CTA loads its slice of a tile of A and of B, and gets both tiles.
  const int64_t tiles = options.blocks * kCtas;
  constexpr int64_t kKib = 1024;
  std::printf("tiles    %lld KiB read from L2, %lld KiB written to shared memory\n",
              static_cast<long long>(
                  tiles * (kTileBytes / Cluster::kASlices + kTileBytes / Cluster::kBSlices) / kKib),
              static_cast<long long>(tiles * 2 * kTileBytes / kKib));
  print_cycles(milliseconds);
  const std::vector<int32_t> found = sums.download();
  const auto expected = [&](int64_t i) {
    const int64_t rank = i / kTileRows, thread = i % kTileRows;
    const int8_t* a_row = a.data() + (rank % Cluster::kM * kTileRows + thread) * columns;
    const int8_t* b_row = b.data() + (rank / Cluster::kM * kTileRows + thread) * columns;
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
  using bw::lab::Cluster, bw::lab::run_multicast_lab;
  constexpr bw::ExitStatus (*kRunners[][2])(const bw::lab::MulticastOptions&) = {
      {run_multicast_lab<Cluster<2, 2, true>>, run_multicast_lab<Cluster<2, 2, false>>},
      {run_multicast_lab<Cluster<4, 2, true>>, run_multicast_lab<Cluster<4, 2, false>>}};
  bw::lab::MulticastOptions options;
  bw::CommandLine command_line("Tiles for a cluster of CTAs, verified exactly.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_05_multicast", argc, argv,
                      [&] { return kRunners[options.cluster][options.multicast](options); });
}
