#include <gtest/gtest.h>

#include "common/simulator/ptx/control_flow.hpp"
#include "tests/simulator/ptx/parse_helpers.hpp"

namespace bw::sim::ptx::inline_calls_test {
namespace {

const std::string kHelper = R"(
.func  (.param .b32 func_retval0) helper(.param .b32 a, .param .align 8 .b8 b[16])
{
  .local .align 8 .b8 depot[32];
  .shared .align 4 .b8 scratch[64];
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .loc 1 5 1
  ld.param.b32 %r1, [a];
  ld.param.b32 %r2, [b+8];
  setp.eq.s32 %p1, %r1, 0;
  @%p1 bra ZERO;
  st.shared.b32 [scratch], %r1;
  st.param.b32 [func_retval0], %r2;
  @%p1 ret;
ZERO:
  st.local.b32 [depot], %r1;
  st.param.b32 [func_retval0+0], %r1;
  ret;
}
)";

const std::string kCall = R"({
  .param .b32 param0;
  .param .align 8 .b8 param1[16];
  .param .b32 retval0;
  st.param.b32 [param0], %r0;
  call.uni (retval0), helper, (param0, param1);
  ld.param.b32 %r1, [retval0];
}
)";

const std::string kFiles = ".file 1 \"library/helper.cuh\"\n.file 2 \"kernel.cu\"\n";

std::unique_ptr<Module> inlined(const std::string& text) {
  auto module = parse_text(text);
  inline_calls(*module);
  return module;
}

TEST(InlineCalls, SplicesTheBodyAtEachCall) {
  const auto module = inlined(kHelper + ".visible .entry k() {\n.reg .b32 %r<2>;\n.loc 2 40 1\n" +
                              kCall + "bra AROUND;\n" + kCall + "AROUND: ret;\n}\n" + kFiles);
  const Function& k = entry(*module);
  // st.param, 10 of the helper, ld.param; bra; the same again; ret
  ASSERT_EQ(k.instructions.size(), 12u + 1 + 12 + 1);
  for (const Instruction& instruction : k.instructions) {
    EXPECT_FALSE(instruction.opcode.starts_with("call")) << instruction.opcode;
  }
  const auto& i = k.instructions;
  EXPECT_EQ(i[12].operands[0].value, 25u);  // the caller's own branch
  // Each copy has registers of its own, and branches within itself.
  EXPECT_NE(i[1].operands[0].reg, i[14].operands[0].reg);
  EXPECT_EQ(k.registers[i[1].operands[0].reg].name, "%r1");
  EXPECT_EQ(i[4].operands[0].value, 8u);
  EXPECT_EQ(i[17].operands[0].value, 21u);
  EXPECT_EQ(i[4].guard, i[3].operands[0].reg);
  // ret, guarded or not, goes to the end of the body.
  EXPECT_EQ(i[7].opcode, "bra");
  EXPECT_TRUE(i[7].has_guard);
  EXPECT_EQ(i[7].operands[0].value, 11u);
  EXPECT_EQ(i[10].opcode, "bra");
  EXPECT_FALSE(i[10].has_guard);
  EXPECT_EQ(i[23].operands[0].value, 24u);
  EXPECT_EQ(i[25].opcode, "ret");
  // Parameters are the caller's call variables: written by one side, read by the other.
  EXPECT_EQ(i[0].operands[0].elements[0].variable, i[1].operands[1].elements[0].variable);
  EXPECT_EQ(i[6].operands[0].elements[0].variable, i[11].operands[1].elements[0].variable);
  EXPECT_EQ(i[2].operands[1].value, 8u);
  EXPECT_NE(i[1].operands[1].elements[0].variable, i[14].operands[1].elements[0].variable);
}

TEST(InlineCalls, OwnsLocalsOnceAndSharesShared) {
  const auto module = inlined(kHelper + ".visible .entry k() {\n.reg .b32 %r<2>;\n" + kCall +
                              kCall + "ret;\n}\n.visible .entry other() {\n.reg .b32 %r<2>;\n" +
                              kCall + "ret;\n}\n" + kFiles);
  const Function& k = entry(*module);
  const Function& other = *module->find_function("other");
  const auto& i = k.instructions;
  const Variable* depot = i[8].operands[0].elements[0].variable;
  EXPECT_EQ(depot->name, "depot");
  EXPECT_EQ(depot, i[20].operands[0].elements[0].variable);
  EXPECT_NE(depot, other.instructions[8].operands[0].elements[0].variable);
  const auto owns = [](const std::vector<std::unique_ptr<Variable>>& list,
                       const Variable* variable) {
    return std::any_of(list.begin(), list.end(),
                       [&](const auto& v) { return v.get() == variable; });
  };
  EXPECT_TRUE(owns(k.variables, depot));
  const Variable* scratch = i[5].operands[0].elements[0].variable;
  EXPECT_TRUE(owns(module->variables, scratch));
  EXPECT_EQ(scratch, other.instructions[5].operands[0].elements[0].variable);
}

TEST(InlineCalls, NamesTheCallSite) {
  const auto module = inlined(kHelper + ".visible .entry k() {\n.reg .b32 %r<2>;\n.loc 2 40 1\n" +
                              kCall + "ret;\n}\n" + kFiles);
  const Function& k = entry(*module);
  EXPECT_EQ(module->describe_location(k.instructions[1]), "kernel.cu:40 (helper.cuh:5 in helper)");
  EXPECT_EQ(module->describe_location(k.instructions[0]), "kernel.cu:40");
}

TEST(InlineCalls, GoesThroughSeveralLevels) {
  const auto module = inlined(R"(
.func c() { .reg .b32 %r<1>; mov.b32 %r0, 3; ret; }
.func b() { .reg .b32 %r<1>; mov.b32 %r0, 2; call c; call c; ret; }
.visible .entry k() { .reg .pred %p<1>; @!%p0 call b; call c; ret; }
)");
  const Function& k = entry(*module);
  const auto& i = k.instructions;
  // bra around; b: mov, (mov, bra), (mov, bra), bra; c: mov, bra; ret
  ASSERT_EQ(i.size(), 10u);
  EXPECT_EQ(i[0].opcode, "bra");
  EXPECT_TRUE(i[0].has_guard);
  EXPECT_FALSE(i[0].guard_negated);
  EXPECT_EQ(i[0].operands[0].value, 7u);
  EXPECT_EQ(i[3].operands[0].value, 4u);
  EXPECT_EQ(i[5].operands[0].value, 6u);
  EXPECT_EQ(i[6].operands[0].value, 7u);
  EXPECT_EQ(i[8].operands[0].value, 9u);
  EXPECT_EQ(k.registers.size(), 5u);
}

TEST(InlineCalls, KeepsExternCalls) {
  const auto module = inlined(R"(
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.visible .entry k() { .param .b64 a; .param .b64 b; .param .b32 r; call.uni (r), vprintf, (a, b); }
)");
  EXPECT_EQ(entry(*module).instructions[0].opcode, "call.uni");
}

Report refusal(const std::string& text) {
  const auto module = parse_text(text);
  try {
    inline_calls(*module);
  } catch (const SimulationError& error) {
    return error.report();
  }
  ADD_FAILURE() << "no error for " << text;
  return {.code = FaultCode::deadlock};  // no parser gives it
}

TEST(InlineCalls, RefusesWhatItCannotInline) {
  const Report recursion = refusal(
      ".func a;\n.func b() { call a; ret; }\n.func a() { call b; ret; }\n.entry k() { call a; ret; "
      "}");
  EXPECT_EQ(recursion.kind(), FaultKind::unsupported);
  EXPECT_NE(recursion.what.find("recursion: `a` calls `b` calls `a`"), std::string::npos)
      << recursion.what;
  EXPECT_NE(recursion.where.find("test.ptx:5"), std::string::npos) << recursion.where;

  const Report missing = refusal(".func nobody;\n.entry k() { call nobody; }");
  EXPECT_EQ(missing.kind(), FaultKind::unsupported);
  EXPECT_NE(missing.what.find("`nobody`"), std::string::npos);

  const std::string taker = ".func f(.param .b64 p) { ret; }\n";
  EXPECT_EQ(refusal(taker + ".entry k() { call f; }").kind(), FaultKind::parse);
  EXPECT_EQ(refusal(taker + ".entry k() { .param .b32 q; call f, (q); }").kind(), FaultKind::parse);
  EXPECT_EQ(refusal(taker + ".entry k() { call f, (7); }").kind(), FaultKind::unsupported);
}

TEST(InlineCalls, LeavesFunctionsThatNobodyCalls) {
  EXPECT_NO_THROW((void)inlined(".func a() { call a; ret; }\n.entry k() { ret; }"));
}

TEST(InlineCalls, BoundsTheGrowth) {
  std::string text = ".func f0() { .reg .b32 a; mov.b32 a, 1; mov.b32 a, 2; ret; }\n";
  for (int level = 1; level < 40; ++level) {
    const std::string callee = "call f" + std::to_string(level - 1) + "; ";
    text += ".func f" + std::to_string(level) + "() { ";
    for (int i = 0; i < 100; ++i) text += callee;
    text += "ret; }\n";
  }
  EXPECT_EQ(refusal(text + ".entry k() { call f39; }").kind(), FaultKind::unsupported);
}

}  // namespace
}  // namespace bw::sim::ptx::inline_calls_test
