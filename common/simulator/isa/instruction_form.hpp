#pragma once
/// \file
/// One record per instruction form with all properties that the simulator uses. A part of the
/// program that needs a property of an instruction reads it there; only this folder and the
/// handlers' families read an opcode's text.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/simulator/isa/cost.hpp"
#include "common/simulator/isa/modifiers.hpp"
#include "common/simulator/isa/vocabulary.hpp"

namespace bw::sim {

class Binder;

/// A property of a form: the same for all its modifiers, or a function of the matched ones. It has
/// no default, so that each record states it.
template <class Property>
class ByModifiers {
 public:
  /// The same for all modifiers.
  constexpr ByModifiers(Property fixed) : fixed_(fixed) {}
  /// A function of the modifiers.
  constexpr ByModifiers(Property (*of)(const Modifiers&)) : of_(of) {}
  /// The property of a form with these modifiers.
  [[nodiscard]] Property operator()(const Modifiers& modifiers) const {
    return of_ != nullptr ? of_(modifiers) : fixed_;
  }

 private:
  Property fixed_{};
  Property (*of_)(const Modifiers&) = nullptr;
};

/// Decodes the operands of a form.
using BindFunction = void (*)(Binder&);

/// An instruction form. The values of the fields' types are in vocabulary.hpp.
struct InstructionForm {
  std::string_view base;  ///< leading fixed part: "ld", "cp.async.bulk.tensor", "mbarrier.init"
  std::string_view modifiers;  ///< the grammar of modifiers.hpp
  BindFunction bind;           ///< nullptr: recognised, refused by name at launch
  ByModifiers<Effect> effect;  ///< who observes the form's effects
  uint16_t cycles;             ///< issue cost without a timing model, from clock/costs.hpp
  bool awaits_loads = false;   ///< without a timing model: Instruction::awaits both
  CostOf cost = {};            ///< with a timing model; by the effect unless stated
  std::string_view section;    ///< PTX ISA section; what faults of the form cite
  /// How many leading operands are destinations: 0 for stores, branches, barriers and the like. An
  /// address is never one: its base is read.
  uint8_t destinations = 1;
  bool reads_destinations = false;     ///< an accumulator
  bool writes_later = false;           ///< its unit writes the destinations until a wait returns
  bool takes_wider_registers = false;  ///< PTX ISA, "Operand Size Exceeding Instruction-Type Size"
  Transfer transfer = Transfer::none;  ///< where control goes
  Unit unit = Unit::core;              ///< the unit that executes it, waits or is waited for
  Ordering ordering = Ordering::none;  ///< how it orders threads and units
  Lifetime lifetime = Lifetime::none;  ///< its effect on an object of its unit
  Memory memory = Memory::none;        ///< its access to memory
  Spaces spaces = Spaces::as_written;  ///< in which state spaces
  Carry carry = Carry::none;           ///< its use of the carry flag
  Crossing crossing = Crossing::free;  ///< what ptxas moves across it
  Operation operation = Operation::other;           ///< what it computes
  ByModifiers<Machines> machines = kOnAllMachines;  ///< which machines have it
  std::string_view unit_name = {};  ///< the name of its unit's operation in reports; else `base`

  /// The name of its unit's operation in reports.
  [[nodiscard]] const char* operation_name() const {
    return unit_name.empty() ? base.data() : unit_name.data();
  }
};

/// The forms of one subject, in the order in which they are tried.
struct FormFamily {
  std::string_view subject;                ///< the name of their page in the site's tables
  std::span<const InstructionForm> forms;  ///< the forms

  /// The first form.
  [[nodiscard]] auto begin() const { return forms.begin(); }
  /// After the last one.
  [[nodiscard]] auto end() const { return forms.end(); }
};

/// All families, in order; defined above this layer (units/families.cpp).
[[nodiscard]] std::span<const FormFamily> instruction_forms();

/// A form and the modifiers that an opcode gives it.
struct FormMatch {
  const InstructionForm* form = nullptr;  ///< the form
  Modifiers modifiers = {};               ///< as they matched
  /// Whether the modifiers fit. If they do not, `form` is the first one of the opcode's base, so
  /// that control flow can be followed; a launch refuses the instruction.
  bool is_exact = true;

  /// Whether it reads or writes the carry flag.
  [[nodiscard]] bool uses_carry() const;
  /// Whether it writes the carry flag.
  [[nodiscard]] bool writes_carry() const;
  /// The state spaces that it accesses, as a set of bits (kSharedSpace, ...).
  [[nodiscard]] uint8_t accessed_spaces() const;
  /// Whether a load reads memory that the kernel does not write (.nc).
  [[nodiscard]] bool reads_constants() const;
  /// Whether it is a load from its CTA's own shared memory without further modifiers: no order,
  /// scope, vector or cache operator.
  [[nodiscard]] bool is_plain_shared_load() const;
  /// Whether it is a copy whose bytes an mbarrier counts.
  [[nodiscard]] bool copies_with_mbarrier() const;
  /// Bytes that a lane accesses.
  [[nodiscard]] uint32_t access_bytes() const;
  /// Whether a comparison asks for equality.
  [[nodiscard]] bool compares_equal() const;
  /// Whether a comparison asks for inequality.
  [[nodiscard]] bool compares_unequal() const;
  /// Whether it copies one operand of 32 bits to another and computes nothing.
  [[nodiscard]] bool copies_word() const;
  /// Whether the form's type is one integer, or untyped bits, of this width.
  [[nodiscard]] bool is_integer_of(size_t bytes) const;
};

/// The form that an opcode fits, with its modifiers; nullopt if none does.
[[nodiscard]] std::optional<FormMatch> find_form(std::string_view opcode);

/// Likewise, found once for each opcode of the process. An opcode that fits no form gets the first
/// one of its base, or no_match(), and is not exact.
[[nodiscard]] const FormMatch& match_of(std::string_view opcode);

/// The match of an opcode that is not in the table.
[[nodiscard]] const FormMatch& no_match();

// Opcodes of the instructions that the layers below the machine write themselves.
inline constexpr std::string_view kBranchOpcode = "bra";                ///< a direct branch
inline constexpr std::string_view kEqual32Opcode = "setp.eq.u32";       ///< compares 32 bits
inline constexpr std::string_view kEqual64Opcode = "setp.eq.b64";       ///< compares 64 bits
inline constexpr std::string_view kLoweredCallOpcode = "call.lowered";  ///< a call of one candidate
/// Reached where a register holds the address of no function that the call could take.
inline constexpr std::string_view kBadCallTargetOpcode = "bad_call_target";
/// Reached where an index is outside its table of labels.
inline constexpr std::string_view kBadBranchIndexOpcode = "bad_branch_index";

}  // namespace bw::sim
