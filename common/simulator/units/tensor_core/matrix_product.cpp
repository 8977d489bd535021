#include "common/simulator/units/tensor_core/matrix_product.hpp"

#include <array>
#include <bit>
#include <cmath>
#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace bw::sim {
namespace {

// A packet is a SIMD register of the processor that this is compiled for. Intrinsics say which
// multiplication is fused with which addition; the compiler's choice could change bits.
namespace simd {
#if defined(__AVX512F__)
using Packet = __m512;
inline Packet load(const float* values) { return _mm512_loadu_ps(values); }
inline void store(float* values, Packet packet) { _mm512_storeu_ps(values, packet); }
inline Packet broadcast(float value) { return _mm512_set1_ps(value); }
inline Packet multiply_add(Packet a, Packet b, Packet c) { return _mm512_fmadd_ps(a, b, c); }
#elif defined(__FMA__)
using Packet = __m256;
inline Packet load(const float* values) { return _mm256_loadu_ps(values); }
inline void store(float* values, Packet packet) { _mm256_storeu_ps(values, packet); }
inline Packet broadcast(float value) { return _mm256_set1_ps(value); }
inline Packet multiply_add(Packet a, Packet b, Packet c) { return _mm256_fmadd_ps(a, b, c); }
#elif defined(__aarch64__)
using Packet = float32x4_t;
inline Packet load(const float* values) { return vld1q_f32(values); }
inline void store(float* values, Packet packet) { vst1q_f32(values, packet); }
inline Packet broadcast(float value) { return vdupq_n_f32(value); }
inline Packet multiply_add(Packet a, Packet b, Packet c) { return vfmaq_f32(c, a, b); }
#else
using Packet = float;
inline Packet load(const float* values) { return *values; }
inline void store(float* values, Packet packet) { *values = packet; }
inline Packet broadcast(float value) { return value; }
inline Packet multiply_add(Packet a, Packet b, Packet c) { return std::fma(a, b, c); }
#endif
}  // namespace simd
using simd::Packet;
constexpr size_t kPacketLanes = sizeof(Packet) / sizeof(float);
constexpr bool kHasFma = kPacketLanes > 1;

/// a * b + c, rounded once.
template <bool with_exact_products>
inline Packet fused(Packet a, Packet b, Packet c) {
  // A product that is exact is not rounded before the addition either; this file is compiled
  // without contraction, and loops over it become vector code.
  if constexpr (with_exact_products) return a * b + c;
  return simd::multiply_add(a, b, c);
}

constexpr size_t kVectors = kRowBlock / kPacketLanes;
static_assert(kRowBlock % kPacketLanes == 0, "a block of rows is a whole number of packets");
/// Accumulators kept in registers: enough to hide the latency of FMA, few enough for 16 registers.
constexpr size_t kAccumulators = 12;
constexpr size_t kWidestPanel = kVectors >= kAccumulators ? 1 : kAccumulators / kVectors;

/// Blocks of rows that a panel takes: where a block is one packet, each element of B that is loaded
/// serves two, since two loads and two products a cycle are all that a core has.
constexpr size_t kJointBlocks = kVectors == 1 ? 2 : 1;
/// N is a multiple of it in all forms: no narrow panel is left over.
constexpr size_t kJointColumns = 8;

/// Whether all of these are zero or have at most 12 significant bits and an exponent so near to
/// that of 1 that products of two of them are normal numbers.
bool have_exact_products(const float* values, size_t count) {
  constexpr uint32_t kMagnitude = 0x7fffffffu, kLowBits = 0xfffu;
  constexpr auto kLeast = std::bit_cast<uint32_t>(0x1p-60f),
                 kMost = std::bit_cast<uint32_t>(0x1p60f);
  uint32_t low_bits = 0, outside = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(values[i]) & kMagnitude;
    low_bits |= bits & kLowBits;
    outside |=
        static_cast<uint32_t>(bits != 0) & static_cast<uint32_t>(bits - kLeast > kMost - kLeast);
  }
  return low_bits == 0 && outside == 0;
}
bool has_exact_products(const RowTile& tile) {
  if (!have_exact_products(tile.a, tile.k * kRowBlock)) return false;
  for (size_t column = 0; column < tile.n; ++column)
    if (!have_exact_products(tile.b + column * tile.b_stride, tile.k)) return false;
  return true;
}

/// Positions of `blocks` 16-row blocks.
template <size_t blocks>
struct PanelRows {
  std::array<const float*, blocks> a;
  std::array<float*, blocks> d;
};

/// `columns` columns of D at once, from `first` on.
template <bool with_exact_products, size_t columns, size_t blocks>
void multiply_panel(const PanelRows<blocks>& rows, const RowTile& tile, size_t first) {
  constexpr size_t kPackets = blocks * kVectors;
  const float* const b = tile.b + first * tile.b_stride;
  const auto place_in_d = [&](size_t column, size_t packet) {
    return rows.d[packet / kVectors] + (first + column) * tile.d_stride +
           packet % kVectors * kPacketLanes;
  };
  Packet sum[columns][kPackets];
  for (size_t column = 0; column < columns; ++column)
    for (size_t p = 0; p < kPackets; ++p)
      sum[column][p] = tile.accumulate ? simd::load(place_in_d(column, p)) : simd::broadcast(0.0f);
  for (size_t i = 0; i < tile.k; ++i) {
    Packet row[kPackets];
    for (size_t p = 0; p < kPackets; ++p)
      row[p] = simd::load(rows.a[p / kVectors] + i * kRowBlock + p % kVectors * kPacketLanes);
    for (size_t column = 0; column < columns; ++column) {
      const Packet factor = simd::broadcast(b[column * tile.b_stride + i]);
      for (size_t p = 0; p < kPackets; ++p)
        sum[column][p] = fused<with_exact_products>(row[p], factor, sum[column][p]);
    }
  }
  for (size_t column = 0; column < columns; ++column)
    for (size_t p = 0; p < kPackets; ++p) simd::store(place_in_d(column, p), sum[column][p]);
}

/// Panels of `columns` as long as they fit, then narrower ones.
template <bool with_exact_products, size_t columns, size_t blocks>
void multiply_from(size_t first, const PanelRows<blocks>& rows, const RowTile& tile) {
  for (; first + columns <= tile.n; first += columns)
    multiply_panel<with_exact_products, columns>(rows, tile, first);
  if constexpr (columns > 1)
    multiply_from<with_exact_products, std::bit_floor(columns - 1)>(first, rows, tile);
}

}  // namespace

void multiply_row_blocks(std::span<const RowTile> tiles) {
  if constexpr (kJointBlocks == 2) {
    for (; tiles.size() >= 2 && tiles[0].d_stride == tiles[1].d_stride; tiles = tiles.subspan(2))
      multiply_from<false, kJointColumns, 2>(
          0, {{tiles[0].a, tiles[1].a}, {tiles[0].d, tiles[1].d}}, tiles[0]);
  }
  for (const RowTile& tile : tiles) {
    if (!kHasFma && has_exact_products(tile))
      multiply_from<true, kWidestPanel, 1>(0, {{tile.a}, {tile.d}}, tile);
    else
      multiply_from<false, kWidestPanel, 1>(0, {{tile.a}, {tile.d}}, tile);
  }
}

}  // namespace bw::sim
