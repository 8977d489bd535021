#include "common/simulator/diagnosis/explain.hpp"

#include <memory>
#include <utility>

#include "common/simulator/base/error.hpp"
#include "common/simulator/diagnosis/barrier_history.hpp"
#include "common/simulator/diagnosis/deadlock.hpp"
#include "common/simulator/diagnosis/race_port.hpp"

namespace bw::sim {
namespace {

class Watch final : public LaunchObserver {
 public:
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override {
    if (cluster.settings().checks == Checks::off) return nullptr;
    return std::make_unique<BarrierHistory>();
  }
};

}  // namespace

void watch(Device& device) { device.observe(std::make_unique<Watch>()); }

LaunchResult explained(LaunchResult result) {
  if (!is_stuck(result.status)) return result;
  Cluster& cluster = result.stuck->stuck_cluster();
  const auto report_of = [&] {
    switch (result.status) {
      case RunStatus::livelock:
        return livelock_report(cluster, *cluster.running());
      case RunStatus::cycle_limit:
        return cluster.running() != nullptr ? cycle_limit_report(cluster, *cluster.running())
                                            : stopped_report(cluster);
      default:
        return deadlock_report(cluster);
    }
  };
  Report report = report_of();
  if (const races::RacePort* const races = races::port_of(result.stuck->device()))
    races->add_races_to(report);
  throw SimulationError(std::move(report));
}

}  // namespace bw::sim
