/// \file
/// Sign operations, minimum and maximum, and tests of f32 and f64 (PTX ISA, "Floating Point
/// Instructions": abs, neg, min, max, copysign, testp).
#include <cmath>
#include <string_view>

#include "common/simulator/units/alu/float_lanes.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim::floating {
namespace {

using ptx::ScalarType;

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T>
constexpr Bits<T> kSignBit = Bits<T>{1} << (8 * sizeof(T) - 1);

template <class T>
T with_bits(Bits<T> bits) {
  return std::bit_cast<T>(bits);
}
template <class T>
Bits<T> bits_of(T value) {
  return std::bit_cast<Bits<T>>(value);
}

// Sign operations act on the bits alone, NaN included.
struct Abs {
  template <class T>
  static T apply(T a) {
    return with_bits<T>(bits_of(a) & ~kSignBit<T>);
  }
};
struct Neg {
  template <class T>
  static T apply(T a) {
    return with_bits<T>(bits_of(a) ^ kSignBit<T>);
  }
};
struct CopySign {
  template <class T>
  static T apply(T a, T b) {
    return with_bits<T>((bits_of(b) & ~kSignBit<T>) | (bits_of(a) & kSignBit<T>));
  }
};

/// -0 is less than +0; a single NaN is ignored.
struct Min {
  template <class T>
  static T apply(T a, T b) {
    const T ordered = a < b || (a == b && (bits_of(a) & kSignBit<T>) != 0) ? a : b;
    return b != b ? a : ordered;
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    const T ordered = a > b || (a == b && (bits_of(a) & kSignBit<T>) == 0) ? a : b;
    return b != b ? a : ordered;
  }
};

template <class Base, bool with_nan>
struct Extreme {
  static float apply(float a, float b) {
    const float result = Base::apply(a, b);
    if constexpr (with_nan) return a != a || b != b ? canonical_nan() : result;
    return result;
  }
  static float apply(float a, float b, float c) { return apply(apply(a, b), c); }
};
/// .xorsign.abs: the extreme of the magnitudes with the product of the signs.
template <class Base, bool with_nan>
struct ExtremeXorSign {
  static float apply(float a, float b) {
    const float result = Extreme<Base, with_nan>::apply(Abs::apply(a), Abs::apply(b));
    const uint32_t sign = (bits_of(a) ^ bits_of(b)) & kSignF32;
    return result != result ? result : with_bits<float>(bits_of(result) | sign);
  }
};
template <class Base, bool with_nan>
struct ExtremeAbs {
  static float apply(float a, float b, float c) {
    return Extreme<Base, with_nan>::apply(Abs::apply(a), Abs::apply(b), Abs::apply(c));
  }
};

template <class Operation, int num_sources>
Handler f32_handler(bool ftz) {
  return ftz ? lanewise::uniform<Modified<Operation, true, false>, float, num_sources>()
             : lanewise::uniform<Modified<Operation, false, false>, float, num_sources>();
}

template <class Base, bool with_nan>
Handler extreme_handler(const Binder& binder, bool three) {
  const bool ftz = binder.modifiers.has("ftz"), abs = binder.modifiers.has("abs");
  if (!three)
    return abs ? f32_handler<ExtremeXorSign<Base, with_nan>, 2>(ftz)
               : f32_handler<Extreme<Base, with_nan>, 2>(ftz);
  return abs ? f32_handler<ExtremeAbs<Base, with_nan>, 3>(ftz)
             : f32_handler<Extreme<Base, with_nan>, 3>(ftz);
}

template <class Base>
void bind_extreme(Binder& binder) {
  if (binder.modifiers.type() == ScalarType::f64) {
    lanewise::bind_uniform_operands(binder, ScalarType::f64, 2);
    binder.out.execute = lanewise::uniform<Base, double, 2>();
    return;
  }
  const bool three = binder.count() == 4;
  const bool xorsign = binder.modifiers.has("xorsign"), abs = binder.modifiers.has("abs");
  if (three ? xorsign : xorsign != abs)
    binder.refuse("combines modifiers that don't belong together",
                  "use .xorsign.abs with two sources, .abs alone with three");
  lanewise::bind_uniform_operands(binder, ScalarType::f32, three ? 3 : 2);
  binder.out.execute = binder.modifiers.has("NaN") ? extreme_handler<Base, true>(binder, three)
                                                   : extreme_handler<Base, false>(binder, three);
}

/// A sign operation leaves a NaN's bits alone, so it is not canonicalised; .ftz flushes.
template <class Operation>
struct Flushed {
  static float apply(float a) { return Operation::apply(flush_subnormal(a)); }
};

template <class Operation>
void bind_sign(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_uniform_operands(binder, type, 1);
  binder.out.execute = type == ScalarType::f64 ? lanewise::uniform<Operation, double, 1>()
                       : binder.modifiers.has("ftz")
                           ? lanewise::uniform<Flushed<Operation>, float, 1>()
                           : lanewise::uniform<Operation, float, 1>();
}

enum class Test : uint8_t { finite, infinite, number, not_a_number, normal, subnormal };

template <class T>
bool passes(Test test, T value) {
  switch (test) {
    case Test::finite:
      return std::isfinite(value);
    case Test::infinite:
      return std::isinf(value);
    case Test::number:
      return !std::isnan(value);
    case Test::not_a_number:
      return std::isnan(value);
    case Test::normal:
      return std::isnormal(value) || value == 0;  // the ISA counts zeros as normal
    case Test::subnormal:
      return std::fpclassify(value) == FP_SUBNORMAL;
  }
  return false;
}

template <class T>
void test_property(const LaneRegisters& registers, const Instruction& instruction,
                   LaneMask active) {
  const T* const a = registers.lanes<T>(instruction.operands[1]);
  const Test test = static_cast<Test>(instruction.flags);
  LaneMask result = 0;
  for_lanes(active, [&](int lane) { result |= LaneMask{passes(test, a[lane])} << lane; });
  registers.set_predicate(instruction.operands[0], active, result);
}

void bind_abs(Binder& binder) { bind_sign<Abs>(binder); }
void bind_neg(Binder& binder) { bind_sign<Neg>(binder); }
void bind_min(Binder& binder) { bind_extreme<Min>(binder); }
void bind_max(Binder& binder) { bind_extreme<Max>(binder); }

void bind_copysign(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_uniform_operands(binder, type, 2);
  binder.out.execute = type == ScalarType::f64 ? lanewise::uniform<CopySign, double, 2>()
                                               : lanewise::uniform<CopySign, float, 2>();
}

void bind_testp(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  binder.expect_count(2, 2);
  binder.destination(binder.ptx_operand(0), 0);
  binder.source_value(binder.ptx_operand(1), type);
  const std::string_view test = binder.modifiers.get("test");
  const Test chosen = test == "finite"       ? Test::finite
                      : test == "infinite"   ? Test::infinite
                      : test == "number"     ? Test::number
                      : test == "notanumber" ? Test::not_a_number
                      : test == "normal"     ? Test::normal
                                             : Test::subnormal;
  binder.out.flags = static_cast<uint8_t>(chosen);
  binder.out.execute = type == ScalarType::f64 ? test_property<double> : test_property<float>;
}

using costs::kAlu;
constexpr std::string_view kMinmaxSection = "Floating Point Instructions";

constexpr InstructionForm kMinmaxRows[] = {
    computing(Operation::change_sign,
              register_form("abs", "[ftz] type=f32", bind_abs, kMinmaxSection)),
    costing(Cost::one(Pipe::alu), register_form("abs", "type=f64", bind_abs, kMinmaxSection)),
    computing(Operation::change_sign,
              register_form("neg", "[ftz] type=f32", bind_neg, kMinmaxSection)),
    costing(Cost::one(Pipe::alu), register_form("neg", "type=f64", bind_neg, kMinmaxSection)),
    register_form("min", "[ftz] [NaN] [xorsign] [abs] type=f32", bind_min, kMinmaxSection),
    costing(Cost::chain(Pipe::wide, 4, 12),
            register_form("min", "type=f64", bind_min, kMinmaxSection)),
    register_form("max", "[ftz] [NaN] [xorsign] [abs] type=f32", bind_max, kMinmaxSection),
    costing(Cost::chain(Pipe::wide, 4, 12),
            register_form("max", "type=f64", bind_max, kMinmaxSection)),
    register_form("copysign", "type=f32|f64", bind_copysign, kMinmaxSection),
    costing(Cost::two(Pipe::alu),
            register_form("testp",
                          "test=finite|infinite|number|notanumber|normal|subnormal type=f32|f64",
                          bind_testp, kMinmaxSection)),
};

}  // namespace

Rows minmax_rows() { return kMinmaxRows; }

}  // namespace bw::sim::floating
