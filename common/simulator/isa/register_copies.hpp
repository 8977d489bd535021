#pragma once
/// \file
/// Opcodes that only copy a register.

#include <algorithm>
#include <array>
#include <string_view>

namespace bw::sim {

/// Whether an opcode copies 32 bits from one operand to another.
[[nodiscard]] constexpr bool copies_32_bits(std::string_view opcode) {
  constexpr std::array<std::string_view, 4> kCopies = {"mov.b32", "mov.u32", "mov.s32", "mov.f32"};
  return std::find(kCopies.begin(), kCopies.end(), opcode) != kCopies.end();
}

}  // namespace bw::sim
