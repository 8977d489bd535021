#pragma once
/// \file
/// Expectations of tests/device_cases.hpp, most of which fail: device_cases_test.cpp runs them.

namespace bw::test {

void expect_what_holds();
void expect_equal_ranges();
void expect_true();
void expect_false();
void expect_at_least();
void expect_more();
void expect_at_most();
void expect_less();
/// Doesn't reach the assignment of true.
void assert_and_go_on(bool& went_on);
void expect_death_of_nothing();

}  // namespace bw::test
