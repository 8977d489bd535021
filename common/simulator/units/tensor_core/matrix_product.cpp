#include "common/simulator/units/tensor_core/matrix_product.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>
#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "common/simulator/units/tensor_core/operand_decode.hpp"

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
#if defined(__AVX512BF16__)
constexpr bool kHasPairs = true;
#else
constexpr bool kHasPairs = false;
#endif

/// What a lane of A and one of B hold.
enum class Factors {
  any,    ///< an element each
  exact,  ///< likewise, and products are exact in fp32
  pairs   ///< two elements each, as decode_pairs() makes them
};

/// a * b + c, rounded once; of pairs, once after each product.
template <Factors factors>
inline Packet fused(Packet a, Packet b, Packet c) {
#if defined(__AVX512BF16__)
  // VDPBF16PS adds the products of the upper halves, then those of the lower ones.
  if constexpr (factors == Factors::pairs)
    return _mm512_dpbf16_ps(c, std::bit_cast<__m512bh>(a), std::bit_cast<__m512bh>(b));
#endif
  // A product that is exact is not rounded before the addition either; this file is compiled
  // without contraction, and loops over it become vector code.
  if constexpr (factors == Factors::exact) return a * b + c;
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
template <Factors factors, size_t columns, size_t blocks>
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
        sum[column][p] = fused<factors>(row[p], factor, sum[column][p]);
    }
  }
  for (size_t column = 0; column < columns; ++column)
    for (size_t p = 0; p < kPackets; ++p) simd::store(place_in_d(column, p), sum[column][p]);
}

/// Panels of `columns` as long as they fit, then narrower ones.
template <Factors factors, size_t columns, size_t blocks>
void multiply_from(size_t first, const PanelRows<blocks>& rows, const RowTile& tile) {
  for (; first + columns <= tile.n; first += columns)
    multiply_panel<factors, columns>(rows, tile, first);
  if constexpr (columns > 1) multiply_from<factors, std::bit_floor(columns - 1)>(first, rows, tile);
}

template <Factors factors>
void multiply_tiles(std::span<const RowTile> tiles) {
  if constexpr (kJointBlocks == 2) {
    for (; tiles.size() >= 2 && tiles[0].d_stride == tiles[1].d_stride; tiles = tiles.subspan(2))
      multiply_from<factors, kJointColumns, 2>(
          0, {{tiles[0].a, tiles[1].a}, {tiles[0].d, tiles[1].d}}, tiles[0]);
  }
  for (const RowTile& tile : tiles)
    multiply_from<factors, kWidestPanel, 1>(0, {{tile.a}, {tile.d}}, tile);
}

/// Whether pairs of FP8 can be added to a tile's D. VDPBF16PS takes subnormals for zeros and gives
/// zeros for them. None occur where the last bit of each number is worth 2^-126 or more, as in all
/// products of FP8: then a sum of them is zero or at least as large.
bool takes_pairs(const RowTile& tile) {
  constexpr uint32_t kMagnitude = 0x7fffffffu;
  constexpr auto kLeast = std::bit_cast<uint32_t>(0x1p-102f),
                 kMost = std::bit_cast<uint32_t>(std::numeric_limits<float>::max());
  if (!kHasPairs || tile.k % 2 != 0) return false;
  uint32_t outside = 0;
  for (size_t column = 0; tile.accumulate && column < tile.n; ++column)
    for (size_t row = 0; row < kRowBlock; ++row) {
      const uint32_t bits =
          std::bit_cast<uint32_t>(tile.d[column * tile.d_stride + row]) & kMagnitude;
      outside |=
          static_cast<uint32_t>(bits != 0) & static_cast<uint32_t>(bits - kLeast > kMost - kLeast);
    }
  return outside == 0;
}

/// Operands of FP8 that were decoded; holds nothing between two products.
struct Workspace {
  std::vector<RowTile> tiles;
  std::vector<float> a, b;
};
thread_local Workspace workspace;

}  // namespace

void multiply_row_blocks(std::span<const RowTile> tiles) {
  if (!kHasFma && std::all_of(tiles.begin(), tiles.end(), has_exact_products))
    multiply_tiles<Factors::exact>(tiles);
  else
    multiply_tiles<Factors::any>(tiles);
}

void multiply_codes(std::span<const RowTile> tiles, const TileFormats& formats) {
  const size_t k = tiles[0].k, block = k * kRowBlock, of_b = k * tiles[0].n;
  workspace.tiles.assign(tiles.begin(), tiles.end());
  workspace.a.resize(tiles.size() * block);
  workspace.b.resize(of_b);
  const auto is_decoded = [&](const auto& decode) {
    bool all = decode(formats.b, tiles[0].b_codes, 1, workspace.b.data(), of_b);
    for (size_t i = 0; i < tiles.size(); ++i)
      all = all &&
            decode(formats.a, tiles[i].a_codes, kRowBlock, workspace.a.data() + i * block, block);
    return all;
  };
  const bool in_pairs =
      std::all_of(tiles.begin(), tiles.end(), takes_pairs) && is_decoded(decode_pairs);
  if (!in_pairs) {
    const auto decode = [](MmaFormat format, const uint8_t* codes, size_t, float* out, size_t n) {
      decode_elements(format, reinterpret_cast<const std::byte*>(codes), out, n);
      return true;
    };
    is_decoded(decode);
  }
  for (size_t i = 0; i < tiles.size(); ++i) {
    RowTile& tile = workspace.tiles[i];
    tile.a = workspace.a.data() + i * block;
    tile.b = workspace.b.data();
    tile.b_stride = tile.k = in_pairs ? k / 2 : k;
  }
  if constexpr (kHasPairs) {
    if (in_pairs) return multiply_tiles<Factors::pairs>(workspace.tiles);
  }
  multiply_row_blocks(workspace.tiles);
}

}  // namespace bw::sim
