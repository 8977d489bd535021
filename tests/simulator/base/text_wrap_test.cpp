#include "common/simulator/base/text_wrap.hpp"

#include <gtest/gtest.h>

namespace bw::sim::test::text_wrap_test {
namespace {

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

}  // namespace
}  // namespace bw::sim::test::text_wrap_test
