/// \file
/// Recordings: what the file holds, its window, and that recording changes nothing.
#include "common/simulator/trace/recording_file.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "common/simulator/trace/event_log.hpp"
#include "tests/simulator/observed_kernel.hpp"
#include "tests/simulator/trace/trace_file.hpp"

namespace bw::sim::test::recording_file_test {
namespace {

using trace::kind_of;
using trace::Row;
using trace::RowKind;

struct RecordedCluster {
  std::string about;  ///< JSON
  std::vector<Row> rows;
  std::vector<int64_t> values;

  [[nodiscard]] std::vector<Row> of(RowKind kind) const {
    std::vector<Row> found;
    for (const Row& row : rows)
      if (row.kind == kind) found.push_back(row);
    return found;
  }
  /// A value of a row by its field's name, which no list precedes.
  [[nodiscard]] int64_t value(const Row& row, std::string_view name) const {
    size_t index = 0;
    for (const trace::Field& field : kind_of(row.kind).fields) {
      if (name == field.name) return values[row.first_value + index];
      ++index;
    }
    ADD_FAILURE() << "no field " << name;
    return 0;
  }
};

/// A file read part by part.
struct Recording {
  explicit Recording(const std::string& content) {
    EXPECT_TRUE(content.starts_with("BWREC001"));
    for (size_t at = 8; at < content.size();) {
      const std::string tag = content.substr(at, 4);
      const auto size = read<uint64_t>(content, at + 8);
      at += 16;
      if (tag == "clst")
        add_cluster(content, at);
      else
        texts.emplace_back(tag, content.substr(at, size));
      at += size;
    }
  }

  template <class T>
  static T read(const std::string& content, size_t at) {
    T value{};
    if (at + sizeof value <= content.size())
      std::memcpy(&value, content.data() + at, sizeof value);
    else
      ADD_FAILURE() << "the file is cut off";
    return value;
  }

  void add_cluster(const std::string& content, size_t at) {
    RecordedCluster& cluster = clusters.emplace_back();
    const auto json = read<uint64_t>(content, at);
    cluster.rows.resize(read<uint64_t>(content, at + 8));
    cluster.values.resize(read<uint64_t>(content, at + 16));
    at += 24;
    cluster.about = content.substr(at, json);
    at += json;
    for (Row& row : cluster.rows) row = read<Row>(content, std::exchange(at, at + sizeof row));
    for (int64_t& value : cluster.values)
      value = read<int64_t>(content, std::exchange(at, at + sizeof value));
  }

  [[nodiscard]] std::string text(const std::string& tag) const {
    const auto found = std::find_if(texts.begin(), texts.end(),
                                    [&](const auto& part) { return part.first == tag; });
    return found == texts.end() ? "" : found->second;
  }

  std::vector<std::pair<std::string, std::string>> texts;  ///< tag and JSON
  std::vector<RecordedCluster> clusters;
};

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

/// What a run of the observed kernel gives.
struct Outcome {
  std::vector<uint32_t> out;
  uint64_t cycles = 0, instructions = 0;
  std::string log;  ///< of all events

  bool operator==(const Outcome&) const = default;
};

/// Runs `ctas` CTAs; `recording` is the file, or empty for none.
Outcome run(uint32_t ctas, const std::string& recording, uint64_t seed = 0,
            uint32_t host_threads = 1, const std::string& clusters = "",
            const std::string& cycles = "") {
  const TraceFile log("events.jsonl");
  Settings settings = test_settings(seed);
  settings.host_threads = host_threads;
  Runner runner(settings);
  if (!recording.empty())
    runner.device().observe(std::make_unique<trace::RecordingFile>(recording, clusters, cycles));
  runner.device().observe(std::make_unique<trace::EventLog>(log.path(), "all"));
  auto out = runner.buffer(std::vector<uint32_t>(size_t{ctas} * kObservedCopyBytes / 4, 0));
  auto in = runner.buffer(std::vector<uint32_t>(32, 7));
  const LaunchResult result = runner.run(observed_kernel(), grid(ctas, 64), out, in);
  // Addresses of the buffers differ from run to run: the host gives them.
  std::string text = log.content();
  for (size_t at = 0; (at = text.find("\"address", at)) != std::string::npos; ++at)
    text.erase(at, text.find_first_of("}]", at) - at);
  return {out.values(), result.cycles, result.warp_instructions, text};
}

TEST(RecordingFile, ChangesNeitherBitsNorCyclesNorTheOrderOfEvents) {
  for (const uint64_t seed : {0, 1, 2}) {
    const TraceFile file("recording");
    const Outcome unrecorded = run(8, "", seed, 2);
    EXPECT_GT(unrecorded.cycles, 0u);
    EXPECT_EQ(unrecorded.out[0], 7u);
    EXPECT_EQ(unrecorded, run(8, file.path(), seed, 2));
    EXPECT_EQ(Recording(file.content()).clusters.size(), 8u);
  }
}

TEST(RecordingFile, IsTheSameForAnyNumberOfHostThreads) {
  const TraceFile one("one"), four("four");
  run(12, one.path(), 0, 1);
  run(12, four.path(), 0, 4);
  const Recording a(one.content()), b(four.content());
  ASSERT_EQ(a.clusters.size(), b.clusters.size());
  for (size_t i = 0; i < a.clusters.size(); ++i) {
    EXPECT_EQ(a.clusters[i].about, b.clusters[i].about);
    ASSERT_EQ(a.clusters[i].rows.size(), b.clusters[i].rows.size());
    EXPECT_EQ(std::memcmp(a.clusters[i].rows.data(), b.clusters[i].rows.data(),
                          a.clusters[i].rows.size() * sizeof(Row)),
              0);
  }
}

TEST(RecordingFile, HoldsWhatHappenedWithPlaces) {
  const TraceFile file("recording");
  const Outcome outcome = run(1, file.path());
  const Recording recording(file.content());
  expect_parts(recording.text("lnch"), {"\"kernel\":\"k\"", "\"recorded_clusters\":[0,0]"});
  expect_parts(recording.text("lend"), {"\"status\":\"finished\""});
  expect_parts(recording.text("plac"), {"[\"test.ptx\",", "\"mbarrier.try_wait.parity"});
  expect_parts(recording.text("kind"), {"{\"event\":\"mma_issue\",\"fields\":[[\"id\",\"number\""});
  ASSERT_EQ(recording.clusters.size(), 1u);
  const RecordedCluster& cluster = recording.clusters[0];
  expect_parts(cluster.about,
               {"\"ctas\":[[0,0,0]]", "\"barrier\":\"full\"", "\"texts\":[\"f8f6f4\"]"});
  EXPECT_TRUE(std::is_sorted(cluster.rows.begin(), cluster.rows.end(),
                             [](const Row& a, const Row& b) { return a.cycle < b.cycle; }));
  int64_t instructions = 0;
  for (const Row& row : cluster.of(RowKind::run)) {
    EXPECT_GE(cluster.value(row, "until"), static_cast<int64_t>(row.cycle));
    instructions += cluster.value(row, "instructions");
  }
  EXPECT_EQ(static_cast<uint64_t>(instructions), outcome.instructions);
  const std::vector<Row> landed = cluster.of(RowKind::copy_land);
  ASSERT_EQ(landed.size(), 3u);
  EXPECT_EQ(cluster.value(landed[0], "bytes"), kObservedCopyBytes);
  EXPECT_EQ(landed[0].barrier, 0u);  // the first that was initialised
  const std::vector<Row> issued = cluster.of(RowKind::mma_issue);
  const std::vector<Row> completed = cluster.of(RowKind::mma_complete);
  ASSERT_EQ(issued.size(), 1u);
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(cluster.value(issued[0], "columns"), kObservedColumns);
  EXPECT_EQ(cluster.of(RowKind::access).size(), 0u);
}

TEST(RecordingFile, KeepsTheWindowThatIsAskedFor) {
  const TraceFile file("recording");
  run(12, file.path(), 0, 1, "3-4", "400-2000");
  const Recording recording(file.content());
  expect_parts(recording.text("lnch"),
               {"\"recorded_clusters\":[3,4]", "\"recorded_cycles\":[400,2000]"});
  ASSERT_EQ(recording.clusters.size(), 2u);
  expect_parts(recording.clusters[0].about, {"\"cluster\":3"});
  for (const RecordedCluster& cluster : recording.clusters) {
    EXPECT_FALSE(cluster.rows.empty());
    for (const Row& row : cluster.rows) {
      EXPECT_GE(row.cycle, 400u);
      EXPECT_LE(row.cycle, 2000u);
    }
  }
}

TEST(RecordingFile, LeavesOutClustersThatThereAreTooManyOf) {
  const TraceFile file("recording");
  run(70, file.path());
  const Recording recording(file.content());
  expect_parts(recording.text("lnch"), {"\"clusters\":70", "\"recorded_clusters\":[0,63]"});
  EXPECT_EQ(recording.clusters.size(), 64u);
}

/// Records one cluster with room for few rows.
class SmallRecorder final : public LaunchObserver {
 public:
  explicit SmallRecorder(size_t most_rows) { window_.most_rows = most_rows; }
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override {
    return std::make_unique<trace::Recorder>(
        cluster, kinds_, window_,
        [this](trace::ClusterRecording&& recording) { recording_ = std::move(recording); });
  }
  [[nodiscard]] const trace::ClusterRecording& recording() const { return recording_; }

 private:
  trace::RowKinds kinds_ = trace::selected_kinds("");
  trace::RecordingWindow window_;
  trace::ClusterRecording recording_;
};

TEST(RecordingFile, WhatFindsNoRoomIsNoted) {
  const auto record = [](size_t most_rows) {
    Runner runner;
    auto owned = std::make_unique<SmallRecorder>(most_rows);
    const SmallRecorder& recorder = *owned;
    runner.device().observe(std::move(owned));
    auto out = runner.buffer(std::vector<uint32_t>(kObservedCopyBytes / 4, 0));
    auto in = runner.buffer(std::vector<uint32_t>(32, 7));
    runner.run(observed_kernel(), grid(1, 64), out, in);
    return recorder.recording();
  };
  const trace::ClusterRecording whole = record(1000), cut = record(20);
  EXPECT_FALSE(whole.full_at.has_value());
  ASSERT_GT(whole.rows.size(), 20u);
  EXPECT_EQ(cut.rows.size(), 20u);
  ASSERT_TRUE(cut.full_at.has_value());
  EXPECT_GE(*cut.full_at, cut.rows.front().cycle);
  EXPECT_LE(*cut.full_at, whole.rows.back().cycle);
}

TEST(RecordingFile, ADeadlockAndAFaultAreRecordedUpToThere) {
  const auto recorded = [](FaultKind kind, const std::string& body) {
    const TraceFile file("recording");
    Runner runner;
    runner.device().observe(std::make_unique<trace::RecordingFile>(file.path(), "", ""));
    expect_fault(kind, {},
                 [&] { runner.run(entry("", body, ".shared .align 8 .b64 bar;\n"), threads(1)); });
    return Recording(file.content());
  };
  const Recording stuck = recorded(FaultKind::deadlock, R"(
  .reg .pred %p<2>;
  mbarrier.init.shared::cta.b64 [bar], 1;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
  @!%p1 bra WAIT;
  ret;
)");
  expect_parts(stuck.text("lend"), {"\"status\":\"deadlock\""});
  ASSERT_EQ(stuck.clusters.size(), 1u);
  EXPECT_GT(stuck.clusters[0].of(RowKind::wait).size(), 0u);
  const Recording faulty = recorded(FaultKind::contract, R"(
  .reg .b64 %rd<2>;
  mbarrier.init.shared::cta.b64 [bar], 1;
  mbarrier.arrive.shared::cta.b64 %rd0, [bar], 2;
  ret;
)");
  expect_parts(faulty.text("lend"), {"\"status\":\"fault\""});
  ASSERT_EQ(faulty.clusters.size(), 1u);
  EXPECT_EQ(faulty.clusters[0].of(RowKind::mbarrier_init).size(), 1u);
}

TEST(RecordingFile, RefusesWhatItCannotDo) {
  expect_fault(FaultKind::launch, {"/no/such/folder/r", "BW_SIM_RECORDING"},
               [] { trace::RecordingFile("/no/such/folder/r", "", ""); });
  const TraceFile file("recording");
  for (const char* const range : {"x", "3-", "-3", "5-4", "1-2-3", "1,2"})
    expect_fault(FaultKind::launch, {"BW_SIM_RECORDING_CLUSTERS", range, "3-5"},
                 [&] { trace::RecordingFile(file.path(), range, ""); });
  expect_fault(FaultKind::launch, {"BW_SIM_RECORDING_CYCLES", "\"soon\""},
               [&] { trace::RecordingFile(file.path(), "", "soon"); });
}

}  // namespace
}  // namespace bw::sim::test::recording_file_test
