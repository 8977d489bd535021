/// \file
/// Every instruction that can be .aligned is refused under divergence. The list of examples is held
/// against the opcode table: a new form of that kind fails here until it has one.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/simulator/machine/binder.hpp"
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::aligned_test {
namespace {

/// By the base of their row; operands that are not examined before the rule.
const std::map<std::string, std::vector<std::string>>& examples() {
  static const std::map<std::string, std::vector<std::string>> all = {
      {"bar",
       {"bar.sync 0", "bar.cta.sync 0", "bar.arrive 1, 64", "bar.red.popc.u32 %r1, 0, %p0",
        "bar.red.and.pred %p1, 0, %p0", "bar.red.or.pred %p1, 0, %p0"}},
      {"barrier",
       {"barrier.sync.aligned 0", "barrier.arrive.aligned 1, 64",
        "barrier.red.popc.aligned.u32 %r1, 0, %p0", "barrier.red.and.aligned.pred %p1, 0, %p0",
        "barrier.red.or.aligned.pred %p1, 0, %p0"}},
      {"barrier.cluster.arrive",
       {"barrier.cluster.arrive.aligned", "barrier.cluster.arrive.relaxed.aligned"}},
      {"barrier.cluster.wait", {"barrier.cluster.wait.aligned"}},
      {"ldmatrix",
       {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [data]",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [data]",
        "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%r1}, [data]",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b4x16_p64 {%r1, %r2}, [data]"}},
      {"stmatrix",
       {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [data], {%r1}",
        "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [data], {%r1}"}},
      {"movmatrix", {"movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2"}},
      {"mma",
       {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, {%r3}, "
        "{%f0, %f1, %f2, %f3}"}},
      {"mma.sp",
       {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, "
        "{%r3, %r4}, {%f0, %f1, %f2, %f3}, %r5, 0"}},
      {"mma.sp::ordered_metadata",
       {"mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, "
        "%f3}, {%r1, %r2}, {%r3, %r4}, {%f0, %f1, %f2, %f3}, %r5, 0"}},
      {"wmma.load",
       {"wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, "
        "%f7}, [data], 16"}},
      {"wmma.store",
       {"wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [data], {%f0, %f1, %f2, %f3, %f4, %f5, "
        "%f6, %f7}, 16"}},
      {"wmma.mma",
       {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, "
        "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, {%f0, "
        "%f1, %f2, %f3, %f4, %f5, %f6, %f7}"}},
      {"setmaxnreg", {"setmaxnreg.inc.sync.aligned.u32 64", "setmaxnreg.dec.sync.aligned.u32 32"}},
      {"tensormap.cp_fenceproxy",
       {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        "[%rd0], [data], 128"}},
      {"tcgen05.alloc", {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [data], 32"}},
      {"tcgen05.dealloc", {"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32"}},
      {"tcgen05.relinquish_alloc_permit",
       {"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"}},
      {"tcgen05.ld", {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r2]"}},
      {"tcgen05.st", {"tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {%r1}"}},
      {"tcgen05.wait::ld", {"tcgen05.wait::ld.sync.aligned"}},
      {"tcgen05.wait::st", {"tcgen05.wait::st.sync.aligned"}},
      {"wgmma.mma_async",
       {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd1, %p0, "
        "1, 1, 0, 0"}},
      {"wgmma.mma_async.sp",
       {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd1, "
        "%r1, 0, %p0, 1, 1, 0, 0"}},
      {"wgmma.fence", {"wgmma.fence.sync.aligned"}},
      {"wgmma.commit_group", {"wgmma.commit_group.sync.aligned"}},
      {"wgmma.wait_group", {"wgmma.wait_group.sync.aligned 0"}},
  };
  return all;
}

/// Only the lower half of warp 0 executes the instruction.
void run(const std::string& instruction, Strictness strictness) {
  const bool is_hopper = instruction.starts_with("wgmma");
  std::string text = entry("",
                           R"(
  .reg .pred %p<8>;
  .reg .b32 %r<16>;
  .reg .f32 %f<8>;
  .reg .b64 %rd<4>;
  mov.u32 %r0, %tid.x;
  mov.u64 %rd0, 0;
  mov.u64 %rd1, 0;
  setp.eq.u32 %p0, %r0, %r0;
  )" + std::string(is_hopper ? "wgmma.fence.sync.aligned;" : "") +
                               R"(
  setp.lt.u32 %p7, %r0, 16;
  @%p7 bra LOWER;
  nanosleep.u32 10000;
  bra JOIN;
LOWER:
  )" + instruction + R"(;
JOIN:
  st.shared.b32 [data], %r0;
  ret;
)",
                           ".shared .align 128 .b8 data[1024];\n", ".maxntid 128\n");
  if (is_hopper) text.replace(text.find("sm_100a"), 7, "sm_90a");
  Settings settings = test_settings();
  settings.strictness = strictness;
  if (is_hopper) settings.machine = find_machine("h100");
  Runner runner(settings);
  runner.run(text, threads(128));
}

TEST(Aligned, EveryFormHasAnExample) {
  std::set<std::string> bases;
  for (const auto& family : instruction_forms())
    for (const InstructionForm& row : family) {
      if (row.bind == nullptr) continue;
      for (const ModifierGroup& group : parse_grammar(row.modifiers))
        if (group.name == "aligned") bases.insert(std::string(row.base));
    }
  EXPECT_GT(bases.size(), 20u);
  bases.erase("tcgen05.ld.red");  // of another machine
  for (const std::string& base : bases) EXPECT_TRUE(examples().contains(base)) << base;
}

TEST(Aligned, UnderDivergenceIsRefused) {
  for (const auto& [base, instructions] : examples())
    for (const std::string& instruction : instructions) {
      SCOPED_TRACE(instruction);
      const Report report =
          expect_fault(FaultKind::contract,
                       {"an .aligned instruction executed under divergence", "lanes 0x0000ffff"},
                       [&] { run(instruction, Strictness::isa); });
      EXPECT_TRUE(report.hardware_accepts);
    }
}

TEST(Aligned, TheLevelHardwareTakesThemAsTheyCome) {
  for (const auto& [base, instructions] : examples())
    for (const std::string& instruction : instructions) {
      SCOPED_TRACE(instruction);
      try {  // what the example's operands or the waiting lanes lead to is not the question
        run(instruction, Strictness::hardware);
      } catch (const SimulationError& error) {
        EXPECT_EQ(std::string(error.what()).find("under divergence"), std::string::npos)
            << error.what();
      }
    }
}

}  // namespace
}  // namespace bw::sim::test::aligned_test
