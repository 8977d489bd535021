#include "common/simulator/session/equip.hpp"

#include <memory>
#include <utility>

#include "common/simulator/diagnosis/explain.hpp"
#include "common/simulator/diagnosis/exploration/watch.hpp"
#include "common/simulator/diagnosis/unwritten_memory.hpp"
#include "common/simulator/trace/event_log.hpp"
#include "common/simulator/trace/recording_file.hpp"
#include "common/simulator/trace/statistics_file.hpp"

namespace bw::sim::session {

Equipment equip(Device& device) {
  Equipment equipment;
  watch(device);
  if (device.settings().checks_unwritten) {
    auto observer = std::make_unique<UnwrittenMemory>();
    equipment.written = &observer->bytes();
    device.observe(std::move(observer));
  }
  auto log = trace::EventLog::from_environment();
  auto file = trace::RecordingFile::from_environment();
  auto statistics = trace::StatisticsFile::from_environment();
  equipment.records_launches = log != nullptr || file != nullptr || statistics != nullptr;
  if (log) device.observe(std::move(log));
  if (file) device.observe(std::move(file));
  if (statistics) device.observe(std::move(statistics));
  if (auto exploration = exploration::ExplorationWatch::from_environment())
    device.observe(std::move(exploration));
  return equipment;
}

}  // namespace bw::sim::session
