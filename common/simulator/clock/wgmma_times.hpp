#pragma once
/// \file
/// When MMAs of a warpgroup complete. Source: NVIDIA's H100 data sheet, whose dense peak is 4096
/// products of 8-bit operands an SM and cycle: 64 x N x 32 take N / 2 cycles, as do 32 bytes of K
/// of every other format. The latency is an estimate.

#include <cstdint>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

class CtaClock;

/// What of an MMA costs time.
struct WgmmaCost {
  uint32_t n = 0;              ///< columns of D
  uint32_t operand_bytes = 0;  ///< of A and B, read from shared memory
  uint32_t d_registers = 0;    ///< 32-bit registers of D in a thread
};

/// The tensor cores of a CTA's warpgroups.
class WgmmaTimes {
 public:
  explicit WgmmaTimes(CtaClock& sm) : sm_(sm) {}

  /// The part of an MMA's time that a seed disturbs.
  [[nodiscard]] Cycle latency(const WgmmaCost& mma) const;
  /// When an MMA that all warps have issued completes; takes the tensor cores for it.
  /// `disturbance`: what a seed adds to its latency.
  [[nodiscard]] Cycle completion(const WgmmaCost& mma, Cycle issued, Cycle disturbance);

 private:
  CtaClock& sm_;
  Cycle free_ = 0;             ///< when the tensor cores have done all that was begun
  Cycle last_completion_ = 0;  ///< with a timing model: of all that was begun
};

}  // namespace bw::sim
