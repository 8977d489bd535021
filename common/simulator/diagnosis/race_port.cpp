#include "common/simulator/diagnosis/race_port.hpp"

namespace bw::sim::races {

RacePort* port_of(const Device& device) {
  if (device.settings().checks != Checks::races) return nullptr;
  for (const auto& observer : device.observers())
    if (auto* const port = dynamic_cast<RacePort*>(observer.get())) return port;
  return nullptr;
}

}  // namespace bw::sim::races
