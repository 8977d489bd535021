/// \file
/// cvt with packed types: two f32 into f16x2, bf16x2 and the 8-, 6- and 4-bit formats, between
/// f16x2 and those formats, and ue8m0x2 scales (PTX ISA, "Data Movement and Conversion
/// Instructions: cvt").
#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "common/simulator/units/alu/float_format.hpp"
#include "common/simulator/units/alu/half_float.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim::conversion {
namespace {

using ptx::ScalarType;

const FloatFormat& element_format(ScalarType type) {
  switch (type) {
    case ScalarType::bf16x2:
      return kFormatBf16;
    case ScalarType::e4m3x2:
      return kFormatE4m3;
    case ScalarType::e5m2x2:
      return kFormatE5m2;
    case ScalarType::e2m3x2:
      return kFormatE2m3;
    case ScalarType::e3m2x2:
      return kFormatE3m2;
    case ScalarType::e2m1x2:
      return kFormatE2m1;
    default:
      return kFormatF16;
  }
}

/// Bits from one element to the next: e2m1x2 fills one byte, six-bit formats a byte each.
int element_bits(ScalarType type) {
  switch (type) {
    case ScalarType::f16x2:
    case ScalarType::bf16x2:
      return 16;
    case ScalarType::e2m1x2:
      return 4;
    default:
      return 8;
  }
}

struct PackedConversion {
  const FloatFormat* format = nullptr;  ///< of the destination's elements
  int bits = 0;                         ///< of a destination element
  Rounding rounding = Rounding::nearest_even;
  bool relu = false, satfinite = false;

  [[nodiscard]] uint64_t element(const ExactValue& value) const {
    if (relu && value.negative && value.kind != ExactValue::Kind::nan) return 0;
    return encode(value, *format, rounding, satfinite);
  }
};

PackedConversion packed_conversion(const Binder& binder, ScalarType destination) {
  const Modifiers& modifiers = binder.modifiers;
  return {&element_format(destination), element_bits(destination),
          rounding_from_modifier(modifiers.get("round")), modifiers.has("relu"),
          modifiers.has("satfinite")};
}

/// d = {a in the upper part, b in the lower part}, a and b f32.
void convert_pair(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  const auto& conversion = *static_cast<const PackedConversion*>(instruction.detail);
  const uint32_t* const a = registers.lanes<uint32_t>(instruction.operands[1]);
  const uint32_t* const b = registers.lanes<uint32_t>(instruction.operands[2]);
  for_lanes(active, [&](int lane) {
    const uint64_t upper = conversion.element(decode(a[lane], kFormatF32));
    const uint64_t lower = conversion.element(decode(b[lane], kFormatF32));
    registers.set_value(instruction.operands[0], lane, upper << conversion.bits | lower);
  });
}

/// As convert_pair, from the halves of an f16x2.
void convert_halves(const LaneRegisters& registers, const Instruction& instruction,
                    LaneMask active) {
  const auto& conversion = *static_cast<const PackedConversion*>(instruction.detail);
  const uint32_t* const a = registers.lanes<uint32_t>(instruction.operands[1]);
  for_lanes(active, [&](int lane) {
    const uint64_t upper = conversion.element(decode(a[lane] >> 16, kFormatF16));
    const uint64_t lower = conversion.element(decode(a[lane] & 0xffff, kFormatF16));
    registers.set_value(instruction.operands[0], lane, upper << conversion.bits | lower);
  });
}

template <class Format, bool with_relu>
uint32_t narrow(float value) {
  const uint16_t bits = Format::from_float(value);
  if constexpr (with_relu) {
    const bool negative = (bits & 0x8000) != 0;  // the canonical NaN is positive
    return negative ? 0u : bits;
  }
  return bits;
}

/// Nearest-even conversion of two f32 into f16x2 or bf16x2.
template <class Format, bool with_relu>
struct PairToHalves {
  static uint32_t apply(float a, float b) {
    return narrow<Format, with_relu>(a) << 16 | narrow<Format, with_relu>(b);
  }
};

/// f32 to e4m3, nearest even, saturating to 448, branch-free.
inline uint32_t to_e4m3(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 24 & 0x80;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Normal results: bias 127 to 7, round at bit 20.
  constexpr uint32_t kRebias = 120u << 23;
  const uint32_t normal = (magnitude - kRebias + 0x7ffffu + (magnitude >> 20 & 1)) >> 20;
  // Subnormal results: adding 2^14 lines the value up with units of 2^-9.
  constexpr float kAlign = 0x1p14f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + kAlign) -
                             std::bit_cast<uint32_t>(kAlign);
  constexpr uint32_t kSmallestNormal = 0x3c800000u;  // 2^-6
  constexpr uint32_t kGreatest = 0x7e, kNan = 0x7f;
  constexpr uint32_t kSaturated = 0x43e00000u;  // 448
  const uint32_t finite = select_below(magnitude, kSmallestNormal, subnormal, normal);
  const uint32_t limited = select_below(magnitude, kSaturated, finite, kGreatest);
  return select_below(0x7f800000u, magnitude, kNan, sign | limited);
}

struct PairToE4m3 {
  static uint16_t apply(float a, float b) {
    return static_cast<uint16_t>(to_e4m3(a) << 8 | to_e4m3(b));
  }
};

// ---- Narrow formats to f16x2: a table of every code
// -------------------------------------------------

using HalfTable = std::array<uint16_t, 256>;

constexpr HalfTable half_table(const FloatFormat& format) {
  HalfTable table{};
  const uint64_t code_mask = (uint64_t{1} << format.width()) - 1;
  for (uint64_t code = 0; code < table.size(); ++code)
    table[code] = static_cast<uint16_t>(
        encode(decode(code & code_mask, format), kFormatF16, Rounding::nearest_even));
  return table;
}

constexpr HalfTable kHalfOfE4m3 = half_table(kFormatE4m3);
constexpr HalfTable kHalfOfE5m2 = half_table(kFormatE5m2);
constexpr HalfTable kHalfOfE2m3 = half_table(kFormatE2m3);
constexpr HalfTable kHalfOfE3m2 = half_table(kFormatE3m2);
constexpr HalfTable kHalfOfE2m1 = half_table(kFormatE2m1);

template <bool with_relu>
uint32_t half_of(const HalfTable& table, uint32_t code) {
  const uint16_t half = table[code];
  return with_relu && (half & 0x8000) != 0 ? 0u : half;
}

template <const HalfTable& which_table, int num_bits, bool with_relu>
struct HalvesOf {
  static uint32_t apply(uint16_t codes) {
    constexpr uint32_t kMask = (1u << num_bits) - 1;
    return half_of<with_relu>(which_table, codes >> num_bits & kMask) << 16 |
           half_of<with_relu>(which_table, codes & kMask);
  }
};

template <const HalfTable& which_table, int num_bits>
Handler unpack_handler(bool relu) {
  return relu ? lanewise::map1<HalvesOf<which_table, num_bits, true>, uint32_t, uint16_t>
              : lanewise::map1<HalvesOf<which_table, num_bits, false>, uint32_t, uint16_t>;
}

// ---- Scales: ue8m0 is 2^(code - 127), 255 is NaN; the source's sign is dropped
// ------------------------

constexpr uint32_t kScaleNan = 0xff, kGreatestScale = 0xfe;

/// `flags` of the scale conversions.
enum ScaleFlag : uint8_t { kRoundUp = 1, kSatfinite = 2 };

/// `magnitude` is an f32's bits without sign.
uint32_t to_scale(uint32_t magnitude, uint8_t flags) {
  if (magnitude > 0x7f800000u) return kScaleNan;
  if (magnitude == 0x7f800000u) return flags & kSatfinite ? kGreatestScale : kScaleNan;
  const uint32_t exponent = magnitude >> 23, mantissa = magnitude & 0x7fffffu;
  // Code 0 is 2^-127, half the smallest normal number: subnormals above it round up to code 1.
  constexpr uint32_t kHalfOfNormal = 0x400000u;
  const bool above = exponent == 0 ? mantissa > kHalfOfNormal : mantissa != 0;
  const uint32_t code = exponent + ((flags & kRoundUp) && above ? 1 : 0);
  if (code < kScaleNan) return code;
  return flags & kSatfinite ? kGreatestScale : kScaleNan;
}

void convert_pair_to_scale(const LaneRegisters& registers, const Instruction& instruction,
                           LaneMask active) {
  uint16_t* const d = registers.lanes<uint16_t>(instruction.operands[0]);
  const uint32_t* const a = registers.lanes<uint32_t>(instruction.operands[1]);
  const uint32_t* const b = registers.lanes<uint32_t>(instruction.operands[2]);
  const uint8_t flags = instruction.flags;
  for_lanes(active, [=](int lane) {
    d[lane] = static_cast<uint16_t>(to_scale(a[lane] & 0x7fffffffu, flags) << 8 |
                                    to_scale(b[lane] & 0x7fffffffu, flags));
  });
}

void convert_bf16x2_to_scale(const LaneRegisters& registers, const Instruction& instruction,
                             LaneMask active) {
  uint16_t* const d = registers.lanes<uint16_t>(instruction.operands[0]);
  const uint32_t* const a = registers.lanes<uint32_t>(instruction.operands[1]);
  const uint8_t flags = instruction.flags;
  for_lanes(active, [=](int lane) {
    d[lane] = static_cast<uint16_t>(to_scale(a[lane] & 0x7fff0000u, flags) << 8 |
                                    to_scale(a[lane] << 16 & 0x7fff0000u, flags));
  });
}

struct ScaleToBfloat {
  static uint32_t element(uint32_t code) {
    constexpr uint32_t kSmallest = 0x40;  // 2^-127 is subnormal
    return code == kScaleNan ? uint32_t{Bfloat::kCanonicalNan} : code == 0 ? kSmallest : code << 7;
  }
  static uint32_t apply(uint16_t codes) {
    return element(codes >> 8) << 16 | element(codes & 0xff);
  }
};

// ---- Stochastic rounding (.rs) ----

/// A destination of cvt.rs and which bits of `rbits` each element is given. Of a pair of elements
/// of the four-element types both are given the same bits.
struct StochasticForm {
  std::string_view name;
  const FloatFormat* format;
  int elements;
  int element_bits;  ///< from one element to the next
  int random_count;  ///< random bits for an element
  bool by_bytes;     ///< of each half of rbits one byte, else one half
};
constexpr StochasticForm kStochasticForms[] = {
    {"f16x2", &kFormatF16, 2, 16, 13, false},  {"bf16x2", &kFormatBf16, 2, 16, 16, false},
    {"e4m3x4", &kFormatE4m3, 4, 8, 16, false}, {"e5m2x4", &kFormatE5m2, 4, 8, 16, false},
    {"e2m3x4", &kFormatE2m3, 4, 8, 16, false}, {"e3m2x4", &kFormatE3m2, 4, 8, 16, false},
    {"e2m1x4", &kFormatE2m1, 4, 4, 16, true},
};

struct StochasticConversion {
  const StochasticForm* form = nullptr;
  bool relu = false, satfinite = false;

  /// The random bits of the upper or of the lower elements.
  [[nodiscard]] RandomFraction random(uint32_t rbits, bool upper) const {
    constexpr uint32_t kByte = 0xff;
    uint32_t bits = upper ? rbits >> 16 : rbits;
    if (form->by_bytes) {
      const uint32_t bytes = upper ? rbits >> 8 : rbits;
      bits = (bytes >> 16 & kByte) << 8 | (bytes & kByte);
    }
    return {bits & ((1u << form->random_count) - 1), form->random_count};
  }
};

/// Operands: destination, the elements from the upper one down, rbits.
void convert_stochastic(const LaneRegisters& registers, const Instruction& instruction,
                        LaneMask active) {
  const auto& conversion = *static_cast<const StochasticConversion*>(instruction.detail);
  const StochasticForm& form = *conversion.form;
  const uint32_t* const rbits = registers.lanes<uint32_t>(instruction.operands[form.elements + 1]);
  for_lanes(active, [&](int lane) {
    uint64_t packed = 0;
    for (int element = 0; element < form.elements; ++element) {
      const uint32_t source = registers.lanes<uint32_t>(instruction.operands[element + 1])[lane];
      const ExactValue value = decode(source, kFormatF32);
      const bool to_zero = conversion.relu && value.negative && value.kind != ExactValue::Kind::nan;
      const RandomFraction random = conversion.random(rbits[lane], element < form.elements / 2);
      packed = packed << form.element_bits |
               (to_zero ? 0 : encode(value, *form.format, random, conversion.satfinite));
    }
    registers.set_value(instruction.operands[0], lane, packed);
  });
}

void bind_cvt_stochastic(Binder& binder) {
  const std::string_view name = binder.modifiers.get("to");
  const auto* const form =
      std::find_if(std::begin(kStochasticForms), std::end(kStochasticForms),
                   [&](const StochasticForm& candidate) { return candidate.name == name; });
  const bool in_vector = form->elements == 4;
  binder.expect_count(in_vector ? 3 : 4, in_vector ? 3 : 4);
  constexpr int kBitsPerByte = 8;
  binder.destination(binder.ptx_operand(0),
                     static_cast<size_t>(form->elements * form->element_bits / kBitsPerByte));
  size_t next = 1;
  size_t elements = 0;
  while (next + 1 < binder.count())
    elements += binder.source_vector(binder.ptx_operand(next++), ScalarType::f32);
  if (elements != static_cast<size_t>(form->elements))
    binder.refuse("converts another number of values than its destination holds",
                  in_vector ? "write {a, b, e, f}" : "write a, b");
  binder.source_value(binder.ptx_operand(next), ScalarType::b32);
  binder.detail(
      StochasticConversion{form, binder.modifiers.has("relu"), binder.modifiers.has("satfinite")});
  binder.out.execute = convert_stochastic;
}

void bind_cvt_pair(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  // 8-bit destinations are 16-bit registers holding a zero-extended byte.
  lanewise::bind_operands(binder, type == ScalarType::e2m1x2 ? ScalarType::b16 : type,
                          {ScalarType::f32, ScalarType::f32});
  const PackedConversion conversion = packed_conversion(binder, type);
  const bool nearest = conversion.rounding == Rounding::nearest_even;
  using lanewise::map2;
  Handler& execute = binder.out.execute;
  if (nearest && !conversion.satfinite && type == ScalarType::f16x2) {
    execute = conversion.relu ? map2<PairToHalves<Half, true>, uint32_t, float, float>
                              : map2<PairToHalves<Half, false>, uint32_t, float, float>;
  } else if (nearest && !conversion.satfinite && type == ScalarType::bf16x2) {
    execute = conversion.relu ? map2<PairToHalves<Bfloat, true>, uint32_t, float, float>
                              : map2<PairToHalves<Bfloat, false>, uint32_t, float, float>;
  } else if (type == ScalarType::e4m3x2 && !conversion.relu) {
    execute = map2<PairToE4m3, uint16_t, float, float>;
  } else {
    binder.detail(conversion);
    execute = convert_pair;
  }
}

void bind_cvt_repack(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_operands(binder, type == ScalarType::e2m1x2 ? ScalarType::b16 : type,
                          {ScalarType::b32});
  binder.detail(packed_conversion(binder, type));
  binder.out.execute = convert_halves;
}

void bind_cvt_unpack(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_operands(binder, ScalarType::b32, {ScalarType::b16});
  const bool relu = binder.modifiers.has("relu");
  switch (type) {
    case ScalarType::e4m3x2:
      binder.out.execute = unpack_handler<kHalfOfE4m3, 8>(relu);
      break;
    case ScalarType::e5m2x2:
      binder.out.execute = unpack_handler<kHalfOfE5m2, 8>(relu);
      break;
    case ScalarType::e2m3x2:
      binder.out.execute = unpack_handler<kHalfOfE2m3, 8>(relu);
      break;
    case ScalarType::e3m2x2:
      binder.out.execute = unpack_handler<kHalfOfE3m2, 8>(relu);
      break;
    default:
      binder.out.execute = unpack_handler<kHalfOfE2m1, 4>(relu);
      break;
  }
}

void bind_cvt_to_scale(Binder& binder) {
  binder.out.flags = static_cast<uint8_t>((binder.modifiers.get("round") == "rp" ? kRoundUp : 0) |
                                          (binder.modifiers.has("satfinite") ? kSatfinite : 0));
  if (binder.modifiers.has("bf16x2")) {
    lanewise::bind_operands(binder, ScalarType::b16, {ScalarType::b32});
    binder.out.execute = convert_bf16x2_to_scale;
  } else {
    lanewise::bind_operands(binder, ScalarType::b16, {ScalarType::f32, ScalarType::f32});
    binder.out.execute = convert_pair_to_scale;
  }
}

void bind_cvt_from_scale(Binder& binder) {
  lanewise::bind_operands(binder, ScalarType::b32, {ScalarType::b16});
  binder.out.execute = lanewise::map1<ScaleToBfloat, uint32_t, uint16_t>;
}

using costs::kAlu;
constexpr std::string_view kPackedSection = "cvt";
constexpr uint16_t kPackedConvert = 2 * kAlu;  // as scalar conversions

constexpr InstructionForm kPackedRows[] = {
    from_wider(register_form("cvt", "round=rn|rz [relu] [satfinite] type=f16x2|bf16x2 f32",
                             bind_cvt_pair, kPackedSection, kPackedConvert)),
    from_wider(register_form(
        "cvt", "round=rn satfinite [relu] type=e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2 f32",
        bind_cvt_pair, kPackedSection, kPackedConvert)),
    from_wider(register_form("cvt", "round=rn [relu] f16x2 type=e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2",
                             bind_cvt_unpack, kPackedSection, kPackedConvert)),
    from_wider(register_form(
        "cvt", "round=rn satfinite [relu] type=e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2 f16x2",
        bind_cvt_repack, kPackedSection, kPackedConvert)),
    from_wider(register_form("cvt", "round=rz|rp [satfinite] ue8m0x2 f32", bind_cvt_to_scale,
                             kPackedSection, kPackedConvert)),
    from_wider(register_form("cvt", "round=rz|rp [satfinite] ue8m0x2 bf16x2", bind_cvt_to_scale,
                             kPackedSection, kPackedConvert)),
    from_wider(register_form("cvt", "round=rn bf16x2 ue8m0x2", bind_cvt_from_scale, kPackedSection,
                             kPackedConvert)),
    from_wider(register_form("cvt", "rs [relu] [satfinite] to=f16x2|bf16x2 f32",
                             bind_cvt_stochastic, kPackedSection, kPackedConvert)),
    from_wider(register_form("cvt", "rs [relu] satfinite to=e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4 f32",
                             bind_cvt_stochastic, kPackedSection, kPackedConvert)),
};

}  // namespace

Rows packed_rows() { return kPackedRows; }

}  // namespace bw::sim::conversion
