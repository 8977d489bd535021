#pragma once
/// \file
/// The value of stores: threads that store the same value race, but nothing depends on the winner.

#include <cstdint>
#include <unordered_map>

#include "common/simulator/diagnosis/races/access.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim::races {

/// The value that each plain store wrote first: an accessor names that one alone, because a store
/// of ever new values would else be as many accessors.
class StoredValues {
 public:
  /// Sets Accessor::value where the event, which is told before its effect, is a store of one
  /// value by all its lanes, and that is the one that the instruction stored first.
  void set(Cluster& cluster, const AccessEvent& event, Accessor& accessor);

 private:
  std::unordered_map<const Instruction*, uint64_t> first_;
};

}  // namespace bw::sim::races
