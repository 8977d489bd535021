/// \file
/// cvt between scalar types (PTX ISA, "Data Movement and Conversion Instructions: cvt"), tf32 and
/// cvt.pack.
///
/// Frequent conversions have vectorisable handlers; all others take the general path, which decodes
/// a value exactly and encodes it with the rounding asked for.
#include <cmath>
#include <limits>

#include "common/simulator/machine/kernel_builder.hpp"
#include "common/simulator/units/alu/float_format.hpp"
#include "common/simulator/units/alu/float_lanes.hpp"
#include "common/simulator/units/alu/half_float.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim::conversion {
namespace {

using lanewise::map1;
using ptx::ScalarType;

// ---- The general path
// -----------------------------------------------------------------------------

struct Conversion {
  ScalarType destination = ScalarType::none, source = ScalarType::none;
  Rounding rounding = Rounding::nearest_even;
  bool integral = false;  ///< .rni and so on: round to an integral value
  bool ftz = false, sat = false, relu = false, satfinite = false;
};

const FloatFormat& format_of(ScalarType type) {
  switch (type) {
    case ScalarType::f16:
      return kFormatF16;
    case ScalarType::bf16:
      return kFormatBf16;
    case ScalarType::f64:
      return kFormatF64;
    default:
      return kFormatF32;
  }
}

uint64_t low_bits(uint64_t value, size_t bytes) {
  return bytes >= 8 ? value : value & ((uint64_t{1} << (8 * bytes)) - 1);
}
uint64_t extend(uint64_t value, ScalarType type) {
  const size_t unused = 64 - 8 * ptx::size_bytes(type);
  if (!ptx::is_signed(type)) return value << unused >> unused;
  return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
}

ExactValue read_value(uint64_t bits, const Conversion& conversion) {
  const ScalarType type = conversion.source;
  if (!ptx::is_float(type)) {
    const uint64_t value = extend(bits, type);
    const bool negative = ptx::is_signed(type) && static_cast<int64_t>(value) < 0;
    return exact_integer(negative, negative ? 0 - value : value);
  }
  ExactValue value = decode(low_bits(bits, ptx::size_bytes(type)), format_of(type));
  const bool subnormal_f32 = type == ScalarType::f32 && value.significand < (1u << 23);
  if (conversion.ftz && subnormal_f32) value.significand = 0;
  return value;
}

/// Rounds to an integral value.
ExactValue to_integral(const ExactValue& value, Rounding rounding) {
  if (value.kind != ExactValue::Kind::finite || value.exponent >= 0) return value;
  return {value.kind, value.negative,
          shift_and_round(value.significand, -value.exponent, value.negative, rounding), 0};
}

/// Clamped to the range of the type; NaN is 0, or the sign bit alone where f64 or a 64-bit type is
/// involved.
uint64_t to_integer(const ExactValue& value, const Conversion& conversion) {
  const ScalarType type = conversion.destination;
  const size_t bits = 8 * ptx::size_bytes(type);
  const uint64_t half_range = uint64_t{1} << (bits - 1);
  if (value.kind == ExactValue::Kind::nan)
    return bits == 64 || conversion.source == ScalarType::f64 ? half_range : 0;
  const uint64_t above_zero = ptx::is_signed(type) ? half_range - 1 : half_range - 1 + half_range;
  const uint64_t below_zero = ptx::is_signed(type) ? half_range : 0;
  const uint64_t limit = value.negative ? below_zero : above_zero;
  const ExactValue integral = to_integral(value, conversion.rounding);
  const bool overflow = integral.kind == ExactValue::Kind::infinite ||
                        (integral.significand != 0 &&
                         64 - std::countl_zero(integral.significand) + integral.exponent > 64) ||
                        integral.significand << integral.exponent > limit;
  const uint64_t magnitude = overflow ? limit : integral.significand << integral.exponent;
  return value.negative ? 0 - magnitude : magnitude;
}

uint64_t to_float(ExactValue value, const Conversion& conversion) {
  const FloatFormat& format = format_of(conversion.destination);
  if (conversion.integral) value = to_integral(value, conversion.rounding);
  if (conversion.sat) {
    if (value.kind == ExactValue::Kind::nan || value.negative) return 0;
    constexpr ExactValue kOne{ExactValue::Kind::finite, false, 1, 0};
    const bool above_one =
        value.kind == ExactValue::Kind::infinite ||
        (value.significand != 0 && 63 - std::countl_zero(value.significand) + value.exponent >= 0);
    if (above_one) value = kOne;
  }
  if (conversion.relu && value.negative && value.kind != ExactValue::Kind::nan) return 0;
  uint64_t bits = encode(value, format, conversion.rounding, conversion.satfinite);
  const bool f32 = conversion.destination == ScalarType::f32;
  if (conversion.ftz && f32 && (bits & floating::kExponentF32) == 0) bits &= floating::kSignF32;
  return bits;
}

uint64_t integer_to_integer(uint64_t bits, const Conversion& conversion) {
  if (conversion.sat) return to_integer(read_value(bits, conversion), conversion);
  return extend(extend(bits, conversion.source), conversion.destination);
}

uint64_t convert(uint64_t bits, const Conversion& conversion) {
  const bool to = ptx::is_float(conversion.destination), from = ptx::is_float(conversion.source);
  if (to) return to_float(read_value(bits, conversion), conversion);
  return extend(from ? to_integer(read_value(bits, conversion), conversion)
                     : integer_to_integer(bits, conversion),
                conversion.destination);
}

void convert_lanes(const LaneRegisters& registers, const Instruction& instruction,
                   LaneMask active) {
  const Conversion& conversion = *static_cast<const Conversion*>(instruction.detail);
  const Operand &d = instruction.operands[0], &a = instruction.operands[1];
  for_lanes(active, [&](int lane) {
    registers.set_value(d, lane, convert(registers.value(a, lane), conversion));
  });
}

// ---- Fast paths
// -----------------------------------------------------------------------------------

template <class Narrow, class D, class S>
void integer_lanes(const LaneRegisters& registers, const Instruction& instruction,
                   LaneMask active) {
  D* const d = registers.lanes<D>(instruction.operands[0]);
  const S* const a = registers.lanes<S>(instruction.operands[1]);
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): the sign of a narrow source is extended.
  for_lanes(active, [=](int lane) { d[lane] = static_cast<D>(static_cast<Narrow>(a[lane])); });
}

template <class Narrow, class D>
Handler integer_from(size_t source_bytes) {
  switch (source_bytes) {
    case 2:
      return integer_lanes<Narrow, D, uint16_t>;
    case 4:
      return integer_lanes<Narrow, D, uint32_t>;
    default:
      return integer_lanes<Narrow, D, uint64_t>;
  }
}

/// Non-saturating integer conversion: through the narrower of both types (which one extends).
template <class Narrow>
Handler integer_through(size_t destination_bytes, size_t source_bytes) {
  switch (destination_bytes) {
    case 2:
      return integer_from<Narrow, uint16_t>(source_bytes);
    case 4:
      return integer_from<Narrow, uint32_t>(source_bytes);
    default:
      return integer_from<Narrow, uint64_t>(source_bytes);
  }
}

Handler integer_handler(const Conversion& conversion, size_t destination_bytes,
                        size_t source_bytes) {
  const size_t to = ptx::size_bytes(conversion.destination);
  const size_t from = ptx::size_bytes(conversion.source);
  // A sign-extended value in an unsigned type and a wider register is extended twice, differently.
  if (from < to && destination_bytes > to &&
      ptx::is_signed(conversion.source) != ptx::is_signed(conversion.destination))
    return nullptr;
  switch (from < to ? conversion.source : conversion.destination) {
    case ScalarType::u8:
      return integer_through<uint8_t>(destination_bytes, source_bytes);
    case ScalarType::s8:
      return integer_through<int8_t>(destination_bytes, source_bytes);
    case ScalarType::u16:
      return integer_through<uint16_t>(destination_bytes, source_bytes);
    case ScalarType::s16:
      return integer_through<int16_t>(destination_bytes, source_bytes);
    case ScalarType::u32:
      return integer_through<uint32_t>(destination_bytes, source_bytes);
    case ScalarType::s32:
      return integer_through<int32_t>(destination_bytes, source_bytes);
    case ScalarType::u64:
    case ScalarType::s64:
      return integer_through<uint64_t>(destination_bytes, source_bytes);
    default:
      return nullptr;
  }
}

template <class D>
struct CastTo {
  template <class S>
  static D apply(S value) {
    return static_cast<D>(value);
  }
};
struct F64ToF32 {
  static float apply(double value) {
    return floating::output<false, false>(static_cast<float>(value));
  }
};
template <class Format>
struct Widen {
  static float apply(uint16_t value) {
    return floating::output<false, false>(Format::to_float(value));
  }
};
template <class Format>
struct NarrowTo {
  static uint16_t apply(float value) { return Format::from_float(value); }
};
template <Rounding rounding_mode>
struct Integral {
  template <class T>
  static T apply(T value) {
    if constexpr (rounding_mode == Rounding::toward_zero) return std::trunc(value);
    if constexpr (rounding_mode == Rounding::down) return std::floor(value);
    if constexpr (rounding_mode == Rounding::up) return std::ceil(value);
    return std::nearbyint(value);
  }
};

/// Saturating conversion of a float to a 32-bit integer through double, which holds both exactly.
template <class D, class S, Rounding rounding_mode>
struct ToInteger32 {
  static D apply(S value) {
    const double integral = Integral<rounding_mode>::apply(static_cast<double>(value));
    constexpr double kLow = std::numeric_limits<D>::min(), kHigh = std::numeric_limits<D>::max();
    const double above = integral > kLow ? integral : kLow;  // NaN becomes the smallest value too
    const double clamped = above < kHigh ? above : kHigh;
    // u32 goes through 64 bits: one host instruction.
    using Through = std::conditional_t<std::is_signed_v<D>, D, int64_t>;
    const D result = static_cast<D>(static_cast<Through>(clamped));
    constexpr D kNan =
        std::is_same_v<S, double> ? static_cast<D>(D{1} << (8 * sizeof(D) - 1)) : D{0};
    return value == value ? result : kNan;
  }
};

template <class D, class S>
Handler to_integer32(Rounding rounding) {
  switch (rounding) {
    case Rounding::toward_zero:
      return map1<ToInteger32<D, S, Rounding::toward_zero>, D, S>;
    case Rounding::down:
      return map1<ToInteger32<D, S, Rounding::down>, D, S>;
    case Rounding::up:
      return map1<ToInteger32<D, S, Rounding::up>, D, S>;
    default:
      return map1<ToInteger32<D, S, Rounding::nearest_even>, D, S>;
  }
}

template <class S>
Handler integer_to_float(ScalarType destination) {
  if (destination == ScalarType::f32) return map1<CastTo<float>, float, S>;
  if (destination == ScalarType::f64) return map1<CastTo<double>, double, S>;
  return nullptr;
}

Handler fast_handler(const Conversion& conversion, size_t destination_bytes, size_t source_bytes) {
  const ScalarType to = conversion.destination, from = conversion.source;
  const bool plain =
      !conversion.ftz && !conversion.sat && !conversion.relu && !conversion.satfinite;
  if (!plain) return nullptr;
  if (!ptx::is_float(to) && !ptx::is_float(from))
    return integer_handler(conversion, destination_bytes, source_bytes);
  if (source_bytes != ptx::size_bytes(from) || destination_bytes != ptx::size_bytes(to))
    return nullptr;
  if (ptx::is_float(from) && !ptx::is_float(to)) {
    const bool f32 = from == ScalarType::f32, f64 = from == ScalarType::f64;
    if (to == ScalarType::s32 && f32) return to_integer32<int32_t, float>(conversion.rounding);
    if (to == ScalarType::u32 && f32) return to_integer32<uint32_t, float>(conversion.rounding);
    if (to == ScalarType::s32 && f64) return to_integer32<int32_t, double>(conversion.rounding);
    if (to == ScalarType::u32 && f64) return to_integer32<uint32_t, double>(conversion.rounding);
    return nullptr;
  }
  if (conversion.rounding != Rounding::nearest_even || conversion.integral) return nullptr;
  switch (from) {
    case ScalarType::s32:
      return integer_to_float<int32_t>(to);
    case ScalarType::u32:
      return integer_to_float<uint32_t>(to);
    case ScalarType::s64:
      return integer_to_float<int64_t>(to);
    case ScalarType::u64:
      return integer_to_float<uint64_t>(to);
    case ScalarType::f16:
      return to == ScalarType::f32 ? map1<Widen<Half>, float, uint16_t> : nullptr;
    case ScalarType::bf16:
      return to == ScalarType::f32 ? map1<Widen<Bfloat>, float, uint16_t> : nullptr;
    case ScalarType::f64:
      return to == ScalarType::f32 ? map1<F64ToF32, float, double> : nullptr;
    case ScalarType::f32:
      if (to == ScalarType::f64) return map1<CastTo<double>, double, float>;
      if (to == ScalarType::f16) return map1<NarrowTo<Half>, uint16_t, float>;
      if (to == ScalarType::bf16) return map1<NarrowTo<Bfloat>, uint16_t, float>;
      return nullptr;
    default:
      return nullptr;
  }
}

/// Bytes a lane of the operand takes; immediates and sinks have their type's width.
size_t lane_bytes(Binder& binder, const ptx::Operand& operand, ScalarType type) {
  if (operand.kind == ptx::Operand::Kind::reg)
    return binder.builder().register_operand(operand.reg).bytes;
  const size_t bytes = ptx::size_bytes(type);
  return bytes == 1 ? 2 : bytes;
}

/// Forms that the ISA requires a rounding modifier for, or forbids one.
void check_rounding(const Binder& binder, const Conversion& conversion, std::string_view rounding) {
  const bool to = ptx::is_float(conversion.destination), from = ptx::is_float(conversion.source);
  const size_t to_bytes = ptx::size_bytes(conversion.destination);
  const size_t from_bytes = ptx::size_bytes(conversion.source);
  if (from && !to && !conversion.integral)
    binder.refuse("converts a floating-point value to an integer without an integer rounding",
                  "add .rni, .rzi, .rmi or .rpi");
  if (!from && !to && !rounding.empty())
    binder.refuse("rounds a conversion between integers", "remove the rounding modifier");
  const bool narrows = to && (!from || to_bytes < from_bytes);
  if (narrows && (rounding.empty() || conversion.integral))
    binder.refuse("may be inexact and has no floating-point rounding", "add .rn, .rz, .rm or .rp");
}

void bind_cvt(Binder& binder) {
  const Modifiers& modifiers = binder.modifiers;
  const std::string_view rounding = modifiers.get("round");
  Conversion conversion;
  conversion.destination = modifiers.type(0);
  conversion.source = modifiers.type(1);
  conversion.rounding = rounding_from_modifier(rounding);
  conversion.integral = rounding.ends_with("i");
  conversion.ftz = modifiers.has("ftz");
  conversion.sat = modifiers.has("sat");
  conversion.relu = modifiers.has("relu");
  conversion.satfinite = modifiers.has("satfinite");
  check_rounding(binder, conversion, rounding);
  lanewise::bind_operands(binder, conversion.destination, {conversion.source});
  binder.out.execute =
      fast_handler(conversion, lane_bytes(binder, binder.ptx_operand(0), conversion.destination),
                   lane_bytes(binder, binder.ptx_operand(1), conversion.source));
  if (!binder.out.execute.empty()) return;
  binder.detail(conversion);
  binder.out.execute = convert_lanes;
}

/// f32 with ten mantissa bits; `flags` bit 0: .relu, bit 1: .satfinite; `immediate`: Rounding.
void convert_tf32(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  uint32_t* const d = registers.lanes<uint32_t>(instruction.operands[0]);
  const uint32_t* const a = registers.lanes<uint32_t>(instruction.operands[1]);
  const auto rounding = static_cast<Rounding>(instruction.immediate);
  const bool relu = (instruction.flags & 1) != 0, satfinite = (instruction.flags & 2) != 0;
  for_lanes(active, [=](int lane) {
    const ExactValue value = decode(a[lane], kFormatF32);
    constexpr int kDropped = 13;  // mantissa bits that tf32 lacks
    const auto code = static_cast<uint32_t>(encode(value, kFormatTf32, rounding, satfinite))
                      << kDropped;
    const bool nan = value.kind == ExactValue::Kind::nan;
    d[lane] = nan ? floating::kCanonicalNanF32 : relu && value.negative ? 0 : code;
  });
}

/// cvt.pack: two s32 values, saturated to `immediate` bits, below the lower bits of c.
void convert_pack(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  uint32_t* const d = registers.lanes<uint32_t>(instruction.operands[0]);
  const int32_t* const a = registers.lanes<int32_t>(instruction.operands[1]);
  const int32_t* const b = registers.lanes<int32_t>(instruction.operands[2]);
  const uint32_t* const c = registers.lanes<uint32_t>(instruction.operands[3]);
  const auto bits = static_cast<int>(instruction.immediate);
  const bool is_signed = instruction.flags != 0;
  const int32_t low = is_signed ? -(1 << (bits - 1)) : 0;
  const int32_t high = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  const uint32_t mask = (1u << bits) - 1;
  for_lanes(active, [=](int lane) {
    const auto clamp = [=](int32_t value) {
      return static_cast<uint32_t>(value < low ? low : value > high ? high : value) & mask;
    };
    const uint32_t pair = clamp(a[lane]) << bits | clamp(b[lane]);
    d[lane] = bits == 16 ? pair : c[lane] << (2 * bits) | pair;
  });
}

void bind_cvt_tf32(Binder& binder) {
  lanewise::bind_operands(binder, ScalarType::b32, {ScalarType::f32});
  binder.out.immediate =
      static_cast<int64_t>(rounding_from_modifier(binder.modifiers.get("round")));
  binder.out.flags = static_cast<uint8_t>((binder.modifiers.has("relu") ? 1 : 0) |
                                          (binder.modifiers.has("satfinite") ? 2 : 0));
  binder.out.execute = convert_tf32;
}

void bind_cvt_pack(Binder& binder) {
  const std::string_view target = binder.modifiers.get("target");
  const int bits = target == "u16" || target == "s16" ? 16 : target[1] - '0';
  const bool has_rest = binder.modifiers.has("b32");
  if (has_rest != (bits != 16))
    binder.refuse("has the wrong number of types",
                  "16-bit results take two types (.s16.s32), narrower ones three (.s8.s32.b32)");
  const size_t operands = has_rest ? 4 : 3;
  binder.expect_count(operands, operands);
  binder.destination(binder.ptx_operand(0), 4);
  binder.source_value(binder.ptx_operand(1), ScalarType::s32);
  binder.source_value(binder.ptx_operand(2), ScalarType::s32);
  binder.source_value(binder.ptx_operand(has_rest ? 3 : 2), ScalarType::b32);
  binder.out.immediate = bits;
  binder.out.flags = target[0] == 's';
  binder.out.execute = convert_pack;
}

using costs::kAlu;
constexpr std::string_view kCvtPack = "cvt.pack";
constexpr std::string_view kCvt = "cvt";
/// Conversions other than moves between integers run at a quarter of the ALU's rate or slower.
constexpr uint16_t kConvert = 2 * kAlu;

bool is_wide(ScalarType type) { return ptx::size_bytes(type) == sizeof(uint64_t); }

/// Narrowing and widening without a sign take the register as it is.
Cost move_integer(const Modifiers& modifiers, const ptx::Instruction&) {
  const ScalarType to = modifiers.type(0), from = modifiers.type(1);
  const bool widens = ptx::size_bytes(to) > ptx::size_bytes(from);
  if (ptx::size_bytes(from) < sizeof(uint32_t) || ptx::size_bytes(to) < sizeof(uint32_t))
    return Cost::one(Pipe::alu);
  return widens && ptx::is_signed(from) ? Cost::one(Pipe::alu) : kNoCost;
}

/// Between integers and floats, of 64 bits and to whole numbers by the special-function unit.
Cost convert(const Modifiers& modifiers, const ptx::Instruction&) {
  const ScalarType to = modifiers.type(0), from = modifiers.type(1);
  if (is_wide(to) || is_wide(from)) return Cost::two(Pipe::special);
  const bool makes_float = ptx::is_float(to) && !ptx::is_float(from);
  const bool narrows = ptx::is_float(to) && ptx::is_float(from) && to != from;
  return makes_float || narrows ? Cost::one(Pipe::alu) : Cost::one(Pipe::special);
}

constexpr InstructionForm kScalarRows[] = {
    register_form("cvt", "pack sat target=u16|s16|u8|s8|u4|s4|u2|s2 s32 [b32]", bind_cvt_pack,
                  kCvtPack, kConvert),
    from_wider(register_form("cvt", "round=rna|rn|rz [satfinite] [relu] tf32 f32", bind_cvt_tf32,
                             kCvt, kConvert)),
    from_wider(register_form("cvt", "round=rn|rz|rm|rp relu [satfinite] type*2=f16|bf16|f32",
                             bind_cvt, kCvt, kConvert)),
    from_wider(register_form("cvt", "round=rn|rz|rm|rp satfinite type*2=f16|bf16|f32", bind_cvt,
                             kCvt, kConvert)),
    computing(Operation::convert,
              from_wider(costing(
                  move_integer,
                  register_form("cvt", "type*2=u8|u16|u32|u64|s8|s16|s32|s64", bind_cvt, kCvt)))),
    from_wider(
        costing(convert, register_form("cvt",
                                       "[round=rn|rz|rm|rp|rni|rzi|rmi|rpi] [ftz] [sat] "
                                       "type*2=u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64",
                                       bind_cvt, kCvt, kConvert))),
};

}  // namespace

Rows scalar_rows() { return kScalarRows; }

}  // namespace bw::sim::conversion
