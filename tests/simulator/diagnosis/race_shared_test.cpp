/// \file
/// Races of threads in shared memory: barriers, warps, scopes, clusters.
#include <array>
#include <set>
#include <string>

#include "common/simulator/diagnosis/races/watch.hpp"
#include "tests/simulator/diagnosis/races.hpp"

namespace bw::sim::test::race_shared_test {
namespace {

/// Every thread of warp 0 writes its word; then `between`; then warp 1 reads them.
std::string hand_over(const std::string& between) {
  return R"(
  setp.eq.u32 %p0, %warp, 0;
  mad.lo.u32 %r0, %lane, 4, %d;
  @%p0 st.shared.u32 [%r0], %t;
)" + between +
         R"(
  @!%p0 ld.shared.u32 %r1, [%r0];
)";
}

TEST(RaceShared, TwoWarpsWithoutABarrier) {
  expect_race({"race:", "store", "load", "the two threads have not synchronised", "data"},
              hand_over(""), 64);
}

TEST(RaceShared, ABarrierOrders) {
  expect_no_race(hand_over("bar.sync 0;"), 64);
  expect_no_race(hand_over("barrier.sync 3, 64;"), 64);
  expect_no_race(hand_over("barrier.cluster.arrive;\nbarrier.cluster.wait;"), 64);
  // The writers only arrive, the readers wait.
  expect_no_race(hand_over("@%p0 bar.arrive 2, 64;\n@!%p0 bar.sync 2, 64;"), 64);
}

TEST(RaceShared, AnArrivalOfTheReadersOrdersNothing) {
  expect_race({"store", "load"}, hand_over("@!%p0 bar.arrive 2, 64;\n@%p0 bar.sync 2, 64;"), 64);
}

TEST(RaceShared, ARelaxedClusterBarrierOrdersNothing) {
  expect_race({"is .relaxed"}, hand_over("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;"),
              64);
  // With a fence before it, it does.
  expect_no_race(hand_over("fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed;\n"
                           "barrier.cluster.wait;"),
                 64);
}

/// Warp 0 stores four matrices of 8 rows of 16 bytes, a row each lane; warp 1 reads a word of one.
TEST(RaceShared, MatricesAreWrittenRowByRow) {
  const auto kernel = [](int first_byte) {
    return R"(
  setp.eq.u32 %p0, %warp, 0;
  mad.lo.u32 %r0, %lane, 32, %d;
  @%p0 stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r0], {%t, %t, %t, %t};
  add.u32 %r2, %d, )" +
           std::to_string(first_byte) +
           R"(;
  @!%p0 st.shared.u32 [%r2], %t;
)";
  };
  for (const int written : {0, 12, 32, 31 * 32 + 12})
    expect_race({"stmatrix", "st.shared.u32"}, kernel(written), 64);
  for (const int between : {16, 28, 32 * 32}) expect_no_race(kernel(between), 64);
}

/// The same for loads, which race with a store.
TEST(RaceShared, MatricesAreReadRowByRow) {
  const auto kernel = [](int first_byte) {
    return R"(
  mad.lo.u32 %r0, %t, 16, %d;
  st.shared.v4.u32 [%r0], {%t, %t, %t, %t};
  bar.sync 0;
  setp.eq.u32 %p0, %warp, 0;
  mad.lo.u32 %r0, %lane, 32, %d;
  @%p0 ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4, %r5}, [%r0];
  add.u32 %r2, %d, )" +
           std::to_string(first_byte) +
           R"(;
  @!%p0 st.shared.u32 [%r2], %t;
)";
  };
  for (const int read : {0, 12, 15 * 32 + 12})
    expect_race({"ldmatrix", "st.shared.u32"}, kernel(read), 64);
  for (const int unread : {16, 16 * 32}) expect_no_race(kernel(unread), 64);
}

/// wmma.store and wmma.load access lines of 16 elements that are `stride` elements apart.
TEST(RaceShared, WmmaAccessesLineByLine) {
  const auto store = [](int first_byte) {
    return R"(
  setp.eq.u32 %p0, %warp, 0;
  @%p0 wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [data], {%t, %t, %t, %t, %t, %t, %t, %t}, 32;
  add.u32 %r2, %d, )" +
           std::to_string(first_byte) +
           R"(;
  @!%p0 st.shared.u32 [%r2], %t;
)";
  };
  for (const int written : {0, 60, 128, 15 * 128 + 60})
    expect_race({"wmma.store", "st.shared.u32"}, store(written), 64);
  for (const int between : {64, 124, 15 * 128 + 64}) expect_no_race(store(between), 64);

  const auto load = [](const char* space, const char* place, int first_byte, const char* between) {
    const std::string text(space);
    return R"(
  setp.eq.u32 %p0, %warp, 0;
  @!%p0 st.)" +
           text + ".u32 [" + place + "+" + std::to_string(first_byte) + "], %t;\n" + between +
           "\n  @%p0 wmma.load.a.sync.aligned.col.m16n16k16." + text +
           ".f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [" + place + "], 24;\n";
  };
  const std::pair<const char*, const char*> kPlaces[] = {{"shared", "data"}, {"global", "%out"}};
  for (const auto& [space, place] : kPlaces) {
    for (const int read : {0, 28, 15 * 48 + 28})
      expect_race({"wmma.load", "st."}, load(space, place, read, ""), 64);
    expect_no_race(load(space, place, 0, "bar.sync 0;"), 64);
    for (const int unread : {32, 44, 15 * 48 + 32})
      expect_no_race(load(space, place, unread, ""), 64);
  }
}

/// Half of a warp has handed something on, so its lanes do not know the same.
TEST(RaceShared, LanesThatKnowDifferentThingsMayWriteOnePlace) {
  for (const char* const place : {"st.shared.u32 [%d], %t;", "st.global.u32 [%out], %t;"})
    expect_no_race(std::string(R"(
  setp.lt.u32 %p0, %lane, 16;
  setp.eq.u32 %p1, %lane, 0;
  @%p1 mbarrier.init.shared::cta.b64 [bar], 16;
  bar.warp.sync 0xffffffff;
  @%p0 mbarrier.arrive.shared::cta.b64 _, [bar];
  )") + place + "\n",
                   32);
}

/// The readers of what was written overwrite it.
TEST(RaceShared, ReadThenWrittenWithoutABarrier) {
  expect_race({"store", "has read"}, R"(
  mad.lo.u32 %r0, %lane, 4, %d;
  setp.eq.u32 %p0, %warp, 0;
  @!%p0 nanosleep.u32 2000;
  @%p0 ld.shared.u32 %r1, [%r0];
  @!%p0 st.shared.u32 [%r0], %t;
)",
              64);
}

TEST(RaceShared, NeighbouringBytesAreNoRace) {
  expect_no_race(R"(
  add.u32 %r0, %d, %t;
  st.shared.u8 [%r0], %t;
  ld.shared.u8 %r1, [%r0];
)",
                 64);
}

TEST(RaceShared, LanesOfAWarpNeedAWarpSync) {
  const auto kernel = [](const std::string& between) {
    return R"(
  mad.lo.u32 %r0, %lane, 4, %d;
  st.shared.u32 [%r0], %t;
)" + between +
           R"(
  xor.b32 %r1, %lane, 1;
  mad.lo.u32 %r1, %r1, 4, %d;
  ld.shared.u32 %r2, [%r1];
)";
  };
  expect_race({"two lanes of the warp", "__syncwarp"}, kernel(""), 32);
  expect_no_race(kernel("bar.warp.sync 0xffffffff;"), 32);
  expect_no_race(kernel("vote.sync.any.pred %p1, %p2, 0xffffffff;"), 32);
  expect_no_race(kernel("bar.sync 0;"), 32);
  // elect.sync chooses a lane and orders nothing.
  expect_race({"two lanes of the warp"}, kernel("elect.sync _|%p1, 0xffffffff;"), 32);
}

TEST(RaceShared, ALaneReadsWhatItWroteItself) {
  expect_no_race(R"(
  mad.lo.u32 %r0, %t, 16, %d;
  st.shared.v4.u32 [%r0], {%t, %t, %t, %t};
  ld.shared.u32 %r1, [%r0+4];
  st.shared.u8 [%r0+7], %t;
)",
                 64);
}

TEST(RaceShared, AnMbarrierOrders) {
  const std::string init = R"(
  setp.eq.u32 %p1, %t, 0;
  @%p1 mbarrier.init.shared::cta.b64 [bar], 32;
  bar.sync 0;
)";
  const auto kernel = [&](const std::string& arrive, const std::string& wait) {
    return init + hand_over("@%p0 " + arrive + R"( _, [bar];
  @%p0 bra DONE;
WAIT:
  )" + wait + R"( %p2, [bar], 0;
  @!%p2 bra WAIT;
DONE:
)");
  };
  const std::string wait = "mbarrier.try_wait.parity.shared::cta.b64";
  expect_no_race(kernel("mbarrier.arrive.shared::cta.b64", wait), 64);
  expect_race({"is .relaxed"}, kernel("mbarrier.arrive.relaxed.cta.shared::cta.b64", wait), 64);
  expect_race({"is .relaxed"},
              kernel("mbarrier.arrive.shared::cta.b64",
                     "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64"),
              64);
}

/// One lane arrives for 32.
TEST(RaceShared, OneLaneArrivesForTheWarp) {
  const auto kernel = [](const std::string& sync) {
    return R"(
  setp.eq.u32 %p1, %t, 0;
  @%p1 mbarrier.init.shared::cta.b64 [bar], 1;
  bar.sync 0;
)" + hand_over(sync + R"(
  setp.eq.u32 %p3, %t, 0;
  @%p3 mbarrier.arrive.shared::cta.b64 _, [bar];
  @%p0 bra DONE;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
  @!%p2 bra WAIT;
DONE:
)");
  };
  expect_race({"store", "load"}, kernel(""), 64);
  expect_no_race(kernel("bar.warp.sync 0xffffffff;"), 64);
}

TEST(RaceShared, AFlagNeedsReleaseAndAcquire) {
  const auto kernel =
      [](const std::string& store, const std::string& load, const std::string& behind = "") {
        return R"(
  setp.eq.u32 %p1, %t, 0;
  mov.u32 %r2, 0;
  @%p1 st.shared.u32 [word], %r2;
  bar.sync 0;
  setp.eq.u32 %p0, %t, 0;
  @!%p0 bra READER;
  st.shared.u32 [%d], %t;
  mov.u32 %r3, 1;
)" + store +
               R"( [word], %r3;
  bra DONE;
READER:
  setp.ne.u32 %p2, %t, 32;
  @%p2 bra DONE;
SPIN:
)" + load + R"( %r4, [word];
  setp.eq.u32 %p3, %r4, 0;
  @%p3 bra SPIN;
)" + behind + R"(
  ld.shared.u32 %r5, [%d];
DONE:
)";
      };
  expect_no_race(kernel("st.release.cta.shared.u32", "ld.acquire.cta.shared.u32"), 64);
  expect_no_race(
      kernel("fence.acq_rel.cta;\nst.relaxed.cta.shared.u32", "ld.acquire.cta.shared.u32"), 64);
  expect_no_race(
      kernel("membar.cta;\nst.volatile.shared.u32", "ld.volatile.shared.u32", "membar.cta;"), 64);
  expect_race({"is .relaxed"},
              kernel("membar.cta;\nst.volatile.shared.u32", "ld.volatile.shared.u32"), 64);
  expect_race({"is .relaxed"}, kernel("st.relaxed.cta.shared.u32", "ld.acquire.cta.shared.u32"),
              64);
  expect_race({"word"}, kernel("st.shared.u32", "ld.shared.u32"), 64);
}

TEST(RaceShared, AtomicsDoNotRaceWithEachOther) {
  const auto kernel = [](const std::string& after) {
    return R"(
  setp.eq.u32 %p1, %t, 0;
  mov.u32 %r2, 0;
  @%p1 st.shared.u32 [word], %r2;
  bar.sync 0;
  atom.shared.add.u32 %r3, [word], 1;
)" + after +
           R"(
  @%p1 ld.shared.u32 %r4, [word];
)";
  };
  expect_no_race(kernel("bar.sync 0;"), 64);
  expect_race({"atomic", "load"}, kernel(""), 64);
}

/// Every lane of warp 0 writes its word and counts itself; the last lane of warp 1 reads them all.
TEST(RaceShared, ManyLanesCountThemselvesBehindAFence) {
  const auto kernel = [](const std::string& fence) {
    return R"(
  setp.eq.u32 %p1, %t, 0;
  mov.u32 %r2, 0;
  @%p1 st.shared.u32 [word], %r2;
  bar.sync 0;
  setp.eq.u32 %p0, %warp, 0;
  @!%p0 bra READER;
  mad.lo.u32 %r0, %lane, 4, %d;
  st.shared.u32 [%r0], %t;
)" + fence +
           R"(
  atom.relaxed.cta.shared.add.u32 %r3, [word], 1;
  bra DONE;
READER:
  setp.ne.u32 %p2, %t, 32;
  @%p2 bra DONE;
SPIN:
  ld.relaxed.cta.shared.u32 %r4, [word];
  setp.lt.u32 %p3, %r4, 32;
  @%p3 bra SPIN;
  fence.acq_rel.cta;
  ld.shared.u32 %r5, [%d];
  ld.shared.u32 %r5, [%d+124];
DONE:
)";
  };
  expect_no_race(kernel("fence.acq_rel.cta;"), 64);
  expect_race({"store", "load"}, kernel(""), 64);
}

/// Half of the lanes access shared memory by generic addresses, the others global memory.
TEST(RaceShared, GenericAddressesMayLieInSeveralSpaces) {
  const auto kernel = [](const std::string& between) {
    return R"(
  setp.lt.u32 %p0, %lane, 16;
  cvt.u64.u32 %rd1, %d;
  cvta.shared.u64 %rd1, %rd1;
  selp.b64 %rd2, %rd1, %out, %p0;
  mad.wide.u32 %rd2, %lane, 4, %rd2;
  setp.eq.u32 %p1, %warp, 0;
  @%p1 st.u32 [%rd2], %t;
)" + between +
           R"(
  setp.eq.u32 %p2, %warp, 1;
  and.pred %p2, %p2, %p0;
  @%p2 ld.u32 %r1, [%rd2];
)";
  };
  expect_no_race(kernel("bar.sync 0;"), 64);
  const Report report = expect_race({"shared memory at data"}, kernel(""), 64);
  EXPECT_EQ(report.what.find("CTA rank"), std::string::npos) << report.what;
}

/// Rank 1 writes rank 0's memory.
TEST(RaceCluster, AStoreToAnotherCta) {
  const auto kernel = [](const std::string& between) {
    return R"(
  setp.eq.u32 %p0, %rank, 1;
  mapa.shared::cluster.u32 %r0, %d, 0;
  @%p0 st.shared::cluster.u32 [%r0], %t;
)" + between +
           R"(
  setp.eq.u32 %p1, %rank, 0;
  @%p1 ld.shared.u32 %r1, [%d];
  barrier.cluster.arrive;
  barrier.cluster.wait;
)";
  };
  expect_race({"the two CTAs have not synchronised", "CTA rank 0"}, kernel("bar.sync 0;"), 1, 2);
  expect_no_race(kernel("barrier.cluster.arrive;\nbarrier.cluster.wait;"), 1, 2);
}

TEST(RaceCluster, TheScopeOfARemoteArriveCounts) {
  const auto kernel = [](const std::string& arrive, const std::string& wait) {
    return R"(
  @%p0 mov.u32 %r9, 0;
  setp.eq.u32 %p0, %rank, 1;
  mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mapa.shared::cluster.u32 %r0, %d, 0;
  mov.u32 %r2, bar;
  mapa.shared::cluster.u32 %r3, %r2, 0;
  @!%p0 bra WAIT;
  st.shared::cluster.u32 [%r0], %t;
)" + arrive +
           R"( _, [%r3];
  bra END;
WAIT:
)" + wait + R"( %p2, [bar], 0;
  @!%p2 bra WAIT;
  ld.shared.u32 %r1, [%d];
END:
  barrier.cluster.arrive;
  barrier.cluster.wait;
)";
  };
  const std::string arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64";
  const std::string wait = "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64";
  expect_no_race(kernel(arrive, wait), 1, 2);
  expect_race({"scope .cta"}, kernel("mbarrier.arrive.release.cta.shared::cluster.b64", wait), 1,
              2);
  expect_race({"scope .cta"},
              kernel(arrive, "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64"), 1, 2);
}

TEST(RaceReport, NamesBothLinesOnceAndCountsTheRest) {
  // A loop that races in a thousand places.
  const Report report = expect_race({"store", "load", "first:", "second:", "times more"}, R"(
  setp.eq.u32 %p0, %warp, 0;
  mov.u32 %r2, 0;
LOOP:
  mad.lo.u32 %r0, %r2, 4, %d;
  @%p0 st.shared.u32 [%r0], %t;
  @!%p0 ld.shared.u32 %r1, [%r0];
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 1000;
  @%p1 bra LOOP;
)",
                                    64);
  EXPECT_LE(report.details.size(), 6u) << report.format();
}

TEST(RaceReport, IsTheSameForAnyNumberOfHostThreads) {
  // Every CTA races, each in its own word.
  const std::string body = R"(
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r0, %r2, 4, %d;
  st.shared.u32 [%r0], %t;
)";
  const auto report_with = [&](uint32_t host_threads) {
    Settings settings = race_settings();
    settings.host_threads = host_threads;
    Runner runner(settings);
    const auto out = runner.buffer(std::vector<uint32_t>(64, 0));
    return expect_fault(FaultKind::contract, {"store"},
                        [&] { runner.run(race_kernel(body), grid(32, 64), out, out); })
        .format();
  };
  const std::string one = report_with(1);
  EXPECT_NE(one.find("CTA (0,0,0)"), std::string::npos) << one;
  EXPECT_NE(one.find("31 times more"), std::string::npos) << one;
  EXPECT_EQ(report_with(4), one);
}

/// Two threads of a grid of three extents, in different clusters, write one word.
TEST(RaceReport, PlacesNameTheirCtas) {
  const std::string body = R"(
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ctaid.y;
  mov.u32 %r2, %ctaid.z;
  mad.lo.u32 %r0, %r1, 10, %r0;
  mad.lo.u32 %r0, %r2, 100, %r0;
  setp.eq.u32 %p0, %r0, 0;
  setp.eq.or.u32 %p0, %r0, 251, %p0;
  setp.eq.and.u32 %p0, %t, 35, %p0;
  @%p0 st.global.u32 [%out], %r0;
)";
  for (const bool in_clusters : {true, false}) {
    Runner runner(race_settings());
    const auto out = runner.buffer(std::vector<uint32_t>(64, 0));
    LaunchConfiguration configuration = threads(64);
    configuration.grid = {2, 6, 3};
    if (in_clusters) configuration.cluster = {2, 3, 1};
    const auto place_of = [&](const char* cta, const char* rank) {
      return std::string(cta) + (in_clusters ? rank : "") + ", warp 1";
    };
    const Report report =
        expect_fault(FaultKind::contract,
                     {place_of("CTA (0,0,0)", " rank 0"), place_of("CTA (1,5,2)", " rank 5")},
                     [&] { runner.run(race_kernel(body), configuration, out, out); });
    ASSERT_EQ(report.places.size(), 2u);
    std::set<std::array<uint32_t, 3>> ctas;
    for (const ReportPlace& place : report.places) {
      ASSERT_TRUE(place.cta);
      ctas.insert(*place.cta);
      EXPECT_EQ(place.cta_rank.has_value(), in_clusters);
      EXPECT_EQ(place.cta_rank.value_or(0), in_clusters && place.cta->front() == 1 ? 5u : 0u);
      EXPECT_EQ(place.warp, 1u);
      EXPECT_EQ(place.opcode, "st.global.u32");
      EXPECT_EQ(place.kernel, "k");
    }
    EXPECT_EQ(ctas, (std::set<std::array<uint32_t, 3>>{{0, 0, 0}, {1, 5, 2}}));
  }
}

TEST(RaceReport, AFaultThatFollowsStandsBelowTheRace) {
  // The address that the reader computes from the early value is invalid.
  const Report report = expect_race({"race:", "then the run ended"}, R"(
  setp.eq.u32 %p0, %warp, 0;
  mov.u32 %r0, 16777216;
  @%p0 st.shared.u32 [word], %r0;
  @%p0 bra END;
  nanosleep.u32 5000;
  ld.shared.u32 %r1, [word];
  ld.shared.u32 %r2, [%r1];
END:
)",
                                    64);
  EXPECT_NE(report.what.find("word"), std::string::npos) << report.what;
}

TEST(RaceDetector, IsSilentWhereOnlyContractsAreChecked) {
  EXPECT_NO_THROW(run_races(hand_over(""), 64, 1, test_settings()));
}

/// Thread 0 initialises `bar`; a thread of warp 1 stores a byte there or in the next barrier.
TEST(RaceShared, AnInitWritesEveryByteOfItsBarrierAndNoOther) {
  const auto kernel = [](const std::string& place) {
    return "setp.eq.u32 %p0, %t, 0;\nsetp.eq.u32 %p1, %t, 32;\nmov.u32 %r1, bar2;\n"
           "@%p0 mbarrier.init.shared.b64 [bar], 1;\n@%p1 st.shared.u8 [" +
           place + "], %t;\n";
  };
  for (const char* const place : {"bar", "bar+7"})
    expect_race({"mbarrier.init", "st.shared.u8"}, kernel(place), 64);
  expect_no_race(kernel("bar2"), 64);
}

TEST(RaceShared, EveryUseOfABarrierWhoseInitIsNotKnownIsFound) {
  expect_fault(FaultKind::contract, {"mbarrier.init", "also:"}, [] {
    run_races(R"(
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %warp, 0;
  @%p0 mbarrier.init.shared.b64 [bar], 1;
  @%p1 bra DONE;
  nanosleep.u32 2000;
  mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1;
  mbarrier.test_wait.parity.shared.b64 %p3, [bar], 1;
DONE:
)",
              64);
  });
}

/// Strong accesses of one location have one order: its reader may write it, each lane its own,
/// whether another write is between the two or not.
TEST(RaceShared, AStrongReadComesBeforeTheReadersOwnWrite) {
  for (const std::string pause : {"", "nanosleep.u32 4000;\n"})
    for (const std::string place : {"0", "4", "8", "12"})
      expect_no_race(
          "mul.wide.u32 %rd0, %lane, 16;\nadd.u64 %rd0, %rd0, %out;\nadd.u64 %rd0, %rd0, " + place +
              ";\nsetp.eq.u32 %p0, %warp, 0;\n@%p0 bra FIRST;\n"
              "ld.relaxed.gpu.global.u32 %r1, [%rd0];\n" +
              pause + "st.relaxed.gpu.global.u32 [%rd0], %t;\nbra DONE;\nFIRST:\n" +
              (pause.empty() ? "" : "nanosleep.u32 1000;\n") +
              "st.relaxed.gpu.global.u32 [%rd0], %t;\nDONE:\n",
          64);
}

/// A lane that has read a flag without a fence may access the volatile data before it; a lane of
/// the same warp that has not read it may not.
TEST(RaceShared, AFlagThatALaneHasReadOrdersItsVolatileData) {
  const auto kernel = [](const std::string& first_reader) {
    return R"(
  mad.lo.u32 %r0, %lane, 4, %d;
  setp.eq.u32 %p0, %warp, 0;
  @!%p0 bra READER;
  st.volatile.shared.u32 [%r0], %t;
  membar.cta;
  st.relaxed.cta.shared.u32 [%r0+2048], %t;
  bra DONE;
READER:
  nanosleep.u32 1000;
  setp.ge.u32 %p1, %lane, )" +
           first_reader + R"(;
  @%p1 ld.relaxed.cta.shared.u32 %r2, [%r0+2048];
  ld.volatile.shared.u32 %r3, [%r0];
DONE:
)";
  };
  expect_no_race(kernel("0"), 64);
  expect_race({"ld.volatile", "warp 1, lane 0", "the two threads have not synchronised"},
              kernel("1"), 64);
}

/// The detector tells how much shared memory the largest launch so far has used.
TEST(RaceShared, TheLargestUseOfSharedMemoryIsKept) {
  Runner runner(race_settings());
  const auto out = runner.buffer(std::vector<uint32_t>(4096, 0));
  const auto used = [&](uint32_t thread_count) {
    runner.run(
        race_kernel("mad.lo.u32 %r0, %t, 16, %d;\nst.shared.v4.u32 [%r0], {%t, %t, %t, %t};\n"),
        threads(thread_count), out, out);
    return races::watch_of(runner.device())->shared_memory().bytes;
  };
  const uint64_t of_32 = used(32);
  EXPECT_GT(of_32, 0u);
  const uint64_t of_256 = used(256);
  EXPECT_GT(of_256, of_32);
  EXPECT_EQ(used(32), of_256);
}

}  // namespace
}  // namespace bw::sim::test::race_shared_test
