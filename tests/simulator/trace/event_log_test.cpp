/// \file
/// The event log: its lines, their order, and what it does with bad settings.
#include "common/simulator/trace/event_log.hpp"

#include <algorithm>
#include <memory>
#include <sstream>

#include "tests/simulator/observed_kernel.hpp"
#include "tests/simulator/trace/trace_file.hpp"

namespace bw::sim::test::event_log_test {
namespace {

std::vector<std::string> lines_of(const TraceFile& file) {
  std::istringstream text(file.content());
  std::vector<std::string> all;
  for (std::string line; std::getline(text, line);) all.push_back(line);
  return all;
}

/// The lines of a launch of `ctas` CTAs.
std::vector<std::string> log_of(uint32_t ctas, const std::string& kinds,
                                uint32_t host_threads = 1) {
  const TraceFile file("events.jsonl");
  Settings settings = test_settings();
  settings.host_threads = host_threads;
  Runner runner(settings);
  runner.device().observe(std::make_unique<trace::EventLog>(file.path(), kinds));
  auto out = runner.buffer(std::vector<uint32_t>(size_t{ctas} * kObservedCopyBytes / 4, 0));
  auto in = runner.buffer(std::vector<uint32_t>(32, 1));
  runner.run(observed_kernel(), grid(ctas, 64), out, in);
  return lines_of(file);
}

std::vector<std::string> only(const std::vector<std::string>& lines, const std::string& event) {
  std::vector<std::string> found;
  for (const std::string& line : lines)
    if (line.starts_with("{\"event\":\"" + event + "\"")) found.push_back(line);
  return found;
}

/// The number after `"name":`.
uint64_t number(const std::string& line, const std::string& name) {
  const size_t at = line.find("\"" + name + "\":");
  EXPECT_NE(at, std::string::npos) << name << " in " << line;
  return at == std::string::npos ? 0 : std::stoull(line.substr(at + name.size() + 3));
}

void expect_fields(const std::string& line, const std::vector<std::string>& fields) {
  for (const std::string& field : fields)
    EXPECT_NE(line.find(field), std::string::npos) << field << " in " << line;
}

TEST(EventLog, TellsAnMbarriersPhase) {
  const std::vector<std::string> lines = log_of(1, "");
  EXPECT_TRUE(lines.front().starts_with("{\"event\":\"launch\",\"launch\":0,\"kernel\":\"k\","));
  expect_fields(lines.front(), {"\"grid\":[1,1,1]", "\"block\":[64,1,1]", "\"clusters\":1"});
  expect_fields(lines.back(), {"\"event\":\"launch_end\"", "\"status\":\"finished\""});
  const std::string barrier =
      "\"barrier_rank\":0,\"barrier_offset\":" +
      std::to_string(number(only(lines, "mbarrier_init")[0], "barrier_offset")) +
      ",\"barrier\":\"full\"";
  const std::vector<std::string> expect_tx = only(lines, "mbarrier_expect_tx");
  ASSERT_EQ(expect_tx.size(), 1u);
  expect_fields(expect_tx[0],
                {"\"cta\":[0,0,0],\"rank\":0,\"warp\":0,\"lanes\":1,", "\"file\":\"test.ptx\"",
                 "\"opcode\":\"mbarrier.arrive.expect_tx", "\"bytes\":64", "\"phase\":0",
                 "\"pending\":1", "\"tx\":64", barrier});
  const std::vector<std::string> complete = only(lines, "mbarrier_complete");
  ASSERT_EQ(complete.size(), 2u);
  expect_fields(complete[0],
                {"\"phase\":0,\"parity\":0,\"pending\":0", barrier, "\"opcode\":\"cp.async.bulk."});
  // Two warps wait for full, one for done: a test that fails, and after the completion one that
  // passes.
  const std::vector<std::string> tests = only(lines, "mbarrier_wait");
  ASSERT_EQ(tests.size(), 6u);
  for (const std::string& test : tests)
    expect_fields(test, {"\"waited_phase\":0", "\"parity\":0", "\"try\":true"});
  EXPECT_EQ(std::count_if(tests.begin(), tests.end(),
                          [](const std::string& test) {
                            return test.find("\"done\":true") != std::string::npos;
                          }),
            3);
  const std::vector<std::string> waits = only(lines, "wait"), resumes = only(lines, "resume");
  EXPECT_EQ(waits.size(), resumes.size());
  expect_fields(resumes[2], {"\"why\":\"event\""});
  EXPECT_TRUE(only(lines, "run").empty());
  EXPECT_TRUE(only(lines, "access").empty());
}

TEST(EventLog, OrderIsByClusterThenByCycleForAnyNumberOfThreads) {
  const std::vector<std::string> lines = log_of(12, "all", 1);
  EXPECT_EQ(lines, log_of(12, "all", 4));
  EXPECT_FALSE(only(lines, "run").empty());
  EXPECT_FALSE(only(lines, "access").empty());
  uint64_t cluster = 0, cycle = 0;
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    const uint64_t next = number(lines[i], "cluster");
    if (next != cluster) {
      EXPECT_EQ(next, cluster + 1);
      cluster = next;
      cycle = 0;
    }
    EXPECT_GE(number(lines[i], "cycle"), cycle) << lines[i];
    cycle = number(lines[i], "cycle");
  }
  EXPECT_EQ(cluster, 11u);
}

TEST(EventLog, KeepsOnlyTheEventsAskedFor) {
  const std::vector<std::string> lines = log_of(1, "copy_land,fence");
  EXPECT_EQ(lines.size(), 2 + only(lines, "copy_land").size() + only(lines, "fence").size());
  EXPECT_EQ(only(lines, "copy_land").size(), 3u);
  EXPECT_EQ(only(lines, "fence").size(), 4u);
}

TEST(EventLog, BarriersOfOneInitAreStages) {
  const TraceFile file("events.jsonl");
  Runner runner;
  runner.device().observe(std::make_unique<trace::EventLog>(file.path(), "mbarrier_init"));
  runner.run(entry("", R"(
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  mov.u32 %r0, bar;
  mov.u32 %r1, 0;
NEXT:
  mbarrier.init.shared::cta.b64 [%r0], 1;
  add.u32 %r0, %r0, 8;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p0, %r1, 3;
  @%p0 bra NEXT;
  ret;
)",
                   ".shared .align 8 .b64 bar[3];\n"),
             threads(1));
  const std::vector<std::string> inits = only(lines_of(file), "mbarrier_init");
  ASSERT_EQ(inits.size(), 3u);
  for (size_t stage = 0; stage < 3; ++stage) {
    EXPECT_EQ(number(inits[stage], "stage"), stage);
    EXPECT_EQ(number(inits[stage], "stages"), 3u);
  }
  expect_fields(inits[1], {"\"barrier\":\"bar+8\""});
}

TEST(EventLog, ADeadlockStillWritesWhatHappened) {
  const TraceFile file("events.jsonl");
  Runner runner;
  runner.device().observe(std::make_unique<trace::EventLog>(file.path(), ""));
  expect_fault(FaultKind::deadlock, {"waits for phase 0"}, [&] {
    runner.run(entry("", R"(
  .reg .pred %p<2>;
  mbarrier.init.shared::cta.b64 [bar], 1;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
  @!%p1 bra WAIT;
  ret;
)",
                     ".shared .align 8 .b64 bar;\n"),
               threads(1));
  });
  const std::vector<std::string> lines = lines_of(file);
  EXPECT_EQ(only(lines, "mbarrier_init").size(), 1u);
  EXPECT_FALSE(only(lines, "wait").empty());
  expect_fields(lines.back(), {"\"event\":\"launch_end\"", "\"status\":\"deadlock\""});
}

TEST(EventLog, RefusesWhatItCannotDo) {
  expect_fault(FaultKind::launch, {"/no/such/folder/events", "BW_SIM_EVENTS"},
               [] { trace::EventLog("/no/such/folder/events", ""); });
  const TraceFile file("events.jsonl");
  expect_fault(FaultKind::launch, {"BW_SIM_EVENT_KINDS", "\"arrive\"", "mbarrier_arrive"},
               [&] { trace::EventLog(file.path(), "wait,arrive"); });
}

TEST(EventLog, ARunIsWhatAWarpExecutesOfOneLine) {
  const TraceFile file("runs.jsonl");
  Runner runner;
  runner.device().observe(std::make_unique<trace::EventLog>(file.path(), "run"));
  runner.run(entry("",
                   ".reg .b32 %r<4>;\n.loc 1 5 1\nmov.b32 %r0, 1;\nadd.u32 %r0, %r0, 2;\n"
                   ".loc 1 6 1\nadd.u32 %r0, %r0, 3;\n.loc 1 9 1\nadd.u32 %r0, %r0, 4;\n"
                   "add.u32 %r0, %r0, 5;\nadd.u32 %r0, %r0, 6;\n.loc 1 10 1\nret;\n",
                   ".file 1 \"kernel.cu\"\n"),
             threads(32));
  std::vector<std::pair<uint64_t, uint64_t>> runs;
  for (const std::string& line : only(lines_of(file), "run"))
    runs.emplace_back(number(line, "line"), number(line, "instructions"));
  EXPECT_EQ(runs, (std::vector<std::pair<uint64_t, uint64_t>>{{5, 2}, {6, 1}, {9, 3}, {10, 1}}));
}

}  // namespace
}  // namespace bw::sim::test::event_log_test
