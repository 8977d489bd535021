#pragma once
/// \file
/// From PTX operands to decoded operands.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/machine/instruction.hpp"
#include "common/simulator/ptx/ast.hpp"

namespace bw::sim {

class KernelBuilder;

/// Hands an instruction's operands to a row's bind function, which fills `out`.
class Binder {
 public:
  Binder(KernelBuilder& builder, const ptx::Instruction& from, Instruction& into)
      : source(from), modifiers(from.match->modifiers), out(into), builder_(builder) {}

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

  /// Throws SimulationError{unsupported} that names the instruction, its source line and the PTX
  /// ISA section of its row.
  [[noreturn]] void refuse(std::string what, std::string fix) const;

  [[nodiscard]] KernelBuilder& builder() { return builder_; }

 private:
  void keep(std::shared_ptr<void> value);
  KernelBuilder& builder_;
};

/// Throws std::logic_error, naming the form, unless its effect allows a handler of this type:
/// `lane` takes a LaneHandler, an effect that others see a StrandHandler, and `warp` either,
/// depending on the operands (`mov` of a register or of `%clock`).
void check_handler(const InstructionForm& form, Effect effect, const Handler& handler);

}  // namespace bw::sim
