/// \file
/// The macros of tests/device_cases.hpp report what GoogleTest's report.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/device_cases_samples.hpp"

namespace bw::test {
namespace {

TEST(DeviceCases, ReportNothingThatHolds) { expect_what_holds(); }

TEST(DeviceCases, ReportBothSidesAndTheRemark) {
  EXPECT_NONFATAL_FAILURE(expect_equal_ranges(), "they are { 1, 2 } and { 1, 3 }. in round 7");
}

TEST(DeviceCases, ReportEveryRelationThatDoesNotHold) {
  EXPECT_NONFATAL_FAILURE(expect_true(), "1 > 2 is false");
  EXPECT_NONFATAL_FAILURE(expect_false(), "!(1 < 2) is false");
  EXPECT_NONFATAL_FAILURE(expect_at_least(), "Expected 1 >= 2; they are 1 and 2");
  EXPECT_NONFATAL_FAILURE(expect_more(), "Expected 2 > 2");
  EXPECT_NONFATAL_FAILURE(expect_at_most(), "Expected 2 <= 1");
  EXPECT_NONFATAL_FAILURE(expect_less(), "Expected 2 < 2");
}

TEST(DeviceCases, AnAssertionEndsItsFunction) {
  bool went_on = false;
  EXPECT_NONFATAL_FAILURE(assert_and_go_on(went_on), "0.5 of them");
  EXPECT_FALSE(went_on);
}

TEST(DeviceCases, HaveTheNamesOfTheirTypesAndValues) {
  std::set<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      names.insert(std::string(suite.name()) + "." + suite.GetTestInfo(j)->name());
    }
  }
  for (const char* name :
       {"SampleOfTypes/0.Runs", "SampleOfTypes/1.Runs", "Both/SampleOfValues.Runs/First",
        "Both/SampleOfValues.Runs/Second", "SamplesBefore.HaveEachRunOnce"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(DeviceCasesDeathTest, ReportWhatDoesNotDie) {
  EXPECT_NONFATAL_FAILURE(expect_death_of_nothing(), "failed to die");
}

}  // namespace
}  // namespace bw::test
