#include "common/simulator/base/text_wrap.hpp"

#include <gtest/gtest.h>

namespace bw::sim::test {
namespace {

TEST(TextWrap, BreaksAtSpacesWithAHangingIndent) {
  EXPECT_EQ(wrap_lines("one two three four five six seven", 30),
            "one two three four five six\n  seven");
  EXPECT_EQ(wrap_lines("    aaaaaaaaaa bbbbbbbbbb cccccccccc", 30),
            "    aaaaaaaaaa bbbbbbbbbb\n      cccccccccc");
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
}  // namespace bw::sim::test
