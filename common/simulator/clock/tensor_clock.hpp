#pragma once
/// \file
/// The SMs' clock while the tensor cores work: their current lowers the voltage, the clock follows
/// within a microsecond, and it recovers one or two microseconds after the last MMA. The number of
/// cycles does not change; each takes longer.

#include <cstdint>
#include <vector>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

class Demand;
struct DemandProfile;
struct TimingTable;

/// What pulls the clock down in an interval, as parts.
struct TensorLoad {
  double sms = 0;   ///< of all SMs: those that use their tensor cores in this launch
  double busy = 0;  ///< average fraction of the time in which the tensor cores of those are busy
  double copies =
      0;  ///< average fraction of the time in which the copy engines of those bring data
};

/// What the clock loses, from one interval of time to the next: a state that intervals are told.
class TensorClock {
 public:
  explicit TensorClock(const TimingTable& times) : times_(times) {}
  /// Adds what SMs did in an interval of `cycles`, not 0. Returns how much longer it takes, in
  /// cycles
  /// of the highest clock.
  [[nodiscard]] double more_cycles(double cycles, const TensorLoad& load);

 private:
  const TimingTable& times_;
  static constexpr double kLongRest = 1e9;
  double rest_ = kLongRest;  ///< cycles since the last interval with MMAs
  double busy_ = 0;          ///< of all tensor cores: the mean of the last intervals
  double recovered_ = 0;     ///< 0 to 1: how far the clock has come up again under the load
  double dip_ = 0;           ///< cycles that a first MMA costs and that were not counted yet
};

/// How much the CTAs of a launch have used the tensor cores, by time.
class TensorUse {
 public:
  /// What a launch or a cluster does in an interval: cycles of all SMs' units.
  struct Interval {
    double tensor = 0;  ///< of tensor cores
    double copies = 0;  ///< of copy engines
  };
  /// Adds what one or more CTAs did from `from` to `to`.
  void add(double from, double to, const Interval& done);
  /// A cluster that has begun then.
  void add(const DemandProfile& cluster, double begin);
  /// So many CTAs that have not been counted have used theirs: their SMs.
  void count_ctas(const DemandProfile& cluster);
  /// How many of those there are.
  [[nodiscard]] uint32_t ctas() const { return ctas_; }
  /// What the launch's cycles take, in cycles of the machine's highest clock.
  [[nodiscard]] Cycle stretched(Cycle cycles, uint32_t sms, const TimingTable& times) const;

 private:
  std::vector<Interval> intervals_;  ///< of Demand::kInterval cycles
  uint32_t ctas_ = 0;                ///< that have used their tensor cores
};

/// How much longer the cycles of a cluster since it has begun take, in cycles of the machine's
/// highest clock, if all clusters of its launch do as it does: a part `sms` of the SMs has a CTA.
[[nodiscard]] double tensor_clock_delay(const Demand& cluster, Cycle cycles, double sms,
                                        const TimingTable& times);

}  // namespace bw::sim
