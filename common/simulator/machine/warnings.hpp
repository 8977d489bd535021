#pragma once
/// \file
/// What a run lets pass and tells the reader: once for each code and line, with its count.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/simulator/base/error.hpp"

namespace bw::sim {

struct Instruction;

/// A warning and how often there was reason for it.
struct Warning {
  Report report;       ///< of the first time
  uint64_t count = 0;  ///< how often
};

/// The warnings of one cluster's run, in the order of their first times.
class Warnings {
 public:
  /// One more reason for a warning. `make()`, which gives its report, is called for the first one
  /// of a code and instruction.
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

/// Adds `more` to `all`: what has the code and line of one that is there adds to its count.
void merge(std::vector<Warning>& all, const std::vector<Warning>& more);

/// How often there was reason for a warning of this code.
[[nodiscard]] uint64_t count_of(const std::vector<Warning>& warnings, FaultCode code) noexcept;
/// How often there was reason for any.
[[nodiscard]] uint64_t count_of(const std::vector<Warning>& warnings) noexcept;

}  // namespace bw::sim
