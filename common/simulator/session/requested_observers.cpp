#include "common/simulator/session/requested_observers.hpp"

#include <memory>
#include <utility>

#include "common/simulator/diagnosis/exploration/watch.hpp"
#include "common/simulator/diagnosis/races/watch.hpp"
#include "common/simulator/trace/event_log.hpp"
#include "common/simulator/trace/recording_file.hpp"
#include "common/simulator/trace/statistics_file.hpp"

bool bw_add_requested_observers(bw::sim::Device& device) {
  using namespace bw::sim;
  races::watch_races(device);
  auto log = trace::EventLog::from_environment();
  auto file = trace::RecordingFile::from_environment();
  auto statistics = trace::StatisticsFile::from_environment();
  const bool records_launches = log != nullptr || file != nullptr || statistics != nullptr;
  if (log) device.observe(std::move(log));
  if (file) device.observe(std::move(file));
  if (statistics) device.observe(std::move(statistics));
  if (auto exploration = exploration::ExplorationWatch::from_environment())
    device.observe(std::move(exploration));
  return records_launches;
}
