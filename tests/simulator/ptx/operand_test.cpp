#include <gtest/gtest.h>

#include <bit>

#include "tests/simulator/ptx/parse_helpers.hpp"

namespace bw::sim::ptx::operand_test {
namespace {

using Kind = Operand::Kind;

constexpr const char* kRegisters =
    ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n.reg .b128 t;\n"
    ".shared .align 16 .b8 buffer[64];\n";

/// The first instruction of a body with some registers.
Instruction first_instruction(const std::string& text) {
  static std::vector<std::unique_ptr<Module>> modules;  // operands point to their variables
  modules.push_back(parse_body_text(kRegisters + text));
  EXPECT_EQ(entry(*modules.back()).instructions.size(), 1u);
  return entry(*modules.back()).instructions.at(0);
}

std::string register_name(const Operand& operand) {
  const auto module = parse_body_text(kRegisters);
  EXPECT_EQ(operand.kind, Kind::reg);
  return entry(*module).registers.at(operand.reg).name;
}

TEST(Operands, RegistersAndImmediates) {
  const Instruction add = first_instruction("add.s32 %r1, %r7, -5;");
  EXPECT_EQ(add.opcode, "add.s32");
  ASSERT_EQ(add.operands.size(), 3u);
  EXPECT_EQ(register_name(add.operands[0]), "%r1");
  EXPECT_EQ(register_name(add.operands[1]), "%r7");
  EXPECT_EQ(add.operands[2].kind, Kind::integer);
  EXPECT_EQ(static_cast<int64_t>(add.operands[2].value), -5);
  EXPECT_EQ(add.line, 11u);
}

TEST(Operands, FloatingPointLiterals) {
  const Instruction fma = first_instruction("fma.rn.f32 %r1, 0f3F800000, -0f3F800000, 1.5;");
  EXPECT_EQ(fma.operands[1].kind, Kind::f32_literal);
  EXPECT_EQ(fma.operands[1].value, 0x3F800000u);
  EXPECT_EQ(fma.operands[2].value, 0xBF800000u);
  EXPECT_EQ(fma.operands[3].kind, Kind::f64_literal);
  EXPECT_EQ(fma.operands[3].value, std::bit_cast<uint64_t>(1.5));
  const Instruction mov = first_instruction("mov.f64 %rd1, -0d4000000000000000;");
  EXPECT_EQ(mov.operands[1].value, std::bit_cast<uint64_t>(-2.0));
}

TEST(Operands, ConstantExpressions) {
  const std::pair<const char*, int64_t> cases[] = {{"1+2*3", 7},
                                                   {"(1+2)*3", 9},
                                                   {"-7/2", -3},
                                                   {"-7 % 2", -1},
                                                   {"1<<4|1", 17},
                                                   {"0xff & ~0xf", 0xf0},
                                                   {"WARP_SZ", 32},
                                                   {"WARP_SZ-1", 31},
                                                   {"3>2 ? 5 : 6", 5},
                                                   {"!0", 1},
                                                   {"1==1 && 2<1", 0},
                                                   {"-1>>1", -1},
                                                   {"(.u64)-1>>63", 1},
                                                   {"-1 < 0U", 0},
                                                   {"2-3-4", -5},
                                                   {"7^2", 5},
                                                   {"1<<64", 0},
                                                   {"+5", 5},
                                                   {"(-9223372036854775807-1)/-1", INT64_MIN},
                                                   {"5>=5", 1},
                                                   {"4!=4", 0},
                                                   {"0||3", 1}};
  for (const auto& [text, value] : cases) {
    const Instruction mov = first_instruction(std::string("mov.b64 %rd1, ") + text + ";");
    EXPECT_EQ(mov.operands[1].kind, Kind::integer) << text;
    EXPECT_EQ(static_cast<int64_t>(mov.operands[1].value), value) << text;
  }
}

// Every operator in front of every other: operators bind as those of C++ do (PTX ISA, "Operator
// precedence"), whose compiler computes what is expected.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
// clang-format off
#define BW_OPERATORS(USE, FIRST)                                                          \
  USE(FIRST, ||) USE(FIRST, &&) USE(FIRST, |)  USE(FIRST, ^)  USE(FIRST, &)               \
  USE(FIRST, ==) USE(FIRST, !=) USE(FIRST, <)  USE(FIRST, <=) USE(FIRST, >) USE(FIRST, >=) \
  USE(FIRST, <<) USE(FIRST, >>) USE(FIRST, +)  USE(FIRST, -)                              \
  USE(FIRST, *)  USE(FIRST, /)  USE(FIRST, %)
#define BW_CASES(A, B, C, FIRST, SECOND)    \
  {#A " " #FIRST " " #B " " #SECOND " " #C, \
   static_cast<int64_t>(int64_t{A} FIRST int64_t{B} SECOND int64_t{C})},
#define BW_CASE(FIRST, SECOND) BW_CASES(9, 3, 2, FIRST, SECOND) BW_CASES(6, 6, 1, FIRST, SECOND)
#define BW_BEFORE(FIRST) BW_OPERATORS(BW_CASE, FIRST)
// clang-format on

TEST(Operands, OperatorsBindAsInC) {
  const std::pair<const char*, int64_t> cases[] = {
      BW_BEFORE(||) BW_BEFORE(&&) BW_BEFORE(|) BW_BEFORE(^) BW_BEFORE(&) BW_BEFORE(==) BW_BEFORE(!=)
          BW_BEFORE(<) BW_BEFORE(<=) BW_BEFORE(>) BW_BEFORE(>=) BW_BEFORE(<<) BW_BEFORE(>>)
              BW_BEFORE(+) BW_BEFORE(-) BW_BEFORE(*) BW_BEFORE(/) BW_BEFORE(%)};
  for (const auto& [text, value] : cases) {
    const Instruction mov = first_instruction(std::string("mov.b64 %rd1, ") + text + ";");
    EXPECT_EQ(static_cast<int64_t>(mov.operands[1].value), value) << text;
  }
}
#undef BW_BEFORE
#undef BW_CASE
#undef BW_CASES
#undef BW_OPERATORS
#pragma GCC diagnostic pop

TEST(Operands, SpecialRegistersAndSymbols) {
  const Instruction mov = first_instruction("mov.u32 %r1, %tid.x;");
  EXPECT_EQ(mov.operands[1].kind, Kind::special);
  EXPECT_EQ(mov.operands[1].text, "%tid.x");
  const Instruction address = first_instruction("mov.u32 %r1, buffer+12;");
  EXPECT_EQ(address.operands[1].kind, Kind::variable);
  EXPECT_EQ(address.operands[1].variable->name, "buffer");
  EXPECT_EQ(address.operands[1].value, 12u);
}

TEST(Operands, Addresses) {
  const auto load = [](const std::string& text) {
    return first_instruction("ld.b32 %r1, " + text + ";").operands[1];
  };
  EXPECT_EQ(load("[%rd1]").kind, Kind::address);
  EXPECT_EQ(load("[%rd1]").value, 0u);
  EXPECT_EQ(register_name(load("[%rd1]").elements[0]), "%rd1");
  EXPECT_EQ(load("[%rd1+16]").value, 16u);
  EXPECT_EQ(static_cast<int64_t>(load("[%rd1+-16]").value), -16);
  EXPECT_EQ(static_cast<int64_t>(load("[%rd1-16]").value), -16);
  EXPECT_EQ(load("[%rd1+4*8+1]").value, 33u);
  EXPECT_EQ(load("[buffer+4]").elements[0].kind, Kind::variable);
  EXPECT_EQ(load("[buffer+4]").elements[0].value, 0u);
  EXPECT_EQ(load("[buffer+4]").value, 4u);
  EXPECT_EQ(load("[4096]").elements[0].kind, Kind::integer);
  EXPECT_EQ(load("[4096]").elements[0].value, 4096u);
}

TEST(Operands, VectorsPairsAndSinks) {
  const Instruction load = first_instruction("ld.v4.b32 {%r0, _, %r2, %r3}, [%rd1];");
  EXPECT_EQ(load.operands[0].kind, Kind::vector);
  ASSERT_EQ(load.operands[0].elements.size(), 4u);
  EXPECT_EQ(load.operands[0].elements[1].kind, Kind::sink);
  const Instruction shuffle = first_instruction("shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;");
  EXPECT_EQ(shuffle.operands[0].kind, Kind::pair);
  EXPECT_EQ(register_name(shuffle.operands[0].elements[1]), "%p1");
  const Instruction elect = first_instruction("elect.sync _|%p1, 0xffffffff;");
  EXPECT_EQ(elect.operands[0].elements[0].kind, Kind::sink);
  const Instruction wide = first_instruction("mov.b128 {%rd0, %rd1}, t;");
  EXPECT_EQ(wide.operands[0].elements.size(), 2u);
  EXPECT_EQ(register_name(wide.operands[1]), "t");
  const Instruction arrive = first_instruction("mbarrier.arrive.shared::cta.b64 _, [%r1], 1;");
  EXPECT_EQ(arrive.operands[0].kind, Kind::sink);
}

TEST(Operands, NegatedPredicatesAndGuards) {
  const Instruction setp = first_instruction("@!%p3 setp.lt.and.s32 %p1|%p2, %r1, 0, !%p0;");
  EXPECT_TRUE(setp.has_guard);
  EXPECT_TRUE(setp.guard_negated);
  EXPECT_EQ(setp.guard, setp.operands[3].reg + 3);
  EXPECT_TRUE(setp.operands[3].negated);
  EXPECT_FALSE(setp.operands[1].negated);
  EXPECT_FALSE(first_instruction("@%p1 ret;").guard_negated);
}

TEST(Operands, TensorCoordinates) {
  const Instruction copy = first_instruction(
      "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], "
      "[%rd1+64, {%r2, 8}], [buffer];");
  const Operand& tensor = copy.operands[1];
  ASSERT_EQ(tensor.kind, Kind::coordinates);
  ASSERT_EQ(tensor.elements.size(), 2u);
  EXPECT_EQ(tensor.elements[0].kind, Kind::address);
  EXPECT_EQ(tensor.elements[0].value, 64u);
  EXPECT_EQ(register_name(tensor.elements[0].elements[0]), "%rd1");
  EXPECT_EQ(tensor.elements[1].kind, Kind::vector);
  EXPECT_EQ(tensor.elements[1].elements[1].value, 8u);
  EXPECT_EQ(copy.operands[2].kind, Kind::address);
}

TEST(Operands, CallsHaveOneForm) {
  const auto module = parse_text(R"(
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.extern .func nothing;
.visible .entry k() {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  {
    .param .b64 param0;
    st.param.b64 [param0], %rd1;
    .param .b64 param1;
    st.param.b64 [param1+0], %rd2;
    .param .b32 retval0;
    call.uni (retval0),
    vprintf,
    (
    param0,
    param1
    );
    ld.param.b32 %r1, [retval0];
  }
  call nothing;
  P: .callprototype (.param .b32 _) _ (.param .b32 _);
  call (%r1), %rd1, (%r0), P;
}
)");
  const Function& k = entry(*module);
  const Instruction& print = k.instructions[2];
  EXPECT_EQ(print.opcode, "call.uni");
  ASSERT_EQ(print.operands.size(), 3u);
  ASSERT_EQ(print.operands[0].elements.size(), 1u);
  EXPECT_EQ(print.operands[0].elements[0].variable->name, "retval0");
  EXPECT_EQ(print.operands[1].kind, Kind::function);
  EXPECT_EQ(print.operands[1].text, "vprintf");
  ASSERT_EQ(print.operands[2].elements.size(), 2u);
  EXPECT_EQ(print.operands[2].elements[1].variable->name, "param1");
  EXPECT_EQ(print.operands[2].elements[1].variable->space, StateSpace::param);
  const Instruction& plain = k.instructions[4];
  ASSERT_EQ(plain.operands.size(), 3u);
  EXPECT_TRUE(plain.operands[0].elements.empty());
  EXPECT_TRUE(plain.operands[2].elements.empty());
  const Instruction& indirect = k.instructions[5];
  ASSERT_EQ(indirect.operands.size(), 4u);
  EXPECT_EQ(indirect.operands[1].kind, Kind::reg);
  EXPECT_EQ(indirect.operands[3].text, "P");
}

TEST(Operands, IndexedBranchesCarryTheirTargets) {
  const auto module = parse_body_text(R"(
  .reg .b32 %r<2>;
  ts: .branchtargets A, B, A;
  brx.idx %r1, ts;
A:
  add.s32 %r0, %r0, 1;
B:
  ret;)");
  const Instruction& branch = entry(*module).instructions[0];
  ASSERT_EQ(branch.operands.size(), 2u);
  ASSERT_EQ(branch.operands[1].elements.size(), 3u);
  EXPECT_EQ(branch.operands[1].elements[0].value, 1u);
  EXPECT_EQ(branch.operands[1].elements[1].value, 2u);
  EXPECT_EQ(branch.operands[1].elements[2].value, 1u);
}

}  // namespace
}  // namespace bw::sim::ptx::operand_test
