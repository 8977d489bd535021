#pragma once
/// \file
/// What a cluster has asked of resources that it shares with other clusters, by intervals of its
/// time: the launch's time is corrected by it (docs/timing.md).

#include <cstdint>

#include "common/simulator/machine/types.hpp"

namespace bw::sim {

/// What clusters share.
enum class Resource : uint8_t {
  issue_slots,           ///< of an SM's four schedulers
  shared_memory_cycles,  ///< of an SM
  tensor_cycles,         ///< of an SM's tensor cores
  l2_bytes,              ///< of the chip
  hbm_bytes,             ///< of the chip
};

/// The demand of one cluster.
class Demand {
 public:
  /// A CTA uses an amount of a resource at a time.
  void use(Resource, uint32_t /*cta_rank*/, Cycle /*at*/, uint64_t /*amount*/) {}
};

}  // namespace bw::sim
