#pragma once
/// \file
/// What the L2 cache holds between launches: lines by pages, the least recently used pages leave.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

namespace bw::sim {

inline constexpr uint64_t kL2LineBytes = 128;  ///< what comes and goes together
inline constexpr size_t kL2PageLines = 512;    ///< lines that are kept together
inline constexpr uint64_t kL2PageBytes = kL2LineBytes * kL2PageLines;  ///< 64 KiB

/// Of what nobody has read yet: it lies where its memory belongs to.
inline constexpr uint32_t kNoSide = 32;

/// A set of the lines of one page.
struct L2Lines {
  static constexpr size_t kWords = kL2PageLines / 64;  ///< of the set
  std::array<uint64_t, kWords> words{};                ///< a bit a line

  /// How many.
  [[nodiscard]] uint32_t count() const;
  /// All of `other` as well.
  void add(const L2Lines& other) {
    for (size_t i = 0; i < kWords; ++i) words[i] |= other.words[i];
  }
};

/// Lines by the number of their page (address / kL2PageBytes).
using L2LineMap = std::unordered_map<uint64_t, L2Lines>;

/// The L2 cache of a device between launches. Pages leave in the order in which they were used
/// last; launches and copies of the host tell it what they have used.
class L2Cache {
 public:
  /// `dirty_limit_bytes`: so much of what was written is kept; the rest has been written to the
  /// memory at once.
  L2Cache(uint64_t capacity_bytes, uint64_t dirty_limit_bytes)
      : capacity_bytes_(capacity_bytes), dirty_limit_bytes_(dirty_limit_bytes) {}

  /// Lines of a page were used, by SMs of that side of the chip. The page's lines are held once for
  /// each side from which they have been read.
  void use(uint64_t page, const L2Lines& lines, uint32_t side = kNoSide);
  /// The host, or a copy between two places, has written there.
  void write(uint64_t address, uint64_t bytes);
  /// So many bytes of lines were written, others were brought in and may have driven out what was
  /// written before. How many bytes of what was written the memory has to take at once.
  uint64_t change_dirty(uint64_t written_bytes, uint64_t brought_bytes);

  /// All lines that it holds.
  [[nodiscard]] L2LineMap lines() const;
  /// Lines of a page that it holds, or nullptr.
  [[nodiscard]] const L2Lines* find(uint64_t page) const;
  /// Bytes that are taken.
  [[nodiscard]] uint64_t used_bytes() const { return used_bytes_; }
  /// Bytes that it can hold.
  [[nodiscard]] uint64_t capacity_bytes() const { return capacity_bytes_; }
  /// Bytes that it holds and that are not in the memory yet.
  [[nodiscard]] uint64_t dirty_bytes() const { return dirty_bytes_; }
  /// How many it keeps of those.
  [[nodiscard]] uint64_t dirty_limit_bytes() const { return dirty_limit_bytes_; }
  /// How many bytes have to be written for each byte that is brought in.
  [[nodiscard]] double dirty_share() const {
    return static_cast<double>(dirty_bytes_) / static_cast<double>(capacity_bytes_);
  }

 private:
  struct Page {
    L2Lines lines;
    uint32_t sides = 0;                   ///< from which it was read, a bit each
    std::list<uint64_t>::iterator place;  ///< in the order of use
  };
  static uint64_t bytes_of(const Page& page) {
    const auto copies = static_cast<uint64_t>(std::max(1, std::popcount(page.sides)));
    return page.lines.count() * kL2LineBytes * copies;
  }

  uint64_t capacity_bytes_;
  uint64_t dirty_limit_bytes_;
  uint64_t used_bytes_ = 0;
  uint64_t dirty_bytes_ = 0;
  std::unordered_map<uint64_t, Page> pages_;
  std::list<uint64_t> order_;  ///< numbers of pages, the latest first
};

}  // namespace bw::sim
