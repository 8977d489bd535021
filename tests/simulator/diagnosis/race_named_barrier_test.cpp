/// \file
/// Named barriers that two groups of warps use at once (pitfalls 11 and 37 of docs/pitfalls.md).
#include "tests/simulator/diagnosis/races.hpp"

namespace bw::sim::test::race_named_barrier_test {
namespace {

/// Warps below `split` run `lower`, the others `upper`.
std::string branches(int split, const std::string& lower, const std::string& upper) {
  return "  setp.lt.u32 %p0, %warp, " + std::to_string(split) + ";\n  @%p0 bra LOWER;\n" + upper +
         "  bra JOIN;\nLOWER:\n" + lower + "JOIN:\n";
}

/// Time between the two, so that each group meets on its own in these runs.
const std::string kLater = "  nanosleep.u32 3000;\n";

TEST(NamedBarrierRaces, TwoGroupsWithOneNumber) {
  const Report report = expect_race(
      {"barrier 1", "could as well fall into the phase of the first", "barriers of their own"},
      branches(2, "  bar.sync 1, 64;\n", kLater + "  bar.sync 1, 64;\n"), 128);
  EXPECT_EQ(report.code, FaultCode::barrier_shared) << report.format();
  EXPECT_NE(report.where.find("bar.sync"), std::string::npos) << report.where;
  expect_no_race(branches(2, "  bar.sync 1, 64;\n", kLater + "  bar.sync 2, 64;\n"), 128);
}

TEST(NamedBarrierRaces, SyncthreadsAndARolesBarrierZero) {
  // The lower warps meet at barrier 0 among themselves, then all do.
  const std::string meet = "  bar.sync 0;\n";
  expect_race({"barrier 0"}, branches(2, "  bar.sync 0, 64;\n", kLater) + meet, 128);
  expect_no_race(branches(2, "  bar.sync 3, 64;\n", kLater) + meet, 128);
}

TEST(NamedBarrierRaces, ReuseByThoseWhoWaitedIsFine) {
  std::string rounds;
  for (int i = 0; i < 4; ++i) rounds += "  bar.sync 1, 128;\n";
  expect_no_race(rounds, 128);
}

TEST(NamedBarrierRaces, ReuseByOthersBehindAnotherBarrier) {
  expect_no_race(branches(2, "  bar.sync 1, 64;\n  bar.sync 2, 128;\n",
                          "  bar.sync 2, 128;\n  bar.sync 1, 64;\n"),
                 128);
}

TEST(NamedBarrierRaces, ProducersThatOnlyArrive) {
  // Two barriers in turn: the producer arrives on 1 and waits at 2, the consumer the other way.
  std::string producer, consumer;
  for (int i = 0; i < 3; ++i) {
    producer += "  bar.arrive 1, 64;\n  bar.sync 2, 64;\n";
    consumer += "  bar.sync 1, 64;\n  bar.arrive 2, 64;\n";
  }
  expect_no_race(branches(1, producer, consumer), 64);
  // Time implies no order: the second arrival may come before the first phase is complete.
  expect_race({"barrier 1"},
              branches(1, "  bar.arrive 1, 64;\n" + kLater + "  bar.arrive 1, 64;\n",
                       "  bar.sync 1, 64;\n  bar.sync 1, 64;\n"),
              64);
}

}  // namespace
}  // namespace bw::sim::test::race_named_barrier_test
