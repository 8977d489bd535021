#include "common/simulator/trace/event_lines.hpp"

#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "common/simulator/machine/device.hpp"
#include "common/simulator/trace/json.hpp"

namespace bw::sim::trace {
namespace {

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
    case RunStatus::waiting:
      return "waiting";
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

/// Takes a row's values one after the other.
class Values {
 public:
  explicit Values(const int64_t* first) : next_(first) {}
  int64_t take() { return *next_++; }
  /// A value that is a count or the index of something.
  size_t take_index() { return static_cast<size_t>(take()); }

 private:
  const int64_t* next_;
};

std::string take_ranges(Values& values) {
  List list;
  for (size_t rest = values.take_index(); rest > 0; --rest) {
    const auto space = static_cast<AddressSpace>(values.take());
    const int64_t rank = values.take();
    const bool shared = space == AddressSpace::shared_cta;
    Fields fields;
    fields.add("space", space_names()[static_cast<size_t>(space)]);
    if (shared) fields.add("rank", rank);
    fields.add(shared ? "offset" : "address", values.take());
    fields.add("bytes", values.take());
    list.add(fields.object());
  }
  return list.json();
}

std::string take_signals(Values& values, int64_t count) {
  List list;
  for (; count > 0; --count) {
    Fields fields;
    for (const char* const name : {"rank", "offset", "bytes"}) fields.add(name, values.take());
    list.add(fields.object());
  }
  return list.json();
}

std::string take_numbers(Values& values) {
  List list;
  for (size_t rest = values.take_index(); rest > 0; --rest) list.add(std::to_string(values.take()));
  return list.json();
}

void add_field(Fields& fields, const Field& field, Values& values,
               const ClusterRecording& recording) {
  switch (field.type) {
    case FieldType::number:
      if (const int64_t value = values.take(); value != kAbsent) fields.add(field.name, value);
      return;
    case FieldType::boolean:
      fields.add(field.name, values.take() != 0);
      return;
    case FieldType::name:
      fields.add(field.name, field.names[values.take_index()]);
      return;
    case FieldType::text:
      fields.add(field.name, recording.texts[values.take_index()]);
      return;
    case FieldType::ranges:
      fields.add_raw(field.name, take_ranges(values));
      return;
    case FieldType::signals:
      if (const int64_t count = values.take(); count != kAbsent)
        fields.add_raw(field.name, take_signals(values, count));
      return;
    case FieldType::numbers:
      fields.add_raw(field.name, take_numbers(values));
      return;
  }
}

}  // namespace

std::string launch_fields(Grid& grid, uint64_t number) {
  Fields fields;
  fields.add("event", "launch").add("launch", number).add_all(configuration_fields(grid));
  return fields.text();
}

std::string configuration_fields(Grid& grid) {
  const LaunchConfiguration& configuration = grid.configuration();
  Fields fields;
  fields.add("kernel", grid.kernel().name());
  fields.add_raw("grid", extents(configuration.grid))
      .add_raw("block", extents(configuration.block))
      .add_raw("cluster_shape", extents(configuration.cluster));
  fields.add("clusters", grid.clusters().volume())
      .add("dynamic_shared_bytes", configuration.dynamic_shared_bytes)
      .add("seed", grid.device().settings().seed);
  return fields.text();
}

std::string launch_end_fields(const LaunchResult& result, uint64_t number) {
  Fields fields;
  fields.add("event", "launch_end").add("launch", number).add_all(result_fields(result));
  return fields.text();
}

std::string result_fields(const LaunchResult& result) {
  Fields fields;
  fields.add("cycles", result.cycles).add("status", status_name(result.status));
  return fields.text();
}

std::vector<std::string> barrier_fields(const ClusterRecording& recording, const Kernel& kernel,
                                        const Places& places) {
  // Barriers that one source line initialises are the stages of a pipeline, in order of address.
  std::map<std::pair<uint16_t, std::string>, std::set<uint32_t>> offsets;
  // The CTAs of a cluster have the same barriers.
  std::map<uint32_t, std::string> initialised_at, symbols;
  for (const RecordedBarrier& barrier : recording.barriers) {
    std::string& place = initialised_at[barrier.initialised_by];
    if (place.empty()) place = places.name_of(barrier.initialised_by);
    std::string& symbol = symbols[barrier.offset_bytes];
    if (symbol.empty()) symbol = kernel.describe_shared(barrier.offset_bytes);
    offsets[{barrier.cta_rank, place}].insert(barrier.offset_bytes);
  }
  std::vector<std::string> all;
  for (const RecordedBarrier& barrier : recording.barriers) {
    const std::string& place = initialised_at[barrier.initialised_by];
    const std::set<uint32_t>& stages = offsets[{barrier.cta_rank, place}];
    Fields fields;
    fields.add("barrier_rank", barrier.cta_rank)
        .add("barrier_offset", barrier.offset_bytes)
        .add("barrier", symbols[barrier.offset_bytes])
        .add("barrier_init", place)
        .add("stage", std::distance(stages.begin(), stages.find(barrier.offset_bytes)))
        .add("stages", stages.size());
    all.push_back(fields.text());
  }
  return all;
}

EventLines::EventLines(const ClusterRecording& recording, const Kernel& kernel, Places& places)
    : recording_(recording),
      places_(places),
      barriers_(barrier_fields(recording, kernel, places)) {}

std::string EventLines::fields_of(const Row& row) const {
  const Kind& kind = kind_of(row.kind);
  Fields line;
  line.add("event", kind.event).add("cycle", row.cycle).add("cluster", recording_.cluster);
  line.add("number", recording_.values[row.first_value - 1]);
  line.add_raw("cta", extents(recording_.ctas[row.cta_rank])).add("rank", row.cta_rank);
  if (row.instruction != Row::kNone)
    line.add("warp", row.warp).add("lanes", row.lanes).add_all(places_.fields_of(row.instruction));
  Values values(recording_.values.data() + row.first_value);
  for (const Field& field : kind.fields) add_field(line, field, values, recording_);
  if (row.barrier != Row::kNone) line.add_all(barriers_[row.barrier]);
  return line.text();
}

}  // namespace bw::sim::trace
