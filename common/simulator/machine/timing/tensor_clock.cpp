#include "common/simulator/machine/timing/tensor_clock.hpp"

#include <algorithm>

#include "common/simulator/machine/timing/demand.hpp"
#include "common/simulator/machine/timing/timing_table.hpp"

namespace bw::sim {

void TensorUse::add(const Demand& demand) {
  for (uint32_t cta = 0; cta < demand.ctas(); ++cta) {
    const Demand::Use use = demand.use_of(Resource::tensor_cycles, cta);
    if (use.amount == 0) continue;
    tensor_cycles_ += use.amount;
    first_ = std::min(first_, use.first);
  }
}

Cycle TensorUse::stretched(Cycle cycles, uint32_t sms, const TimingTable& times) const {
  if (first_ >= cycles) return cycles;
  // From then on the clock is low: other CTAs use them where one does not.
  const auto slow = static_cast<double>(cycles - first_);
  const double busy = static_cast<double>(tensor_cycles_) / (static_cast<double>(sms) * slow);
  const double clock = times.tensor_clock_part - times.tensor_clock_drop * std::min(busy, 1.0);
  return cycles + static_cast<Cycle>(slow * (1 / clock - 1));
}

}  // namespace bw::sim
