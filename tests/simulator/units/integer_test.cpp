/// \file
/// Integer arithmetic against 128-bit reference arithmetic (PTX ISA, "Integer Arithmetic
/// Instructions", "Extended-Precision Integer Arithmetic Instructions").
#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cstring>
#include <numeric>

#include "tests/simulator/units/lane_evaluation.hpp"

namespace bw::sim::test::integer_test {
namespace {

__extension__ typedef __int128 Wide;
constexpr size_t kCount = 2000;

template <class T>
constexpr int kBits = 8 * static_cast<int>(sizeof(T));
template <class T>
T wrap(Wide value) {
  return static_cast<T>(static_cast<unsigned long long>(value));
}
template <class T>
Wide floor_shift(Wide value, int bits) {
  return value >> bits;
}

template <class T, class Reference>
void check2(const std::string& opcode, Reference reference, uint32_t seed = 1) {
  const auto a = interesting<T>(kCount, seed), b = interesting<T>(kCount, seed + 1);
  const auto d = evaluate<T>(opcode + " %d, %a, %b;", a, b);
  for (size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(d[i], wrap<T>(reference(Wide{a[i]}, Wide{b[i]})))
        << opcode << " " << a[i] << ", " << b[i];
}
template <class T, class Reference>
void check3(const std::string& opcode, Reference reference) {
  const auto a = interesting<T>(kCount, 3), b = interesting<T>(kCount, 4),
             c = interesting<T>(kCount, 5);
  const auto d = evaluate<T>(opcode + " %d, %a, %b, %c;", a, b, c);
  for (size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(d[i], wrap<T>(reference(Wide{a[i]}, Wide{b[i]}, Wide{c[i]})))
        << opcode << " " << a[i] << ", " << b[i] << ", " << c[i];
}

template <class T>
void check_type(const std::string& type) {
  constexpr bool kSigned = std::is_signed_v<T>;
  check2<T>("add." + type, [](Wide a, Wide b) { return a + b; });
  check2<T>("sub." + type, [](Wide a, Wide b) { return a - b; });
  check2<T>("mul.lo." + type, [](Wide a, Wide b) {
    return static_cast<Wide>(static_cast<unsigned long long>(a) *
                             static_cast<unsigned long long>(b));
  });
  // The high half, from 32-bit pieces for 64-bit types (an unsigned 128-bit product overflows
  // Wide).
  check2<T>("mul.hi." + type, [](Wide a, Wide b) {
    if constexpr (sizeof(T) < 8 || kSigned) return floor_shift<T>(a * b, kBits<T>);
    const Wide mask = 0xffffffff;
    const Wide low = (a & mask) * (b & mask), m1 = (a >> 32) * (b & mask),
               m2 = (a & mask) * (b >> 32);
    const Wide middle = (low >> 32) + (m1 & mask) + (m2 & mask);
    return (a >> 32) * (b >> 32) + (m1 >> 32) + (m2 >> 32) + (middle >> 32);
  });
  check2<T>("div." + type, [](Wide a, Wide b) { return b == 0 ? Wide{-1} : a / b; });
  check2<T>("rem." + type, [](Wide a, Wide b) { return b == 0 ? a : a % b; });
  check2<T>("min." + type, [](Wide a, Wide b) { return a < b ? a : b; });
  check2<T>("max." + type, [](Wide a, Wide b) { return a > b ? a : b; });
  check3<T>("mad.lo." + type, [](Wide a, Wide b, Wide c) {
    return static_cast<Wide>(static_cast<unsigned long long>(a) *
                                 static_cast<unsigned long long>(b) +
                             static_cast<unsigned long long>(c));
  });
  check3<T>("sad." + type, [](Wide a, Wide b, Wide c) { return c + (a < b ? b - a : a - b); });
}

TEST(Integer, ArithmeticOfEveryType) {
  check_type<uint16_t>("u16");
  check_type<int16_t>("s16");
  check_type<uint32_t>("u32");
  check_type<int32_t>("s32");
  check_type<uint64_t>("u64");
  check_type<int64_t>("s64");
}

template <class T>
void check_signed_unary(const std::string& type) {
  const auto a = interesting<T>(kCount, 6);
  const auto absolute = evaluate<T>("abs." + type + " %d, %a;", a);
  const auto negated = evaluate<T>("neg." + type + " %d, %a;", a);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(absolute[i], wrap<T>(a[i] < 0 ? -Wide{a[i]} : Wide{a[i]})) << a[i];
    ASSERT_EQ(negated[i], wrap<T>(-Wide{a[i]})) << a[i];
  }
}

TEST(Integer, AbsAndNegWrapAtTheSmallestValue) {
  check_signed_unary<int16_t>("s16");
  check_signed_unary<int32_t>("s32");
  check_signed_unary<int64_t>("s64");
}

template <class T, class W>
void check_wide(const std::string& type) {
  const auto a = interesting<T>(kCount, 7), b = interesting<T>(kCount, 8);
  const auto c = interesting<W>(kCount, 9);
  const auto product = evaluate<W>("mul.wide." + type + " %d, %a, %b;", a, b);
  const auto sum = evaluate<W>("mad.wide." + type + " %d, %a, %b, %c;", a, b, c);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(product[i], wrap<W>(Wide{a[i]} * b[i])) << a[i] << ", " << b[i];
    ASSERT_EQ(sum[i], wrap<W>(Wide{a[i]} * b[i] + c[i])) << a[i] << ", " << b[i] << ", " << c[i];
  }
}

TEST(Integer, WideProducts) {
  check_wide<uint16_t, uint32_t>("u16");
  check_wide<int16_t, int32_t>("s16");
  check_wide<uint32_t, uint64_t>("u32");
  check_wide<int32_t, int64_t>("s32");
}

Wide clamp_s32(Wide value) {
  const Wide low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
  return value < low ? low : value > high ? high : value;
}

TEST(Integer, SaturationAndRelu) {
  using S32 = int32_t;
  check2<S32>("add.sat.s32", [](Wide a, Wide b) { return clamp_s32(a + b); });
  check2<S32>("sub.sat.s32", [](Wide a, Wide b) { return clamp_s32(a - b); });
  check3<S32>("mad.hi.s32", [](Wide a, Wide b, Wide c) { return (a * b >> 32) + c; });
  check3<S32>("mad.hi.sat.s32",
              [](Wide a, Wide b, Wide c) { return clamp_s32((a * b >> 32) + c); });
  check2<S32>("min.relu.s32", [](Wide a, Wide b) { return std::max<Wide>(0, std::min(a, b)); });
  check2<S32>("max.relu.s32", [](Wide a, Wide b) { return std::max<Wide>(0, std::max(a, b)); });
}

Wide low24(Wide value, bool is_signed) {
  const Wide low = value & 0xffffff;
  return is_signed && low >= 0x800000 ? low - 0x1000000 : low;
}

TEST(Integer, TwentyFourBitProducts) {
  for (const bool is_signed : {false, true}) {
    const auto reference_hi = [=](Wide a, Wide b) {
      return low24(a, is_signed) * low24(b, is_signed) >> 16;
    };
    const auto reference_lo = [=](Wide a, Wide b) {
      return low24(a, is_signed) * low24(b, is_signed);
    };
    const std::string type = is_signed ? "s32" : "u32";
    check2<uint32_t>("mul24.hi." + type, reference_hi);
    check2<uint32_t>("mul24.lo." + type, reference_lo);
    check3<uint32_t>("mad24.hi." + type,
                     [=](Wide a, Wide b, Wide c) { return reference_hi(a, b) + c; });
    check3<uint32_t>("mad24.lo." + type,
                     [=](Wide a, Wide b, Wide c) { return reference_lo(a, b) + c; });
  }
  check3<int32_t>("mad24.hi.sat.s32", [](Wide a, Wide b, Wide c) {
    const auto high = static_cast<int32_t>(low24(a, true) * low24(b, true) >> 16);
    return clamp_s32(Wide{high} + c);
  });
}

TEST(Integer, PackedHalvesDoNotCarryIntoEachOther) {
  const auto a = interesting<uint32_t>(kCount, 10), b = interesting<uint32_t>(kCount, 11);
  const auto sum = evaluate<uint32_t>("add.u16x2 %d, %a, %b;", a, b);
  const auto least = evaluate<uint32_t>("min.s16x2 %d, %a, %b;", a, b);
  const auto relu = evaluate<uint32_t>("max.relu.s16x2 %d, %a, %b;", a, b);
  for (size_t i = 0; i < kCount; ++i) {
    for (int shift : {0, 16}) {
      const auto x = static_cast<uint16_t>(a[i] >> shift), y = static_cast<uint16_t>(b[i] >> shift);
      const auto sx = static_cast<int16_t>(x), sy = static_cast<int16_t>(y);
      ASSERT_EQ(static_cast<uint16_t>(sum[i] >> shift), static_cast<uint16_t>(x + y));
      ASSERT_EQ(static_cast<int16_t>(least[i] >> shift), std::min(sx, sy));
      ASSERT_EQ(static_cast<int16_t>(relu[i] >> shift), std::max<int>(0, std::max(sx, sy)));
    }
  }
}

TEST(Integer, DotProductsAccumulate) {
  const auto a = interesting<uint32_t>(kCount, 12), b = interesting<uint32_t>(kCount, 13),
             c = interesting<uint32_t>(kCount, 14);
  const auto d4 = evaluate<uint32_t>("dp4a.s32.u32 %d, %a, %b, %c;", a, b, c);
  const auto low = evaluate<uint32_t>("dp2a.lo.u32.s32 %d, %a, %b, %c;", a, b, c);
  const auto high = evaluate<uint32_t>("dp2a.hi.u32.s32 %d, %a, %b, %c;", a, b, c);
  for (size_t i = 0; i < kCount; ++i) {
    int64_t sum4 = c[i], sum_low = c[i], sum_high = c[i];
    for (int k = 0; k < 4; ++k)
      sum4 += int64_t{static_cast<int8_t>(a[i] >> 8 * k)} * static_cast<uint8_t>(b[i] >> 8 * k);
    for (int k = 0; k < 2; ++k) {
      const int64_t half = static_cast<uint16_t>(a[i] >> 16 * k);
      sum_low += half * static_cast<int8_t>(b[i] >> 8 * k);
      sum_high += half * static_cast<int8_t>(b[i] >> 8 * (k + 2));
    }
    ASSERT_EQ(d4[i], static_cast<uint32_t>(sum4));
    ASSERT_EQ(low[i], static_cast<uint32_t>(sum_low));
    ASSERT_EQ(high[i], static_cast<uint32_t>(sum_high));
  }
}

// The product of two polynomials over GF(2): each bit of one adds the other, shifted.
TEST(Integer, CarrylessProducts) {
  std::mt19937_64 random(5);
  std::vector<uint64_t> a{0, 1, ~uint64_t{0}, uint64_t{1} << 63},
      b{5, ~uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 63};
  while (a.size() < 300) {
    a.push_back(random());
    b.push_back(random());
  }
  std::vector<uint64_t> c;
  for (size_t i = 0; i < a.size(); ++i) c.push_back(i % 2 == 0 ? 0 : random());
  const auto low = evaluate<uint64_t>("clmad.lo.u64 %d, %a, %b, %c;", a, b, c);
  const auto high = evaluate<uint64_t>("clmad.hi.u64 %d, %a, %b, %c;", a, b, c);
  for (size_t i = 0; i < a.size(); ++i) {
    std::bitset<128> product;
    const std::bitset<128> factor(b[i]);
    for (size_t bit = 0; bit < 64; ++bit)
      if (std::bitset<64>(a[i])[bit]) product ^= factor << bit;
    const std::bitset<128> mask(~uint64_t{0});
    ASSERT_EQ(low[i], (product & mask).to_ullong() ^ c[i]);
    ASSERT_EQ(high[i], (product >> 64).to_ullong() ^ c[i]);
  }
}

// As the CUDA Math API defines __vabsdiffu4(a, b), and __vsadu4(a, b) for c = 0.
TEST(Integer, DistancesOfBytes) {
  const auto a = interesting<uint32_t>(kCount, 31), b = interesting<uint32_t>(kCount, 32),
             c = interesting<uint32_t>(kCount, 33);
  const auto distances = evaluate<uint32_t>("vabsdiff4.u32.u32.u32 %d, %a, %b, %c;", a, b, c);
  const auto sums = evaluate<uint32_t>("vabsdiff4.u32.u32.u32.add %d, %a, %b, %c;", a, b, c);
  for (size_t i = 0; i < kCount; ++i) {
    std::array<uint8_t, 4> bytes_a{}, bytes_b{}, expected{};
    std::memcpy(bytes_a.data(), &a[i], sizeof(uint32_t));
    std::memcpy(bytes_b.data(), &b[i], sizeof(uint32_t));
    for (size_t k = 0; k < expected.size(); ++k)
      expected[k] =
          static_cast<uint8_t>(std::max(bytes_a[k], bytes_b[k]) - std::min(bytes_a[k], bytes_b[k]));
    EXPECT_EQ(distances[i], std::bit_cast<uint32_t>(expected)) << a[i] << ' ' << b[i];
    EXPECT_EQ(sums[i], std::accumulate(expected.begin(), expected.end(), c[i]));
  }
}

// A 128-bit sum, difference and product from 64- and 32-bit steps with the carry flag.
TEST(Integer, CarryChains) {
  const auto a = interesting<uint64_t>(kCount, 15), b = interesting<uint64_t>(kCount, 16);
  const std::string split = "mov.b64 {%x0, %x1}, %a; mov.b64 {%x2, %x3}, %b;\n";
  const auto sum = evaluate<uint64_t>(
      split + "add.cc.u32 %x4, %x0, %x2; addc.u32 %x5, %x1, %x3; mov.b64 %d, {%x4, %x5};", a, b);
  const auto difference = evaluate<uint64_t>(
      split + "sub.cc.u32 %x4, %x0, %x2; subc.cc.u32 %x5, %x1, %x3; mov.b64 %d, {%x4, %x5};", a, b);
  const auto borrow = evaluate<uint64_t>("sub.cc.u64 %l0, %a, %b; subc.u64 %d, 0, 0;", a, b);
  const auto carry = evaluate<uint64_t>("add.cc.u64 %l0, %a, %b; addc.u64 %d, 0, 0;", a, b);
  // The low 64 bits of a 64-bit product, the way compilers expand it.
  const auto product = evaluate<uint64_t>(
      split +
          "mul.lo.u32 %x4, %x0, %x2; mul.hi.u32 %x5, %x0, %x2;\n"
          "mad.lo.cc.u32 %x5, %x0, %x3, %x5; madc.hi.u32 %x6, %x0, %x3, 0;\n"
          "mad.lo.cc.u32 %x5, %x1, %x2, %x5; madc.hi.cc.u32 %x6, %x1, %x2, %x6;\n"
          "mov.b64 %d, {%x4, %x5};",
      a, b);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(sum[i], a[i] + b[i]);
    ASSERT_EQ(difference[i], a[i] - b[i]);
    ASSERT_EQ(product[i], a[i] * b[i]);
    ASSERT_EQ(borrow[i], a[i] < b[i] ? ~0ull : 0ull);
    ASSERT_EQ(carry[i], a[i] + b[i] < a[i] ? 1u : 0u);
  }
}

}  // namespace
}  // namespace bw::sim::test::integer_test
