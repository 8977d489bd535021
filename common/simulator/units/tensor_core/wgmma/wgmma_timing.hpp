#pragma once
/// \file
/// When MMAs of a warpgroup complete. Source: NVIDIA's H100 data sheet, whose dense peak is 4096
/// products of 8-bit operands an SM and cycle: 64 x N x 32 take N / 2 cycles, as do 32 bytes of K
/// of every other format. The latency is an estimate.

#include <algorithm>
#include <cstdint>

#include "common/simulator/machine/types.hpp"
#include "common/simulator/units/tensor_core/wgmma/wgmma_form.hpp"

namespace bw::sim::wgmma_timing {

inline constexpr Cycle kFewestCycles = 16;  ///< of the smallest MMA, an estimate
inline constexpr Cycle kLatency = 32;  ///< from issue to the first result, beyond the product's own

/// Cycles between two MMAs of a full queue.
[[nodiscard]] inline Cycle interval(const WgmmaForm& form) {
  return std::max<Cycle>(kFewestCycles, form.n / 2);
}

/// Cycles from issue to completion in idle tensor cores.
[[nodiscard]] inline Cycle latency(const WgmmaForm& form) { return kLatency + interval(form); }

}  // namespace bw::sim::wgmma_timing
