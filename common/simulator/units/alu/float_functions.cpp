/// \file
/// The approximate functions (PTX ISA, "Floating Point Instructions": div.approx, rcp.approx, ex2,
/// ...).
///
/// The ISA bounds their error (1 to 2 ulp for the divisions, rcp, sqrt, rsqrt and ex2; absolute
/// errors of about 2^-20 for sin, cos and lg2; 2^-11 relative for tanh). Here each is computed in
/// double and rounded once, so it is within 0.51 ulp everywhere: better than the machine, never
/// worse. Special values and ranges follow the ISA's tables.
#include <cmath>
#include <limits>
#include <numbers>

#include "common/simulator/units/alu/float_lanes.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim::floating {
namespace {

using ptx::ScalarType;

struct DivideApproximate {
  // For 2^126 < |b| < 2^128 the reciprocal underflows on the machine: the ISA gives 0, or NaN for a
  // infinite a.
  static float apply(float a, float b) {
    const float magnitude = std::fabs(b);
    if (magnitude > 0x1p126f && magnitude <= std::numeric_limits<float>::max())
      return std::isinf(a) || a != a ? canonical_nan()
                                     : std::copysign(0.0f, a) * std::copysign(1.0f, b);
    return a / b;
  }
};
struct DivideFull {
  static float apply(float a, float b) { return a / b; }
};
struct ReciprocalApproximate {
  static float apply(float a) { return 1.0f / a; }
};
struct SquareRoot {
  static float apply(float a) { return std::sqrt(a); }
};
struct ReciprocalSquareRoot {
  static float apply(float a) {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
  }
};
struct Exp2 {
  static float apply(float a) { return static_cast<float>(std::exp2(static_cast<double>(a))); }
};
struct Log2 {
  static float apply(float a) { return static_cast<float>(std::log2(static_cast<double>(a))); }
};
struct Sine {
  static float apply(float a) { return static_cast<float>(std::sin(static_cast<double>(a))); }
};
struct Cosine {
  static float apply(float a) { return static_cast<float>(std::cos(static_cast<double>(a))); }
};
/// The argument is in cycles. std::remainder is exact, so that large arguments keep their fraction.
double radians(float cycles) {
  return std::remainder(static_cast<double>(cycles), 1.0) * 2.0 * std::numbers::pi;
}
struct SineOfCycles {
  static float apply(float a) { return static_cast<float>(std::sin(radians(a))); }
};
struct CosineOfCycles {
  static float apply(float a) { return static_cast<float>(std::cos(radians(a))); }
};
struct HyperbolicTangent {
  static float apply(float a) { return static_cast<float>(std::tanh(static_cast<double>(a))); }
};

/// rcp and rsqrt of f64 use the upper 32 bits of the source, and clear the lower 32 of the result;
/// subnormals are zeros of the same sign.
double upper_half(double value) {
  constexpr uint64_t kUpper = 0xffff'ffff'0000'0000ull, kExponent = 0x7ff0'0000'0000'0000ull,
                     kSign = 0x8000'0000'0000'0000ull;
  const uint64_t bits = std::bit_cast<uint64_t>(value) & kUpper;
  return std::bit_cast<double>((bits & kExponent) == 0 ? bits & kSign : bits);
}
double coarse_result(double value) {
  constexpr uint64_t kCanonicalNan = 0x7fff'ffff'0000'0000ull;
  return value == value ? upper_half(value) : std::bit_cast<double>(kCanonicalNan);
}
struct ReciprocalF64 {
  static double apply(double a) { return coarse_result(1.0 / upper_half(a)); }
};
struct ReciprocalSquareRootF64 {
  static double apply(double a) { return coarse_result(1.0 / std::sqrt(upper_half(a))); }
};

template <class Operation, int num_sources>
void bind_function(Binder& binder) {
  lanewise::bind_uniform_operands(binder, ScalarType::f32, num_sources);
  binder.out.execute =
      binder.modifiers.has("ftz")
          ? lanewise::uniform<Modified<Operation, true, false>, float, num_sources>()
          : lanewise::uniform<Modified<Operation, false, false>, float, num_sources>();
}

template <class OperationF32, class OperationF64>
void bind_f32_or_f64(Binder& binder) {
  if (binder.modifiers.type() == ScalarType::f32) return bind_function<OperationF32, 1>(binder);
  lanewise::bind_uniform_operands(binder, ScalarType::f64, 1);
  binder.out.execute = lanewise::uniform<OperationF64, double, 1>();
}

void bind_div_approximate(Binder& binder) { bind_function<DivideApproximate, 2>(binder); }
void bind_div_full(Binder& binder) { bind_function<DivideFull, 2>(binder); }
void bind_rcp_approximate(Binder& binder) {
  bind_f32_or_f64<ReciprocalApproximate, ReciprocalF64>(binder);
}
void bind_sqrt_approximate(Binder& binder) { bind_function<SquareRoot, 1>(binder); }
void bind_rsqrt(Binder& binder) {
  bind_f32_or_f64<ReciprocalSquareRoot, ReciprocalSquareRootF64>(binder);
}
void bind_ex2(Binder& binder) { bind_function<Exp2, 1>(binder); }
void bind_lg2(Binder& binder) { bind_function<Log2, 1>(binder); }
void bind_sin(Binder& binder) { bind_function<Sine, 1>(binder); }
void bind_cos(Binder& binder) { bind_function<Cosine, 1>(binder); }
void bind_sin_of_cycles(Binder& binder) { bind_function<SineOfCycles, 1>(binder); }
void bind_cos_of_cycles(Binder& binder) { bind_function<CosineOfCycles, 1>(binder); }
void bind_tanh(Binder& binder) { bind_function<HyperbolicTangent, 1>(binder); }

using costs::kAlu;
constexpr std::string_view kSection = "Floating Point Instructions";
/// Special-function unit: 16 lanes a cycle and SM quarter, so a warp takes twice as long as on the
/// ALU.
constexpr uint16_t kSpecial = 2 * kAlu;

/// Subnormal numbers are scaled before and after, unless they are flushed.
Cost function(const Modifiers& modifiers, const ptx::Instruction&) {
  return modifiers.has("ftz") ? Cost::one(Pipe::special) : Cost::around(4, 13);
}

constexpr InstructionForm kFunctionRows[] = {
    costing(Cost::around(5, 12), register_form("div", "approx [ftz] type=f32", bind_div_approximate,
                                               kSection, kSpecial)),
    costing(Cost::around(5, 12),
            register_form("div", "full [ftz] type=f32", bind_div_full, kSection, kSpecial)),
    costing(function, register_form("rcp", "approx [ftz] type=f32", bind_rcp_approximate, kSection,
                                    kSpecial)),
    costing(function,
            register_form("rcp", "approx ftz type=f64", bind_rcp_approximate, kSection, kSpecial)),
    costing(function, register_form("sqrt", "approx [ftz] type=f32", bind_sqrt_approximate,
                                    kSection, kSpecial)),
    costing(function,
            register_form("rsqrt", "approx [ftz] type=f32|f64", bind_rsqrt, kSection, kSpecial)),
    costing(function, register_form("ex2", "approx [ftz] type=f32", bind_ex2, kSection, kSpecial)),
    costing(function, register_form("lg2", "approx [ftz] type=f32", bind_lg2, kSection, kSpecial)),
    costing(Cost::around(2, 4),
            register_form("sin", "approx [ftz] type=f32", bind_sin, kSection, kSpecial)),
    costing(Cost::around(2, 4),
            register_form("cos", "approx [ftz] type=f32", bind_cos, kSection, kSpecial)),
    // Without the multiplication that turns radians into cycles.
    costing(Cost::one(Pipe::special), register_form("sin", "approx ftz 2pi type=f32",
                                                    bind_sin_of_cycles, kSection, kSpecial)),
    costing(Cost::one(Pipe::special), register_form("cos", "approx ftz 2pi type=f32",
                                                    bind_cos_of_cycles, kSection, kSpecial)),
    costing(Cost::one(Pipe::special),
            register_form("tanh", "approx type=f32", bind_tanh, kSection, kSpecial)),
};

}  // namespace

Rows function_rows() { return kFunctionRows; }

}  // namespace bw::sim::floating
