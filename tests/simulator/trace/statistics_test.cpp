/// \file
/// The statistics of launches whose counts are known by hand, and that the parts of a warp's time
/// add up to it.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <regex>

#include "common/simulator/trace/statistics_file.hpp"
#include "tests/simulator/observed_kernel.hpp"
#include "tests/simulator/trace/trace_file.hpp"

namespace bw::sim::test::statistics_test {
namespace {

Settings settings_of(TimingModel timing, uint64_t seed = 0) {
  Settings settings = test_settings(seed);
  settings.timing = timing;
  return settings;
}

/// The record of one launch: `k` gets a buffer of `words` words.
std::string record_of(const std::string& text, const LaunchConfiguration& configuration,
                      const Settings& settings, size_t words = 1024) {
  const TraceFile file("statistics.jsonl");
  {
    Runner runner(settings);
    runner.device().observe(std::make_unique<trace::StatisticsFile>(file.path()));
    auto data = runner.buffer(std::vector<uint32_t>(words, 1));
    runner.run(text, configuration, data);
  }
  return file.content();
}

std::string observed_record(const Settings& settings, uint32_t ctas = 1) {
  const TraceFile file("statistics.jsonl");
  {
    Runner runner(settings);
    runner.device().observe(std::make_unique<trace::StatisticsFile>(file.path()));
    auto out = runner.buffer(std::vector<uint32_t>(size_t{ctas} * kObservedCopyBytes / 4, 0));
    auto in = runner.buffer(std::vector<uint32_t>(32, 1));
    runner.run(observed_kernel(), grid(ctas, 64), out, in);
  }
  return file.content();
}

/// The number after these names, each looked for after the one before.
uint64_t number(const std::string& record, std::initializer_list<const char*> names) {
  size_t at = 0;
  for (const char* const name : names) {
    const std::string wanted = "\"" + std::string(name) + "\":";
    at = record.find(wanted, at);
    EXPECT_NE(at, std::string::npos) << name << " in " << record;
    if (at == std::string::npos) return 0;
    at += wanted.size();
  }
  return std::stoull(record.substr(at));
}

/// A warp's part of a record.
struct OfWarp {
  uint64_t cycles = 0;
  uint64_t parts = 0;  ///< issued, stalls and waits
  std::string text;
};

std::vector<OfWarp> warps_of(const std::string& record) {
  static const std::regex warp(
      R"re(\{"rank":\d+,"warp":\d+,"warps":\d+,"cycles":(\d+),"instructions":\d+,"issued":(\d+),"stalls":\{([^}]*)\},"waits":\[([^\]]*)\]\})re");
  static const std::regex stall(R"re(:(\d+))re"), wait(R"re("cycles":(\d+))re");
  std::vector<OfWarp> all;
  for (std::sregex_iterator found(record.begin(), record.end(), warp), end; found != end; ++found) {
    OfWarp one{std::stoull((*found)[1]), std::stoull((*found)[2]), found->str()};
    const auto add = [&](const std::string& text, const std::regex& value) {
      for (std::sregex_iterator part(text.begin(), text.end(), value); part != end; ++part)
        one.parts += std::stoull((*part)[1]);
    };
    add((*found)[3], stall);
    add((*found)[4], wait);
    all.push_back(one);
  }
  return all;
}

TEST(Statistics, NamesTheLaunch) {
  const std::string record = observed_record(settings_of(TimingModel::model));
  EXPECT_TRUE(record.starts_with("{\"statistics\":1,\"machine\":\"b200\",")) << record;
  EXPECT_EQ(std::count(record.begin(), record.end(), '\n'), 1);
  EXPECT_NE(record.find("\"kernel\":\"k\",\"grid\":[1,1,1],\"block\":[64,1,1]"), std::string::npos);
  EXPECT_NE(record.find("\"timing\":\"model\""), std::string::npos);
  EXPECT_NE(record.find("\"ptx\":\"9.0\""), std::string::npos);
  EXPECT_NE(record.find("\"status\":\"finished\""), std::string::npos);
  EXPECT_EQ(number(record, {"sms"}), 8u);
}

TEST(Statistics, NamesTheVersionOfTheModulesPtx) {
  const std::string text =
      ".version 9.5\n.target sm_100a\n.address_size 64\n"
      ".visible .entry k(.param .u64 data) { ret; }";
  EXPECT_NE(record_of(text, grid(1, 32), settings_of(TimingModel::simple)).find("\"ptx\":\"9.5\""),
            std::string::npos);
}

TEST(Statistics, BytesByPath) {
  for (const TimingModel timing : {TimingModel::simple, TimingModel::model}) {
    const std::string record = observed_record(settings_of(timing), 3);
    const auto copies = [&](const char* unit, const char* direction) {
      const size_t at = record.find("{\"unit\":\"" + std::string(unit) + "\",\"direction\":\"" +
                                    direction + "\"");
      EXPECT_NE(at, std::string::npos) << unit << " " << direction;
      const std::string part = record.substr(std::min(at, record.size()));
      return std::pair{number(part, {"copies"}), number(part, {"bytes"})};
    };
    EXPECT_EQ(copies("bulk", "load"), (std::pair<uint64_t, uint64_t>{3, 3 * 64}));
    EXPECT_EQ(copies("bulk", "store"), (std::pair<uint64_t, uint64_t>{3, 3 * 64}));
    EXPECT_EQ(copies("cp_async", "load").second, 3u * 128);
    EXPECT_EQ(number(record, {"mmas"}), 3u);
    // A column of 32 lanes.
    EXPECT_EQ(number(record, {"tensor_memory_read_bytes"}), 3u * 128);
    EXPECT_EQ(number(record, {"tensor_memory_written_bytes"}), 3u * 128);
    EXPECT_EQ(number(record, {"ctas"}), 3u);
    EXPECT_EQ(record.find("\"l2\":") != std::string::npos, timing == TimingModel::model);
  }
}

/// Each warp loads a line of its own twice, and moves 32 words through shared memory: once without
/// and twice with all lanes in one bank.
const std::string& memory_kernel() {
  static const std::string text = entry(".param .u64 data", R"(
  .shared .align 128 .b8 tile[4096];
  .reg .u64 p, q; .reg .u32 lane, cta, s, t, r0, r1, r2;
  ld.param.u64 p, [data]; mov.u32 lane, %tid.x; mov.u32 cta, %ctaid.x; mov.u32 s, tile;
  mad.wide.u32 q, cta, 128, p; mad.wide.u32 q, lane, 4, q;
  mad.lo.u32 t, lane, 128, s; mad.lo.u32 s, lane, 4, s;
  ld.global.u32 r0, [q];
  ld.global.u32 r1, [q];
  st.shared.u32 [s], r0;
  bar.warp.sync 0xffffffff;
  st.shared.u32 [t], r1;
  bar.warp.sync 0xffffffff;
  ld.shared.u32 r2, [t];
  st.global.u32 [q], r2;
  ret;
)");
  return text;
}

TEST(Statistics, HitsPassesAndConflicts) {
  constexpr uint64_t kCtas = 4, kLine = 128;
  const std::string record =
      record_of(memory_kernel(), grid(kCtas, 32), settings_of(TimingModel::model));
  EXPECT_EQ(number(record, {"threads_shared_memory", "read_bytes"}), kCtas * kLine);
  EXPECT_EQ(number(record, {"threads_shared_memory", "written_bytes"}), kCtas * 2 * kLine);
  EXPECT_EQ(number(record, {"threads_shared_memory", "passes"}), kCtas * (1 + 32 + 32));
  EXPECT_EQ(number(record, {"threads_shared_memory", "conflict_passes"}), kCtas * (31 + 31));
  EXPECT_EQ(number(record, {"l1", "miss_bytes"}), kCtas * kLine);
  EXPECT_EQ(number(record, {"l1", "hit_bytes"}), kCtas * kLine);
  EXPECT_EQ(number(record, {"l2", "thread_load", "hit_bytes"}), 0u);
  EXPECT_EQ(number(record, {"l2", "thread_load", "miss_bytes"}), kCtas * kLine);
  EXPECT_EQ(number(record, {"l2", "thread_store", "hit_bytes"}), kCtas * kLine);
  EXPECT_EQ(number(record, {"l2", "tma_load", "hit_bytes"}), 0u);
  EXPECT_EQ(number(record, {"memory", "read_bytes"}), kCtas * kLine);
}

TEST(Statistics, InstructionsAreThoseOfTheText) {
  for (const TimingModel timing : {TimingModel::simple, TimingModel::model}) {
    const std::string record = record_of(memory_kernel(), grid(4, 32), settings_of(timing));
    EXPECT_EQ(number(record, {"warps", "warps"}), 4u);
    EXPECT_EQ(number(record, {"warps", "instructions"}), 4u * 17);
  }
}

TEST(Statistics, ThePartsOfAWarpsTimeAddUpToIt) {
  for (const TimingModel timing : {TimingModel::simple, TimingModel::model})
    for (const uint64_t seed : {0, 7}) {
      const std::string observed = observed_record(settings_of(timing, seed), 3);
      const std::string memory = record_of(memory_kernel(), grid(4, 32), settings_of(timing, seed));
      ASSERT_EQ(warps_of(observed).size(), 2u) << observed;
      ASSERT_EQ(warps_of(memory).size(), 1u) << memory;
      for (const std::string& record : {observed, memory})
        for (const OfWarp& warp : warps_of(record)) {
          EXPECT_GT(warp.cycles, 0u);
          EXPECT_EQ(warp.parts, warp.cycles) << warp.text;
        }
    }
}

TEST(Statistics, WhatIsStalledForWhat) {
  const std::string record =
      record_of(memory_kernel(), grid(1, 32), settings_of(TimingModel::model));
  // The first store needs what was loaded from the memory, the last one what comes from the banks.
  EXPECT_GT(number(record, {"stalls", "global"}), 400u);
  EXPECT_GT(number(record, {"stalls", "shared"}), 0u);
  EXPECT_EQ(number(record, {"stalls", "issue"}), 0u) << "nobody else is there";
}

TEST(Statistics, AWaitNamesItsBarrier) {
  const std::string record = observed_record(settings_of(TimingModel::model));
  const std::vector<OfWarp> warps = warps_of(record);
  ASSERT_EQ(warps.size(), 2u);
  // Warp 1 waits for nothing but `full`, the CTA's barrier and the cluster's.
  const std::string& waits = warps[1].text;
  const size_t at = waits.find("{\"for\":\"mbarrier\",\"barrier\":");
  ASSERT_NE(at, std::string::npos) << waits;
  EXPECT_EQ(number(waits.substr(at), {"times"}), 1u);
  EXPECT_GT(number(waits.substr(at), {"cycles"}), 0u);
  const uint64_t index = number(waits.substr(at), {"barrier"});
  size_t barrier = record.find("\"barriers\":[");
  for (uint64_t i = 0; i <= index; ++i) barrier = record.find("{\"barrier_rank\":", barrier + 1);
  EXPECT_NE(
      record.substr(barrier, record.find('}', barrier) - barrier).find("\"barrier\":\"full\""),
      std::string::npos)
      << record;
  EXPECT_NE(waits.find("\"for\":\"cluster_barrier\""), std::string::npos) << waits;
}

TEST(Statistics, ABarriersWaitIsAsLongAsTheOtherWarpSleeps) {
  const std::string text = entry(".param .u64 data", R"(
  .reg .u32 t; .reg .pred waits;
  mov.u32 t, %tid.x; setp.ge.u32 waits, t, 32;
  @waits bra MEET;
  nanosleep.u32 100000;
MEET:
  bar.sync 3;
  ret;
)");
  const std::string record = record_of(text, threads(64), settings_of(TimingModel::model));
  const std::vector<OfWarp> warps = warps_of(record);
  ASSERT_EQ(warps.size(), 2u);
  const uint64_t slept = number(warps[0].text, {"for\":\"sleep\",\"times\":1,\"cycles"});
  const uint64_t waited =
      number(warps[1].text, {"for\":\"named_barrier\",\"id\":3,\"times\":1,\"cycles"});
  EXPECT_GT(slept, 10'000u);
  EXPECT_NEAR(static_cast<double>(waited), static_cast<double>(slept), 100);
}

TEST(Statistics, LanesThatRunWhileOthersWaitDontMakeAWarpWait) {
  // Half of the lanes loop while the others wait for them.
  const std::string text = entry(".param .u64 data", R"(
  .shared .align 8 .b64 bar;
  .reg .u32 t, n; .reg .pred first, done, works, more;
  mov.u32 t, %tid.x; setp.eq.u32 first, t, 0; setp.ge.u32 works, t, 16; mov.u32 n, 0;
  @first mbarrier.init.shared.b64 [bar], 16;
  bar.warp.sync 0xffffffff;
  @works bra WORK;
WAIT:
  mbarrier.try_wait.parity.shared.b64 done, [bar], 0;
  @!done bra WAIT;
  bra END;
WORK:
  add.u32 n, n, 1; setp.lt.u32 more, n, 500;
  @more bra WORK;
  mbarrier.arrive.shared.b64 _, [bar];
END:
  ret;
)");
  for (const TimingModel timing : {TimingModel::simple, TimingModel::model}) {
    const std::string record = record_of(text, threads(32), settings_of(timing));
    const std::vector<OfWarp> warps = warps_of(record);
    ASSERT_EQ(warps.size(), 1u);
    EXPECT_EQ(warps[0].parts, warps[0].cycles) << warps[0].text;
    // Of some ten thousand cycles.
    EXPECT_LT(number(warps[0].text, {"waits", "cycles"}), warps[0].cycles / 100) << warps[0].text;
  }
}

TEST(Statistics, AreTheSameOnAnyNumberOfHostThreads) {
  Settings settings = settings_of(TimingModel::model);
  const std::string one = observed_record(settings, 24);
  settings.host_threads = 8;
  EXPECT_EQ(observed_record(settings, 24), one);
}

TEST(Statistics, ChangeNoCycles) {
  const auto cycles = [](bool counted) {
    const TraceFile file("statistics.jsonl");
    Runner runner(settings_of(TimingModel::model));
    if (counted) runner.device().observe(std::make_unique<trace::StatisticsFile>(file.path()));
    auto data = runner.buffer(std::vector<uint32_t>(1024, 1));
    return runner.run(memory_kernel(), grid(8, 32), data).cycles;
  };
  EXPECT_EQ(cycles(true), cycles(false));
}

TEST(Statistics, ALaunchThatIsStuckHasALineWithoutCounts) {
  const TraceFile file("statistics.jsonl");
  {
    Runner runner(settings_of(TimingModel::model));
    runner.device().observe(std::make_unique<trace::StatisticsFile>(file.path()));
    auto data = runner.buffer(std::vector<uint32_t>(32, 1));
    const std::string text = entry(".param .u64 data", R"(
  .shared .align 8 .b64 bar; .reg .pred done;
  mbarrier.init.shared.b64 [bar], 1;
WAIT:
  mbarrier.try_wait.parity.shared.b64 done, [bar], 0;
  @!done bra WAIT;
  ret;
)");
    expect_fault(FaultKind::deadlock, {}, [&] { runner.run(text, threads(1), data); });
  }
  const std::string record = file.content();
  EXPECT_NE(record.find("\"status\":\"deadlock\""), std::string::npos) << record;
  EXPECT_EQ(number(record, {"ctas"}), 0u);
  EXPECT_NE(record.find("\"warps\":[]"), std::string::npos) << record;
}

TEST(Statistics, AFileThatCantBeWrittenIsAFault) {
  expect_fault(FaultCode::output_file, {"/no/such/folder/s.jsonl", "BW_SIM_STATISTICS"},
               [] { trace::StatisticsFile("/no/such/folder/s.jsonl"); });
}

/// An MMA of m x n x k multiplies and adds as often.
TEST(Statistics, OperationsOfMmas) {
  for (const uint32_t ctas : {1u, 3u})
    EXPECT_EQ(number(observed_record(settings_of(TimingModel::simple), ctas), {"mma_operations"}),
              2ull * 128 * kObservedColumns * 32 * ctas);
}

TEST(Statistics, WhatCtasUseAddsUp) {
  const std::string of_one = observed_record(settings_of(TimingModel::model)),
                    of_three = observed_record(settings_of(TimingModel::model), 3);
  for (const char* const resource : {"issue_slots", "shared_memory_cycles", "tensor_cycles"}) {
    EXPECT_GT(number(of_one, {"used", resource}), 0u) << resource;
    EXPECT_GT(number(of_three, {"used", resource}), 2 * number(of_one, {"used", resource}))
        << resource;
  }
}

}  // namespace
}  // namespace bw::sim::test::statistics_test
