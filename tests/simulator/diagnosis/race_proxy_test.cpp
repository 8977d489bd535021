/// \file
/// Strong operations that different proxies perform (PTX ISA, "Morally strong operations", "Strong
/// Proxy Accesses").
#include <string>
#include <utility>

#include "tests/simulator/diagnosis/races.hpp"

namespace bw::sim::test::race_proxy_test {
namespace {

std::string wait(const std::string& label) {
  return label + ":\n  mbarrier.try_wait.parity.shared::cta.b64 %p7, [bar], 0;\n  @!%p7 bra " +
         label + ";\n";
}

/// Warp 0 lets a bulk copy work on 128 bytes at %out, and warp 1 executes `by_threads` there, with
/// nothing or `order` between them.
std::string two_proxies(const std::string& copy, const std::string& by_threads,
                        const std::string& order = "") {
  return R"(
  setp.eq.u32 %p1, %t, 0;
  setp.eq.u32 %p2, %warp, 1;
  mad.lo.u32 %r0, %t, 4, %d;
  st.shared.u32 [%r0], %t;
  mad.wide.u32 %rd1, %lane, 4, %out;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p1 )" +
         copy + R"( [%out], [data], 128;
  @%p1 cp.async.bulk.commit_group;
  @%p1 cp.async.bulk.wait_group 0;
)" + order +
         "@%p2 " + by_threads + "\n";
}
const std::string kBulkReduction = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32";
const std::string kAtomic = "red.relaxed.gpu.global.add.u32 [%rd1], 1;";

/// Expects a race at `isa` that says the proxies differ, and none at `hardware`.
void expect_race_of_proxies(std::string_view body, uint32_t threads_per_cta, uint32_t ctas = 1) {
  const Report report =
      expect_race({"both are strong, but by different proxies"}, body, threads_per_cta, ctas);
  EXPECT_EQ(report.code, FaultCode::race_proxy);
  EXPECT_TRUE(report.hardware_accepts);
  Settings hardware = race_settings();
  hardware.strictness = Strictness::hardware;
  EXPECT_NO_THROW(run_races(body, threads_per_cta, ctas, hardware));
}

TEST(RaceProxy, AnAtomicOfAThreadIsNoneForABulkReduction) {
  expect_race_of_proxies(two_proxies(kBulkReduction, kAtomic), 64);
  expect_no_race(two_proxies(kBulkReduction, kAtomic, "bar.sync 0;\n"), 64);
  // The other order: the atomic first, and then a fence between the proxies.
  const auto atomic_first = [](const std::string& fence) {
    return "setp.eq.u32 %p2, %warp, 1;\nmad.wide.u32 %rd1, %lane, 4, %out;\n@%p2 " + kAtomic +
           "\n" + fence + two_proxies(kBulkReduction, "mov.u32 %r1, 0;");
  };
  expect_no_race(atomic_first("fence.proxy.async;\n"), 64);
  expect_race_of_proxies(atomic_first(""), 64);
}

/// CTA 0 reduces 128 bytes in CTA 1, whose threads add to them by themselves.
TEST(RaceProxy, AnAtomicInSharedMemoryIsNoneForABulkReductionThere) {
  const auto kernel = [](const std::string& order) {
    return R"(
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %rank, 1;
  mad.lo.u32 %r0, %lane, 4, %d;
  st.shared.u32 [%r0], 0;
  st.shared.u32 [%r0+1024], 1;
  @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mov.u32 %r2, bar;
  add.u32 %r5, %d, 1024;
  mapa.shared::cluster.u32 %r3, %r2, 1;
  mapa.shared::cluster.u32 %r4, %d, 1;
  @%p1 bra SECOND;
  @%p0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r4],
      [%r5], 128, [%r3];
  bra END;
SECOND:
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
)" + order +
           "red.shared.add.u32 [%r0], 1;\n" + wait("LAST") +
           "END:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  };
  expect_race_of_proxies(kernel(""), 32, 2);
  expect_no_race(kernel(wait("FIRST")), 32, 2);
}

TEST(RaceProxy, StrongWritesOfTwoProxiesRaceAndAStrongReadSeesTheOther) {
  const std::string copy = "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128";
  expect_race_of_proxies(two_proxies(copy, "st.relaxed.gpu.global.u32 [%rd1], %t;"), 64);
  expect_no_race(two_proxies(copy, "ld.relaxed.gpu.global.u32 %r1, [%rd1];"), 64);
  // Across proxies the threads of one CTA need the scope of the GPU, too.
  expect_race({"load"}, two_proxies(copy, "ld.relaxed.cta.global.u32 %r1, [%rd1];"), 64);
  expect_race({"load"}, two_proxies(copy, "ld.global.u32 %r1, [%rd1];"), 64);
}

TEST(RaceProxy, ProxiesDifferAcrossClustersToo) {
  const auto body = [](const std::string& of_first, const std::string& of_second) {
    return "mov.u32 %r8, %ctaid.x;\nsetp.eq.u32 %p3, %r8, 0;\n@!%p3 bra SECOND;\n" + of_first +
           "bra END;\nSECOND:\n" + of_second + "END:\n";
  };
  const std::string atomic = "mad.wide.u32 %rd1, %lane, 4, %out;\n" + kAtomic + "\n";
  const std::string reduction =
      "setp.eq.u32 %p1, %t, 0;\nmad.lo.u32 %r0, %t, 4, %d;\nst.shared.u32 [%r0], %t;\n"
      "fence.proxy.async.shared::cta;\nbar.warp.sync -1;\n@%p1 " +
      kBulkReduction +
      " [%out], [data], 128;\n@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group 0;\n";
  const auto run = [&](const std::string& first, const std::string& second, Strictness level) {
    Settings settings = race_settings();
    settings.strictness = level;
    Runner runner(settings);
    const auto out = runner.buffer(std::vector<uint32_t>(4096, 0));
    const auto in = runner.buffer(std::vector<uint32_t>(4096, 0));
    runner.run(race_kernel(body(first, second)), grid(2, 32), out, in);
  };
  for (const auto& both : {std::pair{atomic, reduction}, {reduction, atomic}}) {
    expect_fault(FaultKind::contract, {"both are strong, but by different proxies"},
                 [&] { run(both.first, both.second, Strictness::isa); });
    EXPECT_NO_THROW(run(both.first, both.second, Strictness::hardware));
  }
  EXPECT_NO_THROW(run(atomic, atomic, Strictness::isa));
  EXPECT_NO_THROW(run(reduction, reduction, Strictness::isa));
}

}  // namespace
}  // namespace bw::sim::test::race_proxy_test
