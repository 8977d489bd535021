#pragma once
/// \file
/// Where in a function each register needs storage.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::ptx {

/// Instructions [first, last) during which a register holds a value that may still be read. The
/// instruction that writes it and the ones that read it belong to it.
struct LiveSegment {
  uint32_t first = 0;  ///< the first instruction
  uint32_t last = 0;   ///< the last instruction
};

/// Per register: its segments in ascending order, none touching the next; empty if it is never
/// written. A value that is never read has its writer as its segment; the destinations of
/// tcgen05.ld last until the next tcgen05.wait::ld.
[[nodiscard]] std::vector<std::vector<LiveSegment>> live_segments(const Function& function);

}  // namespace bw::sim::ptx
