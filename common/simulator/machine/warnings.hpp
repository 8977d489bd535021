#pragma once
/// \file
/// Tolerated violations in a run, reported to the reader once for each code and line, with a count.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/simulator/base/error.hpp"

namespace bw::sim {

struct Instruction;

/// A warning and its number of occurrences.
struct Warning {
  Report report;       ///< of the first occurrence
  uint64_t count = 0;  ///< occurrences
};

/// The warnings of one cluster's run, in the order of their first times.
class Warnings {
 public:
  /// One more occurrence. `make()`, which returns its report, is called for the first one of a code
  /// and instruction.
  template <class Make>
  void add(FaultCode code, const Instruction* instruction, Make&& make) {
    const auto [found, is_new] = index_.try_emplace({code, instruction}, list_.size());
    if (is_new) list_.push_back({make(), 0});
    ++list_[found->second].count;
  }
  [[nodiscard]] std::vector<Warning>& list() { return list_; }

 private:
  std::vector<Warning> list_;
  std::map<std::pair<FaultCode, const Instruction*>, size_t> index_;
};

/// Merges `more` into `all`: counts of the same code and line are added.
void merge(std::vector<Warning>& all, const std::vector<Warning>& more);

/// Occurrences of warnings of this code.
[[nodiscard]] uint64_t count_of(const std::vector<Warning>& warnings, FaultCode code) noexcept;
/// Occurrences of all warnings.
[[nodiscard]] uint64_t count_of(const std::vector<Warning>& warnings) noexcept;

}  // namespace bw::sim
