#include "common/simulator/trace/statistics_file.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "common/simulator/base/error.hpp"
#include "common/simulator/clock/sm_times.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/trace/event_lines.hpp"
#include "common/simulator/trace/json.hpp"
#include "common/simulator/trace/places.hpp"
#include "common/simulator/trace/recording.hpp"

namespace bw::sim::trace {
namespace {

constexpr const char* kL2PathNames[] = {"tma_load", "tma_store", "thread_load", "thread_store"};
static_assert(std::size(kL2PathNames) == kL2Paths);
constexpr const char* kResourceNames[] = {
    "issue_slots",    "shared_memory_cycles", "tensor_cycles",    "loading_cycles",
    "sending_cycles", "l2_read_bytes",        "l2_written_bytes", "hbm_bytes"};
static_assert(std::size(kResourceNames) == kResources);

/// The name that a row's field has for an enumerator.
template <class Enumerator>
std::string_view name_of(RowKind row, std::string_view field, Enumerator value) {
  for (const Field& one : kind_of(row).fields)
    if (one.name == field) return one.names[static_cast<size_t>(value)];
  return "";
}

/// The barriers of all clusters as JSON, and their places in that list.
struct Barriers {
  Barriers(const Sums& sums, const Kernel& kernel) {
    ClusterRecording recording;
    for (const auto& [place, instruction] : sums.barriers) {
      numbers.emplace(place, recording.barriers.size());
      recording.barriers.push_back({place.first, place.second, instruction});
    }
    List list;
    for (const std::string& fields : barrier_fields(recording, kernel, Places(kernel)))
      list.add("{" + fields + "}");
    json = list.json();
  }

  std::map<BarrierPlace, size_t> numbers;
  std::string json;
};

std::string waits_json(const WarpSums& warp, uint16_t rank, const Barriers& barriers) {
  List list;
  for (const auto& [what, waits] : warp.waits) {
    Fields fields;
    fields.add("for", name_of(RowKind::wait, "kind", what.kind));
    if (what.kind == WaitKind::mbarrier) {
      const auto found = barriers.numbers.find({rank, static_cast<uint32_t>(what.object)});
      if (found != barriers.numbers.end()) fields.add("barrier", found->second);
    } else if (what.kind == WaitKind::named_barrier) {
      fields.add("id", what.object);
    }
    list.add(fields.add("times", waits.times).add("cycles", waits.cycles).object());
  }
  return list.json();
}

std::string warps_json(const Sums& sums, const Barriers& barriers) {
  List list;
  for (const auto& [number, warp] : sums.warps) {
    Fields stalls;
    stalls.add("fixed", warp.fixed)
        .add("pipe", warp.pipe_stalls)
        .add("issue", warp.issue_stalls)
        .add("shared", warp.shared_stalls)
        .add("global", warp.global_stalls)
        .add("shared_queue", warp.shared_queue_stalls)
        .add("global_queue", warp.global_queue_stalls);
    Fields fields;
    fields.add("rank", number.first)
        .add("warp", number.second)
        .add("warps", warp.warps)
        .add("cycles", warp.cycles)
        .add("instructions", warp.instructions)
        .add("issued", warp.issued)
        .add_raw("stalls", stalls.object())
        .add_raw("waits", waits_json(warp, number.first, barriers));
    list.add(fields.object());
  }
  return list.json();
}

std::string copies_json(const Sums& sums) {
  List list;
  for (const auto& [what, copied] : sums.copies) {
    Fields fields;
    fields.add("unit", name_of(RowKind::copy_issue, "unit", what.first))
        .add("direction", name_of(RowKind::copy_issue, "direction", what.second))
        .add("copies", copied.copies)
        .add("bytes", copied.bytes)
        .add("written_bytes", copied.written_bytes);
    list.add(fields.object());
  }
  return list.json();
}

/// Fields of a timing model.
void add_modelled(Fields& record, const TimingTable& times, const Sums& sums,
                  const LaunchResult& result) {
  Fields shared, l1, l2, memory, used, capacity;
  shared.add("read_bytes", sums.traffic.shared_read_bytes)
      .add("written_bytes", sums.traffic.shared_written_bytes)
      .add("passes", sums.traffic.shared_passes)
      .add("conflict_passes", sums.traffic.shared_conflict_passes);
  l1.add("hit_bytes", sums.traffic.l1_hit_bytes).add("miss_bytes", sums.traffic.l1_miss_bytes);
  for (size_t path = 0; path < kL2Paths; ++path) {
    Fields both;
    both.add("hit_bytes", result.l2.hit_bytes[path]).add("miss_bytes", result.l2.miss_bytes[path]);
    l2.add_raw(kL2PathNames[path], both.object());
  }
  memory.add("read_bytes", result.memory_read_bytes)
      .add("written_bytes", result.memory_written_bytes);
  for (size_t resource = 0; resource < kResources; ++resource)
    used.add(kResourceNames[resource], sums.used[resource]);
  capacity.add("issue_slots", SmTimes::kSchedulers)
      .add("l2_read_bytes", times.l2_bytes_per_cycle)
      .add("l2_written_bytes", times.l2_write_bytes_per_cycle)
      .add("hbm_bytes", times.hbm_bytes_per_cycle);
  record.add("alone_cycles", result.alone_cycles)
      .add_raw("threads_shared_memory", shared.object())
      .add_raw("l1", l1.object())
      .add_raw("l2", l2.object())
      .add_raw("memory", memory.object())
      .add_raw("used", used.object())
      .add_raw("capacity_per_cycle", capacity.object());
}

}  // namespace

StatisticsFile::StatisticsFile(const std::string& path) : file_(std::fopen(path.c_str(), "w")) {
  if (file_ != nullptr) return;
  throw SimulationError(
      Report{.code = FaultCode::output_file,
             .what = "the file " + path +
                     ", which BW_SIM_STATISTICS names, can't be written: " + std::strerror(errno),
             .fix = "name a file in a folder that exists and may be written to"});
}

std::unique_ptr<StatisticsFile> StatisticsFile::from_environment() {
  const char* const path = std::getenv("BW_SIM_STATISTICS");
  if (path == nullptr || *path == '\0') return nullptr;
  return std::make_unique<StatisticsFile>(path);
}

void StatisticsFile::on_launch(Grid& grid) {
  grid_ = &grid;
  sums_ = {};
}

std::unique_ptr<Observer> StatisticsFile::observe(Cluster& cluster) {
  return std::make_unique<Statistics>(cluster, [this](const Sums& sums) { sums_.add(sums); });
}

void StatisticsFile::on_launch_end(const LaunchResult& result) {
  const Settings& settings = grid_->device().settings();
  const TimingTable* const times = settings.times();
  const Barriers barriers(sums_, grid_->kernel());
  const ptx::Module& module = grid_->kernel().module().ptx();
  Fields record;
  record.add("statistics", kVersion)
      .add("machine", settings.machine->name)
      .add("device", settings.machine->device_name)
      .add("sms", settings.sm_count)
      .add("clock_ghz", settings.machine->clock_ghz)
      .add("timing", times == nullptr ? "simple" : "model");
  record.add("launch", launches_++)
      .add_all(configuration_fields(*grid_))
      .add("ptx", fmt::format("{}.{}", module.version_major, module.version_minor))
      .add_all(result_fields(result))
      .add("nanoseconds", settings.nanoseconds_of(static_cast<double>(result.clock_cycles)));
  record.add("resident_clusters", grid_->resident_clusters())
      .add("ctas_per_sm", grid_->ctas_per_sm())
      .add("ctas", sums_.ctas)
      .add("cta_cycles", sums_.cta_cycles)
      .add_raw("warps", warps_json(sums_, barriers))
      .add_raw("barriers", barriers.json)
      .add_raw("copies", copies_json(sums_))
      .add("tensor_memory_read_bytes", sums_.tensor_memory_read_bytes)
      .add("tensor_memory_written_bytes", sums_.tensor_memory_written_bytes)
      .add("mmas", sums_.mmas)
      .add("mma_operations", sums_.mma_operations);
  if (times != nullptr) add_modelled(record, *times, sums_, result);
  std::fprintf(file_.get(), "%s\n", record.object().c_str());
  std::fflush(file_.get());
  grid_ = nullptr;
}

}  // namespace bw::sim::trace
