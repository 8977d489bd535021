#pragma once
/// \file
/// The cases of the conformance program: each runs one small kernel (or one call of the driver) on
/// fixed inputs and returns what it measured.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bw::conformance {

/// What one case measured: values in a fixed order.
struct Result {
  std::vector<uint64_t> values;
  /// What led to value `i`, for a message: its operands, or the step that it belongs to.
  std::function<std::string(size_t)> describe;
  /// What the PTX ISA (or, if `open`, this project's reading of it) promises; empty where a GPU's
  /// results say it.
  std::vector<uint64_t> expected = {};
  bool open = false;
};

/// A named measurement. Names are unique and have no spaces.
struct Case {
  std::string name;
  std::function<Result()> measure;
};

/// Every case that this program holds, in the order of their names.
std::vector<Case> all_cases();

/// Enters a case into `all_cases()`; objects of static storage duration next to the kernels.
class Registration {
 public:
  Registration(std::string name, std::function<Result()> measure);
};

}  // namespace bw::conformance
