/// \file
/// f16 and bf16 arithmetic (PTX ISA, "Half Precision Floating Point Instructions").
///
/// Sums and products of two f16 or bf16 values are rounded to f32 first and to the narrow format
/// then. That is the correctly rounded result: f32 has more than twice the narrow format's bits
/// plus two, and where subnormal numbers shorten f32 the sums and products are exact. fma goes
/// through double, rounded to odd where double is not exact, so that the second rounding sees every
/// lost bit.
#include <algorithm>
#include <bit>
#include <cmath>

#include "common/simulator/units/alu/half_float.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim::half {
namespace {

using ptx::ScalarType;

/// a + b in double, where an inexact result has an odd last bit (Boldo and Melquiond, "Emulation of
/// FMA and correctly rounded sums: proved algorithms using rounding to odd").
double add_to_odd(double a, double b) {
  const double sum = a + b;
  // Knuth's two-sum: the exact error of the addition.
  const double a_part = sum - b, b_part = sum - a_part;
  const double error = (a - a_part) + (b - b_part);
  const auto bits = std::bit_cast<uint64_t>(sum);
  const bool adjust = error != 0 && std::isfinite(sum) && (bits & 1) == 0;
  // Towards the error: away from zero when it has the sum's sign.
  const bool grows = (error > 0) == (sum > 0);
  return std::bit_cast<double>(adjust ? (grows ? bits + 1 : bits - 1) : bits);
}

/// Double to float with the last bit odd when inexact; NaN and infinity pass.
float narrow_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const double back = nearest;
  const auto bits = std::bit_cast<uint32_t>(nearest);
  if (back == value || back != back || (bits & 1) != 0) return nearest;
  // An even neighbour was chosen: the odd one is on the other side of the value. Beyond the largest
  // float (an infinity that was rounded to) the largest float is odd.
  const bool too_large = std::fabs(back) > std::fabs(value);
  return std::bit_cast<float>(too_large ? bits - 1 : bits + 1);
}

struct Add {
  template <class Format>
  static uint16_t apply(uint16_t a, uint16_t b) {
    return Format::from_float(Format::to_float(a) + Format::to_float(b));
  }
};
struct Sub {
  template <class Format>
  static uint16_t apply(uint16_t a, uint16_t b) {
    return Format::from_float(Format::to_float(a) - Format::to_float(b));
  }
};
struct Mul {
  template <class Format>
  static uint16_t apply(uint16_t a, uint16_t b) {
    return Format::from_float(Format::to_float(a) * Format::to_float(b));
  }
};
struct Fma {
  template <class Format>
  static uint16_t apply(uint16_t a, uint16_t b, uint16_t c) {
    const double product = double{Format::to_float(a)} * double{Format::to_float(b)};
    return Format::from_float(narrow_to_odd(add_to_odd(product, double{Format::to_float(c)})));
  }
};
struct Exp2 {
  template <class Format>
  static uint16_t apply(uint16_t a) {
    return Format::from_float(narrow_to_odd(std::exp2(static_cast<double>(Format::to_float(a)))));
  }
};
struct Tanh {
  template <class Format>
  static uint16_t apply(uint16_t a) {
    return Format::from_float(narrow_to_odd(std::tanh(static_cast<double>(Format::to_float(a)))));
  }
};
struct Abs {
  template <class Format>
  static uint16_t apply(uint16_t a) {
    return static_cast<uint16_t>(a & ~Format::kSign);
  }
};
struct Neg {
  template <class Format>
  static uint16_t apply(uint16_t a) {
    return static_cast<uint16_t>(a ^ Format::kSign);
  }
};

/// Two's complement order of the bits, in which -0 is below +0.
inline int32_t order(uint16_t bits) {
  const int32_t magnitude = bits & 0x7fff;
  return bits & 0x8000 ? -1 - magnitude : magnitude;
}

template <bool is_maximum, bool with_nan, bool with_xor_sign>
struct Extreme {
  template <class Format>
  static uint16_t apply(uint16_t a, uint16_t b) {
    const auto sign = static_cast<uint16_t>((a ^ b) & Format::kSign);
    const auto x = static_cast<uint16_t>(with_xor_sign ? a & 0x7fff : a);
    const auto y = static_cast<uint16_t>(with_xor_sign ? b & 0x7fff : b);
    const bool a_nan = Format::is_nan(a), b_nan = Format::is_nan(b);
    const bool first = is_maximum ? order(x) > order(y) : order(x) < order(y);
    uint16_t result = b_nan || (first && !a_nan) ? x : y;
    if (with_xor_sign) result = static_cast<uint16_t>(result | sign);
    return (with_nan ? a_nan || b_nan : a_nan && b_nan) ? Format::kCanonicalNan : result;
  }
};

/// Instruction::flags of all forms here.
enum HalfFlag : uint8_t {
  kPacked = 1,  ///< two halves a lane
  kFtz = 2,
  kSat = 4,
  kRelu = 8,
};

constexpr int kMostHalves = 2 * kWarpLanes;

int halves_of(const Instruction& instruction) {
  return instruction.flags & kPacked ? kMostHalves : kWarpLanes;
}

template <class Format>
void flush(const uint16_t* from, uint16_t* to, int halves) {
  for (int i = 0; i < halves; ++i)
    to[i] = static_cast<uint16_t>((from[i] & Format::kExponent) == 0 ? from[i] & Format::kSign
                                                                     : from[i]);
}

/// Negative results become 0, NaN the canonical NaN.
template <class Format>
uint16_t not_negative(uint16_t bits) {
  if (Format::is_nan(bits)) return Format::kCanonicalNan;
  return static_cast<uint16_t>(bits & Format::kSign ? 0 : bits);
}

/// Into [+0, 1], NaN becomes +0.
template <class Format>
uint16_t saturated(uint16_t bits) {
  const bool zero = Format::is_nan(bits) || (bits & Format::kSign) != 0;
  return zero ? uint16_t{0} : bits > Format::kOne ? Format::kOne : bits;
}

/// Flushes and limits the results and writes those of the active lanes.
template <class Format>
void write(const LaneRegisters& registers, const Instruction& instruction, LaneMask active,
           uint16_t* results) {
  const int halves = halves_of(instruction);
  if (instruction.flags & kFtz) flush<Format>(results, results, halves);
  if (instruction.flags & kSat)
    std::transform(results, results + halves, results, saturated<Format>);
  if (instruction.flags & kRelu)
    std::transform(results, results + halves, results, not_negative<Format>);
  uint16_t* const d = registers.lanes<uint16_t>(instruction.operands[0]);
  const int parts = halves / kWarpLanes;
  for_lanes(active, [=](int lane) {
    for (int i = lane * parts; i < (lane + 1) * parts; ++i) d[i] = results[i];
  });
}

/// Computes the halves of all lanes and writes those of the active ones. Each operation and format
/// is one vector loop: modifiers are passes of their own, because with a loop for each combination
/// this file was a third of the compiler's work on the folder.
template <class Operation, class Format, int num_sources>
void compute(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  const int halves = halves_of(instruction);
  uint16_t flushed[num_sources][kMostHalves], results[kMostHalves];
  const uint16_t* sources[num_sources];
  for (int i = 0; i < num_sources; ++i) {
    sources[i] = registers.lanes<uint16_t>(instruction.operands[1 + i]);
    if ((instruction.flags & kFtz) == 0) continue;
    flush<Format>(sources[i], flushed[i], halves);
    sources[i] = flushed[i];
  }
  for (int first = 0; first < halves; first += kWarpLanes) {
    for_lanes(kAllLanes, [&, a = sources[0] + first, b = sources[num_sources > 1 ? 1 : 0] + first,
                          c = sources[num_sources - 1] + first, d = results + first](int lane) {
      if constexpr (num_sources == 1) {
        d[lane] = Operation::template apply<Format>(a[lane]);
      } else if constexpr (num_sources == 2) {
        d[lane] = Operation::template apply<Format>(a[lane], b[lane]);
      } else {
        static_assert(num_sources == 3, "arithmetic of halves takes one to three sources");
        d[lane] = Operation::template apply<Format>(a[lane], b[lane], c[lane]);
      }
    });
  }
  write<Format>(registers, instruction, active, results);
}

/// Binds an operation with the modifiers that its form has.
template <class Operation, int num_sources>
void bind_half(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_uniform_operands(binder, type, num_sources);
  const auto flag = [&](const char* modifier, HalfFlag set) {
    return binder.modifiers.has(modifier) ? set : 0;
  };
  const bool is_packed = type == ScalarType::f16x2 || type == ScalarType::bf16x2;
  const bool is_bfloat = type == ScalarType::bf16 || type == ScalarType::bf16x2;
  binder.out.flags = static_cast<uint8_t>((is_packed ? kPacked : 0) | flag("ftz", kFtz) |
                                          flag("sat", kSat) | flag("relu", kRelu));
  binder.out.execute =
      is_bfloat ? compute<Operation, Bfloat, num_sources> : compute<Operation, Half, num_sources>;
}

template <bool is_maximum>
void bind_extreme(Binder& binder) {
  const bool xorsign = binder.modifiers.has("xorsign");
  if (xorsign != binder.modifiers.has("abs"))
    binder.refuse("has only one of .xorsign and .abs", "write both: .xorsign.abs");
  if (binder.modifiers.has("NaN")) {
    return xorsign ? bind_half<Extreme<is_maximum, true, true>, 2>(binder)
                   : bind_half<Extreme<is_maximum, true, false>, 2>(binder);
  }
  return xorsign ? bind_half<Extreme<is_maximum, false, true>, 2>(binder)
                 : bind_half<Extreme<is_maximum, false, false>, 2>(binder);
}

void bind_add(Binder& binder) { bind_half<Add, 2>(binder); }
void bind_sub(Binder& binder) { bind_half<Sub, 2>(binder); }
void bind_mul(Binder& binder) { bind_half<Mul, 2>(binder); }
void bind_fma(Binder& binder) { bind_half<Fma, 3>(binder); }
void bind_abs(Binder& binder) { bind_half<Abs, 1>(binder); }
void bind_neg(Binder& binder) { bind_half<Neg, 1>(binder); }
void bind_min(Binder& binder) { bind_extreme<false>(binder); }
void bind_max(Binder& binder) { bind_extreme<true>(binder); }
void bind_ex2(Binder& binder) { bind_half<Exp2, 1>(binder); }
void bind_tanh(Binder& binder) { bind_half<Tanh, 1>(binder); }

using costs::kAlu;
constexpr std::string_view kSection = "Half Precision Floating Point Instructions";
constexpr uint16_t kSpecial = 2 * kAlu;  // special-function unit

/// One for each of two values.
Cost special(const Modifiers& modifiers, const ptx::Instruction&) {
  return ptx::size_bytes(modifiers.type()) == sizeof(uint32_t) ? Cost::chain(Pipe::special, 2, 8)
                                                               : Cost::one(Pipe::special);
}

/// What sums and products cost.
constexpr Cost kHalf = Cost::one(Pipe::half);

constexpr InstructionForm kRows[] = {
    costing(kHalf, register_form("add", "[rn] [ftz] [sat] type=f16|f16x2", bind_add, kSection)),
    costing(kHalf, register_form("add", "[rn] type=bf16|bf16x2", bind_add, kSection)),
    costing(kHalf, register_form("sub", "[rn] [ftz] [sat] type=f16|f16x2", bind_sub, kSection)),
    costing(kHalf, register_form("sub", "[rn] type=bf16|bf16x2", bind_sub, kSection)),
    costing(kHalf, register_form("mul", "[rn] [ftz] [sat] type=f16|f16x2", bind_mul, kSection)),
    costing(kHalf, register_form("mul", "[rn] type=bf16|bf16x2", bind_mul, kSection)),
    costing(kHalf, register_form("fma", "rn [ftz] [sat] type=f16|f16x2", bind_fma, kSection)),
    costing(kHalf, register_form("fma", "rn [ftz] relu type=f16|f16x2", bind_fma, kSection)),
    costing(kHalf, register_form("fma", "rn [relu] type=bf16|bf16x2", bind_fma, kSection)),
    register_form("fma", "rn oob [relu] type=f16|f16x2|bf16|bf16x2", nullptr, kSection),
    register_form("abs", "[ftz] type=f16|f16x2", bind_abs, kSection),
    register_form("abs", "type=bf16|bf16x2", bind_abs, kSection),
    register_form("neg", "[ftz] type=f16|f16x2", bind_neg, kSection),
    register_form("neg", "type=bf16|bf16x2", bind_neg, kSection),
    register_form("min", "[ftz] [NaN] [xorsign] [abs] type=f16|f16x2", bind_min, kSection),
    register_form("min", "[NaN] [xorsign] [abs] type=bf16|bf16x2", bind_min, kSection),
    register_form("max", "[ftz] [NaN] [xorsign] [abs] type=f16|f16x2", bind_max, kSection),
    register_form("max", "[NaN] [xorsign] [abs] type=bf16|bf16x2", bind_max, kSection),
    costing(special, register_form("ex2", "approx type=f16|f16x2", bind_ex2, kSection, kSpecial)),
    costing(special,
            register_form("ex2", "approx ftz type=bf16|bf16x2", bind_ex2, kSection, kSpecial)),
    costing(special, register_form("tanh", "approx type=f16|f16x2|bf16|bf16x2", bind_tanh, kSection,
                                   kSpecial)),
};

}  // namespace

Rows rows() { return kRows; }

}  // namespace bw::sim::half
