/// \file
/// Calls through a register and brx.idx: every lane goes to its own target, and all come back
/// (PTX ISA, "call", "brx.idx").
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::jump_test {
namespace {

using U32 = uint32_t;
using U64 = uint64_t;

const std::string kFunctions = R"(
.func (.param .b32 r) twice(.param .b32 x)
{ .reg .b32 %a; ld.param.b32 %a, [x]; shl.b32 %a, %a, 1; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) plus_hundred(.param .b32 x)
{ .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, 100; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) early(.param .b32 x)
{ .reg .b32 %a; .reg .pred %p; ld.param.b32 %a, [x]; st.param.b32 [r], %a; setp.lt.u32 %p, %a, 8;
  @%p ret; st.param.b32 [r], 7; ret; }
.func nothing() { ret; }
.global .align 8 .u64 table[3] = {twice, plus_hundred, early};
.global .align 8 .b8 packed[16] = {1, 2, 3, 4, 5, 6, 7, 8, 0xFF(twice), 0xFF00(twice),
  0xFF0000(twice), 0xFF000000(twice), 0xFF00000000(twice), 0xFF0000000000(twice),
  0xFF000000000000(twice), 0xFF00000000000000(twice)};
)";

/// Each thread sets %f to a function's address; %t is its index; the result of f(t) goes to out[t].
std::string caller(const std::string& pointer, const std::string& guard = "") {
  return entry(".param .u64 out", R"(
  .reg .pred %p<4>; .reg .b32 %t, %r<4>; .reg .b64 %f, %o, %l<4>;
  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %l0, %t, 4; add.u64 %o, %o, %l0;
  mov.b32 %r1, 9999; setp.lt.u32 %p1, %t, 16;
)" + pointer + R"(
  { .param .b32 x; .param .b32 r; st.param.b32 [x], %t; st.param.b32 [r], 9999;
  P: .callprototype (.param .b32 _) _ (.param .b32 _);
  )" + guard + R"( call (r), %f, (x), P;
  ld.param.b32 %r1, [r]; }
  st.global.u32 [%o], %r1; ret;
)",
               kFunctions);
}

std::vector<U32> run(const std::string& text) {
  Runner runner;
  const auto out = runner.buffer(std::vector<U32>(32));
  runner.run(text, threads(32), out);
  return out.values();
}

/// table[t % 3] for each thread.
const std::string kFromTable =
    "rem.u32 %r2, %t, 3; mul.wide.u32 %l1, %r2, 8; mov.u64 %l2, table; add.u64 %l2, %l2, %l1;\n"
    "ld.global.u64 %f, [%l2];\n";

U32 called(U32 which, U32 x) { return which == 0 ? 2 * x : which == 1 ? x + 100 : x < 8 ? x : 7; }

TEST(IndirectCall, EachLaneCallsItsOwnFunction) {
  const auto out = run(caller(kFromTable));
  for (U32 t = 0; t < 32; ++t) EXPECT_EQ(out[t], called(t % 3, t)) << t;
}

TEST(IndirectCall, UnderAGuardTheOthersGoOn) {
  const auto out = run(caller(kFromTable, "@!%p1"));
  for (U32 t = 0; t < 32; ++t) EXPECT_EQ(out[t], t < 16 ? 9999 : called(t % 3, t)) << t;
}

TEST(IndirectCall, OfAnAddressTakenInCodeAndOfAPackedOne) {
  auto out = run(caller("mov.u64 %f, plus_hundred;"));
  for (U32 t = 0; t < 32; ++t) EXPECT_EQ(out[t], t + 100);
  out = run(caller("ld.global.u64 %f, [packed+8];"));
  for (U32 t = 0; t < 32; ++t) EXPECT_EQ(out[t], 2 * t);
}

TEST(IndirectCall, ANumberThatIsNoFunctionIsAFault) {
  expect_fault(FaultKind::contract,
               {"a call through a register that holds 0x1234", "(PTX ISA, \"call\")"},
               [] { (void)run(caller("mov.u64 %f, 0x1234;")); });
  // This call can't reach a function with other parameters.
  expect_fault(FaultKind::contract, {"isn't one of the module's functions with these parameters"},
               [] { (void)run(caller("mov.u64 %f, nothing;")); });
}

TEST(IndirectCall, RecursionIsAFaultWhereItHappens) {
  const std::string functions = R"(
.func (.param .b32 r) down(.param .b32 x, .param .b64 self)
{ .reg .b32 %a; .reg .b64 %f; .reg .pred %p; ld.param.b32 %a, [x]; ld.param.b64 %f, [self];
  st.param.b32 [r], %a; setp.eq.u32 %p, %a, 0; @%p ret; sub.u32 %a, %a, 1;
  { .param .b32 y; .param .b64 s; .param .b32 q; st.param.b32 [y], %a; st.param.b64 [s], %f;
  P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _); call (q), %f, (y, s), P; }
  ret; }
)";
  const auto text = [&](const std::string& depth) {
    return entry("",
                 ".reg .b64 %f; mov.u64 %f, down;\n"
                 "{ .param .b32 y; .param .b64 s; .param .b32 q; st.param.b32 [y], " +
                     depth +
                     "; st.param.b64 [s], %f;\n"
                     "P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);\n"
                     "call (q), %f, (y, s), P; } ret;",
                 functions);
  };
  Runner runner;
  runner.run(text("0"), threads(32));
  expect_fault(FaultKind::contract, {"recursion is not executed"},
               [&] { runner.run(text("1"), threads(32)); });
}

std::string indexed(const std::string& index) {
  return entry(".param .u64 out", R"(
  .reg .pred %p; .reg .b32 %t, %i, %r; .reg .b64 %o, %l;
  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %l, %t, 4; add.u64 %o, %o, %l;
  setp.ge.u32 %p, %t, 24; mov.u32 %r, 77; )" +
                                      index + R"(
  T: .branchtargets TEN, TWENTY, TEN, THIRTY;
  @!%p brx.idx %i, T;
  bra END;
TEN: mov.u32 %r, 10; bra END;
TWENTY: mov.u32 %r, 20;
THIRTY: add.u32 %r, %r, 30;
END: st.global.u32 [%o], %r; ret;
)");
}

TEST(IndexedBranch, EachLaneGoesToItsLabel) {
  const auto out = run(indexed("and.b32 %i, %t, 3;"));
  constexpr U32 kExpected[] = {10, 50, 10, 107};
  for (U32 t = 0; t < 32; ++t) EXPECT_EQ(out[t], t < 24 ? kExpected[t % 4] : 77) << t;
}

TEST(IndexedBranch, AnIndexBeyondTheTableIsAFault) {
  expect_fault(FaultKind::contract,
               {"a branch with the index 4, which is beyond its table", "(PTX ISA, \"brx.idx\")"},
               [] { (void)run(indexed("mov.u32 %i, 4;")); });
}

}  // namespace
}  // namespace bw::sim::test::jump_test
