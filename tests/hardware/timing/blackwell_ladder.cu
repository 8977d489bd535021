/// \file
/// A ladder of matrix products by tcgen05, each with one idea more than the one before, in the
/// manner of published ones (learn-cuda, versions 1 to 7). The timing model is never fitted to
/// them.
///
/// The published times are averages of many launches, one right after the other, each with
/// operands of its own. So the ladder takes operands in turn that do not fit into the L2 cache
/// together, and no launch finds its own there.
///
/// Operands are e4m3 with twice the K of bf16: as many bytes, and as many cycles of the tensor
/// cores.

#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/device/cluster.cuh"
#include "common/device/fence.cuh"
#include "common/device/instruction_descriptor.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/device/tcgen05_alloc.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tcgen05_load_store.cuh"
#include "common/device/tcgen05_mma.cuh"
#include "common/device/tma_load.cuh"
#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/program.hpp"
#include "common/host/stream.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kRows = 128;        // of a tile of C
constexpr uint32_t kRowBytes = 128;    // of A's and B's tiles: 64 elements of bf16
constexpr uint32_t kMmaBytes = 32;     // of K that one MMA multiplies
constexpr uint32_t kNarrowBytes = 16;  // of a row that is not swizzled
constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kBarrierBytes = sizeof(uint64_t);
constexpr uint32_t kThreads = 128;

/// What a step of the ladder has.
template <uint32_t columns, uint32_t depth, uint32_t stages, bool roles = false,
          bool narrow = false>
struct Step {
  static constexpr uint32_t kColumns = columns;  ///< of a tile of C
  static constexpr uint32_t kDepth = depth;      ///< of a stage, in rows of kRowBytes
  static constexpr uint32_t kStages = stages;
  static constexpr bool kRoles = roles;    ///< one warp loads and another one multiplies
  static constexpr bool kNarrow = narrow;  ///< rows of 16 bytes, without a swizzle
  static constexpr uint32_t kStageBytes = depth * (kRows + columns) * kRowBytes;
  static constexpr uint32_t kSharedBytes = stages * kStageBytes + kAlignment;
};
using NarrowRows = Step<256, 4, 1, false, true>;
using Swizzled = Step<256, 4, 1>;
using Pipelined = Step<256, 2, 2>;
using WarpSpecialised = Step<128, 1, 7, true>;

__device__ void wait(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

/// Copies of an operand's rows for one stage: those of each row of kRowBytes are contiguous.
template <class S, uint32_t rows>
__device__ void load_operand(uint32_t to, const CUtensorMap* map, uint32_t full, uint32_t block,
                             uint32_t row) {
  constexpr uint32_t kBoxBytes = S::kNarrow ? kNarrowBytes : kRowBytes;
#pragma unroll
  for (uint32_t k = 0; k < S::kDepth * kRowBytes; k += kBoxBytes) {
    ptx::tma_load_2d(to + k * rows, map, full,
                     static_cast<int32_t>(block * S::kDepth * kRowBytes + k),
                     static_cast<int32_t>(row));
  }
}

/// The descriptor of an operand with `rows` rows, `bytes` along K.
template <class S, uint32_t rows>
__device__ uint64_t descriptor(uint32_t tile, uint32_t bytes) {
  if constexpr (!S::kNarrow) {
    return advance_descriptor(
        make_k_major_descriptor(tile + bytes / kRowBytes * kRowBytes * rows, Swizzle::k128B),
        bytes % kRowBytes);
  } else {
    using Layout = SharedDescriptorLayout;
    constexpr uint64_t kColumnBytes = rows * kNarrowBytes, kGroupBytes = 8 * kNarrowBytes;
    const uint64_t start = ((tile + bytes * rows) >> Layout::kUnitShift) & Layout::kFieldMask;
    return start << Layout::kStartAddressShift |
           (kColumnBytes >> Layout::kUnitShift) << Layout::kLeadingByteOffsetShift |
           (kGroupBytes >> Layout::kUnitShift) << Layout::kStrideByteOffsetShift |
           Layout::kVersion << Layout::kVersionShift;
  }
}

/// The stages in shared memory.
template <class S>
struct Ring {
  uint32_t tiles, full, empty, done;

  static constexpr uint32_t kABytes = S::kDepth * kRows * kRowBytes;

  [[nodiscard]] __device__ uint32_t a(uint32_t block) const {
    return tiles + block % S::kStages * S::kStageBytes;
  }
  __device__ void load(const CUtensorMap* map_a, const CUtensorMap* map_b, uint32_t block,
                       uint32_t row, uint32_t column) const {
    const uint32_t stage = block % S::kStages;
    if (block >= S::kStages) wait(empty + stage * kBarrierBytes, (block / S::kStages - 1) % 2);
    const uint32_t barrier = full + stage * kBarrierBytes;
    ptx::mbarrier_arrive_expect_tx(barrier, S::kStageBytes);
    load_operand<S, kRows>(a(block), map_a, barrier, block, row);
    load_operand<S, S::kColumns>(a(block) + kABytes, map_b, barrier, block, column);
  }
  __device__ void multiply(uint32_t d, uint32_t block) const {
    const uint32_t stage = block % S::kStages;
    wait(full + stage * kBarrierBytes, block / S::kStages % 2);
    ptx::tcgen05_fence_after_thread_sync();
#pragma unroll
    for (uint32_t k = 0; k < S::kDepth * kRowBytes; k += kMmaBytes) {
      ptx::tcgen05_mma_f8f6f4<1>(
          d, descriptor<S, kRows>(a(block), k), descriptor<S, S::kColumns>(a(block) + kABytes, k),
          make_e4m3_instruction_descriptor<kRows, S::kColumns, 1>(), block != 0 || k != 0);
    }
    ptx::tcgen05_commit<1>(empty + stage * kBarrierBytes);
  }
};

/// Each thread stores its row of the tile, 16 bytes at a time. `d`: the first column of its warp's
/// rows.
template <uint32_t columns>
__device__ void store(uint32_t d, __nv_bfloat16* to) {
#pragma unroll 1
  for (uint32_t column = 0; column < columns; column += 8) {
    float values[8];
    ptx::tcgen05_ld_32x32b(values, d + column);
    ptx::tcgen05_wait_ld(values);
    __nv_bfloat162 pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
    *reinterpret_cast<uint4*>(to + column) = *reinterpret_cast<uint4*>(pairs);
  }
}

/// C = A · Bᵀ, a tile a CTA.
template <class S>
__global__ void __launch_bounds__(kThreads)
    multiply_tiles(const __grid_constant__ CUtensorMap map_a,
                   const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, uint32_t columns,
                   uint32_t blocks) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barriers[2 * S::kStages + 1];
  __shared__ uint32_t tmem_address;
  const uint32_t first = ptx::shared_address(barriers);
  const Ring<S> ring{.tiles = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment,
                     .full = first,
                     .empty = first + S::kStages * kBarrierBytes,
                     .done = first + 2 * S::kStages * kBarrierBytes};
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i <= 2 * S::kStages; ++i) ptx::mbarrier_init(first + i * kBarrierBytes, 1);
    ptx::fence_mbarrier_init();
  }
  if (threadIdx.x / 32 == 1) ptx::tcgen05_alloc<1>(ptx::shared_address(&tmem_address), S::kColumns);
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  const uint32_t d = tmem_address;
  const uint32_t row = blockIdx.x / (columns / S::kColumns) * kRows;
  const uint32_t column = blockIdx.x % (columns / S::kColumns) * S::kColumns;
  if constexpr (S::kRoles) {
    if (threadIdx.x == 0) {
      for (uint32_t block = 0; block < blocks; ++block)
        ring.load(&map_a, &map_b, block, row, column);
    } else if (threadIdx.x == 32) {
      for (uint32_t block = 0; block < blocks; ++block) ring.multiply(d, block);
      ptx::tcgen05_commit<1>(ring.done);
    }
  } else if (threadIdx.x == 0) {
    constexpr uint32_t kAhead = S::kStages - 1;
    for (uint32_t block = 0; block + 1 < S::kStages; ++block)
      ring.load(&map_a, &map_b, block, row, column);
    for (uint32_t block = 0; block < blocks; ++block) {
      if (block + kAhead < blocks) ring.load(&map_a, &map_b, block + kAhead, row, column);
      ring.multiply(d, block);
    }
    ptx::tcgen05_commit<1>(ring.done);
  }
  __syncthreads();
  wait(ring.done, 0);
  ptx::tcgen05_fence_after_thread_sync();
  store<S::kColumns>(d + (threadIdx.x / 32 * 32 << 16),
                     c + size_t{row + threadIdx.x} * columns + column);
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  if (threadIdx.x / 32 == 1) {
    ptx::tcgen05_fence_after_thread_sync();
    ptx::tcgen05_relinquish_alloc_permit<1>();
    ptx::tcgen05_dealloc<1>(d, S::kColumns);
  }
}

/// Steps in which two CTAs share a tile of C of 256 x 256: each loads 128 rows of A and of B.
struct Pair {
  static constexpr uint32_t kCtas = 2;
  static constexpr uint32_t kSide = kCtas * kRows;  ///< of a tile of C
  static constexpr uint32_t kStages = 7;
  static constexpr uint32_t kOperandBytes = kRows * kRowBytes;
  static constexpr uint32_t kStageBytes = 2 * kOperandBytes;
  static constexpr uint32_t kSharedBytes = kStages * kStageBytes + kAlignment;
  static constexpr uint32_t kTiles = 2;  ///< of C in tensor memory
  static constexpr uint16_t kAll = 0b11;

  /// The offset of each kind of barrier from the first one.
  static constexpr uint32_t kFull = 0, kEmpty = kStages * kBarrierBytes,
                            kDone = 2 * kStages * kBarrierBytes,
                            kFree = kDone + kTiles * kBarrierBytes;
  static constexpr uint32_t kBarriers = 2 * (kStages + kTiles);

  static constexpr uint32_t kLoadWarp = 0, kMmaWarp = 1, kFirstStoreWarp = 2, kStoreWarps = 4;
  static constexpr uint32_t kThreads = (kFirstStoreWarp + kStoreWarps) * 32;

  uint32_t tiles, barriers, rank;

  /// The number'th use of a barrier of a ring of `count`: the barrier, and the parity of that use.
  struct Use {
    uint32_t barrier, parity;
  };
  [[nodiscard]] __device__ Use use(uint32_t kind, uint32_t count, uint32_t number) const {
    return {barriers + kind + number % count * kBarrierBytes, number / count % 2};
  }
  [[nodiscard]] __device__ uint32_t stage(uint32_t number) const {
    return tiles + number % kStages * kStageBytes;
  }
};

/// A product as pairs divide it: pair p of n takes the tiles of C with the numbers p, p + n and so
/// on, in blocks of K.
struct PairWork {
  uint32_t columns, blocks, tiles;  ///< of C in tiles, of K, of C in all

  template <class Body>
  __device__ void for_each_tile(Body body) const {
    uint32_t number = 0;
    for (uint32_t tile = blockIdx.x / Pair::kCtas; tile < tiles; tile += gridDim.x / Pair::kCtas)
      body(number++, tile / columns * Pair::kSide, tile % columns * Pair::kSide);
  }
};

/// One thread of each CTA.
__device__ void load_for_pair(const Pair& pair, const PairWork& work, const CUtensorMap* map_a,
                              const CUtensorMap* map_b) {
  uint32_t number = 0;
  work.for_each_tile([&](uint32_t, uint32_t row, uint32_t column) {
    for (uint32_t block = 0; block < work.blocks; ++block, ++number) {
      const Pair::Use empty = pair.use(Pair::kEmpty, Pair::kStages, number);
      if (number >= Pair::kStages) wait(empty.barrier, empty.parity ^ 1);
      const uint32_t own_full = pair.use(Pair::kFull, Pair::kStages, number).barrier;
      const uint32_t full = ptx::leader_address(own_full);
      if (pair.rank == 0) ptx::mbarrier_arrive_expect_tx(own_full, Pair::kCtas * Pair::kStageBytes);
      const auto x = static_cast<int32_t>(block * kRowBytes);
      const uint32_t own = pair.rank * kRows;
      ptx::tma_load_2d_pair(pair.stage(number), map_a, full, x, static_cast<int32_t>(row + own));
      ptx::tma_load_2d_pair(pair.stage(number) + Pair::kOperandBytes, map_b, full, x,
                            static_cast<int32_t>(column + own));
    }
  });
}

/// One thread of the pair's first CTA.
__device__ void multiply_for_pair(const Pair& pair, const PairWork& work, uint32_t d) {
  uint32_t number = 0;
  work.for_each_tile([&](uint32_t tile, uint32_t, uint32_t) {
    const Pair::Use free = pair.use(Pair::kFree, Pair::kTiles, tile);
    if (tile >= Pair::kTiles) wait(free.barrier, free.parity ^ 1);
    ptx::tcgen05_fence_after_thread_sync();
    for (uint32_t block = 0; block < work.blocks; ++block, ++number) {
      const Pair::Use full = pair.use(Pair::kFull, Pair::kStages, number);
      wait(full.barrier, full.parity);
      ptx::tcgen05_fence_after_thread_sync();
      const uint32_t a = pair.stage(number), b = a + Pair::kOperandBytes;
#pragma unroll
      for (uint32_t k = 0; k < kRowBytes; k += kMmaBytes) {
        ptx::tcgen05_mma_f8f6f4<2>(
            d + tile % Pair::kTiles * Pair::kSide,
            advance_descriptor(make_k_major_descriptor(a, Swizzle::k128B), k),
            advance_descriptor(make_k_major_descriptor(b, Swizzle::k128B), k),
            make_e4m3_instruction_descriptor<Pair::kSide, Pair::kSide, 2>(), block != 0 || k != 0);
      }
      ptx::tcgen05_commit_multicast<2>(pair.use(Pair::kEmpty, Pair::kStages, number).barrier,
                                       Pair::kAll);
    }
    ptx::tcgen05_commit_multicast<2>(pair.use(Pair::kDone, Pair::kTiles, tile).barrier, Pair::kAll);
  });
}

/// Four warps of each CTA.
__device__ void store_for_pair(const Pair& pair, const PairWork& work, uint32_t d,
                               __nv_bfloat16* c) {
  const uint32_t quarter = threadIdx.x / 32 % Pair::kStoreWarps;
  const size_t pitch = size_t{work.columns} * Pair::kSide;
  work.for_each_tile([&](uint32_t tile, uint32_t row, uint32_t column) {
    const Pair::Use done = pair.use(Pair::kDone, Pair::kTiles, tile);
    wait(done.barrier, done.parity);
    ptx::tcgen05_fence_after_thread_sync();
    const uint32_t own = row + pair.rank * kRows + quarter * 32 + threadIdx.x % 32;
    store<Pair::kSide>((d + (quarter * 32 << 16)) + tile % Pair::kTiles * Pair::kSide,
                       c + own * pitch + column);
    ptx::tcgen05_fence_before_thread_sync();
    __syncwarp();
    if (threadIdx.x % 32 == 0)
      ptx::mbarrier_arrive_cluster(
          ptx::leader_address(pair.use(Pair::kFree, Pair::kTiles, tile).barrier));
  });
}

/// C = A · Bᵀ by pairs of CTAs: with as many pairs as tiles, or with fewer that take several each.
__global__ void __cluster_dims__(Pair::kCtas, 1, 1) __launch_bounds__(Pair::kThreads)
    multiply_in_pairs(const __grid_constant__ CUtensorMap map_a,
                      const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, PairWork work) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barriers[Pair::kBarriers];
  __shared__ uint32_t tmem_address;
  const Pair pair{.tiles = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment,
                  .barriers = ptx::shared_address(barriers),
                  .rank = ptx::cluster_cta_rank()};
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < Pair::kBarriers; ++i) {
      const uint32_t offset = i * kBarrierBytes;
      ptx::mbarrier_init(pair.barriers + offset,
                         offset < Pair::kFree ? 1 : Pair::kCtas * Pair::kStoreWarps);
    }
    ptx::fence_mbarrier_init();
  }
  if (warp == Pair::kMmaWarp)
    ptx::tcgen05_alloc<2>(ptx::shared_address(&tmem_address), Pair::kTiles * Pair::kSide);
  ptx::tcgen05_fence_before_thread_sync();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();
  const uint32_t d = tmem_address;
  if (warp >= Pair::kFirstStoreWarp) {
    store_for_pair(pair, work, d, c);
  } else if (threadIdx.x % 32 == 0) {
    if (warp == Pair::kLoadWarp) load_for_pair(pair, work, &map_a, &map_b);
    if (warp == Pair::kMmaWarp && pair.rank == 0) multiply_for_pair(pair, work, d);
  }
  __syncwarp();
  ptx::tcgen05_fence_before_thread_sync();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();
  if (warp == Pair::kMmaWarp) {
    ptx::tcgen05_relinquish_alloc_permit<2>();
    ptx::tcgen05_dealloc<2>(d, Pair::kTiles * Pair::kSide);
  }
}

/// The matrices of a product, as bytes along K.
struct Operands {
  ByteMatrix a, b;
  explicit Operands(uint32_t side) : a(2 * side, side), b(2 * side, side) {}
};

/// Several products of a size, whose operands do not fit into the L2 cache together.
class Products {
 public:
  Products(Results& results, uint32_t side)
      : results_(results), side_(side), c_(size_t{side} * side) {
    for (int i = 0; i < kOperands; ++i) operands_.push_back(std::make_unique<Operands>(side));
  }

  [[nodiscard]] uint32_t side() const { return side_; }

  /// Adds the rate of a step of the ladder, in TFLOP/s as of bf16: the average of launches that
  /// follow one another. `launch` enqueues one of the maps of A and B with boxes of these widths
  /// and heights.
  template <class Launch>
  void add(const char* name, uint32_t box_bytes, uint32_t b_rows, Launch launch) {
    const int launches = is_simulated() ? kOperands - 1 : 50;
    const Stream stream;
    EventTimer timer;
    for (int i = 0; i <= launches; ++i) {
      const Operands& own = *operands_[i % kOperands];
      launch(own.a.map(box_bytes, kRows), own.b.map(box_bytes, b_rows), c_.data(), stream.get());
      if (i == 0) timer.start(stream.get());
    }
    const double seconds = timer.stop(stream.get()) * 1e-3 / launches;
    constexpr double kTera = 1e12;
    results_.add(std::string("ladder.") + name, "side=" + std::to_string(side_), "TFLOP/s",
                 2.0 * side_ * side_ * side_ / seconds / kTera);
  }

 private:
  static constexpr int kOperands = 3;

  Results& results_;
  uint32_t side_;
  DeviceBuffer<__nv_bfloat16> c_;
  std::vector<std::unique_ptr<Operands>> operands_;
};

template <class S>
void add_step(Products& products, const char* name) {
  const auto kernel = multiply_tiles<S>;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), S::kSharedBytes);
  const uint32_t side = products.side();
  products.add(
      name, S::kNarrow ? kNarrowBytes : kRowBytes, S::kColumns,
      [&](const CUtensorMap& a, const CUtensorMap& b, __nv_bfloat16* c, cudaStream_t stream) {
        const uint32_t tiles = side / kRows * (side / S::kColumns);
        kernel<<<tiles, kThreads, S::kSharedBytes, stream>>>(a, b, c, side,
                                                             2 * side / kRowBytes / S::kDepth);
      });
}

/// `most_ctas`: how many CTAs there are at most.
void add_pairs(Products& products, const char* name, uint32_t most_ctas) {
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(multiply_in_pairs), Pair::kSharedBytes);
  const uint32_t in_a_row = products.side() / Pair::kSide;
  const PairWork work{
      .columns = in_a_row, .blocks = 2 * products.side() / kRowBytes, .tiles = in_a_row * in_a_row};
  products.add(
      name, kRowBytes, kRows,
      [&](const CUtensorMap& a, const CUtensorMap& b, __nv_bfloat16* c, cudaStream_t stream) {
        multiply_in_pairs<<<std::min(most_ctas, work.tiles * Pair::kCtas), Pair::kThreads,
                            Pair::kSharedBytes, stream>>>(a, b, c, work);
      });
}

}  // namespace

void measure_ladder(Results& results) {
  constexpr uint32_t kSide = 4096, kSms = 148, kNoRest = 128, kNoLimit = ~0u;
  Products products(results, kSide);
  add_step<NarrowRows>(products, "narrow_rows");
  add_step<Swizzled>(products, "swizzled");
  add_step<Pipelined>(products, "pipelined");
  add_step<WarpSpecialised>(products, "warp_specialised");
  add_pairs(products, "pairs", kNoLimit);
  add_pairs(products, "persistent", kSms);
  add_pairs(products, "even_persistent", kNoRest);
}

}  // namespace bw::timing
