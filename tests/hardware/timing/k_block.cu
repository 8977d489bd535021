/// \file
/// A consumer warpgroup's work on a K block and on a slice of its output, taken apart and put
/// together piece by piece: what Hopper's blockwise GEMM does between two stages of a ring that is
/// always full, and after its last one. One warpgroup and two; the ring with concurrent copies;
/// single instructions and copies during MMAs.

#include <limits>
#include <string>
#include <vector>

#include "common/device/bulk_copy.cuh"
#include "common/device/convert.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/global_store.cuh"
#include "common/device/matrix_copy.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_load.cuh"
#include "common/device/swizzle.cuh"
#include "common/device/tma_store.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/k_block.cuh"
#include "tests/hardware/timing/measurement.hpp"

namespace bw::timing {
namespace {

/// Rounds of the warpgroups of the CTA, each one K block.
template <int n, uint32_t pieces>
__global__ void __launch_bounds__(kMostThreads, 1)
    rounds_of_blocks(Span* spans, const uint8_t* source, uint32_t warpgroups, uint32_t none,
                     float one, uint32_t* sink) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t full[kStages], empty[kStages];
  const uint32_t base = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t first_full = ptx::shared_address(full);
  const uint32_t first_empty = ptx::shared_address(empty);
  constexpr bool kHasCopies = (pieces & kCopies) != 0;
  clear(base, kRingBytes<n> - kAlignment);
  make_ring(first_full, first_empty, kHasCopies ? warpgroups * 4 : kManyArrivals);
  const uint32_t warpgroup = __shfl_sync(0xffffffff, threadIdx.x / kGroupThreads, 0);
  if (warpgroup == warpgroups) {
    if constexpr (kHasCopies) {
      if (ptx::elect_one()) {
        uint32_t stage = 0, lap = 0;
#pragma unroll 1
        for (int i = 0; i < kPasses * kRounds; ++i) {
          const uint32_t barrier = first_full + stage * kBarrierBytes;
          const uint32_t destination = base + stage * kStageBytes<n>;
          constexpr uint32_t kOfA = 2 * kMmaRows * kRowBytes, kOfB = n * kRowBytes;
          wait(first_empty + stage * kBarrierBytes, (lap & 1) ^ 1);
          ptx::mbarrier_arrive_expect_tx(barrier, kOfA + kOfB);
          ptx::bulk_load(destination, source, kOfA, barrier);
          ptx::bulk_load(destination + kOfA, source + kOfA, kOfB, barrier);
          if (++stage == kStages) {
            stage = 0;
            ++lap;
          }
        }
      }
      __syncwarp();
    }
    return;
  }
  Consumer<n, pieces> consumer(base, first_full, first_empty, warpgroup, none, one);
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < kPasses; ++pass) {
    begin = cycle();
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) consumer.block();
    end = cycle();
  }
  if (threadIdx.x % 32 == 0) spans[threadIdx.x / 32] = {begin, end};
  consumer.keep_all(sink);
}

template <int n, uint32_t pieces>
void add_block(Results& results, const uint8_t* source, const char* what) {
  const auto kernel = rounds_of_blocks<n, pieces>;
  constexpr uint32_t kBytes = kRingBytes<n>;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kBytes);
  for (const uint32_t warpgroups : {1u, 2u}) {
    const uint32_t threads = warpgroups * kGroupThreads + ((pieces & kCopies) != 0 ? 32 : 0);
    const double cycles = least_cycles(1, warpgroups * 4, [&](Span* s) {
      kernel<<<1, threads, kBytes>>>(s, source, warpgroups, 0, 1.0f, nullptr);
    });
    results.add(
        "k_block.rounds",
        std::string(what) + " n=" + std::to_string(n) + " warpgroups=" + std::to_string(warpgroups),
        "cycles", cycles / kRounds);
  }
}

template <int n>
void add_blocks(Results& results, const uint8_t* source) {
  constexpr uint32_t kTested = kWait | kEarly;
  add_block<n, kMmas>(results, source, "mmas");
  add_block<n, kPromote>(results, source, "promote");
  add_block<n, kMmas | kPromote>(results, source, "mmas promote");
  add_block<n, kMmas | kArrive>(results, source, "mmas arrive");
  add_block<n, kWait | kMmas>(results, source, "wait mmas");
  add_block<n, kTested | kMmas>(results, source, "test mmas");
  add_block<n, kScales | kMmas | kPromote>(results, source, "scales mmas promote");
  add_block<n, kMmas | kArrive | kPromote>(results, source, "mmas arrive promote");
  add_block<n, kWait | kScales | kMmas | kPromote>(results, source, "wait scales mmas promote");
  add_block<n, kWait | kScales | kMmas | kArrive | kPromote>(results, source,
                                                             "wait scales mmas arrive promote");
  add_block<n, kTested | kScales | kMmas | kArrive | kPromote>(results, source,
                                                               "test scales mmas arrive promote");
  add_block<n, kTested | kScales | kMmas | kArrive | kPromote | kCopies>(results, source, "ring");
}

/// Pieces without MMAs.
void add_pieces(Results& results, const uint8_t* source) {
  add_block<32, kWait>(results, source, "wait");
  add_block<32, kWait | kEarly>(results, source, "test");
  add_block<32, kScales | kPromote>(results, source, "scales promote");
  add_block<32, kArrive>(results, source, "arrive");
  add_block<32, kWait | kArrive>(results, source, "wait arrive");
  add_block<32, kWait | kScales | kArrive | kPromote>(results, source,
                                                      "wait scales arrive promote");
}

// ---- A slice of the output

/// What a round of the output holds.
enum OutputPiece : uint32_t {
  kFill = 1,      ///< sums become bf16 and go to shared memory by stmatrix
  kReadBack = 2,  ///< each lane reads 16 bytes of a row, as often as the warp's 16 rows take
  kStore = 4,     ///< which it stores if they are in the matrix
  kHandOver = 8,  ///< another warp stores the slice by a copy
};

/// A warpgroup's slice of 64 rows and `columns` columns of bf16, round after round in `slots`
/// slots.
template <int columns, uint32_t pieces, uint32_t slots>
__global__ void __launch_bounds__(kMostThreads + 32, 1)
    rounds_of_slices(Span* spans, uint8_t* output, uint32_t warpgroups, uint32_t rows,
                     uint32_t pitch_bytes, float one, uint32_t* sink) {
  constexpr uint32_t kSliceBytes = Slice<columns>::kBytes;
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t full[2][slots], empty[2][slots];
  const uint32_t base = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  clear(base, 2 * slots * kSliceBytes);
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < 2 * slots; ++i) {
      ptx::mbarrier_init(ptx::shared_address(full[0] + i), 4);
      ptx::mbarrier_init(ptx::shared_address(empty[0] + i), 1);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const uint32_t warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  const bool fills = warp < warpgroups * 4;
  const uint32_t warpgroup = fills ? warp / 4 : warp - warpgroups * 4;
  const uint32_t first_slot = base + warpgroup * slots * kSliceBytes;
  const uint32_t first_full = ptx::shared_address(full[warpgroup]);
  const uint32_t first_empty = ptx::shared_address(empty[warpgroup]);
  if (!fills) {
    if constexpr ((pieces & kHandOver) != 0) {
      if (ptx::elect_one()) {
#pragma unroll 1
        for (uint32_t i = 0; i < kPasses * kRounds; ++i) {
          const uint32_t slot = i % slots, lap = i / slots;
          wait(first_full + slot * kBarrierBytes, lap & 1);
          ptx::fence_proxy_async_shared();
          ptx::bulk_store(output + warpgroup * kSliceBytes, first_slot + slot * kSliceBytes,
                          kSliceBytes);
          ptx::bulk_commit_group();
          ptx::bulk_wait_group_read<0>();
          ptx::mbarrier_arrive(first_empty + slot * kBarrierBytes);
        }
        ptx::bulk_wait_group<0>();
      }
      __syncwarp();
    }
    return;
  }
  const uint32_t lane = threadIdx.x % 32;
  float values[columns / 2];
#pragma unroll
  for (int i = 0; i < columns / 2; ++i) values[i] = one * i;
  uint32_t read = 0;
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < kPasses; ++pass) {
    begin = cycle();
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
      const uint32_t i = pass * kRounds + round;
      const uint32_t slot = i % slots, lap = i / slots;
      const uint32_t place = first_slot + slot * kSliceBytes;
      if constexpr ((pieces & kHandOver) != 0)
        wait(first_empty + slot * kBarrierBytes, (lap & 1) ^ 1);
        // New ones each round: ptxas would convert once, before the loop.
#pragma unroll
      for (float& value : values) value *= one;
      Slice<columns>::fill(values, place);
      if constexpr ((pieces & kHandOver) != 0) {
        if (lane == 0) ptx::mbarrier_arrive(first_full + slot * kBarrierBytes);
        __syncwarp();
      }
      if constexpr ((pieces & kReadBack) != 0)
        Slice<columns>::template read_back<(pieces & kStore) != 0>(
            place, output, warpgroup * kMmaRows, rows, pitch_bytes, read);
    }
    end = cycle();
  }
  if (lane == 0) spans[warp] = {begin, end};
  keep(read, sink);
}

template <int columns, uint32_t pieces, uint32_t slots = 1>
void add_slice(Results& results, uint8_t* output, const char* what) {
  const auto kernel = rounds_of_slices<columns, pieces, slots>;
  constexpr uint32_t kBytes = 2 * slots * kMmaRows * columns * 2 + kAlignment;
  constexpr uint32_t kPitchBytes = 1024;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kBytes);
  for (const uint32_t warpgroups : {1u, 2u}) {
    const uint32_t threads = warpgroups * (kGroupThreads + ((pieces & kHandOver) != 0 ? 32 : 0));
    const double cycles = least_cycles(1, warpgroups * 4, [&](Span* s) {
      kernel<<<1, threads, kBytes>>>(s, output, warpgroups, 2 * kMmaRows, kPitchBytes, 1.0f,
                                     nullptr);
    });
    results.add("k_block.slice",
                std::string(what) + " columns=" + std::to_string(columns) +
                    " warpgroups=" + std::to_string(warpgroups),
                "cycles", cycles / kRounds);
  }
}

template <int columns>
void add_slices(Results& results, uint8_t* output) {
  add_slice<columns, kFill>(results, output, "fill");
  add_slice<columns, kFill | kReadBack>(results, output, "fill read");
  add_slice<columns, kFill | kReadBack | kStore>(results, output, "fill read store");
  add_slice<columns, kFill | kHandOver, 1>(results, output, "one slot");
  add_slice<columns, kFill | kHandOver, kMostSlots>(results, output, "two slots");
}

// ---- A tile

/// The pieces of a tile in addition to its K blocks.
enum TilePiece : uint32_t {
  kBegin = 1,  ///< a load from the L2 cache gives the scales that the first block needs
  kWrite = 2,  ///< the sums are written, slice after slice, and are zero again
};
constexpr int kTiles = 8;  // of a pass

/// Tiles of `blocks` K blocks each, 64 x n for a warpgroup, written where no tile was before.
template <int n, uint32_t pieces>
__global__ void __launch_bounds__(kMostThreads, 1)
    rounds_of_tiles(Span* spans, uint8_t* output, const float* scales, uint32_t warpgroups,
                    uint32_t blocks, uint32_t rows, uint32_t pitch_bytes, uint32_t none, float one,
                    uint32_t* sink) {
  constexpr int kColumns = n < 64 ? n : 64;
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t full[kStages], empty[kStages];
  const uint32_t base = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  clear(base, kRingBytes<n> - kAlignment + 2 * Slice<kColumns>::kBytes);
  make_ring(ptx::shared_address(full), ptx::shared_address(empty), kManyArrivals);
  const uint32_t warpgroup = __shfl_sync(0xffffffff, threadIdx.x / kGroupThreads, 0);
  const uint32_t place = base + kRingBytes<n> + warpgroup * Slice<kColumns>::kBytes;
  constexpr uint32_t kBlockPieces = kWait | kEarly | kScales | kMmas | kArrive | kPromote;
  Consumer<n, kBlockPieces> consumer(base, ptx::shared_address(full), ptx::shared_address(empty),
                                     warpgroup, none, one);
  uint32_t read = 0;
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < kPasses; ++pass) {
    begin = cycle();
#pragma unroll 1
    for (int tile = 0; tile < kTiles; ++tile) {
      if constexpr ((pieces & kBegin) != 0) {
        asm volatile("ld.global.cg.f32 %0, [%1];"
                     : "=f"(consumer.of_lane)
                     : "l"(scales + tile * 32 + threadIdx.x % 32)
                     : "memory");
        consumer.step = 0;
      }
#pragma unroll 1
      for (uint32_t k = 0; k < blocks; ++k) consumer.block();
      if constexpr ((pieces & kWrite) != 0) {
        const uint32_t row = ((pass * kTiles + tile) * 2 + warpgroup) * kMmaRows;
#pragma unroll
        for (int column = 0; column < n; column += kColumns) {
          Slice<kColumns>::fill(consumer.sum + column / 2, place);
          Slice<kColumns>::template read_back<true>(place, output + column * 2, row, rows,
                                                    pitch_bytes, read);
        }
#pragma unroll
        for (float& x : consumer.sum) x = 0;
      }
    }
    end = cycle();
  }
  if (threadIdx.x % 32 == 0) spans[threadIdx.x / 32] = {begin, end};
  consumer.keep_all(sink);
}

constexpr uint32_t kTileRows = kPasses * kTiles * 2 * kMmaRows, kTilePitchBytes = 1024;

template <int n, uint32_t pieces>
void add_tile(Results& results, uint8_t* output, const float* scales, const char* what) {
  const auto kernel = rounds_of_tiles<n, pieces>;
  constexpr uint32_t kBytes = kRingBytes<n> + 2 * kMmaRows * 128 + kAlignment;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kBytes);
  for (const uint32_t blocks : {4u, 12u}) {
    const double cycles = least_cycles(1, 8, [&](Span* s) {
      kernel<<<1, 2 * kGroupThreads, kBytes>>>(s, output, scales, 2, blocks, kTileRows,
                                               kTilePitchBytes, 0, 1.0f, nullptr);
    });
    results.add("k_block.tile",
                std::string(what) + " n=" + std::to_string(n) + " blocks=" + std::to_string(blocks),
                "cycles", cycles / kTiles);
  }
}

template <int n>
void add_tiles(Results& results, uint8_t* output, const float* scales) {
  add_tile<n, 0>(results, output, scales, "blocks");
  add_tile<n, kBegin>(results, output, scales, "begin blocks");
  add_tile<n, kWrite>(results, output, scales, "blocks write");
  add_tile<n, kBegin | kWrite>(results, output, scales, "begin blocks write");
}

// ---- Beside MMAs

constexpr int kMmasPerBatch = 4 * kMmasPerBlock;

/// Batches of MMAs of a warpgroup until `ended` is set. Its four warps decide together: one reads
/// the flag, and a barrier separates that from the others' reading of what it read.
template <int n>
__device__ void multiply_until(const volatile uint32_t& ended, uint32_t a_tile, uint32_t b_tile,
                               uint32_t* sink) {
  __shared__ volatile uint32_t decisions[3][2];
  const uint64_t a = wgmma_descriptor(wgmma_descriptor_low(a_tile));
  const uint64_t b = wgmma_descriptor(wgmma_descriptor_low(b_tile));
  const uint32_t warpgroup = threadIdx.x / kGroupThreads;
  float d[n / 2];
#pragma unroll
  for (float& x : d) x = 0;
#pragma unroll 1
  for (uint32_t batch = 0;; ++batch) {
    volatile uint32_t& decision = decisions[warpgroup][batch % 2];
    if (threadIdx.x % kGroupThreads == 0) decision = ended;
    asm volatile("bar.sync %0, %1;" ::"r"(warpgroup + 2), "r"(kGroupThreads) : "memory");
    if (__shfl_sync(0xffffffff, decision, 0) != 0) break;
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < kMmasPerBatch; ++i)
      ptx::wgmma_e4m3(d, a + i % kMmasPerBlock * kDescriptorStep,
                      b + i % kMmasPerBlock * kDescriptorStep, true);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    ptx::wgmma_hold(d);
  }
  float total = 0;
#pragma unroll
  for (const float x : d) total += x;
  keep(__float_as_uint(total), sink);
}

/// What the first warpgroup does, round after round.
enum class Work { loads, tests, waits, arrivals, promotions, matrix_stores };

constexpr const char* kWorkNames[] = {"load",    "test",       "wait",
                                      "arrival", "promotions", "matrix_stores"};
constexpr int kPromoted = 64;
constexpr int kRepeated = 8;

/// Four warps work while `warpgroups` others multiply 64 x n until they have ended.
template <Work work, int n>
__global__ void __launch_bounds__(3 * kGroupThreads, 1)
    work_beside_mmas(Span* spans, uint32_t none, float one, uint32_t* sink) {
  extern __shared__ uint8_t raw[];
  __shared__ volatile uint32_t ended;
  __shared__ uint64_t barriers[4];
  const uint32_t base = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  constexpr uint32_t kOperandBytes = kStageBytes<n>;
  const uint32_t own = base + kOperandBytes + threadIdx.x * 16;
  clear(base, kOperandBytes + kGroupThreads * 16);
  if (threadIdx.x == 0) {
    ended = 0;
    constexpr uint32_t kManyArrivals = 1 << 16;
    for (uint64_t& barrier : barriers)
      ptx::mbarrier_init(ptx::shared_address(&barrier), kManyArrivals);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const uint32_t warpgroup = __shfl_sync(0xffffffff, threadIdx.x / kGroupThreads, 0);
  if (warpgroup != 0) {
    multiply_until<n>(ended, base + (warpgroup - 1) * kMmaRows * kRowBytes,
                      base + 2 * kMmaRows * kRowBytes, sink);
    return;
  }
  const uint32_t barrier = ptx::shared_address(&barriers[threadIdx.x / 32]);
  float values[kPromoted], sums[kPromoted];
#pragma unroll
  for (int i = 0; i < kPromoted; ++i) values[i] = sums[i] = one * i;
  uint32_t x = none;
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < kPasses; ++pass) {
    begin = cycle();
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
      if constexpr (work == Work::promotions) ptx::wgmma_hold(values);
#pragma unroll
      for (int i = 0; i < kRepeated; ++i) {
        if constexpr (work == Work::loads) {
          asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(own + x) : "memory");
        } else if constexpr (work == Work::tests) {
          x = ptx::mbarrier_test_wait_parity(barrier, 1 ^ (x & none)) ? 1 : 0;
        } else if constexpr (work == Work::waits) {
          wait(barrier, 1);
        } else if constexpr (work == Work::arrivals) {
          if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(barrier);
          __syncwarp();
        } else if constexpr (work == Work::matrix_stores) {
          ptx::stmatrix_x4(own, x, x, x, x);
        } else {
#pragma unroll
          for (int k = 0; k < kPromoted; ++k)
            if (k % kRepeated == i) sums[k] = fmaf(values[k], one, sums[k]);
        }
      }
    }
    end = cycle();
  }
  asm volatile("bar.sync 1, %0;" ::"r"(kGroupThreads) : "memory");
  if (threadIdx.x == 0) ended = 1;
  if (threadIdx.x % 32 == 0) spans[threadIdx.x / 32] = {begin, end};
  float total = 0;
#pragma unroll
  for (const float s : sums) total += s;
  keep(__float_as_uint(total) ^ x, sink);
}

template <Work work, int n>
void add_beside(Results& results) {
  const auto kernel = work_beside_mmas<work, n>;
  constexpr uint32_t kBytes = kStageBytes<n> + kGroupThreads * 16 + kAlignment;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kBytes);
  for (const uint32_t warpgroups : {0u, 1u, 2u}) {
    const double cycles = least_cycles(1, 4, [&](Span* s) {
      kernel<<<1, (1 + warpgroups) * kGroupThreads, kBytes>>>(s, 0, 1.0f, nullptr);
    });
    const bool is_round = work == Work::promotions;
    results.add(std::string("k_block.") + kWorkNames[static_cast<int>(work)],
                "n=" + std::to_string(n) + " multiplying=" + std::to_string(warpgroups), "cycles",
                cycles / (is_round ? kRounds : kRounds * kRepeated));
  }
}

template <int n, Work... work>
void add_all_beside(Results& results) {
  (add_beside<work, n>(results), ...);
}

// ---- Copies during MMAs

constexpr uint32_t kBoxBytes = 16384;
constexpr uint32_t kBoxes = 8;
constexpr uint32_t kManyCopies = 96;

/// `warpgroups` multiply until an elected thread has brought
/// kManyCopies boxes, kBoxes of them in flight. Spans: of that thread's warp.
template <int n>
__global__ void __launch_bounds__(kMostThreads, 1)
    copies_beside_mmas(Span* spans, const uint8_t* source, uint32_t warpgroups, uint32_t* sink) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barriers[kBoxes];
  __shared__ volatile uint32_t ended;
  const uint32_t base = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  clear(base, kStageBytes<n>);
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : barriers) ptx::mbarrier_init(ptx::shared_address(&barrier), 1);
    ptx::fence_mbarrier_init();
    ended = 0;
  }
  __syncthreads();
  const uint32_t warpgroup = __shfl_sync(0xffffffff, threadIdx.x / kGroupThreads, 0);
  if (warpgroup == warpgroups) {
    if (ptx::elect_one()) {
      const uint32_t first = ptx::shared_address(barriers);
      const uint32_t ring = base + kStageBytes<n>;
      int64_t begin = 0;
      uint32_t box = 0, lap = 0;
#pragma unroll 1
      for (uint32_t i = 0; i < kManyCopies + kBoxes; ++i) {
        const uint32_t barrier = first + box * kBarrierBytes;
        if (lap != 0) wait(barrier, (lap - 1) & 1);
        if (i == kBoxes) begin = cycle();
        if (i < kManyCopies) {
          ptx::mbarrier_arrive_expect_tx(barrier, kBoxBytes);
          ptx::bulk_load(ring + box * kBoxBytes, source + box * kBoxBytes, kBoxBytes, barrier);
        }
        if (++box == kBoxes) {
          box = 0;
          ++lap;
        }
      }
      spans[0] = {begin, cycle()};
      ended = 1;
    }
    __syncwarp();
    return;
  }
  multiply_until<n>(ended, base + warpgroup * kMmaRows * kRowBytes, base + 2 * kMmaRows * kRowBytes,
                    sink);
}

template <int n>
void add_copies(Results& results, const uint8_t* source) {
  const auto kernel = copies_beside_mmas<n>;
  constexpr uint32_t kBytes = kStageBytes<n> + kBoxes * kBoxBytes + kAlignment;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kBytes);
  for (const uint32_t warpgroups : {0u, 1u, 2u}) {
    const double cycles = least_cycles(1, 1, [&](Span* s) {
      kernel<<<1, warpgroups * kGroupThreads + 32, kBytes>>>(s, source, warpgroups, nullptr);
    });
    results.add("k_block.copies",
                "n=" + std::to_string(n) + " multiplying=" + std::to_string(warpgroups),
                "bytes/cycle", (kManyCopies - 1.0) * kBoxBytes / cycles);
  }
}

}  // namespace

void measure_k_block(Results& results) {
  using enum Work;
  constexpr uint32_t kSourceBytes = kBoxes * kBoxBytes, kOutputBytes = kTileRows * kTilePitchBytes;
  DeviceBuffer<uint8_t> source(kSourceBytes), output(kOutputBytes);
  source.fill_bytes(0);
  output.fill_bytes(0);
  add_pieces(results, source.data());
  add_blocks<32>(results, source.data());
  add_blocks<64>(results, source.data());
  add_blocks<128>(results, source.data());
  add_slices<32>(results, output.data());
  add_slices<64>(results, output.data());
  const auto* const scales = reinterpret_cast<const float*>(source.data());
  add_tiles<32>(results, output.data(), scales);
  add_tiles<64>(results, output.data(), scales);
  add_tiles<128>(results, output.data(), scales);
  add_all_beside<64, loads, tests, waits, arrivals, promotions, matrix_stores>(results);
  add_all_beside<128, loads, tests, promotions, matrix_stores>(results);
  add_copies<32>(results, source.data());
  add_copies<64>(results, source.data());
  add_copies<128>(results, source.data());
}

}  // namespace bw::timing
