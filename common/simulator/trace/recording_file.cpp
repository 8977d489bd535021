#include "common/simulator/trace/recording_file.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/trace/event_lines.hpp"
#include "common/simulator/trace/event_log.hpp"
#include "common/simulator/trace/json.hpp"
#include "common/simulator/trace/places.hpp"

namespace bw::sim::trace {
namespace {

static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr std::string_view kMagic = "BWREC001";
/// Recorded if no clusters are selected: a picture shows fewer.
constexpr uint64_t kDefaultCtas = 64;
/// Of a launch: some 100 bytes each with their values.
constexpr uint64_t kMostRows = 2'000'000;

[[noreturn]] void refuse_file(FaultCode code, std::string what, std::string fix) {
  throw SimulationError(Report{.code = code, .what = std::move(what), .fix = std::move(fix)});
}

/// Reads "A-B" or "A"; leaves the bounds unchanged for "".
void read_window(std::string_view name, std::string_view text, uint64_t& first, uint64_t& last) {
  if (text.empty()) return;
  const char* const end = text.data() + text.size();
  const auto low = std::from_chars(text.data(), end, first);
  auto high = low;
  last = first;
  if (low.ec == std::errc{} && low.ptr != end && *low.ptr == '-')
    high = std::from_chars(low.ptr + 1, end, last);
  if (low.ec != std::errc{} || high.ec != std::errc{} || high.ptr != end || first > last)
    refuse_file(
        FaultCode::setting_invalid,
        fmt::format("the environment variable {} is \"{}\", which is not a range", name, text),
        "write the first and the last number, 3-5, or one number");
}

const char* type_name(FieldType type) {
  constexpr const char* kNames[] = {"number", "boolean", "name",   "text",
                                    "ranges", "signals", "numbers"};
  return kNames[static_cast<size_t>(type)];
}

std::string kinds_json() {
  List kinds;
  for (size_t kind = 0; kind < kRowKinds; ++kind) {
    const Kind& one = kind_of(static_cast<RowKind>(kind));
    List fields;
    for (const Field& field : one.fields) {
      List names;
      for (const char* const name : field.names) names.add(json_string(name));
      List parts;
      parts.add(json_string(field.name));
      parts.add(json_string(type_name(field.type)));
      parts.add(names.json());
      fields.add(parts.json());
    }
    Fields entry;
    entry.add("event", one.event).add_raw("fields", fields.json());
    kinds.add(entry.object());
  }
  List spaces;
  for (const char* const name : space_names()) spaces.add(json_string(name));
  Fields table;
  table.add_raw("kinds", kinds.json()).add_raw("spaces", spaces.json());
  return table.object();
}

template <class... Numbers>
std::string numbers_json(Numbers... numbers) {
  List list;
  (list.add(std::to_string(numbers)), ...);
  return list.json();
}

}  // namespace

RecordingFile::RecordingFile(const std::string& path, std::string_view clusters,
                             std::string_view cycles)
    : kinds_(selected_kinds("all")), chooses_clusters_(clusters.empty()) {
  kinds_.reset(static_cast<size_t>(RowKind::access));  // many, and unused by pictures
  read_window("BW_SIM_RECORDING_CLUSTERS", clusters, asked_.first_cluster, asked_.last_cluster);
  read_window("BW_SIM_RECORDING_CYCLES", cycles, asked_.first_cycle, asked_.last_cycle);
  file_.reset(std::fopen(path.c_str(), "wb"));
  if (file_ == nullptr)
    refuse_file(FaultCode::output_file,
                fmt::format("the file {}, which BW_SIM_RECORDING names, can't be written: {}", path,
                            std::strerror(errno)),
                "name a file in a folder that exists and may be written to");
  write(kMagic.data(), kMagic.size());
  write_part("kind", kinds_json());
}

std::unique_ptr<RecordingFile> RecordingFile::from_environment() {
  const auto setting = [](const char* name) {
    const char* const text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  const std::string path = setting("BW_SIM_RECORDING");
  if (path.empty()) return nullptr;
  return std::make_unique<RecordingFile>(path, setting("BW_SIM_RECORDING_CLUSTERS"),
                                         setting("BW_SIM_RECORDING_CYCLES"));
}

void RecordingFile::write(const void* bytes, size_t size) {
  std::fwrite(bytes, 1, size, file_.get());
}

void RecordingFile::begin_part(std::string_view tag, uint64_t size) {
  const uint32_t zero = 0;
  write(tag.data(), tag.size());
  write(&zero, sizeof zero);
  write(&size, sizeof size);
}

void RecordingFile::write_part(std::string_view tag, std::string_view content) {
  begin_part(tag, content.size());
  write(content.data(), content.size());
}

void RecordingFile::on_launch(Grid& grid) {
  window_ = asked_;
  const uint64_t clusters = grid.clusters().volume();
  if (chooses_clusters_)
    window_.last_cluster =
        std::max<uint64_t>(kDefaultCtas / grid.configuration().cluster.volume(), 1) - 1;
  window_.last_cluster = std::min(window_.last_cluster, clusters - 1);
  const uint64_t recorded = window_.first_cluster > window_.last_cluster
                                ? 0
                                : window_.last_cluster - window_.first_cluster + 1;
  window_.most_rows = recorded == 0 ? 0 : ceil_div(kMostRows, recorded);
  kernel_ = &grid.kernel();
  is_named_.assign(kernel_->function().instructions.size(), false);
  Fields fields;
  fields.add_all(launch_fields(grid, launches_));
  fields.add_raw("recorded_clusters",
                 recorded == 0 ? "[]" : numbers_json(window_.first_cluster, window_.last_cluster));
  if (window_.last_cycle != ~Cycle{0})
    fields.add_raw("recorded_cycles", numbers_json(window_.first_cycle, window_.last_cycle));
  write_part("lnch", fields.object());
}

std::unique_ptr<Observer> RecordingFile::observe(Cluster& cluster) {
  if (cluster.index() < window_.first_cluster || cluster.index() > window_.last_cluster)
    return nullptr;
  // The cluster may be gone when it ends; its kernel is not.
  return std::make_unique<Recorder>(cluster, kinds_, window_, [this](ClusterRecording&& recording) {
    write_cluster(recording, *kernel_);
  });
}

void RecordingFile::write_cluster(const ClusterRecording& recording, const Kernel& kernel) {
  for (const Row& row : recording.rows)
    if (row.instruction != Row::kNone) is_named_[row.instruction] = true;
  List ctas, barriers, texts;
  for (const Dim3& cta : recording.ctas) ctas.add(numbers_json(cta.x, cta.y, cta.z));
  const Places places(kernel);
  const std::vector<std::string> fields_of_barriers = barrier_fields(recording, kernel, places);
  for (size_t i = 0; i < recording.barriers.size(); ++i) {
    Fields barrier;
    barrier.add_all(fields_of_barriers[i]);
    barrier.add("init", recording.barriers[i].initialised_by);
    barriers.add(barrier.object());
    is_named_[recording.barriers[i].initialised_by] = true;
  }
  for (const std::string& text : recording.texts) texts.add(json_string(text));
  Fields about;
  about.add("cluster", recording.cluster).add_raw("ctas", ctas.json());
  about.add_raw("barriers", barriers.json()).add_raw("texts", texts.json());
  if (recording.full_at) about.add("full_at", *recording.full_at);
  const std::string json = about.object();
  const uint64_t sizes[] = {json.size(), recording.rows.size(), recording.values.size()};
  const size_t row_bytes = recording.rows.size() * sizeof(Row);
  const size_t value_bytes = recording.values.size() * sizeof(int64_t);
  begin_part("clst", sizeof sizes + json.size() + row_bytes + value_bytes);
  write(sizes, sizeof sizes);
  write(json.data(), json.size());
  write(recording.rows.data(), row_bytes);
  write(recording.values.data(), value_bytes);
}

void RecordingFile::on_launch_end(const LaunchResult& result) {
  std::vector<uint32_t> named;
  for (uint32_t instruction = 0; instruction < is_named_.size(); ++instruction)
    if (is_named_[instruction]) named.push_back(instruction);
  write_part("plac", Places(*kernel_).table(named));
  write_part("lend", "{" + launch_end_fields(result, launches_++) + "}");
  std::fflush(file_.get());
}

}  // namespace bw::sim::trace
