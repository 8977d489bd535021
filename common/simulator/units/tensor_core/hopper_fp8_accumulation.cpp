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

/// Factors' exponents, a subnormal's being that of the smallest normal number, and their lowest
/// bits; returns the largest field. The loops here and below have neither branches nor overlapping
/// pointers, so the compiler vectorises them.
int split_factors(const float* __restrict values, size_t count, int least_exponent,
                  int8_t* __restrict exponents, int8_t* __restrict lowest_bits) {
  int largest_field = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(values[i]) & kMagnitudeMask;
    const auto field = static_cast<int>(magnitude >> kFp32FractionBits);
    const auto significand = static_cast<int>((magnitude & kFractionMask) | kLeadingBit);
    const auto lowest = std::bit_cast<int>(static_cast<float>(significand & -significand));
    const int exponent = std::max(field - kFp32Bias, least_exponent);
    const int lowest_bit =
        field - kFp32FractionBits + (lowest >> kFp32FractionBits) - 2 * kFp32Bias;
    exponents[i] = static_cast<int8_t>(magnitude == 0 ? kZeroExponent : exponent);
    lowest_bits[i] = static_cast<int8_t>(magnitude == 0 ? kExact : lowest_bit);
    largest_field = std::max(largest_field, field);
  }
  return largest_field;
}

/// 1 for each negative value, else 0.
void find_signs(const float* __restrict values, size_t count, uint8_t* __restrict negative) {
  for (size_t i = 0; i < count; ++i)
    negative[i] = static_cast<uint8_t>(std::bit_cast<uint32_t>(values[i]) >> 31);
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
  std::vector<int8_t> exponents, lowest_bits;  ///< of one tile of A: [k][16]
  std::vector<uint8_t> negative;               ///< likewise
  std::vector<RowBytes> largest;               ///< [n]: exponents to which terms are aligned
  std::vector<float> sums;                     ///< [tile][n][16]
};
thread_local Workspace workspace;

/// Whether all of A is finite.
bool prepare_a(std::span<const RowTile> tiles, int least) {
  const size_t k = tiles[0].k, count = k * kRowBlock;
  workspace.a_exponents.resize(k);
  workspace.a_lowest.resize(2 * k);
  workspace.exponents.resize(count);
  workspace.lowest_bits.resize(count);
  workspace.negative.resize(count);
  int largest_field = 0;
  for (size_t tile = 0; tile < tiles.size(); ++tile) {
    largest_field = std::max(largest_field,
                             split_factors(tiles[tile].a, count, least, workspace.exponents.data(),
                                           workspace.lowest_bits.data()));
    find_signs(tiles[tile].a, count, workspace.negative.data());
    for (size_t i = 0; i < k; ++i) {
      const size_t from = i * kRowBlock, to = tile * kRowBlock;
      const uint8_t* const negative = workspace.negative.data() + from;
      const int8_t* const lowest = workspace.lowest_bits.data() + from;
      std::copy_n(workspace.exponents.data() + from, kRowBlock,
                  workspace.a_exponents[i].data() + to);
      int8_t of_negative[kRowBlock], of_positive[kRowBlock];
      for (size_t row = 0; row < kRowBlock; ++row) {
        of_negative[row] = negative[row] != 0 ? lowest[row] : int8_t{kExact};
        of_positive[row] = negative[row] != 0 ? int8_t{kExact} : lowest[row];
      }
      std::copy_n(of_negative, kRowBlock, workspace.a_lowest[2 * i].data() + to);
      std::copy_n(of_positive, kRowBlock, workspace.a_lowest[2 * i + 1].data() + to);
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
    const size_t first = column * tile.k;
    largest_field = std::max(
        largest_field, split_factors(values, tile.k, least, workspace.b_exponents.data() + first,
                                     workspace.b_lowest.data() + first));
    find_signs(values, tile.k, workspace.b_negative.data() + first);
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
  const RowBytes* const a = workspace.a_exponents.data() + first;
  RowBytes found = largest;
  for (size_t i = 0; i < kFp8Step; ++i)
    for (size_t v = 0; v < kVectors; ++v)
      found.parts[v] = larger(found.parts[v], a[i].parts[v] + b[i]);
  largest = found;
}

/// How many negative products of each row of one column have lost bits.
RowBytes count_cut(size_t column, size_t first, size_t k, const RowBytes& largest) {
  const int8_t* const lowest = workspace.b_lowest.data() + column * k + first;
  const uint8_t* const negative = workspace.b_negative.data() + column * k + first;
  const RowBytes* const all = workspace.a_lowest.data() + 2 * first;
  RowBytes kept, count{};
  for (size_t v = 0; v < kVectors; ++v)
    kept.parts[v] = largest.parts[v] - static_cast<int8_t>(kFp8FractionBits);
  for (size_t i = 0; i < kFp8Step; ++i) {
    const RowBytes& a = all[2 * i + negative[i]];
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

// The parts of a step for 16 rows of a column, in the rounding mode "towards zero".

/// Exponents of the accumulators.
inline void start_exponents(const float* __restrict d, int8_t* __restrict exponents) {
  for (size_t row = 0; row < kRowBlock; ++row) {
    const auto field =
        static_cast<int>((std::bit_cast<uint32_t>(d[row]) & kMagnitudeMask) >> kFp32FractionBits);
    exponents[row] = static_cast<int8_t>(std::max(field - kFp32Bias, kSmallestExponent));
  }
}

/// The large number, and the accumulator, cut towards zero.
inline void start_sums(const float* __restrict d, const int8_t* __restrict exponents,
                       float* __restrict sums) {
  for (size_t row = 0; row < kRowBlock; ++row) {
    const float large = large_number(exponents[row]);
    const float cut = std::fabs(d[row]) + large - large;
    sums[row] = large + std::copysign(cut, d[row]);
  }
}

/// The sum itself, with what was cut downwards given back, and its kept bits.
inline void finish_sums(const float* __restrict sums, const int8_t* __restrict exponents,
                        const int8_t* __restrict counts, float* __restrict d) {
  for (size_t row = 0; row < kRowBlock; ++row) {
    const int exponent = exponents[row];
    const float last_kept = from_bits(static_cast<uint32_t>(exponent - kFp8FractionBits + kFp32Bias)
                                      << kFp32FractionBits);
    const auto given_back = static_cast<float>(static_cast<int>(counts[row]));
    const float sum = sums[row] - large_number(exponent) + given_back * last_kept;
    d[row] = from_bits(std::bit_cast<uint32_t>(sum) & (~0u << kGuardBits));
  }
}

/// One step of all tiles. In the rounding mode "towards zero".
[[gnu::noinline]] void multiply_step(std::span<const RowTile> tiles, size_t first,
                                     bool accumulate) {
  constexpr float kZeros[kRowBlock] = {};
  const RowTile& any = tiles[0];
  const size_t n = any.n;
  float* const all_sums = workspace.sums.data();
  for (size_t column = 0; column < n; ++column) {
    RowBytes& largest = workspace.largest[column];
    const auto before = [&](const RowTile& tile) {
      return accumulate ? tile.d + column * tile.d_stride : kZeros;
    };
    for (size_t tile = 0; tile < tiles.size(); ++tile)
      start_exponents(before(tiles[tile]), largest.data() + tile * kRowBlock);
    find_largest(column, first, any.k, largest);
    for (size_t tile = 0; tile < tiles.size(); ++tile)
      start_sums(before(tiles[tile]), largest.data() + tile * kRowBlock,
                 all_sums + (tile * n + column) * kRowBlock);
  }
  for (size_t tile = 0; tile < tiles.size(); ++tile)
    multiply_row_block(tiles[tile].a + first * kRowBlock, any.b + first, any.b_stride,
                       all_sums + tile * n * kRowBlock, kRowBlock, n, kFp8Step, true);
  for (size_t column = 0; column < n; ++column) {
    const RowBytes& largest = workspace.largest[column];
    const RowBytes count = count_cut(column, first, any.k, largest);
    for (size_t tile = 0; tile < tiles.size(); ++tile)
      finish_sums(all_sums + (tile * n + column) * kRowBlock, largest.data() + tile * kRowBlock,
                  count.data() + tile * kRowBlock, tiles[tile].d + column * tiles[tile].d_stride);
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
