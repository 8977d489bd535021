#include "common/simulator/base/report_text.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace bw::sim::test::report_text_test {
namespace {

/// A file of source that goes with the test. Each test has its own: CTest runs them side by side.
class SourceFile {
 public:
  explicit SourceFile(const std::string& text)
      : path_(testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() +
              ".cu") {
    std::ofstream(path_) << text;
  }
  ~SourceFile() { std::remove(path_.c_str()); }
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;
  [[nodiscard]] ReportPlace at(uint32_t line, uint32_t column) const {
    return {.path = path_, .line = line, .column = column};
  }

 private:
  std::string path_;
};

constexpr Presentation kWithCode{.shows_code = true};

TEST(Excerpt, PutsACaretBelowTheColumn) {
  const SourceFile file("first\n  full.wait(0);\n\tx = y;\n");
  EXPECT_EQ(excerpt(file.at(2, 3), kWithCode), "\n  2 |   full.wait(0);\n    |   ^");
  EXPECT_EQ(excerpt(file.at(3, 6), kWithCode), "\n  3 | \tx = y;\n    | \t    ^");
  EXPECT_EQ(excerpt(file.at(1, 0), kWithCode), "\n  1 | first");
}

TEST(Excerpt, IsEmptyWhereThereIsNoSuchLine) {
  const SourceFile file("one\n\n");
  EXPECT_EQ(excerpt(file.at(2, 1), kWithCode), "");
  EXPECT_EQ(excerpt(file.at(9, 1), kWithCode), "");
  EXPECT_EQ(excerpt(file.at(0, 0), kWithCode), "");
  EXPECT_EQ(excerpt({.path = "/no/such/file.cu", .line = 1}, kWithCode), "");
  EXPECT_EQ(excerpt({.path = testing::TempDir(), .line = 1}, kWithCode), "");
}

TEST(Excerpt, FitsTheTerminal) {
  const SourceFile file(std::string(300, 'x') + "\n");
  Presentation narrow = kWithCode;
  narrow.columns = 40;
  EXPECT_EQ(excerpt(file.at(1, 5), narrow), "\n  1 | " + std::string(34, 'x') + "\n    |     ^");
  EXPECT_EQ(excerpt(file.at(1, 90), narrow), "\n  1 | " + std::string(34, 'x'));
  constexpr size_t kLongest = 160;
  EXPECT_EQ(excerpt(file.at(1, 0), kWithCode), "\n  1 | " + std::string(kLongest, 'x'));
}

TEST(Report, NamesALongKernelOnce) {
  const std::string kernel =
      "device_kernel<GemmUniversal<tuple<int, int, int>, Mainloop, Epilogue>>";
  const Report report{.code = FaultCode::race_shared,
                      .what = "a race",
                      .where = "a.hpp:2: `ld` in " + kernel + ", warp 1",
                      .details = {"first: `st` in " + kernel + ", warp 0"},
                      .places = {{.path = "/no/such/a.hpp", .line = 2, .kernel = kernel}}};
  const std::string text = present(report, {});
  EXPECT_NE(text.find("where: a.hpp:2: `ld` in " + kernel + ", warp 1"), std::string::npos);
  EXPECT_NE(text.find("first: `st` in device_kernel<...>, warp 0"), std::string::npos) << text;
}

Report a_race(const SourceFile& file) {
  Report report{.code = FaultCode::race_shared,
                .what = "the load reads what the store has written",
                .where = "a.cu:2: `ld`",
                .details = {"second: the load", "first: the store (generic proxy)"},
                .rule = "a rule",
                .fix = "a fix",
                .hardware_accepts = true};
  report.places = {file.at(2, 1), file.at(1, 1)};
  report.places[1].role = "first";
  return report;
}

TEST(Present, ShowsEachPlaceBelowTheLineThatNamesIt) {
  const SourceFile file("store();\nload();\n");
  EXPECT_EQ(present(a_race(file), kWithCode),
            "simulator: contract violation BW-R01: the load reads what the store has written\n"
            "  where: a.cu:2: `ld`\n"
            "  2 | load();\n"
            "    | ^\n"
            "  second: the load\n"
            "  first: the store (generic proxy)\n"
            "  1 | store();\n"
            "    | ^\n"
            "  rule:  a rule\n"
            "  fix:   a fix\n"
            "  level: isa (the PTX ISA's wording); with BW_SIM_STRICTNESS=hardware the simulator "
            "continues");
}

TEST(ReportPlaces, SayWhereAndWho) {
  ReportPlace place{.path = "/src/a.cu", .line = 7, .function = "f", .opcode = "ld"};
  EXPECT_EQ(place.describe(), "a.cu:7 in f: `ld`");
  place.cta = {{4, 5, 6}};
  place.cta_rank = 1;
  place.warp = 3;
  place.lanes = 1u << 9;
  EXPECT_EQ(place.describe(), "a.cu:7 in f: `ld`, CTA (4,5,6) rank 1, warp 3, lane 9");
  place.lanes = 0x30;
  EXPECT_EQ(place.describe(), "a.cu:7 in f: `ld`, CTA (4,5,6) rank 1, warp 3, lanes 0x00000030");
  place.lanes = ~0u;
  EXPECT_EQ(place.describe(), "a.cu:7 in f: `ld`, CTA (4,5,6) rank 1, warp 3");
}

TEST(Present, NamesPlacesThatNoDetailNames) {
  Report report{.code = FaultCode::tmem_load_not_awaited, .what = "early"};
  report.places = {{.path = "/src/a.cu", .line = 7},
                   {.role = "the load",
                    .path = "/src/a.cu",
                    .line = 5,
                    .function = "f",
                    .opcode = "tcgen05.ld",
                    .cta = {{1, 0, 0}},
                    .cta_rank = 1,
                    .warp = 2,
                    .lanes = 4}};
  EXPECT_EQ(report.format(),
            "simulator: contract violation BW-X12: early\n"
            "  the load: a.cu:5 in f: `tcgen05.ld`, CTA (1,0,0) rank 1, warp 2, lane 2");
}

TEST(Present, ColoursTitleLabelsAndCaretAlone) {
  const SourceFile file("store();\nload();\n");
  Presentation coloured = kWithCode;
  coloured.colours = true;
  const std::string text = present(a_race(file), coloured);
  EXPECT_TRUE(text.starts_with("\x1b[1;31msimulator: contract violation BW-R01:\x1b[0m the load"))
      << text;
  EXPECT_NE(text.find("\n  \x1b[1mwhere:\x1b[0m a.cu:2"), std::string::npos) << text;
  EXPECT_NE(text.find("| \x1b[1;32m^\x1b[0m\n"), std::string::npos) << text;
  // Without the escape sequences it is the same text.
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\x1b')
      i = text.find('m', i);
    else
      plain += text[i];
  EXPECT_EQ(plain, present(a_race(file), kWithCode));
}

TEST(Present, WrapsTextAndNotSource) {
  const SourceFile file("a line of source   with   blanks that is longer than forty columns\nx\n");
  Presentation narrow = kWithCode;
  narrow.columns = 40;
  Report report = a_race(file);
  report.places = {file.at(1, 1)};
  const std::string text = present(report, narrow);
  EXPECT_NE(text.find("\n  1 | a line of source   with   blanks t\n    | ^\n"), std::string::npos)
      << text;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    EXPECT_LE(end - begin, 42u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace bw::sim::test::report_text_test
