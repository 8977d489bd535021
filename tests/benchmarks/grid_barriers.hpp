#pragma once
/// \file
/// A kernel whose CTAs meet again and again.

#include <cstdint>

namespace bw::bench {

/// How a barrier of the whole grid is made.
enum class GridBarrier : uint8_t {
  fences,   ///< fence, atomic, volatile reads, fence: as in cooperative groups
  acquire,  ///< an atomic that releases, reads that acquire
};

/// All CTAs exchange data and meet that many times. `counter`: one word. `data`: two words for each
/// thread.
void meet_in_grid(GridBarrier kind, int rounds, uint32_t ctas, uint32_t threads, uint32_t* counter,
                  uint32_t* data);

}  // namespace bw::bench
