/// \file
/// Each family of instructions that write memory tells observers of it: without that, races and
/// reads of unwritten memory go unnoticed.
#include "tests/fuzz/observed_writes.hpp"

#include <gtest/gtest.h>

#include <fmt/core.h>

#include "tests/fuzz/random_kernel.hpp"
#include "tests/fuzz/simulation.hpp"

namespace bw::sim::fuzz {
namespace {

constexpr uint32_t kThreads = 32, kMemoryWords = 4096;

/// One warp; addresses as random_kernel.hpp has them.
struct Case {
  std::string instruction;
  std::string before = {}, behind = {};
};

std::string wait() {
  return "W:\n  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n  @!%p1 bra W;\n";
}
std::string expect(uint32_t bytes) {
  return fmt::format("  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {};\n", bytes);
}
const std::string kFill =
    "  st.shared.v4.u32 [%r6], {%r5, %r5, %r5, %r5};\n"
    "  st.shared.v4.u32 [%r6+512], {%r5, %r5, %r5, %r5};\n"
    "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n";
const std::string kDrain = "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n";

std::string map_in_shared_memory() {
  std::string text = "  bar.sync 0;\n";
  for (int i = 0; i < 16; ++i)
    text += fmt::format(
        "  @%p0 ld.param.u64 %d8, [map+{0}];\n  @%p0 st.shared.u64 [area+{0}], %d8;\n", 8 * i);
  return text;
}

std::vector<Case> cases() {
  return {
      {"st.shared.v4.u32 [%r6], {%r5, %r5, %r5, %r5};"},
      {"st.global.u32 [%d5], %r5;"},
      {"st.u32 [%d6], %r5;"},
      {"st.async.release.gpu.global.u32 [%d5], %r5;"},
      {"red.global.add.u32 [%d5], %r5;"},
      {"atom.shared.exch.b32 %r7, [%r6], %r8;", kFill},
      {"@%p0 st.bulk.weak.shared::cta [%r1], 256, 0;"},
      {"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r6], {%r5, %r5, %r5, %r5};"},
      {"wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [area], "
       "{%r5, %r5, %r5, %r5, %r5, %r5, %r5, %r5}, 20;"},
      {"wmma.store.d.sync.aligned.col.m32n8k16.global.s32 [%d0], "
       "{%r5, %r5, %r5, %r5, %r5, %r5, %r5, %r5};"},
      {"wmma.store.d.sync.aligned.row.m16n16k16.f16 [%d1], {%r5, %r5, %r5, %r5};"},
      {"@%p0 mbarrier.init.shared::cta.b64 [area+64], 3;"},
      {"cp.async.ca.shared.global [%r6], [%d7], 16;", "", "  cp.async.wait_all;\n"},
      {"@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d0], 512, "
       "[bar];",
       expect(512), wait()},
      {"@%p0 cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r1], 512;", kFill, kDrain},
      {"@%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d0], [%r1], 512;", kFill,
       kDrain},
      {"@%p0 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], "
       "[%d3, {%r8, %r8}], [bar];",
       expect(1024), wait()},
      {"@%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d3, {%r8, %r8}], [%r1];",
       kFill, kDrain},
      {"@%p0 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "
       "[%d3, {%r8, %r8}], [%r1];",
       kFill, kDrain},
      {"@%p0 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1+64], %r5, [%r2];",
       expect(4), wait()},
      {"@%p0 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], "
       "%r5, [%r2];",
       kFill + expect(4), wait()},
      {"@%p0 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
       "[%r1], [%r2];",
       expect(16), wait()},
      {"@%p0 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [area], 1, 8;",
       map_in_shared_memory()},
      {"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"},  // after an allocation
  };
}

/// Runs it; `changed` are the bytes that changed.
Outcome run(const Case& one, size_t& changed) {
  const std::string values =
      "  add.u32 %r5, %r0, 0x01020304;\n  mov.u32 %r8, 0;\n"
      "  mad.lo.u32 %r6, %r0, 16, %r1;\n  mul.wide.u32 %d4, %r0, 4;\n"
      "  add.u64 %d5, %d0, %d4;\n  mul.wide.u32 %d4, %r0, 16;\n"
      "  add.u64 %d6, %d1, %d4;\n  add.u64 %d7, %d0, %d4;\n";
  Task task;
  task.configuration.block = {kThreads, 1, 1};
  task.memory.resize(kMemoryWords);
  for (uint32_t i = 0; i < kMemoryWords; ++i) task.memory[i] = i * 0x9e3779b1u;
  task.text = one_instruction_kernel(values + one.before, one.instruction, one.behind);
  return simulate_observed(task, short_settings(), &changed);
}

TEST(ObservedWrites, EveryFamilyTells) {
  size_t changed_by_others = 0;
  EXPECT_FALSE(run({"mov.u32 %r9, 0;"}, changed_by_others).fault);
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.instruction);
    size_t changed = 0;
    const Outcome outcome = run(one, changed);
    EXPECT_FALSE(outcome.fault) << outcome.report;
    EXPECT_GT(changed, changed_by_others);
    EXPECT_EQ(outcome.unobserved, "");
  }
}

}  // namespace
}  // namespace bw::sim::fuzz
