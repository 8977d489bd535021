/// \file
/// setp, set, selp, slct and predicate logic (PTX ISA, "Comparison and Selection Instructions",
/// "Half Precision Comparison Instructions", "Logic and Shift Instructions").
#include <string_view>
#include <type_traits>

#include "common/simulator/units/alu/float_lanes.hpp"
#include "common/simulator/units/alu/half_float.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim {
namespace {

using lanewise::by_integer_type;
using ptx::ScalarType;

// Comparisons of operands of one type: false for a NaN. The others are these with the operands
// exchanged, or the opposite of these (Chosen).
struct Eq {
  template <class T>
  static bool apply(T a, T b) {
    return a == b;
  }
};
struct Ne {
  template <class T>
  static bool apply(T a, T b) {
    return a < b || a > b;
  }
};
struct Lt {
  template <class T>
  static bool apply(T a, T b) {
    return a < b;
  }
};
struct Le {
  template <class T>
  static bool apply(T a, T b) {
    return a <= b;
  }
};
struct Num {
  template <class T>
  static bool apply(T a, T b) {
    return a == a && b == b;
  }
};
// How a source of a type is read for a comparison.
template <class T>
struct Plain {
  using Storage = T;
  static constexpr bool kMayBePacked = false;
  static constexpr bool kHasNan = std::is_floating_point_v<T>;
  static T read(T value) { return value; }
};
struct FlushedFloat {
  using Storage = float;
  static constexpr bool kMayBePacked = false;
  static constexpr bool kHasNan = true;
  static float read(float value) { return floating::flush_subnormal(value); }
};
template <class Format, bool with_ftz>
struct Narrow {
  using Storage = uint16_t;
  static constexpr bool kMayBePacked = true;
  static constexpr bool kHasNan = true;
  static float read(uint16_t value) {
    if (with_ftz && (value & Format::kExponent) == 0) value &= Format::kSign;
    return Format::to_float(value);
  }
};

/// Lanes for which a comparison holds. The sources are `stride` values apart from lane to lane.
using Compare = LaneMask (*)(const void* first, const void* second, int stride);

/// Compares all lanes: a vector loop does so at no cost, and the callers mask the inactive ones.
/// Not inlined: several handlers share it.
template <class Comparison, class Reader>
[[gnu::noinline]] LaneMask compare(const void* first, const void* second, int stride) {
  const auto* const a = static_cast<const typename Reader::Storage*>(first);
  const auto* const b = static_cast<const typename Reader::Storage*>(second);
  const int step = Reader::kMayBePacked ? stride : 1;
  LaneMask result = 0;
  for (int lane = 0; lane < kWarpLanes; ++lane)
    result |=
        LaneMask{Comparison::apply(Reader::read(a[lane * step]), Reader::read(b[lane * step]))}
        << lane;
  return result;
}

/// Instruction::flags of setp and set. But for the plain form, the comparison itself is the
/// instruction's detail: one handler serves all comparisons and types then.
enum CompareFlag : uint8_t {
  kSecondDestination = 1,
  kCombineAnd = 2,
  kCombineOr = 4,
  kCombineXor = 8,
  kCombine = kCombineAnd | kCombineOr | kCombineXor,
  kOpposite = 16,   ///< true where the comparison is not
  kExchanged = 32,  ///< the second source is compared with the first
  kMeaning = kOpposite | kExchanged,
};

/// Lanes for which the instruction's comparison holds; of packed sources (`parts` is 2) for one
/// half.
LaneMask compare_by_detail(const LaneRegisters& registers, const Instruction& instruction,
                           size_t first_source, int part = 0, int parts = 1) {
  const auto source = [&](size_t index) -> const void* {
    const Operand& operand = instruction.operands[first_source + index];
    return parts == 1 ? registers.lanes<void>(operand)
                      : static_cast<const void*>(registers.lanes<uint16_t>(operand) + part);
  };
  const Compare compare = *static_cast<const Compare*>(instruction.detail);
  const size_t first = instruction.flags & kExchanged ? 1 : 0;
  const LaneMask result = compare(source(first), source(1 - first), parts);
  return instruction.flags & kOpposite ? ~result : result;
}

LaneMask combine(uint8_t flags, LaneMask result, LaneMask c) {
  if (flags & kCombineAnd) return result & c;
  if (flags & kCombineOr) return result | c;
  return result ^ c;
}

/// One destination, nothing combined: the form of loops and bounds. Operands: p, a, b.
template <class Comparison, class Reader, int meaning>
void set_predicate_plain(const LaneRegisters& registers, const Instruction& instruction,
                         LaneMask active) {
  constexpr int kFirst = meaning & kExchanged ? 2 : 1;
  const LaneMask result =
      compare<Comparison, Reader>(registers.lanes<void>(instruction.operands[kFirst]),
                                  registers.lanes<void>(instruction.operands[3 - kFirst]), 1);
  registers.set_predicate(instruction.operands[0], active, meaning & kOpposite ? ~result : result);
}

/// Operands: p, [q], a, b, [c].
void set_predicate(const LaneRegisters& registers, const Instruction& instruction,
                   LaneMask active) {
  const uint8_t flags = instruction.flags;
  const size_t first_source = flags & kSecondDestination ? 2 : 1;
  const LaneMask result = compare_by_detail(registers, instruction, first_source);
  LaneMask p = result, q = ~result;
  if (flags & kCombine) {
    const LaneMask c = registers.predicate(instruction.operands[first_source + 2]);
    p = combine(flags, p, c);
    q = combine(flags, q, c);
  }
  registers.set_predicate(instruction.operands[0], active, p);
  if (flags & kSecondDestination) registers.set_predicate(instruction.operands[1], active, q);
}

/// Packed halves: p is the comparison of the lower, q of the upper halves. Operands: p, q, a, b,
/// [c].
void set_predicate_packed(const LaneRegisters& registers, const Instruction& instruction,
                          LaneMask active) {
  LaneMask p = compare_by_detail(registers, instruction, 2, 0, 2);
  LaneMask q = compare_by_detail(registers, instruction, 2, 1, 2);
  if (instruction.flags & kCombine) {
    const LaneMask c = registers.predicate(instruction.operands[4]);
    p = combine(instruction.flags, p, c);
    q = combine(instruction.flags, q, c);
  }
  registers.set_predicate(instruction.operands[0], active, p);
  registers.set_predicate(instruction.operands[1], active, q);
}

/// set: writes `immediate` (all ones, or 1 in a floating-point format) where true, else 0.
/// Operands: d, a, b, [c]; a packed source gives two 16-bit results or two halves of a 32-bit one.
template <class D, int parts>
void set_value(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  D* const d = registers.lanes<D>(instruction.operands[0]);
  const D value = static_cast<D>(instruction.immediate);
  LaneMask results[parts];
  for (int part = 0; part < parts; ++part) {
    results[part] = compare_by_detail(registers, instruction, 1, part, parts);
    if (instruction.flags & kCombine)
      results[part] =
          combine(instruction.flags, results[part], registers.predicate(instruction.operands[3]));
  }
  for_lanes(active, [=, &results](int lane) {
    for (int part = 0; part < parts; ++part)
      d[lane * parts + part] = results[part] >> lane & 1 ? value : D{0};
  });
}

/// Meaning of a comparison's name; without a function if the type does not have that comparison.
struct Chosen {
  Compare function = nullptr;
  Handler plain = nullptr;  ///< of sources that are not packed
  uint8_t meaning = 0;      ///< kOpposite, kExchanged
};

template <class Comparison, class Reader, int meaning = 0>
Chosen choose() {
  return {compare<Comparison, Reader>, set_predicate_plain<Comparison, Reader, meaning>, meaning};
}

template <class Reader>
Chosen by_comparison(std::string_view name) {
  if (name == "eq") return choose<Eq, Reader>();
  if (name == "lt" || name == "lo") return choose<Lt, Reader>();
  if (name == "gt" || name == "hi") return choose<Lt, Reader, kExchanged>();
  if constexpr (Reader::kHasNan) {
    if (name == "ne") return choose<Ne, Reader>();
    if (name == "le" || name == "ls") return choose<Le, Reader>();
    if (name == "ge" || name == "hs") return choose<Le, Reader, kExchanged>();
    if (name == "equ") return choose<Ne, Reader, kOpposite>();
    if (name == "neu") return choose<Eq, Reader, kOpposite>();
    if (name == "ltu") return choose<Le, Reader, kMeaning>();
    if (name == "leu") return choose<Lt, Reader, kMeaning>();
    if (name == "gtu") return choose<Le, Reader, kOpposite>();
    if (name == "geu") return choose<Lt, Reader, kOpposite>();
    if (name == "num") return choose<Num, Reader>();
    if (name == "nan") return choose<Num, Reader, kOpposite>();
  }
  if (name == "ne") return choose<Eq, Reader, kOpposite>();
  if (name == "le" || name == "ls") return choose<Lt, Reader, kMeaning>();
  if (name == "ge" || name == "hs") return choose<Lt, Reader, kOpposite>();
  return {};
}

/// The instruction's comparison for sources of a type. Refuses those that integers don't have.
Chosen choose_comparison(Binder& binder, ScalarType type) {
  const std::string_view name = binder.modifiers.get("compare");
  const bool ftz = binder.modifiers.has("ftz");
  const Chosen chosen = [&]() -> Chosen {
    switch (type) {
      case ScalarType::f32:
        return ftz ? by_comparison<FlushedFloat>(name) : by_comparison<Plain<float>>(name);
      case ScalarType::f64:
        return by_comparison<Plain<double>>(name);
      case ScalarType::f16:
      case ScalarType::f16x2:
        return ftz ? by_comparison<Narrow<Half, true>>(name)
                   : by_comparison<Narrow<Half, false>>(name);
      case ScalarType::bf16:
      case ScalarType::bf16x2:
        return by_comparison<Narrow<Bfloat, false>>(name);
      default:
        return by_integer_type(type, [&]<class T>() { return by_comparison<Plain<T>>(name); });
    }
  }();
  if (chosen.function == nullptr)
    binder.refuse("compares integers with a comparison of floating-point values",
                  "use eq, ne, lt, le, gt, ge, lo, ls, hi or hs");
  return chosen;
}

uint8_t combine_flag(const Binder& binder) {
  const std::string_view name = binder.modifiers.get("bool");
  return name == "and" ? kCombineAnd : name == "or" ? kCombineOr : name == "xor" ? kCombineXor : 0;
}

void bind_setp(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  const bool packed = type == ScalarType::f16x2 || type == ScalarType::bf16x2;
  const uint8_t combination = combine_flag(binder);
  const size_t operands = combination != 0 ? 4 : 3;
  binder.expect_count(operands, operands);
  const ptx::Operand& destination = binder.ptx_operand(0);
  const bool pair = destination.kind == ptx::Operand::Kind::pair;
  if (packed && !pair)
    binder.refuse("has one destination, but its source is packed",
                  "write both predicates, as in p|q: the lower and the upper half");
  binder.out.flags = static_cast<uint8_t>(combination | (pair ? kSecondDestination : 0));
  binder.destination(pair ? destination.elements[0] : destination, 0);
  if (pair) binder.destination(destination.elements[1], 0);
  binder.source_value(binder.ptx_operand(1), type);
  binder.source_value(binder.ptx_operand(2), type);
  if (combination != 0) binder.source_predicate(binder.ptx_operand(3));
  const Chosen chosen = choose_comparison(binder, type);
  if (binder.out.flags == 0 && !packed) {
    binder.out.execute = chosen.plain;
    return;
  }
  binder.out.flags |= chosen.meaning;
  binder.detail(chosen.function);
  binder.out.execute = packed ? set_predicate_packed : set_predicate;
}

/// The value that set writes where the comparison holds.
int64_t true_value(ScalarType type) {
  switch (type) {
    case ScalarType::f32:
      return 0x3f800000;
    case ScalarType::f16:
    case ScalarType::f16x2:
      return Half::kOne;
    case ScalarType::bf16:
    case ScalarType::bf16x2:
      return Bfloat::kOne;
    default:
      return -1;
  }
}

void bind_set(Binder& binder) {
  const ScalarType destination = binder.modifiers.type(0), source = binder.modifiers.type(1);
  const bool packed = source == ScalarType::f16x2 || source == ScalarType::bf16x2;
  const size_t bytes = ptx::size_bytes(destination);
  if (bytes != 4 && !(bytes == 2 && !packed))
    binder.refuse("has a destination type that set does not take for its source type",
                  "use u32, s32, f32, or the 16-bit and packed types with half precision sources");
  const uint8_t combination = combine_flag(binder);
  const size_t operands = combination != 0 ? 4 : 3;
  binder.expect_count(operands, operands);
  binder.destination(binder.ptx_operand(0), bytes);
  binder.source_value(binder.ptx_operand(1), source);
  binder.source_value(binder.ptx_operand(2), source);
  if (combination != 0) binder.source_predicate(binder.ptx_operand(3));
  const Chosen chosen = choose_comparison(binder, source);
  binder.detail(chosen.function);
  binder.out.flags = static_cast<uint8_t>(combination | chosen.meaning);
  binder.out.immediate = true_value(destination);
  binder.out.execute = packed       ? set_value<uint16_t, 2>
                       : bytes == 2 ? set_value<uint16_t, 1>
                                    : set_value<uint32_t, 1>;
}

/// d = c ? a : b
template <class T>
void select(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  T* const d = registers.lanes<T>(instruction.operands[0]);
  const T* const a = registers.lanes<T>(instruction.operands[1]);
  const T* const b = registers.lanes<T>(instruction.operands[2]);
  const LaneMask c = registers.predicate(instruction.operands[3]);
  for_lanes(active, [=](int lane) {
    const T first = a[lane], second = b[lane];
    d[lane] = c >> lane & 1 ? first : second;
  });
}

Handler by_width(ScalarType type, Handler two, Handler four, Handler eight) {
  switch (ptx::size_bytes(type)) {
    case 2:
      return two;
    case 4:
      return four;
    default:
      return eight;
  }
}

void bind_selp(Binder& binder) {
  binder.out.marks = Marks::select;
  const ScalarType type = binder.modifiers.type();
  binder.expect_count(4, 4);
  binder.destination(binder.ptx_operand(0), ptx::size_bytes(type));
  binder.source_value(binder.ptx_operand(1), type);
  binder.source_value(binder.ptx_operand(2), type);
  binder.source_predicate(binder.ptx_operand(3));
  binder.out.execute = by_width(type, select<uint16_t>, select<uint32_t>, select<uint64_t>);
}

/// d = c >= 0 ? a : b; a NaN takes b.
template <class Reader>
struct SelectBySign {
  template <class T>
  static T apply(T a, T b, typename Reader::Storage c) {
    return Reader::read(c) >= 0 ? a : b;
  }
};

template <class Reader>
Handler slct_handler(ScalarType type) {
  using C = typename Reader::Storage;
  using Select = SelectBySign<Reader>;
  using lanewise::map3;
  return by_width(type, map3<Select, uint16_t, uint16_t, uint16_t, C>,
                  map3<Select, uint32_t, uint32_t, uint32_t, C>,
                  map3<Select, uint64_t, uint64_t, uint64_t, C>);
}

void bind_slct(Binder& binder) {
  const ScalarType type = binder.modifiers.type(0);
  const ScalarType selector = ptx::type_from_name(binder.modifiers.get("selector"));
  lanewise::bind_operands(binder, type, {type, type, selector});
  binder.out.execute = selector == ScalarType::s32   ? slct_handler<Plain<int32_t>>(type)
                       : binder.modifiers.has("ftz") ? slct_handler<FlushedFloat>(type)
                                                     : slct_handler<Plain<float>>(type);
}

struct MaskAnd {
  static LaneMask apply(LaneMask a, LaneMask b) { return a & b; }
};
struct MaskOr {
  static LaneMask apply(LaneMask a, LaneMask b) { return a | b; }
};
struct MaskXor {
  static LaneMask apply(LaneMask a, LaneMask b) { return a ^ b; }
};

template <class Operation>
void predicate_binary(const LaneRegisters& registers, const Instruction& instruction,
                      LaneMask active) {
  registers.set_predicate(instruction.operands[0], active,
                          Operation::apply(registers.predicate(instruction.operands[1]),
                                           registers.predicate(instruction.operands[2])));
}

template <class Operation>
void bind_predicate_binary(Binder& binder) {
  binder.expect_count(3, 3);
  binder.destination(binder.ptx_operand(0), 0);
  binder.source_predicate(binder.ptx_operand(1));
  binder.source_predicate(binder.ptx_operand(2));
  binder.out.execute = predicate_binary<Operation>;
}

void predicate_not(const LaneRegisters& registers, const Instruction& instruction,
                   LaneMask active) {
  registers.set_predicate(instruction.operands[0], active,
                          ~registers.predicate(instruction.operands[1]));
}

void bind_predicate_not(Binder& binder) {
  binder.expect_count(2, 2);
  binder.destination(binder.ptx_operand(0), 0);
  binder.source_predicate(binder.ptx_operand(1));
  binder.out.execute = predicate_not;
}

constexpr std::string_view kComparison = "Comparison and Selection Instructions";
constexpr std::string_view kLogic = "Logic and Shift Instructions";

Cost compare(const Modifiers& modifiers, const ptx::Instruction&) {
  const ScalarType type = modifiers.type();
  if (type == ScalarType::f64) return Cost::one(Pipe::wide);
  return ptx::size_bytes(type) == sizeof(uint64_t) ? Cost::chain(Pipe::alu, 2, 3)
                                                   : Cost::one(Pipe::alu);
}

constexpr InstructionForm kComparisonRows[] = {
    computing(
        Operation::compare,
        costing(compare,
                register_form(
                    "setp",
                    "compare=eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan "
                    "[bool=and|or|xor] "
                    "[ftz] type=b16|b32|b64|u16|u32|u64|s16|s32|s64|f16|f16x2|bf16|bf16x2|f32|f64",
                    bind_setp, kComparison))),
    costing(Cost::chain(Pipe::alu, 2, 4),
            register_form(
                "set",
                "compare=eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan "
                "[bool=and|or|xor] "
                "[ftz] type*2=b16|b32|b64|u16|u32|u64|s16|s32|s64|f16|f16x2|bf16|bf16x2|f32|f64",
                bind_set, kComparison)),
    computing(
        Operation::select,
        costing(CostOf(Cost::one(Pipe::alu), Cost::two(Pipe::alu)),
                register_form("selp", "type=b16|b32|b64|u16|u32|u64|s16|s32|s64|f16|bf16|f32|f64",
                              bind_selp, kComparison))),
    costing(CostOf(Cost::two(Pipe::alu), Cost::chain(Pipe::alu, 3, 4)),
            register_form("slct",
                          "[ftz] type=b16|b32|b64|u16|u32|u64|s16|f32|f64|s32|s64 selector=s32|f32",
                          bind_slct, kComparison)),
    computing(Operation::predicate_and,
              register_form("and", "pred", bind_predicate_binary<MaskAnd>, kLogic)),
    computing(Operation::predicate_or,
              register_form("or", "pred", bind_predicate_binary<MaskOr>, kLogic)),
    computing(Operation::predicate_xor,
              register_form("xor", "pred", bind_predicate_binary<MaskXor>, kLogic)),
    computing(Operation::predicate_not, register_form("not", "pred", bind_predicate_not, kLogic)),
};

}  // namespace

Rows comparison_rows() { return kComparisonRows; }

}  // namespace bw::sim
