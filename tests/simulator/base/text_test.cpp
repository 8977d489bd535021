/// \file
/// Numbers, masks and counts as texts, lines that are wrapped, numbers of events and back.
#include "common/simulator/base/text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/base/event_number.hpp"
#include "common/simulator/base/text_wrap.hpp"

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

TEST(TextWrap, BreaksAtSpacesWithAHangingIndent) {
  EXPECT_EQ(wrap_lines("one two three four five six seven", 30),
            "one two three four five six\n  seven");
  EXPECT_EQ(wrap_lines("    aaaaaaaaaa bbbbbbbbbb cccccccccc", 30),
            "    aaaaaaaaaa bbbbbbbbbb\n      cccccccccc");
}

TEST(TextWrap, BreaksAtTheWidthAndNeverBelowThirtyColumns) {
  // "aaaa aaaa ..." of five columns a word: of 40 columns eight words fill 39, of 45 nine fill 44,
  // of 30 six fill 29 and of 29 six do as well; 24 hold five. Later lines lose two to the indent.
  std::string text = "aaaa";
  for (int i = 1; i < 12; ++i) text += " aaaa";
  const auto first_line = [&](size_t width) {
    const std::string wrapped = wrap_lines(text, width);
    return wrapped.find('\n');
  };
  EXPECT_EQ(first_line(45), 44u);
  EXPECT_EQ(first_line(44), 44u);
  EXPECT_EQ(first_line(43), 39u);
  for (const size_t width : {30, 29, 10, 1}) EXPECT_EQ(first_line(width), 29u) << width;
  // A word that ends in column 30 fits the least width, one that ends in 31 does not.
  EXPECT_EQ(wrap_lines("aaaa " + std::string(25, 'b'), 3), "aaaa " + std::string(25, 'b'));
  EXPECT_EQ(wrap_lines("aaaa " + std::string(26, 'b'), 3), "aaaa\n  " + std::string(26, 'b'));
}

TEST(TextWrap, KeepsLinesThatFitAndEmptyOnes) {
  const std::string text = "short\n\n  indented line\n";
  EXPECT_EQ(wrap_lines(text, 40), text);
}

TEST(TextWrap, LongWordsStayWhole) {
  const std::string word(50, 'x');
  EXPECT_EQ(wrap_lines("a " + word + " b", 30), "a\n  " + word + "\n  b");
}

TEST(TextWrap, WidthZeroMeansNoLimit) {
  const std::string text(200, 'y');
  EXPECT_EQ(wrap_lines(text + " z", 0), text + " z");
}

TEST(EventNumber, ATextAndBack) {
  const EventNumber number{2, 17, 123456};
  EXPECT_EQ(number.text(), "2.17.123456");
  EXPECT_EQ(EventNumber::parse(number.text()), number);
}

TEST(EventNumber, WhatIsNone) {
  for (const char* const text : {"", "7", "0.1", "0.1.0", "0.1.2.3", "0.1.2x", "0.1.-2", "a.b.c",
                                 "0..1", "0.0.99999999999999999999"})
    EXPECT_FALSE(EventNumber::parse(text)) << text;
}

}  // namespace
}  // namespace bw::sim::test::text_test
