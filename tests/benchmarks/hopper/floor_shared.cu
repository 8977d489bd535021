#include <algorithm>
#include <string>
#include <vector>

#include "common/device/cluster.cuh"
#include "common/device/fence.cuh"
#include "common/host/device_buffer.hpp"
#include "tests/benchmarks/hopper/floor.hpp"
#include "tests/benchmarks/hopper/floor_cluster.hpp"
#include "tests/benchmarks/hopper/floor_device.cuh"
#include "tests/benchmarks/hopper/floor_mma.cuh"
#include "tests/benchmarks/hopper/floor_ring.cuh"

namespace bw {
namespace {

// Two math warpgroups, one warp that asks for boxes, one that waits for them.
constexpr int kThreads = kMathThreads + 64;
constexpr int kStages = 10;

template <int n>
constexpr int kSharedBytes = kMmaTileBytes<n> + kStages* kBoxBytes + 1024;

/// The wgmma loop on operands that stay in place, while TMA writes boxes elsewhere at the
/// ring's pace: the two share nothing but the shared memory's bandwidth. All `blocks` K blocks take
/// less time than all boxes.
template <int n, bool a_in_registers>
__global__ void __launch_bounds__(kThreads, 1)
    multiply_beside_tma(const __grid_constant__ CUtensorMap map, RingOptions options,
                        const uint4* operands, int blocks, int chained, CtaTime* math_times,
                        CtaTime* box_times, float* sink) {
  extern __shared__ uint8_t raw[];
  __shared__ BoxRing::Barriers barriers;
  uint8_t* const tiles = align_tile(raw);
  const BoxRing ring(options, tiles + kMmaTileBytes<n>, barriers);
  copy_operands(tiles, operands, kMmaTileBytes<n>, kThreads);
  ptx::fence_proxy_async_shared();
  if (threadIdx.x == 0) ring.init();
  __syncthreads();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (threadIdx.x < kMathThreads) {
    record_math_time(multiply_blocks<n, a_in_registers>(tiles, blocks, chained, sink), math_times);
  } else if (threadIdx.x == kMathThreads) {
    ring.produce(&map);
  } else if (threadIdx.x == kMathThreads + 32) {
    box_times[blockIdx.x] = ring.consume();
  }
  __syncthreads();
  ptx::cluster_arrive();  // no CTA exits while others may still arrive here
  ptx::cluster_wait();
}

template <int n, bool a_in_registers>
SharedRate measure(const BoxMatrix& matrix, int bytes_per_clock, int most_ctas) {
  constexpr int kCluster = 2, kWarmUps = 1, kLaunches = 3;
  constexpr int kCycles = 2 << 20;  // of the loop at full rate
  constexpr int kBlockCycles = kMathWarpgroups * kMmaRows * n * kRowBytes / kFp8FmaPerClock;
  constexpr int kBlocks = kCycles / kBlockCycles / kBlocksPerStep * kBlocksPerStep;
  const ClusterLaunch launch(reinterpret_cast<const void*>(multiply_beside_tma<n, a_in_registers>),
                             kThreads, kSharedBytes<n>, kCluster, most_ctas);
  RingOptions options{kCluster, kStages, 0, 0};
  if (bytes_per_clock > 0) {
    options.interval_cycles = kBoxBytes / bytes_per_clock;
    options.boxes = kCycles / options.interval_cycles * 3 / 2;  // the loop may be this much slower
  }
  const DeviceBuffer<Fp8E4m3> operands(random_operands(kMmaTileBytes<n>));
  DeviceBuffer<CtaTime> math_times(launch.ctas() * kMathWarpgroups), box_times(launch.ctas());
  DeviceBuffer<float> sink(kMathThreads);
  SharedRate rate{};
  rate.form = "m64n" + std::to_string(n) + "k32, A from " +
              (a_in_registers ? "registers" : "shared memory");
  rate.multiprocessors = launch.ctas();
  rate.wanted_bytes_per_clock = bytes_per_clock;
  constexpr double kPerMma = 4096.0 / n;  // bytes of A per clock, plus 64 of B
  rate.read_bytes_per_clock = 64 + (a_in_registers ? 0 : kPerMma);
  for (int run = 0; run < kWarmUps + kLaunches; ++run) {
    launch.run(matrix.map(kCluster), options, reinterpret_cast<const uint4*>(operands.data()),
               kBlocks, /*chained=*/0, math_times.data(), box_times.data(), sink.data());
    double cycles = 0, nanoseconds = 0, box_cycles = 0;
    const std::vector<CtaTime> of_warpgroups = math_times.download();
    for (size_t cta = 0; cta < of_warpgroups.size(); cta += kMathWarpgroups) {
      CtaTime last{};  // the slower warpgroup's
      for (int i = 0; i < kMathWarpgroups; ++i) {
        const CtaTime& time = of_warpgroups[cta + i];
        if (time.cycles > last.cycles) last = time;
      }
      cycles += static_cast<double>(last.cycles) / launch.ctas();
      nanoseconds += static_cast<double>(last.nanoseconds) / launch.ctas();
    }
    for (const CtaTime& time : box_times.download()) {
      box_cycles += static_cast<double>(time.cycles) / launch.ctas();
    }
    const double share = 1.0 * kBlockCycles * kBlocks / cycles;
    if (run < kWarmUps || share <= rate.pipe_share) continue;
    rate.pipe_share = share;
    rate.clock_ghz = cycles / nanoseconds;
    if (options.boxes > 0) {
      rate.written_bytes_per_clock = 1.0 * kBoxBytes * options.boxes / box_cycles;
    }
  }
  return rate;
}

}  // namespace

std::vector<SharedRate> measure_shared_rates() {
  constexpr int kFewCtas = 16;
  const BoxMatrix matrix;
  std::vector<SharedRate> rates;
  for (const int most_ctas : {kFewCtas, 0}) {
    for (const int bytes_per_clock : {0, 16, 32, 48, 64}) {
      rates.push_back(measure<128, false>(matrix, bytes_per_clock, most_ctas));
      rates.push_back(measure<192, false>(matrix, bytes_per_clock, most_ctas));
      rates.push_back(measure<256, false>(matrix, bytes_per_clock, most_ctas));
      rates.push_back(measure<128, true>(matrix, bytes_per_clock, most_ctas));
    }
  }
  return rates;
}

}  // namespace bw
