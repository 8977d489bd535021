/// \file
/// Extended-precision integer arithmetic: the condition-code register's carry flag CC.CF
/// (PTX ISA, "Extended-Precision Integer Arithmetic Instructions").
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim::integer {
namespace {

using lanewise::by_integer_type;
using lanewise::Wide;
using ptx::ScalarType;

/// Instruction::flags of this family.
enum CarryFlag : uint8_t {
  kReadsCarry = 1,
  kWritesCarry = 2,
  kHighPart = 4,
};

struct Sum {
  /// a + b + carry_in; `carry_out` is the carry of the unsigned sum.
  template <class T>
  static T apply(T a, T b, bool carry_in, bool& carry_out) {
    const T partial = a + b;
    const T result = partial + T{carry_in};
    carry_out = partial < a || result < partial;
    return result;
  }
};
struct Difference {
  /// a - (b + borrow_in); `borrow_out` is the borrow of the unsigned difference.
  template <class T>
  static T apply(T a, T b, bool borrow_in, bool& borrow_out) {
    const T partial = a - b;
    const T result = partial - T{borrow_in};
    borrow_out = a < b || partial < T{borrow_in};
    return result;
  }
};

/// Lanes combine two values with the carry flag; `first` gives the first value of a lane.
template <class T, class Operation, class First>
void with_carry(const LaneRegisters& registers, const Instruction& instruction, LaneMask active,
                const Operand& second, First first) {
  T* const d = registers.lanes<T>(instruction.operands[0]);
  const T* const b = registers.lanes<T>(second);
  const LaneMask carry_in = instruction.flags & kReadsCarry ? registers.carry() : 0;
  LaneMask carry_out = 0;
  for_lanes(active, [&](int lane) {
    bool carry = false;
    d[lane] =
        Operation::template apply<T>(first(lane), b[lane], (carry_in >> lane & 1) != 0, carry);
    carry_out |= LaneMask{carry} << lane;
  });
  if (instruction.flags & kWritesCarry) registers.set_carry(active, carry_out);
}

template <class T, class Operation>
void carry_binary(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  const T* const a = registers.lanes<T>(instruction.operands[1]);
  with_carry<T, Operation>(registers, instruction, active, instruction.operands[2],
                           [a](int lane) { return a[lane]; });
}

template <class S>
void carry_mad(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  using T = std::make_unsigned_t<S>;
  const S* const a = registers.lanes<S>(instruction.operands[1]);
  const S* const b = registers.lanes<S>(instruction.operands[2]);
  const int shift = instruction.flags & kHighPart ? 8 * static_cast<int>(sizeof(S)) : 0;
  with_carry<T, Sum>(registers, instruction, active, instruction.operands[3], [=](int lane) {
    return static_cast<T>((Wide<S>(a[lane]) * Wide<S>(b[lane])) >> shift);
  });
}

/// The forms are add.cc, addc, addc.cc and so on: those whose mnemonic ends in c read the flag.
template <bool reads>
uint8_t carry_flags(const Binder& binder) {
  return static_cast<uint8_t>((reads ? kReadsCarry : 0) |
                              (binder.modifiers.has("cc") ? kWritesCarry : 0) |
                              (binder.modifiers.get("part") == "hi" ? kHighPart : 0));
}

template <class Operation, bool reads>
void bind_carry_binary(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_uniform_operands(binder, type, 2);
  binder.out.flags = carry_flags<reads>(binder);
  binder.out.execute = ptx::size_bytes(type) == 8 ? carry_binary<uint64_t, Operation>
                                                  : carry_binary<uint32_t, Operation>;
}

template <bool reads>
void bind_carry_mad(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_uniform_operands(binder, type, 3);
  binder.out.flags = carry_flags<reads>(binder);
  binder.out.execute = by_integer_type(type, []<class T>() -> Handler {
    if constexpr (sizeof(T) < 4) {
      return nullptr;
    } else {
      return carry_mad<T>;
    }
  });
}

using costs::kAlu;
constexpr std::string_view kCarrySection = "Extended-Precision Integer Arithmetic Instructions";

constexpr InstructionForm kCarryRows[] = {
    with_carry(Carry::writes, costing(CostOf(Cost::one(Pipe::alu), Cost::chain(Pipe::alu, 2, 3)),
                                      register_form("add", "cc type=u32|s32|u64|s64",
                                                    bind_carry_binary<Sum, false>, kCarrySection))),
    with_carry(Carry::reads, costing(CostOf(Cost::one(Pipe::alu), Cost::chain(Pipe::alu, 2, 3)),
                                     register_form("addc", "[cc] type=u32|s32|u64|s64",
                                                   bind_carry_binary<Sum, true>, kCarrySection))),
    with_carry(Carry::writes,
               costing(CostOf(Cost::one(Pipe::alu), Cost::chain(Pipe::alu, 2, 3)),
                       register_form("sub", "cc type=u32|s32|u64|s64",
                                     bind_carry_binary<Difference, false>, kCarrySection))),
    with_carry(Carry::reads,
               costing(CostOf(Cost::one(Pipe::alu), Cost::chain(Pipe::alu, 2, 3)),
                       register_form("subc", "[cc] type=u32|s32|u64|s64",
                                     bind_carry_binary<Difference, true>, kCarrySection))),
    with_carry(Carry::writes,
               costing(CostOf(Cost::two(Pipe::multiply), Cost::chain(Pipe::multiply, 8, 16)),
                       register_form("mad", "part=lo|hi cc type=u32|s32|u64|s64",
                                     bind_carry_mad<false>, kCarrySection))),
    with_carry(Carry::reads,
               costing(CostOf(Cost::two(Pipe::multiply), Cost::chain(Pipe::multiply, 8, 16)),
                       register_form("madc", "part=lo|hi [cc] type=u32|s32|u64|s64",
                                     bind_carry_mad<true>, kCarrySection))),
};

}  // namespace

Rows carry_rows() { return kCarryRows; }

}  // namespace bw::sim::integer
