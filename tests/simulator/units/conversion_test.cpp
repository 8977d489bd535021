/// \file
/// cvt between scalar types against arithmetic in double and long integers (PTX ISA, "cvt").
#include <bit>

#include "tests/simulator/units/lane_evaluation.hpp"

namespace bw::sim::test::conversion_test {
namespace {

__extension__ typedef __int128 Wide;
using U16 = uint16_t;
using U32 = uint32_t;
using U64 = uint64_t;
constexpr size_t kCount = 3000;

U32 bits(float value) { return std::bit_cast<U32>(value); }

/// Rounds a double to an integral double by hand.
double to_integral(double value, const std::string& mode) {
  const double below = std::floor(value);
  if (mode == "rmi") return below;
  if (mode == "rpi") return std::ceil(value);
  if (mode == "rzi") return std::trunc(value);
  const double rest = value - below;
  if (rest != 0.5) return rest < 0.5 ? below : below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

template <class D, class S>
D expected_integer(S value, const std::string& mode) {
  if (std::isnan(value))
    return sizeof(D) == 8 || sizeof(S) == 8 ? static_cast<D>(D{1} << (8 * sizeof(D) - 1)) : D{0};
  const double integral = to_integral(value, mode);
  const auto low = static_cast<double>(std::numeric_limits<D>::min());
  const auto high = static_cast<double>(std::numeric_limits<D>::max());
  if (integral <= low) return std::numeric_limits<D>::min();
  if (integral >= high) return std::numeric_limits<D>::max();
  return static_cast<D>(integral);
}

template <class D, class S>
void check_float_to_integer(const std::string& types) {
  const auto a = interesting<S>(kCount, 1);
  for (const std::string mode : {"rni", "rzi", "rmi", "rpi"}) {
    const auto d = evaluate<D>("cvt." + mode + "." + types + " %d, %a;", a);
    for (size_t i = 0; i < kCount; ++i)
      ASSERT_EQ(d[i], (expected_integer<D>(a[i], mode))) << mode << "." << types << " of " << a[i];
  }
}

TEST(Conversion, FloatToIntegerClampsAndRounds) {
  check_float_to_integer<int32_t, float>("s32.f32");
  check_float_to_integer<U32, float>("u32.f32");
  check_float_to_integer<int64_t, float>("s64.f32");
  check_float_to_integer<U64, float>("u64.f32");
  check_float_to_integer<int16_t, float>("s16.f32");
  check_float_to_integer<U16, float>("u16.f32");
  check_float_to_integer<int32_t, double>("s32.f64");
  check_float_to_integer<U32, double>("u32.f64");
  check_float_to_integer<int64_t, double>("s64.f64");
  check_float_to_integer<U64, double>("u64.f64");
}

TEST(Conversion, FloatToByteIsExtendedInAWiderRegister) {
  const std::vector<float> a{-3.7f, 300, -1000, 12.5f};
  EXPECT_EQ(evaluate<U32>("cvt.rzi.s8.f32 %d, %a;", a),
            (std::vector<U32>{~0u - 2, 127, ~0u - 127, 12}));
  EXPECT_EQ(evaluate<U32>("cvt.rpi.u8.f32 %d, %a;", a), (std::vector<U32>{0, 255, 0, 13}));
}

template <class D, class S>
void check_integer_to_integer(const std::string& to, const std::string& from) {
  const auto a = interesting<S>(kCount, 2);
  const auto d = evaluate<D>("cvt." + to + "." + from + " %d, %a;", a);
  const auto saturated = evaluate<D>("cvt.sat." + to + "." + from + " %d, %a;", a);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(d[i], static_cast<D>(a[i])) << to << "." << from << " " << a[i];
    const Wide low = std::numeric_limits<D>::min(), high = std::numeric_limits<D>::max(),
               value = a[i];
    ASSERT_EQ(saturated[i], static_cast<D>(value < low    ? low
                                           : value > high ? high
                                                          : value))
        << to << "." << from << " " << a[i];
  }
}

template <class D>
void check_to_integer(const std::string& to) {
  check_integer_to_integer<D, U16>(to, "u16");
  check_integer_to_integer<D, int16_t>(to, "s16");
  check_integer_to_integer<D, U32>(to, "u32");
  check_integer_to_integer<D, int32_t>(to, "s32");
  check_integer_to_integer<D, U64>(to, "u64");
  check_integer_to_integer<D, int64_t>(to, "s64");
}

TEST(Conversion, IntegersExtendTruncateAndSaturate) {
  check_to_integer<U16>("u16");
  check_to_integer<int16_t>("s16");
  check_to_integer<U32>("u32");
  check_to_integer<int32_t>("s32");
  check_to_integer<U64>("u64");
  check_to_integer<int64_t>("s64");
}

TEST(Conversion, RegistersMayBeWiderThanTheType) {
  const std::vector<U32> a{0x12345680, 0xffffff7f};
  EXPECT_EQ(evaluate<U32>("cvt.s32.s8 %d, %a;", a), (std::vector<U32>{0xffffff80, 0x7f}));
  EXPECT_EQ(evaluate<U32>("cvt.u32.u8 %d, %a;", a), (std::vector<U32>{0x80, 0x7f}));
  EXPECT_EQ(evaluate<U32>("cvt.s8.s32 %d, %a;", a), (std::vector<U32>{0xffffff80, 0x7f}));
  EXPECT_EQ(evaluate<U32>("cvt.u8.s32 %d, %a;", a), (std::vector<U32>{0x80, 0x7f}));
  EXPECT_EQ(evaluate<U16>("cvt.s16.s8 %d, %a;", std::vector<U16>{0x80, 0x7f}),
            (std::vector<U16>{0xff80, 0x7f}));
  // Sign-extended to 16 bits, then zero-extended, because the destination type is unsigned.
  EXPECT_EQ(evaluate<U32>("cvt.u16.s8 %d, %a;", a), (std::vector<U32>{0xff80, 0x7f}));
  EXPECT_EQ(evaluate<U64>("cvt.u32.s16 %d, %a;", a), (std::vector<U64>{0x5680, 0xffffff7f}));
}

TEST(Conversion, IntegerToFloatRounds) {
  const auto a = interesting<int64_t>(kCount, 3);
  const auto u = interesting<U64>(kCount, 4);
  const auto w = interesting<int32_t>(kCount, 5);
  const auto nearest = evaluate<float>("cvt.rn.f32.s64 %d, %a;", a);
  const auto down = evaluate<float>("cvt.rm.f32.s64 %d, %a;", a);
  const auto up = evaluate<float>("cvt.rp.f32.u64 %d, %a;", u);
  const auto zero = evaluate<float>("cvt.rz.f32.u64 %d, %a;", u);
  const auto wide = evaluate<double>("cvt.rn.f64.s64 %d, %a;", a);
  const auto word = evaluate<float>("cvt.rn.f32.s32 %d, %a;", w);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(nearest[i], static_cast<float>(a[i])) << a[i];
    ASSERT_EQ(wide[i], static_cast<double>(a[i])) << a[i];
    ASSERT_EQ(word[i], static_cast<float>(w[i])) << w[i];
    const auto integer = [](float x) { return static_cast<Wide>(x); };
    ASSERT_LE(integer(down[i]), a[i]);
    ASSERT_GT(integer(std::nextafter(down[i], INFINITY)) + (std::fabs(down[i]) < 0x1p23f), a[i]);
    ASSERT_GE(integer(up[i]), Wide{u[i]});
    ASSERT_LE(integer(zero[i]), Wide{u[i]});
    ASSERT_TRUE(up[i] == zero[i] ? integer(up[i]) == Wide{u[i]}
                                 : std::nextafter(zero[i], INFINITY) == up[i]);
  }
  EXPECT_EQ(evaluate<U16>("cvt.rn.f16.s32 %d, %a;", std::vector<int32_t>{2049, 70000, -3}),
            (std::vector<U16>{0x6800, 0x7c00, 0xc200}));
}

/// The value of an f16 or bf16 code, from its fields.
double half_value(U16 code, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (code & 0x7fff) >> mantissa_bits,
            mantissa = code & ((1 << mantissa_bits) - 1);
  const double sign = code & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa != 0 ? NAN : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                               : std::ldexp(mantissa + (1 << mantissa_bits),
                                            exponent - bias - mantissa_bits));
}

std::vector<U16> all_codes() {
  std::vector<U16> codes(65536);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<U16>(i);
  return codes;
}

/// All codes, and around the midpoint of each pair of neighbours: below, on and above it.
std::vector<float> between_codes(int exponent_bits) {
  std::vector<float> values;
  for (U32 code = 0; code < 65535; ++code) {
    const double here = half_value(static_cast<U16>(code), exponent_bits);
    const double next = half_value(static_cast<U16>(code + 1), exponent_bits);
    if (!std::isfinite(here) || !std::isfinite(next) || here * next < 0) continue;
    const auto middle = static_cast<float>((here + next) / 2);
    values.insert(values.end(), {static_cast<float>(here), middle, std::nextafter(middle, 0.0f),
                                 std::nextafter(middle, middle * 2)});
  }
  for (const float special :
       {INFINITY, NAN, 65519.0f, 65520.0f, 65536.0f, 0x1.fep127f, 0x1.ffp127f, 0x1p-149f})
    for (const float sign : {1.0f, -1.0f}) values.push_back(special * sign);
  return values;
}

/// Nearest-even, or directed, by searching the sorted magnitudes of all codes.
U16 nearest_code(float value, int exponent_bits, const std::string& mode,
                 const std::vector<double>& magnitudes) {
  if (std::isnan(value)) return 0x7fff;
  const U16 sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(double{value});
  const auto infinity_code = static_cast<U16>(magnitudes.size());
  const double beyond = 2 * magnitudes.back() - magnitudes[magnitudes.size() - 2];
  const auto value_of = [&](size_t code) {
    return code < magnitudes.size() ? magnitudes[code] : beyond;
  };
  auto above = static_cast<U16>(std::lower_bound(magnitudes.begin(), magnitudes.end(), magnitude) -
                                magnitudes.begin());
  (void)exponent_bits;
  if (std::isinf(value)) return sign | infinity_code;
  if (above < infinity_code && value_of(above) == magnitude) return sign | above;
  const auto below = static_cast<U16>(above - 1);
  const bool away = mode == "rp" ? sign == 0 : mode == "rm" ? sign != 0 : false;
  if (mode == "rz" || (mode != "rn" && !away)) return sign | below;
  if (mode != "rn") return sign | above;
  const double middle = (value_of(below) + value_of(above)) / 2;
  if (magnitude != middle) return sign | (magnitude < middle ? below : above);
  return sign | (below % 2 == 0 ? below : above);
}

void check_half(const std::string& type, int exponent_bits) {
  const auto codes = all_codes();
  const auto widened = evaluate<float>("cvt.f32." + type + " %d, %a;", codes);
  std::vector<double> magnitudes;
  for (size_t i = 0; i < codes.size(); ++i) {
    const double value = half_value(codes[i], exponent_bits);
    if (std::isnan(value)) {
      ASSERT_EQ(bits(widened[i]), 0x7fffffffu) << i;
    } else {
      ASSERT_EQ(widened[i], value) << i;
      ASSERT_EQ(std::signbit(widened[i]), std::signbit(value)) << i;
    }
    if (i < 0x8000 && std::isfinite(value)) magnitudes.push_back(value);
  }
  const auto values = between_codes(exponent_bits);
  for (const std::string mode : {"rn", "rz", "rm", "rp"}) {
    const auto narrowed = evaluate<U16>("cvt." + mode + "." + type + ".f32 %d, %a;", values);
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(narrowed[i], nearest_code(values[i], exponent_bits, mode, magnitudes))
          << mode << " " << type << " " << std::hexfloat << values[i];
  }
  const auto pair = evaluate<U32>("cvt.rn." + type + "x2.f32 %d, %a, %b;", values,
                                  std::vector<float>(values.rbegin(), values.rend()));
  const auto relu = evaluate<U32>("cvt.rn.relu." + type + "x2.f32 %d, %a, 1.0;", values);
  const auto toward_zero = evaluate<U32>("cvt.rz." + type + "x2.f32 %d, 0f3f800000, %a;", values);
  const auto finite = evaluate<U16>("cvt.rn.satfinite." + type + ".f32 %d, %a;", values);
  for (size_t i = 0; i < values.size(); ++i) {
    const U16 upper = nearest_code(values[i], exponent_bits, "rn", magnitudes);
    ASSERT_EQ(pair[i] >> 16, upper);
    ASSERT_EQ(pair[i] & 0xffff,
              nearest_code(values[values.size() - 1 - i], exponent_bits, "rn", magnitudes));
    ASSERT_EQ(relu[i] >> 16, upper & 0x8000 ? 0u : upper);
    ASSERT_EQ(toward_zero[i] & 0xffff, nearest_code(values[i], exponent_bits, "rz", magnitudes));
    const bool infinite = (upper & 0x7fff) == magnitudes.size();
    ASSERT_EQ(finite[i], infinite ? upper - 1 : upper);
  }
}

TEST(Conversion, AllF16Codes) { check_half("f16", 5); }
TEST(Conversion, AllBf16Codes) { check_half("bf16", 8); }

TEST(Conversion, BetweenF32AndF64) {
  const auto a = interesting<double>(kCount, 6);
  const auto f = interesting<float>(kCount, 7);
  const auto narrow = evaluate<float>("cvt.rn.f32.f64 %d, %a;", a);
  const auto up = evaluate<float>("cvt.rp.f32.f64 %d, %a;", a);
  const auto wide = evaluate<double>("cvt.f64.f32 %d, %a;", f);
  for (size_t i = 0; i < kCount; ++i) {
    if (std::isnan(a[i])) {
      ASSERT_EQ(bits(narrow[i]), 0x7fffffffu);
    } else {
      ASSERT_EQ(narrow[i], static_cast<float>(a[i]));
      ASSERT_GE(double{up[i]}, a[i]);
      ASSERT_TRUE(up[i] == -INFINITY || std::nextafter(up[i], -INFINITY) < a[i] ||
                  double{up[i]} == a[i]);
    }
    if (!std::isnan(f[i])) {
      ASSERT_EQ(wide[i], double{f[i]});
    }
  }
}

TEST(Conversion, IntegralValuesInFloatingPoint) {
  const auto a = interesting<float>(kCount, 8);
  for (const std::string mode : {"rni", "rzi", "rmi", "rpi"}) {
    const auto d = evaluate<float>("cvt." + mode + ".f32.f32 %d, %a;", a);
    for (size_t i = 0; i < kCount; ++i) {
      if (std::isnan(a[i])) {
        ASSERT_EQ(bits(d[i]), 0x7fffffffu);
        continue;
      }
      ASSERT_EQ(d[i], to_integral(a[i], mode)) << mode << " " << a[i];
    }
  }
  const auto saturated = evaluate<float>("cvt.sat.f32.f32 %d, %a;", a);
  const auto flushed = evaluate<U32>("cvt.ftz.f32.f32 %d, %a;", std::vector<float>{-0x1p-130f, 2});
  for (size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(bits(saturated[i]), bits(a[i] > 0 ? std::min(a[i], 1.0f) : 0.0f)) << a[i];
  EXPECT_EQ(flushed, (std::vector<U32>{0x80000000u, bits(2)}));
}

TEST(Conversion, Tf32KeepsTenMantissaBits) {
  const std::vector<float> a{1.0f + 0x1p-11f, 1.0f + 0x1.8p-10f, -1.0f - 0x1p-11f, NAN,
                             0x1.fffp127f};
  EXPECT_EQ(evaluate<U32>("cvt.rna.tf32.f32 %d, %a;", a),
            (std::vector<U32>{bits(1 + 0x1p-10f), bits(1 + 0x1p-9f), bits(-1 - 0x1p-10f),
                              0x7fffffffu, 0x7f800000u}));
  EXPECT_EQ(evaluate<U32>("cvt.rn.tf32.f32 %d, %a;", a),
            (std::vector<U32>{bits(1), bits(1 + 0x1p-9f), bits(-1), 0x7fffffffu, 0x7f800000u}));
  EXPECT_EQ(evaluate<U32>("cvt.rn.satfinite.relu.tf32.f32 %d, %a;", a),
            (std::vector<U32>{bits(1), bits(1 + 0x1p-9f), 0, 0x7fffffffu, 0x7f7fe000u}));
}

TEST(Conversion, PackSaturates) {
  const std::vector<int32_t> a{70000, -5, 100}, b{-40000, 9, -200};
  const std::vector<U32> c{0x1234, 0xabcd, 0x0f0f};
  EXPECT_EQ(evaluate<U32>("cvt.pack.sat.s16.s32 %d, %a, %b;", a, b),
            (std::vector<U32>{0x7fff8000, 0xfffb0009, 0x0064ff38}));
  EXPECT_EQ(evaluate<U32>("cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;", a, b, c),
            (std::vector<U32>{0x1234ff00, 0xabcd0009, 0x0f0f6400}));
}

TEST(Conversion, RoundingModifierIsRequiredWhereTheResultMayBeInexact) {
  expect_fault(FaultKind::unsupported, {"cvt.f32.f64", ".rn"},
               [] { (void)evaluate<float>("cvt.f32.f64 %d, %a;", std::vector<double>{1}); });
  expect_fault(FaultKind::unsupported, {"cvt.s32.f32", ".rzi"},
               [] { (void)evaluate<U32>("cvt.s32.f32 %d, %a;", std::vector<float>{1}); });
  expect_fault(FaultKind::unsupported, {"cvt.rzi.s32.s64", "integers"},
               [] { (void)evaluate<U32>("cvt.rzi.s32.s64 %d, %a;", std::vector<U64>{1}); });
  expect_fault(FaultKind::unsupported, {"cvt.rs.f16x2.f32", "another number of values"}, [] {
    (void)evaluate<U32>("cvt.rs.f16x2.f32 %d, {%a, %a}, %a, 0;", std::vector<float>{1});
  });
}

}  // namespace
}  // namespace bw::sim::test::conversion_test
