#include "common/simulator/diagnosis/races/watch.hpp"

#include <utility>

#include <fmt/core.h>

#include "common/simulator/diagnosis/races/detector.hpp"
#include "common/simulator/diagnosis/races/named_barriers.hpp"
#include "common/simulator/diagnosis/races/tensor_memory.hpp"

namespace bw::sim::races {
namespace {

/// The shadows of other memory than shared.
void make_parts(Detector& detector, std::shared_ptr<LaunchRaces> launch) {
  detector.add(std::make_unique<GlobalRaces>(detector, std::move(launch)));
  auto tensor_memory = make_tensor_memory_races(detector);
  detector.set_tensor_order(tensor_memory.get());
  detector.add(std::move(tensor_memory));
  detector.add(std::make_unique<NamedBarrierRaces>(detector));
}

}  // namespace

void RaceWatch::on_launch(Grid& grid) {
  findings_.clear();
  if (grid.device().settings().checks == Checks::races) launches_[&grid] = device_.begin(grid);
}

std::unique_ptr<Observer> RaceWatch::observe(Cluster& cluster) {
  if (cluster.settings().checks != Checks::races) return nullptr;
  // Clusters hand over what they found one after the other, ascending.
  auto detector =
      std::make_unique<Detector>(cluster, [this](const Findings& found, const ShadowUse& use) {
        findings_.merge(found);
        if (use.bytes > shared_memory_.bytes) shared_memory_ = use;
      });
  make_parts(*detector, launches_.at(&cluster.grid()));
  return detector;
}

void RaceWatch::on_launch_end(const LaunchResult& result) {
  for (auto launch = launches_.begin(); launch != launches_.end();) {
    if (launch->second->has_ended()) {
      findings_.merge(launch->second->findings());
      if (result.status == RunStatus::finished) device_.end(launch->second, findings_);
      launch = launches_.erase(launch);
    } else {
      ++launch;
    }
  }
  // One that has failed has not ended, and nothing can follow it.
  if (result.status != RunStatus::finished) {
    for (const auto& [grid, launch] : launches_) findings_.merge(launch->findings());
    launches_.clear();
  }
  if (findings_.empty()) return;
  if (result.status != RunStatus::finished && result.status != RunStatus::fault) return;
  Report report = report_of(findings_);
  if (result.fault != nullptr)
    report.details.push_back("then the run ended, which may follow from it: " + result.fault->what +
                             ": " + result.fault->where);
  throw SimulationError(std::move(report));
}

RaceWatch* watch_of(const Device& device) {
  if (device.settings().checks != Checks::races) return nullptr;
  for (const auto& observer : device.observers())
    if (auto* const watch = dynamic_cast<RaceWatch*>(observer.get())) return watch;
  return nullptr;
}

void add_races(const Findings& findings, Report& report) {
  for (const Finding& finding : findings.all())
    report.details.push_back(
        fmt::format("a race before that: the {} at {} and, first, the {} at {}", finding.later.unit,
                    finding.later.line, finding.earlier.unit, finding.earlier.line));
}

}  // namespace bw::sim::races
