#pragma once
/// \file
/// The race detector of a device's launches.

#include <map>
#include <memory>
#include <string_view>

#include "common/simulator/diagnosis/races/finding.hpp"
#include "common/simulator/diagnosis/races/global_memory.hpp"
#include "common/simulator/diagnosis/races/shadow.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim::races {

/// Watches the launches of a device whose settings say Checks::races. A launch that has finished
/// or faulted and in which accesses have raced ends with the report of these as a SimulationError.
class RaceWatch final : public LaunchObserver {
 public:
  /// Of the device that owns it.
  explicit RaceWatch(DeviceMemory& memory) : device_(memory) {}

  void on_launch(Grid& grid) override;
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override;
  void on_launch_end(const LaunchResult& result) override;

  /// Global memory between the operations of the device's streams.
  [[nodiscard]] DeviceRaces& device() { return device_; }
  /// The races of the launch that runs or has run last.
  [[nodiscard]] const Findings& findings() const { return findings_; }

  /// Of the cluster that has used most shared memory, in any launch.
  [[nodiscard]] const ShadowUse& shared_memory() const { return shared_memory_; }

 private:
  Findings findings_;
  Device* launched_on_ = nullptr;  ///< the device of the launch that runs or has run last
  DeviceRaces device_;
  /// Those that run: several where one waits.
  std::map<const Grid*, std::shared_ptr<LaunchRaces>> launches_;
  ShadowUse shared_memory_;
};

/// The race watch of a device; nullptr where its settings ask for none.
[[nodiscard]] RaceWatch* watch_of(const Device& device);

/// What of these races ends their launch at the device's level. The others are told as warnings, or
/// are none there; what BW_SIM_IGNORE names is counted alone.
[[nodiscard]] Findings without_tolerated(const Findings& all, Device& device);

/// Adds to the report of a launch that got stuck or faulted which races it had.
void add_races(const Findings& findings, Report& report,
               std::string_view relation = "a race before that");

}  // namespace bw::sim::races
