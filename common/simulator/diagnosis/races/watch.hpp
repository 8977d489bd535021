#pragma once
/// \file
/// The race detector of a device's launches.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/simulator/diagnosis/race_port.hpp"
#include "common/simulator/diagnosis/races/finding.hpp"
#include "common/simulator/diagnosis/races/global_memory.hpp"
#include "common/simulator/diagnosis/races/shadow.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim::races {

/// Watches the launches of a device whose settings say Checks::races. A launch that has finished
/// or faulted and in which accesses have raced ends with the report of these as a SimulationError.
class RaceWatch final : public RacePort {
 public:
  /// Of the device that owns it.
  explicit RaceWatch(Device& device) : device_(device), operations_(device.memory()) {}

  void on_launch(Grid& grid) override;
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override;
  void on_launch_end(const LaunchResult& result) override;

  [[nodiscard]] StreamPort& order() override { return operations_.order(); }
  void set_next(std::shared_ptr<StreamOperation> operation) override;
  void host_operation(std::shared_ptr<StreamOperation> operation, const char* api,
                      std::vector<MemoryRange> reads, std::vector<MemoryRange> writes) override;
  void forget(uint64_t address, uint64_t size_bytes) override;
  void add_races_to(Report& report) const override;

  /// Of the cluster that has used most shared memory, in any launch.
  [[nodiscard]] const ShadowUse& shared_memory() const { return shared_memory_; }

 private:
  Device& device_;
  Findings findings_;       ///< the races of the launch that runs or has run last
  DeviceRaces operations_;  ///< global memory between the operations of the device's streams
  /// Those that run: several where one waits.
  std::map<const Grid*, std::shared_ptr<LaunchRaces>> launches_;
  ShadowUse shared_memory_;
};

/// Has races found in the launches of a device whose settings say Checks::races. To be called once,
/// before the first launch.
void watch_races(Device& device);

/// The race watch of a device; nullptr where its settings ask for none.
[[nodiscard]] RaceWatch* watch_of(const Device& device);

}  // namespace bw::sim::races
