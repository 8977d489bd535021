/// \file
/// What narrow stores of threads cost: the tiles that a warpgroup's MMAs leave in its registers,
/// stored as bf16 in columns and in rows, two, four or sixteen bytes a lane at a time.

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

}  // namespace

void measure_narrow_stores(Results& results) {
  const uint32_t tiles = sm_count() * kTilesOfCta;
  DeviceBuffer<__nv_bfloat16> c(size_t{(tiles + kAcross - 1) / kAcross} * kSide * kPitch);
  c.fill_bytes(0);
  add<By::columns>(results, "columns", c);
  add<By::halves>(results, "halves", c);
  add<By::words>(results, "words", c);
  add<By::lines>(results, "lines", c);
}

}  // namespace bw::timing
