/// \file
/// Messages of errors: every kind of part as a stream writes it.
#include "common/host/error.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

namespace bw {
namespace {

template <class... Parts>
std::string message_of(const Parts&... parts) {
  try {
    require(false, parts...);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

template <class... Parts>
void expect_as_streamed(const Parts&... parts) {
  std::ostringstream streamed;
  (streamed << ... << parts);
  EXPECT_EQ(message_of(parts...), streamed.str());
}

TEST(Error, WritesTextsAsAStreamDoes) {
  const std::string owned = "a string";
  const char* const pointer = "a literal";
  expect_as_streamed("an array, ", owned, ", ", pointer, ", ", 'c', std::string_view("view of", 4),
                     "");
}

TEST(Error, WritesNumbersAsAStreamDoes) {
  expect_as_streamed(std::numeric_limits<int64_t>::min(), " ", std::numeric_limits<int64_t>::max(),
                     " ", std::numeric_limits<uint64_t>::max(), " ", -1, " ", 4294967295u, " ",
                     uint16_t{7}, " ", short{-7}, " ", true);
  for (const double number : {0.0, -0.5, 1e-7, 1.0 / 3, 123456.0, 1234567.0, 3.4e38, 1e300}) {
    expect_as_streamed(number, " ", static_cast<float>(number));
  }
  expect_as_streamed(std::numeric_limits<double>::infinity());
}

TEST(Error, WritesAddressesAsAStreamDoes) {
  const int object = 0;
  expect_as_streamed(static_cast<const void*>(&object), " ", static_cast<const void*>(nullptr));
}

TEST(Error, ThrowsOnlyWhereTheConditionFails) {
  EXPECT_NO_THROW(require(true, "never said"));
  EXPECT_THROW(require(false), Error);
}

}  // namespace
}  // namespace bw
