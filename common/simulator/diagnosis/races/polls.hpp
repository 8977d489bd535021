#pragma once
/// \file
/// Which loads wait for a change: alone with their loop, they read until they see another value.

#include <unordered_map>

#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::races {

/// The loads of a kernel, as they are asked for.
class Polls {
 public:
  /// Whether no other instruction between a load and the jump back to it, or before it in its loop,
  /// accesses memory.
  [[nodiscard]] bool contains(const Kernel& kernel, const Instruction& load);

 private:
  std::unordered_map<const Instruction*, bool> known_;
};

}  // namespace bw::sim::races
