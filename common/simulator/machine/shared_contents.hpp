#pragma once
/// \file
/// Which bytes of a CTA's shared memory anything has written, and who wrote last nearby.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/simulator/base/bit_words.hpp"

namespace bw::sim {

struct Instruction;

/// A bit for each byte, and the last writer of each block. What a copy will write counts as written
/// from its issue on: who reads too early meets the old bytes, which is another fault.
class SharedContents {
 public:
  /// Who has written.
  struct Writer {
    const Instruction* instruction = nullptr;  ///< null: nobody
    uint16_t cta_rank = 0;                     ///< of who executed it
    uint16_t warp = 0;                         ///< in that CTA
  };
  /// Bytes that follow each other.
  struct Range {
    uint32_t first = 0;  ///< offset of the first
    uint32_t last = 0;   ///< of the last
  };
  /// Bytes that were written, and the last to write near them.
  struct Neighbour {
    Range bytes;    ///< as far as they follow each other
    Writer writer;  ///< of the block in which the nearest of them lies
  };

  /// Nothing is written of `bytes` bytes.
  void reset(size_t bytes);
  /// Whether anybody wants to know.
  [[nodiscard]] bool is_tracked() const noexcept { return !words_.empty(); }

  /// Somebody writes.
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
  /// The first run of bytes among these that nothing has written; there is one.
  [[nodiscard]] Range first_unwritten(uint32_t offset, size_t bytes) const noexcept;
  /// The written bytes nearest to an offset; nothing when there are none.
  [[nodiscard]] std::optional<Neighbour> nearest(uint32_t offset) const noexcept;

 private:
  static constexpr uint32_t kBlockBytes = 128;
  [[nodiscard]] bool has(size_t offset) const noexcept {
    return (words_[offset / kWordBits] >> offset % kWordBits & 1) != 0;
  }
  /// Most accesses are of one word; no bytes at all are none.
  [[nodiscard]] static bool lie_in_one_word(uint32_t offset, size_t bytes) noexcept {
    return bytes - 1 < kWordBits - offset % kWordBits;
  }
  /// Their bits, where they lie in one word.
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
