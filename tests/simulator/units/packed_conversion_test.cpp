/// \file
/// Conversions to and from the 8-, 6- and 4-bit formats, over all codes; the expected code is the
/// nearest of all values that the format has, found by search (OCP 8-bit Floating Point
/// Specification, OCP Microscaling Formats, PTX ISA "cvt").
#include <bit>

#include "tests/simulator/units/lane_evaluation.hpp"

namespace bw::sim::test::packed_conversion_test {
namespace {

using U16 = uint16_t;
using U32 = uint32_t;

struct Format {
  std::string name;
  int exponent_bits, mantissa_bits, packed_bits;
  U32 nan;  ///< what a NaN becomes
};
const Format kFormats[] = {{"e4m3", 4, 3, 8, 0x7f},
                           {"e5m2", 5, 2, 8, 0x7f},
                           {"e2m3", 2, 3, 8, 0x1f},
                           {"e3m2", 3, 2, 8, 0x1f},
                           {"e2m1", 2, 1, 4, 0x07}};

/// The values of all non-negative finite codes, ascending.
std::vector<double> magnitudes(const Format& format) {
  std::vector<double> values;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  for (int code = 0; code < 1 << (format.exponent_bits + format.mantissa_bits); ++code) {
    const int exponent = code >> format.mantissa_bits,
              mantissa = code & ((1 << format.mantissa_bits) - 1);
    if (format.name == "e5m2" && exponent == 31) break;
    if (format.name == "e4m3" && code == 0x7f) break;
    values.push_back(exponent == 0 ? std::ldexp(mantissa, 1 - bias - format.mantissa_bits)
                                   : std::ldexp(mantissa + (1 << format.mantissa_bits),
                                                exponent - bias - format.mantissa_bits));
  }
  return values;
}

U32 sign_bit(const Format& format) { return 1u << (format.exponent_bits + format.mantissa_bits); }

/// Nearest, ties to the even code, saturating.
U32 expected_code(float value, const Format& format, const std::vector<double>& values) {
  if (std::isnan(value)) return format.nan;
  const double magnitude = std::fabs(double{value});
  size_t best = 0;
  for (size_t code = 1; code < values.size(); ++code) {
    const double gain = std::fabs(values[best] - magnitude) - std::fabs(values[code] - magnitude);
    if (gain > 0 || (gain == 0 && code % 2 == 0)) best = code;
  }
  if (magnitude > values.back()) best = values.size() - 1;
  return static_cast<U32>(best) | (std::signbit(value) ? sign_bit(format) : 0);
}

std::vector<float> inputs(const std::vector<double>& values) {
  std::vector<float> all;
  for (size_t i = 0; i < values.size(); ++i) {
    const double next = i + 1 < values.size() ? values[i + 1] : 2 * values[i];
    const auto middle = static_cast<float>((values[i] + next) / 2);
    for (const float value : {static_cast<float>(values[i]), middle, std::nextafter(middle, 0.0f),
                              std::nextafter(middle, INFINITY)})
      all.insert(all.end(), {value, -value});
  }
  for (const float value : interesting<float>(2000, 1)) all.push_back(value);
  return all;
}

TEST(PackedConversion, PairsOfF32ToNarrowFormats) {
  for (const Format& format : kFormats) {
    const auto values = magnitudes(format);
    const auto a = inputs(values);
    const std::vector<float> b(a.rbegin(), a.rend());
    const std::string types = format.name + "x2.f32";
    // 8-bit results are .b8 in PTX; a 16-bit register takes them zero-extended here.
    const std::string convert = format.packed_bits == 4
                                    ? ".reg .b8 %byte; cvt.rn.satfinite{}." + types +
                                          " %byte, %a, %b; mov.b16 %d, {%byte, 0};"
                                    : "cvt.rn.satfinite{}." + types + " %d, %a, %b;";
    const auto with = [&](const std::string& modifier) {
      std::string text = convert;
      text.replace(text.find("{}"), 2, modifier);
      return text;
    };
    const auto d = evaluate<U16>(with(""), a, b);
    const auto relu = evaluate<U16>(with(".relu"), a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      const U32 upper = expected_code(a[i], format, values),
                lower = expected_code(b[i], format, values);
      ASSERT_EQ(d[i], upper << format.packed_bits | lower)
          << types << " " << std::hexfloat << a[i] << ", " << b[i];
      const auto clamp = [&](U32 code) { return code & sign_bit(format) ? 0 : code; };
      ASSERT_EQ(relu[i], clamp(upper) << format.packed_bits | clamp(lower))
          << types << " " << a[i] << ", " << b[i];
    }
  }
}

double f16_value(U32 code) {
  const U32 exponent = code >> 10 & 31, mantissa = code & 1023;
  const double sign = code & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24)
                               : std::ldexp(mantissa + 1024, static_cast<int>(exponent) - 25));
}

TEST(PackedConversion, EveryNarrowCodeToF16) {
  for (const Format& format : kFormats) {
    const auto values = magnitudes(format);
    const U32 codes = 2 * sign_bit(format);
    std::vector<U16> a;
    for (U32 high = 0; high < codes; ++high) {
      const U32 low = (high * 7 + 3) % codes;
      a.push_back(static_cast<U16>(high << format.packed_bits | low));
    }
    const std::string source =
        format.packed_bits == 4
            ? ".reg .b8 %low, %high; mov.b16 {%low, %high}, %a; cvt.rn{}.f16x2.e2m1x2 %d, %low;"
            : "cvt.rn{}.f16x2." + format.name + "x2 %d, %a;";
    const auto with = [&](const std::string& modifier) {
      std::string text = source;
      text.replace(text.find("{}"), 2, modifier);
      return text;
    };
    const auto d = evaluate<U32>(with(""), a);
    const auto relu = evaluate<U32>(with(".relu"), a);
    for (size_t i = 0; i < a.size(); ++i)
      for (int part : {0, 1}) {
        const U32 code = static_cast<U32>(a[i]) >> (part * format.packed_bits) & (codes - 1);
        const U32 magnitude = code & (sign_bit(format) - 1), half = d[i] >> 16 * part & 0xffff;
        const bool negative = (code & sign_bit(format)) != 0;
        if (magnitude >= values.size()) {
          const bool infinite = format.name == "e5m2" && magnitude == 0x7c;
          ASSERT_EQ(half, infinite ? 0x7c00u | (negative ? 0x8000u : 0) : 0x7fffu)
              << format.name << " " << code;
          continue;
        }
        ASSERT_EQ(f16_value(half), (negative ? -1 : 1) * values[magnitude])
            << format.name << " " << code;
        ASSERT_EQ((half & 0x8000) != 0, negative);
        ASSERT_EQ(relu[i] >> 16 * part & 0xffff, negative ? 0u : half);
      }
  }
}

TEST(PackedConversion, F16ToNarrowFormats) {
  std::vector<U32> a;
  for (U32 code = 0; code < 65536; code += 3) a.push_back(code << 16 | (code * 5 & 0xffff));
  for (const Format& format : {kFormats[0], kFormats[1]}) {
    const auto values = magnitudes(format);
    const auto d = evaluate<U16>("cvt.rn.satfinite." + format.name + "x2.f16x2 %d, %a;", a);
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(d[i] >> 8, expected_code(static_cast<float>(f16_value(a[i] >> 16)), format, values))
          << a[i];
      ASSERT_EQ(d[i] & 0xffu,
                expected_code(static_cast<float>(f16_value(a[i] & 0xffff)), format, values))
          << a[i];
    }
  }
}

/// A bf16 is the upper half of the float of its value.
float bf16_value(U32 code) { return std::bit_cast<float>(code << 16); }

/// Nearest even in bf16: the upper half, rounded by adding half a unit to the float's bits.
U32 bf16_code(double value) {
  if (std::isnan(value)) return 0x7fff;
  // Products with a power of two fit a double; going through float rounds subnormals once more,
  // so those are rounded here, in units of 2^-133.
  if (std::fabs(value) < 0x1p-126) {
    const auto units = static_cast<U32>(std::nearbyint(std::ldexp(std::fabs(value), 133)));
    return units | (std::signbit(value) ? 0x8000u : 0);
  }
  const auto bits = std::bit_cast<U32>(static_cast<float>(value));
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

TEST(PackedConversion, Bf16ToNarrowFormats) {
  std::vector<U32> a;
  for (U32 code = 0; code < 65536; code += 3) a.push_back(code << 16 | (code * 5 & 0xffff));
  for (const Format& format : kFormats) {
    const auto values = magnitudes(format);
    const std::string types = format.name + "x2.bf16x2";
    const auto text = [&](const std::string& modifier) {
      return format.packed_bits == 4 ? ".reg .b8 %byte; cvt.rn.satfinite" + modifier + "." + types +
                                           " %byte, %a; mov.b16 %d, {%byte, 0};"
                                     : "cvt.rn.satfinite" + modifier + "." + types + " %d, %a;";
    };
    const auto d = evaluate<U16>(text(""), a);
    const auto relu = evaluate<U16>(text(".relu"), a);
    for (size_t i = 0; i < a.size(); ++i) {
      const U32 upper = expected_code(bf16_value(a[i] >> 16), format, values),
                lower = expected_code(bf16_value(a[i] & 0xffff), format, values);
      ASSERT_EQ(d[i], upper << format.packed_bits | lower) << types << " " << std::hex << a[i];
      const auto clamp = [&](U32 code) { return code & sign_bit(format) ? 0 : code; };
      ASSERT_EQ(relu[i], clamp(upper) << format.packed_bits | clamp(lower))
          << types << " " << std::hex << a[i];
    }
  }
}

/// The value of a code of a narrow format, NaN included.
double narrow_value(U32 code, const Format& format, const std::vector<double>& values) {
  const U32 magnitude = code & (sign_bit(format) - 1);
  const double sign = code & sign_bit(format) ? -1 : 1;
  if (magnitude < values.size()) return sign * values[magnitude];
  return format.name == "e5m2" && magnitude == 0x7c ? sign * INFINITY : NAN;
}

TEST(PackedConversion, NarrowFormatsToScaledBf16) {
  for (const Format& format : kFormats) {
    const auto values = magnitudes(format);
    const U32 codes = 2 * sign_bit(format);
    std::vector<U16> a, scales;
    for (U32 scale = 0; scale < 256; ++scale)
      for (U32 high = 0; high < codes; high += format.packed_bits == 4 ? 1 : 5) {
        a.push_back(static_cast<U16>(high << format.packed_bits | (high * 7 + 3) % codes));
        scales.push_back(static_cast<U16>(scale << 8 | (255 - scale)));
      }
    const auto text = [&](const std::string& modifiers, const std::string& operands) {
      const std::string type = "bf16x2." + format.name + "x2 %d, ";
      return format.packed_bits == 4 ? ".reg .b8 %low, %high; mov.b16 {%low, %high}, %a; cvt.rn" +
                                           modifiers + "." + type + "%low" + operands + ";"
                                     : "cvt.rn" + modifiers + "." + type + "%a" + operands + ";";
    };
    const auto scaled = evaluate<U32>(text(".scaled::n2::ue8m0", ", %b"), a, scales);
    const auto finite = evaluate<U32>(text(".satfinite.relu.scaled::n2::ue8m0", ", %b"), a, scales);
    const auto plain = evaluate<U32>(text("", ""), a);
    for (size_t i = 0; i < a.size(); ++i)
      for (const int part : {0, 1}) {
        const double value =
            narrow_value(U32{a[i]} >> (part * format.packed_bits) & (codes - 1), format, values);
        const U32 scale = U32{scales[i]} >> 8 * part & 0xff;
        const double product =
            scale == 255 ? NAN : value * std::ldexp(1.0, static_cast<int>(scale) - 127);
        const auto half = [&](U32 word) { return word >> 16 * part & 0xffff; };
        ASSERT_EQ(half(scaled[i]), bf16_code(product))
            << format.name << " " << a[i] << " " << scale;
        ASSERT_EQ(half(plain[i]), bf16_code(value)) << format.name << " " << a[i];
        const double greatest = std::ldexp(255, 120);
        const double clamped = std::isnan(product)     ? product
                               : std::signbit(product) ? 0
                                                       : std::min(product, greatest);
        ASSERT_EQ(half(finite[i]),
                  std::min(bf16_code(clamped), product != product ? 0x7fffu : 0x7f7fu))
            << format.name << " " << a[i] << " " << scale;
      }
  }
}

/// s2f6: two's complement in units of 1/64; the greatest magnitude is 127/64 (PTX ISA, "cvt",
/// .satfinite).
U32 fixed_point_code(double value) {
  if (std::isnan(value)) return 0x7f;
  const double units = std::clamp(std::nearbyint(value * 64), -127.0, 127.0);
  return static_cast<U32>(static_cast<int>(units)) & 0xff;
}

TEST(PackedConversion, FixedPoint) {
  std::vector<float> a{NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 3e38f, -3e38f, 1e-40f};
  for (int step = -600; step <= 600; ++step) a.push_back(static_cast<float>(step) / 256);
  const std::vector<float> b(a.rbegin(), a.rend());
  const auto plain = evaluate<U16>("cvt.rn.satfinite.s2f6x2.f32 %d, %a, %b;", a, b);
  const auto relu = evaluate<U16>("cvt.rn.satfinite.relu.s2f6x2.f32 %d, %a, %b;", a, b);
  // The upper element is divided by 4, the lower one by 1/2.
  const auto scaled = evaluate<U16>(
      "mov.b16 %h0, 0x817e; cvt.rn.satfinite.scaled::n2::ue8m0.s2f6x2.f32 %d, %a, %b, %h0;", a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    const auto both = [](double upper, double lower) {
      return fixed_point_code(upper) << 8 | fixed_point_code(lower);
    };
    ASSERT_EQ(plain[i], both(a[i], b[i])) << a[i] << ", " << b[i];
    ASSERT_EQ(scaled[i], both(double{a[i]} / 4, double{b[i]} * 2)) << a[i] << ", " << b[i];
    const auto positive = [](double value) { return value < 0 ? 0 : value; };
    ASSERT_EQ(relu[i], both(positive(a[i]), positive(b[i]))) << a[i] << ", " << b[i];
  }
  std::vector<U32> halves;
  for (U32 code = 0; code < 65536; code += 7) halves.push_back(code << 16 | (code * 3 & 0xffff));
  const auto from_bf16 = evaluate<U16>("cvt.rn.satfinite.s2f6x2.bf16x2 %d, %a;", halves);
  for (size_t i = 0; i < halves.size(); ++i)
    ASSERT_EQ(from_bf16[i], fixed_point_code(bf16_value(halves[i] >> 16)) << 8 |
                                fixed_point_code(bf16_value(halves[i] & 0xffff)))
        << std::hex << halves[i];
  std::vector<U16> codes;
  for (U32 code = 0; code < 256; ++code)
    codes.push_back(static_cast<U16>(code << 8 | (255 - code)));
  // With 2^6 the fixed-point numbers are integers.
  const auto integers = evaluate<U32>(
      "mov.b16 %h0, 0x8585; cvt.rn.satfinite.scaled::n2::ue8m0.bf16x2.s2f6x2 %d, %a, %h0;", codes);
  const auto fractions = evaluate<U32>("cvt.rn.bf16x2.s2f6x2 %d, %a;", codes);
  for (int code = 0; code < 256; ++code) {
    const auto index = static_cast<size_t>(code);
    ASSERT_EQ(bf16_value(integers[index] >> 16), static_cast<float>(static_cast<int8_t>(code)));
    ASSERT_EQ(bf16_value(fractions[index] >> 16),
              static_cast<float>(static_cast<int8_t>(code)) / 64);
  }
}

TEST(PackedConversion, PairsThatThereAreNotAreRefused) {
  const auto refuses = [](const std::string& words, const std::string& instruction) {
    expect_fault(FaultKind::unsupported, {words},
                 [&] { evaluate<U16>(instruction, std::vector<U32>{0}); });
  };
  refuses("converts e5m2x2 to e4m3x2", "cvt.rn.satfinite.e4m3x2.e5m2x2 %d, %h0;");
  refuses("needs .satfinite", "cvt.rn.e4m3x2.bf16x2 %d, %a;");
  refuses("takes no scale factors",
          "cvt.rn.satfinite.scaled::n2::ue8m0.e4m3x2.bf16x2 %d, %a, %h0;");
}

TEST(PackedConversion, ScalesArePowersOfTwo) {
  const std::vector<float> a{1.0f, 1.5f,       -4.0f,    0x1p-127f, 0x1.8p-127f,
                             0.0f, 0x1.8p127f, INFINITY, NAN};
  const auto down = evaluate<U16>("cvt.rz.ue8m0x2.f32 %d, %a, 1.0;", a);
  const auto up = evaluate<U16>("cvt.rp.ue8m0x2.f32 %d, %a, 1.0;", a);
  const auto finite = evaluate<U16>("cvt.rp.satfinite.ue8m0x2.f32 %d, 1.0, %a;", a);
  const std::vector<U32> expect_down{127, 127, 129, 0, 0, 0, 254, 255, 255};
  const std::vector<U32> expect_up{127, 128, 129, 0, 1, 0, 255, 255, 255};
  const std::vector<U32> expect_finite{127, 128, 129, 0, 1, 0, 254, 254, 255};
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(down[i], expect_down[i] << 8 | 127) << a[i];
    EXPECT_EQ(up[i], expect_up[i] << 8 | 127) << a[i];
    EXPECT_EQ(finite[i], 127 << 8 | expect_finite[i]) << a[i];
  }
  // Any value above a power of two is rounded up, its last bit too; below half of the smallest
  // normal number nothing is.
  const std::vector<float> near{0x1.000002p0f,    0x1.fffffep0f,    0x1.000002p-126f, 0x1p-126f,
                                0x1.fffffcp-127f, 0x1.000004p-127f, 0x1.fffff8p-128f, 0x1p-149f,
                                0x1.fffffep127f,  0x1p127f};
  const std::vector<U32> expect_near_down{127, 127, 1, 1, 0, 0, 0, 0, 254, 254};
  const std::vector<U32> expect_near_up{128, 128, 2, 1, 1, 1, 0, 0, 255, 254};
  const auto near_down = evaluate<U16>("cvt.rz.ue8m0x2.f32 %d, %a, 1.0;", near);
  const auto near_up = evaluate<U16>("cvt.rp.ue8m0x2.f32 %d, %a, 1.0;", near);
  for (size_t i = 0; i < near.size(); ++i) {
    EXPECT_EQ(near_down[i] >> 8, expect_near_down[i]) << near[i];
    EXPECT_EQ(near_up[i] >> 8, expect_near_up[i]) << near[i];
  }
  EXPECT_EQ(evaluate<U16>("cvt.rp.ue8m0x2.bf16x2 %d, %a;", std::vector<U32>{0x3fc03f80})[0],
            128 << 8 | 127);
  std::vector<U16> codes;
  for (U32 code = 0; code < 256; ++code)
    codes.push_back(static_cast<U16>(code << 8 | (255 - code)));
  const auto back = evaluate<U32>("cvt.rn.bf16x2.ue8m0x2 %d, %a;", codes);
  for (int code = 0; code < 255; ++code) {
    ASSERT_EQ(std::bit_cast<float>(back[static_cast<size_t>(code)] & 0xffff0000u),
              std::ldexp(1.0f, code - 127));
    ASSERT_EQ(std::bit_cast<float>(back[static_cast<size_t>(255 - code)] << 16),
              std::ldexp(1.0f, code - 127));
  }
  EXPECT_EQ(back[255] >> 16, 0x7fffu);
}

// ---- Stochastic rounding ----

struct StochasticType {
  std::string name;
  double greatest;
  int exponent_bits, mantissa_bits;
  int elements, element_bits, random_count;
};
const StochasticType kStochasticTypes[] = {
    {"f16x2", 65504, 5, 10, 2, 16, 13}, {"bf16x2", std::ldexp(255, 120), 8, 7, 2, 16, 16},
    {"e4m3x4", 448, 4, 3, 4, 8, 16},    {"e5m2x4", 57344, 5, 2, 4, 8, 16},
    {"e2m3x4", 7.5, 2, 3, 4, 8, 16},    {"e3m2x4", 28, 3, 2, 4, 8, 16},
    {"e2m1x4", 6, 2, 1, 4, 4, 16}};

/// The code that .rs.satfinite gives: the value is cut to the next number towards zero, and taken
/// one further where the fraction that is lost plus the random one reach a whole unit.
U32 stochastic_code(float value, const StochasticType& type, U32 random) {
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  const double magnitude = std::fabs(double{value});
  int exponent = -4096;
  if (magnitude != 0) std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, 1 - bias);
  const double unit = std::ldexp(1.0, exponent - type.mantissa_bits);
  double units = std::floor(magnitude / unit);
  if (magnitude / unit - units + std::ldexp(random, -type.random_count) >= 1) units += 1;
  const double rounded = std::min(units * unit, type.greatest);
  int own = -4096;  // of zero: below every format
  if (rounded != 0) std::frexp(rounded, &own);
  own = std::max(own - 1, 1 - bias);
  const auto steps = static_cast<U32>(std::ldexp(rounded, type.mantissa_bits - own));
  const auto code = (static_cast<U32>(own - (1 - bias)) << type.mantissa_bits) + steps;
  return code | (std::signbit(value) ? 1u << (type.exponent_bits + type.mantissa_bits) : 0);
}

/// The bits of rbits for the upper and the lower elements (PTX ISA, "cvt").
U32 random_of(const StochasticType& type, U32 rbits, bool upper) {
  if (type.name == "e2m1x4") {
    const U32 bytes = upper ? rbits >> 8 : rbits;
    return (bytes >> 16 & 0xff) << 8 | (bytes & 0xff);
  }
  return (upper ? rbits >> 16 : rbits & 0xffff) & ((1u << type.random_count) - 1);
}

TEST(StochasticConversion, RoundsUpWhereTheRandomBitsCarry) {
  std::mt19937 random(7);
  for (const StochasticType& type : kStochasticTypes) {
    std::vector<float> a, b;
    std::vector<U32> rbits;
    for (int i = 0; i < 3000; ++i) {
      const auto draw = [&] {
        const double scale = std::ldexp(1.0, static_cast<int>(random() % 24) - 14);
        return static_cast<float>((static_cast<double>(random()) / 4294967296.0 - 0.5) * scale);
      };
      a.push_back(i == 0 ? 0.0f : i == 1 ? -3e38f : draw());
      b.push_back(i == 0 ? -0.0f : i == 1 ? 1.0f : draw());
      rbits.push_back(i % 16 == 0 ? 0xffffffffu : static_cast<U32>(random()));
    }
    const bool four = type.elements == 4;
    const std::string sources = four ? "{%a, %b, %x0, %x1}" : "%a, %b";
    const std::string body =
        "xor.b32 %x0, %b, 0x80000000; mov.b32 %x1, %a;\n" +
        (type.name == "e2m1x4"
             ? "cvt.rs.satfinite.e2m1x4.f32 %h0, " + sources + ", %c; cvt.u32.u16 %d, %h0;"
             : "cvt.rs.satfinite." + type.name + ".f32 %d, " + sources + ", %c;");
    const auto out = evaluate<U32>(body, a, b, rbits);
    for (size_t i = 0; i < a.size(); ++i) {
      const U32 upper = random_of(type, rbits[i], true), lower = random_of(type, rbits[i], false);
      U32 expected = 0;
      const auto put = [&](float value, U32 bits) {
        expected = expected << type.element_bits | stochastic_code(value, type, bits);
      };
      put(a[i], upper);
      put(b[i], four ? upper : lower);
      if (four) put(-b[i], lower);
      if (four) put(a[i], lower);
      ASSERT_EQ(out[i], expected) << type.name << ' ' << a[i] << ' ' << b[i] << ' ' << rbits[i];
    }
  }
}

TEST(StochasticConversion, ReluAndSpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> in = {-1.0f, infinity, -infinity,
                                 std::numeric_limits<float>::quiet_NaN(), 65519.0f};
  const auto plain = evaluate<U32>("cvt.rs.f16x2.f32 %d, %a, %a, -1;", in);
  EXPECT_EQ(plain, (std::vector<U32>{0xbc00bc00, 0x7c007c00, 0xfc00fc00, 0x7fff7fff, 0x7c007c00}));
  const auto relu = evaluate<U32>("cvt.rs.relu.satfinite.f16x2.f32 %d, %a, %a, 0;", in);
  EXPECT_EQ(relu, (std::vector<U32>{0, 0x7bff7bff, 0, 0x7fff7fff, 0x7bff7bff}));
}

}  // namespace
}  // namespace bw::sim::test::packed_conversion_test
