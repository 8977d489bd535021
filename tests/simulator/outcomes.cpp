#include "tests/simulator/outcomes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/simulator/trace/event_lines.hpp"
#include "common/simulator/trace/recorder.hpp"

namespace bw::sim::test {
namespace {

const char* environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Read before any test, since tests change the environment.
const std::string kFile = environment("BW_TEST_OUTCOMES");
const std::string kChecks = environment("BW_TEST_CHECKS");
const std::string kTiming = environment("BW_TEST_TIMING");

bool is_on() { return !kFile.empty(); }

/// Where the level of checks is chosen, reports are what it is about.
bool all_is_noted() { return is_on() && kChecks.empty(); }

/// How often, and a hash of all (FNV-1a).
class Digest {
 public:
  void add(std::string_view bytes) {
    ++count_;
    for (const char c : bytes) hash_ = (hash_ ^ static_cast<uint8_t>(c)) * 0x100'0000'01b3u;
  }
  [[nodiscard]] std::string text() const {
    constexpr int kShownBits = 32;
    return fmt::format("{} {:08x}", count_, hash_ >> kShownBits);
  }

 private:
  uint64_t count_ = 0;
  uint64_t hash_ = 0xcbf2'9ce4'8422'2325u;
};

/// A text without numbers that are as long as addresses of the host's memory: the machine chooses
/// them.
std::string without_addresses(std::string_view text) {
  constexpr size_t kAddressDigits = 12;
  constexpr auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto length =
        static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
    if (length < kAddressDigits) out += text.substr(0, length);
    text.remove_prefix(length);
    if (text.empty()) break;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

/// By test, and what it is about. The file is written when the program ends.
class Outcomes {
 public:
  ~Outcomes() {
    std::FILE* const file = std::fopen(kFile.c_str(), "w");
    if (file == nullptr) return;
    for (const auto& [name, subjects] : tests_) {
      std::string line = name + ":";
      for (const auto& [subject, digest] : subjects) line += " " + subject + " " + digest.text();
      std::fprintf(file, "%s\n", line.c_str());
    }
    std::fclose(file);
  }
  void add(const std::string& subject, std::string_view bytes) {
    const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
    if (test == nullptr) return;
    tests_[std::string(test->test_suite_name()) + "." + test->name()][subject].add(bytes);
  }
  /// Tests that run thousands of kernels do the same over and over.
  bool has_room() {
    constexpr uint32_t kMostOfATest = 10'000;
    const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
    if (test != test_) events_ = 0;
    test_ = test;
    return ++events_ <= kMostOfATest;
  }
  static Outcomes& all() {
    static Outcomes outcomes;
    return outcomes;
  }

 private:
  std::map<std::string, std::map<std::string, Digest>> tests_;
  const testing::TestInfo* test_ = nullptr;  ///< the last one that asked
  uint32_t events_ = 0;                      ///< of it
};

/// "copy" of copy_issue, copy_read and copy_land.
std::string subject_of(trace::RowKind kind) {
  const std::string_view event = trace::kind_of(kind).event;
  return std::string(event.substr(0, event.find('_')));
}

class Log final : public LaunchObserver {
 public:
  Log() { kinds_.set(); }

  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override {
    auto recorder = std::make_unique<trace::Recorder>(
        cluster, kinds_, window_,
        [&kernel = cluster.kernel()](const trace::ClusterRecording& recording) {
          trace::Places places(kernel);
          const trace::EventLines lines(recording, kernel, places);
          for (const trace::Row& row : recording.rows)
            if (Outcomes::all().has_room())
              Outcomes::all().add(subject_of(row.kind), without_addresses(lines.fields_of(row)));
        });
    recorder->number_rows();
    return recorder;
  }
  void on_launch_end(const LaunchResult& result) override {
    Outcomes::all().add(
        "launch",
        fmt::format("{} {} {} {} {} {} {}", static_cast<int>(result.status), result.cycles,
                    result.warp_instructions, result.alone_cycles, result.memory_read_bytes,
                    result.memory_written_bytes, result.warnings.size()));
  }

 private:
  trace::RowKinds kinds_;
  trace::RecordingWindow window_;  // everything
};

}  // namespace

Settings with_chosen(Settings settings) {
  if (kChecks == "races") settings.checks = Checks::races;
  if (kTiming == "model") settings.timing = TimingModel::model;
  return settings;
}

void note_launches(Device& device) {
  if (all_is_noted()) device.observe(std::make_unique<Log>());
}

void note_report(const Report& report) {
  if (is_on()) Outcomes::all().add("report", without_addresses(report.format()));
}

void note_memory(const void* bytes, size_t size_bytes) {
  if (all_is_noted()) Outcomes::all().add("memory", {static_cast<const char*>(bytes), size_bytes});
}

}  // namespace bw::sim::test
