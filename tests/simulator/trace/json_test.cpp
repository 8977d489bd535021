/// \file
/// Strings of JSON: well-formed UTF-8 stays, other bytes become U+FFFD one by one (The Unicode
/// Standard, table 3-7).
#include "common/simulator/trace/json.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace bw::sim::trace::json_test {
namespace {

TEST(Json, WellFormedSequencesStay) {
  for (const std::string_view text :
       {"\x7f", "\xc2\x80", "\xc3\xa9", "\xdf\xbf", "\xe0\xa0\x80", "\xe2\x82\xac", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(json_string(text), "\"" + std::string(text) + "\"");
  EXPECT_EQ(json_string("a\xc3\xa9z\xf0\x9f\x98\x80."), "\"a\xc3\xa9z\xf0\x9f\x98\x80.\"");
}

TEST(Json, WhatIsNoSequenceIsReplaced) {
  for (const std::string_view text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3\x28", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xe2\x82", "\xe2\x28\xa1", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xf0\x9f\x98", "\xff"}) {
    std::string expected = "\"";
    for (const char c : text)
      expected += static_cast<unsigned char>(c) < 0x80 ? std::string(1, c) : "\xef\xbf\xbd";
    EXPECT_EQ(json_string(text), expected + "\"");
  }
}

TEST(Json, QuotesAndControlCharactersAreEscaped) {
  EXPECT_EQ(json_string("\"\\"), "\"\\\"\\\\\"");
  EXPECT_EQ(json_string(std::string_view("\x01\x1f ", 3)), "\"\\u0001\\u001f \"");
}

}  // namespace
}  // namespace bw::sim::trace::json_test
