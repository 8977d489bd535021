#include "common/simulator/units/tensor_core/hopper_fp8_accumulation.hpp"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/simulator/units/tensor_core/matrix_product.hpp"

namespace bw::sim {
namespace {

constexpr size_t kRows = kMostJointTiles * kRowBlock;

/// A byte for each row: as many vectors as the processor needs.
constexpr size_t kVectorBytes =
#if defined(__AVX512BW__)
    64;
#elif defined(__AVX2__)
    32;
#else
    16;
#endif
using Bytes = int8_t __attribute__((vector_size(kVectorBytes)));
constexpr size_t kVectors = kRows / kVectorBytes;

struct RowBytes {
  Bytes parts[kVectors];

  [[nodiscard]] int8_t* data() { return reinterpret_cast<int8_t*>(parts); }
  [[nodiscard]] const int8_t* data() const { return reinterpret_cast<const int8_t*>(parts); }
};

/// Exponent of a zero: with any factor's below those of all products.
constexpr int kZeroExponent = -64;
/// Lowest bit of what never loses bits: with any factor's above what is cut off.
constexpr int kExact = 40;
/// Largest exponent of an accumulator for which both of that holds.
constexpr int kLargestExponent = kExact - 16 + kFp8FractionBits - 1;
constexpr int kSmallestExponent = -60;
/// The large number is 1.5 times 2 to the largest exponent plus this: the sum, below 33 times 4
/// times 2^largest, keeps it in its binade, and its last bit is the last one that is kept.
constexpr int kGuardBits = 23 - kFp8FractionBits;

constexpr int kFp32FractionBits = 23, kFp32Bias = 127, kFp32NanField = 255;
constexpr uint32_t kMagnitudeMask = 0x7fffffffu, kFractionMask = 0x7fffffu, kLeadingBit = 0x800000u;

int field_of(float value) {
  return static_cast<int>((std::bit_cast<uint32_t>(value) & kMagnitudeMask) >> kFp32FractionBits);
}

/// A factor's exponent, a subnormal's being that of the smallest normal number, and its lowest bit.
struct Factor {
  int exponent, lowest_bit;
};

inline Factor factor_of(float value, int least_exponent) {
  const uint32_t magnitude = std::bit_cast<uint32_t>(value) & kMagnitudeMask;
  const uint32_t significand = (magnitude & kFractionMask) | kLeadingBit;
  const auto lowest = static_cast<float>(static_cast<int>(significand & (~significand + 1)));
  const int exponent = static_cast<int>(magnitude >> kFp32FractionBits) - kFp32Bias;
  const int lowest_bit = exponent - kFp32FractionBits + field_of(lowest) - kFp32Bias;
  const bool is_zero = magnitude == 0;
  return {is_zero ? kZeroExponent : std::max(exponent, least_exponent),
          is_zero ? kExact : lowest_bit};
}

int least_exponent(MmaFormat format) { return format == MmaFormat::e4m3 ? -6 : -14; }

/// Scratch memory for one product; holds nothing between two products.
struct Workspace {
  // Of A: [k] bytes of all rows. Lowest bits stand twice: of the negative factors, which make
  // negative products with a positive one of B, and of the positive; the others are exact.
  std::vector<RowBytes> a_exponents, a_lowest;
  // Of B: [n][k].
  std::vector<int8_t> b_exponents, b_lowest;
  std::vector<uint8_t> b_negative;
  std::vector<RowBytes> largest;  ///< [n]: exponents to which terms are aligned
  std::vector<float> sums;        ///< [tile][n][16]
};
thread_local Workspace workspace;

/// Whether all of A is finite.
bool prepare_a(std::span<const RowTile> tiles, int least) {
  const size_t k = tiles[0].k;
  workspace.a_exponents.resize(k);
  workspace.a_lowest.resize(2 * k);
  int largest_field = 0;
  for (size_t tile = 0; tile < tiles.size(); ++tile)
    for (size_t i = 0; i < k; ++i) {
      const float* const values = tiles[tile].a + i * kRowBlock;
      const size_t first = tile * kRowBlock;
      int8_t* const exponents = workspace.a_exponents[i].data() + first;
      int8_t* const of_negative = workspace.a_lowest[2 * i].data() + first;
      int8_t* const of_positive = workspace.a_lowest[2 * i + 1].data() + first;
      for (size_t row = 0; row < kRowBlock; ++row) {
        const Factor factor = factor_of(values[row], least);
        const bool is_negative = std::bit_cast<int32_t>(values[row]) < 0;
        exponents[row] = static_cast<int8_t>(factor.exponent);
        of_negative[row] = static_cast<int8_t>(is_negative ? factor.lowest_bit : kExact);
        of_positive[row] = static_cast<int8_t>(is_negative ? kExact : factor.lowest_bit);
        largest_field = std::max(largest_field, field_of(values[row]));
      }
    }
  return largest_field < kFp32NanField;
}

/// Whether all of B is finite.
bool prepare_b(const RowTile& tile, int least) {
  workspace.b_exponents.resize(tile.n * tile.k);
  workspace.b_lowest.resize(tile.n * tile.k);
  workspace.b_negative.resize(tile.n * tile.k);
  int largest_field = 0;
  for (size_t column = 0; column < tile.n; ++column) {
    const float* const values = tile.b + column * tile.b_stride;
    int8_t* const exponents = workspace.b_exponents.data() + column * tile.k;
    int8_t* const lowest = workspace.b_lowest.data() + column * tile.k;
    uint8_t* const negative = workspace.b_negative.data() + column * tile.k;
    for (size_t i = 0; i < tile.k; ++i) {
      const Factor factor = factor_of(values[i], least);
      exponents[i] = static_cast<int8_t>(factor.exponent);
      lowest[i] = static_cast<int8_t>(factor.lowest_bit);
      negative[i] = std::bit_cast<int32_t>(values[i]) < 0 ? 1 : 0;
      largest_field = std::max(largest_field, field_of(values[i]));
    }
  }
  return largest_field < kFp32NanField;
}

/// Whether the accumulators are in range.
bool accumulators_fit(std::span<const RowTile> tiles) {
  if (!tiles[0].accumulate) return true;
  for (const RowTile& tile : tiles)
    for (size_t column = 0; column < tile.n; ++column) {
      int largest = 0, smallest = kFp32Bias;
      for (size_t row = 0; row < kRowBlock; ++row) {
        const float value = tile.d[column * tile.d_stride + row];
        const int field = field_of(value);
        largest = std::max(largest, field);
        smallest = std::min(smallest, value == 0 ? kFp32Bias : field);
      }
      if (largest > kLargestExponent + kFp32Bias || smallest < kSmallestExponent + kFp32Bias)
        return false;
    }
  return true;
}

inline Bytes larger(Bytes x, Bytes y) { return x > y ? x : y; }

/// The exponents of the accumulators of one column, and of the products of `kFp8Step` k from
/// `first`.
void find_largest(size_t column, size_t first, size_t k, RowBytes& largest) {
  const int8_t* const b = workspace.b_exponents.data() + column * k + first;
  RowBytes found = largest;
  for (size_t i = 0; i < kFp8Step; ++i) {
    const RowBytes& a = workspace.a_exponents[first + i];
    for (size_t v = 0; v < kVectors; ++v)
      found.parts[v] = larger(found.parts[v], a.parts[v] + b[i]);
  }
  largest = found;
}

/// How many negative products of each row of one column have lost bits.
RowBytes count_cut(size_t column, size_t first, size_t k, const RowBytes& largest) {
  const int8_t* const lowest = workspace.b_lowest.data() + column * k + first;
  const uint8_t* const negative = workspace.b_negative.data() + column * k + first;
  RowBytes kept, count{};
  for (size_t v = 0; v < kVectors; ++v)
    kept.parts[v] = largest.parts[v] - static_cast<int8_t>(kFp8FractionBits);
  for (size_t i = 0; i < kFp8Step; ++i) {
    const RowBytes& a = workspace.a_lowest[2 * (first + i) + negative[i]];
    for (size_t v = 0; v < kVectors; ++v) count.parts[v] -= a.parts[v] < kept.parts[v] - lowest[i];
  }
  return count;
}

inline float from_bits(uint32_t bits) { return std::bit_cast<float>(bits); }
inline float large_number(int exponent) {
  constexpr uint32_t kHalf = 0x400000u;
  return from_bits(static_cast<uint32_t>(exponent + kGuardBits + kFp32Bias) << kFp32FractionBits |
                   kHalf);
}

/// One step of all tiles. In the rounding mode "towards zero".
[[gnu::noinline]] void multiply_step(std::span<const RowTile> tiles, size_t first,
                                     bool accumulate) {
  const RowTile& any = tiles[0];
  const size_t n = any.n;
  for (size_t column = 0; column < n; ++column) {
    int8_t* const exponents = workspace.largest[column].data();
    for (size_t tile = 0; tile < tiles.size(); ++tile) {
      const float* const d = tiles[tile].d + column * tiles[tile].d_stride;
      for (size_t row = 0; row < kRowBlock; ++row) {
        const int field = accumulate ? field_of(d[row]) : 0;
        exponents[tile * kRowBlock + row] =
            static_cast<int8_t>(std::max(field - kFp32Bias, kSmallestExponent));
      }
    }
    find_largest(column, first, any.k, workspace.largest[column]);
    for (size_t tile = 0; tile < tiles.size(); ++tile) {
      const float* const d = tiles[tile].d + column * tiles[tile].d_stride;
      float* const sums = workspace.sums.data() + (tile * n + column) * kRowBlock;
      for (size_t row = 0; row < kRowBlock; ++row) {
        const float large = large_number(exponents[tile * kRowBlock + row]);
        const float before = accumulate ? d[row] : 0.0f;
        const float cut = std::fabs(before) + large - large;
        sums[row] = large + std::copysign(cut, before);
      }
    }
  }
  for (size_t tile = 0; tile < tiles.size(); ++tile)
    multiply_row_block(tiles[tile].a + first * kRowBlock, any.b + first, any.b_stride,
                       workspace.sums.data() + tile * n * kRowBlock, kRowBlock, n, kFp8Step, true);
  for (size_t column = 0; column < n; ++column) {
    const RowBytes count = count_cut(column, first, any.k, workspace.largest[column]);
    const int8_t* const exponents = workspace.largest[column].data();
    for (size_t tile = 0; tile < tiles.size(); ++tile) {
      float* const d = tiles[tile].d + column * tiles[tile].d_stride;
      const float* const sums = workspace.sums.data() + (tile * n + column) * kRowBlock;
      for (size_t row = 0; row < kRowBlock; ++row) {
        const int exponent = exponents[tile * kRowBlock + row];
        const float last_kept = from_bits(
            static_cast<uint32_t>(exponent - kFp8FractionBits + kFp32Bias) << kFp32FractionBits);
        const auto given_back = static_cast<float>(count.data()[tile * kRowBlock + row]);
        const float sum = sums[row] - large_number(exponent) + given_back * last_kept;
        d[row] = from_bits(std::bit_cast<uint32_t>(sum) & (~0u << kGuardBits));
      }
    }
  }
}

/// Sets the rounding mode "towards zero" while it lives.
class RoundTowardsZero {
 public:
  RoundTowardsZero() : before_(std::fegetround()) { std::fesetround(FE_TOWARDZERO); }
  ~RoundTowardsZero() { std::fesetround(before_); }
  RoundTowardsZero(const RoundTowardsZero&) = delete;
  RoundTowardsZero& operator=(const RoundTowardsZero&) = delete;

 private:
  int before_;
};

}  // namespace

bool multiply_fp8(std::span<const RowTile> tiles, const TileFormats& formats) {
  const RowTile& any = tiles[0];
  if (!accumulators_fit(tiles) || !prepare_a(tiles, least_exponent(formats.a)) ||
      !prepare_b(any, least_exponent(formats.b)))
    return false;
  workspace.largest.resize(any.n);
  workspace.sums.resize(tiles.size() * any.n * kRowBlock);
  const RoundTowardsZero rounding;
  for (size_t first = 0; first < any.k; first += kFp8Step)
    multiply_step(tiles, first, any.accumulate || first > 0);
  return true;
}

}  // namespace bw::sim
