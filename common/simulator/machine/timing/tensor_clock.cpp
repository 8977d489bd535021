#include "common/simulator/machine/timing/tensor_clock.hpp"

#include <algorithm>

#include "common/simulator/machine/timing/demand.hpp"
#include "common/simulator/machine/timing/timing_table.hpp"

namespace bw::sim {

void TensorUse::add(const Demand& demand, Cycle duration) {
  for (uint32_t cta = 0; cta < demand.ctas(); ++cta) {
    const Demand::Use use = demand.use_of(Resource::tensor_cycles, cta);
    if (use.amount == 0) continue;
    tensor_cycles_ += use.amount;
    busy_cycles_ += std::min(duration, use.intervals * Demand::kInterval);
    cta_cycles_ += duration;
  }
}

Cycle TensorUse::stretched(Cycle cycles, uint32_t sms, const TimingTable& times) const {
  if (tensor_cycles_ == 0 || cycles == 0) return cycles;
  // While CTAs use them, so much of the chip's tensor cores is busy.
  const double working = static_cast<double>(busy_cycles_) / static_cast<double>(cta_cycles_);
  const double busy = static_cast<double>(tensor_cycles_) /
                      (static_cast<double>(sms) * static_cast<double>(cycles) * working);
  const double clock = times.tensor_clock_part - times.tensor_clock_drop * std::min(busy, 1.0);
  return cycles + static_cast<Cycle>(static_cast<double>(cycles) * working * (1 / clock - 1));
}

}  // namespace bw::sim
