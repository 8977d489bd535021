/// \file
/// f16 and bf16 arithmetic: each result must be the representable value nearest to the exact one,
/// which double and a two-term sum hold (PTX ISA, "Half Precision Floating Point Instructions").
#include <bit>

#include "tests/simulator/units/lane_evaluation.hpp"

namespace bw::sim::test::half_test {
namespace {

using U16 = uint16_t;
using U32 = uint32_t;

double value_of(U16 code, bool bfloat) {
  if (bfloat) return std::bit_cast<float>(U32{code} << 16);
  const int exponent = code >> 10 & 31, mantissa = code & 1023;
  const double sign = code & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}

/// sum + error, exactly.
struct Exact {
  double sum, error;
};
Exact exact_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// The nearest code by bisection over the magnitudes, ties to even.
U16 nearest(Exact value, bool bfloat) {
  if (std::isnan(value.sum)) return 0x7fff;
  const U16 sign = std::signbit(value.sum) ? 0x8000 : 0;
  const U16 infinity = bfloat ? 0x7f80 : 0x7c00;
  if (std::isinf(value.sum)) return sign | infinity;
  if (sign != 0) value = {-value.sum, -value.error};
  const double beyond = bfloat ? 0x1p128 : 65536;
  const auto at = [&](U32 code) {
    return code >= infinity ? beyond : value_of(static_cast<U16>(code), bfloat);
  };
  U32 low = 0, high = infinity;  // at(low) <= value; at(high) > value or the value is beyond all
  while (high - low > 1) {
    const U32 middle = (low + high) / 2;
    const double excess = (at(middle) - value.sum) - value.error;
    (excess <= 0 ? low : high) = middle;
  }
  const double side = ((at(low) + at(high)) / 2 - value.sum) - value.error;
  if (side > 0) return static_cast<U16>(sign | low);
  if (side < 0) return static_cast<U16>(sign | high);
  return static_cast<U16>(sign | (low % 2 == 0 ? low : high));
}

struct Sources {
  std::vector<U16> a, b, c;
};
/// Every code against a shuffled partner.
Sources sources() {
  Sources s;
  std::mt19937 random(7);
  for (U32 round = 0; round < 2; ++round)
    for (U32 code = 0; code < 65536; ++code) {
      s.a.push_back(static_cast<U16>(code));
      // Half of the partners have a similar exponent, so that sums cancel and round.
      s.b.push_back(
          static_cast<U16>(round == 0 ? random() : (code ^ 0x8000) + random() % 4096 - 2048));
      s.c.push_back(static_cast<U16>(random()));
    }
  return s;
}

void check_arithmetic(bool bfloat) {
  const std::string type = bfloat ? "bf16" : "f16";
  const Sources s = sources();
  const auto sum = evaluate<U16>("add.rn." + type + " %d, %a, %b;", s.a, s.b);
  const auto difference = evaluate<U16>("sub." + type + " %d, %a, %b;", s.a, s.b);
  const auto product = evaluate<U16>("mul." + type + " %d, %a, %b;", s.a, s.b);
  const auto fused = evaluate<U16>("fma.rn." + type + " %d, %a, %b, %c;", s.a, s.b, s.c);
  const auto relu = evaluate<U16>("fma.rn.relu." + type + " %d, %a, %b, %c;", s.a, s.b, s.c);
  for (size_t i = 0; i < s.a.size(); ++i) {
    const double a = value_of(s.a[i], bfloat), b = value_of(s.b[i], bfloat),
                 c = value_of(s.c[i], bfloat);
    ASSERT_EQ(sum[i], nearest(exact_sum(a, b), bfloat)) << type << " " << a << " + " << b;
    ASSERT_EQ(difference[i], nearest(exact_sum(a, -b), bfloat)) << type << " " << a << " - " << b;
    ASSERT_EQ(product[i], nearest({a * b, 0}, bfloat)) << type << " " << a << " * " << b;
    const U16 expected = nearest(exact_sum(a * b, c), bfloat);
    ASSERT_EQ(fused[i], expected) << type << " " << a << " * " << b << " + " << c;
    ASSERT_EQ(relu[i], expected & 0x8000 ? 0 : expected);
  }
}

TEST(Half, F16ArithmeticRoundsCorrectly) { check_arithmetic(false); }
TEST(Half, Bf16ArithmeticRoundsCorrectly) { check_arithmetic(true); }

TEST(Half, PackedFormsWorkOnBothHalves) {
  const auto a = interesting<U32>(3000, 1), b = interesting<U32>(3000, 2),
             c = interesting<U32>(3000, 3);
  for (const std::string type : {"f16", "bf16"}) {
    const auto packed = evaluate<U32>("fma.rn." + type + "x2 %d, %a, %b, %c;", a, b, c);
    const auto parts = evaluate<U32>(
        "mov.b32 {%h0, %h1}, %a; mov.b32 {%h2, %h3}, %b; mov.b32 {%h4, %h5}, %c;\n"
        "fma.rn." +
            type + " %h0, %h0, %h2, %h4; fma.rn." + type +
            " %h1, %h1, %h3, %h5; mov.b32 %d, {%h0, %h1};",
        a, b, c);
    EXPECT_EQ(packed, parts) << type;
  }
}

TEST(Half, FlushAndSaturation) {
  const std::vector<U16> a{0x0001, 0x83ff, 0x3c00, 0xbc00, 0x7e00},
      b{0x3c00, 0x3c00, 0x3c00, 0x3800, 0x3c00};
  EXPECT_EQ(evaluate<U16>("mul.ftz.f16 %d, %a, %b;", a, b),
            (std::vector<U16>{0, 0x8000, 0x3c00, 0xb800, 0x7fff}));
  EXPECT_EQ(evaluate<U16>("add.sat.f16 %d, %a, %b;", a, b),
            (std::vector<U16>{0x3c00, 0x3c00, 0x3c00, 0, 0}));
}

TEST(Half, MinMaxAbsNeg) {
  const std::vector<U16> a{0x3c00, 0x7e00, 0x8000, 0xc000, 0x7e01},
      b{0x4000, 0xbc00, 0x0000, 0x3c00, 0x7e02};
  EXPECT_EQ(evaluate<U16>("max.f16 %d, %a, %b;", a, b),
            (std::vector<U16>{0x4000, 0xbc00, 0, 0x3c00, 0x7fff}));
  EXPECT_EQ(evaluate<U16>("min.f16 %d, %a, %b;", a, b),
            (std::vector<U16>{0x3c00, 0xbc00, 0x8000, 0xc000, 0x7fff}));
  EXPECT_EQ(evaluate<U16>("max.NaN.f16 %d, %a, %b;", a, b)[1], 0x7fff);
  EXPECT_EQ(evaluate<U16>("max.xorsign.abs.f16 %d, %a, %b;", a, b)[3], 0xc000);
  EXPECT_EQ(evaluate<U16>("abs.bf16 %d, %a;", a)[3], 0x4000);
  EXPECT_EQ(evaluate<U16>("neg.f16 %d, %a;", a)[0], 0xbc00);
}

TEST(Half, ApproximateFunctionsRoundTheTrueValue) {
  std::vector<U16> a;
  for (U32 code = 0; code < 65536; code += 5) a.push_back(static_cast<U16>(code));
  const auto power = evaluate<U16>("ex2.approx.f16 %d, %a;", a);
  const auto tanh_f16 = evaluate<U16>("tanh.approx.f16 %d, %a;", a);
  const auto tanh_bf16 = evaluate<U16>("tanh.approx.bf16 %d, %a;", a);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(power[i], nearest({std::exp2(value_of(a[i], false)), 0}, false)) << a[i];
    ASSERT_EQ(tanh_f16[i], nearest({std::tanh(value_of(a[i], false)), 0}, false)) << a[i];
    ASSERT_EQ(tanh_bf16[i], nearest({std::tanh(value_of(a[i], true)), 0}, true)) << a[i];
  }
}

TEST(Half, OutOfBoundsFmaIsRefusedByName) {
  expect_fault(FaultKind::unsupported, {"fma.rn.oob.f16"},
               [] { (void)evaluate<U16>("fma.rn.oob.f16 %d, %a, %a, %a;", std::vector<U16>{1}); });
}

}  // namespace
}  // namespace bw::sim::test::half_test
