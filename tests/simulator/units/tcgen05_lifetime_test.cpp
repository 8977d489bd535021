/// \file
/// What must outlive an operation of the tensor core: columns, CTAs, peers; and who commits.
#include <string>
#include <vector>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test::tcgen05_lifetime_test {
namespace {

/// Registers: %t (thread), %warp, %lane, %rank, %tmem (the allocation), %bar (an mbarrier of count
/// 1, initialised), %desc (descriptor of 512 bytes that are written). `first` runs before warp 0
/// allocates 64 columns.
struct Parts {
  std::string body;
  int group = 1;
  int arrivals = 1;
};

std::string kernel(const Parts& parts) {
  const std::string group = ".cta_group::" + std::to_string(parts.group);
  std::string text = R"(
  .reg .pred %p<8>, %warp0, %lane0, %rank0;
  .reg .b32 %r<16>, %t, %warp, %lane, %rank, %tmem, %bar, %image;
  .reg .b16 %mask;
  .reg .b64 %rd<4>, %desc;
  mov.u32 %t, %tid.x;
  shr.u32 %warp, %t, 5;
  and.b32 %lane, %t, 31;
  mov.u32 %rank, %cluster_ctarank;
  setp.eq.u32 %warp0, %warp, 0;
  setp.eq.u32 %lane0, %t, 0;
  setp.eq.u32 %rank0, %rank, 0;
  mov.u32 %bar, bar;
  mov.u32 %image, image;
  mad.lo.u32 %r0, %lane, 16, %image;
  mov.u32 %r1, 0;
  st.shared.v4.b32 [%r0], {%r1, %r1, %r1, %r1};
  @%lane0 mbarrier.init.shared::cta.b64 [%bar], ARRIVALS;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  shr.u32 %r0, %image, 4;
  cvt.u64.u32 %desc, %r0;
  or.b64 %desc, %desc, 0x0000400800200000;
  @!%warp0 bra ALLOCATED;
  tcgen05.alloc)" + group +
                     R"(.sync.aligned.shared::cta.b32 [slot], 64;
ALLOCATED:
  tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %tmem, [slot];
)" + parts.body + "  ret;\n";
  text.replace(text.find("ARRIVALS"), 8, std::to_string(parts.arrivals));
  return entry("", text,
               ".shared .align 8 .b64 bar;\n.shared .align 4 .b32 slot;\n"
               ".shared .align 1024 .b8 image[1024];\n");
}

void run(const Parts& parts, Strictness strictness = Strictness::isa, uint32_t warps = 1) {
  Settings settings = test_settings();
  settings.strictness = strictness;
  Runner runner(settings);
  const auto ctas = static_cast<uint32_t>(parts.group);
  runner.run(kernel(parts), grid(ctas, 32 * warps, ctas));
}

std::string copy(int group = 1) {
  return "  @%lane0 tcgen05.cp.cta_group::" + std::to_string(group) +
         ".32x128b.warpx4 [%tmem], %desc;\n";
}
std::string dealloc(int group = 1) {
  return "  @%warp0 tcgen05.dealloc.cta_group::" + std::to_string(group) +
         ".sync.aligned.b32 %tmem, 64;\n";
}
const std::string kCommit =
    "  @%lane0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n";
const std::string kWait =
    "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p0, [%bar], 0;\n  @!%p0 bra WAIT;\n"
    "  tcgen05.fence::after_thread_sync;\n";
constexpr const char* kLoad = "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%tmem];\n";
constexpr const char* kStore = "  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem], {%r2};\n";

TEST(Tcgen05Lifetime, WhatIsWaitedForMayBeDeallocated) {
  EXPECT_NO_THROW(
      run({copy() + kCommit + kWait + kLoad + "  tcgen05.wait::ld.sync.aligned;\n" + dealloc()}));
}

TEST(Tcgen05Lifetime, DeallocationWhileACopyIsUnderWay) {
  for (const Strictness level : {Strictness::isa, Strictness::hardware}) {
    const Report report = expect_fault(
        FaultKind::contract,
        {"deallocates columns 0-63 of CTA rank 0 while tcgen05.cp that uses them is under way",
         "the tcgen05.cp: CTA rank 0, warp 0, at test.ptx:", ".multicast::cluster"},
        [&] { run({copy() + kCommit + dealloc()}, level); });
    EXPECT_NE(report.where.find("tcgen05.dealloc"), std::string::npos);
    EXPECT_FALSE(report.hardware_accepts);
  }
}

TEST(Tcgen05Lifetime, DeallocationInThePeerWhileThePairWorks) {
  // Rank 0 issues for both and waits; rank 1 frees its half at once.
  std::string many;
  for (int i = 0; i < 40; ++i) many += copy(2);
  const std::string body =
      "  @!%rank0 bra FREE;\n" + many +
      "  @%lane0 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n" +
      kWait + "FREE:\n" + dealloc(2) +
      "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";
  expect_fault(
      FaultKind::contract,
      {"columns 0-63 of CTA rank 1 while tcgen05.cp", "the tcgen05.cp: CTA rank 0, warp 0"}, [&] {
        run({body, 2});
      });
}

TEST(Tcgen05Lifetime, DeallocationBeforeTheWaitForALoad) {
  const Parts parts{copy() + kCommit + kWait + kLoad + dealloc()};
  const Report report = expect_fault(FaultKind::contract,
                                     {"while a load of them by warp 0 has not been waited for",
                                      "execute tcgen05.wait::ld", "it was issued at test.ptx:"},
                                     [&] { run(parts); });
  EXPECT_TRUE(report.hardware_accepts);
  EXPECT_NO_THROW(run(parts, Strictness::hardware));
}

TEST(Tcgen05Lifetime, DeallocationBeforeTheWaitForAStore) {
  for (const Strictness level : {Strictness::isa, Strictness::hardware})
    expect_fault(FaultKind::contract,
                 {"while a store of them by warp 0 has not been waited for", "tcgen05.wait::st"},
                 [&] { run({kStore + dealloc()}, level); });
  EXPECT_NO_THROW(run({std::string(kStore) + "  tcgen05.wait::st.sync.aligned;\n" + dealloc()}));
}

TEST(Tcgen05Lifetime, OtherColumnsMayBeInUse) {
  // The second allocation's columns are freed while a store to the first is under way.
  EXPECT_NO_THROW(
      run({"  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [image+1020], "
           "32;\n  ld.shared.b32 %r3, [image+1020];\n" +
           std::string(kStore) +
           "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;\n"
           "  tcgen05.wait::st.sync.aligned;\n" +
           dealloc()}));
}

TEST(Tcgen05Lifetime, NeighbouringColumnsMayBeInUse) {
  // The second allocation is columns 64 to 95. A copy into 60 to 63 is outside of them, one
  // into 64 to 67 outside of the first's; columns 63 and 64 belong to one each.
  const std::string second =
      "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [image+1020], 32;\n"
      "  ld.shared.b32 %r3, [image+1020];\n";
  const auto copy_to = [](int column) {
    return "  add.u32 %r4, %tmem, " + std::to_string(column) +
           ";\n  @%lane0 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r4], %desc;\n";
  };
  const std::string free_second = "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;\n";
  EXPECT_NO_THROW(run({second + copy_to(60) + kCommit + free_second + kWait + dealloc()}));
  EXPECT_NO_THROW(run({second + copy_to(64) + kCommit + dealloc() + kWait + free_second}));
  for (const int column : {61, 63})
    expect_fault(FaultKind::contract, {"deallocates columns 64-95", "tcgen05.cp"}, [&] {
      run({second + copy_to(column) + kCommit + free_second + kWait + dealloc()});
    });
  expect_fault(FaultKind::contract, {"deallocates columns 0-63", "tcgen05.cp"},
               [&] { run({second + copy_to(63) + kCommit + dealloc() + kWait + free_second}); });
}

TEST(Tcgen05Lifetime, CommitByAllLanes) {
  const std::string commit =
      "  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n";
  for (const Strictness level : {Strictness::isa, Strictness::hardware}) {
    const Report report = expect_fault(
        FaultKind::contract,
        {"32 lanes execute tcgen05.commit on the mbarrier bar, whose phases take 1 arrival; 31 of "
         "the lanes have issued nothing",
         "let the one elected thread"},
        [&] { run({copy() + commit + kWait + dealloc()}, level); });
    EXPECT_NE(report.where.find("tcgen05.commit"), std::string::npos);
  }
  // A barrier that counts the lanes takes them all.
  EXPECT_NO_THROW(run({copy() + commit + kWait + dealloc(), 1, 32}));
}

TEST(Tcgen05Lifetime, LeakInOneCtaOfAPair) {
  const std::string body =
      "  @%rank0 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %tmem, 64;\n"
      "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";
  const Report report =
      expect_fault(FaultKind::contract, {"CUDA_ERROR_TENSOR_MEMORY_LEAK", "columns 0-63"}, [&] {
        run({body, 2});
      });
  EXPECT_NE(report.where.find("rank 1"), std::string::npos) << report.where;
}

TEST(Tcgen05Lifetime, OneLaneDeallocatesAfterTheOthersHaveEnded) {
  const Parts parts{"  @!%lane0 ret;\n" + dealloc()};
  const Report report =
      expect_fault(FaultKind::contract, {"only the lanes 0x00000001 of the warp are live"},
                   [&] { run(parts); });
  EXPECT_EQ(report.code, FaultCode::warp_exited_early);
  EXPECT_TRUE(report.hardware_accepts);
  EXPECT_NO_THROW(run(parts, Strictness::hardware));
}

TEST(Tcgen05Lifetime, LeakOnAnEarlyExit) {
  // The branch that leaves early forgets what its warp has allocated.
  const Parts parts{"  setp.ge.u32 %p1, %t, 0;\n  @%p1 ret;\n" + dealloc()};
  const Report report = expect_fault(FaultKind::contract, {"TENSOR_MEMORY_LEAK", "warp 0"},
                                     [&] { run(parts, Strictness::isa, 2); });
  EXPECT_NE(report.where.find("tcgen05.alloc"), std::string::npos) << report.where;
}

}  // namespace
}  // namespace bw::sim::test::tcgen05_lifetime_test
