#include "common/simulator/trace/event_log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/trace/event_lines.hpp"
#include "common/simulator/trace/places.hpp"

namespace bw::sim::trace {
namespace {

/// Many: only kept when asked for.
constexpr RowKind kBulky[] = {RowKind::run, RowKind::access};

[[noreturn]] void refuse(FaultCode code, std::string what, std::string fix) {
  throw SimulationError(Report{.code = code, .what = std::move(what), .fix = std::move(fix)});
}

}  // namespace

RowKinds selected_kinds(std::string_view names) {
  RowKinds kinds;
  if (names.empty() || names == "all") {
    kinds.set();
    if (names.empty())
      for (const RowKind kind : kBulky) kinds.reset(static_cast<size_t>(kind));
    return kinds;
  }
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    size_t found = 0;
    while (found < kRowKinds && kind_of(static_cast<RowKind>(found)).event != name) ++found;
    if (found == kRowKinds) {
      std::string known;
      for (size_t kind = 0; kind < kRowKinds; ++kind)
        known += std::string(known.empty() ? "" : ", ") + kind_of(static_cast<RowKind>(kind)).event;
      refuse(FaultCode::setting_invalid,
             "BW_SIM_EVENT_KINDS names \"" + std::string(name) + "\", which is not an event",
             "name some of " + known + ", or all, or unset it");
    }
    kinds.set(found);
  }
  return kinds;
}

EventLog::EventLog(const std::string& path, std::string_view kinds)
    : kinds_(selected_kinds(kinds)), file_(std::fopen(path.c_str(), "w")) {
  if (file_ == nullptr)
    refuse(FaultCode::output_file,
           "the file " + path +
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

void EventLog::on_launch(Grid& grid) { write(launch_fields(grid, launches_)); }

std::unique_ptr<Observer> EventLog::observe(Cluster& cluster) {
  // The cluster may be gone when it ends; its kernel is not.
  auto recorder = std::make_unique<Recorder>(
      cluster, kinds_, window_,
      [this, &kernel = cluster.kernel()](const ClusterRecording& recording) {
        Places places(kernel);
        const EventLines lines(recording, kernel, places);
        for (const Row& row : recording.rows) write(lines.fields_of(row));
      });
  recorder->number_rows();
  return recorder;
}

void EventLog::on_launch_end(const LaunchResult& result) {
  write(launch_end_fields(result, launches_++));
  std::fflush(file_.get());
}

}  // namespace bw::sim::trace
