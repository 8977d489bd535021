/// \file
/// Registers of another size than a form takes: each is refused, because its lanes would be taken
/// for other lanes or other registers. ptxas refuses them too, but need not have been run.
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::operand_test {
namespace {

constexpr const char* kRegisters =
    "  .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .b128 %q<2>;\n";

void expect_refused(const std::string& instruction, const std::vector<std::string>& parts) {
  std::vector<std::string> all = parts;
  all.push_back("`" + instruction.substr(0, instruction.find(' ')) + "`");
  expect_fault(FaultKind::unsupported, all, [&] {
    Runner runner;
    runner.run(entry("", kRegisters + ("  " + instruction + ";\n  ret;")), threads(32));
  });
}

void expect_taken(const std::string& instruction) {
  Runner runner;
  EXPECT_NO_THROW(
      runner.run(entry("", kRegisters + ("  " + instruction + ";\n  ret;"),
                       ".shared .align 16 .b8 data[64];\n.global .align 16 .b8 words[64];\n"),
                 threads(1)))
      << instruction;
}

TEST(OperandSize, ADestinationOfAnotherSizeIsRefused) {
  expect_refused("add.u64 %r1, %d1, %d2",
                 {"has a register of 32 bits as its destination", "takes a register of 64 bits"});
  expect_refused("add.u32 %d1, %r1, %r2", {"a register of 64 bits as its destination"});
  expect_refused("add.cc.u32 %p1, %r1, %r2", {"has a predicate as its destination"});
  expect_refused("setp.eq.u32 %r1, %r1, %r2", {"takes a predicate"});
  expect_refused("mul.wide.u32 %r1, %r1, %r2", {"takes a register of 64 bits"});
}

TEST(OperandSize, ASourceOfAnotherSizeIsRefused) {
  expect_refused("add.u32 %r1, %h1, %r2", {"has a register of 16 bits as its source"});
  expect_refused("fma.rn.f64 %d1, %d1, %r2, %d3", {"has a register of 32 bits as its source"});
  expect_refused("shl.b64 %d1, %d1, %d2", {"takes a register of 32 bits"});
  expect_refused("mov.b32 %r1, {%h1, %r2}", {"has a register of 32 bits as its source"});
}

TEST(OperandSize, AnAddressIsARegisterOf32Or64Bits) {
  expect_refused("ld.shared.u32 %r1, [%h1]", {"has a register of 16 bits as its address"});
  expect_refused("st.shared.u32 [%p1], %r1", {"has a predicate as its address"});
}

TEST(OperandSize, LoadsStoresAndConversionsTakeWiderRegisters) {
  expect_taken("ld.global.u8 %r1, [words]");
  expect_taken("ld.global.u16 %d1, [words]");
  expect_taken("st.shared.u8 [data], %r1");
  expect_taken("st.shared.u32 [data], %d1");
  expect_taken("cvt.u32.u8 %d1, %r1");
  expect_refused("ld.shared.u64 %r1, [0]", {"takes a register of 64 bits"});
  expect_refused("cvt.u64.u32 %r1, %r2", {"takes a register of 64 bits"});
}

TEST(OperandSize, AVectorOfAtomicsHasAsManyRegistersAsItSays) {
  expect_refused("red.global.add.v2.f32 [%d1], %r1", {"has an operand of 1, its form takes 2"});
  expect_refused("atom.global.add.v2.f32 {%r1, %r2, %r3}, [%d1], {%r1, %r2}",
                 {"has an operand of 3, its form takes 2"});
}

// Opcodes that only the simulator itself writes are counted as well.
TEST(OperandCount, TheSimulatorsOwnInstructionsTakeOneOperandToo) {
  for (const char* opcode : {"bad_branch_index", "bad_call_target"}) {
    expect_refused(opcode, {"has 0 operands; its form takes 1"});
    expect_refused(std::string(opcode) + " %r1, %r2", {"has 2 operands; its form takes 1"});
  }
}

}  // namespace
}  // namespace bw::sim::test::operand_test
