#include "common/simulator/base/text.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "common/simulator/base/bits.hpp"

namespace bw::sim::test::text_test {
namespace {

TEST(Text, HexadecimalInThreeWidths) {
  EXPECT_EQ(hex(0), "0x0");
  EXPECT_EQ(hex(0xdeadbeefcafeull), "0xdeadbeefcafe");
  EXPECT_EQ(hex_mask(0xffffu), "0x0000ffff");
  EXPECT_EQ(hex_mask(0), "0x00000000");
  EXPECT_EQ(hex_word(0x4000404000010040ull), "0x4000404000010040");
  EXPECT_EQ(hex_word(1), "0x0000000000000001");
}

TEST(Text, CountsHaveAPlural) {
  EXPECT_EQ(counted(0, "arrival"), "0 arrivals");
  EXPECT_EQ(counted(1, "arrival"), "1 arrival");
  EXPECT_EQ(counted(2, "arrival"), "2 arrivals");
}

TEST(Bits, RoundUpAndAlign) {
  EXPECT_EQ(ceil_div(0u, 32u), 0u);
  EXPECT_EQ(ceil_div(32u, 32u), 1u);
  EXPECT_EQ(ceil_div(33u, 32u), 2u);
  EXPECT_EQ(align_up(size_t{0}, 64), size_t{0});
  EXPECT_EQ(align_up(size_t{65}, 64), size_t{128});
  EXPECT_TRUE(is_aligned(uint64_t{256}, 128));
  EXPECT_FALSE(is_aligned(uint64_t{257}, 128));
}

}  // namespace
}  // namespace bw::sim::test::text_test
