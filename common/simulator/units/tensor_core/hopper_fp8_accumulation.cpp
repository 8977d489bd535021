#include "common/simulator/units/tensor_core/hopper_fp8_accumulation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace bw::sim {
namespace {

/// A vector register.
constexpr size_t kVectorBytes =
#if defined(__AVX512BW__)
    64;
#elif defined(__AVX2__)
    32;
#else
    16;
#endif
using Bytes = int8_t __attribute__((vector_size(kVectorBytes)));
using Words = uint32_t __attribute__((vector_size(kVectorBytes)));
using Floats = float __attribute__((vector_size(kVectorBytes)));

/// Rows are kept in groups, a byte a row in one vector and a float a row in `kPackets` of them. Byte
/// `packet` of word `lane` is the row at place `lane` of that packet, so that a byte becomes a word
/// without leaving its lane.
constexpr size_t kPackets = sizeof(float);
constexpr size_t kLanes = kVectorBytes / kPackets;
constexpr size_t kGroupRows = kVectorBytes;
static_assert(kRowBlock % kLanes == 0, "a packet lies in one tile");
static_assert(kMostJointTiles * kRowBlock % kGroupRows == 0, "the tiles are whole groups");

/// Columns that are summed at once: enough sums to hide the latency of their additions, few enough
/// for the registers.
constexpr size_t kJointSums = kVectorBytes == 64 ? 3 : 2;
/// Columns whose largest exponents are looked for at once.
constexpr size_t kJointMaxima = 8;

constexpr int kFp32FractionBits = 23, kFp32Bias = 127;
constexpr uint32_t kSignBit = 0x80000000u, kBytesOfWord = 0x01010101u;
constexpr uint32_t kBits = 8;  ///< of a byte

/// Exponent of a zero: with any factor's below those of all products and accumulators.
constexpr int kZeroExponent = -64;
/// Lowest bit of what never loses bits: with any factor's above what is cut off.
constexpr int kExact = 40;
/// Largest exponent of an accumulator for which both of that holds.
constexpr int kLargestExponent = kExact - 16 + kFp8FractionBits - 1;
/// Of accumulators; sums of products that begin at zero have no bit below 2^-41.
constexpr int kSmallestExponent = -48;
/// The large number is 1.5 times 2 to the largest exponent plus this: the sum, below 33 times 4
/// times 2^largest, keeps it in its binade, and its last bit is the last one that is kept.
constexpr int kGuardBits = kFp32FractionBits - kFp8FractionBits;

/// How a format's codes stand for numbers.
struct CodeFormat {
  int fraction_bits, bias;
  uint8_t largest;  ///< magnitude of the largest finite number
};
constexpr CodeFormat kE4m3 = {3, 7, 0x7e}, kE5m2 = {2, 15, 0x7b};
constexpr uint8_t kMagnitude = 0x7f;

constexpr const CodeFormat& code_format(MmaFormat format) {
  return format == MmaFormat::e4m3 ? kE4m3 : kE5m2;
}

inline Bytes all(int value) { return Bytes{} + static_cast<int8_t>(value); }
inline Words all_words(uint32_t value) { return Words{} + value; }
inline Bytes larger(Bytes x, Bytes y) { return x > y ? x : y; }
inline Words words_of(Floats value) { return std::bit_cast<Words>(value); }
inline Words words_of(Bytes value) { return std::bit_cast<Words>(value); }
inline Bytes bytes_of(Words value) { return std::bit_cast<Bytes>(value); }
inline Floats floats_of(Words value) { return std::bit_cast<Floats>(value); }

template <class Vector, class Element>
inline Vector load(const Element* from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class Vector, class Element>
inline void store(Vector value, Element* to) {
  std::memcpy(to, &value, sizeof value);
}

/// What the sums need to know of a factor: its exponent, a subnormal's being that of the smallest
/// normal number, and its lowest bit's.
struct Factors {
  Bytes exponents, lowest_bits;
};

inline Factors split(Bytes codes, const CodeFormat& format) {
  const Bytes magnitude = codes & all(kMagnitude), zeros = Bytes{};
  const auto field_mask = kBytesOfWord * (kMagnitude >> format.fraction_bits);
  const Bytes field = bytes_of(words_of(magnitude) >> format.fraction_bits & field_mask);
  const Bytes exponents = larger(field, all(1)) - all(format.bias);
  Bytes trailing_zeros = all(format.fraction_bits);
  for (int bit = format.fraction_bits - 1; bit >= 0; --bit)
    trailing_zeros = (magnitude & all(1 << bit)) != zeros ? all(bit) : trailing_zeros;
  const Bytes lowest = exponents - all(format.fraction_bits) + trailing_zeros;
  return {magnitude == zeros ? all(kZeroExponent) : exponents,
          magnitude == zeros ? all(kExact) : lowest};
}

/// B of a product, and what was found out about it.
struct PreparedB {
  MmaFormat format = MmaFormat::e4m3;
  std::vector<uint8_t> codes;  ///< [n][k], padded to whole vectors
  bool is_finite = false;
  std::vector<int8_t> exponents, lowest_bits;  ///< alike
  std::vector<uint8_t> negative;               ///< alike, 0 or 1
};

/// Memory of a host thread.
struct Workspace {
  // Of A. Lowest bits stand twice: of the negative factors, which make negative products with a
  // positive one of B, and of the positive ones; the others are exact.
  std::vector<Bytes> a_exponents;  ///< [group][k]
  std::vector<Bytes> a_lowest;     ///< [group][k][2]
  /// Of operands that come without them.
  std::array<std::vector<uint8_t>, kMostJointTiles> codes;
  std::vector<float> unused;       ///< D of the rows that fill up a group
  std::vector<Bytes> largest;      ///< [n], of one group: exponents to which terms are aligned
  /// The warpgroups of a CTA, and often the CTAs of a cluster, multiply by the same B one after the
  /// other: it stays until another one comes.
  PreparedB b;
};
thread_local Workspace workspace;

/// Codes of exact values of a format; of a NaN or an infinity one above the largest.
const uint8_t* make_codes(const float* __restrict values, size_t count, const CodeFormat& format,
                          std::vector<uint8_t>& to) {
  to.resize(count);
  uint8_t* __restrict const codes = to.data();
  // Scaled by the difference of the biases, a number has its code in the upper bits.
  const float scale = std::bit_cast<float>(static_cast<uint32_t>(format.bias) << kFp32FractionBits);
  const int shift = kFp32FractionBits - format.fraction_bits;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(values[i]);
    const float magnitude = std::bit_cast<float>(bits & ~kSignBit) * scale;
    const uint32_t code =
        std::min(std::bit_cast<uint32_t>(magnitude) >> shift, uint32_t{kMagnitude});
    codes[i] = static_cast<uint8_t>(code | (bits >> 24 & 0x80u));
  }
  return codes;
}

int largest_of(Bytes values) {
  int largest = values[0];
  for (size_t i = 1; i < kVectorBytes; ++i) largest = std::max<int>(largest, values[i]);
  return largest;
}

/// Whether all of A is finite.
bool prepare_a(std::span<const RowTile, kMostJointTiles> tiles, MmaFormat format) {
  using Codes = uint8_t __attribute__((vector_size(kLanes)));
  const size_t k = tiles[0].k, groups = tiles.size() * kRowBlock / kGroupRows;
  const CodeFormat& code_of = code_format(format);
  workspace.a_exponents.resize(groups * k);
  workspace.a_lowest.resize(groups * k * 2);
  std::array<const uint8_t*, kMostJointTiles> codes;
  for (size_t i = 0; i < tiles.size(); ++i)
    codes[i] = tiles[i].a_codes != nullptr
                   ? tiles[i].a_codes
                   : make_codes(tiles[i].a, k * kRowBlock, code_of, workspace.codes[i]);
  Bytes largest{};
  for (size_t group = 0; group < groups; ++group)
    for (size_t i = 0; i < k; ++i) {
      Words words{};
      for (size_t packet = 0; packet < kPackets; ++packet) {
        const size_t row = group * kGroupRows + packet * kLanes;
        const uint8_t* const from = codes[row / kRowBlock] + i * kRowBlock + row % kRowBlock;
        words |= __builtin_convertvector(load<Codes>(from), Words)
                 << static_cast<uint32_t>(packet * kBits);
      }
      const Bytes code = bytes_of(words), is_negative = code < Bytes{};
      const Factors factors = split(code, code_of);
      const size_t place = group * k + i;
      largest = larger(largest, code & all(kMagnitude));
      workspace.a_exponents[place] = factors.exponents;
      workspace.a_lowest[2 * place] = is_negative ? factors.lowest_bits : all(kExact);
      workspace.a_lowest[2 * place + 1] = is_negative ? all(kExact) : factors.lowest_bits;
    }
  return largest_of(largest) <= code_of.largest;
}

/// Whether all of B is finite.
bool prepare_b(const RowTile& tile, MmaFormat format) {
  PreparedB& b = workspace.b;
  const CodeFormat& code = code_format(format);
  const size_t count = tile.n * tile.k;
  const size_t padded = (count + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
  const uint8_t* const codes =
      tile.b_codes != nullptr ? tile.b_codes : make_codes(tile.b, count, code, workspace.codes[0]);
  if (b.format == format && b.codes.size() == padded &&
      std::memcmp(b.codes.data(), codes, count) == 0)
    return b.is_finite;
  b.format = format;
  b.codes.assign(padded, 0);
  std::memcpy(b.codes.data(), codes, count);
  b.exponents.resize(padded);
  b.lowest_bits.resize(padded);
  b.negative.resize(padded);
  Bytes largest{};
  for (size_t first = 0; first < padded; first += kVectorBytes) {
    const auto of_vector = load<Bytes>(b.codes.data() + first);
    largest = larger(largest, of_vector & all(kMagnitude));
    const Factors factors = split(of_vector, code);
    store(bytes_of(words_of(of_vector) >> (kBits - 1) & kBytesOfWord), b.negative.data() + first);
    store(factors.exponents, b.exponents.data() + first);
    store(factors.lowest_bits, b.lowest_bits.data() + first);
  }
  b.is_finite = largest_of(largest) <= code.largest;
  return b.is_finite;
}

/// Whether the accumulators are in range.
bool accumulators_fit(std::span<const RowTile> tiles) {
  if (!tiles[0].accumulate) return true;
  for (const RowTile& tile : tiles)
    for (size_t column = 0; column < tile.n; ++column) {
      int largest = 0, smallest = kFp32Bias;
      for (size_t row = 0; row < kRowBlock; ++row) {
        const uint32_t magnitude =
            std::bit_cast<uint32_t>(tile.d[column * tile.d_stride + row]) & ~kSignBit;
        const auto field = static_cast<int>(magnitude >> kFp32FractionBits);
        largest = std::max(largest, field);
        smallest = std::min(smallest, magnitude == 0 ? kFp32Bias : field);
      }
      if (largest > kLargestExponent + kFp32Bias || smallest < kSmallestExponent + kFp32Bias)
        return false;
    }
  return true;
}

/// One step of one group of rows: where its operands stand.
struct GroupStep {
  std::array<const float*, kPackets> a;  ///< [k][16], at the packet's rows
  std::array<float*, kPackets> d;        ///< [n][stride], likewise
  std::array<size_t, kPackets> d_stride;
  const Bytes* a_exponents;
  const Bytes* a_lowest;
  const float* b;  ///< [n][stride], as all of B's
  const int8_t* b_exponents;
  const int8_t* b_lowest;
  const uint8_t* b_negative;
  size_t b_stride;
};

/// The large numbers of a packet. Exponents come as bytes that count from -kLargeBias.
constexpr int kLargeBias = kGuardBits + kFp32Bias;
inline Floats large_numbers(Words exponents, size_t packet) {
  constexpr uint32_t kHalf = 1u << (kFp32FractionBits - 1), kTopByte = 0xff000000u;
  const auto to_top = static_cast<uint32_t>((kPackets - 1 - packet) * kBits);
  return floats_of((exponents << to_top & kTopByte) >> 1 | kHalf);
}

/// To what exponents the terms of `columns` columns are aligned: the largest ones.
template <size_t columns, bool accumulate>
inline void find_largest(const GroupStep& step, size_t column, Bytes* found) {
  Bytes largest[columns];
  for (size_t c = 0; c < columns; ++c) {
    largest[c] = all(kSmallestExponent);
    if constexpr (accumulate) {
      constexpr uint32_t kTopByte = 0xff000000u;
      Words fields{};
      for (size_t p = 0; p < kPackets; ++p) {
        const auto bits = load<Words>(step.d[p] + (column + c) * step.d_stride[p]);
        fields |= (bits << 1 & kTopByte) >> ((kPackets - 1 - p) * kBits);
      }
      largest[c] = larger(largest[c], bytes_of(fields) - all(kFp32Bias));
    }
  }
  const int8_t* const b = step.b_exponents + column * step.b_stride;
  for (size_t i = 0; i < kFp8Step; ++i) {
    const Bytes a = step.a_exponents[i];
    for (size_t c = 0; c < columns; ++c)
      largest[c] = larger(largest[c], a + all(b[c * step.b_stride + i]));
  }
  for (size_t c = 0; c < columns; ++c) found[c] = largest[c];
}

/// The sums of `columns` columns, given the exponents to which terms are aligned. In the rounding
/// mode "towards zero".
template <size_t columns, bool accumulate>
inline void sum_columns(const GroupStep& step, size_t column, const Bytes* largest) {
  Floats sums[columns][kPackets];
  const size_t first = column * step.b_stride;
  Bytes kept[columns], cut[columns] = {};
  for (size_t c = 0; c < columns; ++c) {
    kept[c] = largest[c] - all(kFp8FractionBits);
    const Words exponents = words_of(largest[c] + all(kLargeBias));
    for (size_t p = 0; p < kPackets; ++p) {
      const Floats large = large_numbers(exponents, p);
      if constexpr (accumulate) {
        // The accumulator, cut towards zero.
        const auto before = load<Floats>(step.d[p] + (column + c) * step.d_stride[p]);
        const Floats same_sign = floats_of(words_of(large) | (words_of(before) & kSignBit));
        sums[c][p] = before + same_sign - same_sign + large;
      } else {
        sums[c][p] = large;
      }
    }
  }
  for (size_t i = 0; i < kFp8Step; ++i) {
    Floats a[kPackets];
    for (size_t p = 0; p < kPackets; ++p) a[p] = load<Floats>(step.a[p] + i * kRowBlock);
    for (size_t c = 0; c < columns; ++c) {
      const size_t place = first + c * step.b_stride + i;
      const float b = step.b[place];
      for (size_t p = 0; p < kPackets; ++p) sums[c][p] += a[p] * b;
      const Bytes a_lowest = step.a_lowest[2 * i + step.b_negative[place]];
      // True is -1.
      const Bytes least = kept[c] - all(step.b_lowest[place]);
      cut[c] = a_lowest < least ? cut[c] + all(1) : cut[c];
    }
  }
  for (size_t c = 0; c < columns; ++c) {
    const Words exponents = words_of(largest[c] + all(kLargeBias)), counts = words_of(cut[c]);
    for (size_t p = 0; p < kPackets; ++p) {
      constexpr uint32_t kByte = 0xff;
      // A unit in the last place of the sum for each negative term that was cut downwards.
      const Words given_back = counts >> (p * kBits) & kByte;
      const Floats sum =
          floats_of(words_of(sums[c][p]) + given_back) - large_numbers(exponents, p);
      store(words_of(sum) & (~0u << kGuardBits), step.d[p] + (column + c) * step.d_stride[p]);
    }
  }
}

/// Calls visit(column, number as a constant) for n columns, `joint` at a time as long as they fit.
template <size_t joint, class Visit>
inline void for_columns(size_t n, Visit&& visit) {
  size_t column = 0;
  for (; column + joint <= n; column += joint)
    visit(column, std::integral_constant<size_t, joint>{});
  for (; column < n; ++column) visit(column, std::integral_constant<size_t, 1>{});
}

/// All columns of a group of rows. In the rounding mode "towards zero".
template <bool accumulate>
[[gnu::noinline]] void sum_group(const GroupStep& step, size_t n) {
  workspace.largest.resize(n);
  Bytes* const largest = workspace.largest.data();
  for_columns<kJointMaxima>(n, [&](size_t column, auto joint) {
    find_largest<joint(), accumulate>(step, column, largest + column);
  });
  for_columns<kJointSums>(n, [&](size_t column, auto joint) {
    sum_columns<joint(), accumulate>(step, column, largest + column);
  });
}

/// One step of all tiles.
void sum_step(std::span<const RowTile, kMostJointTiles> tiles, size_t present, size_t first) {
  const RowTile& any = tiles[0];
  for (size_t row = 0; row < present * kRowBlock; row += kGroupRows) {
    const size_t group = row / kGroupRows;
    GroupStep step{.a = {},
                   .d = {},
                   .d_stride = {},
                   .a_exponents = workspace.a_exponents.data() + group * any.k + first,
                   .a_lowest = workspace.a_lowest.data() + (group * any.k + first) * 2,
                   .b = any.b + first,
                   .b_exponents = workspace.b.exponents.data() + first,
                   .b_lowest = workspace.b.lowest_bits.data() + first,
                   .b_negative = workspace.b.negative.data() + first,
                   .b_stride = any.k};
    for (size_t p = 0; p < kPackets; ++p) {
      const size_t own = row + p * kLanes;
      const RowTile& tile = tiles[own / kRowBlock];
      step.a[p] = tile.a + first * kRowBlock + own % kRowBlock;
      step.d[p] = tile.d + own % kRowBlock;
      step.d_stride[p] = tile.d_stride;
    }
    if (any.accumulate || first > 0)
      sum_group<true>(step, any.n);
    else
      sum_group<false>(step, any.n);
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
  if (any.b_stride != any.k || !accumulators_fit(tiles)) return false;
  std::array<RowTile, kMostJointTiles> whole;
  whole.fill(any);
  std::copy(tiles.begin(), tiles.end(), whole.begin());
  if (tiles.size() < whole.size()) {
    workspace.unused.assign(any.n * kRowBlock, 0.0f);
    for (size_t tile = tiles.size(); tile < whole.size(); ++tile) {
      whole[tile].d = workspace.unused.data();
      whole[tile].d_stride = kRowBlock;
    }
  }
  if (!prepare_a(whole, formats.a) || !prepare_b(any, formats.b)) return false;
  const RoundTowardsZero rounding;
  for (size_t first = 0; first < any.k; first += kFp8Step) sum_step(whole, tiles.size(), first);
  return true;
}

}  // namespace bw::sim
