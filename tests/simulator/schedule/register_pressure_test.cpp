/// \file
/// Which values need a register of each thread. ptxas keeps what the threads of a warp share in
/// uniform registers or the constant bank (CUDA's cuobjdump shows UR and c[0x0] in its code).
#include "common/simulator/schedule/register_pressure.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "common/simulator/clock/issue_latencies.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"
#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::test::register_pressure_test {
namespace {

/// How many registers of 32 bits each register of a body takes, by name.
std::map<std::string, int> weights(const std::string& body) {
  const std::unique_ptr<ptx::Module> module = ptx::parse(
      ".version 8.7\n.target sm_90a\n.address_size 64\n"
      ".visible .entry k(.param .u64 p, .param .u32 n) {\n"
      ".reg .f32 %f<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<4>;\n.reg .pred %p<2>;\n" +
          body + "ret;\n}\n",
      "test");
  ptx::Function& function = *module->functions.front();
  const RegisterPressure pressure(
      IssueNodes(function, issue_latencies(times_of(*find_machine("h100")))));
  std::map<std::string, int> result;
  for (size_t i = 0; i < function.registers.size(); ++i)
    result[function.registers[i].name] = pressure.weight[i];
  return result;
}

TEST(RegisterPressure, ValuesThatAWarpSharesTakeNone) {
  std::map<std::string, int> taken = weights(
      "ld.param.u64 %rd0, [p];\nld.param.u32 %r0, [n];\nmov.u32 %r1, %ctaid.x;\n"
      "mad.lo.u32 %r2, %r1, %r0, 7;\nst.global.u32 [%rd0], %r2;\n");
  for (const char* const name : {"%rd0", "%r0", "%r1", "%r2"}) EXPECT_EQ(taken[name], 0) << name;
}

TEST(RegisterPressure, ThreadsHaveWhatTheyLoadAndWhatFollowsFromTheirNumber) {
  std::map<std::string, int> taken = weights(
      "ld.param.u64 %rd0, [p];\nld.global.u32 %r0, [%rd0];\nld.global.v2.u32 {%r1, %r2}, [%rd0];\n"
      "ld.global.u64 %rd1, [%rd0+8];\nadd.u32 %r3, %r0, 1;\nmov.u32 %r4, %tid.x;\n"
      "shl.b32 %r5, %r4, 2;\nmov.u32 %r6, %laneid;\nld.shared.u32 %r7, [%r5];\n");
  for (const char* const name : {"%r0", "%r1", "%r2", "%r3", "%r4", "%r5", "%r6", "%r7"})
    EXPECT_EQ(taken[name], 1) << name;
  EXPECT_EQ(taken["%rd1"], 2);
}

/// Threads that took one way have other values than those that took the other.
TEST(RegisterPressure, WhatDivergedCodeComputesDiffers) {
  const auto computed_after = [](const std::string& compared) {
    return weights(
        "ld.param.u32 %r0, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n"
        "setp.eq.u32 %p0, " +
        compared +
        ", 3;\n@%p0 bra END;\nadd.u32 %r2, %r0, 5;\nmul.lo.u32 %r2, %r2, %r0;\n"
        "END:\nld.param.u64 %rd0, [p];\nst.global.u32 [%rd0], %r2;\n")["%r2"];
  };
  EXPECT_EQ(computed_after("%r1"), 1);
  EXPECT_EQ(computed_after("%r0"), 0);
}

}  // namespace
}  // namespace bw::sim::test::register_pressure_test
