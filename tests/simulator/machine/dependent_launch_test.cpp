/// \file
/// Programmatic dependent launch: when grids begin, wait and end, by the device's clock. With the
/// simple model a launch takes no time of its own, so that the orders are exact.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/machine/earlier_grids.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/observer.hpp"
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::dependent_launch_test {
namespace {

/// What happened, in device time.
struct Happening {
  Cycle at = 0;
  std::string what;  ///< "A0 begins": launch A, CTA 0
};

using Happenings = std::vector<Happening>;

class Watcher final : public Observer {
 public:
  Watcher(Happenings& all, Cluster& cluster) : all_(all), cluster_(cluster) {}
  [[nodiscard]] EventKinds wants() const override {
    return event_kinds(EventKind::cta) | event_kinds(EventKind::order);
  }
  void on_cta(const CtaEvent& event) override {
    add(event.cycle, event.cta.index.x, event.starts ? "begins" : "ends");
  }
  void on_order(const OrderEvent& event) override {
    const uint32_t cta = cluster_.ctas()[event.origin.cta_rank].index.x;
    if (event.operation == OrderEvent::Operation::grid_wait) add(event.cycle, cta, "has waited");
    if (event.operation == OrderEvent::Operation::grid_launch_dependents)
      add(event.cycle, cta, "triggers");
  }

 private:
  void add(Cycle at, uint32_t cta, const char* verb) {
    const Grid& grid = cluster_.grid();
    const char name = static_cast<char>('A' + grid.number());
    all_.push_back({grid.begin() + at, fmt::format("{}{} {}", name, cta, verb)});
  }
  Happenings& all_;
  Cluster& cluster_;
};

class Watch final : public LaunchObserver {
 public:
  explicit Watch(Happenings& all) : all_(all) {}
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override {
    return std::make_unique<Watcher>(all_, cluster);
  }

 private:
  Happenings& all_;
};

/// PTX of a kernel that does these steps: `trigger`, `wait`, `count` (an atomic in global memory,
/// which makes clusters advance in lockstep), a number of nanoseconds to sleep, or `*` and a number
/// that each CTA sleeps times its index.
std::string steps(const std::string& list) {
  std::string body =
      "  .reg .b32 %r<4>;\n  .reg .b64 %rd<2>;\n  mov.u32 %r0, %ctaid.x;\n  mov.u64 %rd0, "
      "counter;\n";
  std::istringstream words(list);
  for (std::string word; words >> word;) {
    if (word == "trigger") {
      body += "  griddepcontrol.launch_dependents;\n";
    } else if (word == "wait") {
      body += "  griddepcontrol.wait;\n";
    } else if (word == "count") {
      body += "  atom.global.add.u32 %r2, [%rd0], 1;\n";
    } else if (word.front() == '*') {
      body += fmt::format("  mul.lo.u32 %r1, %r0, {};\n  nanosleep.u32 %r1;\n", word.substr(1));
    } else {
      body += fmt::format("  nanosleep.u32 {};\n", word);
    }
  }
  return entry("", body + "  ret;\n", ".global .align 4 .u32 counter;");
}

/// One CTA an SM: all of its shared memory.
LaunchConfiguration filling(uint32_t ctas, bool is_dependent = true) {
  LaunchConfiguration configuration = grid(ctas, 32);
  configuration.dynamic_shared_bytes = kSharedBytesPerBlock;
  configuration.is_dependent = is_dependent;
  return configuration;
}
LaunchConfiguration small(uint32_t ctas) {
  LaunchConfiguration configuration = grid(ctas, 32);
  configuration.is_dependent = true;
  return configuration;
}

class DependentLaunch : public testing::Test {
 protected:
  explicit DependentLaunch(TimingModel model = TimingModel::simple) : runner_(settings(model)) {
    runner_.device().observe(std::make_unique<Watch>(all_));
  }
  static Settings settings(TimingModel model) {
    Settings settings = test_settings();
    settings.timing = model;
    settings.sm_count = 2;
    return settings;
  }
  LaunchResult run(const std::string& list, const LaunchConfiguration& configuration) {
    return runner_.run(steps(list), configuration);
  }
  /// All that has happened, in order of time.
  std::vector<std::string> order() {
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Happening& a, const Happening& b) { return a.at < b.at; });
    std::vector<std::string> names;
    for (const Happening& one : all_) names.push_back(one.what);
    return names;
  }
  Cycle at(const std::string& what) {
    for (const Happening& one : all_)
      if (one.what == what) return one.at;
    ADD_FAILURE() << what << " has not happened";
    return 0;
  }
  Device& device() { return runner_.device(); }

  Happenings all_;
  Runner runner_;
};

using Names = std::vector<std::string>;

TEST_F(DependentLaunch, TheNextGridBeginsWhenAllCtasHaveTriggeredAndWaitsForTheirEnd) {
  run("*1000 trigger 5000", small(2));
  run("300 wait 100", small(1));
  EXPECT_EQ(order(), (Names{"A0 begins", "A1 begins", "A0 triggers", "A1 triggers", "B0 begins",
                            "A0 ends", "A1 ends", "B0 has waited", "B0 ends"}));
  EXPECT_EQ(at("B0 begins"), at("A1 triggers"));
  EXPECT_EQ(at("B0 has waited"), at("A1 ends"));
  EXPECT_EQ(device().clock(), at("B0 ends"));
}

TEST_F(DependentLaunch, WithoutTheAttributeItBeginsAfterTheEnd) {
  run("trigger 5000", small(2));
  LaunchConfiguration ordinary = small(1);
  ordinary.is_dependent = false;
  run("300 wait 100", ordinary);
  EXPECT_EQ(order(), (Names{"A0 begins", "A1 begins", "A0 triggers", "A1 triggers", "A0 ends",
                            "A1 ends", "B0 begins", "B0 has waited", "B0 ends"}));
}

TEST_F(DependentLaunch, WithoutATriggerTheEndIsOne) {
  run("*1000 5000", small(2));
  run("300 wait", small(1));
  EXPECT_EQ(at("B0 begins"), at("A1 ends"));
  EXPECT_GT(at("B0 has waited"), at("B0 begins"));
}

TEST_F(DependentLaunch, AWaitAfterTheEndTakesNoTime) {
  run("trigger 500", small(1));
  run("9000 wait", small(1));
  EXPECT_EQ(order(), (Names{"A0 begins", "A0 triggers", "B0 begins", "A0 ends", "B0 has waited",
                            "B0 ends"}));
  EXPECT_LT(at("B0 has waited"), at("B0 ends") + 10);
}

TEST_F(DependentLaunch, AGridThatDoesNotWaitMayEndFirst) {
  run("trigger 9000", small(1));
  run("100", small(1));
  EXPECT_EQ(order(), (Names{"A0 begins", "A0 triggers", "B0 begins", "B0 ends", "A0 ends"}));
  EXPECT_EQ(device().clock(), at("A0 ends")) << "a timestamp comes after both";
}

TEST_F(DependentLaunch, InAChainOfThreeEachWaitsForTheOneBefore) {
  run("trigger 5000", small(1));
  run("trigger 100 wait 3000", small(1));
  run("200 wait 50", small(1));
  EXPECT_EQ(order(), (Names{"A0 begins", "A0 triggers", "B0 begins", "B0 triggers", "C0 begins",
                            "A0 ends", "B0 has waited", "B0 ends", "C0 has waited", "C0 ends"}));
  EXPECT_EQ(at("C0 begins"), at("B0 triggers"));
  EXPECT_EQ(at("C0 has waited"), at("B0 ends"));
}

TEST_F(DependentLaunch, TheWaitOfTheThirdCoversTheSecondAlone) {
  run("trigger 9000", small(1));
  run("trigger 1000", small(1));
  run("wait", small(1));
  EXPECT_EQ(at("C0 has waited"), at("B0 ends"));
  EXPECT_LT(at("C0 ends"), at("A0 ends"));
}

TEST_F(DependentLaunch, ACtaBeginsWhereOneHasLeftRoom) {
  // Two SMs, one CTA on each: CTA 0 of B takes the room of CTA 0 of A, which ends first.
  run("trigger 2000 *3000", filling(2));
  run("100 wait", filling(2));
  EXPECT_EQ(at("B0 begins"), at("A0 ends"));
  EXPECT_EQ(at("B1 begins"), at("A1 ends"));
  // B0's wait passes when B1 begins; B1 has nothing to wait for.
  EXPECT_EQ(order(), (Names{"A0 begins", "A1 begins", "A0 triggers", "A1 triggers", "A0 ends",
                            "B0 begins", "A1 ends", "B0 has waited", "B1 begins", "B0 ends",
                            "B1 has waited", "B1 ends"}));
}

TEST_F(DependentLaunch, TheFirstCtaTakesTheRoomThatIsFreeFirst) {
  // CTA 0 of A ends last, so that CTA 0 of B is on the other SM.
  run("trigger *1 2000", filling(1));
  run("100 wait", filling(1));
  EXPECT_EQ(at("B0 begins"), at("A0 triggers")) << "the other SM is free";
  EXPECT_LT(at("B0 begins"), at("A0 ends"));
}

TEST_F(DependentLaunch, CtasOfTheFirstGridThatHaveNotBegunComeFirst) {
  // Four CTAs on two SMs: the last two begin, and trigger, when the first two have ended. (CTAs
  // that follow others are observed in their own time.)
  run("trigger 1000", filling(4));
  EXPECT_EQ(device().earlier_grids()->triggered, at("A0 ends") + at("A2 triggers"));
  run("wait", filling(2));
  EXPECT_EQ(at("B0 begins"), at("A0 ends") + at("A2 ends"));
}

TEST_F(DependentLaunch, ClustersInLockstepWaitTooAndFollowEachOther) {
  run("trigger count 9000", filling(2));
  run("count 100 wait 300", filling(4));
  for (const char* const cta : {"B0", "B1", "B2", "B3"})
    EXPECT_GE(at(std::string(cta) + " has waited"), at("A1 ends")) << cta;
  EXPECT_GE(at("B2 begins"), std::min(at("B0 ends"), at("B1 ends")));
}

TEST_F(DependentLaunch, ClustersTakeTheRoomOfTheirLastCta) {
  run("trigger 2000 *3000", filling(2));
  LaunchConfiguration pair = filling(2);
  pair.cluster = {2, 1, 1};
  run("wait", pair);
  EXPECT_EQ(at("B0 begins"), at("A1 ends"));
  EXPECT_EQ(at("B1 begins"), at("A1 ends"));
}

TEST_F(DependentLaunch, ATimestampBetweenThemSeparatesThem) {
  run("trigger 5000", small(1));
  device().take_time();
  run("wait", small(1));
  EXPECT_GE(at("B0 begins"), at("A0 ends"));
}

TEST_F(DependentLaunch, ThreadsThatSpinMeanwhileAreNoLivelock) {
  constexpr uint64_t kPatience = 2000;
  Runner runner(settings(TimingModel::simple));
  runner.run(steps("trigger 60000"), small(1));
  runner.device().settings().livelock_cycles = kPatience;
  // Warp 1 spins on shared memory until warp 0 has waited.
  LaunchConfiguration two_warps = small(1);
  two_warps.block = {64, 1, 1};
  const LaunchResult result = runner.run(entry("", R"(
  .reg .pred %p<3>;
  .reg .b32 %r<4>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, flag;
  setp.eq.u32 %p0, %r0, 0;
  @%p0 st.shared.u32 [%r1], 0;
  bar.sync 0;
  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra SPIN;
  griddepcontrol.wait;
  @%p0 st.volatile.shared.u32 [%r1], 1;
  ret;
SPIN:
  ld.volatile.shared.u32 %r2, [%r1];
  setp.eq.u32 %p2, %r2, 0;
  @%p2 bra SPIN;
  ret;
)",
                                               ".shared .align 4 .b32 flag;"),
                                         two_warps);
  EXPECT_EQ(result.status, RunStatus::finished);
  EXPECT_GT(result.cycles, 10 * kPatience);
}

TEST(EarlierGrids, RoomNeedsRegistersThreadsSharedMemoryAndSlots) {
  EarlierGrids earlier;
  const auto room = [&](const CtaResources& kept, const CtaResources& each, uint32_t count) {
    earlier.stays = {{.sm = 0, .end = 500, .resources = kept},
                     {.sm = 0, .end = 900, .resources = kept},
                     {.sm = 1, .end = 700, .resources = kept}};
    return earlier.room_on(0, each, count, 100);
  };
  using Begins = std::vector<Cycle>;
  EXPECT_EQ(room({32768, 64, 1024}, {32768, 64, 1024}, 2), (Begins{400, 800})) << "registers";
  EXPECT_EQ(room({2048, 1024, 1024}, {2048, 1024, 1024}, 2), (Begins{400, 800})) << "threads";
  EXPECT_EQ(room({2048, 64, 100 * 1024}, {2048, 64, 100 * 1024}, 2), (Begins{400, 800}))
      << "shared memory";
  EXPECT_EQ(room({2048, 64, 1024}, {1024, 32, 1024}, 32).back(), 800u) << "CTA slots";
  EXPECT_EQ(room({2048, 64, 1024}, {1024, 32, 1024}, 30).back(), 0u) << "30 and two fit";
}

/// With launches' own times, which the tables give.
class TimedDependentLaunch : public DependentLaunch {
 protected:
  TimedDependentLaunch() : DependentLaunch(TimingModel::model) {}
};

TEST_F(TimedDependentLaunch, TheNextGridFollowsTheTrigger) {
  const TimingTable& times = *device().settings().times();
  run("trigger 50000", small(1));
  run("wait", small(1));
  EXPECT_EQ(at("B0 begins"), at("A0 triggers") + times.dependent_launch_cycles);
  EXPECT_EQ(at("B0 has waited"), at("A0 ends") + times.dependent_wait_cycles);
  // Otherwise the attribute would cost time.
  EXPECT_LT(times.dependent_launch_cycles, times.next_launch);
  EXPECT_LT(times.dependent_wait_cycles, times.next_launch);
}

TEST_F(TimedDependentLaunch, ACtaFollowsAnotherOneInItsRoom) {
  const TimingTable& times = *device().settings().times();
  run("trigger 50000 *30000", filling(2));
  run("wait", filling(2));
  EXPECT_EQ(at("B0 begins"), at("A0 ends") + times.cta_turnover);
  EXPECT_EQ(at("B1 begins"), at("A1 ends") + times.cta_turnover);
  EXPECT_EQ(at("B0 has waited"), at("A1 ends") + times.dependent_wait_cycles);
  // B's CTA 1 begins where A's has ended, which is before the wait returns.
  EXPECT_LT(at("B1 begins"), at("B0 has waited"));
}

}  // namespace
}  // namespace bw::sim::test::dependent_launch_test
