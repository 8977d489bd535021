#include "common/simulator/diagnosis/races/watch.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/diagnosis/races/detector.hpp"
#include "common/simulator/diagnosis/races/tensor_memory.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/ignored_codes.hpp"

namespace bw::sim::races {
namespace {

/// The shadows of other memory than shared.
void make_parts(Detector& detector, std::shared_ptr<LaunchRaces> launch) {
  detector.add(std::make_unique<GlobalRaces>(detector, std::move(launch)));
  auto tensor_memory = make_tensor_memory_races(detector);
  detector.set_tensor_order(tensor_memory.get());
  detector.add(std::move(tensor_memory));
}

/// Those of the races that end their launch at the device's level. The others become warnings, or
/// are none there; what BW_SIM_IGNORE names is only counted.
Findings without_tolerated(const Findings& all, Device& device) {
  const bool at_isa = device.settings().strictness == Strictness::isa;
  IgnoredCodes& ignored = IgnoredCodes::of_process();
  Findings ending;
  std::vector<Warning> warnings;
  for (const Finding& finding : all.all()) {
    const Weight weight = finding.weight;
    if (ignored.contains(code_of(finding))) {
      ignored.left_out(code_of(finding), finding.count);
    } else if (weight == (at_isa ? Weight::same_value : Weight::letter)) {
      Findings one;
      one.add(finding);
      Report told = report_of(one);
      told.is_tolerated = true;
      warnings.push_back({std::move(told), finding.count});
    } else if (at_isa || weight == Weight::fault) {
      ending.add(finding);
    }
  }
  // Where threads of several warps race, what lanes of one lack says less.
  std::stable_partition(warnings.begin(), warnings.end(), [](const Warning& warning) {
    return warning.report.code != FaultCode::race_in_warp;
  });
  merge(device.warnings(), warnings);
  return ending;
}

/// Adds to the report of a launch that got stuck or faulted which races it had.
void add_races(const Findings& findings, Report& report, std::string_view relation) {
  for (const Finding& finding : findings.all())
    report.details.push_back(fmt::format(
        "{} ({}): the {} at {} and, first, the {} at {}", relation, row_of(code_of(finding)).id,
        finding.later.unit, finding.later.line, finding.earlier.unit, finding.earlier.line));
}

/// Whether a fault says more than the races of its launch, and so leads the report: it can't follow
/// from one of them, or it came before them.
bool leads(const Report& fault, const Findings& findings) {
  switch (fault.code) {
    case FaultCode::mbarrier_overwritten:
    case FaultCode::tmem_lane_quarter:
    case FaultCode::tmem_load_not_awaited:
      return true;
    case FaultCode::global_out_of_bounds:
      return std::all_of(findings.all().begin(), findings.all().end(), [&](const Finding& finding) {
        return finding.event && fault.event && finding.event->cluster == fault.event->cluster &&
               finding.event->event > fault.event->event;
      });
    default:
      return false;
  }
}

}  // namespace

void RaceWatch::on_launch(Grid& grid) {
  findings_.clear();
  if (grid.device().settings().checks == Checks::races) launches_[&grid] = operations_.begin(grid);
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
      if (result.status == RunStatus::finished) operations_.end(launch->second, findings_);
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
  findings_ = without_tolerated(findings_, device_);
  if (findings_.empty()) return;
  if (result.status != RunStatus::finished && result.status != RunStatus::fault) return;
  if (result.fault != nullptr && leads(*result.fault, findings_)) {
    Report report = *result.fault;
    add_races(findings_, report, "a race as well");
    throw SimulationError(std::move(report));
  }
  Report report = report_of(findings_);
  if (result.fault != nullptr)
    report.details.push_back("then the run ended, which may follow from it: " + result.fault->what +
                             ": " + result.fault->where);
  throw SimulationError(std::move(report));
}

void RaceWatch::set_next(std::shared_ptr<StreamOperation> operation) {
  operations_.set_next(std::move(operation));
}

void RaceWatch::host_operation(std::shared_ptr<StreamOperation> operation, const char* api,
                               std::vector<MemoryRange> reads, std::vector<MemoryRange> writes) {
  Findings findings;
  operations_.host_operation(std::move(operation), api, std::move(reads), std::move(writes),
                             findings);
  findings = without_tolerated(findings, device_);
  if (!findings.empty()) throw SimulationError(report_of(findings));
}

void RaceWatch::forget(uint64_t address, uint64_t size_bytes) {
  operations_.forget(address, size_bytes);
}

void RaceWatch::add_races_to(Report& report) const {
  add_races(findings_, report, "a race before that");
}

void watch_races(Device& device) {
  if (device.settings().checks == Checks::races)
    device.observe(std::make_unique<RaceWatch>(device));
}

RaceWatch* watch_of(const Device& device) { return dynamic_cast<RaceWatch*>(port_of(device)); }

}  // namespace bw::sim::races
