/// \file
/// A ladder of matrix products, each with one idea more than the one before, in the manner of
/// published ones (learn-cuda, versions 0 to 7): one by mma.sync, the others by tcgen05. The timing
/// model is never fitted to them.
///
/// The published times are averages of many launches, one right after the other, each with
/// operands of its own. So the ladder takes operands in turn that do not fit into the L2 cache
/// together, and no launch finds its own there.
///
/// Operands of tcgen05 are e4m3 with twice the K of bf16: as many bytes, and as many cycles of the
/// tensor cores. Those of mma.sync, which has e4m3 at another rate, are bf16.

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "common/device/cluster.cuh"
#include "common/device/cluster_launch_control.cuh"
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
#include "tests/hardware/timing/random_matrix.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"
#include "tests/hardware/timing/warp_mma.cuh"

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
  static constexpr uint32_t kAnswered = kFree + kTiles * kBarrierBytes,
                            kTaken = kAnswered + kBarrierBytes;
  static constexpr uint32_t kBarriers = 2 * (kStages + kTiles);
  static constexpr uint32_t kLaunchControlBarriers = kBarriers + 2;

  static constexpr uint32_t kLoadWarp = 0, kMmaWarp = 1, kFirstStoreWarp = 2, kStoreWarps = 4,
                            kAskWarp = kFirstStoreWarp + kStoreWarps;
  static constexpr uint32_t kThreads = (kFirstStoreWarp + kStoreWarps) * 32;
  static constexpr uint32_t kLaunchControlThreads = kThreads + 32;
  /// Threads of both CTAs that take a tile: those that load, the one that multiplies, those that
  /// store.
  static constexpr uint32_t kTakers = kCtas + 1 + kCtas * kStoreWarps * 32;

  uint32_t tiles, barriers, rank;
  uint32_t answer;  ///< of cluster launch control

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

__device__ void wait_for_cluster(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity_cluster(barrier, parity)) {
  }
}

/// A product as pairs divide it, in blocks of K: pair p of n takes the tiles of C with the numbers
/// p, p + n and so on.
struct DividedTiles {
  static constexpr bool kAsks = false;
  uint32_t columns, blocks, tiles;  ///< of C in tiles, of K, of C in all

  template <class Body>
  __device__ void for_each_tile(const Pair& /*pair*/, Body body) const {
    uint32_t number = 0;
    for (uint32_t tile = blockIdx.x / Pair::kCtas; tile < tiles; tile += gridDim.x / Pair::kCtas)
      body(number++, tile / columns * Pair::kSide, tile % columns * Pair::kSide);
  }
};

/// The same by cluster launch control: a pair takes the tile with its number, and then those of
/// pairs that have not started.
struct TilesOnRequest {
  static constexpr bool kAsks = true;
  uint32_t columns, blocks;  ///< of C in tiles, of K

  template <class Body>
  __device__ void for_each_tile(const Pair& pair, Body body) const {
    uint32_t tile = blockIdx.x / Pair::kCtas;
    for (uint32_t number = 0;; ++number) {
      body(number, tile / columns * Pair::kSide, tile % columns * Pair::kSide);
      wait_for_cluster(pair.barriers + Pair::kAnswered, number % 2);
      const ptx::CanceledCluster next = ptx::launch_control_query(pair.answer);
      ptx::fence_proxy_async_shared();  // the next answer overwrites what was read
      ptx::mbarrier_arrive_cluster(ptx::leader_address(pair.barriers + Pair::kTaken));
      if (!next.is_canceled) return;
      tile = next.first_cta_x / Pair::kCtas;
    }
  }
};

/// One thread of the pair's first CTA: requests tiles, one when all have taken the one before,
/// until none is left.
__device__ void request_tiles(const Pair& pair) {
  const uint32_t answered = pair.barriers + Pair::kAnswered;
  constexpr uint32_t kBytes = sizeof(ptx::LaunchControlResponse);
  for (uint32_t number = 0;; ++number) {
    if (number > 0) wait_for_cluster(pair.barriers + Pair::kTaken, (number - 1) % 2);
    for (uint32_t rank = 0; rank < Pair::kCtas; ++rank)
      ptx::mbarrier_arrive_expect_tx_cluster(ptx::map_to_cta(answered, rank), kBytes);
    ptx::launch_control_try_cancel<true>(pair.answer, answered);
    wait_for_cluster(answered, number % 2);
    const bool is_canceled = ptx::launch_control_query(pair.answer).is_canceled;
    ptx::fence_proxy_async_shared();
    if (!is_canceled) return;
  }
}

/// One thread of each CTA.
template <class Work>
__device__ void load_for_pair(const Pair& pair, const Work& work, const CUtensorMap* map_a,
                              const CUtensorMap* map_b) {
  uint32_t number = 0;
  work.for_each_tile(pair, [&](uint32_t, uint32_t row, uint32_t column) {
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
template <class Work>
__device__ void multiply_for_pair(const Pair& pair, const Work& work, uint32_t d) {
  uint32_t number = 0;
  work.for_each_tile(pair, [&](uint32_t tile, uint32_t, uint32_t) {
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
template <class Work>
__device__ void store_for_pair(const Pair& pair, const Work& work, uint32_t d, __nv_bfloat16* c) {
  const uint32_t quarter = threadIdx.x / 32 % Pair::kStoreWarps;
  const size_t pitch = size_t{work.columns} * Pair::kSide;
  work.for_each_tile(pair, [&](uint32_t tile, uint32_t row, uint32_t column) {
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
template <class Work>
__global__ void __cluster_dims__(Pair::kCtas, 1, 1)
    __launch_bounds__(Work::kAsks ? Pair::kLaunchControlThreads : Pair::kThreads)
        multiply_in_pairs(const __grid_constant__ CUtensorMap map_a,
                          const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, Work work) {
  constexpr uint32_t kBarriers = Work::kAsks ? Pair::kLaunchControlBarriers : Pair::kBarriers;
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barriers[kBarriers];
  __shared__ ptx::LaunchControlResponse answer;
  __shared__ uint32_t tmem_address;
  const Pair pair{.tiles = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment,
                  .barriers = ptx::shared_address(barriers),
                  .rank = ptx::cluster_cta_rank(),
                  .answer = ptx::shared_address(&answer)};
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < kBarriers; ++i) {
      const uint32_t offset = i * kBarrierBytes;
      const bool is_free = offset >= Pair::kFree && offset < Pair::kAnswered;
      ptx::mbarrier_init(pair.barriers + offset, is_free ? Pair::kCtas * Pair::kStoreWarps
                                                 : offset == Pair::kTaken ? Pair::kTakers
                                                                          : 1);
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
  if (warp >= Pair::kFirstStoreWarp && warp < Pair::kAskWarp) {
    store_for_pair(pair, work, d, c);
  } else if (threadIdx.x % 32 == 0) {
    if constexpr (Work::kAsks) {
      if (warp == Pair::kAskWarp && pair.rank == 0) request_tiles(pair);
    }
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

/// A product's size: C has `side` x `side` elements, K has as many bytes as `depth` elements of
/// bf16.
struct ProductSize {
  uint32_t side, depth;
  [[nodiscard]] uint32_t row_bytes() const { return 2 * depth; }
};

/// The matrices of a product, as bytes along K.
struct Operands {
  ByteMatrix a, b;
  explicit Operands(ProductSize size)
      : a(size.row_bytes(), size.side), b(size.row_bytes(), size.side) {}
};

/// Several products of a size, whose operands do not fit into the L2 cache together: their rates.
class Rates {
 public:
  Rates(Results& results, ProductSize size)
      : results_(results), size_(size), c_(size_t{size.side} * size.side) {
    for (int i = 0; i < kOperands; ++i) operands_.emplace_back(size);
  }

  [[nodiscard]] ProductSize size() const { return size_; }

  /// Adds the rate of a step of the ladder, in TFLOP/s as of bf16: the average of launches that
  /// follow one another. `launch` enqueues one of A, B and C.
  template <class Element, class Launch>
  void add(const char* name, Launch launch) {
    const int launches = is_simulated() ? kOperands - 1 : 50;
    const Stream stream;
    EventTimer timer;
    for (int i = 0; i <= launches; ++i) {
      const Operands& own = operands_[i % kOperands];
      launch(own.a, own.b, c_.data(), stream.get());
      if (i == 0) timer.start(stream.get());
    }
    const double seconds = timer.stop(stream.get()) * 1e-3 / launches;
    constexpr double kTera = 1e12;
    results_.add(std::string("ladder.") + name, "side=" + std::to_string(size_.side), "TFLOP/s",
                 2.0 * size_.side * size_.side * size_.depth / seconds / kTera);
  }

 private:
  static constexpr int kOperands = 3;

  Results& results_;
  ProductSize size_;
  DeviceBuffer<__nv_bfloat16> c_;
  std::deque<Operands> operands_;  ///< which don't move
};

/// Products of random operands, and how far they are from the sums that they should be.
class Errors {
 public:
  Errors(Results& results, ProductSize size) : results_(results), size_(size) {}

  [[nodiscard]] ProductSize size() const { return size_; }

  /// Adds the error of a step of the ladder. Throws Error if it is too large.
  template <class Element, class Launch>
  void add(const char* name, Launch launch) {
    const RandomMatrix<Element> a(size_.row_bytes(), size_.side, 1),
        b(size_.row_bytes(), size_.side, 2);
    DeviceBuffer<__nv_bfloat16> c(size_t{size_.side} * size_.side);
    c.fill_bytes(0);
    const Stream stream;
    launch(a, b, c.data(), stream.get());
    check_cuda(cudaStreamSynchronize(stream.get()), "finish a product");
    const double error = product_error(a, b, c.download(), size_.side);
    require(error < kRoundedToBf16, "Step ", name,
            " of the ladder is wrong: elements of C are off by ", error,
            " of the sum of their products' sizes.");
    results_.add(std::string("ladder_errors.") + name, "", "", error);
  }

 private:
  Results& results_;
  ProductSize size_;
};

template <class Products>
void add_warp_mma(Products& products, const char* name) {
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(multiply_by_warps),
                              WarpMma::kSharedBytes);
  const ProductSize size = products.size();
  products.template add<__nv_bfloat16>(name, [=](const ByteMatrix& a, const ByteMatrix& b,
                                                 __nv_bfloat16* c, cudaStream_t stream) {
    const uint32_t in_a_row = size.side / WarpMma::kSide;
    multiply_by_warps<<<in_a_row * in_a_row, WarpMma::kThreads, WarpMma::kSharedBytes, stream>>>(
        a.data(), b.data(), c, size.side, size.row_bytes() / WarpMma::kRowBytes);
  });
}

template <class S, class Products>
void add_step(Products& products, const char* name) {
  const auto kernel = multiply_tiles<S>;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), S::kSharedBytes);
  const ProductSize size = products.size();
  products.template add<__nv_fp8_e4m3>(
      name, [=](const ByteMatrix& a, const ByteMatrix& b, __nv_bfloat16* c, cudaStream_t stream) {
        constexpr uint32_t kBoxBytes = S::kNarrow ? kNarrowBytes : kRowBytes;
        const uint32_t tiles = size.side / kRows * (size.side / S::kColumns);
        kernel<<<tiles, kThreads, S::kSharedBytes, stream>>>(
            a.map(kBoxBytes, kRows), b.map(kBoxBytes, S::kColumns), c, size.side,
            size.row_bytes() / kRowBytes / S::kDepth);
      });
}

DividedTiles divided_tiles(ProductSize size) {
  const uint32_t in_a_row = size.side / Pair::kSide;
  return {
      .columns = in_a_row, .blocks = size.row_bytes() / kRowBytes, .tiles = in_a_row * in_a_row};
}

template <class Products, class Work>
void add_pairs(Products& products, const char* name, uint32_t ctas, Work work) {
  const auto kernel = multiply_in_pairs<Work>;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), Pair::kSharedBytes);
  products.template add<__nv_fp8_e4m3>(name, [=](const ByteMatrix& a, const ByteMatrix& b,
                                                 __nv_bfloat16* c, cudaStream_t stream) {
    kernel<<<ctas, Work::kAsks ? Pair::kLaunchControlThreads : Pair::kThreads, Pair::kSharedBytes,
             stream>>>(a.map(kRowBytes, kRows), b.map(kRowBytes, kRows), c, work);
  });
}

/// The ladder's steps in which each CTA or pair computes one tile.
template <class Products>
void climb_by_tiles(Products& products) {
  add_warp_mma(products, "warp_mma");
  add_step<NarrowRows>(products, "narrow_rows");
  add_step<Swizzled>(products, "swizzled");
  add_step<Pipelined>(products, "pipelined");
  add_step<WarpSpecialised>(products, "warp_specialised");
  const DividedTiles divided = divided_tiles(products.size());
  add_pairs(products, "pairs", Pair::kCtas * divided.tiles, divided);
}

/// The steps after those: a pair computes tiles one after the other.
template <class Products>
void climb_by_rounds(Products& products) {
  constexpr uint32_t kSms = 148, kNoRest = 128;
  const DividedTiles divided = divided_tiles(products.size());
  add_pairs(products, "persistent", kSms, divided);
  add_pairs(products, "even_persistent", kNoRest, divided);
  add_pairs(products, "launch_control", Pair::kCtas * divided.tiles,
            TilesOnRequest{.columns = divided.columns, .blocks = divided.blocks});
}

}  // namespace

void measure_ladder(Results& results) {
  Rates rates(results, {.side = 4096, .depth = 4096});
  climb_by_tiles(rates);
  climb_by_rounds(rates);
}

void measure_ladder_errors(Results& results) {
  // Several tiles, and more blocks of K than stages.
  Errors of_tiles(results, {.side = 768, .depth = 512});
  climb_by_tiles(of_tiles);
  // The same, and more tiles than pairs that run at the same time.
  Errors of_rounds(results, {.side = 2304, .depth = 512});
  climb_by_rounds(of_rounds);
}

}  // namespace bw::timing
