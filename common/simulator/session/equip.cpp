#include "common/simulator/session/equip.hpp"

#include <cstdlib>
#include <memory>
#include <utility>

#include "common/simulator/diagnosis/explain.hpp"
#include "common/simulator/diagnosis/unwritten_memory.hpp"
#include "common/simulator/session/requested_observers.hpp"

namespace bw::sim::session {

const char* request_for_observers(const Settings& settings) {
  if (settings.checks == Checks::races) return "BW_SIM_CHECKS=races";
  for (const char* const name :
       {"BW_SIM_EVENTS", "BW_SIM_RECORDING", "BW_SIM_STATISTICS", "BW_SIM_EXPLORE"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return name;
  }
  return nullptr;
}

Equipment equip(Device& device) {
  Equipment equipment;
  watch(device);
  // Before the check of unwritten memory: where a read races with the write, the race is reported.
  if (const char* const request = request_for_observers(device.settings()))
    equipment.records_launches = find_requested_observers(request)(device);
  if (device.settings().checks_unwritten) {
    auto observer = std::make_unique<UnwrittenMemory>();
    equipment.written = &observer->bytes();
    device.observe(std::move(observer));
  }
  return equipment;
}

}  // namespace bw::sim::session
