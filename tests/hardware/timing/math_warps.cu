/// \file
/// The math warpgroups of a blockwise GEMM on one SM and on all: K blocks, tiles, slices that the
/// warps store or hand to a copy, the warp that asks for operands. Cycles between clocks that each
/// role reads.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "common/device/bulk_copy.cuh"
#include "common/device/elect.cuh"
#include "common/device/register_budget.cuh"
#include "common/device/tma_store.cuh"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/k_block.cuh"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/sm_count.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

/// The pieces of a tile in addition to its K blocks.
enum Part : uint32_t {
  kBegins = 1,     ///< a load gives the scales that the first block needs
  kDirect = 2,     ///< the warps store the sums, slice after slice
  kByCopy = 4,     ///< they hand the slices to a warp that stores them by TMA
  kFills = 8,      ///< copies fill the stages
  kNoStamps = 16,  ///< only the whole is timed
};

constexpr uint32_t kRoles = 3;  // warpgroups: two multiply, one copies
constexpr uint32_t kThreads = kRoles * kGroupThreads;
constexpr uint32_t kWarps = kThreads / 32;
constexpr uint32_t kLoadWarp = 8, kFirstOutputWarp = 9;
constexpr uint32_t kSlots = 2;
constexpr uint32_t kSliceColumns = 64;
constexpr uint32_t kTiles = 6;  // of a pass
constexpr uint32_t kAreas = 4;  // where tiles are written in turn
constexpr uint32_t kWords = 8;  // of a warp
constexpr uint32_t kBoxRows = 64;

/// What is summed up in a warp's words.
enum Number : uint32_t { kAll, kFirstMmas, kLaterMmas, kBetween, kWrites, kBegin };
enum LoadNumber : uint32_t { kAsked = 1 };
enum OutputNumber : uint32_t { kIssued = 1, kReadDone = 2 };

/// What a warpgroup has of a K block: `waves` times 64 rows and `columns` columns by MMAs of `n`.
template <int n_, int columns_ = n_, int waves_ = 1, uint32_t stages_ = kStages>
struct Block {
  static constexpr int n = n_, columns = columns_, waves = waves_;
  static constexpr uint32_t stages = stages_;
  static constexpr uint32_t kBytes = kStageBytes<columns, waves>;
  static constexpr uint32_t kABytes = 2 * waves * kMmaRows * kRowBytes;
  static constexpr uint32_t kBBytes = columns * kRowBytes;
  static constexpr uint32_t kScales = waves * kScaleBytes;
  static constexpr uint32_t kRing = kRingBytes<columns, waves, stages>;
  static constexpr uint32_t kSlicesPerWave = columns / kSliceColumns;
  static constexpr uint32_t kSlices = waves * kSlicesPerWave;
};

template <class Shape, uint32_t parts>
__global__ void __launch_bounds__(kThreads, 1)
    tiles(uint32_t* words, uint8_t* output, const __grid_constant__ CUtensorMap output_map,
          const uint8_t* source, const float* scales, uint32_t blocks, uint32_t a_bytes,
          uint32_t b_bytes, uint32_t none, float one, uint32_t* sink) {
  using Part64 = Slice<kSliceColumns>;
  constexpr uint32_t kRest = (parts & kFills) != 0 ? kCopies : 0;
  constexpr uint32_t kPieces = kWait | kEarly | kScales | kMmas | kArrive | kPromote | kRest |
                               ((parts & kNoStamps) != 0 ? 0 : kStamps);
  constexpr uint32_t kSlices = Shape::kSlices;
  constexpr uint32_t kPitchBytes = Shape::columns * 2;
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t full[Shape::stages], empty[Shape::stages], slice_full[2][kSlots],
      slot_empty[2][kSlots];
  const uint32_t base = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t slots = base + Shape::kRing;
  clear(base, Shape::kRing + 2 * kSlots * Part64::kBytes);
  if (threadIdx.x < 2 * kSlots) {
    ptx::mbarrier_init(ptx::shared_address(slice_full[0] + threadIdx.x), 4);
    ptx::mbarrier_init(ptx::shared_address(slot_empty[0] + threadIdx.x), 1);
  }
  const uint32_t first_full = ptx::shared_address(full), first_empty = ptx::shared_address(empty);
  make_ring<Shape::stages>(first_full, first_empty, (parts & kFills) != 0 ? 8 : kManyArrivals);
  const uint32_t warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  const uint32_t warpgroup = warp / 4;
  uint32_t* const own = words + (blockIdx.x * kWarps + warp) * kWords;
  const uint32_t first_row = blockIdx.x * kAreas * 2 * Shape::waves * kMmaRows;
  constexpr uint32_t kAllTiles = kPasses * kTiles;
  if (warpgroup == 2) {
    ptx::decrease_registers<24>();
    if (warp == kLoadWarp && (parts & kFills) != 0 && ptx::elect_one()) {
      uint32_t stage = 0, lap = 0, asked = 0;
      const uint8_t* const from = source + blockIdx.x * Shape::stages * Shape::kBytes;
#pragma unroll 1
      for (uint32_t i = 0; i < kAllTiles * blocks; ++i) {
        const uint32_t barrier = first_full + stage * kBarrierBytes;
        const uint32_t destination = base + stage * Shape::kBytes;
        wait(first_empty + stage * kBarrierBytes, (lap & 1) ^ 1);
        const uint32_t begin = short_clock();
        ptx::fence_proxy_async_shared();
        ptx::mbarrier_arrive_expect_tx(barrier, a_bytes + b_bytes + Shape::kScales);
        ptx::bulk_load(destination, from + stage * Shape::kBytes, a_bytes, barrier);
        ptx::bulk_load(destination + Shape::kABytes, from + stage * Shape::kBytes + Shape::kABytes,
                       b_bytes, barrier);
        ptx::bulk_load(base + Shape::stages * Shape::kBytes + stage * Shape::kScales, from,
                       Shape::kScales, barrier);
        asked += short_clock() - begin;
        if (++stage == Shape::stages) {
          stage = 0;
          ++lap;
        }
      }
      own[kAsked] = asked;
    }
    const uint32_t group = warp - kFirstOutputWarp;
    if ((parts & kByCopy) != 0 && group < 2 && ptx::elect_one()) {
      const uint32_t slice_at = ptx::shared_address(slice_full[group]);
      const uint32_t slot_at = ptx::shared_address(slot_empty[group]);
      uint32_t issued = 0, read_done = 0, number = 0;
#pragma unroll 1
      for (uint32_t tile = 0; tile < kAllTiles; ++tile) {
        const uint32_t row = first_row + (tile % kAreas * 2 + group) * Shape::waves * kMmaRows;
#pragma unroll 1
        for (uint32_t slice = 0; slice < kSlices; ++slice, ++number) {
          const uint32_t slot = number % kSlots;
          wait(slice_at + slot * kBarrierBytes, number / kSlots & 1);
          const uint32_t begin = short_clock();
          ptx::fence_proxy_async_shared();
          ptx::tma_store_2d(&output_map, slice % Shape::kSlicesPerWave * kSliceColumns * 2,
                            row + slice / Shape::kSlicesPerWave * kMmaRows,
                            slots + (group * kSlots + slot) * Part64::kBytes);
          ptx::bulk_commit_group();
          const uint32_t stored = short_clock();
          ptx::bulk_wait_group_read<0>();
          const uint32_t read = short_clock();
          ptx::mbarrier_arrive(slot_at + slot * kBarrierBytes);
          issued += stored - begin;
          read_done += read - stored;
        }
      }
      own[kIssued] = issued;
      own[kReadDone] = read_done;
      ptx::bulk_wait_group<0>();
    }
    __syncwarp();
    return;
  }
  ptx::increase_registers<240>();
  Consumer<Shape::n, kPieces, Shape::columns, Shape::waves, Shape::stages> consumer(
      base, first_full, first_empty, warpgroup, none, one);
  uint32_t sums[kWords] = {};
  uint32_t read = 0, number = 0;
  const uint32_t own_slots = slots + warpgroup * kSlots * Part64::kBytes;
  const uint32_t slice_at = ptx::shared_address(slice_full[warpgroup]);
  const uint32_t slot_at = ptx::shared_address(slot_empty[warpgroup]);
#pragma unroll 1
  for (uint32_t pass = 0; pass < kPasses; ++pass) {
#pragma unroll
    for (uint32_t i = 0; i < kWords; ++i) sums[i] = 0;
    const uint32_t begin = short_clock();
#pragma unroll 1
    for (uint32_t tile = 0; tile < kTiles; ++tile) {
      const uint32_t tile_begin = (parts & kNoStamps) != 0 ? 0 : short_clock();
      if constexpr ((parts & kBegins) != 0) {
        consumer.of_lane =
            __ldg(scales + (blockIdx.x * kAllTiles + pass * kTiles + tile) * 32 + threadIdx.x % 32);
        consumer.step = 0;
      }
#pragma unroll 1
      for (uint32_t k = 0; k < blocks; ++k) {
        const uint32_t before = consumer.done_at;
        consumer.block();
        if constexpr ((parts & kNoStamps) != 0) continue;
        const uint32_t mmas = consumer.done_at - consumer.full_at;
        if (k == 0) {
          sums[kBegin] += consumer.full_at - tile_begin;
          sums[kFirstMmas] += mmas;
        } else {
          sums[kLaterMmas] += mmas;
          sums[kBetween] += consumer.full_at - before;
        }
      }
      const uint32_t write_begin = (parts & kNoStamps) != 0 ? 0 : short_clock();
      if constexpr ((parts & (kDirect | kByCopy)) != 0) {
        const uint32_t row =
            first_row + ((pass * kTiles + tile) % kAreas * 2 + warpgroup) * Shape::waves * kMmaRows;
#pragma unroll
        for (uint32_t slice = 0; slice < kSlices; ++slice) {
          const uint32_t slot = number % kSlots;
          const uint32_t place = own_slots + slot * Part64::kBytes;
          if constexpr ((parts & kByCopy) != 0)
            wait(slot_at + slot * kBarrierBytes, (number / kSlots & 1) ^ 1);
          Part64::fill(consumer.sum + slice * kSliceColumns / 2, place);
          if constexpr ((parts & kByCopy) != 0) {
            if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(slice_at + slot * kBarrierBytes);
            __syncwarp();
          } else {
            Part64::template read_back<true>(
                place, output + slice % Shape::kSlicesPerWave * kSliceColumns * 2,
                row + slice / Shape::kSlicesPerWave * kMmaRows, 0xffffffff, kPitchBytes, read);
          }
          ++number;
        }
#pragma unroll
        for (int i = 0; i < consumer.kSums; ++i) consumer.sum[i] = 0;
      }
      if constexpr ((parts & kNoStamps) == 0) sums[kWrites] += short_clock() - write_begin;
    }
    sums[kAll] = short_clock() - begin;
  }
  if (threadIdx.x % 32 == 0)
#pragma unroll
    for (uint32_t i = 0; i < kWords; ++i) own[i] = sums[i];
  consumer.keep_all(sink);
}

template <class Shape, uint32_t parts>
void add_tiles(Results& results, uint32_t sms, uint32_t blocks, const char* what,
               uint32_t part_of_bytes = 1) {
  const auto kernel = tiles<Shape, parts>;
  constexpr uint32_t kBytes = Shape::kRing + 2 * kSlots * Slice<kSliceColumns>::kBytes + kAlignment;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kBytes);
  ByteMatrix output(Shape::columns * 2, sms * kAreas * 2 * Shape::waves * kMmaRows);
  const CUtensorMap map = output.map(kSliceColumns * 2, kBoxRows);
  DeviceBuffer<uint8_t> source(size_t{sms} * Shape::stages * Shape::kBytes);
  source.fill_bytes(0);
  DeviceBuffer<float> scales(size_t{sms} * kPasses * kTiles * 32);
  scales.fill_bytes(0);
  const uint32_t a_bytes = Shape::kABytes / part_of_bytes;
  const uint32_t b_bytes = Shape::kBBytes / part_of_bytes;
  struct Row {
    const char* name;
    uint32_t first_warp, warps, number;
    double count;
    bool is_there;
  };
  constexpr uint32_t kSlices = Shape::kSlices;
  const double others = kTiles * (blocks - 1.0), all = kTiles * 1.0;
  const double of_all = kPasses * kTiles;
  const std::array<Row, 9> rows = {{
      {"tile", 0, 8, kAll, all, true},
      {"tile_begin", 0, 8, kBegin, all, true},
      {"first_mmas", 0, 8, kFirstMmas, all, true},
      {"mmas", 0, 8, kLaterMmas, others, true},
      {"between_mmas", 0, 8, kBetween, others, true},
      {"write", 0, 8, kWrites, all, (parts & (kDirect | kByCopy)) != 0},
      {"ask", kLoadWarp, 1, kAsked, of_all * blocks, (parts & kFills) != 0},
      {"issue_store", kFirstOutputWarp, 2, kIssued, of_all * kSlices, (parts & kByCopy) != 0},
      {"store_read", kFirstOutputWarp, 2, kReadDone, of_all * kSlices, (parts & kByCopy) != 0},
  }};
  for (const uint32_t ctas : {1u, sms}) {
    const auto launch = [&](uint32_t* words) {
      kernel<<<ctas, kThreads, kBytes>>>(words, output.data(), map, source.data(), scales.data(),
                                         blocks, a_bytes, b_bytes, 0, 1.0f, nullptr);
    };
    const auto number_of = [&](const uint32_t* words, size_t number) -> std::optional<double> {
      const Row& row = rows[number];
      double sum = 0;
      for (uint32_t w = 0; w < row.warps; ++w)
        sum += words[(row.first_warp + w) * kWords + row.number];
      return sum / row.warps;
    };
    const std::vector<double> found = least_medians<uint32_t>(
        ctas, size_t{kWarps} * kWords, rows.size(), is_simulated() ? 2 : 5, launch, number_of);
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i].is_there && ((parts & kNoStamps) == 0 || i == 0))
        results.add(std::string("math_warps.") + rows[i].name,
                    std::string(what) + " n=" + std::to_string(Shape::n) + " columns=" +
                        std::to_string(Shape::columns) + " waves=" + std::to_string(Shape::waves) +
                        " blocks=" + std::to_string(blocks) + " sms=" + std::to_string(ctas),
                    "cycles", found[i] / rows[i].count);
  }
}

template <class Shape>
void add_all_tiles(Results& results, uint32_t sms) {
  constexpr uint32_t kHalf = 2;
  add_tiles<Shape, kNoStamps>(results, sms, 8, "unstamped");
  add_tiles<Shape, kNoStamps | kFills>(results, sms, 8, "unstamped half_filled", kHalf);
  add_tiles<Shape, kBegins>(results, sms, 4, "begin");
  add_tiles<Shape, kDirect>(results, sms, 4, "direct");
  // Where tiles of 64 KB are stored back to back, runs on a GPU do not agree.
  if constexpr (Shape::waves * Shape::columns < 256)
    add_tiles<Shape, kBegins | kDirect>(results, sms, 4, "begin direct");
  add_tiles<Shape, kBegins | kByCopy>(results, sms, 4, "begin by_copy");
  add_tiles<Shape, kFills | kBegins | kDirect>(results, sms, 4, "half_filled begin direct", kHalf);
  add_tiles<Shape, kFills | kBegins | kByCopy>(results, sms, 4, "half_filled begin by_copy", kHalf);
}

constexpr int kReads = 32;

/// Consecutive reads of the clock; with `uses` each one waits for the one before.
template <bool uses>
__global__ void clock_reads(Span* spans, uint32_t none, uint32_t* sink) {
  uint32_t sum = 0;
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    begin = cycle();
#pragma unroll
    for (int i = 0; i < kReads; ++i) {
      const uint32_t now = short_clock();
      if constexpr (uses) {
        if ((now & none) != 0) sum += now;
        asm volatile("" : "+r"(sum)::"memory");
      } else {
        sum += now;
      }
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  keep(sum, sink);
}

}  // namespace

void measure_math_warps(Results& results) {
  const uint32_t sms = sm_count();
  const auto add_reads = [&](const char* what, auto kernel) {
    const double cycles = least_cycles(1, 1, [&](Span* s) { kernel<<<1, 32>>>(s, 0, nullptr); });
    results.add("math_warps.clock_read", what, "cycles", cycles / kReads);
  };
  add_reads("unused", clock_reads<false>);
  add_reads("used", clock_reads<true>);
  add_all_tiles<Block<64>>(results, sms);
  add_all_tiles<Block<128>>(results, sms);
  add_all_tiles<Block<192>>(results, sms);
  add_all_tiles<Block<128, 256, 1, 3>>(results, sms);
  add_all_tiles<Block<128, 128, 2, 3>>(results, sms);
}

}  // namespace bw::timing
