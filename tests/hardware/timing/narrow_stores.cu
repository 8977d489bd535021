/// \file
/// What narrow stores of threads cost: the tiles that a warpgroup's MMAs leave in its registers,
/// stored as bf16 in columns and in rows, two, four or sixteen bytes a lane at a time; and stores
/// of lanes that write a sector each, by the sectors of a line that they meet in.

#include <cuda_bf16.h>

#include <cstdint>
#include <string>

#include "common/host/device_buffer.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/sm_count.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kSide = 128;   // of a tile
constexpr uint32_t kAcross = 32;  // tiles in a row of the matrix
constexpr uint32_t kPitch = kSide * kAcross;
constexpr uint32_t kTilesOfCta = 8;
constexpr uint32_t kThreads = 128;

/// How a tile is stored.
enum class By {
  columns,  ///< 2 bytes a lane, columns one after the other: eight lanes write 16 bytes together
  halves,   ///< 2 bytes a lane, rows one after the other: four lanes write every second 2 bytes
  words,    ///< 4 bytes a lane, likewise: four lanes write 16 bytes together
  lines     ///< 16 bytes a lane, eight lanes write a line
};

template <By by>
__device__ void store_tile(__nv_bfloat16* tile, __nv_bfloat16 value) {
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if constexpr (by == By::lines) {
    const uint32_t word = *reinterpret_cast<uint16_t*>(&value);
#pragma unroll 8
    for (uint32_t i = threadIdx.x; i < kSide * kSide / 8; i += kThreads) {
      *reinterpret_cast<uint4*>(tile + size_t{i / 16} * kPitch + i % 16 * 8) = {word, word, word,
                                                                                word};
    }
  } else {
#pragma unroll
    for (uint32_t block = 0; block < kSide; block += 64) {
#pragma unroll 8
      for (uint32_t j = 0; j < kSide; j += 8) {
        const uint32_t row = block + warp * 16 + lane / 4, column = j + lane % 4 * 2;
        for (uint32_t half = 0; half < 16; half += 8) {
          if constexpr (by == By::columns) {
            tile[size_t{column} * kPitch + row + half] = value;
            tile[size_t{column + 1} * kPitch + row + half] = value;
          } else if constexpr (by == By::halves) {
            __nv_bfloat16* const to = tile + size_t{row + half} * kPitch + column;
            asm volatile("st.global.b16 [%0], %1;" ::"l"(to), "h"(__bfloat16_as_ushort(value))
                         : "memory");
            asm volatile("st.global.b16 [%0], %1;" ::"l"(to + 1), "h"(__bfloat16_as_ushort(value))
                         : "memory");
          } else {
            *reinterpret_cast<__nv_bfloat162*>(tile + size_t{row + half} * kPitch + column) = {
                value, value};
          }
        }
      }
    }
  }
}

/// Each CTA stores tiles, `pause` cycles after one another.
template <By by>
__global__ void store_tiles(Span* spans, __nv_bfloat16* c, int64_t pause) {
  __syncthreads();
  const int64_t begin = cycle();
#pragma unroll 1
  for (uint32_t i = 0; i < kTilesOfCta; ++i) {
    const uint32_t tile = blockIdx.x + i * gridDim.x;
    const size_t at = size_t{tile / kAcross} * kSide * kPitch + tile % kAcross * kSide;
    store_tile<by>(c + at, __float2bfloat16_rn(static_cast<float>(i)));
    const int64_t stored = cycle();
    while (cycle() - stored < pause) {
    }
  }
  const int64_t end = cycle();
  write_span(spans, begin, end);
}

template <By by>
void add(Results& results, const char* name, DeviceBuffer<__nv_bfloat16>& c) {
  for (const uint32_t ctas : {1u, sm_count()}) {
    for (const int64_t pause : {0, 4000, 16000}) {
      const double cycles = least_cycles(ctas, kThreads / 32, [&](Span* spans) {
        store_tiles<by><<<ctas, kThreads>>>(spans, c.data(), pause);
      });
      results.add(std::string("narrow_stores.") + name,
                  "sms=" + std::to_string(ctas) + " pause=" + std::to_string(pause), "cycles",
                  cycles / kTilesOfCta - static_cast<double>(pause));
    }
  }
}

constexpr uint32_t kScatteredThreads = 128;
constexpr uint32_t kWindowBytes = 64 * 1024;  // of an SM: all SMs' fit into the L2 cache
constexpr uint32_t kEarlierStores = 128, kStores = 256;

/// Lanes that store `bytes` each, `stride` bytes apart: what they write comes back after a while.
template <uint32_t bytes>
__global__ void scatter(Span* spans, uint8_t* to, uint32_t stride) {
  constexpr uint32_t kWarpBytes = kWindowBytes / (kScatteredThreads / 32);
  to +=
      blockIdx.x * size_t{kWindowBytes} + threadIdx.x / 32 * kWarpBytes + threadIdx.x % 32 * stride;
  int64_t begin = 0;
#pragma unroll 4
  for (uint32_t i = 0; i < kEarlierStores + kStores; ++i) {
    if (i == kEarlierStores) begin = cycle();
    uint8_t* const at = to + i * 32 * stride % kWarpBytes;
    if constexpr (bytes == 2) {
      asm volatile("st.global.b16 [%0], %1;" ::"l"(at), "h"(static_cast<uint16_t>(i)) : "memory");
    } else if constexpr (bytes == 4) {
      asm volatile("st.global.b32 [%0], %1;" ::"l"(at), "r"(i) : "memory");
    } else {
      asm volatile("st.global.v4.b32 [%0], {%1, %1, %1, %1};" ::"l"(at), "r"(i) : "memory");
    }
  }
  write_span(spans, begin, cycle());
}

template <uint32_t bytes>
void add_scattered(Results& results, DeviceBuffer<__nv_bfloat16>& c) {
  for (const uint32_t ctas : {1u, sm_count()}) {
    for (const uint32_t sectors : {1u, 2u, 4u}) {
      constexpr uint32_t kLineBytes = 128, kWarps = kScatteredThreads / 32;
      const double cycles = least_cycles(ctas, kWarps, [&](Span* spans) {
        scatter<bytes><<<ctas, kScatteredThreads>>>(spans, reinterpret_cast<uint8_t*>(c.data()),
                                                    kLineBytes / sectors);
      });
      results.add("narrow_stores.scattered",
                  "bytes=" + std::to_string(bytes) + " sectors_of_line=" + std::to_string(sectors) +
                      " sms=" + std::to_string(ctas),
                  "cycles/line", cycles * sectors / (kStores * kWarps * 32));
    }
  }
}

}  // namespace

void measure_narrow_stores(Results& results) {
  const uint32_t tiles = sm_count() * kTilesOfCta;
  DeviceBuffer<__nv_bfloat16> c(size_t{(tiles + kAcross - 1) / kAcross} * kSide * kPitch);
  c.fill_bytes(0);
  add<By::columns>(results, "columns", c);
  add<By::halves>(results, "halves", c);
  add<By::words>(results, "words", c);
  add<By::lines>(results, "lines", c);
  add_scattered<2>(results, c);
  add_scattered<4>(results, c);
  add_scattered<16>(results, c);
}

}  // namespace bw::timing
