/// \file
/// A schedule is run again up to an event (Settings::until_event), on any number of host threads.
#include <string>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test::replay_test {
namespace {

/// Each CTA: the warps pass a word round, each after its own mbarrier; in CTA 2 the last one never
/// arrives, and warp 0 waits forever.
const std::string kRing = entry("",
                                R"(
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  mov.u32 %r0, %tid.x;
  shr.u32 %r1, %r0, 5;
  and.b32 %r2, %r0, 31;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra READY;
  mbarrier.init.shared::cta.b64 [bars], 1;
  mbarrier.init.shared::cta.b64 [bars+8], 1;
  mbarrier.init.shared::cta.b64 [bars+16], 1;
  mbarrier.init.shared::cta.b64 [bars+24], 1;
READY:
  bar.sync 0;
  mov.u32 %r3, bars;
  mad.lo.u32 %r4, %r1, 8, %r3;
  add.u32 %r5, %r4, 8;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra FIRST;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;
  @!%p2 bra WAIT;
  mov.u32 %r6, %ctaid.x;
  setp.eq.u32 %p3, %r6, 2;
  setp.eq.and.u32 %p3, %r1, 3, %p3;
  @%p3 bra DONE;
  setp.eq.u32 %p3, %r1, 3;
  selp.b32 %r5, %r3, %r5, %p3;
  setp.eq.u32 %p3, %r2, 0;
  @%p3 mbarrier.arrive.shared::cta.b64 _, [%r5];
  bra DONE;
FIRST:
  setp.eq.u32 %p3, %r2, 0;
  @%p3 mbarrier.arrive.shared::cta.b64 _, [%r5];
LAST:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bars], 0;
  @!%p2 bra LAST;
DONE:
)"
                                "  ret;\n",
                                ".shared .align 8 .b64 bars[4];\n");

Settings settings(uint64_t seed, uint32_t host_threads) {
  Settings chosen = test_settings(seed);
  chosen.host_threads = host_threads;
  chosen.seed_is_chosen = seed != 0;
  return chosen;
}

Report report_of(const Settings& chosen) {
  Runner runner(chosen);
  return expect_fault(FaultCode::deadlock, {"bars"}, [&] { runner.run(kRing, grid(6, 128)); });
}

Report stopped_at(Settings chosen, const EventNumber& number) {
  chosen.until_event = number;
  Runner runner(chosen);
  return expect_fault(FaultCode::cycle_limit,
                      {"has stopped before event " + number.text() + ", as BW_SIM_UNTIL_EVENT requests"},
                      [&] { runner.run(kRing, grid(6, 128)); });
}

TEST(Replay, AReportNamesTheSameEventOnAnyNumberOfThreads) {
  for (const uint64_t seed : {0u, 5u}) {
    const Report one = report_of(settings(seed, 1)), two = report_of(settings(seed, 2));
    ASSERT_TRUE(one.event && two.event);
    EXPECT_EQ(one.event, two.event);
    EXPECT_EQ(one.event->cluster, 2u);
    EXPECT_EQ(one.format(), two.format());
    const bool is_told = one.format().find("BW_SIM_SEED=5 BW_SIM_UNTIL_EVENT=" +
                                           one.event->text()) != std::string::npos;
    EXPECT_EQ(is_told, seed != 0) << one.format();
  }
}

TEST(Replay, ItStopsAtTheSameEventInTheSameState) {
  const EventNumber end = *report_of(settings(5, 1)).event;
  std::string last;
  for (const uint64_t event : {end.event, end.event / 2, end.event / 4, uint64_t{1}}) {
    const EventNumber number{0, end.cluster, event};
    const Report one = stopped_at(settings(5, 1), number);
    const Report two = stopped_at(settings(5, 2), number);
    EXPECT_EQ(one.format(), two.format());
    ASSERT_TRUE(one.event);
    EXPECT_EQ(one.event->event, event - 1);
    EXPECT_NE(one.format(), last);  // another event is another state
    last = one.format();
  }
  // Another seed is another schedule.
  const EventNumber middle{0, end.cluster, end.event / 2};
  EXPECT_NE(stopped_at(settings(5, 1), middle).where, stopped_at(settings(6, 1), middle).where);
}

TEST(Replay, AnEventThatDoesNotCome) {
  Settings chosen = settings(0, 1);
  chosen.until_event = EventNumber{0, 1, 1'000'000};
  Runner runner(chosen);
  expect_fault(FaultCode::setting_invalid,
               {"BW_SIM_UNTIL_EVENT is 0.1.1000000, but cluster 1 of launch 0 ends with its event"},
               [&] { runner.run(kRing, grid(2, 128)); });
  // Of another launch it is not this one's.
  chosen.until_event = EventNumber{1, 1, 1};
  Runner other(chosen);
  EXPECT_NO_THROW(other.run(kRing, grid(2, 128)));
  expect_fault(FaultCode::cycle_limit, {"1.1.1"}, [&] { other.run(kRing, grid(2, 128)); });
}

TEST(Replay, ARaceNamesTheEventOfItsSecondAccess) {
  const std::string kernel = entry("",
                                   R"(
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  mov.u32 %r0, %tid.x;
  st.shared.b32 [word], %r0;
  bar.sync 0;
)"
                                   "  ret;\n",
                                   ".shared .align 8 .b32 word;\n");
  Settings chosen = settings(3, 1);
  chosen.checks = Checks::races;
  const auto race = [&] {
    Runner runner(chosen);
    runner.run(kernel, threads(64));
  };
  const Report report = expect_fault(FaultCode::race_shared, {"again: "}, race);
  ASSERT_TRUE(report.event);
  chosen.until_event = report.event;
  // Before that event nothing has raced.
  const Report stopped = expect_fault(FaultCode::cycle_limit, {}, race);
  EXPECT_EQ(stopped.format().find("a race before that"), std::string::npos) << stopped.format();
  ++chosen.until_event->event;
  const Report behind = expect_fault(FaultCode::cycle_limit, {"a race before that"}, race);
}

}  // namespace
}  // namespace bw::sim::test::replay_test
