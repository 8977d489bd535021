#pragma once
/// \file
/// Register pressure at each instruction of a thread, and the limit that ptxas would set.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/liveness.hpp"
#include "common/simulator/schedule/issue_nodes.hpp"

namespace bw::sim {

/// If values that are live across blocks leave fewer than these, ptxas takes as many more than text
/// order needs.
inline constexpr uint32_t kSpareRegisters = 8;
/// The stack's, which ptxas always reserves.
inline constexpr uint32_t kStackRegisters = 1;

/// Of a function, in text order.
struct RegisterPressure {
  explicit RegisterPressure(const IssueNodes& in);
  /// Whether a register holds a value that is needed where instruction `index` begins.
  [[nodiscard]] bool is_live_at(uint32_t reg, uint32_t index) const;

  std::vector<std::vector<ptx::LiveSegment>> segments;  ///< by register
  std::vector<uint8_t> weight;                          ///< by register: how many of 32 bits
  std::vector<uint32_t> before;                         ///< by instruction: 32-bit registers in use
  uint32_t limit = 0;                                   ///< that ptxas would not exceed
};

}  // namespace bw::sim
