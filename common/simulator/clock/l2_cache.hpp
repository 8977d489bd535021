#pragma once
/// \file
/// L2 cache contents between launches, by pages of lines, evicted in LRU order.
///
/// The cache has two sides. A line is on the side that its memory belongs to, its home, and on each
/// side whose SMs have read it.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace bw::sim {

inline constexpr uint64_t kL2LineBytes = 128;  ///< what comes and goes together
inline constexpr size_t kL2PageLines = 512;    ///< lines that are kept together
inline constexpr uint64_t kL2PageBytes = kL2LineBytes * kL2PageLines;  ///< 64 KiB
inline constexpr uint32_t kL2Sides = 2;                                ///< of the cache

/// The side of lines that no SM has read yet: they are at home only.
inline constexpr uint32_t kNoSide = kL2Sides;

/// A set of the lines of one page.
struct L2Lines {
  static constexpr size_t kWords = kL2PageLines / 64;  ///< of the set
  std::array<uint64_t, kWords> words{};                ///< a bit a line

  /// How many.
  [[nodiscard]] uint32_t count() const {
    uint32_t sum = 0;
    for (const uint64_t word : words) sum += static_cast<uint32_t>(std::popcount(word));
    return sum;
  }
  /// All of `other` as well.
  void add(const L2Lines& other) {
    for (size_t i = 0; i < kWords; ++i) words[i] |= other.words[i];
  }
  /// None of `other`.
  void remove(const L2Lines& other) {
    for (size_t i = 0; i < kWords; ++i) words[i] &= ~other.words[i];
  }
};

/// Lines of a page by the side on which they are.
using L2SideLines = std::array<L2Lines, kL2Sides>;
/// The same by the number of the page (address / kL2PageBytes).
using L2LineMap = std::unordered_map<uint64_t, L2SideLines>;

/// The lines of a word (64 lines) of a page that are at home on side 1; all others are on side 0.
/// Chunks of 4 KiB take turns so on an H100, as two bits of their address and some above say.
[[nodiscard]] constexpr uint64_t l2_home_lines(uint64_t page, size_t word) {
  constexpr uint64_t kSecondChunk = ~uint64_t{0} << 32;
  const bool is_flipped = ((static_cast<uint64_t>(std::popcount(page)) ^ word) & 1) != 0;
  return is_flipped ? ~kSecondChunk : kSecondChunk;
}

/// The L2 cache of a device between launches. Each side evicts pages in the order of their last
/// use; launches and the host's copies report what they have used.
class L2Cache {
 public:
  /// `dirty_limit_bytes`: written bytes that it keeps; the rest went to memory at once.
  /// `lost_span`: the least recently used bytes begin to be lost when a side has as many newer
  /// bytes as its capacity, and are lost when it has this fraction more.
  L2Cache(uint64_t capacity_bytes, uint64_t dirty_limit_bytes, double lost_span = 0)
      : capacity_bytes_(capacity_bytes),
        dirty_limit_bytes_(dirty_limit_bytes),
        lost_span_(lost_span) {}

  /// Lines of a page were used, by SMs of that side of the chip.
  void use(uint64_t page, const L2Lines& lines, uint32_t side = kNoSide);
  /// Likewise for lines that were written: memory does not have that data yet.
  void write_lines(uint64_t page, const L2Lines& lines);
  /// The host, or a copy between two locations, has written there.
  void write(uint64_t address, uint64_t bytes);

  /// Lines of a page that it holds, by side.
  [[nodiscard]] L2SideLines find(uint64_t page) const;
  /// All lines that it holds.
  [[nodiscard]] L2LineMap lines() const;
  /// Bytes occupied on both sides; lines present on both count twice.
  [[nodiscard]] uint64_t used_bytes() const;
  /// Bytes of new lines that fit before it loses any.
  [[nodiscard]] uint64_t room_bytes() const;
  /// Whether it may have lost something that was used.
  [[nodiscard]] bool is_too_full() const {
    return std::any_of(sides_.begin(), sides_.end(),
                       [&](const Side& side) { return side.lines > side_lines(); });
  }
  /// Capacity in bytes.
  [[nodiscard]] uint64_t capacity_bytes() const { return capacity_bytes_; }
  /// Bytes that it holds and memory does not have yet.
  [[nodiscard]] uint64_t dirty_bytes() const { return dirty_bytes_; }
  /// The most dirty bytes that it keeps.
  [[nodiscard]] uint64_t dirty_limit_bytes() const { return dirty_limit_bytes_; }
  /// Bytes written back per byte that is brought in.
  [[nodiscard]] double dirty_share() const;
  /// Bytes written back to memory since the last call.
  uint64_t take_written_back();

 private:
  struct Page {
    L2SideLines lines;
    std::array<uint32_t, kL2Sides> slots{};   ///< in the order of use on each side
    std::array<uint32_t, kL2Sides> counts{};  ///< of lines there, as in that order
    L2Lines dirty;
  };
  /// The pages of a side in the order of their use, each in a slot of a binary indexed tree of how
  /// many lines they have.
  struct Side {
    std::vector<uint32_t> tree;     ///< slot s + 1 has the sums that end with slot s
    std::vector<uint64_t> page_of;  ///< by slot; kNoPage for an empty one
    uint32_t oldest = 0;            ///< no page is in a slot before
    uint64_t lines = 0;             ///< of all
    uint32_t pages = 0;             ///< that have a slot
  };

  [[nodiscard]] uint64_t side_lines() const { return capacity_bytes_ / kL2LineBytes / kL2Sides; }
  void touch(uint64_t number, Page& page, uint32_t side);
  void renumber(uint32_t side);
  void drop_oldest(uint32_t side);
  void take_slot(uint64_t number, Page& page, uint32_t side);
  void leave_slot(Page& page, uint32_t side);
  static void add(Side& side, uint32_t slot, uint32_t lines);
  /// Lines of a side that were used more recently than a page that has lines there.
  [[nodiscard]] uint64_t newer_lines(const Page& page, uint32_t side) const;
  /// Lines of a page that a side has had and does not hold any more.
  [[nodiscard]] L2Lines lost(uint64_t number, const Page& page, uint32_t side) const;
  /// Writes back what is dirty after the first `kept_words` words of a page.
  void clean(Page& page, size_t kept_words = 0);
  /// Words of a page that stay dirty when the cache may not hold more.
  [[nodiscard]] size_t dirty_words() const;

  uint64_t capacity_bytes_;
  uint64_t dirty_limit_bytes_;
  double lost_span_;
  uint64_t dirty_bytes_ = 0;
  uint64_t written_back_bytes_ = 0;
  std::unordered_map<uint64_t, Page> pages_;
  std::array<Side, kL2Sides> sides_;
  std::deque<uint64_t> written_;  ///< pages in the order in which they became dirty
  std::deque<uint64_t> thinned_;  ///< those of them that were written back in part
};

}  // namespace bw::sim
