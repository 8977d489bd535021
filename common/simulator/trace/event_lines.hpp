#pragma once
/// \file
/// A recording as text: the fields of JSON objects.

#include <string>
#include <vector>

#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/trace/places.hpp"
#include "common/simulator/trace/recording.hpp"

namespace bw::sim::trace {

/// `"event":"launch"` and what is known when a launch begins, without braces; `number` counts the
/// launches of the process.
[[nodiscard]] std::string launch_fields(Grid& grid, uint64_t number);
/// Of them, what was launched and how.
[[nodiscard]] std::string configuration_fields(Grid& grid);
/// `"event":"launch_end"` and how it ended.
[[nodiscard]] std::string launch_end_fields(const LaunchResult& result, uint64_t number);
/// Of them, how it ended: `"cycles"` and `"status"`.
[[nodiscard]] std::string result_fields(const LaunchResult& result);

/// The fields of the barriers of a recording, one text each: rank, offset, symbol, place of the
/// init, and its number among the barriers of its CTA that the same line initialised.
[[nodiscard]] std::vector<std::string> barrier_fields(const ClusterRecording& recording,
                                                      const Kernel& kernel, const Places& places);

/// The rows of a recording, one text each, in their order.
class EventLines {
 public:
  /// Of one cluster whose rows are numbered (Recorder::number_rows).
  EventLines(const ClusterRecording& recording, const Kernel& kernel, Places& places);
  /// Of a row, as JSON.
  [[nodiscard]] std::string fields_of(const Row& row) const;

 private:
  const ClusterRecording& recording_;
  Places& places_;
  std::vector<std::string> barriers_;
};

}  // namespace bw::sim::trace
