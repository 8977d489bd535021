#include <vector>

#include "common/device/cluster.cuh"
#include "common/host/device_buffer.hpp"
#include "tests/benchmarks/hopper/floor.hpp"
#include "tests/benchmarks/hopper/floor_cluster.hpp"
#include "tests/benchmarks/hopper/floor_ring.cuh"

namespace bw {
namespace {

constexpr int kSharedBytes = kMostStages * kBoxBytes + 1024;
constexpr int kThreads = 64;  // one warp asks for boxes, the other waits for them

/// Every CTA of a cluster gets the same boxes, one after the other.
__global__ void __launch_bounds__(kThreads)
    load_boxes(const __grid_constant__ CUtensorMap map, RingOptions options, CtaTime* times) {
  extern __shared__ uint8_t raw[];
  __shared__ BoxRing::Barriers barriers;
  const BoxRing ring(options, align_tile(raw), barriers);
  if (threadIdx.x == 0) ring.init();
  __syncthreads();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (threadIdx.x == 0) ring.produce(&map);
  if (threadIdx.x == 32) times[blockIdx.x] = ring.consume();
  __syncthreads();
  ptx::cluster_arrive();  // no CTA exits while others may still arrive here
  ptx::cluster_wait();
}

TmaRate measure(const BoxMatrix& matrix, int cluster, int stages, int most_ctas) {
  constexpr int kLaunches = 5, kBoxes = 4096;
  const ClusterLaunch launch(reinterpret_cast<const void*>(load_boxes), kThreads, kSharedBytes,
                             cluster, most_ctas);
  DeviceBuffer<CtaTime> times(launch.ctas());
  TmaRate best{};
  best.cluster = cluster;
  best.multiprocessors = launch.ctas();
  best.bytes_under_way = stages * kBoxBytes;
  for (int i = 0; i < kLaunches; ++i) {
    launch.run(matrix.map(cluster), RingOptions{cluster, stages, kBoxes, 0}, times.data());
    const auto [cycles, nanoseconds] = longest_times(times.download());
    const double bytes = 1.0 * kBoxBytes * kBoxes;
    if (bytes / cycles <= best.bytes_per_clock_per_sm) continue;
    best.bytes_per_clock_per_sm = bytes / cycles;
    best.l2_bytes_per_clock_per_sm = best.bytes_per_clock_per_sm / cluster;
    best.terabytes_per_second = bytes * launch.ctas() / nanoseconds * 1e-3;
  }
  return best;
}

}  // namespace

std::vector<TmaRate> measure_tma_rates() {
  constexpr int kFewCtas = 16;
  const BoxMatrix matrix;
  std::vector<TmaRate> rates;
  for (const int most_ctas : {0, kFewCtas}) {
    for (const int cluster : {1, 2, 4}) {
      for (const int stages : {4, kMostStages}) {
        rates.push_back(measure(matrix, cluster, stages, most_ctas));
      }
    }
  }
  return rates;
}

}  // namespace bw
