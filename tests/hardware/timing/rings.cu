/// \file
/// The copies of a matrix product without the product: each CTA's ring of K blocks of its tile of A
/// and of B, by the number of active SMs, with operands that tiles of a row or column share, and
/// with pairs of CTAs that each copy one half of B's tile. Latency of a load during these copies.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/l2_flush.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kMostSlots = 12;
constexpr uint32_t kBlockBytes = 128;          // of K
constexpr uint32_t kSharedBytes = 220 * 1024;  // one CTA an SM
constexpr uint32_t kThreads = 96;              // a warp asks, one waits, one loads
constexpr uint32_t kBarrierBytes = sizeof(uint64_t);

struct RingOfTiles {
  uint32_t slots;
  uint32_t blocks;           ///< of K
  uint32_t b_rows;           ///< of a tile
  uint32_t down;             ///< tiles along M, which come first in the order of CTAs
  uint32_t cluster_ctas;     ///< neighbours along M, who share B
  uint32_t held = 0;         ///< cycles for which a K block is held before its slot is free
  uint32_t jitter = 0;       ///< up to this many more or fewer, at random
  uint32_t tile_blocks = 0;  ///< blocks between two pauses; 0: never
  uint32_t pause = 0;        ///< cycles of it, up to half of them more or fewer at random
  uint32_t a_rows = 128;     ///< of a tile
  uint32_t window = 0;       ///< blocks of K after which it starts again; 0: never
  uint32_t loads = 0;        ///< that the third warp makes in sequence
};

constexpr uint32_t kLoadedLines = 4096;  // that those take, in no order
constexpr uint32_t kLineWords = 32;

/// A number that looks like chance (a finalizer of murmur3).
__device__ __forceinline__ uint32_t chance(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6b;
  x = (x ^ (x >> 13)) * 0xc2b2ae35;
  return x ^ (x >> 16);
}

/// From `least` on as many cycles more as chance says, below `span`.
__device__ __forceinline__ void wait_by_chance(uint32_t least, uint32_t span, uint32_t key) {
  const int64_t begin = cycle();
  const int64_t cycles = least + (static_cast<uint64_t>(chance(key)) * span >> 32);
  while (cycle() - begin < cycles) {
  }
}

struct Lap {
  uint32_t slot = 0;
  uint32_t parity = 0;
  __device__ void step(uint32_t slots) {
    if (++slot == slots) {
      slot = 0;
      parity ^= 1;
    }
  }
};

/// Loads of lines of zeros, each dependent on the one before.
__device__ void load_lines(const uint32_t* lines, uint32_t loads) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < loads; ++i) {
    const uint32_t line = (value + chance(i + blockIdx.x * 977)) % kLoadedLines;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(lines + line * kLineWords));
    if (value != 0) asm volatile("trap;");  // so the clock waits for the last one too
  }
}

__global__ void ring_of_tiles(Span* spans, const __grid_constant__ CUtensorMap a,
                              const __grid_constant__ CUtensorMap b, const uint32_t* lines,
                              RingOfTiles options) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t full_barriers[kMostSlots], empty_barriers[kMostSlots];
  const uint32_t tiles = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t full = ptx::shared_address(full_barriers);
  const uint32_t empty = ptx::shared_address(empty_barriers);
  const uint32_t rank = ptx::cluster_cta_rank();
  const uint32_t a_bytes = options.a_rows * kBlockBytes;
  const uint32_t stage_bytes = a_bytes + options.b_rows * kBlockBytes;
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < options.slots; ++i) {
      ptx::mbarrier_init(full + i * kBarrierBytes, 1);
      ptx::mbarrier_init(empty + i * kBarrierBytes, options.cluster_ctas);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  const int64_t begin = cycle();
  Lap lap;
  if (threadIdx.x < 32) {
    const auto row = static_cast<int32_t>(blockIdx.x % options.down * options.a_rows);
    const auto mask = static_cast<uint16_t>((1u << options.cluster_ctas) - 1);
    const uint32_t share_rows = options.b_rows / options.cluster_ctas;
    const auto column =
        static_cast<int32_t>(blockIdx.x / options.down * options.b_rows + rank * share_rows);
    if (ptx::elect_one()) {
      uint32_t block = 0;
      for (uint32_t i = 0; i < options.blocks; ++i) {
        while (!ptx::mbarrier_try_wait_parity(empty + lap.slot * kBarrierBytes, lap.parity ^ 1)) {
        }
        const uint32_t barrier = full + lap.slot * kBarrierBytes;
        const uint32_t stage = tiles + lap.slot * stage_bytes;
        const auto k = static_cast<int32_t>(block * kBlockBytes);
        if (++block == options.window) block = 0;
        ptx::mbarrier_arrive_expect_tx(barrier, stage_bytes);
        ptx::tma_load_2d(stage, &a, barrier, k, row);
        const uint32_t to = stage + a_bytes + rank * share_rows * kBlockBytes;
        if (options.cluster_ctas == 1) {
          ptx::tma_load_2d(to, &b, barrier, k, column);
        } else {
          ptx::tma_load_2d_multicast(to, &b, barrier, k, column, mask);
        }
        lap.step(options.slots);
      }
    }
  } else if (threadIdx.x == 32) {
    for (uint32_t i = 0; i < options.blocks; ++i) {
      while (!ptx::mbarrier_try_wait_parity(full + lap.slot * kBarrierBytes, lap.parity)) {
      }
      const uint32_t key = blockIdx.x * 4096 + i;
      if (options.held != 0) {
        wait_by_chance(options.held - options.jitter, 2 * options.jitter, key);
      }
      if (options.tile_blocks != 0 && (i + 1) % options.tile_blocks == 0) {
        wait_by_chance(options.pause / 2, options.pause, ~key);
      }
      const uint32_t barrier = empty + lap.slot * kBarrierBytes;
      for (uint32_t peer = 0; peer < options.cluster_ctas; ++peer) {
        if (peer == rank) {
          ptx::mbarrier_arrive(barrier);
        } else {
          ptx::mbarrier_arrive_remote(ptx::map_to_cta(barrier, peer));
        }
      }
      lap.step(options.slots);
    }
  } else if (threadIdx.x == 64) {
    load_lines(lines, options.loads);
  }
  __syncwarp();
  write_span(spans, begin, cycle());
  __syncthreads();
  ptx::cluster_arrive();  // no CTA exits while others may still arrive here
  ptx::cluster_wait();
}

struct Shape {
  uint32_t b_rows, down, across, slots, cluster_ctas;
  uint32_t held = 0, jitter = 0, tile_blocks = 0, pause = 0;
  uint32_t a_rows = 128, window = 0, loads = 0;
};

/// Cycles of a CTA, and of the warp that loads.
struct RingCycles {
  double cta, load_warp;
};

RingCycles ring_cycles(const Shape& shape, uint32_t blocks, const L2Flush* flush) {
  const uint32_t width = (shape.window == 0 ? blocks : shape.window) * kBlockBytes;
  const ByteMatrix a(width, shape.down * shape.a_rows);
  const ByteMatrix b(width, shape.across * shape.b_rows);
  DeviceBuffer<uint32_t> lines(size_t{kLoadedLines} * kLineWords);
  lines.fill_bytes(0);
  const CUtensorMap map_a = a.map(kBlockBytes, shape.a_rows);
  const CUtensorMap map_b = b.map(kBlockBytes, shape.b_rows / shape.cluster_ctas);
  const uint32_t ctas = shape.down * shape.across;
  const RingOfTiles options{shape.slots,        blocks,       shape.b_rows, shape.down,
                            shape.cluster_ctas, shape.held,   shape.jitter, shape.tile_blocks,
                            shape.pause,        shape.a_rows, shape.window, shape.loads};
  constexpr uint32_t kWarps = kThreads / 32;
  const std::vector<double> cycles = least_medians<Span>(
      ctas, kWarps, 2, is_simulated() ? 2 : 7,
      [&](Span* s) {
        if (flush != nullptr) flush->run();
        launch_clusters(ring_of_tiles, ctas, shape.cluster_ctas, kThreads, kSharedBytes, s, map_a,
                        map_b, lines.data(), options);
      },
      [](const Span* warps, size_t number) -> std::optional<double> {
        if (number == 1) return static_cast<double>(warps[2].end - warps[2].begin);
        return static_cast<double>(std::max(warps[0].end, warps[1].end) -
                                   std::min(warps[0].begin, warps[1].begin));
      });
  return {cycles[0], cycles[1]};
}

/// Cycles of a K block.
double block_cycles(const Shape& shape, uint32_t blocks, const L2Flush* flush) {
  return ring_cycles(shape, blocks, flush).cta / blocks;
}

}  // namespace

void measure_rings(Results& results) {
  constexpr uint32_t kBlocks = 56;
  const L2Flush flush;
  const auto add = [&](const char* name, const Shape& shape, const L2Flush* cold) {
    results.add(std::string("rings.") + name,
                "128x" + std::to_string(shape.b_rows) + " down=" + std::to_string(shape.down) +
                    " across=" + std::to_string(shape.across) + " slots=" +
                    std::to_string(shape.slots) + " cluster=" + std::to_string(shape.cluster_ctas),
                "cycles", block_cycles(shape, kBlocks, cold));
  };
  for (const uint32_t b_rows : {64u, 128u}) {
    const uint32_t slots = b_rows == 64 ? 8 : 6;
    for (const auto& [down, across] : {std::pair{1u, 33u},
                                       {2u, 33u},
                                       {4u, 33u},
                                       {2u, 64u},
                                       {8u, 16u},
                                       {16u, 8u},
                                       {1u, 132u},
                                       {4u, 8u}}) {
      for (const uint32_t cluster : {1u, 2u}) {
        if (down % cluster == 0) add("warm", {b_rows, down, across, slots, cluster}, nullptr);
      }
    }
    for (const uint32_t fewer : {1u, 2u, 4u}) {
      add("warm", {b_rows, 1, 33, fewer, 1}, nullptr);
      add("warm", {b_rows, 4, 33, fewer, 1}, nullptr);
      add("warm", {b_rows, 4, 33, fewer, 2}, nullptr);
    }
    for (const uint32_t cluster : {1u, 2u}) {
      add("cold", {b_rows, 4, 33, slots, cluster}, &flush);
      add("cold", {b_rows, 8, 16, slots, cluster}, &flush);
    }
    add("cold", {b_rows, 1, 33, slots, 1}, &flush);
    add("cold", {b_rows, 1, 132, slots, 1}, &flush);
  }
  const auto add_held = [&](const Shape& shape) {
    results.add("rings.held",
                "128x" + std::to_string(shape.b_rows) + " down=" + std::to_string(shape.down) +
                    " across=" + std::to_string(shape.across) + " cluster=" +
                    std::to_string(shape.cluster_ctas) + " cycles=" + std::to_string(shape.held) +
                    "+-" + std::to_string(shape.jitter) + " pause=" + std::to_string(shape.pause) +
                    "/" + std::to_string(shape.tile_blocks),
                "cycles", block_cycles(shape, kBlocks, nullptr));
  };
  for (const uint32_t b_rows : {64u, 128u}) {
    const uint32_t slots = b_rows == 64 ? 8 : 6;
    for (const auto& [down, across] : {std::pair{12u, 11u}, {4u, 33u}}) {
      for (const uint32_t held : {300u, 500u, 700u}) {
        for (const uint32_t jitter : {0u, 150u}) {
          add_held({b_rows, down, across, slots, 1, held, jitter});
        }
      }
      add_held({b_rows, down, across, slots, 2, 500, 150});
      for (const uint32_t blocks : {4u, 8u}) {
        add_held({b_rows, down, across, slots, 1, 300, 100, blocks, 2000});
        add_held({b_rows, down, across, slots, 2, 300, 100, blocks, 2000});
      }
    }
    add_held({b_rows, 1, 1, slots, 1, 300, 0});
    add_held({b_rows, 1, 1, slots, 1, 500, 150});
    add_held({b_rows, 1, 1, slots, 1, 300, 100, 4, 2000});
  }
  // What all SMs read stays in the cache here, and the first data that all ask for together.
  constexpr uint32_t kWindow = 4;
  struct Tile {
    uint32_t a_rows, b_rows, slots;
  };
  for (const Tile& tile :
       {Tile{128, 256, 4}, Tile{128, 128, 6}, Tile{128, 64, 8}, Tile{64, 256, 5}}) {
    for (const auto& [down, across] : {std::pair{1u, 132u},
                                       {2u, 66u},
                                       {12u, 11u},
                                       {16u, 8u},
                                       {33u, 4u},
                                       {132u, 1u},
                                       {8u, 9u},
                                       {1u, 32u}}) {
      const Shape shape{.b_rows = tile.b_rows,
                        .down = down,
                        .across = across,
                        .slots = tile.slots,
                        .cluster_ctas = 1,
                        .a_rows = tile.a_rows,
                        .window = kWindow};
      const std::string parameter = std::to_string(tile.a_rows) + "x" +
                                    std::to_string(tile.b_rows) + " down=" + std::to_string(down) +
                                    " across=" + std::to_string(across);
      results.add("rings.window", parameter, "cycles", block_cycles(shape, kBlocks, nullptr));
      results.add("rings.first_slots", parameter, "cycles",
                  ring_cycles(shape, tile.slots, nullptr).cta);
    }
  }
  for (const uint32_t slots : {1u, 2u, 3u, 4u, 6u, 8u}) {
    constexpr uint32_t kLoads = 40;
    const Shape shape{.b_rows = 64,
                      .down = 132,
                      .across = 1,
                      .slots = slots,
                      .cluster_ctas = 1,
                      .window = kWindow,
                      .loads = kLoads};
    results.add("rings.load_beside", "slots=" + std::to_string(slots), "cycles",
                ring_cycles(shape, 200, nullptr).load_warp / kLoads);
  }
}

}  // namespace bw::timing
