#pragma once
/// \file
/// A log of events, one JSON object a line (BW_SIM_EVENTS). The fields are described in
/// common/simulator/README.md.

#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "common/simulator/machine/observer.hpp"
#include "common/simulator/trace/recorder.hpp"

namespace bw::sim::trace {

/// The kinds of rows that BW_SIM_EVENT_KINDS selects. `names`: separated by commas; "all"; or ""
/// for all but `run` and `access`, which are many. Throws SimulationError{launch} for an unknown
/// name.
[[nodiscard]] RowKinds selected_kinds(std::string_view names);

/// Logs every launch of a device. Lines are sorted by launch, then by cluster, then by cycle;
/// events of one cycle are in the order in which they happened. Each cluster's observer keeps its
/// own lines and passes them on when the cluster ends, so the file is the same for any number of
/// host threads.
class EventLog final : public LaunchObserver {
 public:
  /// Creates (or empties) the file. Throws SimulationError{launch} if that is not possible, and for
  /// unknown names in `kinds` (see selected_kinds). `clusters` of each launch are logged: "A-B",
  /// "A", or "" for all.
  EventLog(const std::string& path, std::string_view kinds, std::string_view clusters = {});

  /// The log that BW_SIM_EVENTS (a file), BW_SIM_EVENT_KINDS and BW_SIM_EVENT_CLUSTERS request, or
  /// nullptr.
  [[nodiscard]] static std::unique_ptr<EventLog> from_environment();

  /// A launch begins.
  void on_launch(Grid& grid) override;
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override;
  void on_launch_end(const LaunchResult& result) override;

  /// Appends a line. One caller at a time.
  void write(std::string_view fields);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  RowKinds kinds_;
  RecordingWindow window_;  ///< everything
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t first_cluster_ = 0;
  uint64_t last_cluster_ = std::numeric_limits<uint64_t>::max();
  uint64_t launches_ = 0;
};

}  // namespace bw::sim::trace
