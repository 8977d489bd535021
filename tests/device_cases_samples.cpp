#include "tests/device_cases_samples.hpp"

#include <cstdint>
#include <vector>

#include "tests/device_cases.hpp"

namespace bw::test {

void expect_what_holds() {
  int evaluations = 0;
  EXPECT_EQ(++evaluations, 1) << "each side is evaluated once";
  EXPECT_EQ(evaluations, 1);
  EXPECT_TRUE(evaluations == 1);
  EXPECT_FALSE(evaluations == 2);
  ASSERT_TRUE(evaluations == 1);
  EXPECT_GE(2, 2);
  EXPECT_GT(3, 2);
  EXPECT_LE(2, 2);
  EXPECT_LT(1, 2);
  if (evaluations == 2) EXPECT_EQ(1, 2);
}
void expect_equal_ranges() {
  EXPECT_EQ((std::vector<int>{1, 2}), (std::vector<int>{1, 3})) << "in round " << 7u;
}
void expect_true() { EXPECT_TRUE(1 > 2); }
void expect_false() { EXPECT_FALSE(1 < 2); }
void expect_at_least() { EXPECT_GE(1, 2); }
void expect_more() { EXPECT_GT(2, 2); }
void expect_at_most() { EXPECT_LE(2, 1); }
void expect_less() { EXPECT_LT(2, 2); }
void assert_and_go_on(bool& went_on) {
  ASSERT_TRUE(1 > 2) << 0.5 << " of them";
  went_on = true;
}
void expect_death_of_nothing() { EXPECT_DEATH(static_cast<void>(0), "anything"); }

namespace {

int sizes_seen = 0;
using Both = Types<int16_t, int32_t>;
TYPED_TEST_SUITE(SampleOfTypes, Both);
TYPED_TEST(SampleOfTypes, Runs) { sizes_seen += sizeof(TypeParam); }

struct Sample {
  const char* name;
  int number;
};
int numbers_seen = 0;
struct SampleOfValues {
  static constexpr const char* kInstance = "Both";
  static constexpr Sample kValues[] = {{"First", 1}, {"Second", 20}};
  const Sample* value;
};
TEST_P(SampleOfValues, Runs) { numbers_seen += value->number; }

TEST(SamplesBefore, HaveEachRunOnce) {
  EXPECT_EQ(sizes_seen, 2 + 4);
  EXPECT_EQ(numbers_seen, 1 + 20);
}

}  // namespace
}  // namespace bw::test
