#pragma once
/// \file
/// Explores the synchronisation of every launch of a device (BW_SIM_EXPLORE).

#include <cstdio>
#include <memory>
#include <vector>

#include "common/simulator/diagnosis/exploration/explorer.hpp"
#include "common/simulator/diagnosis/exploration/sync_program.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim::exploration {

/// Takes the synchronisation out of each cluster of a launch and, when the launch has finished,
/// explores every order of it. An order that goes wrong ends the launch as a SimulationError with
/// that order; else a line says what was explored.
class ExplorationWatch final : public LaunchObserver {
 public:
  /// Explores up to `most_states` of each cluster that differs from the earlier ones; the lines go
  /// to `output`. `lanes_apart`: the lanes of a warp need not stay together (sync_program.hpp).
  explicit ExplorationWatch(uint64_t most_states, std::FILE* output = stderr,
                            bool lanes_apart = false)
      : most_states_(most_states), lanes_apart_(lanes_apart), output_(output) {}
  /// BW_SIM_EXPLORE=states and BW_SIM_EXPLORE_LANES=1; null where the first is not set or 0. Throws
  /// SimulationError{launch} for other values.
  [[nodiscard]] static std::unique_ptr<ExplorationWatch> from_environment();

  void on_launch(Grid& grid) override;
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override;
  void on_launch_end(const LaunchResult& result) override;

 private:
  struct Distinct {
    SyncProgram program;
    uint64_t clusters = 1;
  };

  void add(SyncProgram program);

  uint64_t most_states_;
  bool lanes_apart_;
  std::FILE* output_;
  const Kernel* kernel_ = nullptr;
  bool has_ranks_ = false;
  std::vector<Distinct> programs_;
};

}  // namespace bw::sim::exploration
