#pragma once
/// \file
/// The SMs' clock while the tensor cores work: their current pulls the voltage down, and the clock
/// follows it within a microsecond, and does not come up again in pauses of 8192 cycles. Cycles
/// stay what they are; they take longer.

#include <cstdint>

#include "common/simulator/machine/types.hpp"

namespace bw::sim {

class Demand;
struct TimingTable;

/// How much the CTAs of a launch have used the tensor cores. Whole numbers: the order in which
/// clusters are counted does not matter.
class TensorUse {
 public:
  /// A cluster has ended.
  void add(const Demand& demand);
  /// What the launch's cycles take, in cycles of the machine's highest clock.
  [[nodiscard]] Cycle stretched(Cycle cycles, uint32_t sms, const TimingTable& times) const;

 private:
  uint64_t tensor_cycles_ = 0;  ///< of all CTAs
  Cycle first_ = kNever;        ///< when one of them uses its tensor core first, from its start
};

}  // namespace bw::sim
