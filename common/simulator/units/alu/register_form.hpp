#pragma once
/// \file
/// Rows of forms that compute in registers.

#include <cstdint>
#include <string_view>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/binder.hpp"

namespace bw::sim {

/// A row whose form reads and writes its own lanes' registers only; of effect `warp` where some
/// values come from elsewhere.
[[nodiscard]] constexpr InstructionForm register_form(std::string_view base,
                                                      std::string_view modifiers, BindFunction bind,
                                                      std::string_view section,
                                                      uint16_t cycles = costs::kAlu,
                                                      Effect effect = Effect::lane) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = effect,
          .cycles = cycles,
          .section = section};
}

/// The form, with a cost of its own in the timing model.
[[nodiscard]] constexpr InstructionForm costing(CostOf cost, InstructionForm form) {
  form.cost = cost;
  return form;
}

/// The form, with an operation that ptxas fuses with its neighbours or whose value it follows.
[[nodiscard]] constexpr InstructionForm computing(Operation operation, InstructionForm form) {
  form.operation = operation;
  return form;
}

/// The form, which takes registers that are wider than its types.
[[nodiscard]] constexpr InstructionForm from_wider(InstructionForm form) {
  form.takes_wider_registers = true;
  return form;
}

/// The form, with what it does with the carry flag.
[[nodiscard]] constexpr InstructionForm with_carry(Carry carry, InstructionForm form) {
  form.carry = carry;
  return form;
}

}  // namespace bw::sim
