#pragma once
/// \file
/// Rows of forms that compute in registers.

#include <cstdint>
#include <string_view>

#include "common/simulator/machine/costs.hpp"
#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim {

/// A row whose form reads and writes its own lanes' registers only; of effect `warp` where some
/// values come from elsewhere.
[[nodiscard]] constexpr OpcodeRow register_form(std::string_view base, std::string_view modifiers,
                                                BindFunction bind, std::string_view section,
                                                uint16_t cycles = costs::kAlu,
                                                Effect effect = Effect::lane) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = effect,
          .cycles = cycles,
          .section = section};
}

}  // namespace bw::sim
