/// \file
/// A ladder of matrix products by wgmma, each with one idea more than the one before, in the manner
/// of published ones (fast.cu, kernels 2 to 8). They say whether the timing model sees what each
/// idea brings; one of its numbers was chosen with their rows in view (docs/timing.md).
///
/// Operands are e4m3 with twice the K of bf16: as many bytes, and as many cycles of the tensor
/// cores. C is bf16 and stored by columns, as in those kernels: each thread stores two bytes at a
/// time.

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <string>

#include "common/device/cluster.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/register_budget.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/random_matrix.hpp"
#include "tests/hardware/timing/sm_count.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kRowBytes = 128;  // of A's and B's tiles: 64 elements of bf16
constexpr uint32_t kMmaBytes = 32;   // of K that one MMA multiplies
constexpr uint32_t kMmaRows = 64;    // of a warpgroup's MMA
constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kBarrierBytes = sizeof(uint64_t);
constexpr uint32_t kWarpgroup = 128;

/// What a step of the ladder has.
template <uint32_t rows, uint32_t columns, uint32_t stages = 1, uint32_t consumers = 0,
          bool persistent = false, uint32_t cluster = 1>
struct Step {
  static constexpr uint32_t kRows = rows;        ///< of a tile of C
  static constexpr uint32_t kColumns = columns;  ///< of it
  static constexpr uint32_t kStages = stages;    ///< of the ring
  /// Warpgroups that multiply, in addition to one that loads; 0: one does both.
  static constexpr uint32_t kConsumers = consumers;
  static constexpr bool kPersistent = persistent;  ///< as many CTAs as SMs, tiles in squares
  static constexpr uint32_t kCluster = cluster;    ///< CTAs above one another that share B's tiles

  static constexpr uint32_t kThreads = (consumers + 1) * kWarpgroup;
  static constexpr uint32_t kBlocks = rows / kMmaRows / max_of(1u, consumers);
  static constexpr uint32_t kStageBytes = (rows + columns) * kRowBytes;
  static constexpr uint32_t kSharedBytes = stages * kStageBytes + kAlignment;
};
using SmallTiles = Step<64, 64>;
using WideTiles = Step<128, 128>;
using Ring = Step<128, 128, 5, 1>;
using TwoConsumers = Step<128, 256, 4, 2>;
using Persistent = Step<128, 256, 4, 2, true>;
using Multicast = Step<128, 256, 4, 2, true, 2>;

/// C's size in tiles, and K in blocks of a row.
struct Problem {
  uint32_t rows, columns, k_blocks;
};

struct Tile {
  uint32_t row, column;
};

/// Tiles one after the other; in a persistent kernel in squares, so that SMs share their operands.
template <class S>
__device__ Tile tile_of(const Problem& problem, uint32_t number) {
  if constexpr (!S::kPersistent) return {number / problem.columns, number % problem.columns};
  constexpr uint32_t kSide = 16;
  const uint32_t height = kSide < problem.rows ? kSide : problem.rows;
  const uint32_t band = number / (height * problem.columns);
  const uint32_t within = number % (height * problem.columns);
  return {band * height + within % height, within / height};
}

/// A warpgroup's part of a stage's product.
template <int blocks, int registers>
__device__ __forceinline__ void multiply(float (&d)[blocks][registers], uint32_t a, uint32_t b,
                                         bool accumulate) {
  ptx::wgmma_fence();
#pragma unroll
  for (uint32_t k = 0; k < kRowBytes; k += kMmaBytes) {
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      ptx::wgmma_e4m3(d[block],
                      wgmma_descriptor(wgmma_descriptor_low(a + block * kMmaRows * kRowBytes + k)),
                      wgmma_descriptor(wgmma_descriptor_low(b + k)), accumulate || k != 0);
    }
  }
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
#pragma unroll
  for (int block = 0; block < blocks; ++block) ptx::wgmma_hold(d[block]);
}

/// Stores a warpgroup's rows of a tile: two bytes at a time.
template <int blocks, int registers>
__device__ __forceinline__ void store(const float (&d)[blocks][registers], __nv_bfloat16* c,
                                      uint32_t c_rows, uint32_t row, uint32_t column) {
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x % kWarpgroup / 32;
#pragma unroll
  for (int block = 0; block < blocks; ++block) {
    __nv_bfloat16* const to =
        c + size_t{column + lane % 4 * 2} * c_rows + row + block * kMmaRows + warp * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < registers; ++i) {
      to[size_t(i / 4 * 8 + i % 2) * c_rows + i % 4 / 2 * 8] = __float2bfloat16_rn(d[block][i]);
    }
  }
}

/// Full and empty barriers of the stages.
template <class S>
__device__ void init_barriers(uint32_t full, uint32_t empty) {
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < S::kStages; ++i) {
      ptx::mbarrier_init(full + i * kBarrierBytes, 1);
      ptx::mbarrier_init(empty + i * kBarrierBytes, S::kCluster * max_of(1u, S::kConsumers));
    }
    ptx::fence_mbarrier_init();
  }
  if constexpr (S::kCluster > 1) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
  } else {
    __syncthreads();
  }
}

__device__ void wait(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

/// A tile's copies of one block of K. Each CTA of a cluster brings its part of B to all of them.
template <class S>
__device__ void load(uint32_t to, uint32_t full, const CUtensorMap* map_a, const CUtensorMap* map_b,
                     const Tile& tile, uint32_t block) {
  ptx::mbarrier_arrive_expect_tx(full, S::kStageBytes);
  const auto k = static_cast<int32_t>(block * kRowBytes);
  ptx::tma_load_2d(to, map_a, full, k, static_cast<int32_t>(tile.row * S::kRows));
  const uint32_t b = to + S::kRows * kRowBytes;
  if constexpr (S::kCluster == 1) {
    ptx::tma_load_2d(b, map_b, full, k, static_cast<int32_t>(tile.column * S::kColumns));
  } else {
    constexpr uint32_t kPart = S::kColumns / S::kCluster;
    const uint32_t first = ptx::cluster_cta_rank() * kPart;
    ptx::tma_load_2d_multicast(b + first * kRowBytes, map_b, full, k,
                               static_cast<int32_t>(tile.column * S::kColumns + first),
                               (1u << S::kCluster) - 1);
  }
}

/// C = A · Bᵀ.
template <class S>
__global__ void __launch_bounds__(S::kThreads)
    multiply_tiles(const __grid_constant__ CUtensorMap map_a,
                   const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, Problem problem) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barriers[2 * S::kStages];
  const uint32_t tiles = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t full = ptx::shared_address(barriers);
  const uint32_t empty = full + S::kStages * kBarrierBytes;
  init_barriers<S>(full, empty);
  const uint32_t all = problem.rows * problem.columns;
  const uint32_t c_rows = problem.rows * S::kRows;
  const uint32_t warpgroup = threadIdx.x / kWarpgroup;
  float d[S::kBlocks][S::kColumns / 2];
  if constexpr (S::kConsumers == 0) {
    const Tile tile = tile_of<S>(problem, blockIdx.x);
    for (uint32_t block = 0; block < problem.k_blocks; ++block) {
      if (threadIdx.x == 0) load<S>(tiles, full, &map_a, &map_b, tile, block);
      wait(full, block % 2);
      multiply(d, tiles, tiles + S::kRows * kRowBytes, block != 0);
      __syncthreads();
    }
    store(d, c, c_rows, tile.row * S::kRows, tile.column * S::kColumns);
    return;
  }
  constexpr bool kMovesRegisters = S::kConsumers > 1;
  if (warpgroup == 0) {
    if constexpr (kMovesRegisters) ptx::decrease_registers<24>();
    if (threadIdx.x == 0) {
      uint32_t count = 0;
      for (uint32_t number = blockIdx.x; number < all; number += gridDim.x) {
        const Tile tile = tile_of<S>(problem, number);
        for (uint32_t block = 0; block < problem.k_blocks; ++block, ++count) {
          const uint32_t stage = count % S::kStages;
          if (count >= S::kStages)
            wait(empty + stage * kBarrierBytes, (count / S::kStages - 1) % 2);
          load<S>(tiles + stage * S::kStageBytes, full + stage * kBarrierBytes, &map_a, &map_b,
                  tile, block);
        }
      }
    }
  } else {
    if constexpr (kMovesRegisters) ptx::increase_registers<240>();
    const uint32_t first = (warpgroup - 1) * S::kBlocks * kMmaRows;
    uint32_t count = 0;
    for (uint32_t number = blockIdx.x; number < all; number += gridDim.x) {
      const Tile tile = tile_of<S>(problem, number);
      for (uint32_t block = 0; block < problem.k_blocks; ++block, ++count) {
        const uint32_t stage = count % S::kStages;
        const uint32_t at = tiles + stage * S::kStageBytes;
        wait(full + stage * kBarrierBytes, count / S::kStages % 2);
        multiply(d, at + first * kRowBytes, at + S::kRows * kRowBytes, block != 0);
        const uint32_t lane = threadIdx.x % kWarpgroup;
        const uint32_t is_empty = empty + stage * kBarrierBytes;
        if constexpr (S::kCluster == 1) {
          if (lane == 0) ptx::mbarrier_arrive(is_empty);
        } else if (lane < S::kCluster) {
          ptx::mbarrier_arrive_remote(ptx::map_to_cta(is_empty, lane));
        }
      }
      store(d, c, c_rows, tile.row * S::kRows + first, tile.column * S::kColumns);
    }
  }
  if constexpr (S::kCluster > 1) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
}

/// The operands of a product of `side` x `side` x `side` elements of bf16.
struct Operands {
  explicit Operands(uint32_t side_)
      : side(side_), a(2 * side, side, 1), b(2 * side, side, 2), c(size_t{side} * side) {}

  uint32_t side;
  RandomMatrix<__nv_fp8_e4m3> a, b;
  DeviceBuffer<__nv_bfloat16> c;
};

/// Launches a step of the ladder, and adds its time to the results.
template <class S>
void add_step(Results& results, const char* name, Operands& operands) {
  __nv_bfloat16* const c = operands.c.data();
  const auto kernel = multiply_tiles<S>;
  const Problem problem{operands.side / S::kRows, operands.side / S::kColumns,
                        2 * operands.side / kRowBytes};
  const uint32_t tiles = problem.rows * problem.columns;
  const uint32_t ctas = S::kPersistent ? min_of(tiles, sm_count()) : tiles;
  const CUtensorMap map_a = operands.a.map(kRowBytes, S::kRows);
  const CUtensorMap map_b = operands.b.map(kRowBytes, S::kColumns / S::kCluster);
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), S::kSharedBytes);
  results.add(std::string("ladder.") + name, "side=" + std::to_string(operands.side), "us",
              graph_microseconds([&](cudaStream_t stream) {
                if constexpr (S::kCluster == 1) {
                  kernel<<<ctas, S::kThreads, S::kSharedBytes, stream>>>(map_a, map_b, c, problem);
                } else {
                  launch_clusters_on(stream, kernel, ctas, S::kCluster, S::kThreads,
                                     S::kSharedBytes, map_a, map_b, c, problem);
                }
              }));
}

/// All steps of the ladder; after each one `then`.
template <class Then>
void climb(Results& results, Operands& operands, Then&& then) {
  const auto add = [&]<class S>(const char* name) {
    add_step<S>(results, name, operands);
    then(name);
  };
  add.template operator()<SmallTiles>("small_tiles");
  add.template operator()<WideTiles>("wide_tiles");
  add.template operator()<Ring>("ring");
  add.template operator()<TwoConsumers>("two_consumers");
  add.template operator()<Persistent>("persistent");
  add.template operator()<Multicast>("multicast");
}

}  // namespace

void measure_ladder(Results& results) {
  Operands operands(2048);
  climb(results, operands, [](const char*) {});
}

void measure_large_ladder(Results& results) {
  Operands operands(4096);
  climb(results, operands, [](const char*) {});
}

void measure_ladder_errors(Results& results) {
  constexpr uint32_t kSide = 512;
  Operands operands(kSide);
  Results times;
  climb(times, operands, [&](const char* name) {
    // C is stored by columns: C transposed is B times A transposed.
    const double error =
        product_error(operands.b, operands.a, operands.c.download(), operands.side);
    require(error < kRoundedToBf16, "Step ", name,
            " of the ladder is wrong: elements of C are off by ", error,
            " of the sum of their products' sizes.");
    results.add(std::string("ladder_errors.") + name, "", "", error);
    operands.c.fill_bytes(0);
  });
}

}  // namespace bw::timing
