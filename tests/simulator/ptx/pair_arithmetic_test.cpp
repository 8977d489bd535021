#include "common/simulator/ptx/pair_arithmetic.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/simulator/ptx/control_flow.hpp"
#include "tests/simulator/ptx/parse_helpers.hpp"

namespace bw::sim::ptx::pair_arithmetic_test {
namespace {

const std::string kRegisters =
    ".reg .pred %p1; .reg .b32 %x<9>; .reg .b64 %l<5>;\n"
    "mov.b32 %x0, 0; mov.b32 %x1, 1; mov.b32 %x2, 2; mov.b32 %x3, 3;\n";  // instructions 0 to 3
const std::string kPack = "mov.b64 %l0, {%x0, %x1}; mov.b64 %l1, {%x2, %x3};\n",
                  kAdd = "add.rn.f32x2 %l2, %l1, %l0;\n", kUnpack = "mov.b64 {%x4, %x5}, %l2;\n";

std::vector<PairArithmetic> found_in(const std::string& body) {
  const auto module = parse_body_text(kRegisters + body + "\nret;");
  return pair_arithmetic(entry(*module));
}

TEST(PairArithmetic, TakesHalvesFromWhereTheyWerePacked) {
  const std::vector<PairArithmetic> alone = found_in(kPack + kAdd + kUnpack);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].index, 6u);
  EXPECT_EQ(alone[0].packs, (std::vector<uint32_t>{5, 4}));  // by source
  const std::vector<PairArithmetic> apart =
      found_in(kPack + "mov.b32 %x6, 1; mov.b32 %x4, %x6;\n" + kAdd + kUnpack);
  ASSERT_EQ(apart.size(), 1u);
  EXPECT_EQ(apart[0].index, 8u);
}

TEST(PairArithmetic, LeavesWhatOthersSee) {
  const std::string all = kPack + kAdd + kUnpack;
  for (const std::string& body :
       {all + "mov.b64 %l3, %l0;",                                    // a pair is read again
        all + "mov.b64 %l3, %l2;",                                    // the result is
        kPack + "mov.b32 %x2, %x0;\n" + kAdd + kUnpack,               // a half is written before
        kPack + "mov.b64 %l0, 1;\n" + kAdd + kUnpack,                 // a pair is
        kPack + kAdd + "mov.b32 %x6, 1;\n" + kUnpack,                 // it is unpacked later
        kPack + "@%p1 " + kAdd + kUnpack,                             // not in all lanes
        kPack + kAdd + "@%p1 " + kUnpack,                             // likewise
        kPack + "@%p1 bra ON;\nON:\n" + kAdd + kUnpack,               // another basic block
        kPack + "add.rn.f32x2 %l2, %l1, %l3;\n" + kUnpack,            // a source was never packed
        std::string("mov.b64 %l0, {%x0, %x1};\n") + kAdd + kUnpack})  // likewise
    EXPECT_TRUE(found_in(body).empty()) << body;
}

TEST(PairArithmetic, HalvesKeepTheirStorage) {
  // %x6 is written when %x0 to %x3 have been read for the last time.
  const auto module =
      parse_body_text(kRegisters + kPack + "mov.b32 %x6, 1;\n" + kAdd + kUnpack + "ret;");
  const Function& k = entry(*module);
  const RegisterLayout layout = allocate_registers(k);
  const auto offset_of = [&](const std::string& name) {
    for (uint32_t reg = 0; reg < k.registers.size(); ++reg)
      if (k.registers[reg].name == name) return layout.offset_bytes[reg];
    return ~0u;
  };
  for (const char* half : {"%x0", "%x1", "%x2", "%x3"})
    EXPECT_NE(offset_of(half), offset_of("%x6")) << half;
}

}  // namespace
}  // namespace bw::sim::ptx::pair_arithmetic_test
