#pragma once
/// \file
/// Basic quantities of the machine.

#include <bit>
#include <cstdint>
#include <limits>

namespace bw::sim {

inline constexpr int kWarpLanes = 32;  ///< lanes of a warp
/// One bit a lane, lane 0 in bit 0.
using LaneMask = uint32_t;
inline constexpr LaneMask kAllLanes = 0xffffffffu;  ///< every lane

/// Simulated time in SM clock cycles.
using Cycle = uint64_t;
/// Later than everything.
inline constexpr Cycle kNever = std::numeric_limits<Cycle>::max();

/// Three extents or coordinates, x fastest.
struct Dim3 {
  uint32_t x = 1;  ///< along x
  uint32_t y = 1;  ///< along y
  uint32_t z = 1;  ///< along z
  /// Their product.
  [[nodiscard]] constexpr uint64_t volume() const { return uint64_t{x} * y * z; }
  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
};

/// The coordinates of linear index `index` in a box of the given extents.
[[nodiscard]] constexpr Dim3 delinearize(uint64_t index, Dim3 extents) {
  return {static_cast<uint32_t>(index % extents.x),
          static_cast<uint32_t>(index / extents.x % extents.y),
          static_cast<uint32_t>(index / (uint64_t{extents.x} * extents.y))};
}

/// The first lane of a mask, which has one.
[[nodiscard]] constexpr int lowest_lane(LaneMask mask) { return std::countr_zero(mask); }
/// The mask of one lane.
[[nodiscard]] constexpr LaneMask lane_bit(int lane) { return LaneMask{1} << lane; }

/// The lanes of a mask, ascending: `for (const int lane : lanes_of(mask))`.
class LaneRange {
 public:
  /// Goes over the lanes of a mask.
  class Iterator {
   public:
    /// Goes over the lanes of a mask.
    constexpr explicit Iterator(LaneMask rest) : rest_(rest) {}
    [[nodiscard]] constexpr int operator*() const { return lowest_lane(rest_); }
    /// The next lane.
    constexpr Iterator& operator++() {
      rest_ &= rest_ - 1;
      return *this;
    }
    friend constexpr bool operator==(const Iterator&, const Iterator&) = default;

   private:
    LaneMask rest_;
  };
  constexpr explicit LaneRange(LaneMask lanes) : lanes_(lanes) {}
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(lanes_); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator(0); }

 private:
  LaneMask lanes_;
};
/// The lanes of a mask, in order.
[[nodiscard]] constexpr LaneRange lanes_of(LaneMask mask) { return LaneRange(mask); }

/// Calls `body(lane)` for each active lane, ascending. With all lanes active the loop has a
/// constant trip count and independent iterations, so the compiler turns it into vector code.
template <class Body>
inline void for_lanes(LaneMask active, Body&& body) {
  if (active == kAllLanes) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety) interleave(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (int lane = 0; lane < kWarpLanes; ++lane) body(lane);
  } else {
    for (const int lane : lanes_of(active)) body(lane);
  }
}

}  // namespace bw::sim
