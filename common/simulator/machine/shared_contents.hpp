#pragma once
/// \file
/// Which bytes of a CTA's shared memory were written, and the last writer nearby.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/simulator/base/bit_words.hpp"

namespace bw::sim {

struct Instruction;

/// A bit for each byte, and the last writer of each block. A copy's destination counts as written
/// from its issue on: reading it too early returns the old bytes, which is another fault.
class SharedContents {
 public:
  /// The author of a write.
  struct Writer {
    const Instruction* instruction = nullptr;  ///< null: none
    uint16_t cta_rank = 0;                     ///< of the CTA that executed it
    uint16_t warp = 0;                         ///< in that CTA
  };
  /// Consecutive bytes.
  struct Range {
    uint32_t first = 0;  ///< offset of the first
    uint32_t last = 0;   ///< of the last
  };
  /// Bytes that were written, and the last to write near them.
  struct Neighbour {
    Range bytes;    ///< a run without gaps
    Writer writer;  ///< of the block of the nearest of them
  };

  /// None of `bytes` bytes is written.
  void reset(size_t bytes);
  /// Whether it records writes.
  [[nodiscard]] bool is_tracked() const noexcept { return !words_.empty(); }

  /// Records a write.
  void write(uint32_t offset, size_t bytes, const Writer& writer) noexcept {
    if (!lie_in_one_word(offset, bytes)) return write_words(offset, bytes, writer);
    words_[offset / kWordBits] |= mask_of(offset, bytes);
    writers_[offset / kBlockBytes] = writer;
  }
  /// Whether all of these bytes have been written.
  [[nodiscard]] bool is_written(uint32_t offset, size_t bytes) const noexcept {
    if (!lie_in_one_word(offset, bytes)) return are_words_written(offset, bytes);
    const uint64_t mask = mask_of(offset, bytes);
    return (words_[offset / kWordBits] & mask) == mask;
  }
  /// A bit for each of the 16 bytes at an offset that is a multiple of 16, the lowest one first.
  [[nodiscard]] uint32_t written_chunk(uint32_t offset) const noexcept {
    return static_cast<uint32_t>(words_[offset / kWordBits] >> offset % kWordBits) & 0xffffu;
  }
  /// The first run of unwritten bytes among these; there is one.
  [[nodiscard]] Range first_unwritten(uint32_t offset, size_t bytes) const noexcept;
  /// The written bytes nearest to an offset; nullopt if there are none.
  [[nodiscard]] std::optional<Neighbour> nearest(uint32_t offset) const noexcept;

 private:
  static constexpr uint32_t kBlockBytes = 128;
  [[nodiscard]] bool has(size_t offset) const noexcept {
    return (words_[offset / kWordBits] >> offset % kWordBits & 1) != 0;
  }
  /// Most accesses are of one word; an empty range covers none.
  [[nodiscard]] static bool lie_in_one_word(uint32_t offset, size_t bytes) noexcept {
    return bytes - 1 < kWordBits - offset % kWordBits;
  }
  /// Their bits, if they are in one word.
  [[nodiscard]] static uint64_t mask_of(uint32_t offset, size_t bytes) noexcept {
    return ~uint64_t{0} >> (kWordBits - bytes) << offset % kWordBits;
  }
  void write_words(uint32_t offset, size_t bytes, const Writer& writer) noexcept;
  [[nodiscard]] bool are_words_written(uint32_t offset, size_t bytes) const noexcept;

  size_t bytes_ = 0;
  std::vector<uint64_t> words_;
  std::vector<Writer> writers_;  ///< by block
};

}  // namespace bw::sim
