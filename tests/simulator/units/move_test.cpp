/// \file
/// mov, special registers, cvta and isspacep (PTX ISA, "mov", "Special Registers", "cvta",
/// "isspacep").
#include "tests/simulator/units/lane_evaluation.hpp"

namespace bw::sim::test::move_test {
namespace {

using U16 = uint16_t;
using U32 = uint32_t;
using U64 = uint64_t;

TEST(Move, PacksAndUnpacksFromTheLowestElement) {
  const std::vector<U32> a{0x44332211};
  EXPECT_EQ(evaluate<U32>("mov.b32 {%h0, %h1}, %a; mov.b32 %d, {%h1, %h0};", a)[0], 0x22114433u);
  EXPECT_EQ(
      evaluate<U32>(
          ".reg .b8 %b<4>; mov.b32 {%b0, %b1, %b2, %b3}, %a; mov.b32 %d, {%b3, %b2, %b1, %b0};",
          a)[0],
      0x11223344u);
  EXPECT_EQ(evaluate<U32>("mov.b32 {_, %h1}, %a; cvt.u32.u16 %d, %h1;", a)[0], 0x4433u);
  EXPECT_EQ(evaluate<U64>("mov.b64 %d, {%h0, %h1, %h2, %h3};\nmov.b32 {%h0, %h1}, %a; mov.b64 %d, "
                          "{%h1, %h0, %h0, %h1};",
                          a)[0],
            0x4433221122114433ull);
  EXPECT_EQ(evaluate<U64>(".reg .b128 %w; mov.b64 %l0, 5; mov.b64 %l1, 7; mov.b128 %w, {%l0, %l1}; "
                          "mov.b128 {%l2, %l3}, %w;\n"
                          "shl.b64 %l3, %l3, 8; or.b64 %d, %l2, %l3;",
                          a)[0],
            0x705u);
  EXPECT_EQ(evaluate<float>("mov.f32 %d, 0f40490FDB;", a)[0], 3.14159274f);
}

/// One 32-bit result for each thread of a grid.
std::vector<U32> run_grid(const std::string& body, const LaunchConfiguration& configuration,
                          U32 count, const std::string& module_text = "",
                          const std::string& directives = "") {
  Runner runner;
  const auto out = runner.buffer(std::vector<U32>(count));
  runner.run(
      entry(
          ".param .u64 out",
          ".reg .pred %p<4>; .reg .b32 %r<8>, %d, %i; .reg .b64 %out, %l<8>;\n"
          "ld.param.u64 %out, [out]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, "
          "%ntid.y;\n"
          "mul.lo.u32 %r2, %r1, %r2; mov.u32 %r3, %tid.y; mad.lo.u32 %r3, %r3, %r1, 0; mov.u32 "
          "%r4, %tid.x;\n"
          "add.u32 %r3, %r3, %r4; mad.lo.u32 %i, %r0, %r2, %r3; mad.wide.u32 %out, %i, 4, %out;\n" +
              body + "\nst.global.u32 [%out], %d; ret;",
          module_text, directives),
      configuration, out);
  return out.values();
}

TEST(Move, ThreadAndGridCoordinates) {
  LaunchConfiguration configuration = grid(6, 1, 2);
  configuration.block = {20, 4, 1};
  const auto read = [&](const std::string& name) {
    return run_grid("mov.u32 %d, %" + name + ";", configuration, 480);
  };
  const auto x = read("tid.x"), y = read("tid.y"), lane = read("laneid"), warp = read("warpid");
  const auto rank = read("cluster_ctarank"), cluster = read("clusterid.x"), cta = read("ctaid.x");
  const auto lower = read("lanemask_lt"), upper = read("lanemask_ge");
  for (U32 i = 0; i < 480; ++i) {
    const U32 thread = i % 80;
    ASSERT_EQ(x[i], thread % 20);
    ASSERT_EQ(y[i], thread / 20);
    ASSERT_EQ(lane[i], thread % 32);
    ASSERT_EQ(warp[i], thread / 32);
    ASSERT_EQ(cta[i], i / 80);
    ASSERT_EQ(rank[i], i / 80 % 2);
    ASSERT_EQ(cluster[i], i / 160);
    ASSERT_EQ(lower[i], (1u << thread % 32) - 1);
    ASSERT_EQ(upper[i], ~lower[i]);
  }
  EXPECT_EQ(read("nctaid.x")[0], 6u);
  EXPECT_EQ(read("nclusterid.x")[0], 3u);
  EXPECT_EQ(read("cluster_nctaid.x")[0], 2u);
  EXPECT_EQ(read("cluster_nctarank")[0], 2u);
  EXPECT_EQ(read("cluster_ctaid.x")[479], 1u);
  EXPECT_EQ(read("ntid.y")[0], 4u);
  EXPECT_EQ(read("nwarpid")[0], 3u);
  EXPECT_EQ(run_grid("mov.pred %p1, %is_explicit_cluster; selp.u32 %d, 1, 0, %p1;", configuration,
                     480)[0],
            1u);
  EXPECT_EQ(run_grid("mov.u32 %d, WARP_SZ;", configuration, 480)[0], 32u);
}

TEST(Move, ClocksAdvance) {
  const auto d = run_grid(
      "mov.u64 %l0, %clock64; mov.u64 %l2, %globaltimer; nanosleep.u32 100; mov.u64 %l1, "
      "%clock64;\n"
      "mov.u64 %l3, %globaltimer; setp.gt.u64 %p1, %l1, %l0; setp.gt.and.u64 %p1, %l3, %l2, %p1;\n"
      "selp.u32 %d, 1, 0, %p1;",
      threads(32), 32);
  EXPECT_EQ(d[0], 1u);
}

TEST(Move, SharedMemorySizes) {
  LaunchConfiguration configuration = threads(32);
  configuration.dynamic_shared_bytes = 4096;
  const std::string variable =
      ".shared .align 16 .b8 fixed[512];\n.extern .shared .align 16 .b8 dynamic[];\n";
  const std::string use = "mov.u32 %r5, fixed; mov.u32 %r6, dynamic;\n";
  EXPECT_EQ(run_grid(use + "mov.u32 %d, %dynamic_smem_size;", configuration, 32, variable)[0],
            4096u);
  EXPECT_EQ(run_grid(use + "mov.u32 %d, %total_smem_size;", configuration, 32, variable)[0], 4608u);
  EXPECT_EQ(run_grid(use + "mov.u32 %d, %aggr_smem_size;", configuration, 32, variable)[0], 5632u);
}

TEST(Move, SharedAddressesCarryTheRank) {
  const std::string variable = ".shared .align 16 .b8 fixed[512];\n";
  const auto address = run_grid("mov.u32 %d, fixed;", grid(2, 32, 2), 64, variable);
  EXPECT_EQ(address[0], 1024u);
  EXPECT_EQ(address[32], (1u << 24) + 1024u);
  const auto offset =
      run_grid("mov.u64 %l0, fixed+8; cvt.u32.u64 %d, %l0;", grid(2, 32, 2), 64, variable);
  EXPECT_EQ(offset[32], (1u << 24) + 1032u);
  // To generic and back, from a register and from the symbol itself.
  const auto back = run_grid(
      "mov.u64 %l0, fixed; cvta.shared.u64 %l1, %l0; cvta.shared.u64 %l2, fixed;\n"
      "setp.eq.u64 %p1, %l1, %l2; cvta.to.shared.u64 %l3, %l1; setp.eq.and.u64 %p1, %l3, %l0, "
      "%p1;\n"
      "selp.u32 %d, 1, 0, %p1;",
      grid(2, 32, 2), 64, variable);
  EXPECT_EQ(back[0], 1u);
  EXPECT_EQ(back[32], 1u);
}

TEST(Move, GenericAddressesNameTheirSpace) {
  const std::string variables =
      ".shared .align 16 .b8 fixed[512];\n.global .align 4 .b32 g;\n.const .align 4 .b32 c;\n";
  const std::string local = ".local .align 8 .b8 depot[16];\n";
  const auto in_space = [&](const std::string& space, const std::string& address) {
    return run_grid(local + "mov.b64 %l5, out; " + address + " isspacep." + space +
                        " %p1, %l1; selp.u32 %d, 1, 0, %p1;",
                    threads(32), 32, variables)[0];
  };
  const std::string shared = "mov.u64 %l0, fixed; cvta.shared.u64 %l1, %l0;";
  const std::string global = "mov.u64 %l0, g; cvta.global.u64 %l1, %l0;";
  const std::string constant = "mov.u64 %l0, c; cvta.const.u64 %l1, %l0;";
  const std::string stack = "mov.u64 %l0, depot; cvta.local.u64 %l1, %l0;";
  const std::string parameter = "cvta.param.u64 %l1, %l5;";
  const std::string spaces[] = {"shared", "global", "const", "local", "param"};
  const std::string addresses[] = {shared, global, constant, stack, parameter};
  for (size_t s = 0; s < 5; ++s)
    for (size_t a = 0; a < 5; ++a)
      EXPECT_EQ(in_space(spaces[s], addresses[a]), s == a ? 1u : 0u)
          << spaces[s] << ": " << addresses[a];
  // Between the windows everything is global, whether or not something has been allocated there.
  for (const std::string& space : spaces)
    EXPECT_EQ(in_space(space, "mov.u64 %l1, 0x500000000000;"), space == "global" ? 1u : 0u)
        << space;
}

TEST(Move, LocalAddressesToGenericAndBack) {
  const auto back = run_grid(
      ".local .align 8 .b8 first[16], depot[16];\n"
      "mov.u64 %l0, depot; cvta.local.u64 %l1, %l0; setp.ne.u64 %p1, %l0, %l1;\n"
      "cvta.to.local.u64 %l2, %l1; setp.eq.and.u64 %p1, %l2, %l0, %p1; selp.u32 %d, 1, 0, %p1;",
      threads(32), 32);
  EXPECT_EQ(back[0], 1u);
}

TEST(Move, APredicateFromASpecialRegister) {
  const std::string body = "mov.pred %p1, %is_explicit_cluster; selp.u32 %d, 1, 0, %p1;";
  EXPECT_EQ(run_grid(body, threads(32), 32), std::vector<U32>(32, 0));
  EXPECT_EQ(run_grid(body, grid(2, 32, 2), 64), std::vector<U32>(64, 1));
}

TEST(Move, Refusals) {
  const std::vector<U32> a{1};
  expect_fault(FaultKind::unsupported, {"mov.u32", "%pm0"},
               [&] { (void)evaluate<U32>("mov.u32 %d, %pm0;", a); });
  expect_fault(FaultKind::unsupported, {"splits 32 bits into 3 elements"},
               [&] { (void)evaluate<U32>("mov.b32 %d, {%h0, %h1, %h2};", a); });
}

}  // namespace
}  // namespace bw::sim::test::move_test
