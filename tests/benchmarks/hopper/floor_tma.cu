#include <algorithm>
#include <vector>

#include "common/device/cluster.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "common/host/device_attribute.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/tensor_map.hpp"
#include "tests/benchmarks/hopper/floor.hpp"
#include "tests/benchmarks/hopper/floor_device.cuh"

namespace bw {
namespace {

constexpr int kBoxRows = 128;  // of 128 bytes, in every CTA
constexpr int kBoxBytes = kBoxRows * kRowBytes;
constexpr int kStages = 12;
// The matrix: 16 MiB, which L2 holds.
constexpr int kRowBoxes = 64, kColumnBoxes = 16;
constexpr int kRows = kRowBoxes * kBoxRows, kColumns = kColumnBoxes * kRowBytes;
constexpr int kSharedBytes = kStages * kBoxBytes + 1024;

__device__ void wait(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity_cluster(barrier, parity)) {
  }
}

/// Every CTA of a cluster gets the same `boxes` boxes; each CTA loads its share of a box's rows and
/// multicasts it. One thread does it all: nobody reads the boxes.
__global__ void __launch_bounds__(32)
    load_boxes(const __grid_constant__ CUtensorMap map, int cluster, int boxes, CtaTime* times) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t full_barriers[kStages], empty_barriers[kStages];
  const uint32_t stages = ptx::shared_address(align_tile(raw));
  const uint32_t full = ptx::shared_address(full_barriers);
  const uint32_t empty = ptx::shared_address(empty_barriers);
  constexpr uint32_t kBarrierBytes = sizeof(uint64_t);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      ptx::mbarrier_init(full + i * kBarrierBytes, 1);
      ptx::mbarrier_init(empty + i * kBarrierBytes, cluster);
    }
    ptx::fence_mbarrier_init();
  }
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  const uint32_t rank = ptx::cluster_cta_rank();
  if (threadIdx.x == 0) {
    const int share_rows = kBoxRows / cluster;
    const auto mask = static_cast<uint16_t>((1u << cluster) - 1);
    const int first = static_cast<int>(blockIdx.x) / cluster * 7;  // spreads clusters over the rows
    const uint64_t begin_nanoseconds = global_nanoseconds();
    const int64_t begin = clock64();
    for (int box = 0; box < boxes + kStages; ++box) {
      const int stage = box % kStages;
      const uint32_t parity = box / kStages & 1;
      const uint32_t full_barrier = full + stage * kBarrierBytes;
      const uint32_t empty_barrier = empty + stage * kBarrierBytes;
      if (box >= kStages) wait(full_barrier, parity ^ 1);  // the stage's last box has arrived
      if (box >= boxes) continue;
      ptx::mbarrier_arrive_expect_tx(full_barrier, kBoxBytes);
      for (int peer = 0; peer < cluster; ++peer) {
        ptx::mbarrier_arrive_cluster(ptx::map_to_cta(empty_barrier, peer));
      }
      wait(empty_barrier, parity);  // all CTAs expect the next one
      const int x = box % kColumnBoxes * kRowBytes;
      const int y =
          (first + box / kColumnBoxes) % kRowBoxes * kBoxRows + static_cast<int>(rank) * share_rows;
      const uint32_t destination = stages + stage * kBoxBytes + rank * share_rows * kRowBytes;
      if (cluster == 1) {
        ptx::tma_load_2d(destination, &map, full_barrier, x, y);
      } else {
        ptx::tma_load_2d_multicast(destination, &map, full_barrier, x, y, mask);
      }
    }
    times[blockIdx.x] = {static_cast<uint64_t>(clock64() - begin),
                         global_nanoseconds() - begin_nanoseconds};
  }
  __syncwarp();
  ptx::cluster_arrive();  // nobody leaves while others may still arrive here
  ptx::cluster_wait();
}

TmaRate measure(const CUtensorMap& map, int cluster, int boxes) {
  constexpr int kLaunches = 5;
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  check_cuda(
      cudaFuncSetAttribute(load_boxes, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
      "give the loader its shared memory");
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t launch{};
  launch.blockDim = dim3(32);
  launch.dynamicSmemBytes = kSharedBytes;
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  launch.gridDim = dim3(static_cast<unsigned>(multiprocessors / cluster * cluster));
  int resident = 0;  // clusters that the device holds at once: some GPCs have odd SM counts
  check_cuda(cudaOccupancyMaxActiveClusters(&resident, load_boxes, &launch),
             "ask how many clusters fit");
  const int ctas = std::min(resident * cluster, static_cast<int>(launch.gridDim.x));
  launch.gridDim = dim3(static_cast<unsigned>(ctas));
  DeviceBuffer<CtaTime> times(ctas);
  TmaRate best{cluster, 0, 0, 0};
  for (int i = 0; i < kLaunches; ++i) {
    check_cuda(cudaLaunchKernelEx(&launch, load_boxes, map, cluster, boxes, times.data()),
               "launch the loader");
    double cycles = 0, nanoseconds = 0;
    for (const CtaTime& time : times.download()) {
      cycles = std::max(cycles, static_cast<double>(time.cycles));
      nanoseconds = std::max(nanoseconds, static_cast<double>(time.nanoseconds));
    }
    const double bytes = 1.0 * kBoxBytes * boxes;
    if (bytes / cycles <= best.bytes_per_clock_per_sm) continue;
    best.bytes_per_clock_per_sm = bytes / cycles;
    best.l2_bytes_per_clock_per_sm = best.bytes_per_clock_per_sm / cluster;
    best.terabytes_per_second = bytes * ctas / nanoseconds * 1e-3;
  }
  return best;
}

}  // namespace

std::vector<TmaRate> measure_tma_rates() {
  constexpr int kBoxes = 4096;
  DeviceBuffer<uint8_t> matrix(size_t{kRows} * kColumns);
  matrix.fill_bytes(0x35);
  std::vector<TmaRate> rates;
  for (const int cluster : {1, 2, 4}) {
    const CUtensorMap map = make_tensor_map(
        {"boxes", matrix.data(), CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, kColumns, kRows, kColumns,
         kRowBytes, static_cast<uint32_t>(kBoxRows / cluster), CU_TENSOR_MAP_SWIZZLE_128B});
    rates.push_back(measure(map, cluster, kBoxes));
  }
  return rates;
}

}  // namespace bw
