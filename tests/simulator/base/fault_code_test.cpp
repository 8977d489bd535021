#include "common/simulator/base/fault_code.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>
#include <type_traits>

#include "common/simulator/base/error.hpp"

namespace bw::sim::test::fault_code_test {
namespace {

// What is thrown without a code does not compile.
static_assert(!std::is_default_constructible_v<Fault>);
static_assert(!std::is_default_constructible_v<Report>);

TEST(FaultCodes, AreFoundByTheirName) {
  for (const FaultCodeRow& row : fault_codes()) EXPECT_EQ(&row_of(row.code), &row) << row.id;
}

TEST(FaultCodes, HaveANumberOfTheirOwn) {
  std::set<std::string_view> seen;
  for (const FaultCodeRow& row : fault_codes()) {
    ASSERT_EQ(row.id.size(), 6u) << row.id;
    EXPECT_EQ(row.id.substr(0, 3), "BW-");
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(row.id[3])) != 0) << row.id;
    EXPECT_TRUE(std::isdigit(static_cast<unsigned char>(row.id[4])) != 0) << row.id;
    EXPECT_TRUE(std::isdigit(static_cast<unsigned char>(row.id[5])) != 0) << row.id;
    EXPECT_TRUE(seen.insert(row.id).second) << row.id << " stands twice";
  }
}

TEST(FaultCodes, StandBySubjectAndNumber) {
  std::set<char> closed;
  std::string_view before;
  for (const FaultCodeRow& row : fault_codes()) {
    if (!before.empty() && row.id[3] == before[3]) {
      EXPECT_LT(before, row.id);
    }
    if (!before.empty() && row.id[3] != before[3]) closed.insert(before[3]);
    EXPECT_FALSE(closed.contains(row.id[3])) << row.id << " stands away from its subject";
    before = row.id;
  }
}

TEST(FaultCodes, SayWhatTheyAreAbout) {
  std::set<std::string_view> titles, sentences;
  for (const FaultCodeRow& row : fault_codes()) {
    EXPECT_TRUE(titles.insert(row.title).second) << row.id << " has another's title";
    EXPECT_TRUE(sentences.insert(row.sentence).second) << row.id << " has another's sentence";
    EXPECT_TRUE(row.sentence.ends_with(".")) << row.id;
    EXPECT_FALSE(row.title.ends_with(".")) << row.id;
    EXPECT_EQ(row.sentence.find_first_of("\n\t"), row.sentence.npos) << row.id;
    constexpr size_t kLongestTitle = 50;
    EXPECT_LE(row.title.size(), kLongestTitle) << row.id;
  }
}

TEST(FaultCodes, StandInTheFirstLineOfAReport) {
  const Report error{.code = FaultCode::mbarrier_too_many_arrivals, .what = "a second arrival"};
  EXPECT_EQ(error.format(), "simulator: contract violation BW-B06: a second arrival");
  EXPECT_EQ(error.severity(), Severity::error);
  const Report warning{
      .code = FaultCode::mbarrier_of_exited_cta, .what = "late", .is_tolerated = true};
  EXPECT_EQ(warning.format(), "simulator: warning BW-B16: late");
  EXPECT_EQ(warning.severity(), Severity::warning);
}

}  // namespace
}  // namespace bw::sim::test::fault_code_test
