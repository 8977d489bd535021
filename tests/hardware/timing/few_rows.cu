/// \file
/// CTAs that share an SM, as kernels for few rows have them: rings of copies for small MMAs, in one
/// wave and in many, and the sums that the CTAs of a cluster send each other.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/device/bulk_copy.cuh"
#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/sm_count.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kBarrierBytes = sizeof(uint64_t);
constexpr uint32_t kRowBytes = 128;  ///< of a box
constexpr uint32_t kWideRows = 64;   ///< of the box that CTAs stream
constexpr uint32_t kWideBytes = kWideRows * kRowBytes;
constexpr uint32_t kMostStages = 8;
constexpr uint32_t kWarpgroupThreads = 128;
constexpr uint32_t kThreads = kWarpgroupThreads + 32;  ///< the last warp asks for copies
/// Of an SM, and what of it each CTA takes for the system.
constexpr uint32_t kSharedBytes = 228 * 1024, kSystemBytes = 1024;

__device__ void wait(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

/// Longer than a launch takes to begin all CTAs.
constexpr int64_t kLaunchCycles = 8000;

/// What a CTA does: `blocks` stages of a wide box and, where MMAs are, a narrow one.
struct Work {
  uint32_t blocks = 8;
  uint32_t stages = 4;
  uint32_t wide_tiles = 1;     ///< CTA i streams wide tile i % wide_tiles
  uint32_t narrow_tiles = 1;   ///< and narrow tile i / wide_tiles % narrow_tiles
  uint32_t columns = 8;        ///< boxes of a row of either matrix: block i has the i % columns-th
  uint32_t sms = 0xffff'ffff;  ///< CTAs on SMs from this one on only wait for a while
};

/// Rings of copies for MMAs of n columns (0: the copies are only waited for), whose products are
/// added up with two factors, as where blocks have scales.
template <int n>
__global__ void __launch_bounds__(kThreads)
    stream(const __grid_constant__ CUtensorMap wide, const __grid_constant__ CUtensorMap narrow,
           const Work work, uint32_t* sink) {
  uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (sm >= work.sms) {
    // Until all CTAs have an SM: else others would come here instead of to their own.
    const int64_t begin = cycle();
    while (cycle() - begin < kLaunchCycles) {
    }
    return;
  }
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t full_barriers[kMostStages], empty_barriers[kMostStages];
  __shared__ float factors[64];
  constexpr uint32_t kNarrowBytes = n * kRowBytes;
  constexpr int kRegisters = n == 0 ? 1 : n / 2;
  const uint32_t wides = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t narrows = wides + work.stages * kWideBytes;
  const uint32_t full = ptx::shared_address(full_barriers);
  const uint32_t empty = ptx::shared_address(empty_barriers);
  if (threadIdx.x < 64) factors[threadIdx.x] = 1;
  if (threadIdx.x == kWarpgroupThreads) {
    for (uint32_t i = 0; i < work.stages; ++i) {
      ptx::mbarrier_init(full + i * kBarrierBytes, 1);
      ptx::mbarrier_init(empty + i * kBarrierBytes, kWarpgroupThreads / 32);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  uint32_t stage = 0, parity = 0;
  const auto step = [&] {
    if (++stage == work.stages) {
      stage = 0;
      parity ^= 1;
    }
  };
  if (threadIdx.x >= kWarpgroupThreads) {
    const uint32_t wide_row = blockIdx.x % work.wide_tiles * kWideRows;
    const uint32_t narrow_row = blockIdx.x / work.wide_tiles % work.narrow_tiles * n;
    uint32_t column = 0;
    for (uint32_t i = 0; i < work.blocks; ++i) {
      wait(empty + stage * kBarrierBytes, parity ^ 1);
      if (ptx::elect_one()) {
        const uint32_t barrier = full + stage * kBarrierBytes;
        const auto x = static_cast<int32_t>(column * kRowBytes);
        ptx::mbarrier_arrive_expect_tx(barrier, kWideBytes + kNarrowBytes);
        ptx::tma_load_2d(wides + stage * kWideBytes, &wide, barrier, x,
                         static_cast<int32_t>(wide_row));
        if constexpr (n > 0)
          ptx::tma_load_2d(narrows + stage * kNarrowBytes, &narrow, barrier, x,
                           static_cast<int32_t>(narrow_row));
      }
      __syncwarp();
      step();
      if (++column == work.columns) column = 0;
    }
    return;
  }
  float sums[kRegisters];
#pragma unroll
  for (float& sum : sums) sum = 0;
#pragma unroll 1
  for (uint32_t i = 0; i < work.blocks; ++i) {
    wait(full + stage * kBarrierBytes, parity);
    if constexpr (n > 0) {
      float product[kRegisters];
      constexpr uint32_t kUnit = 16, kMmaBytes = 32;
      const uint64_t a = wgmma_descriptor(wgmma_descriptor_low(wides + stage * kWideBytes));
      const uint64_t b = wgmma_descriptor(wgmma_descriptor_low(narrows + stage * kNarrowBytes));
      ptx::wgmma_hold(product);
      ptx::wgmma_fence();
#pragma unroll
      for (uint32_t k = 0; k < kRowBytes / kUnit; k += kMmaBytes / kUnit)
        ptx::wgmma_e4m3(product, a + k, b + k, k != 0);
      ptx::wgmma_commit_group();
      float scales[kRegisters / 2];
#pragma unroll
      for (int j = 0; j < kRegisters / 2; ++j)
        scales[j] = factors[j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2];
      ptx::wgmma_wait_group<0>();
      ptx::wgmma_hold(product);
      if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(empty + stage * kBarrierBytes);
      __syncwarp();
#pragma unroll
      for (int j = 0; j < kRegisters; ++j)
        sums[j] = fmaf(product[j], scales[j / 4 * 2 + j % 2], sums[j]);
    } else {
      if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(empty + stage * kBarrierBytes);
      __syncwarp();
    }
    step();
  }
  float sum = 0;
#pragma unroll
  for (const float one : sums) sum += one;
  keep(__float_as_uint(sum), sink);
}

/// The matrices that launches of `stream` copy from. 16 MiB of wide tiles: the L2 cache has them.
class Operands {
 public:
  static constexpr uint32_t kColumns = 8;
  static constexpr uint32_t kWideTiles = 256;
  static constexpr uint32_t kNarrowTiles = 64;

  Operands()
      : wide_(kColumns * kRowBytes, kWideTiles * kWideRows),
        narrow_(kColumns * kRowBytes, kNarrowTiles * kWideRows) {}

  /// Launches `residents` CTAs an SM at once, `ctas` in all.
  template <int n>
  void launch(uint32_t residents, uint32_t ctas, const Work& work, cudaStream_t stream_) const {
    uint32_t* const none = nullptr;
    const uint32_t shared = kSharedBytes / residents - kSystemBytes - kAlignment;
    allow_dynamic_shared_memory(reinterpret_cast<const void*>(stream<n>), shared);
    stream<n><<<ctas, kThreads, shared, stream_>>>(
        wide_.map(kRowBytes, kWideRows), narrow_.map(kRowBytes, n == 0 ? 8 : n), work, none);
    check_cuda(cudaGetLastError(), "launch CTAs that share an SM");
  }

 private:
  ByteMatrix wide_, narrow_;
};

/// How CTAs share tiles.
struct Sharing {
  const char* name;
  bool on_one_sm;
  uint32_t wide_tiles;
  uint32_t narrow_tiles;
};
constexpr Sharing kOwnTiles{"own", false, Operands::kWideTiles, 1};
constexpr Sharing kOneSm{"one_sm", true, Operands::kWideTiles, 1};
/// As a GEMM of 1024 columns.
constexpr Sharing kGemmTiles{"of_16", false, 16, Operands::kNarrowTiles};

template <int n>
void add_streams(Results& results, const Operands& operands, uint32_t sms) {
  for (const Sharing& sharing : {kOwnTiles, kGemmTiles, kOneSm}) {
    for (const uint32_t residents : {1u, 2u, 4u}) {
      // One CTA that has its SM for itself has deep rings as well.
      for (const uint32_t stages : {3u, 8u}) {
        if (stages == 8 && residents > 1) continue;
        Work work{.stages = stages,
                  .wide_tiles = sharing.wide_tiles,
                  .narrow_tiles = sharing.narrow_tiles,
                  .columns = Operands::kColumns};
        if (sharing.on_one_sm) work.sms = 1;
        const std::string parameter =
            "n=" + std::to_string(n) + " ctas_per_sm=" + std::to_string(residents) +
            " stages=" + std::to_string(stages) + " tiles=" + sharing.name;
        const auto time = [&](uint32_t ctas, uint32_t blocks) {
          work.blocks = blocks;
          return graph_microseconds(
              [&](cudaStream_t s) { operands.launch<n>(residents, ctas, work, s); });
        };
        // On one SM more, so that it takes longer than kLaunchCycles.
        const uint32_t few = sharing.on_one_sm ? 64 : 16, many = 4 * few;
        const uint32_t at_once = residents * sms;
        // Nanoseconds of an SM for a block: its CTAs take turns.
        results.add("few_rows.block", parameter, "ns",
                    1e3 * (time(at_once, many) - time(at_once, few)) / ((many - few) * residents));
        constexpr uint32_t kFewWaves = 2, kManyWaves = 10;
        if (stages == 8 || sharing.on_one_sm) continue;
        // Of an SM for a CTA, likewise.
        for (const uint32_t blocks : {1u, 8u})
          results.add("few_rows.cta", parameter + " blocks=" + std::to_string(blocks), "ns",
                      1e3 *
                          (time(kManyWaves * at_once, blocks) - time(kFewWaves * at_once, blocks)) /
                          ((kManyWaves - kFewWaves) * residents));
      }
    }
  }
}

/// Round after round the CTAs of a cluster meet and then send each other, at once, `part_bytes` of
/// their sums, by one bulk copy for each other CTA; 0: they only meet.
__global__ void __launch_bounds__(kThreads) exchange_sums(uint32_t rounds, uint32_t part_bytes) {
  extern __shared__ __align__(128) uint8_t buffers[];
  __shared__ uint64_t arrived;
  const uint32_t rank = ptx::cluster_cta_rank(), split = ptx::cluster_cta_count();
  const uint32_t barrier = ptx::shared_address(&arrived);
  const uint32_t outgoing = ptx::shared_address(buffers), incoming = outgoing + split * part_bytes;
  if (threadIdx.x == 0) ptx::mbarrier_init(barrier, 1);
  ptx::fence_mbarrier_init();
  for (uint32_t i = threadIdx.x * 4; i < 2 * split * part_bytes; i += blockDim.x * 4)
    *reinterpret_cast<uint32_t*>(buffers + i) = 0;
  ptx::fence_proxy_async_shared();
#pragma unroll 1
  for (uint32_t round = 0; round < rounds; ++round) {
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
    if (part_bytes == 0) continue;
    if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(barrier, (split - 1) * part_bytes);
    const uint32_t owner = threadIdx.x;
    if (owner < split && owner != rank)
      ptx::bulk_copy_to_cta(ptx::map_to_cta(incoming + rank * part_bytes, owner),
                            outgoing + owner * part_bytes, part_bytes,
                            ptx::map_to_cta(barrier, owner));
    __syncwarp();
    wait(barrier, round & 1);
  }
  ptx::cluster_arrive_relaxed();
  ptx::cluster_wait();
}

/// The thread counts cycles.
__device__ void pass(int64_t cycles) {
  const int64_t begin = cycle();
  while (cycle() - begin < cycles) {
  }
}

/// What a CTA of a cluster that sends and gets sums does before and behind that.
constexpr int64_t kBeforeCycles = 1500, kBehindCycles = 1500;

/// The CTAs of a cluster work, send each other `part_bytes` of their sums, work, and end.
__global__ void __launch_bounds__(kThreads) exchange_and_end(uint32_t part_bytes) {
  extern __shared__ __align__(128) uint8_t buffers[];
  __shared__ uint64_t arrived;
  const uint32_t rank = ptx::cluster_cta_rank(), split = ptx::cluster_cta_count();
  const uint32_t barrier = ptx::shared_address(&arrived);
  const uint32_t outgoing = ptx::shared_address(buffers), incoming = outgoing + split * part_bytes;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(barrier, (split - 1) * part_bytes);
  }
  for (uint32_t i = threadIdx.x * sizeof(uint4); i < split * part_bytes;
       i += kThreads * sizeof(uint4))
    *reinterpret_cast<uint4*>(buffers + i) = make_uint4(0, 0, 0, 0);
  ptx::fence_proxy_async_shared();
  ptx::cluster_arrive_relaxed();
  if (threadIdx.x == 0) pass(kBeforeCycles);
  __syncthreads();
  ptx::cluster_wait();
  const uint32_t owner = threadIdx.x;
  if (owner < split && owner != rank)
    ptx::bulk_copy_to_cta(ptx::map_to_cta(incoming + rank * part_bytes, owner),
                          outgoing + owner * part_bytes, part_bytes,
                          ptx::map_to_cta(barrier, owner));
  __syncwarp();
  wait(barrier, 0);
  ptx::cluster_arrive_relaxed();
  if (threadIdx.x == 0) pass(kBehindCycles);
  __syncthreads();
  ptx::cluster_wait();
}

/// Waves of such clusters: what a wave takes.
void add_waves_of_exchanges(Results& results, uint32_t sms) {
  for (const uint32_t split : {2u, 4u}) {
    for (const uint32_t residents : {1u, 2u, 3u, 4u}) {
      const uint32_t shared = kSharedBytes / residents - kSystemBytes - kAlignment;
      const uint32_t ctas = residents * (split == 2 ? sms : sms - 12) / split * split;
      for (const uint32_t part_bytes : {1024u, 4096u}) {
        const auto time = [&](uint32_t waves) {
          return graph_microseconds([&](cudaStream_t stream) {
            launch_clusters_on(stream, exchange_and_end, waves * ctas, split, kThreads, shared,
                               part_bytes);
          });
        };
        constexpr uint32_t kFew = 4, kMany = 24;
        results.add("few_rows.wave_of_exchanges",
                    "split=" + std::to_string(split) + " ctas_per_sm=" + std::to_string(residents) +
                        " bytes=" + std::to_string(part_bytes),
                    "ns", 1e3 * (time(kMany) - time(kFew)) / (kMany - kFew));
      }
    }
  }
}

void add_exchanges(Results& results, uint32_t sms) {
  for (const uint32_t split : {2u, 3u, 4u}) {
    for (const uint32_t residents : {1u, 2u, 4u}) {
      const uint32_t shared = kSharedBytes / residents - kSystemBytes - kAlignment;
      // GPCs hold whole clusters, and lone pairs of SMs none of more than two CTAs.
      const uint32_t clusters = residents * (sms - 16) / split;
      for (const uint32_t part_bytes : {0u, 1024u, 4096u}) {
        const auto time = [&](uint32_t rounds) {
          return graph_microseconds([&](cudaStream_t stream) {
            launch_clusters_on(stream, exchange_sums, clusters * split, split, kThreads, shared,
                               rounds, part_bytes);
          });
        };
        constexpr uint32_t kFew = 4, kMany = 68;
        results.add("few_rows.exchange",
                    "split=" + std::to_string(split) + " ctas_per_sm=" + std::to_string(residents) +
                        " bytes=" + std::to_string(part_bytes),
                    "ns", 1e3 * (time(kMany) - time(kFew)) / (kMany - kFew));
      }
    }
  }
}

}  // namespace

void measure_few_rows(Results& results) {
  const uint32_t sms = sm_count();
  const Operands operands;
  add_streams<0>(results, operands, sms);
  add_streams<8>(results, operands, sms);
  add_streams<32>(results, operands, sms);
  add_streams<64>(results, operands, sms);
  add_exchanges(results, sms);
  add_waves_of_exchanges(results, sms);
}

}  // namespace bw::timing
