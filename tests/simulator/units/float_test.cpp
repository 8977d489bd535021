/// \file
/// f32 and f64 arithmetic: every result must be the rounding of the exact value that the mode asks
/// for. The reference brackets the exact value between neighbouring floats with error-free double
/// arithmetic (PTX ISA, "Floating Point Instructions").
#include <bit>

#include "tests/simulator/units/lane_evaluation.hpp"

namespace bw::sim::test::float_test {
namespace {

using U32 = uint32_t;
constexpr size_t kCount = 4000;
constexpr U32 kNan = 0x7fffffffu;
const std::string kModes[] = {"rn", "rz", "rm", "rp"};

U32 bits(float value) { return std::bit_cast<U32>(value); }
float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

/// The float that rounding `mode` gives; `excess(x)` has the sign of x - exact for doubles near the
/// value.
template <class Excess>
float round_exact(const std::string& mode, float start, Excess excess) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto as_double = [](float x) {
    return std::isinf(x) ? std::copysign(0x1p128, x) : double{x};
  };
  float low = start, high = start;
  while (!std::isinf(low) && excess(as_double(low)) > 0) low = std::nextafter(low, -kInfinity);
  while (!std::isinf(high) && excess(as_double(high)) < 0) high = std::nextafter(high, kInfinity);
  while (low != high && std::nextafter(low, kInfinity) != high) {
    const float next = std::nextafter(low, kInfinity);
    if (excess(as_double(next)) > 0)
      high = next;
    else
      low = next;
    if (excess(as_double(low)) == 0) high = low;
  }
  if (low == high) return low;
  if (mode == "rm") return low;
  if (mode == "rp") return high;
  if (mode == "rz") return low >= 0 ? low : high;
  const double side = excess((as_double(low) + as_double(high)) / 2);
  if (side != 0) return side > 0 ? low : high;
  return (bits(low) & 1) == 0 ? low : high;
}

struct Sum {
  double sum, error;
  Sum(double a, double b) : sum(a + b) {
    const double part = sum - a;
    error = (a - (sum - part)) + (b - part);
  }
  double operator()(double x) const { return (x - sum) - error; }
};

float expect_fma(const std::string& mode, float a, float b, float c) {
  const float native = std::fma(a, b, c);
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return native;
  const Sum exact(double{a} * b, c);
  return round_exact(
      mode, std::isinf(native) ? std::copysign(std::numeric_limits<float>::max(), native) : native,
      exact);
}
float expect_div(const std::string& mode, float a, float b) {
  const float native = a / b;
  if (!std::isfinite(a) || !std::isfinite(b) || b == 0 || a == 0) return native;
  const float start =
      std::isinf(native) ? std::copysign(std::numeric_limits<float>::max(), native) : native;
  return round_exact(mode, start, [=](double x) {
    // Scaled, so that products of large numbers stay finite in the comparison.
    const double difference = x * b - double{a};
    return b > 0 ? difference : -difference;
  });
}

::testing::AssertionResult same(float actual, float expected) {
  if (std::isnan(expected) ? bits(actual) == kNan : actual == expected)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << std::hexfloat << actual << " instead of " << expected;
}

TEST(Float, AddSubMulFmaInEveryRoundingMode) {
  const auto a = interesting<float>(kCount, 1), b = interesting<float>(kCount, 2),
             c = interesting<float>(kCount, 3);
  for (const std::string& mode : kModes) {
    const auto sum = evaluate<float>("add." + mode + ".f32 %d, %a, %b;", a, b);
    const auto difference = evaluate<float>("sub." + mode + ".f32 %d, %a, %b;", a, b);
    const auto product = evaluate<float>("mul." + mode + ".f32 %d, %a, %b;", a, b);
    const auto fused = evaluate<float>("fma." + mode + ".f32 %d, %a, %b, %c;", a, b, c);
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(same(sum[i], expect_fma(mode, a[i], 1, b[i])))
          << mode << " " << a[i] << " + " << b[i];
      ASSERT_TRUE(same(difference[i], expect_fma(mode, a[i], 1, -b[i])))
          << mode << " " << a[i] << " - " << b[i];
      ASSERT_TRUE(same(product[i], expect_fma(mode, a[i], b[i], 0)))
          << mode << " " << a[i] << " * " << b[i];
      ASSERT_TRUE(same(fused[i], expect_fma(mode, a[i], b[i], c[i])))
          << mode << " " << a[i] << " * " << b[i] << " + " << c[i];
    }
  }
}

TEST(Float, DivisionReciprocalAndRootInEveryRoundingMode) {
  const auto a = interesting<float>(kCount, 4), b = interesting<float>(kCount, 5);
  for (const std::string& mode : kModes) {
    const auto quotient = evaluate<float>("div." + mode + ".f32 %d, %a, %b;", a, b);
    const auto reciprocal = evaluate<float>("rcp." + mode + ".f32 %d, %a;", a);
    const auto root = evaluate<float>("sqrt." + mode + ".f32 %d, %a;", a);
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(same(quotient[i], expect_div(mode, a[i], b[i])))
          << mode << " " << a[i] << " / " << b[i];
      ASSERT_TRUE(same(reciprocal[i], expect_div(mode, 1, a[i]))) << mode << " 1 / " << a[i];
      const float native = std::sqrt(a[i]);
      const float expected =
          a[i] > 0 && std::isfinite(a[i])
              ? round_exact(mode, native,
                            [&](double x) { return x < 0 ? -1.0 : x * x - double{a[i]}; })
              : native;
      ASSERT_TRUE(same(root[i], expected)) << mode << " sqrt " << a[i];
    }
  }
}

TEST(Float, DefaultsToNearestAndProducesTheCanonicalNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> a{infinity, 0, 1, std::bit_cast<float>(0xffc12345u)},
      b{-infinity, infinity, 3, 1};
  const auto sum = evaluate<U32>("add.f32 %d, %a, %b;", a, b);
  const auto product = evaluate<U32>("mul.f32 %d, %a, %b;", a, b);
  EXPECT_EQ(sum, (std::vector<U32>{kNan, bits(infinity), bits(4), kNan}));
  EXPECT_EQ(product, (std::vector<U32>{bits(-infinity), kNan, bits(3), kNan}));
  EXPECT_EQ(
      evaluate<U32>("add.rm.f32 %d, %a, %b;", std::vector<float>{1}, std::vector<float>{-1})[0],
      0x80000000u);
}

TEST(Float, FlushToZeroAndSaturation) {
  const auto a = interesting<float>(kCount, 6), b = interesting<float>(kCount, 7),
             c = interesting<float>(kCount, 8);
  const auto flushed = evaluate<float>("fma.rn.ftz.f32 %d, %a, %b, %c;", a, b, c);
  const auto saturated = evaluate<float>("add.sat.f32 %d, %a, %b;", a, b);
  const auto product = evaluate<float>("mul.rz.ftz.sat.f32 %d, %a, %b;", a, b);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(same(flushed[i], flush(expect_fma("rn", flush(a[i]), flush(b[i]), flush(c[i])))));
    const auto clamp = [](float x) { return x > 0 ? std::min(x, 1.0f) : 0.0f; };
    ASSERT_EQ(bits(saturated[i]), bits(clamp(a[i] + b[i])));
    ASSERT_EQ(bits(product[i]), bits(clamp(flush(expect_fma("rz", flush(a[i]), flush(b[i]), 0)))));
  }
}

TEST(Float, PackedPairsRoundEachHalf) {
  const auto a = interesting<uint64_t>(kCount, 9), b = interesting<uint64_t>(kCount, 10),
             c = interesting<uint64_t>(kCount, 11);
  const auto fused = evaluate<uint64_t>("fma.rp.f32x2 %d, %a, %b, %c;", a, b, c);
  const auto sum = evaluate<uint64_t>("add.rn.ftz.f32x2 %d, %a, %b;", a, b);
  for (size_t i = 0; i < kCount; ++i)
    for (int shift : {0, 32}) {
      const auto part = [=](uint64_t value) {
        return std::bit_cast<float>(static_cast<U32>(value >> shift));
      };
      ASSERT_TRUE(same(part(fused[i]), expect_fma("rp", part(a[i]), part(b[i]), part(c[i]))));
      ASSERT_TRUE(same(part(sum[i]), flush(flush(part(a[i])) + flush(part(b[i])))));
    }
}

// What packs, computes and unpacks is executed as one where nothing else sees the pairs
// (ptx/pair_arithmetic.hpp): here and where something does, the values are those of the text.
TEST(Float, PackedPairsOfHalvesInRegisters) {
  const auto a = interesting<uint64_t>(kCount, 12), b = interesting<uint64_t>(kCount, 13),
             c = interesting<uint64_t>(kCount, 14);
  const std::string take_apart =
      "mov.b64 {%x0, %x1}, %a; mov.b64 {%x2, %x3}, %b; mov.b64 {%x4, %x5}, %c;\n";
  const std::string pack =
      "mov.b64 %l0, {%x0, %x1}; mov.b64 %l2, {%x4, %x5}; mov.b64 %l1, {%x2, %x3};\n";
  const std::string multiply = "fma.rp.f32x2 %l3, %l0, %l1, %l2;\n";
  const std::string result = "mov.b64 %d, {%x6, %x7};\n", unpack = "mov.b64 {%x6, %x7}, %l3;\n";
  const auto expected =
      evaluate<uint64_t>("fma.rp.f32x2 %d, %a, %b, %c;", a, b, c);  // as the test above expects it
  const std::string before = take_apart + pack, after = unpack + result;
  EXPECT_EQ(evaluate<uint64_t>(before + multiply + after, a, b, c), expected);
  // Registers of sources are written in between, and others take the storage of those that are not
  // named any more.
  EXPECT_EQ(evaluate<uint64_t>(before + "mov.b32 %x1, %x4; xor.b32 %x2, %x1, %x4;\n" + multiply +
                                   after + "mov.b64 %l4, {%x2, %x2}; add.u64 %d, %d, %l4;",
                               a, b, c),
            expected);
  EXPECT_EQ(evaluate<uint64_t>(before + "mov.b32 %j, 3; mov.b32 %n, -3; add.u32 %j, %j, %n;\n" +
                                   multiply + after + "cvt.u64.u32 %l4, %j; add.u64 %d, %d, %l4;",
                               a, b, c),
            expected);
  // The result goes where a source's other half is.
  EXPECT_EQ(evaluate<uint64_t>(
                before + multiply + "mov.b64 {%x1, %x0}, %l3; mov.b64 %d, {%x1, %x0};", a, b, c),
            expected);
  // A pair and the result are read once more.
  EXPECT_EQ(evaluate<uint64_t>(before + multiply + after + "sub.u64 %d, %d, %l3;", a, b, c),
            std::vector<uint64_t>(kCount));
  EXPECT_EQ(evaluate<uint64_t>(before + multiply + after + "mov.b64 %d, %l1;", a, b, c), b);
  // Between them some lanes go elsewhere.
  EXPECT_EQ(evaluate<uint64_t>(before +
                                   "and.b32 %x6, %i, 2; setp.eq.u32 %p, %x6, 0; @%p bra ON;\n"
                                   "mov.b32 %x6, 1;\nON:" +
                                   multiply + after,
                               a, b, c),
            expected);
}

TEST(Float, MixedPrecisionWidensExactly) {
  const std::vector<uint16_t> narrow{0x3c00, 0x0001, 0xfbff,
                                     0x7e00};  // 1, 2^-24, -65504, NaN as f16
  const std::vector<float> wide{0x1p-25f, 1.0f, 0.5f, 0.0f};
  const auto sum = evaluate<float>("add.rp.f32.f16 %d, %a, %b;", narrow, wide);
  EXPECT_EQ(sum[0], std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(sum[1], std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(sum[2], -65503.5f);
  EXPECT_EQ(bits(sum[3]), kNan);
  const auto fused =
      evaluate<float>("fma.rn.f32.bf16 %d, %a, %a, %b;", std::vector<uint16_t>{0x3f81, 0xc000},
                      std::vector<float>{0.0f, 1.0f});
  EXPECT_EQ(fused[0], 1.0078125f * 1.0078125f);
  EXPECT_EQ(fused[1], 5.0f);
}

TEST(Float, DoubleKeepsPayloadsAndRounds) {
  const std::vector<double> a{1.0, 1.0, 3.0, std::bit_cast<double>(0x7ff8000000001234ull)};
  const std::vector<double> b{0x1p-60, -0x1p-60, 7.0, 1.0};
  EXPECT_EQ(evaluate<double>("add.rp.f64 %d, %a, %b;", a, b)[0], 1.0 + 0x1p-52);
  EXPECT_EQ(evaluate<double>("add.rz.f64 %d, %a, %b;", a, b)[1], 1.0 - 0x1p-53);
  EXPECT_EQ(evaluate<double>("div.rn.f64 %d, %a, %b;", a, b)[2], 3.0 / 7.0);
  EXPECT_EQ(evaluate<double>("fma.rn.f64 %d, %a, %a, %b;", a, b)[2], 16.0);
  EXPECT_EQ(evaluate<double>("sqrt.rn.f64 %d, %a;", a)[2], std::sqrt(3.0));
  EXPECT_EQ(evaluate<uint64_t>("mul.f64 %d, %a, %b;", a, b)[3], 0x7ff8000000001234ull);
}

/// Within `ulps` of the exact value.
void expect_close(const std::string& opcode, const std::vector<float>& a, double (*exact)(double),
                  double ulps, double absolute = 0) {
  const auto d = evaluate<float>(opcode + " %d, %a;", a);
  for (size_t i = 0; i < a.size(); ++i) {
    const double expected = exact(a[i]);
    if (std::isnan(expected)) {
      ASSERT_EQ(bits(d[i]), kNan) << opcode << " " << a[i];
      continue;
    }
    const auto rounded = static_cast<float>(expected);
    if (std::isinf(rounded)) {
      ASSERT_EQ(d[i], rounded) << opcode << " " << a[i];
      continue;
    }
    const double ulp = std::nextafter(std::fabs(rounded), std::numeric_limits<float>::infinity()) -
                       std::fabs(rounded);
    ASSERT_LE(std::fabs(d[i] - expected), ulps * ulp + absolute) << opcode << " " << a[i];
  }
}

TEST(Float, ApproximateFunctionsStayWithinTheirError) {
  const auto a = interesting<float>(kCount, 12);
  expect_close(
      "rcp.approx.f32", a, [](double x) { return 1 / x; }, 1);
  expect_close(
      "sqrt.approx.f32", a, [](double x) { return std::sqrt(x); }, 1);
  expect_close(
      "rsqrt.approx.f32", a, [](double x) { return 1 / std::sqrt(x); }, 2);
  expect_close(
      "ex2.approx.f32", a, [](double x) { return std::exp2(x); }, 2);
  expect_close(
      "lg2.approx.f32", a, [](double x) { return std::log2(x); }, 1);
  expect_close(
      "sin.approx.f32", a, [](double x) { return std::sin(x); }, 1);
  expect_close(
      "cos.approx.f32", a, [](double x) { return std::cos(x); }, 1);
  expect_close(
      "tanh.approx.f32", a, [](double x) { return std::tanh(x); }, 1);
}

// The argument is in cycles (PTX ISA 9.5): only its fraction counts.
TEST(Float, SineAndCosineOfCycles) {
  constexpr double kTwoPi = 6.283185307179586;
  std::vector<float> a{0.0f, -0.0f, 0.25f, 0.5f, 0.75f, 1.0f, 1048576.25f, -1048576.25f, 0x1p-149f};
  for (int i = 0; i < 500; ++i) a.push_back(static_cast<float>(i - 250) * 0.1371f);
  const auto sine = evaluate<float>("sin.approx.ftz.2pi.f32 %d, %a;", a);
  const auto cosine = evaluate<float>("cos.approx.ftz.2pi.f32 %d, %a;", a);
  constexpr double kError = 1e-6;
  for (size_t i = 0; i < a.size(); ++i) {
    const double fraction = double{a[i]} - std::floor(double{a[i]});
    EXPECT_NEAR(sine[i], std::sin(fraction * kTwoPi), kError) << a[i];
    EXPECT_NEAR(cosine[i], std::cos(fraction * kTwoPi), kError) << a[i];
  }
  EXPECT_EQ(sine[8], 0.0f);  // flushed
}

TEST(Float, ApproximateDivisionHasItsRange) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> a{1.0f, 1.0f, infinity, 6.0f}, b{0x1p126f, 0x1.8p126f, 0x1p127f, 3.0f};
  const auto approximate = evaluate<U32>("div.approx.f32 %d, %a, %b;", a, b);
  EXPECT_EQ(approximate, (std::vector<U32>{bits(0x1p-126f), 0, kNan, bits(2.0f)}));
  const auto full = evaluate<float>("div.full.f32 %d, %a, %b;", a, b);
  EXPECT_EQ(full[1], 1.0f / 0x1.8p126f);
  EXPECT_EQ(evaluate<uint64_t>("rcp.approx.ftz.f64 %d, %a;", std::vector<double>{3.0})[0],
            std::bit_cast<uint64_t>(1.0 / 3.0) & 0xffffffff00000000ull);
}

TEST(Float, MinimumAndMaximum) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a{1, nan, 2, nan, 0.0f, -0.0f, -3}, b{2, 5, nan, nan, -0.0f, 0.0f, 2};
  EXPECT_EQ(evaluate<U32>("max.f32 %d, %a, %b;", a, b),
            (std::vector<U32>{bits(2), bits(5), bits(2), kNan, 0, 0, bits(2)}));
  EXPECT_EQ(
      evaluate<U32>("min.f32 %d, %a, %b;", a, b),
      (std::vector<U32>{bits(1), bits(5), bits(2), kNan, bits(-0.0f), bits(-0.0f), bits(-3)}));
  EXPECT_EQ(evaluate<U32>("max.NaN.f32 %d, %a, %b;", a, b),
            (std::vector<U32>{bits(2), kNan, kNan, kNan, 0, 0, bits(2)}));
  EXPECT_EQ(evaluate<U32>("max.xorsign.abs.f32 %d, %a, %b;", a, b)[6], bits(-3));
  EXPECT_EQ(evaluate<U32>("max.f32 %d, %a, %b, 7.0;", a, b)[6], bits(7));
  EXPECT_EQ(evaluate<U32>("min.NaN.abs.f32 %d, %a, %b, 7.0;", a, b)[6], bits(2));
  EXPECT_EQ(evaluate<double>("min.f64 %d, %a, %b;", std::vector<double>{NAN, 4},
                             std::vector<double>{2, -1}),
            (std::vector<double>{2, -1}));
}

TEST(Float, SignsAndProperties) {
  const std::vector<float> a{-1.5f, std::bit_cast<float>(0xff812345u), 0x1p-140f, -0.0f};
  EXPECT_EQ(evaluate<U32>("abs.f32 %d, %a;", a),
            (std::vector<U32>{bits(1.5f), 0x7f812345u, bits(0x1p-140f), 0}));
  EXPECT_EQ(evaluate<U32>("neg.ftz.f32 %d, %a;", a),
            (std::vector<U32>{bits(1.5f), 0x7f812345u, 0x80000000u, 0}));
  EXPECT_EQ(evaluate<U32>("copysign.f32 %d, %a, 2.0;", a)[0], bits(-2.0f));
  const auto property = [&](const std::string& name) {
    return evaluate<U32>("testp." + name + ".f32 %p, %a; selp.u32 %d, 1, 0, %p;", a);
  };
  EXPECT_EQ(property("finite"), (std::vector<U32>{1, 0, 1, 1}));
  EXPECT_EQ(property("notanumber"), (std::vector<U32>{0, 1, 0, 0}));
  EXPECT_EQ(property("number"), (std::vector<U32>{1, 0, 1, 1}));
  EXPECT_EQ(property("infinite"), (std::vector<U32>{0, 0, 0, 0}));
  // Zero counts as normal: measured on a Hopper GPU (tests/hardware).
  EXPECT_EQ(property("normal"), (std::vector<U32>{1, 0, 0, 1}));
  EXPECT_EQ(property("subnormal"), (std::vector<U32>{0, 0, 1, 0}));
}

TEST(Float, ModifiersThatDoNotBelongTogetherAreRefused) {
  expect_fault(FaultKind::unsupported, {"max.xorsign.f32", ".xorsign.abs"},
               [] { (void)evaluate<float>("max.xorsign.f32 %d, %a, %a;", std::vector<float>{1}); });
}

}  // namespace
}  // namespace bw::sim::test::float_test
