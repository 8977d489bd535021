#pragma once
/// \file
/// The table of opcode forms: one row per form, grouped by family.
///
/// A row's modifiers are written as a small grammar, groups separated by spaces:
///   x            the modifier .x is required
///   [x]          .x is optional
///   n=a|b|c      exactly one of .a .b .c is required; the match is called n
///   [n=a|b|c]    at most one of them
///   n*2=a|b|c    exactly two, in order (cvt's destination and source types)
///   *            alone: any modifiers (for forms that are refused by name)
///   {text}       the modifier may hold '::' and so on; '|' separates alternatives
/// Modifiers may come in any order (nvcc and inline PTX differ in it); every modifier must be
/// consumed, a group takes the first modifier not yet taken that it allows. The first row that fits
/// wins.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/simulator/machine/instruction.hpp"
#include "common/simulator/machine/timing/cost.hpp"
#include "common/simulator/ptx/ast.hpp"

namespace bw::sim {

class KernelBuilder;

/// The modifiers of one instruction, matched against a row.
class Modifiers {
 public:
  /// Whether the (optional) group or literal was present.
  [[nodiscard]] bool has(std::string_view name) const;
  /// The modifier that group `name` took (its nth), "" when absent.
  [[nodiscard]] std::string_view get(std::string_view name, size_t nth = 0) const;
  /// The memory order and scope among them.
  [[nodiscard]] MemoryOrder order() const;
  /// The memory order and scope among them.
  [[nodiscard]] MemoryScope scope() const;
  /// The nth match of group "type" as a type.
  [[nodiscard]] ptx::ScalarType type(size_t nth = 0) const;

  std::vector<std::pair<std::string_view, std::string_view>> matches;  ///< group name, modifier
};

/// Hands an instruction's operands to a row's bind function, which fills `out`.
class Binder {
 public:
  /// For one instruction and its row.
  Binder(KernelBuilder& builder, const ptx::Instruction& from, const Modifiers& matched,
         Instruction& into, std::string_view section)
      : source(from), modifiers(matched), out(into), builder_(builder), section_(section) {}

  const ptx::Instruction& source;  ///< the instruction as it was parsed
  const Modifiers& modifiers;      ///< as they matched
  Instruction& out;                ///< what the bind function fills

  /// Number of PTX operands.
  [[nodiscard]] size_t count() const { return source.operands.size(); }
  /// An operand as it was parsed.
  [[nodiscard]] const ptx::Operand& ptx_operand(size_t index) const;
  /// Throws unless the number of PTX operands is in [least, most].
  void expect_count(size_t least, size_t most) const;

  // Each adds one decoded operand to out.operands, in call order.
  /// A destination register; `_` becomes scratch storage of `sink_bytes` per lane (0: predicate).
  void destination(const ptx::Operand& operand, size_t sink_bytes);
  /// A source register or an immediate of the type (converted to its width and representation).
  void source_value(const ptx::Operand& operand, ptx::ScalarType type);
  /// A predicate source, possibly negated; immediates 0 and 1 too.
  void source_predicate(const ptx::Operand& operand);
  /// An address operand: adds its base (register or constant; 4 or 8 bytes wide) and adds its
  /// displacement to out.immediate. Accepts `[reg+imm]`, `[symbol+imm]`, `[imm]` and a bare
  /// register.
  void address(const ptx::Operand& operand);
  /// All elements of a vector operand (or the single operand) as destinations / sources.
  size_t destination_vector(const ptx::Operand& operand, size_t sink_bytes);
  /// Adds the elements as sources; returns how many.
  size_t source_vector(const ptx::Operand& operand, ptx::ScalarType type);
  /// An integer that must be an immediate.
  [[nodiscard]] int64_t immediate(const ptx::Operand& operand) const;

  /// Stores family-specific decoded data with the kernel and points out.detail to it.
  template <class T>
  T& detail(T value) {
    auto stored = std::make_shared<T>(std::move(value));
    T& reference = *stored;
    out.detail = stored.get();
    keep(std::move(stored));
    return reference;
  }

  /// Throws SimulationError{unsupported} that names the instruction, its place and the PTX ISA
  /// section of its row.
  [[noreturn]] void refuse(std::string what, std::string fix) const;

  /// The kernel's builder.
  [[nodiscard]] KernelBuilder& builder() { return builder_; }

 private:
  void keep(std::shared_ptr<void> value);
  KernelBuilder& builder_;
  std::string_view section_;  ///< of the form's row
};

/// A form's effect: the same for all its modifiers, or a function of those that were matched. It
/// has no default, so that no row can leave it out.
class EffectOf {
 public:
  /// The same for all modifiers, or by a function.
  constexpr EffectOf(Effect effect) : fixed_(effect) {}
  /// The same for all modifiers, or by a function.
  constexpr EffectOf(Effect (*of)(const Modifiers&)) : of_(of) {}
  /// The effect of a form with these modifiers.
  [[nodiscard]] Effect operator()(const Modifiers& modifiers) const {
    return of_ != nullptr ? of_(modifiers) : fixed_;
  }

 private:
  Effect fixed_ = Effect::lane;
  Effect (*of_)(const Modifiers&) = nullptr;
};

/// Decodes the operands of a form.
using BindFunction = void (*)(Binder&);

/// All that the simulator knows of an instruction form; nothing else looks at an opcode's text.
struct OpcodeRow {
  std::string_view base;  ///< leading fixed part: "ld", "cp.async.bulk.tensor", "mbarrier.init"
  std::string_view modifiers;  ///< grammar above
  BindFunction bind;           ///< nullptr: recognised, refused by name at launch
  EffectOf effect;             ///< who else sees what the form does
  uint16_t cycles;             ///< issue cost without a timing model, from machine/costs.hpp
  bool awaits_loads = false;   ///< without a timing model: Instruction::awaits both
  CostOf cost = {};            ///< with a timing model; by the effect where nothing else is said
  std::string_view section;    ///< PTX ISA section; what faults of the form cite
};

/// Throws std::logic_error, naming the row, unless a handler of this type may stand for a form of
/// the effect: a form of effect `lane` has a LaneHandler; one that others see has a StrandHandler;
/// of effect `warp` may be either, as the operands say (`mov` of a register or of `%clock`).
void check_handler(const OpcodeRow& row, Effect effect, const Handler& handler);

/// The grammar of forms that are refused by name, whatever their modifiers.
inline constexpr std::string_view kAnyModifiers = "*";

/// One group of a grammar.
struct ModifierGroup {
  std::string_view name;                       ///< the group's name
  std::vector<std::string_view> alternatives;  ///< what it takes
  bool required = true;                        ///< whether one has to be there
  size_t most = 1;  ///< how many of the alternatives it takes; a required group takes them all
};

/// The groups of a row's modifiers, in order.
[[nodiscard]] std::vector<ModifierGroup> parse_grammar(std::string_view grammar);

/// All families' rows, in order; defined above this layer (units/families.cpp).
[[nodiscard]] std::span<const std::span<const OpcodeRow>> opcode_families();

/// A row and what it matched.
struct RowMatch {
  const OpcodeRow* row = nullptr;  ///< the row
  Modifiers modifiers;             ///< as they matched
};

/// The row for an opcode, or nullopt. The views in the match point into `opcode` and the table.
[[nodiscard]] std::optional<RowMatch> find_row(std::string_view opcode);

}  // namespace bw::sim
