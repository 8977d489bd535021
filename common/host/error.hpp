#pragma once
/// \file
/// The one error type of the workbook's host code.

#include <sstream>
#include <stdexcept>
#include <string>

namespace bw {

/// What was given, what is allowed, what to do: one sentence or paragraph for the reader.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Error with the concatenation of `parts` unless `condition` holds.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (condition) return;
  std::ostringstream text;
  (text << ... << parts);
  throw Error(text.str());
}

}  // namespace bw
