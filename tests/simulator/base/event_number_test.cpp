/// \file
/// Numbers of events as texts.
#include "common/simulator/base/event_number.hpp"

#include <gtest/gtest.h>

namespace bw::sim::event_number_test {
namespace {

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
}  // namespace bw::sim::event_number_test
