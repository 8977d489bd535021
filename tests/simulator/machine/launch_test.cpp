/// \file
/// Launches: what is refused, and that results do not depend on host threads.
#include <algorithm>
#include <numeric>
#include <set>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test::launch_test {
namespace {

const std::string kEmpty = entry("", "ret;");

TEST(Launch, RefusesWhatDoesNotFit) {
  Runner runner;
  expect_fault(FaultKind::launch, {"must not be empty"}, [&] { runner.run(kEmpty, threads(0)); });
  expect_fault(FaultKind::launch, {"1025 threads", "at most 1024"},
               [&] { runner.run(kEmpty, threads(1025)); });
  expect_fault(FaultKind::launch, {"17 CTAs"}, [&] { runner.run(kEmpty, grid(17, 32, 17)); });
  expect_fault(FaultKind::launch, {"not a multiple of cluster"},
               [&] { runner.run(kEmpty, grid(3, 32, 2)); });
  LaunchConfiguration portable = grid(16, 32, 16);
  portable.non_portable_cluster = false;
  expect_fault(FaultKind::launch, {"non-portable"}, [&] { runner.run(kEmpty, portable); });
  LaunchConfiguration large = threads(32);
  large.dynamic_shared_bytes = 228 * 1024;
  expect_fault(FaultKind::launch, {"233472 bytes of shared memory", "fewer stages"},
               [&] { runner.run(kEmpty, large); });
  expect_fault(FaultKind::launch, {"__launch_bounds__ of 64"},
               [&] { runner.run(entry("", "ret;", "", ".maxntid 64, 1, 1"), threads(128)); });
  expect_fault(FaultKind::launch, {"__cluster_dims__"}, [&] {
    runner.run(entry("", "ret;", "", ".explicitcluster .reqnctapercluster 2, 1, 1"),
               grid(4, 32, 1));
  });
  expect_fault(FaultKind::launch, {"takes 1 parameters, 0 were given"},
               [&] { runner.run(entry(".param .u32 n", "ret;"), threads(32)); });
}

/// Whether a launch of an empty kernel is taken.
bool is_taken(Runner& runner, const std::string& kernel, const LaunchConfiguration& configuration) {
  try {
    runner.run(kernel, configuration);
  } catch (const SimulationError& error) {
    EXPECT_EQ(error.report().kind(), FaultKind::launch) << error.what();
    return false;
  }
  return true;
}

TEST(Launch, BlocksAreTakenUpToTheirBounds) {
  Runner runner;
  constexpr uint32_t kExtents[] = {1, 3, 15, 16, 17, 64, 65, 1024, 1025};
  for (const uint32_t x : kExtents)
    for (const uint32_t y : kExtents)
      for (const uint32_t z : kExtents) {
        LaunchConfiguration one = threads(1);
        one.block = {x, y, z};
        EXPECT_EQ(is_taken(runner, kEmpty, one),
                  x <= 1024 && y <= 1024 && z <= 64 && x * y * z <= 1024)
            << x << ", " << y << ", " << z;
      }
  struct Bound {
    const char* directive;
    uint32_t threads;
  };
  for (const Bound& bound : {Bound{".maxntid 48", 48}, Bound{".maxntid 48, 2", 96},
                             Bound{".maxntid 16, 2, 3", 96}, Bound{".maxntid 16, 1, 3", 48}})
    for (const uint32_t count : {bound.threads - 1, bound.threads, bound.threads + 1})
      EXPECT_EQ(is_taken(runner, entry("", "ret;", "", bound.directive), threads(count)),
                count <= bound.threads)
          << bound.directive << ", " << count;
}

TEST(Launch, ClustersAreTakenUpToTheirBounds) {
  Runner runner;
  for (uint32_t x = 0; x <= 5; ++x)
    for (uint32_t y = 1; y <= 3; ++y)
      for (uint32_t z = 1; z <= 3; ++z)
        for (const bool non_portable : {false, true}) {
          LaunchConfiguration one = threads(32);
          one.cluster = {x, y, z};
          one.non_portable_cluster = non_portable;
          one.grid = {2 * std::max(x, 1u), y, 2 * z};
          const bool fits = x != 0 && x * y * z <= (non_portable ? 16u : 8u);
          EXPECT_EQ(is_taken(runner, kEmpty, one), fits) << x << ", " << y << ", " << z;
          if (!fits) continue;
          // One CTA more in an extent that the cluster does not divide.
          for (uint32_t Dim3::*extent : {&Dim3::x, &Dim3::y, &Dim3::z}) {
            LaunchConfiguration more = one;
            ++(more.grid.*extent);
            EXPECT_EQ(is_taken(runner, kEmpty, more), one.cluster.*extent == 1);
          }
        }
  const std::string required = entry("", "ret;", "", ".explicitcluster .reqnctapercluster 2, 1, 2");
  const std::string row = entry("", "ret;", "", ".explicitcluster .reqnctapercluster 2");
  for (const Dim3 cluster : {Dim3{2, 1, 2}, Dim3{2, 2, 1}, Dim3{2, 1, 1}, Dim3{1, 2, 2}}) {
    LaunchConfiguration one = threads(32);
    one.grid = one.cluster = cluster;
    EXPECT_EQ(is_taken(runner, required, one), (cluster == Dim3{2, 1, 2}));
    EXPECT_EQ(is_taken(runner, row, one), (cluster == Dim3{2, 1, 1}));
  }
}

TEST(Launch, SharedMemoryIsTakenUpToItsBound) {
  Runner runner;
  constexpr size_t kMostBytes = 227 * 1024, kStatic = 1024;
  const std::string with_static =
      entry("", "st.shared.u8 [table], 1;\nret;", ".shared .align 16 .b8 table[1024];\n");
  for (const size_t bytes : {kMostBytes - 1, kMostBytes, kMostBytes + 1}) {
    LaunchConfiguration one = threads(32);
    one.dynamic_shared_bytes = bytes;
    EXPECT_EQ(is_taken(runner, kEmpty, one), bytes <= kMostBytes) << bytes;
    one.dynamic_shared_bytes = bytes - kStatic;
    EXPECT_EQ(is_taken(runner, with_static, one), bytes <= kMostBytes) << bytes;
    one.dynamic_shared_limit_bytes = bytes - kStatic - 1;
    EXPECT_FALSE(is_taken(runner, with_static, one)) << bytes;
  }
}

// 384 threads may have 170 registers each, and registers are given out in eights.
TEST(Launch, RegistersThatALaunchBoundLeavesAreRoundedDown) {
  constexpr uint32_t kLiveRegisters = 190;
  std::string loads, stores;
  for (uint32_t i = 0; i < kLiveRegisters; ++i) {
    const std::string value = "%r" + std::to_string(i);
    const std::string address = "[%d1+" + std::to_string(4 * i) + "]";
    loads += "ld.global.u32 " + value + ", " + address + ";\n";
    stores += "st.global.u32 " + address + ", " + value + ";\n";
  }
  const std::string parameter = ".param .u64 values";
  const std::string body =
      ".reg .b32 %r<190>; .reg .b64 %d<2>; ld.param.u64 %d1, [values];\n" + loads + stores + "ret;";
  Runner runner;
  const auto values = runner.buffer(std::vector<uint32_t>(kLiveRegisters));
  runner.run(entry(parameter, body, "", ".maxntid 384, 1, 1 .minnctapersm 1"), threads(384),
             values);
  LaunchConfiguration block = threads(384);
  block.block = {96, 2, 2};
  runner.run(entry(parameter, body, "", ".maxntid 96, 2, 2 .minnctapersm 1"), block, values);
  expect_fault(FaultKind::launch, {"no CTA of this kernel fits on an SM", "384 threads"},
               [&] { runner.run(entry(parameter, body), threads(384), values); });
}

TEST(Launch, RefusesUnknownInstructionsByName) {
  Runner runner;
  expect_fault(
      FaultKind::unsupported, {"frobnicate.u32", "test.ptx:", "not an instruction form"}, [&] {
        runner.run(entry("", ".reg .b32 %r<4>; frobnicate.u32 %r1, %r2; ret;"), threads(32));
      });
  expect_fault(FaultKind::unsupported, {"suq.width.b32", "known but not executed"}, [&] {
    runner.run(entry("", ".reg .b32 %r<4>; .reg .b64 %d; suq.width.b32 %r1, [%d]; ret;"),
               threads(32));
  });
}

TEST(Launch, ListsEachRefusedFormOnce) {
  Runner runner;
  const Report report = expect_fault(FaultKind::unsupported, {"2 instruction forms"}, [&] {
    runner.run(entry("",
                     ".reg .b32 %r<4>; frobnicate.u32 %r1, %r2; frobnicate.u32 %r2, %r1;\n"
                     "defrost.u32 %r1, %r2; ret;"),
               threads(32));
  });
  const std::string text = report.format();
  for (const char* const form : {"`frobnicate.u32`", "`defrost.u32`"}) {
    EXPECT_NE(text.find(form), std::string::npos) << text;
    EXPECT_EQ(text.find(form), text.rfind(form)) << text;
  }
}

// Every CTA adds to a counter and writes the ticket it drew.
const std::string kTickets = entry(".param .u64 counter, .param .u64 tickets", R"(
  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<8>;
  ld.param.u64 %d1, [counter];
  ld.param.u64 %d2, [tickets];
  mov.u32 %r1, %tid.x;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, 0;
  and.b32 %r6, %r3, 7;
DELAY:
  setp.ge.u32 %p2, %r4, %r6;
  @%p2 bra GO;
  nanosleep.u32 900;
  add.u32 %r4, %r4, 1;
  bra DELAY;
GO:
  atom.global.add.u32 %r2, [%d1], 1;
  mad.lo.u32 %r5, %r3, 32, %r1;
  mad.wide.u32 %d3, %r5, 4, %d2;
  st.global.u32 [%d3], %r2;
  ret;
)");

TEST(Launch, GlobalAtomicsAreOrderedTheSameForAnyNumberOfHostThreads) {
  constexpr uint32_t kCtas = 40;
  std::vector<uint32_t> first;
  Cycle first_cycles = 0;
  for (const uint32_t host_threads : {1u, 2u, 5u}) {
    Settings settings = test_settings();
    settings.host_threads = host_threads;
    Runner runner(settings);
    const auto counter = runner.buffer(std::vector<uint32_t>(1));
    const auto tickets = runner.buffer(std::vector<uint32_t>(kCtas * 32));
    const LaunchResult result = runner.run(kTickets, grid(kCtas, 32), counter, tickets);
    EXPECT_EQ(counter[0], kCtas * 32);
    std::vector<uint32_t> sorted = tickets.values();
    std::sort(sorted.begin(), sorted.end());
    for (uint32_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i);
    if (first.empty()) {
      first = tickets.values();
      first_cycles = result.cycles;
    }
    EXPECT_EQ(tickets.values(), first) << host_threads << " host threads";
    EXPECT_EQ(result.cycles, first_cycles);
  }
}

TEST(Launch, OneCtaWaitsForAFlagOfAnother) {
  Runner runner;
  const auto flag = runner.buffer(std::vector<uint32_t>{0, 0});
  const auto out = runner.buffer(std::vector<uint32_t>(1));
  runner.run(entry(".param .u64 flag, .param .u64 out", R"(
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<8>;
    ld.param.u64 %d1, [flag];
    ld.param.u64 %d2, [out];
    mov.u32 %r1, %ctaid.x;
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra WRITER;
  SPIN:
    ld.acquire.gpu.global.u32 %r2, [%d1];
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra SPIN;
    ld.global.u32 %r3, [%d1+4];
    st.global.u32 [%d2], %r3;
    ret;
  WRITER:
    nanosleep.u32 20000;
    st.global.u32 [%d1+4], 99;
    st.release.gpu.global.u32 [%d1], 1;
    ret;
  )"),
             grid(2, 1), flag, out);
  EXPECT_EQ(out[0], 99u);
}

TEST(Launch, AnEndlessLoopIsALivelock) {
  Settings settings = test_settings();
  settings.livelock_cycles = 100'000;
  Runner runner(settings);
  expect_fault(FaultKind::livelock, {"test.ptx:"}, [&] {
    runner.run(
        entry("", ".reg .b32 %r<4>; mov.u32 %r1, 0;\nAGAIN: add.u32 %r1, %r1, 1; bra AGAIN;"),
        threads(32));
  });
}

TEST(Launch, ASleeperIsNoDeadlockForThoseWhoWaitForIt) {
  Runner runner;
  const auto out = runner.buffer(std::vector<uint32_t>(1));
  runner.run(entry(".param .u64 out", R"(
    .reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %out;
    .shared .align 8 .b64 bar;
    ld.param.u64 %out, [out];
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READY;
    mbarrier.init.shared::cta.b64 [bar], 1;
  READY:
    bar.sync 0;
    setp.ge.u32 %p2, %r1, 32;
    @%p2 bra SLEEPER;
  WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0;
    @!%p3 bra WAIT;
    st.global.u32 [%out], 5;
    ret;
  SLEEPER:
    nanosleep.u32 1000000;
    setp.ne.u32 %p1, %r1, 32;
    @%p1 ret;
    mbarrier.arrive.shared::cta.b64 _, [bar];
    ret;
  )"),
             threads(64), out);
  EXPECT_EQ(out[0], 5u);
}

TEST(Launch, SleepingForEverIsALivelock) {
  Settings settings = test_settings();
  settings.livelock_cycles = 100'000;
  Runner runner(settings);
  expect_fault(FaultKind::livelock, {"test.ptx:"},
               [&] { runner.run(entry("", "AGAIN: nanosleep.u32 100; bra AGAIN;"), threads(32)); });
}

TEST(Launch, MoreCtasThanFitRunInTurn) {
  Settings settings = test_settings();
  settings.sm_count = 1;
  Runner runner(settings);
  LaunchConfiguration one = grid(1, 32);
  one.dynamic_shared_bytes = 200 * 1024;
  LaunchConfiguration three = one;
  three.grid.x = 3;
  const std::string text = entry("", "nanosleep.u32 1000; ret;");
  const Cycle single = runner.run(text, one).cycles;
  EXPECT_EQ(runner.run(text, three).cycles, 3 * single);
}

/// The order in which the warps of a CTA come to the same instruction, having begun together.
std::vector<uint32_t> order_of_warps(uint64_t seed) {
  constexpr uint32_t kWarps = 16;
  Runner runner(test_settings(seed));
  const auto out = runner.buffer(std::vector<uint32_t>(kWarps + 1));  // after them the count
  runner.run(entry(".param .u64 out",
                   ".reg .pred %p0;\n.reg .b32 %r<4>;\n.reg .b64 %d<3>;\n"
                   "ld.param.u64 %d0, [out];\nmov.u32 %r0, %warpid;\n"
                   "mov.u32 %r1, %laneid;\nsetp.eq.u32 %p0, %r1, 0;\n"
                   "@%p0 atom.global.add.u32 %r2, [%d0+64], 1;\n"
                   "mul.wide.u32 %d1, %r2, 4;\nadd.u64 %d0, %d0, %d1;\n"
                   "@%p0 st.global.u32 [%d0], %r0;\nret;"),
             threads(kWarps * 32), out);
  return {out.data(), out.data() + kWarps};
}

TEST(Launch, SeedsShuffleWhatHappensAtOnce) {
  std::vector<uint32_t> ascending(16);
  std::iota(ascending.begin(), ascending.end(), 0u);
  // Without a seed one after the other; with which they begin is left open.
  std::vector<uint32_t> unshuffled = order_of_warps(0);
  std::rotate(unshuffled.begin(), std::find(unshuffled.begin(), unshuffled.end(), 0u),
              unshuffled.end());
  EXPECT_EQ(unshuffled, ascending);
  std::set<std::vector<uint32_t>> orders;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    std::vector<uint32_t> order = order_of_warps(seed);
    EXPECT_EQ(order, order_of_warps(seed));
    std::rotate(order.begin(), std::find(order.begin(), order.end(), 0u), order.end());
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, ascending);
  }
  orders.insert(ascending);
  EXPECT_EQ(orders.size(), 5u);
}

TEST(Launch, AFaultOfOneClusterIsTheReportWhileAnotherWaitsForIt) {
  // CTA 1 is at fault; CTA 0 looks at a word that CTA 1 would have written after that, and
  // changes nothing in between.
  Settings settings = test_settings();
  settings.livelock_cycles = 20'000;
  Runner runner(settings);
  const auto out = runner.buffer(std::vector<uint32_t>(4));
  expect_fault(FaultKind::contract, {"out of bounds", "CTA (1,0,0)"}, [&] {
    runner.run(entry(".param .u64 out",
                     ".reg .pred %p<3>;\n.reg .b32 %r<4>;\n.reg .b64 %d<3>;\n"
                     "ld.param.u64 %d0, [out];\nmov.u32 %r0, %ctaid.x;\n"
                     "setp.eq.u32 %p0, %r0, 1;\n@%p0 bra WRITER;\n"
                     "LOOK:\nld.acquire.gpu.global.u32 %r1, [%d0];\n"
                     "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra LOOK;\nret;\n"
                     "WRITER:\nst.global.u32 [%d0+4096], 1;\n"
                     "st.release.gpu.global.u32 [%d0], 1;\nret;"),
               grid(2, 1), out);
  });
}

TEST(Launch, AddressSpaceThatCannotBeReservedIsSaid) {
  Settings settings = test_settings();
  settings.memory_bytes = size_t{1} << 60;
  expect_fault(FaultCode::address_space_reservation, {"cannot reserve 1073741824 GB"},
               [&] { Runner runner(settings); });
}

/// A kernel that has `live` values of 32 bits at once.
std::string with_live_values(uint32_t live, const std::string& directives) {
  const auto name = [](uint32_t i) { return "%r" + std::to_string(i); };
  std::string body =
      ".reg .b32 %r<300>, %sum; .reg .b64 %p; ld.param.u64 %p, [p]; mov.b32 %sum, 0;\n";
  for (uint32_t i = 0; i < live; ++i)
    body += "ld.global.b32 " + name(i) + ", [%p+" + std::to_string(4 * i) + "];\n";
  for (uint32_t i = 0; i < live; ++i) body += "add.u32 %sum, %sum, " + name(i) + ";\n";
  return entry(".param .u64 p", body + "st.global.b32 [%p], %sum; ret;", "", directives);
}

/// CTAs on an SM by the rules of the CUDA programming guide: 64 K registers in units of 8 a thread,
/// 2048 threads, 32 CTAs; launch bounds limit the registers.
TEST(Launch, Occupancy) {
  struct Case {
    uint32_t live;
    const char* directives;
    uint32_t threads, ctas;
    const char* limited_by;
  };
  const Case cases[] = {
      {100, "", 32, 19, "registers"},   // 65536 / (104 * 32)
      {100, "", 1024, 0, "registers"},  // 104 registers and more do not go into 64
      {10, "", 512, 4, "threads"},      // with 32 registers or less
      {10, "", 32, 32, "CTA slots"},
      {100, ".maxntid 1024, 1, 1", 1024, 1, "registers"},
      {100, ".maxntid 64, 16, 1", 1024, 1, "registers"},
      {100, ".maxntid 64, 4, 4", 1024, 1, "registers"},
      {100, ".maxntid 512, 1, 1", 512, 1, "registers"},
      {100, ".maxntid 512, 1, 1\n.minnctapersm 2", 512, 2, "registers"},
      {100, ".maxntid 256, 1, 1\n.minnctapersm 3", 256, 3, "registers"},
      {100, ".maxntid 1024, 1, 1\n.minnctapersm 2", 1024, 2, "registers"},
  };
  for (const Case& one : cases) {
    Runner runner;
    const LoadedModule& module =
        runner.device().load(with_live_values(one.live, one.directives), "test.ptx");
    const Kernel& kernel = runner.device().kernel(module, "k");
    const Occupancy occupancy = runner.device().occupancy(kernel, one.threads, 0);
    EXPECT_EQ(occupancy.ctas_per_sm, one.ctas)
        << one.directives << ", " << kernel.registers_per_thread() << " registers";
    EXPECT_EQ(occupancy.limited_by, one.limited_by) << one.directives;
  }
}

TEST(Launch, PlacesInSharedMemoryAreNamed) {
  Runner runner;
  const LoadedModule& module = runner.device().load(
      entry("", ".reg .b32 %r<2>; mov.u32 %r0, first; mov.u32 %r1, second; ret;",
            ".shared .align 16 .b8 first[8];\n.shared .align 16 .b8 second[8];\n"),
      "test.ptx");
  const Kernel& kernel = runner.device().kernel(module, "k");
  uint32_t offset = 0;
  while (offset < 4096 && kernel.describe_shared(offset) != "first") ++offset;
  ASSERT_LT(offset, 4096u);
  EXPECT_EQ(kernel.describe_shared(offset + 7), "first+7");
  for (const uint32_t between : {8u, 15u})
    EXPECT_EQ(kernel.describe_shared(offset + between),
              "shared memory +" + std::to_string(offset + between));
  EXPECT_EQ(kernel.describe_shared(offset + 16), "second");
  EXPECT_EQ(kernel.describe_shared(offset + 23), "second+7");
}

}  // namespace
}  // namespace bw::sim::test::launch_test
