/// \file
/// Tables of comma-separated values, and how wrong ones are refused.
#include <gtest/gtest.h>

#include <string>

#include "common/host/csv_table.hpp"

namespace bw {
namespace {

TEST(CsvTable, HoldsRowsWithoutCommentsAndEmptyLines) {
  const CsvTable table =
      CsvTable::parse("# head\n\nname,size\r\na b,3\n# between\nc,0.5\n,7", "table.csv");
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"name", "size"}));
  ASSERT_EQ(table.rows(), 3u);
  const size_t name = table.column("name"), size = table.column("size");
  EXPECT_EQ(table.text(0, name), "a b");
  EXPECT_EQ(table.positive_integer(0, size), 3);
  EXPECT_DOUBLE_EQ(table.positive(1, size), 0.5);
  EXPECT_EQ(table.text(2, name), "");
  EXPECT_EQ(table.place(1), "table.csv:6");
}

/// The message of the Error that `body` throws.
template <class Body>
std::string refusal(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(CsvTable, RefusesWhatIsNoTable) {
  const auto parse = [](const std::string& text) {
    return refusal([&] { CsvTable::parse(text, "t.csv"); });
  };
  EXPECT_EQ(parse(""), "t.csv has no line of column names.");
  EXPECT_EQ(parse("# only this\n"), "t.csv has no line of column names.");
  EXPECT_NE(parse("a,b\n1\n").find("t.csv:2 has 1 fields where there are 2 columns: 1"),
            std::string::npos);
  EXPECT_NE(refusal([] { CsvTable::read("/nowhere/t.csv"); }).find("Could not read"),
            std::string::npos);
}

TEST(CsvTable, RefusesFieldsThatArentNumbers) {
  for (const char* wrong : {"", "x", "1x", " 1", "0", "-2", "nan", "inf", "1e999"}) {
    const CsvTable table = CsvTable::parse(std::string("a,b\n1,") + wrong + "\n", "t.csv");
    EXPECT_NE(refusal([&] { table.positive(0, 1); }).find("t.csv:2: b is \""), std::string::npos)
        << wrong;
  }
  const CsvTable table = CsvTable::parse("a\n0.5\n9223372036854775808\n", "t.csv");
  EXPECT_NE(refusal([&] { table.positive_integer(0, 0); }).find("whole number"), std::string::npos);
  EXPECT_NE(refusal([&] { table.positive_integer(1, 0); }).find("t.csv:3"), std::string::npos);
  EXPECT_NE(refusal([&] { table.column("b"); }).find("t.csv has no column b, only a."),
            std::string::npos);
}

}  // namespace
}  // namespace bw
