/// \file
/// Parts of the tensor core model on their own: element formats, unpacking, the chain of the
/// product.
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "common/simulator/units/tensor_core/matrix_product.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"
#include "tests/simulator/units/tcgen05_harness.hpp"

namespace bw::sim::test::tcgen05_operand_test {
namespace {

TEST(Tcgen05Operands, DecodesEveryCodeOfTheNarrowFormats) {
  struct Named {
    MmaFormat format;
    NumberFormat fields;
  };
  for (const Named& c :
       {Named{MmaFormat::e4m3, kE4m3}, Named{MmaFormat::e5m2, kE5m2}, Named{MmaFormat::e2m3, kE2m3},
        Named{MmaFormat::e3m2, kE3m2}, Named{MmaFormat::e2m1, kE2m1}, Named{MmaFormat::u8, kU8},
        Named{MmaFormat::s8, kS8}}) {
    const uint32_t codes = 1u << c.fields.bits;
    std::vector<uint8_t> raw(codes);
    for (uint32_t code = 0; code < codes; ++code) raw[code] = static_cast<uint8_t>(code);
    std::vector<float> values(codes);
    decode_elements(c.format, reinterpret_cast<const std::byte*>(raw.data()), values.data(), codes);
    for (uint32_t code = 0; code < codes; ++code) {
      SCOPED_TRACE("format " + std::to_string(static_cast<int>(c.format)) + " code " +
                   std::to_string(code));
      const uint32_t magnitude = code & 0x7fu;
      if (c.format == MmaFormat::e4m3 && magnitude == 0x7f) {
        EXPECT_TRUE(std::isnan(values[code]));
      } else if (c.format == MmaFormat::e5m2 && magnitude == 0x7c) {
        EXPECT_EQ(values[code], code < 0x80 ? INFINITY : -INFINITY);
      } else if (c.format == MmaFormat::e5m2 && magnitude > 0x7c) {
        EXPECT_TRUE(std::isnan(values[code]));
      } else {
        const double expected = value_of_code(c.fields, code);
        EXPECT_EQ(values[code], expected);
        EXPECT_EQ(std::signbit(values[code]), std::signbit(expected));
      }
    }
  }
}

TEST(Tcgen05Operands, DecodesEveryCodeOfF16AndBf16) {
  std::vector<uint16_t> raw(1u << 16);
  for (uint32_t code = 0; code < raw.size(); ++code) raw[code] = static_cast<uint16_t>(code);
  std::vector<float> values(raw.size());
  for (const bool is_bf16 : {false, true}) {
    decode_elements(is_bf16 ? MmaFormat::bf16 : MmaFormat::f16,
                    reinterpret_cast<const std::byte*>(raw.data()), values.data(), raw.size());
    const NumberFormat& format = is_bf16 ? kBf16 : kF16;
    for (uint32_t code = 0; code < raw.size(); ++code) {
      const uint32_t exponent = code >> format.mantissa & ((1u << format.exponent) - 1);
      if (exponent == (1u << format.exponent) - 1) {
        const bool infinite = (code & ((1u << format.mantissa) - 1)) == 0;
        ASSERT_EQ(std::isinf(values[code]), infinite) << code;
        ASSERT_EQ(std::isnan(values[code]), !infinite) << code;
        continue;
      }
      ASSERT_EQ(values[code], value_of_code(format, code)) << code;
    }
  }
}

/// Numbers between two neighbouring f16 numbers become the nearer one, and the middle the even one.
TEST(Tcgen05Operands, RoundsToTheNearestF16) {
  constexpr uint16_t kInfinity = 0x7c00, kSign = 0x8000;
  for (uint16_t bits = 0; bits < kInfinity; ++bits) {
    const float value = float_from_half(bits);
    constexpr float kBeyondTheLargest = 65536;
    const auto next = static_cast<uint16_t>(bits + 1);
    const float middle =
        (value + (next < kInfinity ? float_from_half(next) : kBeyondTheLargest)) / 2;
    ASSERT_EQ(half_from_float(value), bits);
    ASSERT_EQ(half_from_float(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(half_from_float(middle), bits % 2 == 0 ? bits : next);
    ASSERT_EQ(half_from_float(std::nextafter(middle, INFINITY)), next);
    ASSERT_EQ(half_from_float(-middle), kSign | half_from_float(middle));
  }
  EXPECT_EQ(half_from_float(INFINITY), kInfinity);
  EXPECT_EQ(half_from_float(std::numeric_limits<float>::max()), kInfinity);
}

TEST(Tcgen05Operands, ANanKeepsItsSignAndTheUpperBitsOfItsPayload) {
  EXPECT_EQ(half_from_float(std::bit_cast<float>(0x7fc00000u)), 0x7e00);
  EXPECT_EQ(half_from_float(std::bit_cast<float>(0xffffffffu)), 0xffff);
  EXPECT_EQ(half_from_float(std::bit_cast<float>(0x7fc02000u)), 0x7e01);
  EXPECT_EQ(tensor_core_half(std::bit_cast<float>(0xffc02000u)), 0x7fff);
}

TEST(Tcgen05Operands, Tf32IgnoresTheLow13Bits) {
  const uint32_t raw[2] = {0x3f801fffu, 0xc0002000u};
  float values[2];
  decode_elements(MmaFormat::tf32, reinterpret_cast<const std::byte*>(raw), values, 2);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(std::bit_cast<uint32_t>(values[1]), 0xc0002000u);
}

TEST(Tcgen05Operands, ProductIsOneChainOfFusedMultiplyAddsWhateverItsWidth) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  // Blocks of rows may be multiplied two by two: of three, one is left.
  constexpr size_t kBlocks = 3, kRows = kBlocks * kRowBlock;
  constexpr size_t kK = 37, kLdb = 40, kLdd = kRows + 4;
  for (const size_t n :
       {size_t{1}, size_t{2}, size_t{3}, size_t{5}, size_t{7}, size_t{13}, size_t{32}}) {
    std::vector<float> a(kBlocks * kK * kRowBlock), b(n * kLdb), d(n * kLdd);
    for (auto* matrix : {&a, &b, &d})
      for (float& value : *matrix) value = normal(random);
    const auto multiply = [&](std::vector<float>& to, size_t first, size_t k, bool accumulate) {
      std::array<RowTile, kBlocks> tiles;
      for (size_t block = 0; block < kBlocks; ++block)
        tiles[block] = {.a = a.data() + (block * kK + first) * kRowBlock,
                        .b = b.data() + first,
                        .b_stride = kLdb,
                        .d = to.data() + block * kRowBlock,
                        .d_stride = kLdd,
                        .n = n,
                        .k = k,
                        .accumulate = accumulate};
      multiply_row_blocks(tiles);
    };
    std::vector<float> whole = d, split = d, fresh = d;
    multiply(whole, 0, kK, true);
    multiply(split, 0, 5, true);
    multiply(split, 5, kK - 5, true);
    multiply(fresh, 0, kK, false);
    EXPECT_EQ(whole, split);
    for (size_t column = 0; column < n; ++column)
      for (size_t row = 0; row < kLdd; ++row) {
        const size_t place = column * kLdd + row;
        if (row >= kRows) {
          ASSERT_EQ(whole[place], d[place]);
          continue;
        }
        const float* const of_row = a.data() + row / kRowBlock * kK * kRowBlock + row % kRowBlock;
        float sum = d[place], from_zero = 0;
        for (size_t i = 0; i < kK; ++i) {
          sum = std::fma(of_row[i * kRowBlock], b[column * kLdb + i], sum);
          from_zero = std::fma(of_row[i * kRowBlock], b[column * kLdb + i], from_zero);
        }
        ASSERT_EQ(whole[place], sum);
        ASSERT_EQ(fresh[place], from_zero);
      }
  }
}

/// FP8 codes of either format, without infinities and NaNs.
std::vector<uint8_t> finite_codes(MmaFormat format, size_t count, std::mt19937& random) {
  const unsigned numbers = format == MmaFormat::e4m3 ? 0x7f : 0x7c;
  std::vector<uint8_t> codes(count);
  for (uint8_t& code : codes) code = static_cast<uint8_t>((random() & 0x80u) | random() % numbers);
  return codes;
}

TEST(Tcgen05Operands, ProductOfCodesIsThatChainForEverySum) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  // Where chains start: at sums of products, and where subnormals, zeros or overflow are near.
  constexpr float kStarts[] = {0,          -0.0f,           1.5f,      -333.25f,
                               0x1p-102f,  0x1p-110f,       0x1p-133f, -0x1p-149f,
                               0x1.8p-32f, 0x1.fffffep127f, kNan};
  std::mt19937 random(3);
  constexpr MmaFormat kFormats[] = {MmaFormat::e4m3, MmaFormat::e5m2};
  for (int round = 0; round < 400; ++round) {
    const MmaFormat a_format = kFormats[random() % 2], b_format = kFormats[random() % 2];
    const size_t blocks = 1 + random() % 5, n = 1 + random() % 40, k = 1 + random() % 64;
    std::vector<uint8_t> a = finite_codes(a_format, blocks * k * kRowBlock, random);
    std::vector<uint8_t> b = finite_codes(b_format, n * k, random);
    if (round % 8 == 0) a[random() % a.size()] = 0x7f;
    if (round % 16 == 0) b[random() % b.size()] = 0xff;
    std::vector<float> a_values(a.size()), b_values(b.size()), d(blocks * n * kRowBlock);
    decode_elements(a_format, reinterpret_cast<const std::byte*>(a.data()), a_values.data(),
                    a.size());
    decode_elements(b_format, reinterpret_cast<const std::byte*>(b.data()), b_values.data(),
                    b.size());
    const bool of_one_start = random() % 2 == 0;
    const float start = kStarts[random() % std::size(kStarts)];
    for (float& value : d) value = of_one_start ? start : kStarts[random() % 4];
    const std::vector<float> before = d;
    std::vector<RowTile> tiles(blocks);
    for (size_t block = 0; block < blocks; ++block)
      tiles[block] = {.b_stride = k,
                      .d = d.data() + block * n * kRowBlock,
                      .d_stride = kRowBlock,
                      .n = n,
                      .k = k,
                      .accumulate = round % 3 != 0,
                      .a_codes = a.data() + block * k * kRowBlock,
                      .b_codes = b.data()};
    multiply_codes(tiles, {a_format, b_format, static_cast<uint32_t>(k)});
    for (size_t place = 0; place < d.size(); ++place) {
      const size_t row = place % kRowBlock, column = place / kRowBlock % n;
      const float* const of_row = a_values.data() + place / kRowBlock / n * k * kRowBlock + row;
      float sum = tiles[0].accumulate ? before[place] : 0;
      for (size_t i = 0; i < k; ++i)
        sum = std::fma(of_row[i * kRowBlock], b_values[column * k + i], sum);
      const bool same = std::isnan(sum)
                            ? std::isnan(d[place])
                            : std::bit_cast<uint32_t>(d[place]) == std::bit_cast<uint32_t>(sum);
      ASSERT_TRUE(same) << "round " << round << ": " << d[place] << " instead of " << sum;
    }
  }
}

TEST(Tcgen05Operands, TransposesRowBlocksOfEveryElementSize) {
  std::mt19937 random(4);
  for (const size_t bytes : {size_t{1}, size_t{2}, size_t{4}}) {
    const size_t columns = 32 / bytes, stride = 48;
    std::vector<std::byte> rows(16 * stride), out(16 * 32);
    for (auto& value : rows) value = static_cast<std::byte>(random());
    transpose_row_block(rows.data(), stride, out.data(), columns, bytes);
    for (size_t row = 0; row < 16; ++row)
      for (size_t column = 0; column < columns; ++column)
        ASSERT_EQ(std::memcmp(&out[(column * 16 + row) * bytes],
                              &rows[row * stride + column * bytes], bytes),
                  0);
  }
}

/// The bits of the ISA's table "Shared memory descriptor".
TEST(MatrixDescriptors, EveryBitBelongsToItsFieldAlone) {
  constexpr uint64_t kVersion = uint64_t{1} << 46;
  const auto refusal = [](uint64_t bits, bool may_have_address = false) {
    const auto fault = check_matrix_descriptor(kVersion ^ bits, may_have_address);
    return fault ? fault->what : std::string();
  };
  for (uint32_t bit = 0; bit < 64; ++bit) {
    SCOPED_TRACE(bit);
    const auto in = [&](uint32_t first, uint32_t last) {
      return first <= bit && bit <= last ? 1u << (bit - first) : 0;
    };
    MatrixDescriptor expected;
    expected.start_bytes = 16 * in(0, 13);
    expected.leading_bytes = 16 * in(16, 29);
    expected.stride_bytes = 16 * in(32, 45);
    expected.base_offset = in(49, 51);
    expected.leading_is_address = bit == 52;
    expected.swizzle = static_cast<SharedSwizzle>(in(61, 63));
    EXPECT_EQ(decode_matrix_descriptor(uint64_t{1} << bit), expected);
    const char* const rule = in(14, 15) + in(30, 31) != 0 ? "reserved bits set"
                             : in(46, 48) != 0            ? "in bits 46 to 48, where sm_100 needs 1"
                             : bit == 52                  ? "bit 52 set"
                             : in(53, 60) != 0            ? "bits 53 to 60 not 0"
                                                          : "";
    const std::string text = refusal(uint64_t{1} << bit);
    EXPECT_EQ(text.empty(), *rule == 0) << text;
    EXPECT_NE(text.find(rule), std::string::npos) << text;
  }
  EXPECT_NE(refusal(kVersion).find("the fixed constant 0 in"), std::string::npos);
  for (const uint64_t swizzle : {3, 5, 7})
    EXPECT_NE(refusal(swizzle << 61).find("the swizzle mode " + std::to_string(swizzle)),
              std::string::npos);
  // An address in place of the leading offset: swizzle mode 2 and no base offset.
  for (uint64_t swizzle : {0, 1, 2, 4, 6})
    for (uint64_t base_offset = 0; base_offset < 8; ++base_offset)
      EXPECT_EQ(refusal(swizzle << 61 | uint64_t{1} << 52 | base_offset << 49, true).empty(),
                swizzle == 2 && base_offset == 0)
          << swizzle << base_offset;
}

TEST(MatrixBounds, AMatrixMayReachTheLastByteAndNoFurther) {
  // Without swizzle: core matrices of 8 rows of 16 bytes, 128 bytes apart.
  constexpr size_t kShared = 4096;
  constexpr uint32_t kReserved = 1024, kRows = 16, kElements = 32;
  MatrixDescriptor descriptor;
  descriptor.leading_bytes = 256;  // from one 16 bytes of k to the next
  descriptor.stride_bytes = 128;   // from 8 rows to the next 8
  const uint32_t bytes = kRows * kElements;
  const auto fits = [&](uint32_t start, size_t shared_bytes) {
    descriptor.start_bytes = start;
    return matrix_in_bounds(descriptor, Major::k, kRows, kElements, 1, shared_bytes, kReserved);
  };
  EXPECT_TRUE(fits(kShared - bytes, kShared));
  EXPECT_FALSE(fits(kShared - bytes, kShared - 1));
  EXPECT_FALSE(fits(kShared - bytes + 16, kShared));
  // Where the last line of 128 bytes is not whole, each chunk is looked at.
  constexpr size_t kHalfLineLess = kShared - 64;
  EXPECT_TRUE(fits(kHalfLineLess - bytes, kHalfLineLess));
  EXPECT_FALSE(fits(kHalfLineLess - bytes + 16, kHalfLineLess));
  EXPECT_TRUE(fits(kReserved, kShared));
  EXPECT_FALSE(fits(kReserved - 16, kShared));
}

TEST(MatrixBounds, AllChunksLieInTheLinesOfAMatrix) {
  std::mt19937 random(5);
  const auto below = [&](uint32_t bound) { return random() % bound; };
  constexpr SharedSwizzle kSwizzles[] = {SharedSwizzle::none, SharedSwizzle::k32b,
                                         SharedSwizzle::k64b, SharedSwizzle::k128b,
                                         SharedSwizzle::k128b_atom32};
  for (int round = 0; round < 2000; ++round) {
    MatrixDescriptor descriptor;
    descriptor.start_bytes = below(4096) * kChunkBytes;
    descriptor.leading_bytes = below(512) * kChunkBytes;
    descriptor.stride_bytes = below(512) * kChunkBytes;
    descriptor.base_offset = below(8);
    descriptor.swizzle = kSwizzles[below(5)];
    const Major major = below(2) == 0 ? Major::k : Major::mn;
    const uint32_t element_bytes = 1u << below(3);
    const uint32_t rows = 16 * (1 + below(16)), k_bytes = 16u << below(4);
    const uint32_t k_elements = k_bytes / element_bytes;
    const SharedLines lines = lines_of(descriptor, major, rows, k_elements, element_bytes);
    const bool k_major = major == Major::k;
    const uint32_t outer = k_major ? rows : rows * element_bytes / kChunkBytes;
    const uint32_t inner = k_major ? k_bytes / kChunkBytes : k_elements;
    for (uint32_t i = 0; i < outer; ++i)
      for (uint32_t j = 0; j < inner; ++j) {
        const uint32_t chunk =
            k_major ? descriptor.k_major_chunk(i, j) : descriptor.mn_major_chunk(i, j);
        ASSERT_GE(chunk, lines.first_bytes) << round;
        ASSERT_LE(chunk + kChunkBytes, lines.end_bytes) << round;
      }
  }
}

TEST(MatrixBounds, AStepOfKInsideOfALineHasTheLinesOfItsRows) {
  constexpr uint32_t kRows = 128, kKBytes = 32;
  for (uint32_t step = 0; step < kLineBytes / kKBytes; ++step) {
    MatrixDescriptor descriptor;
    descriptor.start_bytes = 1024 + step * kKBytes;
    descriptor.stride_bytes = 8 * kLineBytes;
    descriptor.swizzle = SharedSwizzle::k128b;
    const SharedLines lines = lines_of(descriptor, Major::k, kRows, kKBytes, 1);
    EXPECT_EQ(lines.first_bytes, 1024u) << step;
    EXPECT_EQ(lines.end_bytes, 1024u + kRows * kLineBytes) << step;
  }
}

}  // namespace
}  // namespace bw::sim::test::tcgen05_operand_test
