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

/// The row, with a cost of its own in the timing model.
[[nodiscard]] constexpr OpcodeRow costing(CostOf cost, OpcodeRow row) {
  row.cost = cost;
  return row;
}

/// By the width of the form's type: up to 32 bits, and 64.
template <Cost narrow, Cost wide>
[[nodiscard]] Cost cost_by_width(const Modifiers& modifiers, const ptx::Instruction&) {
  return ptx::size_bytes(modifiers.type()) == sizeof(uint64_t) ? wide : narrow;
}

/// One instruction of a pipe.
template <Pipe pipe>
inline constexpr Cost kOne = {.pipe = pipe};
/// Two that don't wait for each other: the halves of 64 bits.
template <Pipe pipe>
inline constexpr Cost kTwo = {.pipe = pipe, .instructions = 2, .on_pipe = 2};
/// A sequence of which each waits for the one before.
template <Pipe pipe, uint8_t instructions, uint16_t latency>
inline constexpr Cost kChain = {
    .pipe = pipe, .instructions = instructions, .on_pipe = instructions, .extra_cycles = latency};
/// One of the special-function unit with arithmetic around it.
template <uint8_t instructions, uint16_t latency>
inline constexpr Cost kAround = {
    .pipe = Pipe::special, .instructions = instructions, .on_pipe = 1, .extra_cycles = latency};

}  // namespace bw::sim
