#pragma once
/// \file
/// When warps that meet at a named barrier resume.

#include <algorithm>
#include <cstdint>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/clock/sm_times.hpp"
#include "common/simulator/clock/timing_table.hpp"

namespace bw::sim {

/// The named barriers of a CTA. With a timing model arrivals are serialised.
class NamedBarrierTimes {
 public:
  /// `times` null: fixed times.
  explicit NamedBarrierTimes(const TimingTable* times) : times_(times) {}

  /// A warp arrives.
  void arrive(Cycle now) {
    if (times_ != nullptr) arrivals_.take(now, times_->named_barrier_warp_cycles);
  }
  /// When waiting warps resume if this many have arrived, the last of them `now`.
  [[nodiscard]] Cycle release(Cycle now, uint32_t warps) const {
    if (times_ == nullptr) return now + costs::kBarrierPerWarp * warps;
    const auto arrived = static_cast<int64_t>(arrivals_.free_at());
    return static_cast<Cycle>(
        std::max(static_cast<int64_t>(now), arrived + times_->named_barrier_cycles));
  }
  /// The same for the warp that has arrived last.
  [[nodiscard]] Cycle release_of_last(Cycle now, uint32_t warps) const {
    return times_ == nullptr ? now : release(now, warps);
  }

 private:
  const TimingTable* times_;
  Server arrivals_;
};

}  // namespace bw::sim
