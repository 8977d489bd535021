#pragma once
/// \file
/// When MMAs of a warpgroup complete. Source: NVIDIA's H100 data sheet, whose dense peak is 4096
/// products of 8-bit operands an SM and cycle: 64 x N x 32 take N / 2 cycles, as do 32 bytes of K
/// of every other format. The latency is an estimate.

#include <algorithm>
#include <cstdint>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/units/memory/sm_memory.hpp"
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

// With a timing model (clock): the table's numbers, and what is read of shared memory.

/// Cycles that the tensor cores need.
[[nodiscard]] inline Cycle tensor_cycles(const WgmmaForm& form, const TimingTable& times) {
  return std::max<Cycle>(times.wgmma_least_interval, form.n / 2);
}

/// Passes of shared memory for the operands.
[[nodiscard]] inline Cycle shared_passes(const WgmmaForm& form) {
  const uint32_t a_bytes = form.a_in_registers ? 0 : kWgmmaRows * kMmaKBytes;
  return (a_bytes + form.n * form.b_row_bytes()) / kSharedPassBytes;
}

/// Issue slots of each scheduler that arithmetic lacks because the MMA reads and writes its sums in
/// the register file.
[[nodiscard]] inline uint32_t register_slots(const WgmmaForm& form, const TimingTable& times) {
  return static_cast<uint32_t>(times.wgmma_register_slots * form.d_registers);
}

/// Cycles from the end of the product to the end of a wait.
[[nodiscard]] inline Cycle delivery(const WgmmaForm& form, const TimingTable& times) {
  return form.a_in_registers ? times.wgmma_registers_latency : times.wgmma_latency;
}

}  // namespace bw::sim::wgmma_timing
