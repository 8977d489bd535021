#include "common/simulator/diagnosis/explain.hpp"

#include <memory>

#include "common/simulator/base/error.hpp"
#include "common/simulator/diagnosis/barrier_history.hpp"
#include "common/simulator/diagnosis/deadlock.hpp"

namespace bw::sim {
namespace {

class Watch final : public LaunchObserver {
 public:
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster&) override {
    return std::make_unique<BarrierHistory>();
  }
};

}  // namespace

void watch(Device& device) {
  if (device.settings().checks != Checks::off) device.observe(std::make_unique<Watch>());
}

LaunchResult explained(LaunchResult result) {
  if (!is_stuck(result.status)) return result;
  Cluster& cluster = result.stuck->stuck_cluster();
  switch (result.status) {
    case RunStatus::livelock:
      throw SimulationError(livelock_report(cluster, cluster.running()));
    case RunStatus::cycle_limit:
      throw SimulationError(cycle_limit_report(cluster, cluster.running()));
    default:
      throw SimulationError(deadlock_report(cluster));
  }
}

}  // namespace bw::sim
