/// \file
/// The two levels: what the PTX ISA leaves undefined is a fault at `isa`, whose last line names the
/// other level, and does at `hardware` what hardware does.
#include <cstdlib>

#include "tests/simulator/units/copy_harness.hpp"
#include "tests/simulator/units/synchronisation.hpp"

namespace bw::sim::test::levels_test {
namespace {

constexpr const char* kOtherLevel = "BW_SIM_STRICTNESS=hardware";

/// Expects the fault at the level isa, with the hint to the other one in its last line.
template <class Action>
Report expect_isa_fault(std::vector<std::string> parts, Action&& action) {
  Report report = expect_fault(FaultKind::contract, parts, action);
  EXPECT_TRUE(report.hardware_accepts);
  const std::string text = report.format();
  EXPECT_NE(text.find(kOtherLevel, text.rfind('\n')), std::string::npos) << text;
  return report;
}

TEST(Levels, TheEnvironmentChoosesByTheNewNamesAndTheOld) {
  const auto chosen = [](const char* name) {
    setenv("BW_SIM_STRICTNESS", name, 1);
    struct Unset {
      ~Unset() { unsetenv("BW_SIM_STRICTNESS"); }
    } const unset;
    return Settings::from_environment().strictness;
  };
  for (const char* const name : {"isa", "strict", ""}) EXPECT_EQ(chosen(name), Strictness::isa);
  for (const char* const name : {"hardware", "lenient"})
    EXPECT_EQ(chosen(name), Strictness::hardware);
  expect_fault(FaultKind::launch, {"BW_SIM_STRICTNESS", "\"loose\"", "\"isa\" or \"hardware\""},
               [&] { (void)chosen("loose"); });
}

TEST(Levels, TheEnvironmentChoosesWhatIsChecked) {
  const auto chosen = [](const char* name) {
    setenv("BW_SIM_CHECKS", name, 1);
    struct Unset {
      ~Unset() { unsetenv("BW_SIM_CHECKS"); }
    } const unset;
    return Settings::from_environment().checks;
  };
  EXPECT_EQ(Settings::from_environment().checks, Checks::contract);
  EXPECT_EQ(chosen(""), Checks::contract);
  EXPECT_EQ(chosen("off"), Checks::off);
  EXPECT_EQ(chosen("contract"), Checks::contract);
  EXPECT_EQ(chosen("races"), Checks::races);
  expect_fault(FaultKind::launch,
               {"BW_SIM_CHECKS", "\"all\"", "\"off\", \"contract\" or \"races\""},
               [&] { (void)chosen("all"); });
}

// ---- Registers of tcgen05.ld

/// One warp writes 3 * lane + c to columns c = 0 and 1 of its lanes, runs `body` on %tmem, and
/// stores %result. Registers: %d<4>, %f<4>, %w<4> (64 bits), %p<4>, %t (lane). `warnings`: takes
/// those of the run.
std::vector<uint32_t> run_load(const std::string& body, Settings settings,
                               std::vector<Warning>* warnings = nullptr) {
  Runner runner(settings);
  const auto out = runner.buffer(std::vector<uint32_t>(32, 0xffffffffu));
  const std::string text = R"(
  .reg .pred %p<4>;
  .reg .b32 %t, %tmem, %result, %v, %d<4>;
  .reg .f32 %f<4>;
  .reg .b64 %out, %w<4>;
  mov.u32 %t, %tid.x;
  ld.param.u64 %out, [out];
  mad.wide.u32 %out, %t, 4, %out;
  mov.b32 %result, 0;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
  ld.shared.b32 %tmem, [slot];
  mul.lo.u32 %v, %t, 3;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem], {%v};
  add.u32 %v, %v, 1;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem+1], {%v};
  tcgen05.wait::st.sync.aligned;
)" + body + R"(
  tcgen05.wait::ld.sync.aligned;
  st.global.b32 [%out], %result;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 32;
  ret;
)";
  const auto result =
      runner.run(entry(".param .u64 out", text, ".shared .align 4 .b32 slot;\n"), threads(32), out);
  if (warnings != nullptr) *warnings = result.warnings;
  return out.values();
}

const std::string kLoad = "  tcgen05.ld.sync.aligned.32x32b.x2.b32 {%d0, %d1}, [%tmem];\n";
const std::string kWait = "  tcgen05.wait::ld.sync.aligned;\n";

/// Every read without a wait: a fault at one level that names load and reader; at the other
/// %result = expected(lane).
template <class Expected>
void expect_late_read(const std::string& reader, const std::string& body, Expected&& expected) {
  const Report report =
      expect_isa_fault({"is read before the tcgen05.wait::ld", "the load: test.ptx:"},
                       [&] { (void)run_load(body, test_settings()); });
  EXPECT_NE(report.where.find(reader), std::string::npos) << report.where;
  EXPECT_NE(report.details.at(0).find("tcgen05.ld.sync"), std::string::npos);
  const std::vector<uint32_t> values = run_load(body, hardware_settings());
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(values[lane], expected(lane)) << body;
}

TEST(Levels, AConversionBeforeTheWaitReadsTheRegister) {
  expect_late_read(
      "cvt.rn.f32.u32",
      kLoad + "  cvt.rn.f32.u32 %f0, %d0;\n" + kWait + "  mov.b32 %result, %f0;\n",
      [](uint32_t lane) { return std::bit_cast<uint32_t>(static_cast<float>(3 * lane)); });
}

TEST(Levels, ACopyBeforeTheWaitIsAWarningUntilSomethingUsesIt) {
  const std::string copy = kLoad + "  mov.b32 %d2, %d1;\n  mov.b32 %f0, %d2;\n";
  const auto value = [](uint32_t lane) { return 3 * lane + 1; };
  // The first register, its copy and the copy's copy have the value after the wait.
  const std::string sum =
      "  add.u32 %result, %d1, %d2;\n  mov.b32 %d3, %f0;\n"
      "  add.u32 %result, %result, %d3;\n";
  for (const Settings& settings : {test_settings(), hardware_settings()}) {
    std::vector<Warning> warnings;
    const std::vector<uint32_t> values = run_load(copy + kWait + sum, settings, &warnings);
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(values[lane], 3 * value(lane));
    ASSERT_EQ(warnings.size(), settings.strictness == Strictness::isa ? 2u : 0u);
    for (const Warning& warning : warnings)
      EXPECT_NE(warning.report.what.find("is copied before the tcgen05.wait::ld"),
                std::string::npos)
          << warning.report.what;
  }
  for (const char* const used : {"%d2", "%f0"})
    expect_late_read("xor.b32", copy + "  xor.b32 %result, " + used + ", 0;\n" + kWait, value);
  // The register itself stays undefined, and the copy is one that another value has replaced.
  expect_late_read("xor.b32", copy + "  xor.b32 %result, %d1, 0;\n" + kWait, value);
  const std::string replaced = copy + "  mov.b32 %d2, %t;\n  add.u32 %result, %d2, 1;\n" + kWait;
  const std::vector<uint32_t> values = run_load(replaced, test_settings());
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(values[lane], lane + 1);
}

TEST(Levels, APairBeforeTheWaitReadsTheRegister) {
  expect_late_read("mov.b64",
                   kLoad + "  mov.b64 %w0, {%d0, %d1};\n" + kWait +
                       "  shr.u64 %w0, %w0, 32;\n  cvt.u32.u64 %result, %w0;\n",
                   [](uint32_t lane) { return 3 * lane + 1; });
}

TEST(Levels, AStoreBeforeTheWaitReadsTheRegister) {
  const auto value = [](uint32_t lane) { return 3 * lane; };
  expect_late_read("st.global.b32",
                   kLoad + "  st.global.b32 [%out], %d0;\n  mov.b32 %result, %d0;\n", value);
}

TEST(Levels, AReadInTheNextRoundOfALoop) {
  // The load is at the end of the loop, its reader at the beginning: only the second round's
  // read comes too early.
  expect_late_read(
      "add.u32",
      "  mov.u32 %d0, 7;\n  mov.u32 %d3, 0;\nLOOP:\n  add.u32 %result, %d0, %result;\n" + kLoad +
          "  add.u32 %d3, %d3, 1;\n  setp.lt.u32 %p0, %d3, 2;\n  @%p0 bra LOOP;\n",
      [](uint32_t lane) { return 7 + 3 * lane; });
}

TEST(Levels, AReadWhereNoLoadIsUnderWayIsNone) {
  // The load is only in a path that is not taken, is overwritten first, or is waited for.
  const std::string untaken =
      "  setp.gt.u32 %p0, %t, 99;\n  mov.u32 %d0, %t;\n  @!%p0 bra JOIN;\n" + kLoad +
      "JOIN:\n  mov.b32 %result, %d0;\n";
  const std::string overwritten = kLoad + "  mov.b32 %d0, %t;\n  mov.b32 %result, %d0;\n";
  const std::string waited = kLoad + kWait +
                             "  sub.u32 %result, %d1, 1;\n  sub.u32 %result, %result, %t;\n" +
                             "  sub.u32 %result, %result, %t;\n";
  for (const Settings& settings : {test_settings(), hardware_settings()})
    for (const std::string& body : {untaken, overwritten, waited}) {
      const std::vector<uint32_t> values = run_load(body, settings);
      for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(values[lane], lane) << body;
    }
}

// ---- The warp's lanes of Tensor Memory

TEST(Levels, LaneBitsBeyondTensorMemory) {
  // 128 more than the lane: production kernels add the CTA's rank times 128.
  const std::string body =
      "  add.u32 %v, %tmem, 8388608;\n"
      "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%result}, [%v];\n";
  expect_isa_fault({"invalid datapath (lane) alignment", "names lane 128"},
                   [&] { (void)run_load(body, test_settings()); });
  const std::vector<uint32_t> values = run_load(body, hardware_settings());
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(values[lane], 3 * lane);
}

TEST(Levels, UnwrittenTensorMemoryIsCountedAtTheHardwareLevel) {
  const std::string body = "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, [%tmem+5];\n";
  expect_isa_fault({"reads Tensor Memory column 5", "nothing has written"},
                   [&] { (void)run_load(body, test_settings()); });
  Settings settings = hardware_settings();
  settings.print_statistics = true;
  testing::internal::CaptureStderr();
  (void)run_load(body, settings);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("BW-X02 1 time"), std::string::npos) << text;
}

// ---- Allocation

TEST(Levels, AnAllocationThatGrows) {
  const std::string alloc = "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [bar+16], ";
  const std::string body =
      "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [bar+8], 32;\n" + alloc +
      "64;\n"
      "  ld.shared.b32 %r3, [bar+8];\n  ld.shared.b32 %r4, [bar+16];\n"
      "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;\n"
      "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 64;\n";
  expect_isa_fault({"allocates 64 columns after an allocation of 32"},
                   [&] { run_body(body, 32, 1); });
  EXPECT_NO_THROW(run_body(body, 32, 1, hardware_settings()));
}

TEST(Levels, ADeallocationByEachWarp) {
  const std::string body =
      "  shr.u32 %r3, %r0, 5;\n  setp.ne.u32 %p0, %r3, 0;\n  @%p0 bra.uni SECOND;\n"
      "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [bar+8], 32;\nSECOND:\n"
      "  bar.sync 0;\n  ld.shared.b32 %r4, [bar+8];\n"
      "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;\n";
  expect_isa_fault({"deallocation of unallocated columns", "32 columns"},
                   [&] { run_body(body, 64, 1); });
  EXPECT_NO_THROW(run_body(body, 64, 1, hardware_settings()));
}

TEST(Levels, AnotherWarpMayDeallocateAndTheBaseMayBeAssumed) {
  // The PTX ISA names a warp for the allocation alone, and no level can see that 0 was assumed.
  const std::string body =
      "  shr.u32 %r3, %r0, 5;\n  setp.ne.u32 %p0, %r3, 0;\n  @%p0 bra.uni SECOND;\n"
      "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [bar+8], 32;\n  bar.sync 0;\n"
      "  bra.uni DONE;\nSECOND:\n  bar.sync 0;\n  mov.u32 %r4, 0;\n"
      "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;\nDONE:\n";
  for (const Settings& settings : {test_settings(), hardware_settings()})
    EXPECT_NO_THROW(run_body(body, 64, 1, settings));
}

/// Lane 0 comes to the barrier by one edge, the others by another one, past `between`.
std::string by_two_edges(const std::string& between) {
  return "  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra OTHERS;\n  mov.u32 %r3, 1;\n  bra MEET;\n"
         "OTHERS:\n" +
         between + "MEET:\n  bar.sync 0;\nDONE:\n  mov.u32 %r4, 1;\n";
}

TEST(Levels, LanesThatComeToAnAlignedInstructionBySeveralEdges) {
  const std::string all = "  setp.ge.u32 %p1, %r0, 1000;\n  @%p1 bra DONE;\n";
  for (const uint64_t seed : {0u, 1u, 2u})
    EXPECT_NO_THROW(run_body(by_two_edges(all), 32, 1, test_settings(seed)));
  // Some pass it by.
  const std::string some = "  setp.ge.u32 %p1, %r0, 16;\n  @%p1 bra DONE;\n";
  for (const uint64_t seed : {0u, 1u, 2u})
    expect_isa_fault({"under divergence", "the warp diverged at"},
                     [&] { run_body(by_two_edges(some), 32, 1, test_settings(seed)); });
  // Some exit instead.
  const std::string gone = "  setp.ge.u32 %p1, %r0, 16;\n  @%p1 bra GONE;\n";
  expect_isa_fault({"under divergence"}, [&] {
    run_body(by_two_edges(gone) + "  bra END;\nGONE:\n  nanosleep.u32 500;\n  ret;\nEND:\n", 32, 1,
             test_settings());
  });
}

// ---- A CTA that ends too early

LaunchResult run_copies(const std::string& body, uint32_t cluster, Settings settings,
                        std::vector<uint32_t>* out = nullptr) {
  CopyRun run(cluster, settings);
  LaunchResult result = run.run(body);
  if (out != nullptr) *out = run.out.values();
  return result;
}

TEST(Levels, ABulkStoreThatReadsBehindTheEndOfItsCta) {
  const std::string body =
      "  @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 4096;\n";
  expect_isa_fault({"CTA rank 0", "without having waited", "its shared memory"},
                   [&] { run_copies(body, 1, test_settings()); });
  std::vector<uint32_t> out;
  const LaunchResult result = run_copies(body, 1, hardware_settings(), &out);
  for (uint32_t i = 0; i < kTileWords; ++i) ASSERT_EQ(out[i], tile_word(0, i));
  EXPECT_EQ(count_of(result.warnings), 1u);
}

TEST(Levels, ACopyIntoACtaThatHasEnded) {
  // Rank 1 leaves while the copy that rank 0 has issued to it is under way, or before it is issued.
  const std::string send =
      "  mapa.shared::cluster.u32 %r4, %r1, 1;\n  mapa.shared::cluster.u32 %r5, %r2, 1;\n"
      "  @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd3], 16, "
      "[%r5];\n";
  const std::string leave = "  setp.eq.u32 %p1, %r3, 1;\n  @%p1 ret;\n  nanosleep.u32 4000;\n";
  for (const std::string& body :
       {"  setp.eq.and.u32 %p0, %r3, 0, %p0;\n" + send + leave, leave + send}) {
    expect_isa_fault({"CTA rank 1", "exited"}, [&] { run_copies(body, 2, test_settings()); });
    EXPECT_GE(count_of(run_copies(body, 2, hardware_settings()).warnings), 2u);
  }
}

TEST(Levels, AMulticastToACtaThatHasEnded) {
  const std::string body =
      "  setp.eq.u32 %p1, %r3, 1;\n  @%p1 ret;\n  nanosleep.u32 4000;\n  mov.u16 %rs1, 3;\n"
      "  @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%r1], [%rd3], 16, [%r2], %rs1;\n  nanosleep.u32 4000;\n";
  expect_isa_fault({"CTA rank 1", "has exited", "keep all CTAs of the cluster alive"},
                   [&] { run_copies(body, 2, test_settings()); });
}

TEST(Levels, ANonBulkCopyIntoACtaThatHasEnded) {
  const std::string body = "  cp.async.ca.shared.global [%r1], [%rd3], 16;\n";
  const Report report =
      expect_isa_fault({"the copy completes after its CTA has exited", "cp.async.wait_group 0"},
                       [&] { run_copies(body, 1, test_settings()); });
  EXPECT_NE(report.where.find("cp.async"), std::string::npos) << report.where;
  EXPECT_GE(count_of(run_copies(body, 1, hardware_settings()).warnings), 1u);
  EXPECT_NO_THROW(run_copies(body + "  cp.async.wait_all;\n", 1, test_settings()));
}

/// Two CTAs; thread 0 of each has initialised `bar` with count 1 and all have met. Then rank 1 runs
/// `sender` with the address of rank 0's barrier in %r20, rank 0 `receiver`.
std::string two_ranks(const std::string& sender, const std::string& receiver) {
  return "  mbarrier.init.shared::cta.b64 [%r1], 1;\n  fence.mbarrier_init.release.cluster;\n"
         "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"
         "  setp.eq.u32 %p3, %r2, 0;\n  @%p3 bra RECEIVER;\n"
         "  mapa.shared::cluster.u32 %r20, %r1, 0;\n" +
         sender + "  bra DONE;\nRECEIVER:\n" + receiver + "DONE:\n";
}

LaunchResult run_pair(const std::string& body, Settings settings) {
  Runner runner(settings);
  const auto out = runner.buffer(std::vector<uint32_t>(4));
  return runner.run(synchronisation_kernel(body), grid(2, 1, 2), out);
}

TEST(Levels, AnArrivalOnACtaThatHasEnded) {
  const std::string arrive = "  mbarrier.arrive.shared::cluster.b64 _, [%r20];\n";
  const std::string under_way =
      two_ranks(arrive + "  nanosleep.u32 2000;\n", "  nanosleep.u32 40;\n");
  const std::string too_late = two_ranks("  nanosleep.u32 2000;\n" + arrive, "");
  expect_isa_fault({"CTA rank 0", "had exited", "put a cluster barrier before the exit"},
                   [&] { run_pair(under_way, test_settings()); });
  expect_isa_fault({"of CTA rank 0 took effect after that CTA had exited"},
                   [&] { run_pair(too_late, test_settings()); });
  for (const std::string& body : {under_way, too_late})
    EXPECT_EQ(count_of(run_pair(body, hardware_settings()).warnings), 1u);
}

/// Rank 1 sends many arrivals, so that the last are under way for long, then both meet and end.
std::string arrivals_and_barrier(const std::string& sem) {
  std::string arrivals;
  for (int i = 0; i < 400; ++i) arrivals += "  mbarrier.arrive.shared::cluster.b64 _, [%r20];\n";
  const std::string meet = "  barrier.cluster.arrive" + sem + ";\n  barrier.cluster.wait;\n";
  std::string text = two_ranks(arrivals + meet, meet);
  const std::string init = "[%r1], 1;";
  return text.replace(text.find(init), init.size(), "[%r1], 1000;");
}

TEST(Levels, ARelaxedClusterArriveDoesNotWaitForTheArrivalsBeforeIt) {
  // With the seed the arrivals take up to twice as long as without.
  bool has_faulted = false;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    EXPECT_NO_THROW(run_pair(arrivals_and_barrier(".release"), test_settings(seed)));
    EXPECT_NO_THROW(run_pair(arrivals_and_barrier(""), test_settings(seed)));
    Settings hardware = hardware_settings();
    hardware.seed = seed;
    const uint64_t taken = count_of(run_pair(arrivals_and_barrier(".relaxed"), hardware).warnings);
    if (taken == 0) {
      EXPECT_NO_THROW(run_pair(arrivals_and_barrier(".relaxed"), test_settings(seed)));
      continue;
    }
    has_faulted = true;
    expect_isa_fault({"had exited", "arrives with .relaxed (test.ptx:", "it must be released"},
                     [&] { run_pair(arrivals_and_barrier(".relaxed"), test_settings(seed)); });
  }
  EXPECT_TRUE(has_faulted);
}

TEST(Levels, AStoreToACtaThatHasEnded) {
  const std::string store =
      two_ranks("  nanosleep.u32 2000;\n  st.shared::cluster.u32 [%r20+16], 1;\n", "");
  expect_isa_fault({"CTA rank 0, which has exited"}, [&] { run_pair(store, test_settings()); });
  EXPECT_EQ(count_of(run_pair(store, hardware_settings()).warnings, FaultCode::exited_cta_memory),
            1u);
  // What has ended can't be read: no level makes a value of it.
  const std::string load =
      two_ranks("  nanosleep.u32 2000;\n  ld.shared::cluster.u32 %r21, [%r20+16];\n", "");
  for (const Settings& settings : {test_settings(), hardware_settings()}) {
    const Report report = expect_fault(FaultKind::contract, {"CTA rank 0, which has exited"},
                                       [&] { run_pair(load, settings); });
    EXPECT_FALSE(report.hardware_accepts);
  }
}

TEST(Levels, TheStatisticsSayWhatCameTooLate) {
  Settings settings = hardware_settings();
  settings.print_statistics = true;
  testing::internal::CaptureStderr();
  run_pair(
      two_ranks("  nanosleep.u32 2000;\n  mbarrier.arrive.shared::cluster.b64 _, [%r20];\n", ""),
      settings);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("BW-B16 1 time"), std::string::npos) << text;
}

TEST(Levels, TheResponseOfLaunchControlToACtaThatHasEnded) {
  const std::string body =
      "  mbarrier.init.shared::cta.b64 [%r1], 1;\n"
      "  clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [data], [%r1];\n";
  expect_isa_fault({"reaches CTA rank 0", "exited"}, [&] { run_body(body, 1, 1); });
  EXPECT_NO_THROW(run_body(body, 1, 1, hardware_settings()));
}

// ---- tcgen05.fence

TEST(Levels, AHandOverWithoutFencesIsAcceptedAtBoth) {
  // Whoever doesn't search for races doesn't see it. At BW_SIM_CHECKS=races it is one at the level
  // isa alone: tests/simulator/diagnosis/tensor_races_test.cpp.
  const std::string body =
      "  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];\n"
      "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r1], 0;\n"
      "  @!%p0 bra WAIT;\n";
  for (const Settings& settings : {test_settings(), hardware_settings()})
    EXPECT_NO_THROW(run_body("  mbarrier.init.shared::cta.b64 [%r1], 1;\n" + body, 1, 1, settings));
}

}  // namespace
}  // namespace bw::sim::test::levels_test
