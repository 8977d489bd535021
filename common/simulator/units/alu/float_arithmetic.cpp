/// \file
/// add, sub, mul, fma, div, rcp and sqrt of f32, f64 and f32x2 in every rounding mode, and the
/// mixed precision forms (PTX ISA, "Floating Point Instructions").
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/simulator/machine/kernel_builder.hpp"
#include "common/simulator/ptx/pair_arithmetic.hpp"
#include "common/simulator/units/alu/directed_rounding.hpp"
#include "common/simulator/units/alu/float_lanes.hpp"
#include "common/simulator/units/alu/half_float.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/alu/rounding.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim::floating {
namespace {

using ptx::ScalarType;

struct Add {
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
  template <class T>
  static T directed(Rounding rounding, T a, T b) {
    return directed::add(rounding, a, b);
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    return a - b;
  }
  template <class T>
  static T directed(Rounding rounding, T a, T b) {
    return b != b ? a - b : directed::add(rounding, a, -b);  // a NaN keeps its sign
  }
};
struct Mul {
  template <class T>
  static T apply(T a, T b) {
    return a * b;
  }
  template <class T>
  static T directed(Rounding rounding, T a, T b) {
    return directed::multiply(rounding, a, b);
  }
};
struct Fma {
  template <class T>
  static T apply(T a, T b, T c) {
    return std::fma(a, b, c);
  }
  template <class T>
  static T directed(Rounding rounding, T a, T b, T c) {
    return directed::fma(rounding, a, b, c);
  }
};
struct Div {
  template <class T>
  static T apply(T a, T b) {
    return a / b;
  }
  template <class T>
  static T directed(Rounding rounding, T a, T b) {
    return directed::divide(rounding, a, b);
  }
};
struct Rcp {
  template <class T>
  static T apply(T a) {
    return T{1} / a;
  }
  template <class T>
  static T directed(Rounding rounding, T a) {
    return directed::divide(rounding, T{1}, a);
  }
};
struct Sqrt {
  template <class T>
  static T apply(T a) {
    return std::sqrt(a);
  }
  template <class T>
  static T directed(Rounding rounding, T a) {
    return directed::root(rounding, a);
  }
};

/// An operation in the mode of the RoundingScope, in software.
template <class Operation>
struct InSoftware {
  template <class... T>
  static auto apply(T... operands) {
    return Operation::directed(RoundingScope::current(), operands...);
  }
};
/// An operation within a RoundingScope.
template <class Operation>
using InScope = std::conditional_t<kHostRounds, Operation, InSoftware<Operation>>;

/// Instruction::immediate of the directed forms: the Rounding.
template <LaneHandler handler>
void in_scope(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  const RoundingScope scope(static_cast<Rounding>(instruction.immediate));
  handler(registers, instruction, active);
}

/// The handler of an operation in the mode that the instruction names; `Lanes::of<Operation>` goes
/// over the lanes.
template <class Lanes, class Operation>
Handler choose_rounding(Binder& binder) {
  const Rounding rounding = rounding_from_modifier(binder.modifiers.get("round"));
  binder.out.immediate = static_cast<int64_t>(rounding);
  if (rounding == Rounding::nearest_even) return Lanes::template of<Operation>;
  return in_scope<Lanes::template of<InScope<Operation>>>;
}

/// Operands of the instruction's type.
template <class T, int num_sources, bool with_ftz, bool with_sat>
struct Uniform {
  template <class Operation>
  static constexpr LaneHandler of =
      lanewise::uniform<Modified<Operation, with_ftz, with_sat>, T, num_sources>();
};
/// Pairs of f32.
template <int num_sources, bool with_ftz>
struct Pairs {
  template <class Operation>
  static constexpr LaneHandler of =
      lanewise::packed<Modified<Operation, with_ftz, false>, float, num_sources, 2>();
};

/// Pairs of f32 whose halves are in registers of their own.
template <int num_sources, bool with_ftz>
struct Halves {
  template <class Operation>
  static constexpr LaneHandler of =
      lanewise::halves<Modified<Operation, with_ftz, false>, float, num_sources>;
};

/// A finisher: arithmetic on pairs takes the halves of its sources from where they were packed, and
/// writes those of its result where they are unpacked. Its detail is the handler for that.
void take_halves(KernelBuilder& builder) {
  const auto are_plain = [&](const std::vector<uint32_t>& indices) {
    return std::all_of(indices.begin(), indices.end(), [&](uint32_t index) {
      return builder.decoded(index).execute.is_of_lanes();
    });
  };
  for (const ptx::PairArithmetic& pair : ptx::pair_arithmetic(builder.function())) {
    std::vector<uint32_t> moves = pair.packs;
    moves.push_back(pair.index + 1);
    // (An instruction that may read the destination of a load too early checks this first.)
    const Instruction& arithmetic = builder.decoded(pair.index);
    if (!arithmetic.execute.is_of_lanes() || !are_plain(moves)) continue;
    const Operand* const result = builder.decoded(pair.index + 1).operands;
    std::vector<Operand> operands = {result[0], result[1]};
    for (const uint32_t pack : pair.packs) {
      const Operand* const packed = builder.decoded(pack).operands;
      operands.insert(operands.end(), {packed[1], packed[2]});
    }
    builder.take_over(pair.index, *static_cast<const Handler*>(arithmetic.detail),
                      std::move(operands), moves);
  }
}

/// Binds an operation on pairs of f32.
template <class Operation, int num_sources, bool with_ftz>
void bind_pairs(Binder& binder) {
  binder.out.execute = choose_rounding<Pairs<num_sources, with_ftz>, Operation>(binder);
  binder.detail(choose_rounding<Halves<num_sources, with_ftz>, Operation>(binder));
  binder.builder().when_decoded(take_halves);
}

/// Binds an operation whose operands all have the type of the instruction.
template <class Operation, int num_sources>
void bind_float(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_uniform_operands(binder, type, num_sources);
  const bool ftz = binder.modifiers.has("ftz"), sat = binder.modifiers.has("sat");
  Handler& execute = binder.out.execute;
  if (type == ScalarType::f64) {
    execute = choose_rounding<Uniform<double, num_sources, false, false>, Operation>(binder);
  } else if (type == ScalarType::f32x2) {
    ftz ? bind_pairs<Operation, num_sources, true>(binder)
        : bind_pairs<Operation, num_sources, false>(binder);
  } else if (ftz) {
    execute = sat ? choose_rounding<Uniform<float, num_sources, true, true>, Operation>(binder)
                  : choose_rounding<Uniform<float, num_sources, true, false>, Operation>(binder);
  } else {
    execute = sat ? choose_rounding<Uniform<float, num_sources, false, true>, Operation>(binder)
                  : choose_rounding<Uniform<float, num_sources, false, false>, Operation>(binder);
  }
}

/// f32 = f16 or bf16 op f32: the narrow sources are widened exactly.
template <class Format, class Operation, bool with_sat>
struct MixedBinary {
  static float apply(uint16_t a, float b) {
    return output<false, with_sat>(Operation::apply(Format::to_float(a), b));
  }
};
template <class Format, class Operation, bool with_sat>
struct MixedTernary {
  static float apply(uint16_t a, uint16_t b, float c) {
    return output<false, with_sat>(Operation::apply(Format::to_float(a), Format::to_float(b), c));
  }
};
template <class Format, bool with_sat>
struct Mixed {
  template <class Operation>
  static constexpr LaneHandler of =
      lanewise::map2<MixedBinary<Format, Operation, with_sat>, float, uint16_t, float>;
};
template <class Format, bool with_sat>
struct MixedThree {
  template <class Operation>
  static constexpr LaneHandler of =
      lanewise::map3<MixedTernary<Format, Operation, with_sat>, float, uint16_t, uint16_t, float>;
};

template <class Format, class Operation>
Handler mixed_binary(Binder& binder) {
  return binder.modifiers.has("sat") ? choose_rounding<Mixed<Format, true>, Operation>(binder)
                                     : choose_rounding<Mixed<Format, false>, Operation>(binder);
}

template <class Operation>
void bind_mixed_binary(Binder& binder) {
  const ScalarType narrow = ptx::type_from_name(binder.modifiers.get("narrow"));
  lanewise::bind_operands(binder, ScalarType::f32, {narrow, ScalarType::f32});
  binder.out.execute = narrow == ScalarType::f16 ? mixed_binary<Half, Operation>(binder)
                                                 : mixed_binary<Bfloat, Operation>(binder);
}

template <class Format>
Handler mixed_fma(Binder& binder) {
  return binder.modifiers.has("sat") ? choose_rounding<MixedThree<Format, true>, Fma>(binder)
                                     : choose_rounding<MixedThree<Format, false>, Fma>(binder);
}

void bind_add(Binder& binder) { bind_float<Add, 2>(binder); }
void bind_sub(Binder& binder) { bind_float<Sub, 2>(binder); }
void bind_mul(Binder& binder) { bind_float<Mul, 2>(binder); }
void bind_fma(Binder& binder) { bind_float<Fma, 3>(binder); }
void bind_div(Binder& binder) { bind_float<Div, 2>(binder); }
void bind_rcp(Binder& binder) { bind_float<Rcp, 1>(binder); }
void bind_sqrt(Binder& binder) { bind_float<Sqrt, 1>(binder); }
void bind_add_mixed(Binder& binder) { bind_mixed_binary<Add>(binder); }
void bind_sub_mixed(Binder& binder) { bind_mixed_binary<Sub>(binder); }

void bind_fma_mixed(Binder& binder) {
  const ScalarType narrow = ptx::type_from_name(binder.modifiers.get("narrow"));
  lanewise::bind_operands(binder, ScalarType::f32, {narrow, narrow, ScalarType::f32});
  binder.out.execute =
      narrow == ScalarType::f16 ? mixed_fma<Half>(binder) : mixed_fma<Bfloat>(binder);
}

using costs::kAlu;
constexpr std::string_view kFloat = "Floating Point Instructions";
constexpr std::string_view kMixed = "Mixed Precision Floating-Point Instructions";
/// Correctly rounded division and square root are sequences of about ten instructions.
constexpr uint16_t kSequence = 10 * kAlu;

// What sums and products cost, by type. A pair is one instruction that occupies both halves of the
// pipe. Source: QuickRunCUDA (464f2a0, April 2026), a B300: FFMA2 alone is issued 2.04 times a
// cycle and SM with both halves 99 % busy, and half as many logic instructions in addition cost
// 0.4 %.
constexpr Cost kSingle = Cost::one(Pipe::fma), kDouble = Cost::one(Pipe::wide),
               kPair = {.pipe = Pipe::fma, .instructions = 1, .on_pipe = 2};

constexpr InstructionForm kArithmeticRows[] = {
    costing(kSingle,
            register_form("add", "[round=rn|rz|rm|rp] [ftz] [sat] type=f32", bind_add, kFloat)),
    costing(kDouble, register_form("add", "[round=rn|rz|rm|rp] type=f64", bind_add, kFloat)),
    costing(kPair, register_form("add", "[round=rn|rz|rm|rp] [ftz] type=f32x2", bind_add, kFloat)),
    costing(kSingle,
            register_form("sub", "[round=rn|rz|rm|rp] [ftz] [sat] type=f32", bind_sub, kFloat)),
    costing(kDouble, register_form("sub", "[round=rn|rz|rm|rp] type=f64", bind_sub, kFloat)),
    costing(kPair, register_form("sub", "[round=rn|rz|rm|rp] [ftz] type=f32x2", bind_sub, kFloat)),
    costing(kSingle,
            register_form("mul", "[round=rn|rz|rm|rp] [ftz] [sat] type=f32", bind_mul, kFloat)),
    costing(kDouble, register_form("mul", "[round=rn|rz|rm|rp] type=f64", bind_mul, kFloat)),
    costing(kPair, register_form("mul", "[round=rn|rz|rm|rp] [ftz] type=f32x2", bind_mul, kFloat)),
    costing(kSingle,
            register_form("fma", "round=rn|rz|rm|rp [ftz] [sat] type=f32", bind_fma, kFloat)),
    costing(kDouble, register_form("fma", "round=rn|rz|rm|rp type=f64", bind_fma, kFloat)),
    costing(kPair, register_form("fma", "round=rn|rz|rm|rp [ftz] type=f32x2", bind_fma, kFloat)),
    costing(kSingle,
            register_form("mad", "[round=rn|rz|rm|rp] [ftz] [sat] type=f32", bind_fma, kFloat)),
    costing(kDouble, register_form("mad", "[round=rn|rz|rm|rp] type=f64", bind_fma, kFloat)),
    costing(Cost::around(10, 40),
            register_form("div", "round=rn|rz|rm|rp [ftz] type=f32", bind_div, kFloat, kSequence)),
    costing(Cost::chain(Pipe::wide, 30, 160),
            register_form("div", "round=rn|rz|rm|rp type=f64", bind_div, kFloat, kSequence)),
    costing(Cost::around(8, 24),
            register_form("rcp", "round=rn|rz|rm|rp [ftz] type=f32", bind_rcp, kFloat, kSequence)),
    costing(Cost::chain(Pipe::wide, 16, 80),
            register_form("rcp", "round=rn|rz|rm|rp type=f64", bind_rcp, kFloat, kSequence)),
    costing(Cost::around(8, 28), register_form("sqrt", "round=rn|rz|rm|rp [ftz] type=f32",
                                               bind_sqrt, kFloat, kSequence)),
    costing(Cost::chain(Pipe::wide, 24, 120),
            register_form("sqrt", "round=rn|rz|rm|rp type=f64", bind_sqrt, kFloat, kSequence)),
    costing(kSingle, register_form("add", "[round=rn|rz|rm|rp] [sat] type=f32 narrow=f16|bf16",
                                   bind_add_mixed, kMixed)),
    costing(kSingle, register_form("sub", "[round=rn|rz|rm|rp] [sat] type=f32 narrow=f16|bf16",
                                   bind_sub_mixed, kMixed)),
    costing(kSingle, register_form("fma", "round=rn|rz|rm|rp [sat] type=f32 narrow=f16|bf16",
                                   bind_fma_mixed, kMixed)),
};

}  // namespace

Rows arithmetic_rows() { return kArithmeticRows; }

}  // namespace bw::sim::floating
