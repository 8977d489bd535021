/// \file
/// CTAs that share an SM, as kernels for few rows have them: rings of copies for small MMAs, in one
/// wave and in many, and the sums that the CTAs of a cluster send each other.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/device/bulk_copy.cuh"
#include "common/device/cluster.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/shared_sm_ring.cuh"
#include "tests/hardware/timing/sm_count.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

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
    const uint32_t shared = shared_bytes_of(residents);
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

/// Cycles of a CTA in a cluster before and after it sends and receives sums.
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
      const uint32_t shared = shared_bytes_of(residents);
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
      const uint32_t shared = shared_bytes_of(residents);
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
