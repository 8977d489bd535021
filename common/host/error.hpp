#pragma once
/// \file
/// The one error type of the workbook's host code.

#include <span>
#include <stdexcept>
#include <string>

#include "common/host/require.hpp"

namespace bw {

/// What was given, what is allowed, what to do: one sentence or paragraph for the reader.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The text that `parts` make together.
std::string concatenate(std::span<const MessagePart> parts);

}  // namespace bw
