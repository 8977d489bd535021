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

/// A vector register. The vectors are the compiler's own, so that each width is portable; 16 bytes
/// are what every processor has. A test compiles this file for that width and compares.
constexpr size_t kVectorBytes =
#if defined(BW_VECTOR_BYTES)
    BW_VECTOR_BYTES;
#elif defined(__AVX512BW__)
    64;
#elif defined(__AVX2__)
    32;
#else
    16;
#endif
using Bytes = int8_t __attribute__((vector_size(kVectorBytes)));
using Words = uint32_t __attribute__((vector_size(kVectorBytes)));
using Floats = float __attribute__((vector_size(kVectorBytes)));

/// Rows are kept in groups, a byte a row in one vector and a float a row in `kPackets` of them.
/// Byte `packet` of word `lane` is the row at place `lane` of that packet, so that a byte becomes a
/// word without leaving its lane.
constexpr size_t kPackets = sizeof(float);
constexpr size_t kLanes = kVectorBytes / kPackets;
constexpr size_t kGroupRows = kVectorBytes;
static_assert(kRowBlock % kLanes == 0, "a packet is in one tile");
static_assert(kMostJointTiles * kRowBlock % kGroupRows == 0, "the tiles are whole groups");

/// Columns that are summed at once: enough sums to hide the latency of their additions, few enough
/// for the registers.
constexpr size_t kJointSums = kVectorBytes == 64 ? 4 : 2;
/// Columns whose largest exponents are looked for at once.
constexpr size_t kJointMaxima = 8;

constexpr int kFp32FractionBits = 23, kFp32Bias = 127;
constexpr uint32_t kSignBit = 0x80000000u, kBytesOfWord = 0x01010101u;
constexpr uint32_t kBits = 8;  ///< of a byte

/// Exponent of a zero: with any factor's below those of all products and accumulators.
constexpr int kZeroExponent = -64;
/// Lowest bit of what never loses bits: with any factor's above what is cut off.
constexpr int kExact = 40;
/// Largest exponent of an accumulator, before a step or after, for which both of that holds.
constexpr int kLargestExponent = kExact - 16 + kFp8FractionBits - 1;
/// Of accumulators; sums of products that begin at zero have no bit below 2^-41.
constexpr int kSmallestExponent = -48;
/// The large number is 1.5 times 2 to the largest exponent plus this: the sum, below 33 times 4
/// times 2^largest, keeps it in its binade, and its last bit is the last one that is kept.
constexpr int kGuardBits = kFp32FractionBits - kFp8FractionBits;

/// How a format's codes encode numbers.
struct CodeFormat {
  int fraction_bits, bias;
  uint8_t largest;  ///< magnitude of the largest finite number
};
constexpr CodeFormat kE4m3 = {3, 7, 0x7e}, kE5m2 = {2, 15, 0x7b};
constexpr uint8_t kMagnitude = 0x7f;

inline Bytes all(int value) { return Bytes{} + static_cast<int8_t>(value); }
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

/// Loads into a register, once: compilers otherwise give each use a memory operand, and loads are
/// what the sums wait for.
template <class Vector>
inline Vector once(const Vector& from) {
  return *static_cast<const volatile Vector*>(&from);
}

/// What the sums need to know of a factor: its exponent, a subnormal's being that of the smallest
/// normal number, and its lowest bit's.
struct Factors {
  Bytes exponents, lowest_bits;
};

template <const CodeFormat& format>
inline Factors split(Bytes codes) {
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

/// A column of B in one step, all that the sums need of it.
struct ColumnStep {
  std::array<float, kFp8Step> values;
  /// Positions, in the step's lowest bits of A, that make negative products with the element.
  std::array<uint16_t, kFp8Step> place_of_lowest;
  std::array<int8_t, kFp8Step> exponents, lowest_bits;
};

/// A group's rows of A in one step.
struct GroupRows {
  std::array<std::array<Floats, kPackets>, kFp8Step> values;
  std::array<Bytes, kFp8Step> exponents;
  /// Of the negative factors, which make negative products with a positive one of B, and of the
  /// positive ones; the others are exact.
  std::array<std::array<Bytes, 2>, kFp8Step> lowest_bits;
};

/// B of a product, and what was found out about it.
struct PreparedB {
  const CodeFormat* format = nullptr;
  std::vector<uint8_t> codes;       ///< [n][k]
  int largest = 0;                  ///< magnitude among them
  std::vector<ColumnStep> columns;  ///< [step][n]
};

/// Memory of a host thread.
struct Workspace {
  std::vector<GroupRows> a;  ///< [step][group]
  /// Of operands that come without them.
  std::array<std::vector<uint8_t>, kMostJointTiles> codes;
  std::vector<float> unused;   ///< D of the rows that fill up a group
  std::vector<Bytes> largest;  ///< [n], of one group: exponents to which terms are aligned
  /// The warpgroups of a CTA, and often the CTAs of a cluster, multiply by the same B one after the
  /// other: it stays until another one comes.
  PreparedB b;
};
thread_local Workspace workspace;

/// Codes of exact values of a format; of a NaN or an infinity one above the largest.
template <const CodeFormat& format>
const uint8_t* make_codes(const float* __restrict values, size_t count, std::vector<uint8_t>& to) {
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
  int8_t largest = values[0];
  for (size_t i = 1; i < kVectorBytes; ++i) largest = std::max<int8_t>(largest, values[i]);
  return largest;
}

/// A byte of each packet in each word.
inline std::array<uint32_t, kLanes> interleaved(const std::array<const uint8_t*, kPackets>& from) {
  std::array<uint32_t, kLanes> words;
  for (size_t lane = 0; lane < kLanes; ++lane)
    words[lane] = from[0][lane] | uint32_t{from[1][lane]} << kBits |
                  uint32_t{from[2][lane]} << 2 * kBits | uint32_t{from[3][lane]} << 3 * kBits;
  return words;
}

/// Prepares A; returns the largest magnitude among its codes.
template <const CodeFormat& format>
int prepare_a(std::span<const RowTile, kMostJointTiles> tiles) {
  const size_t k = tiles[0].k, groups = tiles.size() * kRowBlock / kGroupRows;
  workspace.a.resize(groups * k / kFp8Step);
  std::array<const uint8_t*, kMostJointTiles> codes;
  for (size_t i = 0; i < tiles.size(); ++i)
    codes[i] = tiles[i].a_codes != nullptr
                   ? tiles[i].a_codes
                   : make_codes<format>(tiles[i].a, k * kRowBlock, workspace.codes[i]);
  Bytes largest{};
  for (size_t group = 0; group < groups; ++group)
    for (size_t i = 0; i < k; ++i) {
      GroupRows& rows = workspace.a[i / kFp8Step * groups + group];
      const size_t place = i % kFp8Step;
      std::array<const uint8_t*, kPackets> from;
      for (size_t packet = 0; packet < kPackets; ++packet) {
        const size_t row = group * kGroupRows + packet * kLanes;
        const size_t first = i * kRowBlock + row % kRowBlock;
        from[packet] = codes[row / kRowBlock] + first;
        rows.values[place][packet] = load<Floats>(tiles[row / kRowBlock].a + first);
      }
      const auto code = load<Bytes>(interleaved(from).data());
      const Bytes is_negative = code < Bytes{};
      const Factors factors = split<format>(code);
      largest = larger(largest, code & all(kMagnitude));
      rows.exponents[place] = factors.exponents;
      rows.lowest_bits[place] = {is_negative ? factors.lowest_bits : all(kExact),
                                 is_negative ? all(kExact) : factors.lowest_bits};
    }
  return largest_of(largest);
}

/// Prepares B; returns the largest magnitude among its codes.
template <const CodeFormat& format>
int prepare_b(const RowTile& tile) {
  PreparedB& b = workspace.b;
  const size_t count = tile.n * tile.k, steps = tile.k / kFp8Step;
  const uint8_t* const codes = tile.b_codes != nullptr
                                   ? tile.b_codes
                                   : make_codes<format>(tile.b, count, workspace.codes[0]);
  if (b.format == &format && b.codes.size() == count && b.columns.size() == tile.n * steps &&
      std::memcmp(b.codes.data(), codes, count) == 0)
    return b.largest;
  b.format = &format;
  b.codes.assign(codes, codes + count);
  b.columns.resize(tile.n * steps);
  Bytes largest{};
  for (size_t n = 0; n < tile.n; ++n)
    for (size_t step = 0; step < steps; ++step) {
      ColumnStep& column = b.columns[step * tile.n + n];
      const size_t first = n * tile.k + step * kFp8Step;
      std::copy_n(tile.b + first, kFp8Step, column.values.begin());
      std::array<uint8_t, std::max(kFp8Step, kVectorBytes)> of_step{};
      std::copy_n(codes + first, kFp8Step, of_step.begin());
      for (size_t i = 0; i < kFp8Step; ++i)
        column.place_of_lowest[i] =
            static_cast<uint16_t>((2 * i + (of_step[i] >> (kBits - 1))) * kVectorBytes);
      for (size_t i = 0; i < kFp8Step; i += kVectorBytes) {
        const auto of_vector = load<Bytes>(of_step.data() + i);
        largest = larger(largest, of_vector & all(kMagnitude));
        const Factors factors = split<format>(of_vector);
        constexpr size_t kBytes = std::min(kFp8Step, kVectorBytes);
        std::memcpy(column.exponents.data() + i, &factors.exponents, kBytes);
        std::memcpy(column.lowest_bits.data() + i, &factors.lowest_bits, kBytes);
      }
    }
  b.largest = largest_of(largest);
  return b.largest;
}

/// Whether the accumulators are in range, with one bit to spare above.
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
      if (largest >= kLargestExponent + kFp32Bias || smallest < kSmallestExponent + kFp32Bias)
        return false;
    }
  return true;
}

/// Whether `k` products of factors up to these magnitudes are finite and, in sum, in range, with
/// one bit to spare.
bool products_fit(int a, const CodeFormat& a_format, int b, const CodeFormat& b_format, size_t k) {
  if (a > a_format.largest || b > b_format.largest) return false;
  const auto exponent = [](int code, const CodeFormat& format) {
    return std::max(code >> format.fraction_bits, 1) - format.bias;
  };
  // Each is below 4 times 2 to the sum of the exponents.
  constexpr int kProductBits = 2;
  return exponent(a, a_format) + exponent(b, b_format) + kProductBits +
             static_cast<int>(std::bit_width(k - 1)) <=
         kLargestExponent;
}

/// One step of one group of rows.
struct GroupStep {
  std::array<float*, kPackets> d;  ///< [n][stride], at the packet's rows
  std::array<size_t, kPackets> d_stride;
  const GroupRows& a;
  const ColumnStep* b;  ///< [n]
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
  const ColumnStep* const b = step.b + column;
  for (size_t i = 0; i < kFp8Step; ++i) {
    const Bytes a = once(step.a.exponents[i]);
    for (size_t c = 0; c < columns; ++c)
      largest[c] = larger(largest[c], a + all(b[c].exponents[i]));
  }
  for (size_t c = 0; c < columns; ++c) found[c] = largest[c];
}

/// The sums of `columns` columns, given the exponents to which terms are aligned. In the rounding
/// mode "towards zero".
template <size_t columns, bool accumulate>
inline void sum_columns(const GroupStep& step, size_t column, const Bytes* largest) {
  Floats sums[columns][kPackets];
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
  const ColumnStep* const b = step.b + column;
  const auto* const lowest_bits = reinterpret_cast<const std::byte*>(step.a.lowest_bits.data());
  for (size_t i = 0; i < kFp8Step; ++i) {
    Floats a[kPackets];
    for (size_t p = 0; p < kPackets; ++p) a[p] = once(step.a.values[i][p]);
    for (size_t c = 0; c < columns; ++c) {
      const float value = b[c].values[i];
      for (size_t p = 0; p < kPackets; ++p) sums[c][p] += a[p] * value;
      const auto a_lowest = load<Bytes>(lowest_bits + b[c].place_of_lowest[i]);
      const Bytes least = kept[c] - all(b[c].lowest_bits[i]);
      cut[c] = a_lowest < least ? cut[c] + all(1) : cut[c];
    }
  }
  for (size_t c = 0; c < columns; ++c) {
    const Words exponents = words_of(largest[c] + all(kLargeBias)), counts = words_of(cut[c]);
    for (size_t p = 0; p < kPackets; ++p) {
      constexpr uint32_t kByte = 0xff;
      // A unit in the last place of the sum for each negative term that was cut downwards.
      const Words given_back = counts >> (p * kBits) & kByte;
      const Floats sum = floats_of(words_of(sums[c][p]) + given_back) - large_numbers(exponents, p);
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

/// One step of all tiles, of which some are `present`.
void sum_step(std::span<const RowTile, kMostJointTiles> tiles, size_t present, size_t index) {
  constexpr size_t kGroups = kMostJointTiles * kRowBlock / kGroupRows;
  const RowTile& any = tiles[0];
  for (size_t row = 0; row < present * kRowBlock; row += kGroupRows) {
    GroupStep step{.d = {},
                   .d_stride = {},
                   .a = workspace.a[index * kGroups + row / kGroupRows],
                   .b = workspace.b.columns.data() + index * any.n};
    for (size_t p = 0; p < kPackets; ++p) {
      const size_t own = row + p * kLanes;
      const RowTile& tile = tiles[own / kRowBlock];
      step.d[p] = tile.d + own % kRowBlock;
      step.d_stride[p] = tile.d_stride;
    }
    if (any.accumulate || index > 0)
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
  const bool a_is_e4m3 = formats.a == MmaFormat::e4m3, b_is_e4m3 = formats.b == MmaFormat::e4m3;
  const int a = a_is_e4m3 ? prepare_a<kE4m3>(whole) : prepare_a<kE5m2>(whole);
  const int b = b_is_e4m3 ? prepare_b<kE4m3>(any) : prepare_b<kE5m2>(any);
  if (!products_fit(a, a_is_e4m3 ? kE4m3 : kE5m2, b, b_is_e4m3 ? kE4m3 : kE5m2, any.k))
    return false;
  const RoundTowardsZero rounding;
  for (size_t step = 0; step < any.k / kFp8Step; ++step) sum_step(whole, tiles.size(), step);
  return true;
}

}  // namespace bw::sim
