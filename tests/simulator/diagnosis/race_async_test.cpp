/// \file
/// Races with asynchronous operations in shared memory: completion, proxies, sources,
/// mbarrier.init.
#include "tests/simulator/diagnosis/races.hpp"

namespace bw::sim::test::race_async_test {
namespace {

/// Thread 0 initialises `bar` for one arrival.
std::string init(const std::string& fence = "fence.mbarrier_init.release.cluster;") {
  return R"(
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %warp, 1;
  @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
  @%p0 mbarrier.init.shared::cta.b64 [bar2], 1;
)" + fence +
         R"(
  bar.sync 0;
)";
}

/// Thread 0 loads 128 bytes to `data` and tells `bar`.
constexpr const char* kLoad = R"(
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
  @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [data], [%in], 128, [bar];
)";

/// All threads wait for phase `parity` of `bar`.
std::string wait(const std::string& label, int parity, const std::string& barrier = "bar") {
  return label + ":\n  mbarrier.try_wait.parity.shared::cta.b64 %p7, [" + barrier + "], " +
         std::to_string(parity) + ";\n  @!%p7 bra " + label + ";\n";
}

/// Warp 1 reads what was loaded.
constexpr const char* kRead = R"(
  mad.lo.u32 %r0, %lane, 4, %d;
  @%p1 ld.shared.u32 %r1, [%r0];
)";

TEST(RaceAsync, ALoadIsThereWhenItsBarrierWasWaitedFor) {
  expect_no_race(init() + kLoad + wait("FULL", 0) + kRead, 64);
  // Told on by a barrier of the CTA.
  expect_no_race(
      init() + kLoad + "@!%p0 bra MEET;\n" + wait("FULL", 0) + "MEET:\n  bar.sync 0;\n" + kRead,
      64);
  expect_race({"bulk copy", "load", "a wait for its completion"},
              init() + kLoad + "bar.sync 0;\n" + kRead + wait("FULL", 0), 64);
}

TEST(RaceAsync, WaitingForAnotherBarrierIsNotEnough) {
  const std::string both = R"(
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar2], 128;
  @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [data], [%in], 128, [bar];
  @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [data+128], [%in], 128, [bar2];
)";
  expect_race({"bulk copy", "load"}, init() + both + wait("FULL", 0, "bar2") + kRead + wait("L", 0),
              64);
  expect_no_race(init() + both + wait("FULL", 0) + kRead + wait("L", 0, "bar2"), 64);
  // Two copies that share one barrier.
  expect_no_race(init() + R"(
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
  @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [data], [%in], 64, [bar];
  @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [data+64], [%in], 64, [bar];
)" + wait("FULL", 0) +
                     kRead,
                 64);
}

/// Warp 1 reads the stage, releases it, and thread 0 loads into it again.
std::string reuse(const std::string& before_release, const std::string& after_acquire) {
  return init() + kLoad + wait("FULL", 0) + kRead + before_release + R"(
  bar.warp.sync 0xffffffff;
  setp.eq.u32 %p3, %t, 32;
  @%p3 mbarrier.arrive.shared::cta.b64 _, [bar2];
  @!%p0 bra LAST;
)" + wait("EMPTY", 0, "bar2") +
         after_acquire + kLoad + "LAST:\n" + wait("AGAIN", 1);
}

TEST(RaceAsync, AReleasedStageNeedsAProxyFence) {
  const Report report = expect_race(
      {"bulk copy", "which the load has read", "without a proxy fence", "fence.proxy.async"},
      reuse("", ""), 64);
  EXPECT_NE(report.rule.find("Proxies"), std::string::npos);
  // By the reader before it releases, or by the producer after it has acquired.
  expect_no_race(reuse("fence.proxy.async.shared::cta;", ""), 64);
  expect_no_race(reuse("", "fence.proxy.async.shared::cta;"), 64);
  expect_no_race(reuse("fence.proxy.async;", ""), 64);
  // One for global memory is of no use here.
  expect_race({"without a proxy fence"}, reuse("fence.proxy.async.global;", ""), 64);
}

TEST(RaceAsync, AStageThatWasNotReleasedIsARaceOfItsOwn) {
  expect_race({"bulk copy", "load"},
              init() + kLoad + wait("FULL", 0) + kRead + kLoad + wait("AGAIN", 1), 64);
}

/// Warp 1 writes, thread 0 stores.
std::string store(const std::string& before, const std::string& after) {
  return R"(
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %warp, 1;
  mad.lo.u32 %r0, %lane, 4, %d;
  @%p1 st.shared.u32 [%r0], %t;
)" + before +
         R"(
  @%p0 cp.async.bulk.global.shared::cta.bulk_group [%out], [data], 128;
  @%p0 cp.async.bulk.commit_group;
)" + after;
}

TEST(RaceAsync, TheSourceOfAStoreNeedsAFenceBeforeTheBarrier) {
  expect_no_race(
      store("fence.proxy.async.shared::cta;\nbar.sync 0;\n", "@%p0 cp.async.bulk.wait_group 0;"),
      64);
  expect_race({"bulk store", "has written", "without a proxy fence"},
              store("bar.sync 0;\n", "@%p0 cp.async.bulk.wait_group 0;"), 64);
  // Behind the barrier, by the writing threads: too late.
  expect_race({"without a proxy fence"},
              store("bar.sync 0;\n@%p1 fence.proxy.async.shared::cta;\n",
                    "@%p0 cp.async.bulk.wait_group 0;"),
              64);
}

TEST(RaceAsync, TheSourceOfAStoreIsFreeWhenItWasRead) {
  const std::string fenced = "fence.proxy.async.shared::cta;\nbar.sync 0;\n";
  const std::string overwrite = "@%p1 st.shared.u32 [%r0], %t;\n@%p0 cp.async.bulk.wait_group 0;";
  expect_no_race(store(fenced, "@%p0 cp.async.bulk.wait_group.read 0;\nbar.sync 0;\n" + overwrite),
                 64);
  expect_race({"store", "which the bulk store has read", "was not known to have read it"},
              store(fenced, "bar.sync 0;\n" + overwrite), 64);
  // A group may still be pending.
  expect_race({"was not known to have read it"},
              store(fenced, "@%p0 cp.async.bulk.wait_group.read 1;\nbar.sync 0;\n" + overwrite),
              64);
  // Bulk groups are per thread: another thread's wait does not count.
  expect_race({"was not known to have read it"},
              store(fenced, "@%p1 cp.async.bulk.wait_group.read 0;\nbar.sync 0;\n" + overwrite),
              64);
}

TEST(RaceAsync, CpAsyncIsWaitedForByItsThreadAndToldOn) {
  const auto kernel = [](const std::string& after) {
    return R"(
  mad.lo.u32 %r0, %lane, 4, %d;
  mad.wide.u32 %rd0, %lane, 4, %in;
  setp.eq.u32 %p0, %warp, 0;
  setp.eq.u32 %p1, %warp, 1;
  @%p0 cp.async.ca.shared.global [%r0], [%rd0], 4;
)" + after +
           R"(
  @%p1 ld.shared.u32 %r1, [%r0];
  cp.async.wait_all;
)";
  };
  expect_no_race(kernel("cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n"), 64);
  expect_no_race(kernel("cp.async.wait_all;\nbar.sync 0;\n"), 64);
  expect_race({"cp.async", "load", "completion"}, kernel("bar.sync 0;\n"), 64);
  expect_race({"cp.async", "load"},
              kernel("cp.async.commit_group;\ncp.async.wait_group 1;\nbar.sync 0;\n"), 64);
  // Lanes read each other's words: each has waited for its own alone.
  const std::string swapped = R"(
  mad.lo.u32 %r0, %lane, 4, %d;
  mad.wide.u32 %rd0, %lane, 4, %in;
  cp.async.ca.shared.global [%r0], [%rd0], 4;
  cp.async.wait_all;
)";
  const std::string read = R"(
  xor.b32 %r1, %lane, 1;
  mad.lo.u32 %r1, %r1, 4, %d;
  ld.shared.u32 %r2, [%r1];
)";
  expect_race({"cp.async", "load"}, swapped + read, 32);
  expect_no_race(swapped + "bar.warp.sync 0xffffffff;\n" + read, 32);
}

TEST(RaceAsync, CpAsyncArrivesOnAnMbarrier) {
  for (const char* const noinc : {".noinc", ""}) {
    const std::string count = *noinc == '\0' ? "1" : "33";
    expect_no_race(R"(
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %warp, 1;
  setp.eq.u32 %p2, %warp, 0;
  @%p0 mbarrier.init.shared::cta.b64 [bar], )" +
                       count + R"(;
  bar.sync 0;
  mad.lo.u32 %r0, %lane, 4, %d;
  mad.wide.u32 %rd0, %lane, 4, %in;
  @!%p2 bra WAIT;
  cp.async.ca.shared.global [%r0], [%rd0], 4;
  cp.async.mbarrier.arrive)" +
                       noinc + R"(.shared::cta.b64 [bar];
  bar.warp.sync 0xffffffff;
  @%p0 mbarrier.arrive.shared::cta.b64 _, [bar];
)" + wait("WAIT", 0) + R"(
  @%p1 ld.shared.u32 %r1, [%r0];
)",
                   64);
  }
}

TEST(RaceAsync, AnInitNeedsABarrierAndForUnitsAFence) {
  const std::string use = std::string(kLoad) + wait("FULL", 0) + kRead;
  expect_no_race(init() + use, 64);
  expect_no_race(init("fence.proxy.async;") + use, 64);
  const Report report = expect_race({"fence.mbarrier_init", "bar"}, init("") + use, 64);
  EXPECT_NE(report.fix.find("fence.mbarrier_init"), std::string::npos);
  // Threads of the CTA alone need the barrier only.
  const std::string arrive = "@%p0 mbarrier.arrive.shared::cta.b64 _, [bar];\n" + wait("FULL", 0);
  expect_no_race(init("") + arrive, 64);
  expect_race({"no synchronisation orders this use after the init"}, R"(
  setp.eq.u32 %p0, %t, 0;
  @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
  @%p0 mbarrier.arrive.shared::cta.b64 _, [bar];
  nanosleep.u32 2000;
)" + wait("FULL", 0),
              64);
}

/// The classic start of a cluster: the fence, a relaxed arrive, a wait.
TEST(RaceAsync, AnInitIsReleasedByItsFenceAndARelaxedClusterBarrier) {
  const auto kernel = [](const std::string& fence, const std::string& arrive) {
    return R"(
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %rank, 1;
  @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
)" + fence +
           arrive +
           R"(
  barrier.cluster.wait;
  mov.u32 %r2, bar;
  mapa.shared::cluster.u32 %r3, %r2, 0;
  @%p1 bra END;
)" + wait("FULL", 0) +
           R"(
  bra OUT;
END:
  @%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
OUT:
  barrier.cluster.arrive;
  barrier.cluster.wait;
)";
  };
  const std::string fence = "@%p0 fence.mbarrier_init.release.cluster;\n";
  expect_no_race(kernel(fence, "barrier.cluster.arrive.relaxed;"), 32, 2);
  expect_no_race(kernel("", "barrier.cluster.arrive;"), 32, 2);
  const std::string relaxed = kernel("", "barrier.cluster.arrive.relaxed;");
  const Report report = expect_race({"init", "is .relaxed"}, relaxed, 32, 2);
  EXPECT_NE(report.fix.find("fence.mbarrier_init"), std::string::npos) << report.fix;
  // Production kernels do without the fence where no copy uses the mbarrier.
  EXPECT_TRUE(report.hardware_accepts);
  Settings hardware = race_settings();
  hardware.strictness = Strictness::hardware;
  EXPECT_NO_THROW(run_races(relaxed, 32, 2, hardware));
}

TEST(RaceAsync, AStAsyncIsThereWhenItsBarrierWasWaitedFor) {
  const auto kernel = [](const std::string& opcode, const std::string& end) {
    return R"(
  st.shared.u32 [%d], %t;
  mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.eq.u32 %p0, %rank, 0;
  mov.u32 %r2, bar;
  mapa.shared::cluster.u32 %r3, %r2, 1;
  mapa.shared::cluster.u32 %r4, %d, 1;
  @!%p0 bra WAIT;
)" + opcode +
           R"( [%r4], %t, [%r3];
  bra END;
WAIT:
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 4;
)" + end + R"(
END:
  barrier.cluster.arrive;
  barrier.cluster.wait;
)";
  };
  const std::string read = "  ld.shared.u32 %r5, [%d];\n";
  for (const auto& [name, opcode] :
       {std::pair{std::string("st.async"),
                  std::string("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32")},
        std::pair{std::string("red.async"),
                  std::string("red.async.relaxed.cluster.shared::cluster"
                              ".mbarrier::complete_tx::bytes.add.u32")}}) {
    expect_no_race(kernel(opcode, wait("FULL", 0) + read), 1, 2);
    expect_race({name, "load"}, kernel(opcode, read + wait("FULL", 0)), 1, 2);
  }
}

/// Thread 0 asks for another cluster twice; warp 1 reads the answers.
TEST(RaceAsync, AnAnswerOfLaunchControlIsWaitedForAndReleased) {
  const auto kernel = [](const std::string& before_read, const std::string& before_release) {
    const std::string request = R"(
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;
  @%p0 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [data], [bar];
)";
    return init() + request + before_read + "  @%p1 ld.shared.b64 %rd1, [data];\n" +
           before_release + "  bar.sync 0;\n" + request + wait("LAST", 1);
  };
  const std::string fence = "fence.proxy.async.shared::cta;\n";
  expect_no_race(kernel(wait("FIRST", 0), fence), 64);
  expect_no_race(kernel(wait("FIRST", 0),
                        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n"),
                 64);
  expect_race({"clusterlaunchcontrol.try_cancel", "without a proxy fence"},
              kernel(wait("FIRST", 0), ""), 64);
  expect_race({"clusterlaunchcontrol.try_cancel", "load"}, kernel("", fence + wait("FIRST", 0)),
              64);
}

TEST(RaceAsync, ACommitToAnMbarrierThatIsNotInitialisedIsNoRaceWithItself) {
  const Report report = expect_race({"no mbarrier is initialised", "tcgen05.commit"}, R"(
  setp.eq.u32 %p0, %t, 0;
  mov.u32 %r0, bar;
  @%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r0];
  nanosleep.u32 3000;
)",
                                    32);
  EXPECT_NE(report.code, FaultCode::race_barrier_end);
}

/// Rank 0 loads for both CTAs of the cluster.
TEST(RaceAsync, AMulticastCopyIsThereInEveryCtaThatWaits) {
  const auto kernel = [](const std::string& before) {
    return R"(
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p3, %rank, 0;
  and.pred %p4, %p0, %p3;
  @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mov.u32 %r1, bar;
  mov.u16 %h, 3;
  @%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%d], [%in], 128, [%r1], %h;
)" + before +
           R"(
  mad.lo.u32 %r0, %lane, 4, %d;
  ld.shared.u32 %r2, [%r0];
)" + wait("END", 0) +
           R"(
  barrier.cluster.arrive;
  barrier.cluster.wait;
)";
  };
  expect_no_race("  .reg .b16 %h;\n" + kernel(wait("FULL", 0)), 32, 2);
  expect_race({"bulk copy", "load", "CTA rank"}, "  .reg .b16 %h;\n" + kernel(""), 32, 2);
}

/// Rank 0 uses its memory, then lets rank 1 copy into it.
TEST(RaceAsync, AnOperationThatIsOverMayBeToldByANarrowArrival) {
  std::string fill;  // by each CTA, before the cluster's barrier
  for (int offset = 0; offset < 128; offset += 16) {
    fill += "  st.shared.v4.u32 [data+" + std::to_string(offset) + "], {%r1, %r1, %r1, %r1};\n";
  }
  fill += "  fence.proxy.async.shared::cta;\n";
  const auto kernel = [&](const std::string& use, const std::string& arrive) {
    return R"(
  .reg .b16 %h;
  mov.u32 %r1, 7;
)" + fill + R"(
  mbarrier.init.shared::cta.b64 [bar], 1;
  mbarrier.init.shared::cta.b64 [bar2], 1;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.eq.u32 %p3, %rank, 0;
  mov.u32 %r1, bar;
  mov.u32 %r2, bar2;
  mapa.shared::cluster.u32 %r3, %r2, 1;
  mov.u16 %h, 1;
  @!%p3 bra COPY;
)" + use + "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\n  " +
           arrive + " _, [%r3];\n" + wait("FULL", 0) + R"(
  bra END;
COPY:
)" + wait("FREE", 0, "bar2") +
           R"(
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%d], [%in], 128, [%r1], %h;
END:
  barrier.cluster.arrive;
  barrier.cluster.wait;
)";
  };
  const std::string narrow = "mbarrier.arrive.shared::cluster.b64";
  const std::string wide = "mbarrier.arrive.release.cluster.shared::cluster.b64";
  const std::string store = R"(
  cp.async.bulk.global.shared::cta.bulk_group [%out], [data], 128;
  cp.async.bulk.commit_group;
)";
  const std::string read = "  cp.async.bulk.wait_group.read 0;\n";
  expect_no_race(kernel(store + read, narrow), 1, 2);
  expect_race({"bulk copy", "bulk store"}, kernel(store, wide), 1, 2);
  // A load of a thread is not over because it precedes the arrival.
  const std::string load = "  ld.shared.u32 %r5, [%d];\n  fence.proxy.async.shared::cta;\n";
  expect_race({"scope .cta"}, kernel(load, narrow), 1, 2);
}

TEST(RaceAsync, TheAddressWordOfAnAllocationNeedsABarrier) {
  const auto kernel = [](const std::string& between) {
    return R"(
  setp.eq.u32 %p0, %warp, 0;
  @!%p0 bra OTHERS;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [word], 32;
OTHERS:
)" + between +
           R"(
  ld.shared.u32 %r0, [word];
  bar.sync 1;
  @%p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32;
)";
  };
  expect_no_race(kernel("bar.sync 0;"), 64);
  const Report report = expect_race({"tcgen05.alloc", "word"}, kernel("nanosleep.u32 5000;"), 64);
  EXPECT_TRUE(report.hardware_accepts);
  Settings hardware = race_settings();
  hardware.strictness = Strictness::hardware;
  EXPECT_NO_THROW(run_races(kernel("nanosleep.u32 5000;"), 64, 1, hardware));
}

/// Thread 0 of two warps of CTA 0 sends to one word of CTA 1's.
TEST(RaceAsync, ReductionsToOnePlaceAreNoRace) {
  const auto kernel = [](const std::string& opcode) {
    return R"(
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %lane, 0;
  @%p0 st.shared.u32 [%d], 0;
  @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.eq.u32 %p2, %rank, 0;
  mov.u32 %r2, bar;
  mapa.shared::cluster.u32 %r3, %r2, 1;
  mapa.shared::cluster.u32 %r4, %d, 1;
  @!%p2 bra WAIT;
  @%p1 )" + opcode +
           R"( [%r4], %warp, [%r3];
  bra END;
WAIT:
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 8;
)" + wait("FULL", 0) +
           R"(
  ld.shared.u32 %r5, [%d];
END:
  barrier.cluster.arrive;
  barrier.cluster.wait;
)";
  };
  expect_no_race(kernel("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"
                        ".add.u32"),
                 64, 2);
  expect_race({"st.async"},
              kernel("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32"), 64, 2);
}

TEST(RaceAsync, BulkReductionsToOnePlaceAreNoRace) {
  const auto kernel = [](const std::string& copy) {
    return R"(
  setp.eq.u32 %p1, %lane, 0;
  mad.lo.u32 %r0, %t, 4, %d;
  st.shared.u32 [%r0], %t;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p1 bra END;
  )" + copy +
           R"( [%out], [data], 128;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
END:
)";
  };
  expect_no_race(kernel("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32"), 64);
  expect_race({"bulk copy"}, kernel("cp.async.bulk.global.shared::cta.bulk_group"), 64);
}

/// Thread 0 multiplies operands of zeros (m64n8k16 of f16); thread 64 then overwrites a word of A.
TEST(RaceAsync, AnMmaReadsUntilItsCommitWasWaitedFor) {
  const auto kernel = [](const std::string& before_store) {
    return R"(
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %warp, 0;
  setp.eq.u32 %p2, %t, 64;
  setp.ne.u32 %p3, 0, 0;
  mov.u32 %r5, 0;
  mad.lo.u32 %r0, %t, 32, %d;
  st.shared.v4.u32 [%r0], {%r5, %r5, %r5, %r5};
  st.shared.v4.u32 [%r0+16], {%r5, %r5, %r5, %r5};
  @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  shr.u32 %r3, %d, 4;
  cvt.u64.u32 %rd1, %r3;
  or.b64 %rd1, %rd1, 0x0000401000080000;
  add.u64 %rd2, %rd1, 128;
  @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [word], 32;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.u32 %r1, [word];
  @%p0 tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, 0x04020010, %p3;
  @%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
)" + before_store +
           R"(
  @%p2 st.shared.u32 [%d], %t;
)" + wait("LAST", 0) +
           R"(
  tcgen05.fence::after_thread_sync;
  bar.sync 0;
  @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;
)";
  };
  expect_no_race(kernel(wait("FULL", 0)), 128);
  expect_race({"tcgen05.mma", "store"}, kernel("  bar.sync 1;\n"), 128);
}

TEST(RaceAsync, TheInitHasToBeKnownToEachLane) {
  // Lane 0 of warp 1 learns of the init through a flag and arrives; its other lanes have learnt
  // nothing until they meet.
  const auto kernel = [](const std::string& meet) {
    return R"(
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %t, 32;
  setp.eq.u32 %p2, %t, 33;
  add.u32 %r0, %d, 64;
  @%p0 st.relaxed.cta.shared.u32 [%r0], 0;
  bar.sync 0;
  @%p0 mbarrier.init.shared::cta.b64 [bar], 2;
  @%p0 st.release.cta.shared.u32 [%r0], 1;
  @!%p1 bra LEARNT;
POLL:
  ld.acquire.cta.shared.u32 %r1, [%r0];
  setp.eq.u32 %p3, %r1, 0;
  @%p3 bra POLL;
  mbarrier.arrive.shared::cta.b64 _, [bar];
LEARNT:
)" + meet + R"(
  setp.lt.u32 %p4, %t, 32;
  @%p4 bra END;
  nanosleep.u32 4000;
  @%p2 mbarrier.arrive.shared::cta.b64 _, [bar];
END:
)";
  };
  expect_no_race(kernel("bar.warp.sync -1;"), 64);
  expect_race({"no synchronisation orders this use after the init"}, kernel(""), 64);
}

}  // namespace
}  // namespace bw::sim::test::race_async_test
