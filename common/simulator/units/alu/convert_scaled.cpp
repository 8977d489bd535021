/// \file
/// cvt between bf16x2 and the 8-, 6- and 4-bit formats, with s2f6x2 and with scale factors (PTX ISA
/// 9.1 and 9.2, "Data Movement and Conversion Instructions: cvt").
#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/simulator/units/alu/float_format.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim::conversion {
namespace {

using ptx::ScalarType;

/// s2f6, a two's complement number of 8 bits in units of 2^-6.
namespace fixed_point {
constexpr int kFractionBits = 6;
constexpr uint64_t kGreatest = 0x7f;  // the largest magnitude of both signs (.satfinite)

constexpr ExactValue decode(uint32_t code) {
  const auto units = static_cast<int8_t>(code);
  ExactValue value = exact_integer(units < 0, static_cast<uint64_t>(units < 0 ? -units : units));
  value.exponent = -kFractionBits;
  return value;
}

/// Nearest even; NaN becomes the greatest number.
uint64_t encode(const ExactValue& value) {
  if (value.kind == ExactValue::Kind::nan) return kGreatest;
  uint64_t magnitude = kGreatest;
  const int leading = 63 - std::countl_zero(value.significand | 1) + value.exponent;
  if (value.kind == ExactValue::Kind::finite && leading <= 0) {
    magnitude =
        std::min(kGreatest, shift_and_round(value.significand, -(value.exponent + kFractionBits),
                                            value.negative, Rounding::nearest_even));
  } else if (value.significand == 0 && value.kind == ExactValue::Kind::finite) {
    magnitude = 0;
  }
  constexpr uint64_t kByte = 0xff;
  return (value.negative ? ~magnitude + 1 : magnitude) & kByte;
}
}  // namespace fixed_point

/// A packed pair of one format.
struct PairFormat {
  std::string_view name;
  const FloatFormat* format;  ///< nullptr: s2f6
  int bits;                   ///< from the lower element to the upper one
  ScalarType container;

  [[nodiscard]] ExactValue decode(uint32_t element) const {
    if (format == nullptr) return fixed_point::decode(element);
    return sim::decode(element & ((uint64_t{1} << format->width()) - 1), *format);
  }
  [[nodiscard]] uint64_t encode(const ExactValue& value, bool satfinite) const {
    return format == nullptr ? fixed_point::encode(value)
                             : sim::encode(value, *format, Rounding::nearest_even, satfinite);
  }
};
// 8-bit containers are 16-bit registers that hold a zero-extended byte.
constexpr PairFormat kPairs[] = {
    {"bf16x2", &kFormatBf16, 16, ScalarType::b32}, {"s2f6x2", nullptr, 8, ScalarType::b16},
    {"e4m3x2", &kFormatE4m3, 8, ScalarType::b16},  {"e5m2x2", &kFormatE5m2, 8, ScalarType::b16},
    {"e2m3x2", &kFormatE2m3, 8, ScalarType::b16},  {"e3m2x2", &kFormatE3m2, 8, ScalarType::b16},
    {"e2m1x2", &kFormatE2m1, 4, ScalarType::b16},
};
constexpr const PairFormat& kBf16Pair = kPairs[0];
constexpr const PairFormat& kFixedPair = kPairs[1];

const PairFormat& pair_format(std::string_view name) {
  return *std::find_if(std::begin(kPairs), std::end(kPairs),
                       [&](const PairFormat& pair) { return pair.name == name; });
}

struct ScaledConversion {
  const PairFormat* destination = nullptr;
  const PairFormat* source = nullptr;  ///< nullptr: two f32
  bool relu = false, satfinite = false, is_scaled = false;

  /// Down-conversions divide by the scale before they round, others multiply.
  [[nodiscard]] uint64_t element(ExactValue value, uint32_t scale) const {
    constexpr uint32_t kOne = 127, kNan = 255;
    const int power = static_cast<int>(scale) - static_cast<int>(kOne);
    value.exponent += destination == &kBf16Pair ? power : -power;
    if (scale == kNan) value.kind = ExactValue::Kind::nan;
    if (relu && value.negative && value.kind != ExactValue::Kind::nan) return 0;
    return destination->encode(value, satfinite);
  }
};

/// Operands: destination, one packed source or two f32 (the upper element first), the scales.
void convert_scaled(const LaneRegisters& registers, const Instruction& instruction,
                    LaneMask active) {
  const auto& conversion = *static_cast<const ScaledConversion*>(instruction.detail);
  const PairFormat* const source = conversion.source;
  const int next = source == nullptr ? 3 : 2;
  for_lanes(active, [&](int lane) {
    ExactValue upper, lower;
    if (source == nullptr) {
      upper = decode(registers.lanes<uint32_t>(instruction.operands[1])[lane], kFormatF32);
      lower = decode(registers.lanes<uint32_t>(instruction.operands[2])[lane], kFormatF32);
    } else {
      const uint32_t packed = source->container == ScalarType::b32
                                  ? registers.lanes<uint32_t>(instruction.operands[1])[lane]
                                  : registers.lanes<uint16_t>(instruction.operands[1])[lane];
      const uint32_t mask = (1u << source->bits) - 1;
      upper = source->decode(packed >> source->bits & mask);
      lower = source->decode(packed & mask);
    }
    constexpr uint32_t kNoScales = 0x7f7f, kByte = 0xff;
    const uint32_t scales = conversion.is_scaled
                                ? registers.lanes<uint16_t>(instruction.operands[next])[lane]
                                : kNoScales;
    registers.set_value(instruction.operands[0], lane,
                        conversion.element(upper, scales >> 8) << conversion.destination->bits |
                            conversion.element(lower, scales & kByte));
  });
}

void bind_scaled(Binder& binder, ScaledConversion conversion) {
  conversion.relu = binder.modifiers.has("relu");
  conversion.satfinite = binder.modifiers.has("satfinite");
  conversion.is_scaled = binder.modifiers.has("scaled::n2::ue8m0");
  const size_t values = conversion.source == nullptr ? 2 : 1;
  const size_t operands = 1 + values + (conversion.is_scaled ? 1 : 0);
  binder.expect_count(operands, operands);
  binder.destination(binder.ptx_operand(0), ptx::size_bytes(conversion.destination->container));
  for (size_t value = 1; value <= values; ++value)
    binder.source_value(binder.ptx_operand(value), conversion.source == nullptr
                                                       ? ScalarType::f32
                                                       : conversion.source->container);
  if (conversion.is_scaled) binder.source_value(binder.ptx_operand(values + 1), ScalarType::b16);
  binder.detail(conversion);
  binder.out.execute = convert_scaled;
}

void bind_cvt_packed_pair(Binder& binder) {
  const PairFormat& destination = pair_format(binder.modifiers.get("of", 0));
  const PairFormat& source = pair_format(binder.modifiers.get("of", 1));
  const bool is_up = &destination == &kBf16Pair;
  if (is_up == (&source == &kBf16Pair))
    binder.refuse("converts " + std::string(source.name) + " to " + std::string(destination.name),
                  "convert to or from .bf16x2");
  if (!is_up && !binder.modifiers.has("satfinite"))
    binder.refuse("needs .satfinite", "write it: it is mandatory for narrow destinations");
  if (!is_up && &destination != &kFixedPair && binder.modifiers.has("scaled::n2::ue8m0"))
    binder.refuse("takes no scale factors", "scale the values first, or convert to .s2f6x2");
  bind_scaled(binder, {&destination, &source});
}

void bind_cvt_to_fixed_point(Binder& binder) { bind_scaled(binder, {&kFixedPair, nullptr}); }

constexpr uint16_t kScaledConvert = 2 * costs::kAlu;  // as scalar conversions

constexpr InstructionForm row(std::string_view modifiers, BindFunction bind) {
  InstructionForm form = from_wider(register_form("cvt", modifiers, bind, "cvt", kScaledConvert));
  form.machines = kOnBlackwell;
  return form;
}

constexpr InstructionForm kScaledRows[] = {
    row("round=rn [satfinite] [relu] [scaled::n2::ue8m0] "
        "of*2=bf16x2|e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2|s2f6x2",
        bind_cvt_packed_pair),
    row("round=rn satfinite [relu] [scaled::n2::ue8m0] s2f6x2 f32", bind_cvt_to_fixed_point),
};

}  // namespace

Rows scaled_rows() { return kScaledRows; }

}  // namespace bw::sim::conversion
