#include "common/simulator/trace/event_log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/trace/cluster_log.hpp"
#include "common/simulator/trace/json.hpp"

namespace bw::sim::trace {
namespace {

/// Many: only kept when asked for.
constexpr std::string_view kBulky[] = {"run", "access"};
constexpr std::string_view kEvents[] = {
    "cta_start",
    "cta_end",
    "wait",
    "resume",
    "mbarrier_init",
    "mbarrier_inval",
    "mbarrier_arrive",
    "mbarrier_expect_tx",
    "mbarrier_increment",
    "mbarrier_complete_tx",
    "mbarrier_complete",
    "mbarrier_wait",
    "copy_issue",
    "copy_read",
    "copy_land",
    "mma_issue",
    "mma_complete",
    "tmem_copy_issue",
    "tmem_copy_complete",
    "tmem_shift_issue",
    "tmem_shift_complete",
    "tmem_alloc",
    "tmem_dealloc",
    "tmem_relinquish",
    "tmem_load",
    "tmem_store",
    "tmem_wait",
    "tmem_commit",
    "fence",
    "group_commit",
    "group_wait",
    "barrier_arrive",
    "barrier_complete",
};

[[noreturn]] void refuse(std::string what, std::string fix) {
  throw SimulationError(Report{FaultKind::launch, std::move(what), "", {}, "", std::move(fix)});
}

const char* status_name(RunStatus status) {
  switch (status) {
    case RunStatus::finished:
      return "finished";
    case RunStatus::reached_limit:
      return "reached_limit";
    case RunStatus::deadlock:
      return "deadlock";
    case RunStatus::livelock:
      return "livelock";
    case RunStatus::cycle_limit:
      return "cycle_limit";
    case RunStatus::fault:
      return "fault";
  }
  return "";
}

std::string extents(const Dim3& d) {
  List list;
  for (const uint32_t extent : {d.x, d.y, d.z}) list.add(std::to_string(extent));
  return list.json();
}

}  // namespace

EventSelection::EventSelection(std::string_view names) {
  if (names.empty() || names == "all") {
    names_.insert(std::begin(kEvents), std::end(kEvents));
    if (names == "all") names_.insert(std::begin(kBulky), std::end(kBulky));
    return;
  }
  const EventSelection every("all");
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    if (!every.has(name)) {
      std::string known;
      for (const std::string& one : every.names_) known += (known.empty() ? "" : ", ") + one;
      refuse("BW_SIM_EVENT_KINDS names \"" + std::string(name) + "\", which is no event",
             "name some of " + known + ", or all, or unset it");
    }
    names_.emplace(name);
  }
}

EventLog::EventLog(const std::string& path, std::string_view kinds)
    : selection_(kinds), file_(std::fopen(path.c_str(), "w")) {
  if (file_ == nullptr)
    refuse("the file " + path +
               ", which BW_SIM_EVENTS names, can't be written: " + std::strerror(errno),
           "name a file in a folder that exists and may be written to");
}

std::unique_ptr<EventLog> EventLog::from_environment() {
  const char* const path = std::getenv("BW_SIM_EVENTS");
  if (path == nullptr || *path == '\0') return nullptr;
  const char* const kinds = std::getenv("BW_SIM_EVENT_KINDS");
  return std::make_unique<EventLog>(path, kinds == nullptr ? "" : kinds);
}

void EventLog::write(std::string_view fields) {
  std::fprintf(file_.get(), "{%.*s}\n", static_cast<int>(fields.size()), fields.data());
}

void EventLog::on_launch(Grid& grid) {
  const LaunchConfiguration& configuration = grid.configuration();
  Fields fields;
  fields.add("event", "launch").add("launch", launches_).add("kernel", grid.kernel().name());
  fields.add_raw("grid", extents(configuration.grid))
      .add_raw("block", extents(configuration.block))
      .add_raw("cluster_shape", extents(configuration.cluster));
  fields.add("clusters", grid.clusters().volume())
      .add("dynamic_shared_bytes", configuration.dynamic_shared_bytes)
      .add("seed", grid.device().settings().seed);
  write(fields.text());
}

std::unique_ptr<Observer> EventLog::observe(Cluster& cluster) {
  return std::make_unique<ClusterLog>(*this, selection_, cluster);
}

void EventLog::on_launch_end(const LaunchResult& result) {
  Fields fields;
  fields.add("event", "launch_end")
      .add("launch", launches_++)
      .add("cycles", result.cycles)
      .add("status", status_name(result.status));
  write(fields.text());
  std::fflush(file_.get());
}

}  // namespace bw::sim::trace
