/// \file
/// Bandwidth that SMs share: throughput of TMA and threads when several SMs read the same lines, in
/// step and one after the other, between pauses and alongside stores.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/tma_store.cuh"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/l2_flush.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/sm_count.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kRowBytes = 2048;
constexpr uint32_t kBoxInnerBytes = 128;
constexpr uint32_t kBoxesAcross = kRowBytes / kBoxInnerBytes;
constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kMostSlots = 8;
constexpr uint32_t kBarrierBytes = sizeof(uint64_t);
constexpr uint32_t kThreads = 64;  // one warp asks for boxes, the other waits for them
constexpr uint32_t kBoxBytes = 128 * kBoxInnerBytes;  // of the first matrix
constexpr int32_t kStoredRows = 64;                   // of a box that is stored
constexpr int32_t kStoredBoxes = 1024;                // all of them; their numbers wrap around
constexpr uint32_t kStoreBytes = kStoredRows * kBoxInnerBytes;

/// What an SM reads: a window of boxes of each matrix, again and again.
struct Window {
  uint32_t first = 0;  ///< box
  uint32_t boxes = 1;
};
struct Part {
  Window a, b;
  int64_t delay_cycles = 0;  ///< before it begins
};

struct ShareOptions {
  uint32_t slots = 8;
  uint32_t steps = 64;
  uint32_t a_rows = 128;
  uint32_t b_rows = 0;        ///< of the second box of a step; 0: only one box
  uint32_t period_steps = 0;  ///< steps until a pause and the stores; 0: never
  int64_t pause_cycles = 0;
  uint32_t stores = 0;  ///< boxes of kStoreBytes in a pause
};

/// The next box of a window. No division: it would take longer than a small box.
struct Place {
  uint32_t offset = 0;
  __device__ void step(const Window& window) {
    if (++offset == window.boxes) offset = 0;
  }
};

__device__ void load_box(const CUtensorMap& map, uint32_t tile, uint32_t barrier, uint32_t box,
                         uint32_t rows) {
  ptx::tma_load_2d(tile, &map, barrier, static_cast<int32_t>(box % kBoxesAcross * kBoxInnerBytes),
                   static_cast<int32_t>(box / kBoxesAcross * rows));
}

/// One CTA an SM; its part is that of its SM.
__global__ void share_boxes(Span* spans, const __grid_constant__ CUtensorMap a,
                            const __grid_constant__ CUtensorMap b,
                            const __grid_constant__ CUtensorMap destination, const Part* parts,
                            ShareOptions options) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t full_barriers[kMostSlots], empty_barriers[kMostSlots];
  const uint32_t tiles = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t full = ptx::shared_address(full_barriers);
  const uint32_t empty = ptx::shared_address(empty_barriers);
  uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  const Part part = parts[sm];
  const uint32_t a_bytes = options.a_rows * kBoxInnerBytes;
  const uint32_t step_bytes = a_bytes + options.b_rows * kBoxInnerBytes;
  const uint32_t staging = tiles + options.slots * step_bytes;
  for (uint32_t i = threadIdx.x; i < options.stores * kStoreBytes / 4; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(raw)[(staging - ptx::shared_address(raw)) / 4 + i] = i;
  }
  ptx::fence_proxy_async_shared();
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < options.slots; ++i) {
      ptx::mbarrier_init(full + i * kBarrierBytes, 1);
      ptx::mbarrier_init(empty + i * kBarrierBytes, 1);
    }
    ptx::fence_mbarrier_init();
  }
  const int64_t start = cycle();
  while (cycle() - start < part.delay_cycles) {
  }
  __syncthreads();
  const int64_t begin = cycle();
  uint32_t slot = 0, parity = 0;
  const auto step_slot = [&] {
    if (++slot == options.slots) {
      slot = 0;
      parity ^= 1;
    }
  };
  if (threadIdx.x == 0) {
    Place of_a, of_b;
    for (uint32_t i = 0; i < options.steps; ++i) {
      const uint32_t barrier = full + slot * kBarrierBytes;
      const uint32_t tile = tiles + slot * step_bytes;
      while (!ptx::mbarrier_try_wait_parity(empty + slot * kBarrierBytes, parity ^ 1)) {
      }
      ptx::mbarrier_arrive_expect_tx(barrier, step_bytes);
      load_box(a, tile, barrier, part.a.first + of_a.offset, options.a_rows);
      of_a.step(part.a);
      if (options.b_rows != 0) {
        load_box(b, tile + a_bytes, barrier, part.b.first + of_b.offset, options.b_rows);
        of_b.step(part.b);
      }
      step_slot();
    }
  } else if (threadIdx.x == 32) {
    uint32_t since_pause = 0;
    const auto stores = static_cast<int32_t>(options.stores);
    int32_t stored = static_cast<int32_t>(blockIdx.x) * stores;
    for (uint32_t i = 0; i < options.steps; ++i) {
      while (!ptx::mbarrier_try_wait_parity(full + slot * kBarrierBytes, parity)) {
      }
      if (++since_pause == options.period_steps) {
        since_pause = 0;
        const int64_t pause = cycle();
        while (cycle() - pause < options.pause_cycles) {
        }
        ptx::bulk_wait_group_read<0>();
        for (int32_t j = 0; j < stores; ++j) {
          ptx::tma_store_2d(&destination, 0, (stored + j) % kStoredBoxes * kStoredRows,
                            staging + static_cast<uint32_t>(j) * kStoreBytes);
        }
        ptx::bulk_commit_group();
        stored += static_cast<int32_t>(gridDim.x) * stores;
      }
      ptx::mbarrier_arrive(empty + slot * kBarrierBytes);
      step_slot();
    }
    ptx::bulk_wait_group<0>();
  }
  __syncwarp();
  write_span(spans, begin, cycle());
}

constexpr uint32_t kSharedBytes = 200 * 1024;  // one CTA an SM

/// Which SM reads what, of `sms`.
using Parts = std::vector<Part>;

/// Groups of `members` SMs: neighbours or every `sms / members`-th one. All SMs of a group read one
/// window of `all_boxes`, the last `skew_cycles` after the first.
Parts groups_of(uint32_t sms, uint32_t members, bool neighbours, uint32_t all_boxes,
                int64_t skew_cycles = 0) {
  constexpr uint32_t kMostBoxes = 128;
  const uint32_t groups = (sms + members - 1) / members;
  const uint32_t boxes = std::min(kMostBoxes, all_boxes / groups);
  Parts parts(sms);
  for (uint32_t sm = 0; sm < sms; ++sm) {
    const uint32_t group = neighbours ? sm / members : sm % groups;
    const uint32_t rank = neighbours ? sm % members : sm / groups;
    parts[sm].a = {.first = group * boxes, .boxes = boxes};
    if (members > 1) parts[sm].delay_cycles = skew_cycles * rank / (members - 1);
  }
  return parts;
}

/// SMs as tiles of a product: those of a row read one window of A, those of a column one of B.
Parts tiles_of(uint32_t sms, uint32_t down, bool by_rows, uint32_t a_boxes, uint32_t b_boxes) {
  const uint32_t across = sms / down;
  Parts parts(sms);
  for (uint32_t sm = 0; sm < sms; ++sm) {
    const uint32_t i = by_rows ? sm / across % down : sm % down;
    const uint32_t j = by_rows ? sm % across : sm / down % across;
    parts[sm].a = {.first = i * (a_boxes / down), .boxes = std::min(32u, a_boxes / down)};
    parts[sm].b = {.first = j * (b_boxes / across), .boxes = std::min(32u, b_boxes / across)};
  }
  return parts;
}

struct Matrices {
  const ByteMatrix& a;
  const ByteMatrix& b;
  const ByteMatrix& destination;
};

void launch_sharing(const Matrices& matrices, const DeviceBuffer<Part>& parts,
                    const ShareOptions& options, uint32_t ctas, Span* spans) {
  const CUtensorMap a = matrices.a.map(kBoxInnerBytes, options.a_rows);
  const CUtensorMap b = matrices.b.map(kBoxInnerBytes, std::max(options.b_rows, 1u));
  const CUtensorMap destination = matrices.destination.map(kBoxInnerBytes, kStoredRows);
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(share_boxes), kSharedBytes);
  share_boxes<<<ctas, kThreads, kSharedBytes>>>(spans, a, b, destination, parts.data(), options);
}

/// Cycles of a CTA, the median. `ctas` 0: of all SMs that have a part.
double share_cycles(
    const Matrices& matrices, const Parts& parts, const ShareOptions& options,
    const std::function<void(Span*)>& prepare = [](Span*) {}, uint32_t ctas = 0) {
  const DeviceBuffer<Part> device_parts(parts);
  if (ctas == 0) ctas = static_cast<uint32_t>(parts.size());
  return least_cycles(ctas, kThreads / 32, [&](Span* s) {
    prepare(s);
    launch_sharing(matrices, device_parts, options, ctas, s);
  });
}

constexpr uint32_t kPerThread = 4;  // words of 16 bytes in flight

/// Threads read their SM's window of `part.a`, in boxes of kBoxBytes.
__global__ void share_words(Span* spans, const uint4* source, const Part* parts, uint32_t words,
                            uint32_t* sink) {
  uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  constexpr uint32_t kBoxWords = kBoxBytes / sizeof(uint4);
  const uint4* const own = source + parts[sm].a.first * kBoxWords;
  const uint32_t count = parts[sm].a.boxes * kBoxWords;
  uint32_t sum = 0;
  __syncthreads();
  const int64_t begin = cycle();
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < words; i += kPerThread * blockDim.x) {
    uint4 values[kPerThread];
#pragma unroll
    for (uint32_t j = 0; j < kPerThread; ++j) {
      values[j] = __ldcg(own + (i + j * blockDim.x) % count);
    }
#pragma unroll
    for (const uint4& value : values) sum += value.x ^ value.y ^ value.z ^ value.w;
  }
  const int64_t end = cycle();
  write_span(spans, begin, end);
  keep(sum, sink);
}

constexpr uint32_t kPitchBytes = 8192;
constexpr uint32_t kTileRowBytes = 512;

/// Each warp writes tiles from an MMA result's register layout: an instruction writes 4 bytes a
/// lane, `piece_lanes` consecutive lanes in each of its rows; the next one writes what follows.
__global__ void write_pieces(Span* spans, uint8_t* destination, uint32_t piece_lanes,
                             uint32_t warp_bytes) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t warp = threadIdx.x / 32 + blockIdx.x * (blockDim.x / 32);
  const uint32_t rows = 32 / piece_lanes;
  const uint32_t piece_bytes = piece_lanes * 4;
  const uint32_t tiles = warp_bytes / (rows * kTileRowBytes);
  constexpr uint32_t kTilesAcross = kPitchBytes / kTileRowBytes;
  const uint32_t row = lane / piece_lanes;
  const uint32_t column = lane % piece_lanes * 4;
  __syncthreads();
  const int64_t begin = cycle();
#pragma unroll 1
  for (uint32_t tile = warp * tiles; tile < (warp + 1) * tiles; ++tile) {
    uint8_t* to = destination + size_t{tile / kTilesAcross * rows + row} * kPitchBytes +
                  tile % kTilesAcross * kTileRowBytes + column;
#pragma unroll 4
    for (uint32_t done = 0; done < kTileRowBytes; done += piece_bytes, to += piece_bytes) {
      *reinterpret_cast<uint32_t*>(to) = done;
    }
  }
  const int64_t end = cycle();
  write_span(spans, begin, end);
}

/// Each warp writes its part in spans of 32 times `lane_bytes`: an instruction writes the next 4
/// bytes of each lane's piece.
__global__ void write_apart(Span* spans, uint8_t* destination, uint32_t lane_bytes,
                            uint32_t warp_bytes) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t warp = threadIdx.x / 32 + blockIdx.x * (blockDim.x / 32);
  const uint32_t span_bytes = 32 * lane_bytes;
  uint8_t* to = destination + size_t{warp} * warp_bytes + lane * lane_bytes;
  __syncthreads();
  const int64_t begin = cycle();
#pragma unroll 1
  for (uint32_t i = 0; i < warp_bytes; i += span_bytes, to += span_bytes) {
#pragma unroll 4
    for (uint32_t done = 0; done < lane_bytes; done += 4) {
      asm volatile("st.global.u32 [%0], %1;" ::"l"(to + done), "r"(done) : "memory");
    }
  }
  const int64_t end = cycle();
  write_span(spans, begin, end);
}

constexpr uint32_t kStoreTileRows = 128;
constexpr uint32_t kStoreTileRowBytes = 128;
constexpr uint32_t kStoreTiles = 16;  // of a CTA

/// Eight warps store tiles of a matrix, with pauses between them: 16 bytes a lane, four rows an
/// instruction, or as many words one after the other.
template <bool words>
__global__ void store_tiles(Span* spans, uint8_t* destination, int64_t pause_cycles) {
  const uint32_t lane = threadIdx.x % 32;
  constexpr uint32_t kLanesOfRow = kStoreTileRowBytes / sizeof(uint4);
  constexpr uint32_t kRowsAtOnce = 32 / kLanesOfRow;
  const uint32_t warp_rows = kStoreTileRows / (blockDim.x / 32);
  const uint32_t row = threadIdx.x / 32 * warp_rows + lane / kLanesOfRow;
  constexpr uint32_t kAcross = kPitchBytes / kStoreTileRowBytes;
  __syncthreads();
  const int64_t begin = cycle();
#pragma unroll 1
  for (uint32_t i = 0; i < kStoreTiles; ++i) {
    const uint32_t tile = blockIdx.x + i * gridDim.x;
    uint8_t* to = destination + size_t{tile / kAcross * kStoreTileRows + row} * kPitchBytes +
                  tile % kAcross * kStoreTileRowBytes + lane % kLanesOfRow * sizeof(uint4);
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j, to += size_t{kRowsAtOnce} * kPitchBytes) {
      if constexpr (words) {
        asm volatile(
            "st.global.u32 [%0], %1;\n\tst.global.u32 [%0+4], %1;\n\t"
            "st.global.u32 [%0+8], %1;\n\tst.global.u32 [%0+12], %1;" ::"l"(to),
            "r"(i)
            : "memory");
      } else {
        asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(to), "r"(i) : "memory");
      }
    }
    const int64_t pause = cycle();
    while (cycle() - pause < pause_cycles) {
    }
  }
  const int64_t end = cycle();
  write_span(spans, begin, end);
}

}  // namespace

void measure_sharing(Results& results) {
  const uint32_t sms = sm_count();
  constexpr uint32_t kInL2 = 16u << 20;  // both halves of the cache hold it
  constexpr uint32_t kBoxes = kInL2 / kBoxBytes;
  const ByteMatrix matrix(kRowBytes, kInL2 / kRowBytes);
  const ByteMatrix second(kRowBytes, (4u << 20) / kRowBytes);
  const ByteMatrix destination(kBoxInnerBytes, kStoredBoxes * kStoredRows);
  const Matrices matrices{matrix, second, destination};
  const auto add = [&](const std::string& name, const std::string& parameter,
                       const ShareOptions& options, double cycles) {
    results.add("sharing." + name, parameter, "bytes/cycle",
                1.0 * options.steps * (options.a_rows + options.b_rows) * kBoxInnerBytes / cycles);
  };
  const auto partners = [](bool neighbours) {
    return std::string(neighbours ? " neighbours" : " strided");
  };
  for (const uint32_t members : {1u, 2u, 3u, 4u, 8u, 16u, 33u, 66u, 132u}) {
    for (const bool neighbours : {true, false}) {
      if ((members == 1 || members >= sms) && !neighbours) continue;
      const ShareOptions options;
      add("same_boxes", "sms=" + std::to_string(members) + partners(neighbours), options,
          share_cycles(matrices, groups_of(sms, members, neighbours, kBoxes), options));
    }
  }
  for (const uint32_t members : {2u, 4u, 33u, 132u}) {
    for (const int64_t skew : {250, 500, 1000, 2000, 4000, 8000}) {
      const ShareOptions options;
      add("same_boxes_one_behind_the_other",
          "sms=" + std::to_string(members) + " cycles=" + std::to_string(skew), options,
          share_cycles(matrices, groups_of(sms, members, true, kBoxes, skew), options));
    }
  }
  for (const uint32_t rows : {64u, 128u}) {
    for (const uint32_t down : {1u, 2u, 4u, 6u, 11u, 12u, 33u}) {
      for (const bool by_rows : {true, false}) {
        const ShareOptions options{.slots = rows == 64 ? 8u : 6u, .b_rows = rows};
        const uint32_t b_boxes = (4u << 20) / (rows * kBoxInnerBytes);
        add("tiles_of_128x" + std::to_string(rows),
            "down=" + std::to_string(down) + (by_rows ? " by rows" : " by columns"), options,
            share_cycles(matrices, tiles_of(sms, down, by_rows, kBoxes, b_boxes), options));
      }
    }
  }
  for (const uint32_t members : {1u, 12u}) {
    for (const int64_t pause : {0, 1000, 2000, 3000, 4000, 6000}) {
      const ShareOptions options{.slots = 4, .period_steps = 4, .pause_cycles = pause};
      add("pauses_after_4_boxes",
          "sms=" + std::to_string(members) + " cycles=" + std::to_string(pause), options,
          share_cycles(matrices, groups_of(sms, members, true, kBoxes), options));
    }
    for (const uint32_t period : {32u, 16u, 8u, 4u, 2u, 1u}) {
      for (const uint32_t stores : {1u, 2u}) {
        const ShareOptions options{.slots = 6, .period_steps = period, .stores = stores};
        add("beside_stores_of_8192_bytes",
            "sms=" + std::to_string(members) + " boxes=" + std::to_string(stores) + "/" +
                std::to_string(period),
            options, share_cycles(matrices, groups_of(sms, members, true, kBoxes), options));
      }
    }
  }
  for (const uint32_t ctas : {1u, 66u, 99u}) {
    const ShareOptions options;
    Parts parts = groups_of(sms, 1, true, kBoxes);
    add("own_boxes", "sms=" + std::to_string(ctas), options,
        share_cycles(
            matrices, parts, options, [](Span*) {}, ctas));
  }
  {
    const ByteMatrix largest(kRowBytes, (52u << 20) / kRowBytes);
    const Matrices wide{largest, second, destination};
    for (const uint32_t mebibytes : {12u, 16u, 20u, 24u, 28u, 32u, 36u, 40u, 44u, 48u}) {
      const uint32_t boxes = (mebibytes << 20) / kBoxBytes / sms;
      const ShareOptions options{.steps = 2 * boxes};
      for (const bool same : {true, false}) {
        Parts parts(sms);
        for (uint32_t sm = 0; sm < sms; ++sm) parts[sm].a = {.first = sm * boxes, .boxes = boxes};
        Parts others = parts;
        if (!same) std::rotate(others.begin(), others.begin() + 37, others.end());
        const DeviceBuffer<Part> of_others(others);
        add("windows_of_a_matrix",
            "MiB=" + std::to_string(mebibytes) + (same ? " the same SMs" : " other SMs"), options,
            share_cycles(wide, parts, options,
                         [&](Span* s) { launch_sharing(wide, of_others, options, sms, s); }));
      }
    }
  }
  {
    const L2Flush flush;
    const ByteMatrix large(kRowBytes, sms * 64 * (kBoxBytes / kRowBytes));
    const Matrices cold{large, second, destination};
    for (const uint32_t members : {1u, 2u, 4u, 12u, 33u, 132u}) {
      const ShareOptions options;
      Parts parts(sms);
      for (uint32_t sm = 0; sm < sms; ++sm) parts[sm].a = {.first = sm / members * 64, .boxes = 64};
      add("same_boxes_hbm", "sms=" + std::to_string(members), options,
          share_cycles(cold, parts, options, [&](Span*) { flush.run(); }));
    }
    for (const uint32_t ctas : {1u, 8u, 33u, 132u}) {
      for (const uint32_t slots : {1u, 2u, 4u}) {
        const ShareOptions options{.slots = slots};
        Parts parts(sms);
        for (uint32_t sm = 0; sm < sms; ++sm) parts[sm].a = {.first = sm * 64, .boxes = 64};
        add("own_boxes_hbm", "sms=" + std::to_string(ctas) + " slots=" + std::to_string(slots),
            options,
            share_cycles(
                cold, parts, options, [&](Span*) { flush.run(); }, ctas));
      }
    }
  }
  for (const uint32_t ctas : {1u, sms}) {
    for (const uint32_t lanes : {1u, 2u, 4u, 8u, 32u}) {
      constexpr uint32_t kWarps = 8, kWarpBytes = 16384;
      DeviceBuffer<uint8_t> written(size_t{sms} * kWarps * kWarpBytes);
      written.fill_bytes(1);
      const double cycles = least_cycles(ctas, kWarps, [&](Span* s) {
        write_pieces<<<ctas, kWarps * 32>>>(s, written.data(), lanes, kWarpBytes);
      });
      results.add("sharing.written_in_pieces",
                  "bytes=" + std::to_string(4 * lanes) + " sms=" + std::to_string(ctas),
                  "bytes/cycle", 1.0 * kWarps * kWarpBytes / cycles);
    }
  }
  for (const uint32_t ctas : {1u, sms}) {
    for (const uint32_t lane_bytes : {4u, 8u, 16u, 32u}) {
      constexpr uint32_t kWarps = 8, kWarpBytes = 16384;
      DeviceBuffer<uint8_t> written(size_t{sms} * kWarps * kWarpBytes);
      written.fill_bytes(1);
      const double cycles = least_cycles(ctas, kWarps, [&](Span* s) {
        write_apart<<<ctas, kWarps * 32>>>(s, written.data(), lane_bytes, kWarpBytes);
      });
      results.add("sharing.written_4_bytes_a_lane",
                  "apart=" + std::to_string(lane_bytes) + " sms=" + std::to_string(ctas),
                  "bytes/cycle", 1.0 * kWarps * kWarpBytes / cycles);
    }
  }
  {
    constexpr uint32_t kWarps = kStoreTileRows / 16;
    DeviceBuffer<uint8_t> written(size_t{sms + 16} * kStoreTiles * kStoreTileRows *
                                  kStoreTileRowBytes);
    written.fill_bytes(1);
    for (const uint32_t ctas : {1u, sms}) {
      for (const bool words : {false, true}) {
        for (const int64_t pause : {0, 1000, 2000, 4000}) {
          const double cycles = least_cycles(ctas, kWarps, [&](Span* s) {
            (words ? store_tiles<true> : store_tiles<false>)<<<ctas, kWarps * 32>>>(
                s, written.data(), pause);
          });
          results.add("sharing.tiles_of_16384_bytes_stored",
                      std::string(words ? "words" : "16 bytes") +
                          " pause=" + std::to_string(pause) + " sms=" + std::to_string(ctas),
                      "cycles", cycles / kStoreTiles);
        }
      }
    }
  }
  constexpr uint32_t kThreadsOfSm = 1024;
  constexpr uint32_t kWords = 8 * kBoxBytes / sizeof(uint4) * 4;
  for (const uint32_t members : {1u, 2u, 4u, 12u, 33u, 132u}) {
    const Parts parts = groups_of(sms, members, true, kBoxes);
    const DeviceBuffer<Part> device_parts(parts);
    const double cycles = least_cycles(sms, kThreadsOfSm / 32, [&](Span* s) {
      share_words<<<sms, kThreadsOfSm>>>(s, reinterpret_cast<const uint4*>(matrix.data()),
                                         device_parts.data(), kWords, nullptr);
    });
    results.add("sharing.same_words", "sms=" + std::to_string(members), "bytes/cycle",
                1.0 * kWords * sizeof(uint4) / cycles);
  }
}

}  // namespace bw::timing
