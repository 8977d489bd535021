#include "common/simulator/units/tensor_core/operand_decode.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "common/simulator/units/alu/half_float.hpp"
#include "common/simulator/units/tensor_core/accumulation.hpp"

namespace bw::sim {
namespace {

constexpr uint32_t kQuietNan = 0x7fc00000u;
constexpr uint32_t kInfinity = 0x7f800000u;
constexpr uint32_t kByteMagnitude = 0x7f;

inline uint32_t all_ones_if(bool condition) { return 0u - static_cast<uint32_t>(condition); }

// The loops below have neither branches nor overlapping pointers, so the compiler vectorises them.

/// A float whose exponent and mantissa are those of a narrow format, moved to fp32's positions and
/// scaled by the difference of the biases; also right for subnormals.
template <int exponent_bits, int mantissa_bits>
inline uint32_t widen(uint32_t magnitude) {
  constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  constexpr uint32_t kScale = static_cast<uint32_t>(127 + 127 - kBias) << 23;
  const float value = std::bit_cast<float>(magnitude << (23 - mantissa_bits));
  return std::bit_cast<uint32_t>(value * std::bit_cast<float>(kScale));
}

/// Likewise for an 8-bit code with its sign.
template <int exponent_bits, int mantissa_bits>
inline uint32_t widen_signed(uint8_t code) {
  // The sign is extended: one of its copies is where widen() takes bit 31 from.
  constexpr uint32_t kSign = 0x80000000u >> (23 - mantissa_bits);
  const auto extended = static_cast<uint32_t>(static_cast<int8_t>(code));
  return widen<exponent_bits, mantissa_bits>(extended & (kSign | kByteMagnitude));
}

void decode_e4m3(const uint8_t* __restrict raw, uint32_t* __restrict out, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out[i] = widen_signed<4, 3>(raw[i]) |
             (all_ones_if((raw[i] & kByteMagnitude) == kByteMagnitude) & kQuietNan);
}

template <int exponent_bits, int mantissa_bits, size_t lanes>
void pair_up(const uint8_t* __restrict codes, uint32_t* __restrict out, size_t count) {
  for (size_t i = 0; i < count / (2 * lanes); ++i)
    for (size_t lane = 0; lane < lanes; ++lane) {
      const uint8_t* const first = codes + 2 * i * lanes + lane;
      out[i * lanes + lane] = widen_signed<exponent_bits, mantissa_bits>(first[0]) |
                              widen_signed<exponent_bits, mantissa_bits>(first[lanes]) >> 16;
    }
}

/// Formats with infinities and NaN as IEEE 754 has them: e5m2, f16.
template <int exponent_bits, int mantissa_bits, class Raw>
void decode_ieee(const Raw* __restrict raw, uint32_t* __restrict out, size_t count) {
  constexpr int kSignBit = exponent_bits + mantissa_bits;
  static_assert(kSignBit + 1 == 8 * sizeof(Raw), "the format fills its container");
  constexpr uint32_t kSign = 1u << kSignBit;
  constexpr uint32_t kInfinityCode = ((1u << exponent_bits) - 1) << mantissa_bits;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t code = raw[i], magnitude = code & (kSign - 1);
    out[i] = widen<exponent_bits, mantissa_bits>(magnitude) |
             (all_ones_if(magnitude >= kInfinityCode) & kInfinity) |
             (all_ones_if(magnitude > kInfinityCode) & kQuietNan) |
             (code & kSign) << (31 - kSignBit);
  }
}

/// Values of a format without infinities or NaN, by code.
template <int exponent_bits, int mantissa_bits>
std::array<float, 256> small_float_table() {
  std::array<float, 256> table{};
  constexpr uint32_t kSign = 1u << (exponent_bits + mantissa_bits);
  for (uint32_t code = 0; code < table.size(); ++code) {
    const float magnitude =
        std::bit_cast<float>(widen<exponent_bits, mantissa_bits>(code & (kSign - 1)));
    table[code] = (code & kSign) != 0 ? -magnitude : magnitude;
  }
  return table;
}

void decode_by_table(const std::array<float, 256>& table, const uint8_t* raw, float* out,
                     size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = table[raw[i]];
}

/// Transposes 8x8 bytes held in eight words (byte j of word i becomes byte i of word j).
inline void transpose_8x8(uint64_t (&w)[8]) {
  const auto exchange = [&w](int distance, int shift, uint64_t mask) {
    for (int i = 0; i < 8; ++i) {
      if ((i & distance) != 0) continue;
      const uint64_t moved = ((w[i] >> shift) ^ w[i + distance]) & mask;
      w[i] ^= moved << shift;
      w[i + distance] ^= moved;
    }
  };
  exchange(4, 32, 0x00000000ffffffffull);
  exchange(2, 16, 0x0000ffff0000ffffull);
  exchange(1, 8, 0x00ff00ff00ff00ffull);
}

static_assert(std::endian::native == std::endian::little,
              "the byte transposition and all register views assume a little-endian host");

void transpose_bytes(const std::byte* rows, size_t stride, std::byte* out, size_t columns) {
  constexpr size_t kTile = 8;
  for (size_t column = 0; column < columns; column += kTile)
    for (size_t row = 0; row < kRowBlock; row += kTile) {
      uint64_t words[kTile];
      for (size_t i = 0; i < kTile; ++i)
        std::memcpy(&words[i], rows + (row + i) * stride + column, sizeof words[i]);
      transpose_8x8(words);
      for (size_t i = 0; i < kTile; ++i)
        std::memcpy(out + (column + i) * kRowBlock + row, &words[i], sizeof words[i]);
    }
}

template <class T>
void transpose_elements(const std::byte* rows, size_t stride, std::byte* out, size_t columns) {
  for (size_t column = 0; column < columns; ++column)
    for (size_t row = 0; row < kRowBlock; ++row)
      std::memcpy(out + (column * kRowBlock + row) * sizeof(T),
                  rows + row * stride + column * sizeof(T), sizeof(T));
}

}  // namespace

void decode_elements(MmaFormat format, const std::byte* raw, float* out, size_t count) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(raw);
  const auto* halves = reinterpret_cast<const uint16_t*>(raw);
  auto* words = reinterpret_cast<uint32_t*>(out);
  switch (format) {
    case MmaFormat::e4m3:
      return decode_e4m3(bytes, words, count);
    case MmaFormat::e5m2:
      return decode_ieee<5, 2>(bytes, words, count);
    case MmaFormat::f16:
      return decode_ieee<5, 10>(halves, words, count);
    case MmaFormat::bf16:
      for (size_t i = 0; i < count; ++i) words[i] = uint32_t{halves[i]} << 16;
      return;
    case MmaFormat::tf32: {
      constexpr uint32_t kUsedBits = 0xffffe000u;
      const auto* input = reinterpret_cast<const uint32_t*>(raw);
      for (size_t i = 0; i < count; ++i) words[i] = input[i] & kUsedBits;
      return;
    }
    case MmaFormat::u8:
      for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(bytes[i]);
      return;
    case MmaFormat::s8:
      for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<int8_t>(bytes[i]));
      return;
    case MmaFormat::e2m3: {
      static const std::array<float, 256> table = small_float_table<2, 3>();
      return decode_by_table(table, bytes, out, count);
    }
    case MmaFormat::e3m2: {
      static const std::array<float, 256> table = small_float_table<3, 2>();
      return decode_by_table(table, bytes, out, count);
    }
    case MmaFormat::e2m1: {
      static const std::array<float, 256> table = small_float_table<2, 1>();
      return decode_by_table(table, bytes, out, count);
    }
  }
}

bool decode_pairs(MmaFormat format, const uint8_t* codes, size_t lanes, float* out, size_t count) {
  const bool is_e4m3 = format == MmaFormat::e4m3;
  const uint32_t largest_number = is_e4m3 ? 0x7e : 0x7b;
  uint8_t largest = 0;
  for (size_t i = 0; i < count; ++i)
    largest = std::max(largest, static_cast<uint8_t>(codes[i] & kByteMagnitude));
  if (largest > largest_number) return false;
  const auto pair = lanes == 1 ? (is_e4m3 ? pair_up<4, 3, 1> : pair_up<5, 2, 1>)
                               : (is_e4m3 ? pair_up<4, 3, kRowBlock> : pair_up<5, 2, kRowBlock>);
  pair(codes, reinterpret_cast<uint32_t*>(out), count);
  return true;
}

void unpack_packed_chunk(unsigned bits, const std::byte* packed, std::byte* codes) {
  uint64_t words[2];
  std::memcpy(words, packed, sizeof words);
  for (unsigned i = 0; i < kChunkBytes; ++i) {
    const unsigned first = i * bits, word = first / 64, shift = first % 64;
    uint64_t value = words[word] >> shift;
    if (shift + bits > 64) value |= words[word + 1] << (64 - shift);
    codes[i] = static_cast<std::byte>(value & ((1u << bits) - 1));
  }
}

void unpack_pairs(const std::byte* packed, size_t bytes, std::byte* codes) {
  for (size_t i = 0; i < bytes; ++i) {
    codes[2 * i] = packed[i] & std::byte{0xf};
    codes[2 * i + 1] = packed[i] >> 4;
  }
}

void transpose_row_block(const std::byte* rows, size_t row_stride_bytes, std::byte* out,
                         size_t columns, size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return transpose_bytes(rows, row_stride_bytes, out, columns);
    case 2:
      return transpose_elements<uint16_t>(rows, row_stride_bytes, out, columns);
    default:
      return transpose_elements<uint32_t>(rows, row_stride_bytes, out, columns);
  }
}

uint16_t half_from_float(float value) {
  if (!std::isnan(value)) return Half::from_float(value);
  constexpr uint32_t kQuietHalfNan = 0x7e00, kPayload = 0x1ff;
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits >> 16 & Half::kSign) | kQuietHalfNan |
                               (bits >> 13 & kPayload));
}

uint16_t tensor_core_half(float value) {
  constexpr uint16_t kCanonicalNan = 0x7fff;
  return std::isnan(value) ? kCanonicalNan : half_from_float(value);
}

float float_from_half(uint16_t bits) {
  uint32_t word = 0;
  decode_ieee<5, 10>(&bits, &word, 1);
  return std::bit_cast<float>(word);
}

}  // namespace bw::sim
