/// \file
/// CTAs that follow others on their SMs, as in a GEMM of many short CTAs: several waves of rings,
/// of few and of many K blocks, alone on an SM and with others, with tiles of their own and with
/// tiles that many share. What of the L2 cache's bandwidth they get says how CTAs wait for each
/// other there, and what they read together.

#include <cstdint>
#include <string>

#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/shared_sm_ring.cuh"
#include "tests/hardware/timing/sm_count.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kStages = 3;
constexpr uint32_t kColumns = 4;  ///< boxes of a row of either matrix
constexpr uint32_t kNarrowTiles = 64;
constexpr uint32_t kMostResidents = 4;

/// How CTAs share tiles.
struct Sharing {
  const char* name;
  uint32_t wide_tiles;
  uint32_t narrow_tiles;
};

/// How long CTAs live, and how many wave after wave.
struct Lives {
  uint32_t blocks;
  uint32_t waves;
};
constexpr Lives kShort{.blocks = 8, .waves = 10}, kLong{.blocks = 32, .waves = 4};

template <int n>
void add_rings(Results& results, const ByteMatrix& wide, const ByteMatrix& narrow, uint32_t sms) {
  constexpr int kLeastRows = 8;  // of a box that is never copied
  const CUtensorMap wide_map = wide.map(kRowBytes, kWideRows);
  const CUtensorMap narrow_map = narrow.map(kRowBytes, n == 0 ? kLeastRows : n);
  uint32_t* const none = nullptr;
  // Wide tiles of their own, and one narrow tile for all; or sixteen wide ones, as a GEMM of 1024
  // columns has, and a narrow one for sixteen CTAs.
  for (const Sharing& sharing :
       {Sharing{"own", kMostResidents * sms, 1}, Sharing{"of_16", 16, kNarrowTiles}})
    for (const uint32_t residents : {1u, 2u, kMostResidents})
      for (const Lives& lives : {kShort, kLong}) {
        const Work work{.blocks = lives.blocks,
                        .stages = kStages,
                        .wide_tiles = sharing.wide_tiles,
                        .narrow_tiles = sharing.narrow_tiles,
                        .columns = kColumns};
        results.add("followers.ring",
                    "n=" + std::to_string(n) + " ctas_per_sm=" + std::to_string(residents) +
                        " blocks=" + std::to_string(lives.blocks) + " tiles=" + sharing.name,
                    "us", graph_microseconds([&](cudaStream_t queue) {
                      launch_clusters_on(queue, stream<n>, lives.waves * residents * sms, 1,
                                         kThreads, shared_bytes_of(residents), wide_map, narrow_map,
                                         work, none);
                    }));
      }
}

}  // namespace

void measure_followers(Results& results) {
  const uint32_t sms = sm_count();
  const ByteMatrix wide(kColumns * kRowBytes, kMostResidents * sms * kWideRows);
  const ByteMatrix narrow(kColumns * kRowBytes, kNarrowTiles * kWideRows);
  add_rings<0>(results, wide, narrow, sms);
  add_rings<8>(results, wide, narrow, sms);
  add_rings<64>(results, wide, narrow, sms);
}

}  // namespace bw::timing
