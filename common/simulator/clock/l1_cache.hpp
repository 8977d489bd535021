#pragma once
/// \file
/// Which lines of device memory an SM's first-level cache holds: tags only, for the timing model.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

/// Lines of 128 bytes in sectors of 32, in four-way sets with LRU eviction. Writes go through and
/// allocate nothing.
class L1Cache {
 public:
  static constexpr uint32_t kLineBytes = 128;   ///< of a line
  static constexpr uint32_t kSectorBytes = 32;  ///< what is fetched at least

  /// A line of device memory.
  struct Line {
    uint64_t number = ~0ull;  ///< address / kLineBytes
    Cycle ready = 0;          ///< when what was fetched last is there
    uint8_t sectors = 0;      ///< bit s: sector s is there, or on its way
  };

  /// Whether it was given a size; without one it holds nothing.
  [[nodiscard]] bool has_size() const { return !lines_.empty(); }
  /// Makes an empty cache of at most that size, at least one set.
  void set_size(size_t bytes) {
    const size_t sets = std::bit_floor(std::max<size_t>(bytes / (kWays * kLineBytes), 1));
    lines_.assign(sets * kWays, Line{});
    set_bits_ = std::countr_zero(sets);
  }
  /// A line that is read: it is there afterwards, with the sectors that it had.
  Line& use(uint64_t number) {
    const uint64_t mixed = number ^ number >> set_bits_ ^ number >> (2 * set_bits_);
    Line* const set = &lines_[(mixed & ((uint64_t{1} << set_bits_) - 1)) * kWays];
    size_t way = 0;
    while (way + 1 < kWays && set[way].number != number) ++way;
    Line line = set[way];
    if (line.number != number) line = {.number = number};
    for (; way != 0; --way) set[way] = set[way - 1];
    set[0] = line;
    return set[0];
  }

 private:
  static constexpr size_t kWays = 4;
  std::vector<Line> lines_;  ///< the one used last first in each set
  int set_bits_ = 0;
};

}  // namespace bw::sim
