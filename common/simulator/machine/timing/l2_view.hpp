#pragma once
/// \file
/// What a cluster finds in the L2 cache.

#include <cstdint>

#include "common/simulator/machine/types.hpp"

namespace bw::sim {

/// Bytes of an access that were found in the L2 cache, and that were not.
struct L2Touch {
  uint64_t hit_bytes = 0;   ///< were there
  uint64_t miss_bytes = 0;  ///< came from the memory
};

/// The L2 cache as one cluster sees it.
class L2View {
 public:
  /// An access to device memory.
  L2Touch touch(uint64_t /*address*/, uint64_t bytes, Cycle /*at*/, bool /*writes*/) {
    return {bytes, 0};
  }
  /// Rows of a box: `rows` times `row_bytes`, one `pitch_bytes` behind the other.
  L2Touch touch_rows(uint64_t /*first*/, uint64_t row_bytes, uint64_t /*pitch_bytes*/,
                     uint64_t rows, Cycle /*at*/, bool /*writes*/) {
    return {row_bytes * rows, 0};
  }
};

}  // namespace bw::sim
